//! The program model "features" as Rust, written from the model: each process's code writes down what
//! it does, and the engine runs that.

#![allow(unused, clippy::all, reason = "the source has all that a model may use")]

use mastermind_programs::record::*;
use mastermind_programs::{Program, System};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::read_machine;

// Globals

#[derive(Clone, Copy, Default)]
struct Globals {
    is_large: bool,
    limit: f64,
    seed: f64,
    v_type: f64,
}

fn globals(p: &Recorder) -> Globals {
    let mut globals = Globals::default();
    let g = &mut globals;
    g.is_large = p.processes > 3.0;
    g.limit = cost_half(p, g, p.processes) + 2.0;
    g.seed = 17.0;
    g.v_type = 3.0;
    globals
}

// Cost functions

fn cost_half(p: &Recorder, g: &Globals, n: f64) -> f64 {
    div(n, 2.0)
}

fn cost_odd(p: &Recorder, g: &Globals, n: f64) -> bool {
    modulo(n, 2.0) == 1.0
}

fn cost_work(p: &Recorder, g: &Globals, n: f64, scale: f64) -> f64 {
    (us(cost_half(p, g, n) + 1.0) * f64::powf(scale, 2.0)) + ns(modulo(g.seed, 5.0))
}

// Elements

const FIRST_WORK: Element = Element(0);
const FROM_LEFT: Element = Element(1);
const TO_RIGHT: Element = Element(2);
const BOTH: Element = Element(3);
const ODD: Element = Element(4);
const ODD_ROUND: Element = Element(5);
const INNER: Element = Element(6);
const EVEN: Element = Element(7);
const DOUBLE: Element = Element(8);
const NEXT: Element = Element(9);
const NEXT_BUT_ONE: Element = Element(10);
const ON: Element = Element(11);
const FURTHER_ON: Element = Element(12);
const ONE_OF_THEM: Element = Element(13);
const OF_ONE: Element = Element(14);
const THE_OTHER: Element = Element(15);
const PAIR: Element = Element(16);
const THREADS: Element = Element(17);
const OF_A_THREAD: Element = Element(18);
const LOCKED: Element = Element(19);
const BROADCAST: Element = Element(20);
const REDUCE: Element = Element(21);
const ALLREDUCE: Element = Element(22);
const ALLTOALL: Element = Element(23);
const BARRIER: Element = Element(24);
const GATHER: Element = Element(25);
const SCATTER: Element = Element(26);
const ROWS: Element = Element(27);
const ALL: Element = Element(28);
const COLUMNS: Element = Element(29);
const ELEMENTS: &[Declared] = &[
    ("first work", "Main", "action"),
    ("from left", "Main/rounds", "irecv"),
    ("to right", "Main/rounds", "isend"),
    ("both", "Main/rounds", "wait"),
    ("odd", "Main/rounds/parity", "action"),
    ("odd round", "Main/rounds/parity", "action"),
    ("inner", "Inner", "action"),
    ("even", "Main/rounds/parity", "action"),
    ("double", "Main/doubling", "action"),
    ("next", "Main", "irecv"),
    ("next but one", "Main", "irecv"),
    ("on", "Main", "isend"),
    ("further on", "Main", "isend"),
    ("one of them", "Main", "waitany"),
    ("of one", "Main", "action"),
    ("the other", "Main", "wait"),
    ("pair", "Main", "send"),
    ("threads", "Main", "parallel"),
    ("of a thread", "Main/threads", "action"),
    ("locked", "Main/threads/sum", "action"),
    ("broadcast", "Main", "broadcast"),
    ("reduce", "Main", "reduce"),
    ("allreduce", "Main", "allreduce"),
    ("alltoall", "Main", "alltoall"),
    ("barrier", "Main", "barrier"),
    ("gather", "Main", "gather"),
    ("scatter", "Main", "scatter"),
    ("rows", "Main", "allgather"),
    ("all", "Main", "reducescatter"),
    ("columns", "Main", "scan"),
];

