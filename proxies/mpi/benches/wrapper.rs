//! What the wrapper of an MPI function adds to a call, beside its floor: two time-stamp reads.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds. Needs the libraries built
//! (`cargo xtask bench` does so).

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

const N_CALLS: u64 = 5_000;
const N_ROUNDS: usize = 301;

type Barrier = unsafe extern "C" fn(comm: usize) -> i32;

/// A function of a library of this package, which stays open.
fn function(file: &str, name: &str) -> Barrier {
    let program = std::env::current_exe().expect("this program has a path");
    let release: PathBuf = program.ancestors().nth(2).expect("target/release").into();
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

fn wrapper(_: &mut Criterion) {
    let wrapped = function("libproxy_mpi.so", "MPI_Barrier");
    let bare = function("examples/libfake_mpi.so", "PMPI_Barrier");
    let (bare, wrapped) = (black_box(bare), black_box(wrapped));
    let mut sum = 0u64;
    let mut rows: [(&str, Vec<f64>); 3] = [
        ("bare call", vec![]),
        ("two time-stamp reads", vec![]),
        ("wrapped", vec![]),
    ];
    for _ in 0..N_ROUNDS {
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
    }
    black_box(sum);
    let medians = rows.each_mut().map(|(_, values)| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    });
    for ((name, _), median) in rows.iter().zip(medians) {
        println!(
            "{name:24} {median:7.2} ns a call, added {:6.2}",
            median - medians[0]
        );
    }
    println!(
        "ratio to two time-stamp reads: {:.3} (target: at most 1.35)",
        (medians[2] - medians[0]) / (medians[1] - medians[0])
    );
}

criterion_group!(benches, wrapper);
criterion_main!(benches);
