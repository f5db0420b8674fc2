//! Any two texts as a preprocessed C header and a mark-up: a proxy is made, the same each time, or they are refused; so with the
//! mark-up that is suggested.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use proxy_generate::{Header, Markup, generate, suggest_markup};

fuzz_target!(|texts: (&str, &str)| {
    let (preprocessed, markup) = texts;
    let header = Header {
        include: "any.h",
        file: "/any.h",
        preprocessed,
        macros: &BTreeSet::new(),
    };
    if let Ok(markup) = Markup::read(markup) {
        let made = generate(&header, &markup).ok().map(|(_, source)| source);
        let again = generate(&header, &markup).ok().map(|(_, source)| source);
        assert_eq!(made, again);
    }
    if let Ok(suggested) = suggest_markup(&header) {
        let markup = Markup::read(&suggested).expect("a suggested mark-up is one");
        generate(&header, &markup).expect("it fits its header");
    }
});
