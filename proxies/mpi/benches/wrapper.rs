//! What the wrapper of an MPI function adds to a call in a recorded run, beside its floor: two time-stamp reads.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds. Needs the libraries built
//! (`cargo xtask bench` does so).

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use cca_loader::MpiProxy;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::ChunkSizes;
use mastermind_records::definition::RunDefinition;
use must_reach::Figures;

const N_CALLS: u64 = 5_000;
const N_ROUNDS: usize = 301;

type Barrier = unsafe extern "C" fn(comm: usize) -> i32;

fn release() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    program.ancestors().nth(2).expect("target/release").into()
}

/// A function of a library of this package, which stays open.
fn function(file: &str, name: &str) -> Barrier {
    let release = release();
    // SAFETY: our own libraries; the function has this signature.
    unsafe {
        let library = Library::open(Some(release.join(file)), RTLD_NOW | RTLD_GLOBAL);
        let library = library.expect("run through `cargo xtask bench`");
        let function = *library
            .get::<Barrier>(name.as_bytes())
            .expect("the function");
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

/// Has the proxy tell a recorder, as in a recorded run; both stay.
fn attach(folder: &std::path::Path) {
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
    // SAFETY: both stay.
    std::mem::forget(unsafe { proxy.attach(run.recorder()) });
}

fn main() -> ExitCode {
    let wrapped = function("libproxy_mpi.so", "MPI_Barrier");
    let bare = function("examples/libfake_mpi.so", "PMPI_Barrier");
    let directory = tempfile::tempdir().expect("a temporary directory");
    attach(directory.path());
    let (bare, wrapped) = (black_box(bare), black_box(wrapped));
    must_reach::judge(|figures| compare(figures, bare, wrapped))
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
    let medians = rows.each_mut().map(|(_, values)| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    });
    for ((name, _), median) in rows.iter().zip(medians) {
        let added = median - medians[0];
        println!("{name:24} {median:7.2} ns a call, added {added:6.2}");
    }
    let ratio = (medians[2] - medians[0]) / (medians[1] - medians[0]);
    figures.time("wrapper of MPI / two time-stamp reads", ratio, ..=1.35, "");
}
