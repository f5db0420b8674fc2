//! Any bytes as a GOAL schedule: read or refused; what is read runs to an end or a deadlock.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../mastermind/simulation/tests/corpora/inputs.rs"]
mod inputs;

fuzz_target!(|bytes: &[u8]| inputs::goal(bytes));
