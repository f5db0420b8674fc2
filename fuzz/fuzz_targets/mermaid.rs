//! Any text as a flowchart of Mermaid, alone and in Markdown: read or refused; what is read is checked and lowered without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../mastermind/diagrams/tests/corpora/inputs.rs"]
#[expect(dead_code, reason = "the other targets run the rest")]
mod inputs;

fuzz_target!(|text: &str| inputs::mermaid(text));
