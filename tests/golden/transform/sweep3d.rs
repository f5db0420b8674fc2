//! The program model "sweep3d" as Rust, written from the model: each process's code writes down what
//! it does, and the engine runs that.

#![allow(unused, clippy::all, reason = "the source has all that a model may use")]

use mastermind_programs::record::*;
use mastermind_programs::{Program, System};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::read_machine;

// Globals

#[derive(Clone, Copy, Default)]
struct Globals {
    angle_groups: f64,
    block: f64,
    bytes: f64,
    k_blocks: f64,
    octant: f64,
    px: f64,
    py: f64,
}

fn globals(p: &Recorder) -> Globals {
    let mut globals = Globals::default();
    let g = &mut globals;
    g.angle_groups = 2.0;
    g.block = ms(1.0);
    g.bytes = 6000.0;
    g.k_blocks = 10.0;
    g.octant = 0.0;
    g.px = 10.0;
    g.py = div(p.processes, g.px);
    globals
}

// Elements

const FROM_WEST: Element = Element(0);
const FROM_NORTH: Element = Element(1);
const BLOCK: Element = Element(2);
const TO_EAST: Element = Element(3);
const TO_SOUTH: Element = Element(4);
const ELEMENTS: &[Declared] = &[
    ("from west", "Octant/blocks", "recv"),
    ("from north", "Octant/blocks", "recv"),
    ("block", "Octant/blocks", "action"),
    ("to east", "Octant/blocks", "send"),
    ("to south", "Octant/blocks", "send"),
];

const OCTANTS: Structure = Structure(0);
const BLOCKS: Structure = Structure(1);
const STRUCTURES: &[Declared] = &[
    ("octants", "Main", "loop"),
    ("blocks", "Octant", "loop"),
];

// Program

fn activity_main(p: &mut Recorder, g: &mut Globals) {
    for i in 0..p.rounds(OCTANTS, 8.0) {
        let i = i as f64;
        if !p.goes_on() {
            return;
        }
        g.octant = i;
        activity_octant(p, g);
    }
}

fn activity_octant(p: &mut Recorder, g: &mut Globals) {
    let mut dx = if g.octant < 4.0 { 1.0 } else { -1.0 };
    let mut dy = if modulo(g.octant, 4.0) < 2.0 { 1.0 } else { -1.0 };
    let mut x = modulo(p.process, g.px);
    let mut y = div(p.process, g.px);
    let mut east = if ((x + dx) >= 0.0) && ((x + dx) < g.px) { p.process + dx } else { p.none };
    let mut north = if ((y - dy) >= 0.0) && ((y - dy) < g.py) { p.process - (dy * g.px) } else { p.none };
    let mut south = if ((y + dy) >= 0.0) && ((y + dy) < g.py) { p.process + (dy * g.px) } else { p.none };
    let mut west = if ((x - dx) >= 0.0) && ((x - dx) < g.px) { p.process - dx } else { p.none };
    for _ in 0..p.rounds(BLOCKS, g.k_blocks * g.angle_groups) {
        if !p.goes_on() {
            return;
        }
        p.recv(FROM_WEST, west, 0.0);
        p.recv(FROM_NORTH, north, 0.0);
        p.execute(BLOCK, g.block);
        p.send(TO_EAST, east, g.bytes, 0.0);
        p.send(TO_SOUTH, south, g.bytes, 0.0);
    }
}

/// The program of the model for one system.
pub fn program(system: System) -> Program {
    record("sweep3d", (ELEMENTS, STRUCTURES), system, |p| {
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
