//! How many messages a CPU second the engine simulates: the wavefront at the sizes of the issue.
//!
//! Prints processes, messages, CPU seconds, messages a CPU second, bytes of the engine a process.
//! An argument `million` adds the run of a million processes. Last comes the model of LAPW0 for 32 processes,
//! evaluated as the verb `simulate` does it: read, transformed, simulated.

#[path = "../tests/engine/common.rs"]
mod common;

use common::{machine, outcome, sweep};
use mastermind_simulation::machine::read_machine;
use rustix::time::{ClockId, clock_gettime};

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn main() {
    let mut sizes = vec![
        (100, 100, 10, 6000, 1_000_000, 5),
        (160, 175, 26, 3360, 294_000, 2),
    ];
    if std::env::args().any(|argument| argument == "million") {
        sizes.push((1000, 1000, 10, 6000, 1_000_000, 1));
    }
    // A small one, as for a tool that counts instructions.
    if std::env::args().any(|argument| argument == "small") {
        sizes = vec![(30, 30, 10, 6000, 1_000_000, 20)];
    }
    for (px, py, k, bytes, block_ns, rounds) in sizes {
        let text = sweep(px, py, k, 2, bytes, block_ns);
        let n = px * py;
        for _ in 0..rounds {
            let begin = cpu_s();
            let outcome = outcome(&text, &machine(), n);
            let took = cpu_s() - begin;
            println!(
                "{n} processes: {} messages, {} events, {took:.3} CPU s, {:.2} M messages/CPU s, {} B a process, {} undecided, finish {} ns",
                outcome.messages,
                outcome.events,
                outcome.messages as f64 / took / 1e6,
                outcome.memory_bytes / n as usize,
                outcome.undecided,
                outcome.makespan_ns,
            );
        }
    }
    let lapw0 = include_str!("../../../examples/lapw0/lapw0.toml");
    let gescher = include_str!("../../../examples/lapw0/machine.toml");
    let machine = read_machine(gescher).expect("the machine");
    let (begin, rounds) = (cpu_s(), 1000);
    for _ in 0..rounds {
        outcome(lapw0, &machine, 32);
    }
    let each_ms = (cpu_s() - begin) / f64::from(rounds) * 1e3;
    println!("LAPW0, 32 processes: {each_ms:.4} CPU ms an evaluation");
}
