//! Recorded runs of a program on several numbers of ranks become one model; runs that do not belong together are refused.

use std::fs;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis_with, output, root};
use serde_json::Value;

/// The command that records a run of the ring.
fn launcher(
    mpi: &str,
    ranks: u32,
    arguments: &[&str],
    records: &str,
    scratch: &Scratch,
) -> Command {
    let program = compile_mpi(mpi, "ring_of_ranks.c", &[], &[], &scratch.path(""));
    let mut command = mpirun(mpi, ranks, &scratch.path(""));
    command.arg(bin_dir().join("mastermind"));
    command.args(["wrap", "--mpi-events", "--cpu", "--records"]);
    command.arg(scratch.path(records)).arg("--");
    command.arg(program).args(arguments);
    command
}

fn record(mpi: &str, ranks: u32, arguments: &[&str], records: &str, scratch: &Scratch) {
    output(&mut launcher(mpi, ranks, arguments, records, scratch));
}

fn machine() -> String {
    let path = root().join("examples/sweep3d/machine.toml");
    path.display().to_string()
}

#[test]
fn one_model_of_three_runs_is_simulated_where_it_is_known() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        for ranks in [2, 3, 4] {
            record(mpi, ranks, &["20"], &format!("run{ranks}"), &scratch);
        }
        let words = ["convert", "run2", "run4", "run3", "-o", "ring.toml"];
        let said = scratch.mastermind(&words).well();
        assert!(said.starts_with("ring.toml is written: "), "{said}");
        let model = fs::read_to_string(scratch.path("ring.toml")).expect("a model");
        // Whether costs follow a pattern depends on other work on the machine; other tests with known costs check that.
        for part in [
            "ranks = { recorded = [2, 3, 4]",
            "to = \"(process + 1) % processes\", bytes = \"800\"",
            "allreduce",
        ] {
            assert!(model.contains(part), "{part}: {model}");
        }
        let simulated = |ranks: &str| {
            let machine = machine();
            let words = ["simulate", "ring.toml", "--machine", &machine];
            scratch.mastermind(&[&words[..], &["--ranks", ranks, "--json"]].concat())
        };
        for ranks in [2_u64, 3, 4] {
            let text = simulated(&ranks.to_string()).well();
            let document: Value = serde_json::from_str(&text).expect("a document");
            // One message of each rank in each round, and those of the reductions.
            let messages = document["messages"].as_u64().expect("a number");
            assert!(
                messages > 20 * ranks,
                "{messages} of {ranks} ranks: {model}"
            );
        }
        for ranks in ["1", "1000"] {
            let error = simulated(ranks).error();
            assert!(error.contains("recorded-ranks"), "{error}");
        }
    }
}

#[test]
fn runs_that_do_not_belong_together_are_refused() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        record(mpi, 2, &["4"], "run2", &scratch);
        record(mpi, 3, &["5"], "other-rounds", &scratch);
        record(mpi, 3, &["4", "1"], "other-arguments", &scratch);
        record(mpi, 2, &["4"], "again", &scratch);
        record(mpi, 3, &["4"], "run3", &scratch);
        let refused = |runs: &[&str], output: &str| {
            let words = [&["convert"], runs, &["-o", output]].concat();
            let error = scratch.mastermind(&words).error();
            assert!(!scratch.path(output).exists(), "{error}");
            error
        };
        let error = refused(&["run2", "other-rounds"], "ring.toml");
        assert!(
            error.contains("argument 1 = \"5\", expected argument 1 = \"4\""),
            "{error}"
        );
        let error = refused(&["run2", "other-arguments"], "ring.toml");
        assert!(error.contains("2 settings, expected 1 settings"), "{error}");
        let error = refused(&["run2", "again"], "ring.toml");
        assert!(error.contains("two of them have 2 ranks"), "{error}");
        let error = refused(&["run2", "run3"], "ring.goal");
        assert!(
            error.contains("expected a file that ends in .toml"),
            "{error}"
        );
        let error = refused(&["run2", "ring.toml"], "ring.toml");
        assert!(error.contains("no record directory"), "{error}");
        let killed = launcher(mpi, 4, &["4"], "killed", &scratch)
            .env("RING_IS_KILLED", "1")
            .output()
            .expect("an end");
        assert!(!killed.status.success());
        let error = refused(&["run2", "killed"], "ring.toml");
        assert!(error.contains("was killed or is still going on"), "{error}");
    }
}
