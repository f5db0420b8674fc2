//! What any input of the readers must hold: it is read or refused, and what is read goes on.
//!
//! Part of the fuzz targets and of the test that replays their corpora.

use mastermind_models::ModelSet;
use mastermind_simulation::diagram::{DiagramError, Reading};
use mastermind_simulation::goal::{read_goal, simulate_schedule};
use mastermind_simulation::machine::Machine;
use mastermind_simulation::plantuml::read_plantuml;
use mastermind_simulation::program::{System, check, lower};
use mastermind_simulation::xmi::read_xmi;

/// Any text as a PlantUML file.
pub fn plantuml(text: &str) {
    diagram(read_plantuml(text));
}

/// Any text as an XMI file.
pub fn xmi(text: &str) {
    diagram(read_xmi(text));
}

/// What is read is checked and lowered.
fn diagram(reading: Result<Reading, DiagramError>) {
    let Ok(reading) = reading else {
        return;
    };
    let models = ModelSet::default();
    let system = System {
        processes: 4,
        nodes: 2,
        processors: 2,
    };
    let findings = check(&reading.model, &models);
    let lowered = lower(&reading.model, &models, system);
    assert!(lowered.is_ok() || !findings.is_empty(), "{findings:?}");
}

/// Any bytes as a GOAL schedule: what is read runs to an end or a deadlock.
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
