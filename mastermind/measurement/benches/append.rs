//! Cost of recording a call, compared with its floor: two time-stamp reads and a 40-byte append to plain
//! memory.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds, so that a change of the
//! machine's speed affects all alike. Two tracers of the Rust world have rows of their own.

use std::hint::black_box;
use std::io::BufWriter;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cca_abi::recording::{ProxyMethod, Recording};
use fastrace::local::{LocalCollector, LocalSpan};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::ChunkSizes;
use mastermind_records::definition::{MethodDefinition, RunDefinition};
use must_reach::Figures;
use tracing_subscriber::fmt::format::FmtSpan;

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

/// A span of `tracing` with the same two parameters, written to a file when it closes.
#[inline(never)]
fn by_tracing() {
    for i in 0..N_CALLS {
        let (q, axis) = (black_box(i), black_box(1));
        let span = tracing::info_span!("call", q, axis).entered();
        black_box(call(i));
        drop(span);
    }
}

/// A span of `fastrace` with the same two parameters, kept in memory and then thrown away.
#[inline(never)]
fn by_fastrace() {
    let collector = LocalCollector::start();
    for i in 0..N_CALLS {
        let (q, axis): (u64, u64) = (black_box(i), black_box(1));
        let span = LocalSpan::enter_with_local_parent("call");
        let span = span.with_properties(|| [("q", q.to_string()), ("axis", axis.to_string())]);
        black_box(call(i));
        drop(span);
    }
    black_box(collector.collect());
}

fn main() -> ExitCode {
    must_reach::judge(compare)
}

/// One try: rounds of all rows.
fn compare(figures: &mut Figures) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (run, method) = start(directory.path());
    let off = ProxyMethod::new();
    let mut streaming = Plain::new(64 << 20);
    let mut cached = Plain::new(16 << 10);
    let file = tempfile::tempfile().expect("a temporary file");
    let subscriber = Arc::new(
        tracing_subscriber::fmt()
            .with_span_events(FmtSpan::CLOSE)
            .with_ansi(false)
            .with_writer(Mutex::new(BufWriter::new(file)))
            .finish(),
    );
    let mut rows: [(&str, Vec<f64>); 7] = [
        ("bare call", vec![]),
        ("floor, 64 MiB of plain memory", vec![]),
        ("floor, 16 KiB of plain memory", vec![]),
        ("recorded", vec![]),
        ("switched off", vec![]),
        ("tracing, to a file", vec![]),
        ("fastrace, in memory", vec![]),
    ];
    for _ in 0..N_ROUNDS {
        figures.round(|| {
            rows[0].1.push(timed(bare));
            rows[1].1.push(timed(|| streaming.fill()));
            rows[2].1.push(timed(|| cached.fill()));
            rows[3].1.push(timed(|| recorded(&run, &method)));
            rows[4].1.push(timed(|| recorded(&run, &off)));
        });
        rows[5].1.push(tracing::subscriber::with_default(
            Arc::clone(&subscriber),
            || timed(by_tracing),
        ));
        rows[6].1.push(timed(by_fastrace));
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
    let ratio = |floor: usize| (medians[3] - medians[0]) / (medians[floor] - medians[0]);
    println!("ratio to the cached floor {:.2}", ratio(2));
    figures.time(
        "in-line record / (two rdtsc + append)",
        ratio(1),
        ..=1.35,
        "",
    );
    figures.time(
        "in-line record, switched off",
        medians[4] - medians[0],
        ..=3.0,
        " ns",
    );
    for rival in [5, 6] {
        let (name, times) = (
            rows[rival].0,
            (medians[rival] - medians[0]) / (medians[3] - medians[0]),
        );
        println!("{name}: {times:.1} times what a record adds");
    }
    let totals = run.finish().expect("the logs can be ended");
    println!("{totals:?}");
}
