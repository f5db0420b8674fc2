//! Any text as an assembly: read, and written again to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../framework/core/tests/corpora/inputs.rs"]
#[expect(dead_code, reason = "the other targets run the rest")]
mod inputs;

fuzz_target!(|text: &str| inputs::assembly(text));
