//! A program that is killed loses no call that it has confirmed.
//!
//! The test starts itself again as the program: threads record calls and confirm each one, once it is over, in a file
//! that both map. At a random moment, the same at every run of the test, it is killed.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cca_abi::recording::{ProxyMethod, Recording};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, ParameterDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Run};

const PROGRAM: &str = "MASTERMIND_KILLED_PROGRAM";
const N_THREADS: usize = 3;
const N_KILLS: u64 = 200;
/// Longest time from the first confirmed call to the kill, microseconds.
const LATEST_US: u64 = 40_000;
/// Confirmations are a cache line apart.
const STRIDE: usize = 8;

/// The confirmed calls of each thread.
struct Confirmed(memmap2::MmapMut);

impl Confirmed {
    fn open(directory: &Path) -> Self {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(directory.join("confirmed"));
        let file = file.unwrap();
        file.set_len((N_THREADS * STRIDE * 8) as u64).unwrap();
        // SAFETY: both processes use the map through atomics only.
        Self(unsafe { memmap2::MmapMut::map_mut(&file).unwrap() })
    }

    fn cell(&self, thread: usize) -> &AtomicU64 {
        // SAFETY: the map is page-aligned and has room for all threads.
        unsafe { &*self.0.as_ptr().cast::<AtomicU64>().add(thread * STRIDE) }
    }
}

/// Calls that the calling thread's log could not take so far.
fn dropped(run: &RunRecorder) -> u64 {
    // SAFETY: the context is the calling thread's own, with cells as long as the recorder lives.
    unsafe { &*(*run.recorder().thread_context()).cells }
        .dropped
        .load(Ordering::Relaxed)
}

/// The program: only when the test below starts it.
#[test]
fn program() {
    let Ok(directory) = std::env::var(PROGRAM) else {
        return;
    };
    let directory = Path::new(&directory);
    let confirmed = Confirmed::open(directory);
    let run = RunRecorder::start(RecorderConfig {
        directory: directory.join("records"),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes {
            first_bytes: 4096,
            largest_bytes: 64 << 10,
        },
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition::default(),
    });
    let run = run.unwrap();
    let [outer, inner] = ["outer", "inner"].map(|name| {
        let method = ProxyMethod::new();
        let parameter = |name: &str| ParameterDefinition {
            name: name.into(),
            ..Default::default()
        };
        let parameters = vec![parameter("thread"), parameter("call")];
        method.register(run.register(MethodDefinition {
            method: name.into(),
            parameters,
            ..Default::default()
        }));
        method
    });
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let (run, outer, inner, confirmed) = (&run, &outer, &inner, &confirmed);
            scope.spawn(move || {
                let (mut call, mut lost) = (0, 0);
                loop {
                    let words = || [thread as u64, call];
                    measured(run, outer, words, || measured(run, inner, words, || ()));
                    // Empty calls outrun the preparation of the log on a busy machine. Calls that were dropped and
                    // counted for that reason are made again.
                    let dropped = dropped(run);
                    if dropped == lost {
                        call += 1;
                        confirmed.cell(thread).store(call, Ordering::Release);
                    }
                    lost = dropped;
                }
            });
        }
    });
}

/// A call with two parameters, in a frame of its own.
#[inline(never)]
fn measured(
    run: &RunRecorder,
    method: &ProxyMethod,
    words: impl FnOnce() -> [u64; 2],
    work: impl FnOnce(),
) {
    let recording = Recording::begin(run.recorder(), method, words).unwrap();
    work();
    recording.end(false);
}

/// When a program is killed, microseconds after its first confirmed call: uniform, by the finaliser of SplitMix64.
fn moment_us(kill: u64) -> u64 {
    let mixed = (kill + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % LATEST_US
}

#[test]
fn every_confirmed_call_is_there() {
    let mut most = 0;
    for kill in 0..N_KILLS {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("records")).unwrap();
        let mut program = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::program", "--nocapture"])
            .env(PROGRAM, directory.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let confirmed = Confirmed::open(directory.path());
        while confirmed.cell(0).load(Ordering::Acquire) == 0 {
            assert!(
                program.try_wait().unwrap().is_none(),
                "the program ended by itself"
            );
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(moment_us(kill)));
        program.kill().unwrap();
        program.wait().unwrap();
        let run = Run::open(&directory.path().join("records")).unwrap();
        assert_eq!(run.damage().cloned().collect::<Vec<_>>(), [], "kill {kill}");
        assert!(!run.is_finished());
        let mut recorded = [0; N_THREADS];
        for log in run.logs() {
            for record in log
                .records()
                .filter(|record| record.method.method == "outer")
            {
                let [thread, call] = *record.values else {
                    panic!("{record:?}")
                };
                let recorded = &mut recorded[thread as usize];
                let is_again = call + 1 == *recorded && log.dropped() > 0;
                assert!(
                    call == *recorded || is_again,
                    "{call} after {recorded}, expected order without gaps"
                );
                *recorded = call + 1;
            }
            assert!(log.open_calls().len() <= 2, "{:?}", log.open_calls());
        }
        for (thread, recorded) in recorded.into_iter().enumerate() {
            let confirmed = confirmed.cell(thread).load(Ordering::Acquire);
            most = most.max(confirmed);
            assert!(
                recorded == confirmed || recorded == confirmed + 1,
                "{recorded} of {confirmed} after kill {kill}"
            );
        }
    }
    assert!(
        most > 10_000,
        "only {most} calls: the kills came too early to mean anything"
    );
}
