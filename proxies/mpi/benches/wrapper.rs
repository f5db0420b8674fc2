//! Cost of the wrapper of an MPI function per call in a recorded run, compared with its floor, two time-stamp reads;
//! and the additional cost of a record of each call.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds. For the cost of a record only
//! undisturbed rounds count ([`undisturbed`]), identified by the calls that are only timed; the figure over all rounds
//! is printed next to it. Needs the libraries built (`cargo xtask bench` does so).

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cca_abi::recording::MpiEventOptions;
use cca_loader::{AttachedMpi, MpiProxy};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::ChunkSizes;
use mastermind_records::definition::RunDefinition;
use must_reach::{Figures, medians, undisturbed};

const WITH_SITES: MpiEventOptions = MpiEventOptions {
    call_depth: 1,
    processor_time: false,
};

const WITH_PROCESSOR_TIME: MpiEventOptions = MpiEventOptions {
    call_depth: 0,
    processor_time: true,
};

const N_CALLS: u64 = 5_000;
const N_ROUNDS: usize = 301;

type Barrier = unsafe extern "C" fn(comm: usize) -> i32;
type Send = unsafe extern "C" fn(usize, i32, u32, i32, i32, u32) -> i32;
type Isend = unsafe extern "C" fn(usize, i32, u32, i32, i32, u32, &mut i32) -> i32;
type Wait = unsafe extern "C" fn(&mut i32, usize) -> i32;

/// Calls of each row of events a round: each leaves a record.
const N_EVENTS: u64 = 500;
/// Rounds of them: a second, since the machine changes its speed for about as long. As many again are added, up to this many times,
/// until a quarter of the first ones' number are undisturbed.
const N_EVENT_ROUNDS: usize = 401;
const PATIENCE: usize = 8;
/// Between two of them, time for the next chunk of the log. A program calls again as soon; after a longer pause the
/// first calls find nothing of ours in the processor's caches, and their cost is printed separately.
const PAUSE: Duration = Duration::from_micros(100);
const LONG_PAUSE: Duration = Duration::from_millis(2);
/// Rounds with the long pause.
const N_COLD_ROUNDS: usize = 101;

/// Handles of MPICH: of a communicator other than `MPI_COMM_WORLD`, whose ranks are translated, and `MPI_DOUBLE`.
const COMMUNICATOR: u32 = 0x8400_0001;
const DATATYPE: u32 = 0x4c00_080b;

fn release() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    program.ancestors().nth(2).expect("target/release").into()
}

/// A function of a library of this package, which stays open.
fn function<F: Copy>(file: &str, name: &str) -> F {
    let release = release();
    // SAFETY: our own libraries; the functions have these signatures.
    unsafe {
        let library = Library::open(Some(release.join(file)), RTLD_NOW | RTLD_GLOBAL);
        let library = library.expect("run through `cargo xtask bench`");
        let function = *library.get::<F>(name.as_bytes()).expect("the function");
        std::mem::forget(library);
        function
    }
}

/// Nanoseconds a call.
fn timed(mut call: impl FnMut(u64)) -> f64 {
    let begin = Instant::now();
    for i in 0..N_CALLS {
        call(black_box(i));
    }
    begin.elapsed().as_nanos() as f64 / N_CALLS as f64
}

/// The proxy and a recorder attached to it, as in a recorded run; both stay.
struct Recorded {
    mpi: AttachedMpi,
    ids: Vec<u32>,
    ids_with_sites: Vec<u32>,
    ids_with_processor_time: Vec<u32>,
}

fn attach(folder: &std::path::Path) -> Recorded {
    let path = release().join("libproxy_mpi.so");
    let proxy = MpiProxy::open(&path, None).expect("the proxy");
    let run = RunRecorder::start(RecorderConfig {
        directory: folder.into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: MpiFunctions {
            names: proxy.function_names(),
            before: vec![],
        },
        run: RunDefinition {
            mpi: Some("bench".into()),
            ..RunDefinition::default()
        },
    });
    let run = Box::leak(Box::new(run.expect("a temporary directory can be written")));
    Recorded {
        ids: run.register_mpi(MpiEventOptions::default()),
        ids_with_sites: run.register_mpi(WITH_SITES),
        ids_with_processor_time: run.register_mpi(WITH_PROCESSOR_TIME),
        // SAFETY: both stay.
        mpi: unsafe { proxy.attach(run.recorder()) }.expect("the same version"),
    }
}

impl Recorded {
    /// Times a row with each call recorded, or not.
    fn timed(&self, how: How, call: &dyn Fn(u64)) -> f64 {
        match how {
            How::Timed => self.mpi.record_events(&[], MpiEventOptions::default()),
            How::Recorded => self
                .mpi
                .record_events(&self.ids, MpiEventOptions::default()),
            How::WithSites => self.mpi.record_events(&self.ids_with_sites, WITH_SITES),
            How::WithProcessorTime => self
                .mpi
                .record_events(&self.ids_with_processor_time, WITH_PROCESSOR_TIME),
        };
        call(0);
        let begin = Instant::now();
        for i in 0..N_EVENTS {
            call(black_box(i));
        }
        let ns = begin.elapsed().as_nanos() as f64 / N_EVENTS as f64;
        self.mpi.record_events(&[], MpiEventOptions::default());
        ns
    }
}

