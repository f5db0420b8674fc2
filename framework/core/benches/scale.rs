//! How long it takes to make and connect many components, and to take them apart: 10,000 in under 2 s is the target.

#[path = "../tests/framework/components.rs"]
#[expect(dead_code, reason = "shared with the tests of the framework")]
mod components;

use cca_core::Framework;
use components::{add, framework, wire};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

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

criterion_group!(benches, scale);
criterion_main!(benches);
