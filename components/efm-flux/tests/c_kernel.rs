//! The C kernel of `components/efm-flux-c` gives the same results as this crate. Skipped without a
//! C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use hydro_efm_flux::efm_flux;
use hydro_ports::{Axis, GHOST, Shape};
use libloading::{Library, Symbol};

const GAMMA: f64 = 1.4;
const SHAPE: Shape = Shape {
    nx: 37,
    ny: 23,
    ghost: GHOST,
};

#[path = "../../../tests/src/missing.rs"]
mod missing;

type Kernel = unsafe extern "C" fn(
    axis: i32,
    nx: usize,
    ny: usize,
    ghost: usize,
    gamma: f64,
    left: *const f64,
    right: *const f64,
    flux: *mut f64,
    bad_index: *mut isize,
) -> i32;

/// Compiles the kernel into `folder`; `None` if there is no C compiler.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../efm-flux-c/efm_kernel.c");
    let library = folder.join("libefm_kernel.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let flags = [
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fPIC",
        "-shared",
    ];
    let mut command = Command::new(compiler);
    let status = command
        .args(flags)
        .arg("-o")
        .arg(&library)
        .arg(source)
        .arg("-lm")
        .status();
    match status {
        Ok(status) => {
            assert!(status.success(), "the kernel does not compile");
            Some(library)
        }
        Err(error) => {
            missing::skip("cc", format_args!("no C compiler: {error}"));
            None
        }
    }
}

/// Calls the C kernel on whole arrays; returns its code and the index of the bad face.
fn c_flux(
    library: &Library,
    axis: Axis,
    [left, right]: [&[f64]; 2],
    flux: &mut [f64],
) -> (i32, isize) {
    assert!(
        [left.len(), right.len(), flux.len()]
            .iter()
            .all(|n| *n == SHAPE.len())
    );
    let mut bad = 0;
    // SAFETY: the symbol has this signature in efm_kernel.h, and every array has the length of
    // SHAPE, which is all the kernel reads and writes.
    let code = unsafe {
        let kernel: Symbol<'_, Kernel> = library.get(b"efm_flux_kernel").expect("the symbol");
        let (left, right) = (left.as_ptr(), right.as_ptr());
        let Shape { nx, ny, ghost } = SHAPE;
        kernel(
            axis as i32,
            nx,
            ny,
            ghost,
            GAMMA,
            left,
            right,
            flux.as_mut_ptr(),
            &raw mut bad,
        )
    };
    (code, bad)
}

/// States that wander through subsonic and supersonic values of both signs.
fn states(seed: f64) -> Vec<f64> {
    let wave = |k: usize| (0.37 * k as f64 + seed).sin();
    let value = |variable: usize, k: usize| match variable {
        0 | 3 => (2.0 * wave(k + variable)).exp(),
        4 => 0.5 + 0.5 * wave(k),
        _ => 3.0 * wave(k + variable),
    };
    (0..SHAPE.len())
        .map(|k| value(k / SHAPE.plane(), k))
        .collect()
}

#[test]
fn c_and_rust_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = compiled(folder.path()) else {
        return;
    };
    // SAFETY: the library was just built from our source and runs nothing when loaded.
    let library = unsafe { Library::new(library) }.expect("a library");
    let (left, mut right) = (states(0.1), states(2.3));
    for axis in [Axis::X, Axis::Y] {
        let (mut ours, mut theirs) = (vec![0.0; SHAPE.len()], vec![0.0; SHAPE.len()]);
        efm_flux(axis, SHAPE, GAMMA, &left, &right, &mut ours).expect("a flux");
        assert_eq!(
            c_flux(&library, axis, [&left, &right], &mut theirs),
            (0, -1)
        );
        assert!(ours.iter().any(|value| *value != 0.0));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let error = (ours - theirs).abs() / ours.abs().max(1.0);
            assert!(error <= 1e-12, "{theirs} in C, {ours} in Rust");
        }
    }
    let face = SHAPE.faces(Axis::Y).first + 5;
    right[face] = f64::NAN;
    let mut flux = vec![0.0; SHAPE.len()];
    assert_eq!(
        c_flux(&library, Axis::Y, [&left, &right], &mut flux),
        (2, face as isize)
    );
}
