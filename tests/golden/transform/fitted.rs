//! The program model "fitted" as Rust, written from the model: each process's code writes down what
//! it does, and the engine runs that.

#![allow(unused, clippy::all, reason = "the source has all that a model may use")]

use std::sync::LazyLock;

use mastermind_programs::record::*;
use mastermind_programs::{Program, System};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::read_machine;

// Fitted models

static MODELS: LazyLock<FittedModels> = LazyLock::new(|| FittedModels::read(include_str!("models.json")));

// Globals

#[derive(Clone, Copy, Default)]
struct Globals {
    cells: f64,
}

fn globals(p: &Recorder) -> Globals {
    let mut globals = Globals::default();
    let g = &mut globals;
    g.cells = 200.0 * (p.process + 1.0);
    globals
}

// Cost functions

fn cost_both(p: &Recorder, g: &Globals, n: f64) -> f64 {
    fitted(&MODELS, "flux.compute", &[("axis", "x")], &[("cells", n)]) + fitted(&MODELS, "flux.compute", &[("axis", "y")], &[("cells", n / 2.0)])
}

// Elements

const BOTH: Element = Element(0);
const MORE_IN_X: Element = Element(1);
const SUM: Element = Element(2);
const ELEMENTS: &[Declared] = &[
    ("both", "Main", "action"),
    ("more in x", "Main", "action"),
    ("sum", "Main", "allreduce"),
];

const STRUCTURES: &[Declared] = &[
];

// Program

fn activity_main(p: &mut Recorder, g: &mut Globals) {
    p.execute(BOTH, cost_both(p, g, g.cells));
    p.execute(MORE_IN_X, 2.0 * fitted(&MODELS, "flux.compute", &[("axis", "x")], &[("cells", g.cells + 64.0)]));
    p.allreduce(SUM, 8.0);
}

/// The program of the model for one system.
pub fn program(system: System) -> Program {
    record("fitted", (ELEMENTS, STRUCTURES), system, |p| {
        let mut g = globals(p);
        activity_main(p, &mut g);
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "expected a machine file and a number of processes";
    let mut arguments = std::env::args().skip(1);
    let machine = read_machine(&std::fs::read_to_string(arguments.next().ok_or(usage)?)?)?;
    let processes = arguments.next().ok_or(usage)?.parse()?;
    let nodes = machine.nodes_for(processes);
    let processors = machine.processors;
    let system = System { processes, nodes, processors };
    let outcome = simulate(&program(system), &machine)?;
    println!("{} ns, {} messages", outcome.makespan_ns, outcome.messages);
    for (i, element) in outcome.elements.iter().enumerate() {
        let sum = outcome.element(i);
        println!("{} of {}: {} calls, {} ns", element.name, element.place, sum.calls, sum.total_ns);
    }
    Ok(())
}
