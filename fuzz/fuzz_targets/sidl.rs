//! Any text as SIDL: it becomes ports, which can be written in both languages, or is refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy_generate::sidl::{SidlFile, read};

fuzz_target!(|text: &str| {
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
});