/// How a call is measured.
#[derive(Clone, Copy)]
enum How {
    /// It is in the totals.
    Timed,
    /// It has a record.
    Recorded,
    /// It has a record with its call site.
    WithSites,
    /// It has a record with the processor time before it.
    WithProcessorTime,
}

fn main() -> ExitCode {
    let wrapped: Barrier = function("libproxy_mpi.so", "MPI_Barrier");
    let bare: Barrier = function("examples/libfake_mpi.so", "PMPI_Barrier");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recorded = attach(directory.path());
    let (bare, wrapped) = (black_box(bare), black_box(wrapped));
    let status = must_reach::judge(|figures| {
        compare(figures, bare, wrapped);
        compare_events(figures, &recorded, wrapped);
        compare_processor_time(figures, &recorded, wrapped);
    });
    std::mem::forget(recorded);
    status
}

/// Name of the row, the timed function, and its number of calls of MPI.
type EventRow<'a> = (&'a str, &'a dyn Fn(u64), f64);

/// Measurements of each row of events; the first is repeated at the end.
const HOW: [How; 4] = [How::Timed, How::Recorded, How::WithSites, How::Timed];

/// One try: cost of a record of a call in addition to a call that is only timed.
fn compare_events(figures: &mut Figures, recorded: &Recorded, barrier: Barrier) {
    let send: Send = function("libproxy_mpi.so", "MPI_Send");
    let isend: Isend = function("libproxy_mpi.so", "MPI_Isend");
    let wait: Wait = function("libproxy_mpi.so", "MPI_Wait");
    // SAFETY: the functions take any words; a request is written and read in place.
    let barrier = move |_| unsafe {
        black_box(barrier(COMMUNICATOR as usize));
    };
    // SAFETY: as above.
    let send = move |i: u64| unsafe {
        black_box(send(0, 1, DATATYPE, (i % 4) as i32, 0, COMMUNICATOR));
    };
    // SAFETY: as above; MPICH ignores a status at address 1.
    let message = move |i: u64| unsafe {
        let mut request = 0;
        isend(
            0,
            1,
            DATATYPE,
            (i % 4) as i32,
            1 + i as i32,
            COMMUNICATOR,
            &mut request,
        );
        black_box(wait(&mut request, 1));
    };
    let rows: [EventRow<'_>; 3] = [
        ("MPI_Barrier", &barrier, 1.0),
        ("MPI_Send", &send, 1.0),
        ("MPI_Isend and MPI_Wait", &message, 2.0),
    ];
    let round = || -> [f64; HOW.len() * 3] {
        std::array::from_fn(|place| {
            let (_, call, calls) = rows[place / HOW.len()];
            recorded.timed(HOW[place % HOW.len()], call) / calls
        })
    };
    let mut cold = Vec::new();
    for _ in 0..N_COLD_ROUNDS {
        std::thread::sleep(LONG_PAUSE);
        cold.push(round());
    }
    let of_cold = medians(&cold);
    let mut rounds = Vec::new();
    let mut quiet = Vec::new();
    while rounds.len() < N_EVENT_ROUNDS
        || quiet.len() < N_EVENT_ROUNDS / 4 && rounds.len() < PATIENCE * N_EVENT_ROUNDS
    {
        rounds.push(round());
        quiet = undisturbed(&rounds, &[&[0, 3], &[4, 7], &[8, 11]]);
        std::thread::sleep(PAUSE);
    }
    figures.rounds(rounds.len(), rounds.len() - quiet.len());
    let (of_all, of_quiet) = (medians(&rounds), medians(&quiet));
    for (nth, (name, ..)) in rows.iter().enumerate() {
        let of_row = |medians: &[f64]| -> [f64; 3] {
            std::array::from_fn(|how| medians[nth * HOW.len() + how])
        };
        let [timed, recorded, with_sites] = of_row(&of_quiet);
        let [all_timed, all_recorded, all_with_sites] = of_row(&of_all);
        println!(
            "{name:24} {timed:7.2} ns a call, recorded {recorded:7.2}, with its site {with_sites:7.2}"
        );
        println!(
            "  over all rounds        {all_timed:7.2} ns a call, recorded {all_recorded:7.2}, with its site {all_with_sites:7.2}"
        );
        let [cold_timed, cold_recorded, cold_with_sites] = of_row(&of_cold);
        println!(
            "  after pauses of 2 ms   {cold_timed:7.2} ns a call, recorded {cold_recorded:7.2}, with its site {cold_with_sites:7.2}"
        );
        for (what, more) in [
            (format!("record of {name}, more a call"), recorded - timed),
            (
                format!("record of {name} with its site, more a call"),
                with_sites - timed,
            ),
        ] {
            if quiet.len() < N_EVENT_ROUNDS / 4 {
                figures.unknown(&what, "too few undisturbed rounds");
            } else {
                figures.time(&what, more, ..=30.0, "ns");
            }
        }
    }
}

