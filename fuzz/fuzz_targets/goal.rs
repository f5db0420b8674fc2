//! Any bytes as a GOAL schedule: read or refused; what is read runs to an end or a deadlock.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mastermind_simulation::goal::{read_goal, simulate_schedule};
use mastermind_simulation::machine::Machine;

fuzz_target!(|bytes: &[u8]| {
    let Ok(schedule) = read_goal(bytes) else {
        return;
    };
    if schedule.ranks() > 1000 {
        return;
    }
    if let Ok(outcome) = simulate_schedule(schedule, &Machine::default()) {
        assert_eq!(outcome.operations[1], outcome.messages);
    }
});
