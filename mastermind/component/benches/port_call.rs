//! What a call through a connected uses port costs beside a raw C function pointer into the same library, and what
//! recording adds to it beside two time-stamp reads and a 40-byte append to plain memory.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds, so that a change of the
//! machine's speed touches all alike. Needs the example `probe` built (`cargo xtask bench` does so).

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cca_core::{ConnectionId, Framework};
use cca_loader::Library;
use cca_ports::{PortRef, UsesPort};
use criterion::{Criterion, criterion_group, criterion_main};
use mastermind_component::Mastermind;
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::ChunkSizes;
use mastermind_records::definition::RunDefinition;

#[path = "probe_port.rs"]
mod probe_port;

use probe_port::ProbePort;

const N_CALLS: u64 = 5_000;
const N_ROUNDS: usize = 301;

type AddOne = unsafe extern "C" fn(q: u64, mode: u32) -> u64;

fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let release = program
        .parent()
        .and_then(|deps| deps.parent())
        .expect("target/release/deps");
    release.join("examples/libprobe.so")
}

fn raw_function() -> AddOne {
    // SAFETY: our own library; its function has this signature.
    unsafe {
        let library = libloading::Library::new(library()).expect("run through `cargo xtask bench`");
        let function = *library
            .get::<AddOne>(b"bench_add_one")
            .expect("the probe's function");
        std::mem::forget(library);
        function
    }
}

/// A framework with one probe, and a way to it.
fn connected(framework: &Framework) -> UsesPort<dyn ProbePort> {
    let library = Library::open(&library()).expect("run through `cargo xtask bench`");
    framework
        .create_instance("probe", &library.classes()[0])
        .expect("the probe is made");
    let services = framework
        .services("bench", "bench.Bench", "1.0")
        .expect("a new name");
    let uses = services
        .register_uses_port::<dyn ProbePort>("probe")
        .expect("a new name");
    let connection = ConnectionId {
        user: "bench".into(),
        uses: "probe".into(),
        provider: "probe".into(),
        provides: "probe".into(),
    };
    framework.connect(&connection).expect("the ends fit");
    uses
}

fn monitor(framework: &Framework, directory: &std::path::Path) {
    let recorder = RunRecorder::start(RecorderConfig {
        directory: directory.to_path_buf(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition::default(),
    });
    let services = framework
        .services("mastermind", "mastermind.Mastermind", "1.0")
        .expect("a new name");
    Mastermind::add(
        recorder.expect("a temporary directory can be written"),
        None,
        &services,
    )
    .expect("a new port");
    framework
        .monitor("bench", "probe", ("mastermind", Mastermind::PORT))
        .expect("the probe has a proxy");
}

#[inline(never)]
fn raw(function: AddOne) {
    for i in 0..N_CALLS {
        // SAFETY: the probe's function.
        black_box(unsafe { black_box(function)(black_box(i), black_box(1)) });
    }
}

#[inline(never)]
fn through_port(port: &PortRef<'_, dyn ProbePort>) {
    for i in 0..N_CALLS {
        let _ = black_box(port.add_one(black_box(i), black_box(1)));
    }
}

#[inline(never)]
fn floor(port: &PortRef<'_, dyn ProbePort>, words: &mut [u64]) {
    let mut at = 0;
    for i in 0..N_CALLS {
        let (q, mode) = (black_box(i), black_box(1));
        // SAFETY: the instruction touches no memory.
        let start = unsafe { std::arch::x86_64::_rdtsc() };
        let _ = black_box(port.add_one(q, mode));
        // SAFETY: as above.
        let stop = unsafe { std::arch::x86_64::_rdtsc() };
        if at + 5 > words.len() {
            at = 0;
        }
        words[at..at + 5].copy_from_slice(&[1, start, stop - start, q, u64::from(mode)]);
        at += 5;
    }
    black_box(words.as_ptr());
}

/// Nanoseconds a call.
fn timed(body: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    body();
    begin.elapsed().as_nanos() as f64 / N_CALLS as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn port_call(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (plain, monitored) = (Framework::new(), Framework::new());
    let (bare, recorded) = (connected(&plain), connected(&monitored));
    monitor(&monitored, directory.path());
    let bare = bare.get().expect("it is connected");
    let recorded = recorded.get().expect("it is connected");
    let function = raw_function();
    let mut words = vec![1_u64; 8 << 20];
    let mut rows = [const { Vec::new() }; 4];
    for _ in 0..N_ROUNDS {
        rows[0].push(timed(|| raw(function)));
        rows[1].push(timed(|| through_port(&bare)));
        rows[2].push(timed(|| floor(&bare, &mut words)));
        rows[3].push(timed(|| through_port(&recorded)));
        // Time for the next chunk, so that rounds of empty calls do not outrun its preparation.
        std::thread::sleep(Duration::from_micros(300));
    }
    let [raw_ns, port_ns, floor_ns, recorded_ns] = rows.map(|mut row| median(&mut row));
    println!("raw C function pointer            {raw_ns:7.2} ns a call");
    println!("connected uses port               {port_ns:7.2} ns a call");
    println!(
        "  two rdtsc + 40-byte append add  {:7.2} ns",
        floor_ns - port_ns
    );
    println!(
        "  recording adds                  {:7.2} ns",
        recorded_ns - port_ns
    );
    println!(
        "ratio port call / raw C call: {:.2} (target 1.6)",
        port_ns / raw_ns
    );
    let added = (recorded_ns - port_ns) / (floor_ns - port_ns);
    println!("ratio recording / (two rdtsc + append): {added:.2} (target 1.35)");
    criterion.bench_function("port call", |b| {
        b.iter(|| bare.add_one(black_box(1), black_box(1)))
    });
    criterion.bench_function("recorded port call", |b| {
        b.iter(|| recorded.add_one(black_box(1), black_box(1)))
    });
}

criterion_group!(benches, port_call);
criterion_main!(benches);
