//! Any text as a Ccaffeine script: its commands are understood or refused, and a script written again is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../framework/core/tests/corpora/inputs.rs"]
#[expect(dead_code, reason = "the other targets run the rest")]
mod inputs;

fuzz_target!(|text: &str| inputs::rc(text));
