//! Models and machines that several tests use.

use mastermind_models::ModelSet;
use mastermind_simulation::engine::{Outcome, SimulationError, simulate};
use mastermind_simulation::machine::Machine;
use mastermind_simulation::program::{Program, System, lower_with, read_toml};

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
    lower_with(&model, &ModelSet::default(), system, machine.collectives).expect("a machine form")
}

pub fn run(text: &str, machine: &Machine, processes: u32) -> Result<Outcome, SimulationError> {
    simulate(&program(text, machine, processes), machine)
}

pub fn outcome(text: &str, machine: &Machine, processes: u32) -> Outcome {
    run(text, machine, processes).expect("an end")
}

/// The wavefront of POEMS section 2: eight octants, pairs of them from each corner.
pub fn sweep(px: u32, py: u32, k: u32, angles: u32, bytes: u32, block_ns: u32) -> String {
    format!(
        r#"
[model]
name = "sweep"
main = "Main"
[globals]
px = {px}
py = {py}
octant = 0
[activities.Main]
flow = [{{ loop = "octants", count = 8, variable = "i", body = [{{ action = "next", code = "octant = i" }}, {{ activity = "Octant" }}] }}]
[activities.Octant]
locals = {{ x = "process % px", y = "div(process, px)", dx = "octant < 4 ? 1 : -1", dy = "octant % 4 < 2 ? 1 : -1", west = "x - dx >= 0 && x - dx < px ? process - dx : none", north = "y - dy >= 0 && y - dy < py ? process - dy * px : none", east = "x + dx >= 0 && x + dx < px ? process + dx : none", south = "y + dy >= 0 && y + dy < py ? process + dy * px : none" }}
flow = [{{ loop = "blocks", count = "{k} * {angles}", body = [
    {{ recv = "west", from = "west" }},
    {{ recv = "north", from = "north" }},
    {{ action = "block", cost = "ns({block_ns})" }},
    {{ send = "east", to = "east", bytes = {bytes} }},
    {{ send = "south", to = "south", bytes = {bytes} }},
] }}]
"#
    )
}
