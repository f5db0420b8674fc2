//! How many messages a CPU second the engine simulates: the wavefront at the sizes of the issue.
//!
//! Prints processes, messages, CPU seconds, messages a CPU second, bytes of the engine a process.
//! An argument `million` adds the run of a million processes.

#[path = "../tests/engine/common.rs"]
mod common;

use common::{machine, outcome, sweep};
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
}
