//! Properties of any schedule: it is read or refused, and a schedule that was read runs.
//!
//! Part of the fuzz target and of the test that replays its corpus.

use mastermind_programs::goal::read_goal;
use mastermind_simulation::engine::simulate_schedule;
use mastermind_simulation::machine::Machine;

/// Any bytes as a GOAL schedule: a schedule that was read runs to an end or a deadlock.
pub fn goal(bytes: &[u8]) {
    let Ok(schedule) = read_goal(bytes) else {
        return;
    };
    if schedule.ranks() > 1000 {
        return;
    }
    if let Ok(outcome) = simulate_schedule(schedule, &Machine::default()) {
        assert_eq!(outcome.operations[1], outcome.messages);
    }
}
