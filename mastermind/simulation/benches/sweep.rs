//! How many messages a CPU second the engine simulates: the wavefront at the sizes of the issue.
//!
//! Prints processes, messages, CPU seconds, messages a CPU second, bytes of the engine a process.
//! With the argument `million` it runs a million processes instead, and reports the greatest memory of the whole
//! process. The last row is the model of LAPW0 for 32 processes, evaluated like the verb `simulate`: read, transformed,
//! simulated.

#[path = "../tests/engine/common.rs"]
mod common;
#[path = "../tests/engine/wavefront.rs"]
mod wavefront;

use std::process::ExitCode;

use common::{machine, outcome};
use mastermind_simulation::engine::Outcome;
use mastermind_simulation::machine::read_machine;
use must_reach::Figures;
use rustix::time::{ClockId, clock_gettime};
use wavefront::sweep;

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn main() -> ExitCode {
    must_reach::judge(measure)
}

/// One try of all sizes, and of the model of LAPW0.
fn measure(figures: &mut Figures) {
    let mut sizes = vec![
        (100, 100, 10, 6000, 1_000_000, 5),
        (160, 175, 26, 3360, 294_000, 4),
    ];
    if std::env::args().any(|argument| argument == "million") {
        sizes = vec![(1000, 1000, 10, 6000, 1_000_000, 1)];
    }
    // A small one, as for a tool that counts instructions.
    if std::env::args().any(|argument| argument == "small") {
        sizes = vec![(30, 30, 10, 6000, 1_000_000, 20)];
    }
    for (px, py, k, bytes, block_ns, rounds) in sizes {
        let text = sweep(px, py, k, 2, bytes, block_ns);
        let n = px * py;
        let mut least_s = f64::MAX;
        for round in 1..=rounds {
            let begin = cpu_s();
            let outcome = outcome(&text, &machine(), n);
            let took_s = cpu_s() - begin;
            least_s = least_s.min(took_s);
            println!(
                "{n} processes: {} messages, {} events, {took_s:.3} CPU s, {:.2} M messages/CPU s, {} B a process, {} ties, finish {} ns",
                outcome.messages,
                outcome.events,
                outcome.messages as f64 / took_s / 1e6,
                outcome.memory_bytes / n as usize,
                outcome.ties,
                outcome.makespan_ns,
            );
            if round == rounds {
                report(figures, n, &outcome, least_s);
            }
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
    figures.time("LAPW0, an evaluation", each_ms, ..=1.0, " ms");
}

/// Reports the limits of each size, at its last run: the fastest run counts.
fn report(figures: &mut Figures, n: u32, outcome: &Outcome, least_s: f64) {
    let each_bytes = (outcome.memory_bytes / n as usize) as f64;
    match n {
        10_000 => {
            let rate = outcome.messages as f64 / least_s / 1e6;
            figures.time("wavefront, 100 x 100", rate, 8.0.., " M messages/CPU s");
            figures.fact("memory of a rank", each_bytes, ..=350.0, " B");
        }
        28_000 => figures.time("wavefront, 160 x 175", least_s, ..=3.0, " CPU s"),
        1_000_000 => {
            figures.time("wavefront, 1000 x 1000", least_s, ..=70.0, " CPU s");
            figures.fact("its memory", most_mb(), ..=400.0, " MB");
        }
        _ => {}
    }
}

/// Greatest memory that this process had at once, megabytes; NaN if the system does not report it.
fn most_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    kib.map_or(f64::NAN, |kib: f64| kib * 1024.0 / 1e6)
}
