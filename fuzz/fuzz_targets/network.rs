//! Any text as a queueing network: it is read or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let _ = mastermind_queueing::read_network(input);
});
