//! The same results on 1, 2 and 3 ranks, under each MPI, and from a component in C as from the one in Rust.

use std::path::Path;

use mastermind_tests::{Scratch, bin_dir, field, mpis, skip};

/// 96 x 32 cells of 7 columns.
const NUMBERS: usize = 96 * 32 * 7;

fn shock(scratch: &Scratch) -> std::path::PathBuf {
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 60");
    scratch.example("shock/shock.toml", &[], &[edit])
}

/// Runs the shock, and returns the numbers of its field.
fn run(scratch: &Scratch, assembly: &Path, arguments: &[&str]) -> Vec<f64> {
    let output = ["--set", "output.csv=field.csv"];
    scratch
        .verb("run", assembly, &[&output, arguments].concat())
        .well();
    take(scratch)
}

fn take(scratch: &Scratch) -> Vec<f64> {
    let table = scratch.read("field.csv");
    std::fs::remove_file(scratch.path("field.csv")).expect("the field");
    let numbers = field(&table);
    assert_eq!(numbers.len(), NUMBERS);
    numbers
}

/// The same to 1e-12, of the larger of a value and 1.
#[track_caller]
fn assert_same(what: &str, found: &[f64], expected: &[f64]) {
    let off = |(a, b): (&f64, &f64)| (a - b).abs() / b.abs().max(1.0);
    let worst = found.iter().zip(expected).map(off).fold(0.0, f64::max);
    println!("{what}: largest difference {worst:e}");
    assert!(worst <= 1e-12, "{what}: {worst}");
}

#[test]
fn ranks_of_each_mpi() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let alone = run(&scratch, &assembly, &[]);
    for mpi in mpis() {
        for ranks in ["1", "2", "3"] {
            let name = mpi.kind.name();
            let found = run(&scratch, &assembly, &["--ranks", ranks, "--mpi", name]);
            assert_same(&format!("{ranks} ranks of {name}"), &found, &alone);
        }
    }
}

#[test]
fn ranks_that_a_launcher_started() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let alone = run(&scratch, &assembly, &[]);
    for mpi in mpis() {
        for ranks in [1, 2] {
            let mut command = mpi.launch(ranks);
            command.arg(bin_dir().join("mastermind"));
            command.arg("run").arg(&assembly);
            command.args(["--set", "output.csv=field.csv"]);
            let printed = scratch.run(&mut command).well();
            // One run, not one a rank.
            assert_eq!(printed.matches("done on").count(), 1, "{printed}");
            assert_same(mpi.kind.name(), &take(&scratch), &alone);
        }
    }
}

#[test]
fn whichever_mpi_there_is() {
    if mpis().is_empty() {
        return;
    }
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let alone = run(&scratch, &assembly, &[]);
    assert_same(
        "2 ranks",
        &run(&scratch, &assembly, &["--ranks", "2"]),
        &alone,
    );
}

#[test]
fn the_flux_in_c() {
    if !bin_dir().join("libhydro_efm_flux_c.so").exists() {
        return skip("cc", "no component in C");
    }
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let with = |class: &str| {
        let flux = format!("flux={class}");
        run(&scratch, &assembly, &["--replace", &flux])
    };
    let rust = with("hydro.EfmFlux");
    assert_same("C", &with("hydro.EfmFluxC"), &rust);
    // And it is another one than Godunov's.
    let godunov = with("hydro.GodunovFlux");
    let differ = rust.iter().zip(&godunov).any(|(a, b)| (a - b).abs() > 1e-3);
    assert!(differ, "the fluxes are all one");
}
