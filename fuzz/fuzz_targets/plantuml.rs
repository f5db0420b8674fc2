//! Any text as a PlantUML file: read or refused; what is read is checked and lowered without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mastermind_models::ModelSet;
use mastermind_simulation::plantuml::read_plantuml;
use mastermind_simulation::program::{System, check, lower};

fuzz_target!(|text: &str| {
    let Ok(reading) = read_plantuml(text) else {
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
});
