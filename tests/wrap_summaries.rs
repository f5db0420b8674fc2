//! The summary of a wrapped run agrees with the logs of all ranks, and exists if all of them ended without an error.

use std::path::Path;

use mastermind_tests::{Ended, Scratch, bin_dir, compile_mpi, mpirun, mpis_with};
use serde_json::Value;

const WRAP: [&str; 4] = ["wrap", "--overwrite", "--records", "records"];

fn wrap(scratch: &Scratch, mpi: &str, ranks: u32, options: &[&str], words: &[&Path]) -> Ended {
    let mut command = mpirun(mpi, ranks, &scratch.path(""));
    command.arg(bin_dir().join("mastermind")).args(WRAP);
    scratch.run(command.args(options).arg("--").args(words))
}

fn profile(scratch: &Scratch, options: &[&str]) -> Value {
    let words = [&["profile", "records", "--json"], options].concat();
    serde_json::from_str(&scratch.mastermind(&words).well()).expect("JSON")
}

fn has_summary(scratch: &Scratch) -> bool {
    scratch.path("records/mastermind-summary.json").is_file()
}

/// The output of `info` for it.
fn info(scratch: &Scratch) -> String {
    let text = scratch.mastermind(&["info", "records"]).well();
    let line = text.lines().find(|line| line.starts_with("summary"));
    line.unwrap_or_default().to_owned()
}

#[test]
fn it_says_what_the_logs_say() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "last_rank.c", &[], &[], &scratch.path(""));
        for options in [&[][..], &["--mpi-events"], &["--pack"]] {
            wrap(&scratch, mpi, 3, options, &[&program]).well();
            let logs = profile(&scratch, &["--spread"]);
            let summary = profile(&scratch, &["--spread", "--summary"]);
            for field in ["ranks", "records", "lost_records", "rows", "self_cost_ns"] {
                assert_eq!(logs[field], summary[field], "{field}");
            }
            let rows = logs["rows"].as_array().expect("rows");
            let barrier = rows.iter().find(|row| row["name"] == "MPI_Barrier()");
            assert_eq!(barrier.expect("a row")["spread"]["ranks"], 3);
            assert!(info(&scratch).contains("of all ranks"));
        }
        wrap(&scratch, mpi, 3, &["--no-summary"], &[&program]).well();
        assert!(!has_summary(&scratch), "that of the run before is gone");
        assert!(info(&scratch).contains("none"));
    }
}

#[test]
fn ranks_that_end_otherwise_end_as_they_do_alone() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "last_rank.c", &[], &[], &scratch.path(""));
        for how in ["well", "late", "aborts", "exits", "dies"] {
            // By these the last rank knows that the others are about to end.
            for rank in 0..2 {
                let _ = std::fs::remove_file(scratch.path(&format!("ends-{rank}")));
            }
            let alone = scratch.run(mpirun(mpi, 3, &scratch.path("")).arg(&program).arg(how));
            let wrapped = wrap(&scratch, mpi, 3, &[], &[&program, Path::new(how)]);
            assert!(!wrapped.stderr.contains("UCX"), "{wrapped:#?}");
            let is_well = matches!(how, "well" | "late");
            // MPICH reports an end without MPI_Finalize as an error or not, by chance.
            if how != "exits" {
                assert_eq!(alone.code == Some(0), is_well, "{alone:#?}");
                assert_eq!(wrapped.code == Some(0), is_well, "{wrapped:#?}");
                assert_eq!(has_summary(&scratch), is_well, "{how}: {wrapped:#?}");
            }
            // The logs are there all the same.
            assert_eq!(profile(&scratch, &[])["ranks"], 3, "{how}");
        }
    }
}

#[test]
fn ranks_that_run_without_leave_no_summary_of_all() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "last_rank.c", &[], &[], &scratch.path(""));
        let mut command = mpirun(mpi, 1, &scratch.path(""));
        command.arg(bin_dir().join("mastermind")).args(WRAP);
        command.arg("--").arg(&program);
        command.args([":", "-n", "2"]).arg(&program);
        scratch.run(&mut command).well();
        assert!(!has_summary(&scratch));
        assert!(
            info(&scratch).contains("none, only 1 ranks"),
            "{}",
            info(&scratch)
        );
        // A later run is not mixed with the files of this one.
        wrap(&scratch, mpi, 2, &[], &[&program]).well();
        assert!(info(&scratch).contains("of all ranks"));
    }
}