/// Computation between two calls after which the processor time is read from the system, nanoseconds.
const COMPUTATION_NS: u128 = 2000;

/// One try: cost of the processor time in a record, for consecutive calls and for calls with computation in between.
fn compare_processor_time(figures: &mut Figures, recorded: &Recorded, barrier: Barrier) {
    // SAFETY: the function takes any word.
    let in_a_row = move |_| unsafe {
        black_box(barrier(COMMUNICATOR as usize));
    };
    let apart = move |i| {
        let begun = Instant::now();
        while begun.elapsed().as_nanos() < COMPUTATION_NS {}
        in_a_row(i);
    };
    let rows: [(&str, &dyn Fn(u64)); 2] = [("in a row", &in_a_row), ("apart", &apart)];
    let rounds: Vec<[f64; 4]> = (0..N_COLD_ROUNDS)
        .map(|_| {
            std::thread::sleep(PAUSE);
            std::array::from_fn(|place| {
                let how = [How::Recorded, How::WithProcessorTime][place % 2];
                recorded.timed(how, rows[place / 2].1)
            })
        })
        .collect();
    let of_all = medians(&rounds);
    // If the system's own reading takes longer than the limit, as on some virtual machines, the reading is the floor.
    let reading_ns = processor_time_ns();
    println!("the system's processor time of a thread takes {reading_ns:.0} ns to read");
    let max_ns = f64::max(MAX_NS, MAX_OF_FLOOR * reading_ns).round();
    for (nth, (name, _)) in rows.iter().enumerate() {
        let what = format!("processor time of calls {name}, more a record");
        let more_ns = of_all[2 * nth + 1] - of_all[2 * nth];
        figures.time(&what, more_ns, ..=max_ns, "ns");
    }
}

/// Limit for the cost of processor time in a record, nanoseconds; if the system's reading takes more, the limit is a
/// multiple of the reading, the same as that of a recorded call and its floor.
const MAX_NS: f64 = 250.0;
const MAX_OF_FLOOR: f64 = 1.35;

/// Cost of a reading of the thread's processor time, nanoseconds: the median of [`N_COLD_ROUNDS`], each after a
/// computation like the one between two calls.
fn processor_time_ns() -> f64 {
    let clock = |id| {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: there is room for the time; both clocks exist on every Linux.
        unsafe { libc::clock_gettime(id, &raw mut time) };
        black_box(time.tv_nsec)
    };
    let timed = |id| {
        let begun = Instant::now();
        while begun.elapsed().as_nanos() < COMPUTATION_NS {}
        let begun = Instant::now();
        clock(id);
        begun.elapsed().as_nanos() as f64
    };
    let mut rounds: Vec<f64> = (0..N_COLD_ROUNDS)
        .map(|_| timed(libc::CLOCK_THREAD_CPUTIME_ID) - timed(libc::CLOCK_MONOTONIC))
        .collect();
    median(&mut rounds)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One try: rounds of the three rows.
fn compare(figures: &mut Figures, bare: Barrier, wrapped: Barrier) {
    let mut sum = 0u64;
    let mut rows: [(&str, Vec<f64>); 3] = [
        ("bare call", vec![]),
        ("two time-stamp reads", vec![]),
        ("wrapped", vec![]),
    ];
    for _ in 0..N_ROUNDS {
        figures.round(|| {
            // SAFETY: both functions take any word.
            rows[0].1.push(timed(|i| unsafe {
                black_box(bare(i as usize));
            }));
            // SAFETY: as above; the instruction touches no memory.
            rows[1].1.push(timed(|i| unsafe {
                let start = std::arch::x86_64::_rdtsc();
                black_box(bare(i as usize));
                sum = sum.wrapping_add(std::arch::x86_64::_rdtsc().wrapping_sub(start));
            }));
            // SAFETY: as above.
            rows[2].1.push(timed(|i| unsafe {
                black_box(wrapped(i as usize));
            }));
        });
    }
    black_box(sum);
    let medians = rows.each_mut().map(|(_, values)| median(values));
    for ((name, _), median) in rows.iter().zip(medians) {
        let added = median - medians[0];
        println!("{name:24} {median:7.2} ns a call, added {added:6.2}");
    }
    let ratio = (medians[2] - medians[0]) / (medians[1] - medians[0]);
    figures.time("wrapper of MPI / two time-stamp reads", ratio, ..=1.35, "");
}
