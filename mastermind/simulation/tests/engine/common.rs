//! Models and machines that several tests use.

use mastermind_models::ModelSet;
use mastermind_programs::{Program, System, lower_with, read_toml};
use mastermind_simulation::engine::{Outcome, SimulationError, simulate};
use mastermind_simulation::machine::Machine;

/// A process a node, the default LogGP parameters.
pub fn machine() -> Machine {
    Machine::default()
}

pub fn program(text: &str, machine: &Machine, processes: u32) -> Program {
    let model = read_toml(text).expect("a model");
    let system = System {
        processes,
        nodes: machine.nodes_for(processes),
        processors: machine.processors,
    };
    lower_with(&model, &ModelSet::default(), system, machine.collectives, 0)
        .expect("a machine form")
}

pub fn run(text: &str, machine: &Machine, processes: u32) -> Result<Outcome, SimulationError> {
    simulate(&program(text, machine, processes), machine)
}

pub fn outcome(text: &str, machine: &Machine, processes: u32) -> Outcome {
    run(text, machine, processes).expect("an end")
}
