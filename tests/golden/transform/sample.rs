//! The program model "sample" as Rust, written from the model: each process's code writes down what
//! it does, and the engine runs that.

#![allow(unused, clippy::all, reason = "the source has all that a model may use")]

use mastermind_programs::record::*;
use mastermind_programs::{Program, System};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::read_machine;

// Globals

#[derive(Clone, Copy, Default)]
struct Globals {
    gv: f64,
    v_p: f64,
}

fn globals(p: &Recorder) -> Globals {
    let mut globals = Globals::default();
    let g = &mut globals;
    g.gv = 0.0;
    g.v_p = 0.0;
    globals
}

// Cost functions

fn cost_f_a1(p: &Recorder, g: &Globals) -> f64 {
    1e-6 * g.v_p
}

fn cost_f_sa2(p: &Recorder, g: &Globals, pid_: f64) -> f64 {
    cost_f_a1(p, g) * (pid_ + 1.0)
}

// Elements

const A1: Element = Element(0);
const SA1: Element = Element(1);
const SA2: Element = Element(2);
const A2: Element = Element(3);
const A4: Element = Element(4);
const ELEMENTS: &[Declared] = &[
    ("A1", "sample", "action"),
    ("SA1", "SA", "action"),
    ("SA2", "SA", "action"),
    ("A2", "sample/GV == 1", "action"),
    ("A4", "sample", "action"),
];

const STRUCTURES: &[Declared] = &[
];

// Program

fn activity_sa(p: &mut Recorder, g: &mut Globals) {
    p.execute(SA1, ms(1.0));
    p.execute(SA2, cost_f_sa2(p, g, p.process));
}

fn activity_sample(p: &mut Recorder, g: &mut Globals) {
    g.gv = 1.0;
    g.v_p = 4.0;
    p.execute(A1, cost_f_a1(p, g));
    if g.gv == 1.0 {
        activity_sa(p, g);
    } else {
        p.execute(A2, ms(1.0));
    }
    p.execute(A4, ms(1.0));
}

/// The program of the model for one system.
pub fn program(system: System) -> Program {
    record("sample", (ELEMENTS, STRUCTURES), system, |p| {
        let mut g = globals(p);
        activity_sample(p, &mut g);
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
