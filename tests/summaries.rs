//! The summary that the ranks of a run write together equals the sum of all their logs.

use mastermind_tests::{Scratch, mpis};
use serde_json::Value;

/// MPI is finalized after the last communication between the ranks.
const LAST: &str = "MPI_Finalize()";

fn profile(scratch: &Scratch, records: &str, options: &[&str]) -> Value {
    let text = scratch
        .mastermind(&[&["profile", records, "--json"], options].concat())
        .well();
    serde_json::from_str(&text).expect("JSON")
}

fn rows(profile: &Value) -> Vec<&Value> {
    let rows = profile["rows"].as_array().expect("rows").iter();
    rows.filter(|row| row["name"] != LAST).collect()
}

fn check(scratch: &Scratch, records: &str, ranks: u64) {
    let (logs, summary) = (
        profile(scratch, records, &[]),
        profile(scratch, records, &["--summary"]),
    );
    assert_eq!(logs["ranks"].as_u64(), Some(ranks));
    for field in ["ranks", "records", "lost_records", "self_cost_ns"] {
        assert_eq!(logs[field], summary[field], "{field}");
    }
    assert!(rows(&logs).len() > 5);
    assert_eq!(rows(&logs), rows(&summary));
    for rank in 0..ranks {
        let log = scratch.path(&format!("{records}/rank{rank:04}-thread00.mmr"));
        std::fs::remove_file(log).expect("a log");
    }
    // It needs no log.
    assert_eq!(profile(scratch, records, &["--summary"]), summary);
}

#[test]
fn the_summary_is_what_the_logs_say() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 7");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    scratch
        .verb("run", &assembly, &["--records", "alone"])
        .well();
    check(&scratch, "alone", 1);
    for mpi in mpis() {
        let name = mpi.kind.name();
        let arguments = ["--ranks", "3", "--mpi", name, "--records", name];
        scratch.verb("run", &assembly, &arguments).well();
        check(&scratch, name, 3);
    }
}

#[test]
fn a_run_that_fails_leaves_none() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let fails = ["--set", "ic.left_u=-20", "--set", "ic.right_u=20"];
    let records = ["--records", "records", "--overwrite"];
    scratch
        .verb(
            "run",
            &assembly,
            &[&records[..], &["--set", "driver.max_steps=2"]].concat(),
        )
        .well();
    profile(&scratch, "records", &["--summary"]);
    scratch
        .verb("run", &assembly, &[&records[..], &fails].concat())
        .error();
    // The summary of the earlier run has been deleted with its logs.
    let error = scratch
        .mastermind(&["profile", "records", "--summary"])
        .error();
    assert!(error.contains("cannot read summary"), "{error}");
    profile(&scratch, "records", &[]);
}
