//! Monitoring does not change the results, and counts the calls exactly (case study, section 6).

use std::fs;
use std::path::{Path, PathBuf};

use mastermind_tests::{Scratch, mpis};
use serde_json::Value;

/// Patches of the example's mesh.
const PATCHES: u64 = 8;

fn shock(scratch: &Scratch) -> PathBuf {
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 23");
    scratch.example("shock/shock.toml", &[], &[edit])
}

/// Runs the shock; the bytes of its field, and the steps it took.
fn run(scratch: &Scratch, assembly: &Path, arguments: &[&str]) -> (String, u64) {
    let output = [
        "--set",
        "output.csv=field.csv",
        "--set",
        "statistics.csv=flow.csv",
    ];
    scratch
        .verb("run", assembly, &[&output[..], arguments].concat())
        .well();
    let flow = scratch.read("flow.csv");
    let last = flow.lines().last().and_then(|line| line.split(',').next());
    let steps = last.and_then(|step| step.parse().ok()).expect("a step");
    (scratch.read("field.csv"), steps)
}

#[test]
fn results_are_the_same_bit_for_bit() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let plain = run(&scratch, &assembly, &[]);
    for monitor in [
        &["--monitor", "none"][..],
        &["--records", "all"],
        &["--records", "all-named", "--monitor", "all"],
        &["--records", "none", "--monitor", "none"],
        &["--records", "one", "--monitor", "flux.flux"],
        &["--records", "some", "--monitor", "hydro.States,mesh.mesh"],
        &["--records", "full", "--records-limit", "64K"],
    ] {
        assert!(run(&scratch, &assembly, monitor) == plain, "{monitor:?}");
    }
    for mpi in mpis() {
        let ranks = ["--ranks", "3", "--mpi", mpi.kind.name()];
        let records = format!("records-{}", mpi.kind.name());
        let monitor = ["--records", &records];
        let plain = run(&scratch, &assembly, &ranks);
        let monitored = run(&scratch, &assembly, &[&ranks[..], &monitor].concat());
        assert!(monitored == plain, "{}", mpi.kind);
    }
}

fn profile(scratch: &Scratch, records: &str) -> Value {
    let text = scratch.mastermind(&["profile", records, "--json"]).well();
    serde_json::from_str(&text).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Sum over the rows of a method's tables: how many, wall time, and how many rows have MPI time.
fn exported(scratch: &Scratch, folder: &str, method: &str) -> (u64, u64, u64) {
    let (mut calls, mut wall_ns, mut with_mpi) = (0, 0, 0);
    for entry in fs::read_dir(scratch.path(folder)).expect("tables") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if !name.starts_with(method) {
            continue;
        }
        let mut table = csv::Reader::from_path(&path).expect("a table");
        let header = table.headers().expect("a header").clone();
        let expected = [
            "seq",
            "start_ns",
            "wall_ns",
            "mpi_ns",
            "compute_ns",
            "q",
            "axis",
            "callpath",
            "parent_seq",
        ];
        assert_eq!(header, expected[..]);
        for row in table.records() {
            let row = row.expect("a row");
            let wall: u64 = row[2].parse().expect("wall time");
            assert!(wall > 0, "{row:?}");
            calls += 1;
            wall_ns += wall;
            with_mpi += u64::from(!row[3].is_empty() || !row[4].is_empty());
        }
    }
    (calls, wall_ns, with_mpi)
}

/// Patches × stages × directions × steps calls of each component, in the profile and in the exported tables.
fn check_counts(scratch: &Scratch, records: &str, ranks: u64, steps: u64) {
    let expected = PATCHES * 2 * 2 * steps;
    let profile = profile(scratch, records);
    assert_eq!(profile["ranks"].as_u64(), Some(ranks));
    assert_eq!(profile["lost_records"].as_u64(), Some(0));
    let tables = format!("{records}-csv");
    scratch
        .mastermind(&["export", records, "--format", "csv", "-o", &tables])
        .well();
    for (name, table) in [
        ("states.compute", "states.states.compute."),
        ("flux.compute", "flux.flux.compute."),
    ] {
        let rows = profile["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("no {name} in {profile}"));
        // Means over the ranks.
        let total = |field: &str| number(&row[field]) * ranks as f64;
        assert_eq!(total("calls").round() as u64, expected, "{name}");
        assert!((total("calls") - expected as f64).abs() < 1e-6, "{name}");
        let (calls, wall_ns, with_mpi) = exported(scratch, &tables, table);
        assert_eq!(calls, expected, "{name}");
        // In a table each time is rounded to a nanosecond; the profile's sums are rounded once a log.
        let more_ns = total("inclusive_ns") - wall_ns as f64;
        assert!(
            more_ns.abs() <= calls as f64,
            "{name}: {wall_ns} ns in the tables, {row}"
        );
        assert!(total("exclusive_ns") > 0.0);
        if ranks == 1 {
            assert_eq!((with_mpi, &row["mpi_ns"]), (0, &Value::Null), "{name}");
        }
    }
}

#[test]
fn calls_are_counted_exactly() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let (_, steps) = run(&scratch, &assembly, &["--records", "alone"]);
    assert_eq!(steps, 23);
    check_counts(&scratch, "alone", 1, steps);
    for mpi in mpis() {
        let name = mpi.kind.name();
        let arguments = ["--ranks", "3", "--mpi", name, "--records", name];
        let (_, steps) = run(&scratch, &assembly, &arguments);
        check_counts(&scratch, name, 3, steps);
    }
}

#[test]
fn only_what_is_named_is_recorded() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    for (spec, expected) in [
        ("flux.flux", &["driver.go", "flux.compute"][..]),
        (
            "hydro.States,rhs.flux",
            &["driver.go", "flux.compute", "states.compute"],
        ),
        ("none", &["driver.go"]),
    ] {
        run(
            &scratch,
            &assembly,
            &["--records", "records", "--overwrite", "--monitor", spec],
        );
        let profile = profile(&scratch, "records");
        let rows = profile["rows"].as_array().expect("rows");
        let mut names: Vec<_> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{spec}");
    }
}
