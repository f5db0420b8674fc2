//! `mastermind wrap`: the MPI of programs that were not written for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_tests::{
    Ended, Scratch, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with, output,
};
use serde_json::Value;

fn profile(records: &str) -> Value {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let text = output(command.args(["profile", records, "--json"]));
    serde_json::from_str(&text).expect("JSON")
}

/// Calls by name, mean over the ranks.
fn calls(profile: &Value) -> BTreeMap<&str, f64> {
    let rows = profile["rows"].as_array().expect("rows");
    let row = |row: &'_ Value| row["calls"].as_f64();
    rows.iter()
        .filter_map(|r| Some((r["name"].as_str()?, row(r)?)))
        .collect()
}

fn program(mpi: &str, source: &str, scratch: &Scratch) -> PathBuf {
    let report = scratch.path("report.o");
    let mut cc = Command::new("cc");
    output(
        cc.args(["-c", "-o"])
            .arg(&report)
            .arg(mpi_fixture("report.c")),
    );
    compile_mpi(mpi, source, &[], &[report], &scratch.path(""))
}

/// Runs a program on two ranks, each wrapped.
fn wrapped(mpi: &str, program: &Path, options: &[&str], scratch: &Scratch) -> Ended {
    let mut command = mpirun(mpi, 2, &scratch.path(""));
    command.arg(bin_dir().join("mastermind"));
    command.arg("wrap").args(options).arg("--").arg(program);
    scratch.run(&mut command)
}

#[test]
fn a_program_under_the_launcher_has_a_profile() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = program(mpi, "calls.c", &scratch);
        let records = scratch.text("records");
        wrapped(mpi, &program, &["--records", &records], &scratch).well();
        let profile = profile(&records);
        assert_eq!(profile["ranks"], 2);
        assert_eq!(profile["lost_records"], 0);
        let calls = calls(&profile);
        for (name, expected) in [
            ("calls.c.main", 1.0),
            ("MPI_Barrier()", 10.0),
            ("MPI_Allreduce()", 7.0),
            ("MPI_Sendrecv()", 5.0),
            ("MPI_Init_thread()", 1.0),
            ("MPI_Finalize()", 1.0),
        ] {
            assert_eq!(calls.get(name), Some(&expected), "{name} in {calls:?}");
        }
        let rows = profile["rows"].as_array().expect("rows");
        let main = rows.iter().find(|row| row["name"] == "calls.c.main");
        let main = main.expect("the program's row");
        let ns = |column: &str| main[column].as_f64().expect("a time");
        assert!(ns("mpi_ns") > 0.0 && ns("mpi_ns") <= ns("inclusive_ns"));
        assert_eq!(main["percent"], 100.0);
        let run = scratch.mastermind(&["profile", &records]).well();
        assert!(!run.contains("killed"), "{run}");
    }
}

/// The launcher itself is wrapped: everything that it starts is wrapped, and the launcher leaves no records.
#[test]
fn a_launcher_can_be_wrapped() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = program(mpi, "calls.c", &scratch);
        let launcher = mpirun(mpi, 2, &scratch.path(""));
        let mut command = Command::new(bin_dir().join("mastermind"));
        command.args(["wrap", "--"]);
        command
            .arg(launcher.get_program())
            .args(launcher.get_args());
        let ended = scratch.run(command.arg(&program));
        let (summary, from) = (&ended.stderr, |text| ended.stderr.find(text));
        assert!(summary.contains(" s a rank on 2 ranks ("), "{summary}");
        assert!(summary.contains("most of it: MPI_"), "{summary}");
        assert!(from("MPI: ") < from("all of it: mastermind profile --mpi <dir>/calls.c.records"));
        ended.well();
        // Folder and run have the name of the program, not of the launcher or shell that started it.
        let profile = profile(&scratch.text("calls.c.records"));
        assert_eq!(profile["ranks"], 2);
        assert_eq!(calls(&profile)["MPI_Barrier()"], 10.0);
        assert_eq!(calls(&profile)["calls.c.main"], 1.0);
    }
}

#[test]
fn a_killed_program_has_its_functions() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = program(mpi, "killed.c", &scratch);
        let ended = wrapped(mpi, &program, &["--records", "records"], &scratch);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let profile = profile(&scratch.text("records"));
        let calls = calls(&profile);
        assert_eq!(calls["MPI_Barrier()"], 7.0, "{calls:?}");
        assert_eq!(calls["MPI_Init()"], 1.0, "{calls:?}");
    }
}

#[test]
fn records_of_another_run_are_not_mixed_with() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = program(mpi, "calls.c", &scratch);
        wrapped(mpi, &program, &[], &scratch).well();
        assert!(scratch.path("calls.c.records").is_dir());
        // The program is run all the same, its ranks come to one further directory, and one of them says so.
        for n in [2, 3] {
            let again = wrapped(mpi, &program, &[], &scratch);
            let further = format!("calls.c.records.{n}");
            let said = format!("the records are in \"<dir>/{further}\"");
            assert_eq!(again.stderr.matches(&said).count(), 1, "{again:?}");
            again.well();
            assert_eq!(profile(&scratch.text(&further))["ranks"], 2);
        }
        wrapped(mpi, &program, &["--overwrite"], &scratch).well();
        assert_eq!(profile(&scratch.text("calls.c.records"))["ranks"], 2);
        assert!(!scratch.path("calls.c.records.4").exists());
    }
}

#[test]
fn how_the_program_ended_is_passed_on_and_no_mpi_is_said() {
    let scratch = Scratch::new();
    for (line, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", -1)] {
        let ended = scratch.mastermind(&["wrap", "--records", "records", "--", "sh", "-c", line]);
        // By a signal there is no code.
        assert_eq!(ended.code.unwrap_or(-1), code, "{ended:?}");
        assert!(
            ended.stderr.starts_with(
                "warning: nothing is recorded\n  cannot measure MPI of \"sh\": 0 calls seen"
            ),
            "{ended:?}"
        );
        assert!(fs::metadata(scratch.path("records")).is_err());
    }
    // Without `--` too: options after the program's name are the program's.
    let plain = scratch.mastermind(&["wrap", "sh", "-c", "exit 5"]);
    assert_eq!(plain.code, Some(5), "{plain:?}");
    let misspelt = scratch.mastermind(&["wrap", "--recrods", "x", "sh"]);
    assert_eq!(misspelt.code, Some(2), "{misspelt:?}");
    assert!(misspelt.stderr.contains("'--records'"), "{misspelt:?}");
    let missing = scratch
        .mastermind(&["wrap", "--", "no-such-program"])
        .error();
    assert!(
        missing.contains("cannot start program \"no-such-program\""),
        "{missing}"
    );
}
