//! A rank that ends in mid-run, for any reason: the other ranks end too, with an error that names it, and none waits
//! for ever.

use std::path::{Path, PathBuf};

use mastermind_tests::{Ended, Mpi, Scratch, bin_dir, mpis, rust_library};

const FLUX: (&str, &str) = ("hydro.GodunovFlux\"\nbc", "test.EndsOneRank\"\nbc");

/// Runs on 3 ranks, one of which ends.
fn run(scratch: &Scratch, assembly: &Path, mpi: &Mpi, set: &[&str]) -> Ended {
    let set = set.iter().flat_map(|setting| ["--set", setting]);
    let ranks = ["--ranks", "3", "--mpi", mpi.kind.name()];
    let arguments: Vec<_> = ranks.into_iter().chain(set).collect();
    let ended = scratch.verb("run", assembly, &arguments);
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:#?}");
    assert!(!ended.stdout.contains("done on"), "{ended:#?}");
    ended
}

fn shock(scratch: &Scratch) -> PathBuf {
    let steps = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 100");
    scratch.example(
        "shock/shock.toml",
        &[&rust_library("failing")],
        &[FLUX, steps],
    )
}

/// The launcher reports a signal: Open MPI's by name, MPICH's by the exit code, which is its number.
#[test]
fn a_rank_that_is_killed_or_aborts() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    for mpi in mpis() {
        for (way, rank) in [("kill", 0), ("kill", 2), ("abort", 1)] {
            let set = [format!("flux.way={way}"), format!("flux.rank={rank}")];
            let ended = run(&scratch, &assembly, &mpi, &set.each_ref().map(|s| &s[..]));
            let words = ["exited on signal", "EXIT CODE"];
            let all = [&ended.stdout[..], &ended.stderr].concat();
            let is_reported = words.iter().any(|words| all.contains(words));
            assert!(is_reported, "{ended:#?}");
        }
    }
}

/// Even with the exit code of success.
#[test]
fn a_component_that_ends_its_process() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let cause = "a component ended the process, expected it to return";
    for mpi in mpis() {
        for (way, rank) in [("exit 0", 0), ("exit 0", 1), ("exit 3", 2)] {
            let set = [format!("flux.way={way}"), format!("flux.rank={rank}")];
            let ended = run(&scratch, &assembly, &mpi, &set.each_ref().map(|s| &s[..]));
            assert!(ended.stderr.contains(cause), "{ended:#?}");
            let of_rank = format!("error: cannot run rank {rank} of 3");
            assert!(rank == 0 || ended.stderr.contains(&of_rank), "{ended:#?}");
        }
    }
    for way in ["exit 0", "exit 3"] {
        let way = format!("flux.way={way}");
        let alone = ["--set", &way, "--set", "flux.rank=0"];
        let error = scratch.verb("run", &assembly, &alone).error();
        let expected =
            format!("error: cannot run assembly \"shock-godunov\" to its end\n  {cause}\n");
        assert_eq!(error, expected);
    }
}

/// On one rank, while the others wait for its marks.
#[test]
fn a_component_that_fails_amid_a_regrid() {
    let scratch = Scratch::new();
    let failing = rust_library("failing");
    let adaptive = ["amr_mesh", "icc", "load_balancer"];
    let adaptive = adaptive.map(|name| bin_dir().join(format!("libhydro_{name}.so")));
    let libraries: Vec<&Path> = adaptive
        .iter()
        .chain([&failing])
        .map(PathBuf::as_path)
        .collect();
    let parameters = "relative = 0.05\ntracer = 0.02\nbuffer = 2\nefficiency = 0.75\nmin_side = 8\nmax_side = 64\n";
    let edits = [
        ("hydro.Regridder\"", "test.EndsOneRank\""),
        (parameters, "calls = 4\n"),
    ];
    let assembly = scratch.example("shock-amr/shock-amr.toml", &libraries, &edits);
    for mpi in mpis() {
        let ended = run(&scratch, &assembly, &mpi, &["regridder.rank=2"]);
        let lines: Vec<_> = ended.stderr.lines().collect();
        assert!(
            lines.contains(&"error: cannot run rank 2 of 3"),
            "{ended:#?}"
        );
        assert!(ended.stderr.contains("no more on this rank"), "{ended:#?}");
    }
}
