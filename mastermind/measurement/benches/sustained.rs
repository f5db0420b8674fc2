//! Calls of 250 ns without a rest, with two parameters: memory from the start to the summary and the end, chunks that were
//! late, and the tail of the added time.
//!
//! `--calls N`; 10⁸ of them write 4.8 GB in the folder for temporary files, and take 25 s in each
//! direction.

use std::hint::black_box;
use std::process::ExitCode;

use cca_abi::recording::{ProxyMethod, Recording};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, ParameterDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Profile, Run};
use must_reach::Figures;
use rustix::time::{ClockId, clock_gettime};

const WORK_NS: f64 = 250.0;
const DEFAULT_CALLS: u64 = 10_000_000;

/// Calls between two readings of the memory in use.
const LOOK_EVERY: u64 = 1 << 18;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|a| a == "--calls");
    let n_calls = at.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let n_calls = n_calls.unwrap_or(DEFAULT_CALLS);
    must_reach::judge(|figures| sustained(figures, n_calls))
}

/// Times of calls in ticks, by their size: 32 buckets each time it doubles.
struct Times {
    counts: Vec<u64>,
    most: u64,
}

impl Times {
    fn new() -> Self {
        Self {
            counts: vec![0; 64 * 32],
            most: 0,
        }
    }

    fn bucket(ticks: u64) -> usize {
        let magnitude = ticks.max(32).ilog2();
        (magnitude as usize - 5) * 32 + ((ticks.max(32) >> (magnitude - 5)) & 31) as usize
    }

    fn add(&mut self, ticks: u64) {
        self.counts[Self::bucket(ticks)] += 1;
        self.most = self.most.max(ticks);
    }

    /// Ticks that a part of the calls does not exceed, to 3 %.
    fn quantile(&self, part: f64) -> u64 {
        let n: u64 = self.counts.iter().sum();
        let mut left = (n as f64 * part) as u64;
        for (bucket, count) in self.counts.iter().enumerate() {
            if left < *count {
                return (32 + bucket as u64 % 32) << (bucket / 32);
            }
            left -= count;
        }
        self.most
    }
}

/// A call that works for some ticks.
#[inline(never)]
fn working_call(clock: &Clock, ticks: u64) {
    let begin = clock.now();
    while clock.now().wrapping_sub(begin) < ticks {
        std::hint::spin_loop();
    }
}

fn parameter(name: &str) -> ParameterDefinition {
    ParameterDefinition {
        name: name.into(),
        ..ParameterDefinition::default()
    }
}

/// One row: each call's time, and the most memory in use.
fn row(
    n_calls: u64,
    clock: &Clock,
    recorder: Option<(&RunRecorder, &ProxyMethod)>,
) -> (Times, u64) {
    let work = (WORK_NS * 1e-9 * clock.ticks_per_second()) as u64;
    let (mut times, mut most_resident) = (Times::new(), 0);
    for call in 0..n_calls {
        let begin = clock.now();
        let (q, axis) = (black_box(call), black_box(call & 1));
        let recording = recorder
            .and_then(|(run, method)| Recording::begin(run.recorder(), method, || [q, axis]));
        working_call(clock, work);
        if let Some(recording) = recording {
            recording.end(black_box(false));
        }
        times.add(clock.now() - begin);
        if call % LOOK_EVERY == 0 {
            most_resident = most_resident.max(resident_bytes());
        }
    }
    (times, most_resident)
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    resident.unwrap_or(0) * 4096
}

/// A line of `/proc/self/status`, KiB.
fn status_kib(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.unwrap_or(u64::MAX)
}

/// Has the system begin anew with the peak of the memory in use.
fn forget_peak() {
    // If it cannot be reset, the peak is that of the whole program, which is no less.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn sustained(figures: &mut Figures, n_calls: u64) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Clock::detect();
    let ns = 1e9 / clock.ticks_per_second();
    let (bare, bare_resident) = row(n_calls, &clock, None);
    forget_peak();
    let run = RunRecorder::start(RecorderConfig {
        directory: directory.path().into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock,
        mpi: MpiFunctions::default(),
        run: RunDefinition {
            mpi: Some("bench".into()),
            ..RunDefinition::default()
        },
    });
    let run = run.expect("a temporary directory can be written");
    let method = ProxyMethod::registered(run.register(MethodDefinition {
        method: "call".into(),
        parameters: vec![parameter("q"), parameter("axis")],
        ..MethodDefinition::default()
    }));
    let (recorded, recorded_resident) = row(n_calls, &clock, Some((&run, &method)));
    println!("{n_calls} calls of {WORK_NS} ns, ns a call:");
    for (name, times) in [("bare", &bare), ("recorded", &recorded)] {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|part| times.quantile(part) as f64 * ns);
        let most = times.most as f64 * ns;
        println!("  {name:10} p50 {p50:6.0}, p99 {p99:6.0}, p99.9 {p999:6.0}, maximum {most:.0}");
    }
    let added = |part: f64| (recorded.quantile(part) as f64 - bare.quantile(part) as f64) * ns;
    println!(
        "  added at p50 {:.0}, p99.9 {:.0}; maximum {:.0}",
        added(0.5),
        added(0.999),
        (recorded.most as f64 - bare.most as f64) * ns
    );
    let sums = Profile::of_sums(&run.sums().expect("the logs can be summed up"));
    assert_eq!(sums.rows[0].calls, n_calls as f64);
    let totals = run.finish().expect("the logs can be ended");
    assert_eq!(totals.records + totals.dropped, n_calls);
    let mib = recorded_resident.saturating_sub(bare_resident) as f64 / 1_048_576.0;
    figures.fact("memory of a recorded run", mib, ..=64.0, " MiB");
    let peak_mib = status_kib("VmHWM") as f64 / 1024.0;
    let what =
        "peak memory from start to end, mapped pages of the log, its summary and its end included";
    figures.fact(what, peak_mib, ..=100.0, " MiB");
    figures.time(
        "calls that waited for a chunk",
        totals.late_chunks as f64,
        ..=0.0,
        "",
    );
    figures.fact("calls not recorded", totals.dropped as f64, ..=0.0, "");
    // In tenths, so that the header of 64 KiB and the definitions, which all records share, do not show.
    let bytes = (totals.bytes as f64 / totals.records as f64 * 10.0).round() / 10.0;
    let what = "a record with two parameters in the log";
    figures.fact(what, bytes, ..=48.0, " bytes");
    read(figures, directory.path(), totals.records);
}

/// Opens, checks, reads and sums up the records, in time of the core that does it.
fn read(figures: &mut Figures, directory: &std::path::Path, n_records: u64) {
    let begin = core_s();
    let run = Run::open(directory).expect("the logs were just written");
    let opened = core_s() - begin;
    let profile = Profile::new(&run, false);
    let all = core_s() - begin;
    assert_eq!(profile.rows[0].calls, n_records as f64);
    let peak_mib = status_kib("VmHWM") as f64 / 1024.0;
    figures.fact("peak memory with reading", peak_mib, ..=100.0, " MiB");
    let rate = |seconds: f64| n_records as f64 / seconds * 1e-6;
    println!(
        "{n_records} records: opened and checked {:.1} million/s, summed {:.1}",
        rate(opened),
        rate(all - opened)
    );
    let what = "opening, checking and profiling records, a core";
    figures.time(what, rate(all), 20.0.., " million/s");
}

/// Time that this thread has had a core for, seconds.
fn core_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
