//! Resources that a recording takes from the program: memory by the number of its threads, and no descriptors. A
//! program of its own, since both belong to the process.

use std::sync::Barrier;

use cca_abi::recording::{ProxyMethod, Recording};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Profile, Run};

const N_THREADS: usize = 64;
const N_CALLS: u64 = 60_000;

/// Of `/proc/self/status`, bytes.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap();
    let kib = line.split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() << 10
}

fn n_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn many_threads_take_little_memory_and_no_descriptors() {
    let directory = tempfile::tempdir().unwrap();
    let before = n_descriptors();
    let run = RunRecorder::start(RecorderConfig {
        directory: directory.path().into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition::default(),
    })
    .unwrap();
    let method = ProxyMethod::registered(run.register(MethodDefinition::default()));
    let met = Barrier::new(N_THREADS + 1);
    let with_logs = std::thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| {
                for _ in 0..N_CALLS {
                    let recording = Recording::begin(run.recorder(), &method, || []);
                    if let Some(recording) = recording {
                        recording.end(false);
                    }
                }
                met.wait();
                met.wait();
            });
        }
        met.wait();
        // All of them have their logs open now.
        let with_logs = n_descriptors();
        met.wait();
        with_logs
    });
    assert_eq!(with_logs, before);
    let n_calls = N_CALLS * N_THREADS as u64;
    let sums = Profile::of_sums(&run.sums().unwrap());
    assert_eq!((sums.records, sums.lost_records), (n_calls, 0));
    let totals = run.finish().unwrap();
    assert_eq!((totals.records, totals.dropped), (n_calls, 0));
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(Profile::new(&run, false), sums);
    let peak_mib = status("VmHWM") >> 20;
    assert!(peak_mib < 256, "{peak_mib} MiB");
}
