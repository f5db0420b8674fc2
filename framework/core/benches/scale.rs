//! How long it takes to make and connect many components, and to take them apart: 10,000 in under 2 s is the target.

use std::process::ExitCode;

#[path = "../tests/framework/components.rs"]
#[expect(dead_code, reason = "shared with the tests of the framework")]
mod components;

use cca_core::Framework;
use components::{add, framework, wire};
use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use must_reach::Figures;

const N: usize = 10_000;

fn name(i: usize) -> String {
    format!("adder{i}")
}

fn made() -> Framework {
    let framework = framework();
    for i in 0..N {
        add(&framework, &name(i), "test.Adder");
    }
    framework
}

fn connected() -> Framework {
    let framework = made();
    for i in 1..N {
        framework
            .connect(&wire(&name(i - 1), "next", &name(i), "number"))
            .expect("a connection");
    }
    framework
}

fn scale(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scale");
    group
        .throughput(Throughput::Elements(N as u64))
        .sample_size(10);
    group.bench_function("instantiate 10,000", |bencher| {
        bencher.iter_with_large_drop(made);
    });
    group.bench_function("instantiate and connect 10,000", |bencher| {
        bencher.iter_with_large_drop(connected);
    });
    group.bench_function("destroy 10,000", |bencher| {
        bencher.iter_batched(connected, drop, BatchSize::PerIteration);
    });
    group.finish();
}

/// Made, connected and taken apart, by the time of the processor.
fn judged(figures: &mut Figures) {
    let processor_s = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
    };
    let begin = processor_s();
    figures.round(|| drop(connected()));
    let took_s = processor_s() - begin;
    figures.time(
        "10,000 components made, connected and taken apart",
        took_s,
        ..=2.0,
        " s",
    );
}

criterion_group!(benches, scale);

fn main() -> ExitCode {
    benches();
    Criterion::default().configure_from_args().final_summary();
    must_reach::judge(judged)
}
