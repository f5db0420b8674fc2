//! Any text as a Ccaffeine script: its commands are understood or refused, and a script written again is the same.

#![no_main]

use cca_core::rc::{Command, Script};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let script = Script::parse(text);
    for line in script.commands() {
        assert!(line.number >= 1 && line.number <= text.lines().count());
        if let Err(error) = Command::parse(&line.text) {
            assert!(!error.to_string().is_empty());
        }
    }
    assert_eq!(Script::parse(&script.to_string()), script);
});
