//! Any text as SIDL: it becomes ports, which can be written in both languages, or is refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../proxies/generate/tests/corpora/inputs.rs"]
#[expect(dead_code, reason = "the other targets run the rest")]
mod inputs;

fuzz_target!(|input: &str| inputs::sidl(input));
