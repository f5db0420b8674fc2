//! Any two texts as a preprocessed C header and a mark-up: a proxy is made, the same each time, or they are refused; so with the
//! mark-up that is suggested.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../proxies/generate/tests/corpora/inputs.rs"]
#[expect(dead_code, reason = "the other targets run the rest")]
mod inputs;

fuzz_target!(|input: (&str, &str)| inputs::header(input));
