//! Properties of the generators for any input: it becomes a proxy or ports, the same each time, or is refused.
//!
//! Part of the fuzz targets and of the test that replays their corpora.

use std::collections::BTreeSet;

use proxy_generate::sidl::{SidlFile, read};
use proxy_generate::{GenerateError, Header, Markup, generate, struct_ports, suggest_markup};

/// Any two texts as a preprocessed C header and a mark-up; the header with the mark-up that is suggested, too.
pub fn header((preprocessed, markup): (&str, &str)) {
    let header = Header {
        include: "any.h",
        before: &[],
        parts: &[],
        file: "/any.h",
        preprocessed,
        macros: &BTreeSet::new(),
    };
    if let Ok(markup) = Markup::read(markup) {
        let made = generate(&header, &markup).ok().map(|(_, source)| source);
        let again = generate(&header, &markup).ok().map(|(_, source)| source);
        assert_eq!(made, again);
        let ports = || struct_ports(&header, &markup).ok().flatten();
        assert_eq!(ports(), ports());
    }
    if let Ok(suggested) = suggest_markup(&header) {
        let markup = Markup::read(&suggested).expect("a suggested mark-up is one");
        let ports = struct_ports(&header, &markup).expect("it fits its header");
        match generate(&header, &markup) {
            // All that it has are structs of functions.
            Err(GenerateError::NoFunctions { .. }) => assert!(ports.is_some()),
            made => drop(made.expect("it fits its header")),
        }
    }
}

/// Any text as SIDL: a library that was read can be written in both languages.
pub fn sidl(text: &str) {
    let file = SidlFile {
        name: "any.sidl",
        text,
    };
    match read(file, &[]) {
        Ok(library) => {
            assert!(library.rust().contains("shared_types!"));
            assert!(library.c("any").source.contains("any_ports.h"));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