const ROUNDS: Structure = Structure(0);
const STRUCTURES: &[Declared] = &[
    ("rounds", "Main", "loop"),
];

// Program

fn activity_inner(p: &mut Recorder, g: &mut Globals) {
    let mut bytes = xor(64.0, 3.0);
    g.is_large = !g.is_large;
    p.execute(INNER, ns(bytes) + us(f64::sqrt(g.seed)));
}

fn activity_main(p: &mut Recorder, g: &mut Globals) {
    let mut left = modulo(p.process - 1.0, p.processes);
    let mut right = modulo(p.process + 1.0, p.processes);
    let mut step = 1.0;
    g.seed = modulo(g.seed * 16807.0, 2147483647.0);
    p.execute(FIRST_WORK, cost_work(p, g, p.process + 3.0, 1.5));
    for i in 0..p.rounds(ROUNDS, g.limit) {
        let i = i as f64;
        if !p.goes_on() {
            return;
        }
        p.irecv(FROM_LEFT, left, i);
        p.isend(TO_RIGHT, right, if modulo(i, 2.0) == 0.0 { 100.0 } else { 100000.0 }, i);
        p.wait(BOTH);
        if cost_odd(p, g, p.process) && (!g.is_large) {
            p.execute(ODD, us(3.0));
        } else if cost_odd(p, g, i) {
            p.execute(ODD_ROUND, cost_work(p, g, i, g.v_type));
            activity_inner(p, g);
        } else {
            p.execute(EVEN, f64::max(us(1.0), ns(modulo(g.seed, 3000.0))));
        }
    }
    while step < p.processes {
        if !p.goes_on() {
            return;
        }
        step = step * 2.0;
        p.execute(DOUBLE, ns(step));
    }
    p.irecv(NEXT, left, 900.0);
    p.irecv(NEXT_BUT_ONE, modulo(p.process - 2.0, p.processes), 901.0);
    p.isend(ON, right, 70000.0, 900.0);
    p.isend(FURTHER_ON, modulo(p.process + 2.0, p.processes), 40.0, 901.0);
    p.waitany(ONE_OF_THEM);
    p.execute(OF_ONE, us(2.0));
    p.wait(THE_OTHER);
    p.send(PAIR, if (modulo(p.process, 2.0) == 0.0) && (right > p.process) { right } else { p.none }, 8.0, 0.0);
    p.recv(PAIR, if modulo(p.process, 2.0) == 1.0 { left } else { p.none }, 0.0);
    p.parallel(THREADS, 1.0 + g.v_type, |p| {
        // Each thread has variables of its own.
        let g = &mut g.clone();
        let mut step = step;
        step = step + p.thread;
        p.execute(OF_A_THREAD, us((p.thread + 1.0) + step));
        p.lock(0);
        p.execute(LOCKED, us(step));
        p.unlock(0);
    });
    p.broadcast(BROADCAST, p.processes - 1.0, 5000.0);
    p.reduce(REDUCE, 0.0, 100000.0);
    p.allreduce(ALLREDUCE, 64.0);
    p.alltoall(ALLTOALL, bits(g.seed, 255.0) + 1.0);
    p.barrier(BARRIER);
    p.gather(GATHER, p.processes - 1.0, 300.0);
    p.scatter(SCATTER, 0.0, 300.0);
    p.group(p.process - modulo(p.process, 3.0), f64::min(3.0, p.processes - (p.process - modulo(p.process, 3.0))), 1.0);
    p.allgather(ROWS, 700.0);
    p.reducescatter(ALL, 20.0);
    p.group(modulo(p.process, 3.0), if modulo(p.process, 3.0) == 1.0 { 0.0 } else { f64::ceil((p.processes - modulo(p.process, 3.0)) / 3.0) }, 3.0);
    p.scan(COLUMNS, 9000.0);
}

/// The program of the model for one system.
pub fn program(system: System) -> Program {
    record("features", (ELEMENTS, STRUCTURES), system, |p| {
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
