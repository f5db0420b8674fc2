//! How long do 10⁸ records take from the stream to the models, on one core? Target: under 10 s.
//!
//! The records come out of a generator as a log gives them: runs of calls at one size, sizes
//! interleaved, two modes, 5 % noise, one call in 100 000 a spike. Beside it, as the floor, the
//! generator alone. Without `--bench` (as `cargo test` calls it) there are 10⁵.

use std::hint::black_box;
use std::process::ExitCode;

use mastermind_models::{Metric, Parameter, SampleSet, Summary, fit};
use must_reach::Figures;

/// Sizes called.
const N_SIZES: u64 = 500;

/// Calls at one size before the next.
const RUN: u64 = 4;

fn main() -> ExitCode {
    must_reach::judge(summarise)
}

fn summarise(figures: &mut Figures) {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let n: u64 = if measured { 100_000_000 } else { 100_000 };
    let start = processor_s();
    let mut floor = Summary::EMPTY;
    records(n, |q, axis, seconds| {
        floor.push(black_box(q + axis) * 0.0 + seconds)
    });
    black_box(floor);
    let floor_s = processor_s() - start;

    let start = processor_s();
    let parameters = [
        Parameter::integer("q", "double"),
        Parameter::enumeration("axis", &["x", "y"]),
    ];
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("kernel", &parameters).expect("a new method");
    records(n, |q, axis, seconds| {
        set.push(method, &[q, axis], seconds)
            .expect("a finite, positive time");
    });
    let samples = set.finish().remove(0);
    let streamed_s = processor_s() - start;
    let models = fit(&samples).expect("enough points");
    let all_s = processor_s() - start;

    println!(
        "{n} records of {} coordinates, processor seconds:",
        samples.times.len()
    );
    println!("  generated        {floor_s:8.2}");
    println!(
        "  and summarised   {streamed_s:8.2}  {:6.1} ns a record",
        1e9 * streamed_s / n as f64
    );
    println!("  and fitted       {all_s:8.2}");
    for model in models {
        println!("  {:?}: {}", model.mode, model.expression);
    }
    if measured {
        figures.time("10⁸ records summarised and fitted", all_s, ..=10.0, " s");
    }
}

/// Calls `take` with size, mode and time of each record.
fn records(n: u64, mut take: impl FnMut(f64, f64, f64)) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for i in 0..n {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (size, mode) = (i / RUN % N_SIZES, i / (RUN * N_SIZES) % 2);
        let q = 1000.0 + 200.0 * (size * size) as f64 / 10.0;
        let noise = 0.95 + 0.1 * (state >> 11) as f64 / (1_u64 << 53) as f64;
        let spike = if state.is_multiple_of(100_000) {
            50.0
        } else {
            1.0
        };
        take(
            q,
            mode as f64,
            (1e-6 + (1.0 + mode as f64) * 1e-9 * q) * noise * spike,
        );
    }
}

/// Processor time of this thread, seconds.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
