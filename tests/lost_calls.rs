//! Calls that have no record: the run's results are the same, the totals are those of all calls, and every verb that reads
//! records says what share it does not know.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir};
use serde_json::Value;

/// Runs the case study with its results in a file, under limits that a shell sets.
fn run(
    scratch: &Scratch,
    assembly: &Path,
    records: &str,
    limits: &str,
    options: &[&str],
) -> String {
    let limited = format!("{limits} exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh"]);
    command
        .arg(bin_dir().join("mastermind"))
        .arg("run")
        .arg(assembly);
    let result = format!("statistics.csv={records}.csv");
    command.args(["--set", &result, "--records", records]);
    command.args(options);
    scratch.run(&mut command).well()
}

fn profile(scratch: &Scratch, records: &str) -> Value {
    let text = scratch.mastermind(&["profile", records, "--json"]).well();
    serde_json::from_str(&text).expect("JSON")
}

/// Calls by method.
fn calls(profile: &Value) -> BTreeMap<String, u64> {
    let rows = profile["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, row["calls"].as_f64().expect("calls") as u64)
    };
    rows.iter().map(row).collect()
}

fn sums(profile: &Value) -> (f64, f64) {
    let rows = profile["rows"].as_array().expect("rows");
    let number = |row: &Value, field: &str| row[field].as_f64().expect("a number");
    let own = rows.iter().map(|row| number(row, "exclusive_ns")).sum();
    let longest = rows.iter().map(|row| number(row, "inclusive_ns"));
    (own, longest.fold(0.0, f64::max))
}

#[test]
fn totals_go_on_when_records_stop() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 40");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    run(&scratch, &assembly, "whole", "", &[]);
    let (result, whole) = (scratch.read("whole.csv"), profile(&scratch, "whole"));
    assert_eq!(whole["lost_records"], 0);
    for (records, limits, options) in [
        ("limited", "", &["--records-limit", "64K"][..]),
        ("cut", "ulimit -f 600;", &[]),
        ("few", "ulimit -n 16;", &[]),
    ] {
        run(&scratch, &assembly, records, limits, options);
        assert!(
            scratch.read(&format!("{records}.csv")) == result,
            "{records}: results"
        );
        let found = profile(&scratch, records);
        assert_eq!(calls(&found), calls(&whole), "{records}");
        let (own, longest) = sums(&found);
        assert!(
            (own / longest - 1.0).abs() < 1e-3,
            "{records}: {own} of {longest} ns"
        );
        let lost = found["lost_records"].as_u64().expect("a number");
        assert_eq!(lost > 0, records != "few", "{records}: {lost} lost");
        let summary = scratch.mastermind(&["profile", records, "--summary", "--json"]);
        let summary: Value = serde_json::from_str(&summary.well()).expect("JSON");
        assert_eq!(calls(&summary)["driver.go"], 1, "{records}");
    }
}

#[test]
fn every_verb_says_what_it_does_not_know() {
    let scratch = Scratch::new();
    let fewer = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 40");
    let no_choice = [
        "flux = [\"hydro.GodunovFlux\", \"hydro.EfmFlux\", \"hydro.EfmFluxC\"]",
        "states = [\"hydro.StatesConstructor\", \"hydro.MinmodStates\"]",
    ];
    let edits = [fewer, (no_choice[0], ""), (no_choice[1], "")];
    let assembly = scratch.example("shock/shock.toml", &[], &edits);
    run(&scratch, &assembly, "whole", "", &[]);
    let told = run(&scratch, &assembly, "part", "", &["--records-limit", "64K"]);
    assert!(
        told.contains("the limit of the records is reached"),
        "{told}"
    );
    scratch
        .mastermind(&["fit", "whole", "-o", "models.json"])
        .well();
    let choose = |records: &str| {
        let file = assembly.to_str().expect("a path");
        let arguments = [
            "choose",
            file,
            "--models",
            "models.json",
            "--records",
            records,
            "--json",
        ];
        let ended = scratch.mastermind(&arguments);
        let said = ended.stderr.clone();
        let choice: Value = serde_json::from_str(&ended.well()).expect("JSON");
        (choice["current_s"].as_f64().expect("seconds"), said)
    };
    let ((of_whole, silent), (of_part, said)) = (choose("whole"), choose("part"));
    assert_eq!(silent, "");
    let without = "have no record: the limit of the records is reached";
    assert!(said.contains(without), "{said}");
    // The same calls, predicted at the mean of their class of size.
    assert!(
        (of_part / of_whole - 1.0).abs() < 0.1,
        "{of_part} s of {of_whole} s"
    );
    for arguments in [
        &["profile", "part"][..],
        &["compare", "whole", "part"],
        &["export", "part", "--format", "csv", "-o", "csv"],
        &["export", "part", "--format", "perfetto", "-o", "trace.json"],
        &["export", "part", "--format", "extrap", "-o", "extrap"],
        &["plot", "part", "--kind", "graph"],
        &["plot", "part", "--kind", "mean", "--method", "flux.compute"],
        &["fit", "part"],
    ] {
        let ended = scratch.mastermind(arguments);
        let said = ended.stderr.clone();
        assert!(said.contains(without), "{arguments:?}: {ended:?}");
        let output = ended.well();
        if arguments[0] == "compare" {
            assert!(output.contains("cannot tell: "), "{output}");
        }
    }
}
