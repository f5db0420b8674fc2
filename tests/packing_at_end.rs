//! The last rank of a node packs its logs when a run ends without an error; any failure leaves the logs.

use std::fs;
use std::path::Path;

use mastermind_tests::{Ended, Scratch, bin_dir, compile_mpi, mpirun, mpis, mpis_with};
use serde_json::Value;

/// The names in a record directory that end so.
fn names(directory: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<_> = names
        .map(|name| name.expect("UTF-8"))
        .filter(|name| name.ends_with(ending))
        .collect();
    names.sort();
    names
}

/// Checks which logs of a directory are packed, and that no temporary file is left.
fn check(directory: &Path, n_logs: usize, containers: &[&str]) {
    assert_eq!(names(directory, ".mmr").len(), n_logs);
    assert_eq!(names(directory, ".mmp"), containers);
    assert_eq!(names(directory, ".part"), Vec::<String>::new());
}

fn profile(scratch: &Scratch, options: &[&str]) -> Value {
    let text = scratch
        .mastermind(&[&["profile", "records", "--json"], options].concat())
        .well();
    serde_json::from_str(&text).expect("JSON")
}

fn wrap(scratch: &Scratch, mpi: &str, ranks: u32, options: &[&str], program: &Path) -> Ended {
    let mut command = mpirun(mpi, ranks, &scratch.path(""));
    command.arg(bin_dir().join("mastermind"));
    command.args(["wrap", "--overwrite", "--records", "records"]);
    scratch.run(command.args(options).arg("--").arg(program))
}

#[test]
fn a_run() {
    for mpi in mpis() {
        let scratch = Scratch::new();
        let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 7");
        let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
        let name = mpi.kind.name();
        let run = ["--ranks", "3", "--mpi", name, "--records", "records"];
        scratch.verb("run", &assembly, &run).well();
        let records = scratch.path("records");
        check(&records, 3, &[]);
        let again = [&run[..], &["--overwrite", "--pack"]].concat();
        let ended = scratch.verb("run", &assembly, &again);
        assert!(!ended.stderr.contains("warning"), "{ended:#?}");
        check(&records, 0, &["pack-rank0000.mmp"]);
        let (logs, summary) = (profile(&scratch, &[]), profile(&scratch, &["--summary"]));
        for field in ["ranks", "records", "lost_records"] {
            assert_eq!(logs[field], summary[field], "{field}");
        }
    }
}

#[test]
fn a_wrapped_program() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "ring.c", &[], &[], &scratch.path(""));
        let records = scratch.path("records");
        wrap(&scratch, mpi, 4, &[], &program).well();
        check(&records, 4, &[]);
        wrap(&scratch, mpi, 4, &["--pack"], &program).well();
        check(&records, 0, &["pack-rank0000.mmp"]);
        assert_eq!(profile(&scratch, &[])["ranks"], 4);
        // From so many on they are packed unasked.
        wrap(&scratch, mpi, 16, &[], &program).well();
        check(&records, 0, &["pack-rank0000.mmp"]);
        let all = names(&records, "");
        assert!(
            !all.iter().any(|name| name.starts_with(".ranks")),
            "{all:?}"
        );
        assert_eq!(profile(&scratch, &[])["ranks"], 16);
        wrap(&scratch, mpi, 16, &["--keep-logs"], &program).well();
        check(&records, 16, &[]);
    }
}

#[test]
fn a_program_that_fails_or_a_container_that_cannot_be_written_leave_the_logs() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let records = scratch.path("records");
        let killed = compile_mpi(mpi, "killed.c", &[], &[], &scratch.path(""));
        let ended = wrap(&scratch, mpi, 2, &["--pack"], &killed);
        assert_ne!(ended.code, Some(0));
        check(&records, 2, &[]);
        let program = compile_mpi(mpi, "ring.c", &[], &[], &scratch.path(""));
        // The place of the container is taken by another file, which stays.
        fs::create_dir(records.join("pack-rank0000.part")).expect("a folder");
        let ended = wrap(&scratch, mpi, 4, &["--pack"], &program);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let n_warnings = ended.stderr.matches("the logs are not packed").count();
        assert_eq!(n_warnings, 1, "{ended:#?}");
        assert_eq!(names(&records, ".mmr").len(), 4);
        assert_eq!(profile(&scratch, &[])["ranks"], 4);
    }
}

#[test]
fn a_program_that_is_started_alone() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = compile_mpi(mpi, "ring.c", &[], &[], &scratch.path(""));
        let launch = mpirun(mpi, 3, &scratch.path(""));
        let words = ["wrap", "--pack", "--records", "records", "--"].map(String::from);
        let words = words.into_iter().chain(
            std::iter::once(launch.get_program())
                .chain(launch.get_args())
                .map(|word| word.to_str().expect("UTF-8").to_owned()),
        );
        let words: Vec<_> = words.chain([program.display().to_string()]).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        scratch.mastermind(&words).well();
        check(&scratch.path("records"), 0, &["pack-rank0000.mmp"]);
        assert_eq!(profile(&scratch, &[])["ranks"], 3);
    }
}
