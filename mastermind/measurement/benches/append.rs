//! What recording adds to a call, beside its floor: two time-stamp reads and a 40-byte append to plain memory.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds, so that a change of the
//! machine's speed touches all alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cca_abi::recording::{ProxyMethod, Recording};
use criterion::{Criterion, criterion_group, criterion_main};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::ChunkSizes;
use mastermind_records::definition::{MethodDefinition, RunDefinition};

const N_CALLS: u64 = 5_000;
const N_ROUNDS: usize = 301;

/// The measured call.
#[inline(never)]
fn call(x: u64) -> u64 {
    black_box(x)
}

#[inline(never)]
fn bare() {
    for i in 0..N_CALLS {
        black_box(call(i));
    }
}

#[inline(never)]
fn recorded(run: &RunRecorder, method: &ProxyMethod) {
    for i in 0..N_CALLS {
        let (q, axis) = (black_box(i), black_box(1));
        let recording = Recording::begin(run.recorder(), method, || [q, axis]);
        black_box(call(i));
        if let Some(recording) = recording {
            recording.end(black_box(false));
        }
    }
}

/// Plain memory for the floor, appended to from start to end and over again.
struct Plain {
    words: Vec<u64>,
    at: usize,
}

impl Plain {
    fn new(bytes: usize) -> Self {
        Self {
            words: vec![1; bytes / 8],
            at: 0,
        }
    }

    #[inline(never)]
    fn fill(&mut self) {
        let n_words = self.words.len();
        for i in 0..N_CALLS {
            let (q, axis) = (black_box(i), black_box(1));
            // SAFETY: the instruction touches no memory.
            let start = unsafe { std::arch::x86_64::_rdtsc() };
            black_box(call(i));
            // SAFETY: as above.
            let stop = unsafe { std::arch::x86_64::_rdtsc() };
            if self.at + 5 > n_words {
                self.at = 0;
            }
            // SAFETY: checked just now.
            unsafe {
                let place = self.words.as_mut_ptr().add(self.at);
                *place = 1;
                *place.add(1) = start;
                *place.add(2) = stop - start;
                *place.add(3) = q;
                *place.add(4) = axis;
            }
            self.at += 5;
        }
        black_box(self.words.as_ptr());
    }
}

/// Nanoseconds a call.
fn timed(body: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    body();
    begin.elapsed().as_nanos() as f64 / N_CALLS as f64
}

fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at) as usize]
}

fn start(directory: &std::path::Path) -> (RunRecorder, ProxyMethod) {
    let run = RunRecorder::start(RecorderConfig {
        directory: directory.to_path_buf(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition {
            mpi: Some("bench".into()),
            ..RunDefinition::default()
        },
    })
    .expect("a temporary directory can be written");
    let method = ProxyMethod::new();
    method.register(run.register(MethodDefinition {
        method: "call".into(),
        ..MethodDefinition::default()
    }));
    (run, method)
}

/// A call that works for 250 ns.
#[inline(never)]
fn working_call(clock: &Clock, ticks: u64) {
    let begin = clock.now();
    while clock.now().wrapping_sub(begin) < ticks {
        std::hint::spin_loop();
    }
}

/// Many calls of 250 ns without a rest: whether the next chunk is always ready, and what memory it takes.
fn sustained() {
    const N_CALLS: usize = 4_000_000;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Clock::detect();
    let ns = 1e9 / clock.ticks_per_second();
    let work = (250.0 / ns) as u64;
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0; N_CALLS], vec![1.0; N_CALLS]];
    let (run, method) = start(directory.path());
    let resident = resident_bytes();
    let mut most_resident = resident;
    for (row, recorded) in rows.iter_mut().zip([false, true]) {
        for (call, took) in row.iter_mut().enumerate() {
            let begin = clock.now();
            let recording = recorded
                .then(|| Recording::begin(run.recorder(), &method, || [call as u64, 1]))
                .flatten();
            working_call(&clock, work);
            if let Some(recording) = recording {
                recording.end(false);
            }
            *took = (clock.now() - begin) as f64 * ns;
            if call % 100_000 == 0 {
                most_resident = most_resident.max(resident_bytes());
            }
        }
    }
    for (name, row) in ["250 ns, bare", "250 ns, recorded"].iter().zip(&mut rows) {
        let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|at| quantile(row, at));
        println!("{name:32} {p50:7.2} ns a call, p99 {p99:.0}, p99.9 {p999:.0}, maximum {most:.0}");
    }
    let mib = most_resident.saturating_sub(resident) as f64 / 1048576.0;
    println!(
        "{:?}, at most {mib:.1} MiB more resident",
        run.finish().expect("the logs can be ended")
    );
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

fn append(criterion: &mut Criterion) {
    sustained();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (run, method) = start(directory.path());
    let off = ProxyMethod::new();
    let mut streaming = Plain::new(64 << 20);
    let mut cached = Plain::new(16 << 10);
    let mut rows: [(&str, Vec<f64>); 5] = [
        ("bare call", vec![]),
        ("floor, 64 MiB of plain memory", vec![]),
        ("floor, 16 KiB of plain memory", vec![]),
        ("recorded", vec![]),
        ("switched off", vec![]),
    ];
    for _ in 0..N_ROUNDS {
        rows[0].1.push(timed(bare));
        rows[1].1.push(timed(|| streaming.fill()));
        rows[2].1.push(timed(|| cached.fill()));
        rows[3].1.push(timed(|| recorded(&run, &method)));
        rows[4].1.push(timed(|| recorded(&run, &off)));
        // Time for the next chunk, so that rounds of empty calls do not outrun its preparation.
        std::thread::sleep(Duration::from_micros(300));
    }
    let medians: Vec<f64> = rows
        .iter_mut()
        .map(|(_, values)| quantile(values, 0.5))
        .collect();
    for ((name, values), median) in rows.iter_mut().zip(&medians) {
        println!(
            "{name:32} {median:7.2} ns a call, added {:6.2} (p10 {:.2}, p90 {:.2})",
            median - medians[0],
            quantile(values, 0.1),
            quantile(values, 0.9)
        );
    }
    for floor in [1, 2] {
        let ratio = (medians[3] - medians[0]) / (medians[floor] - medians[0]);
        println!(
            "ratio to {}: {ratio:.3} (target: at most 1.35)",
            rows[floor].0
        );
    }
    let totals = run.finish().expect("the logs can be ended");
    println!("{totals:?}");

    let directory = tempfile::tempdir().expect("a temporary directory");
    let (run, method) = start(directory.path());
    let mut group = criterion.benchmark_group("append");
    group.throughput(criterion::Throughput::Elements(N_CALLS));
    group.bench_function("bare", |bencher| bencher.iter(bare));
    group.bench_function("floor", |bencher| bencher.iter(|| streaming.fill()));
    group.bench_function("recorded", |bencher| {
        bencher.iter(|| recorded(&run, &method))
    });
    group.bench_function("off", |bencher| bencher.iter(|| recorded(&run, &off)));
    group.finish();
    println!("{:?}", run.finish().expect("the logs can be ended"));
}

criterion_group!(benches, append);
criterion_main!(benches);
