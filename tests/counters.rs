//! Counters in a run: in the tables of the methods that opted in, with the reason if a counter is not available.

use std::fs;

use mastermind_tests::Scratch;
use serde_json::Value;

fn json(scratch: &Scratch, arguments: &[&str]) -> Value {
    let text = scratch
        .mastermind(&[arguments, &["--json"]].concat())
        .well();
    serde_json::from_str(&text).expect("JSON")
}

/// Columns of a method's table, by name.
fn table(scratch: &Scratch, method: &str) -> (Vec<String>, Vec<csv::StringRecord>) {
    let path = scratch.path(&format!("csv/{method}.rank0000.csv"));
    let mut table = csv::Reader::from_path(path).expect("a table");
    let header = table.headers().expect("a header").clone();
    let rows = table.records().map(|row| row.expect("a row")).collect();
    (header.iter().map(str::to_owned).collect(), rows)
}

/// `cycles` is an event of the processor, `page-faults` of the kernel; `ru_minflt` is everywhere.
#[test]
fn counters_are_columns_and_missing_ones_have_a_reason() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 3");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    let counters = "states.compute:cycles,page-faults,ru_minflt";
    let arguments = ["--records", "records", "--counters", counters];
    scratch.verb("run", &assembly, &arguments).well();
    scratch
        .mastermind(&["export", "records", "--format", "csv", "-o", "csv"])
        .well();
    let (header, rows) = table(&scratch, "states.states.compute");
    let expected = "seq,start_ns,wall_ns,mpi_ns,compute_ns,q,axis,cycles,page-faults,ru_minflt,";
    assert!(header.join(",").starts_with(expected), "{header:?}");
    assert!(!rows.is_empty());
    let (without, _) = table(&scratch, "flux.flux.compute");
    assert!(
        !without.contains(&"cycles".to_string()),
        "only where it was asked for"
    );
    let profile = json(&scratch, &["profile", "records"]);
    let row = profile["rows"].as_array().expect("rows").iter();
    let row = row
        .clone()
        .find(|row| row["name"] == "states.compute")
        .expect("a row");
    let doctor = json(&scratch, &["doctor"]);
    let text = scratch.mastermind(&["profile", "records"]).well();
    for name in ["cycles", "page-faults", "ru_minflt"] {
        let place = header
            .iter()
            .position(|column| column == name)
            .expect("a column");
        let values = || rows.iter().map(|row| &row[place]);
        let findings = doctor.as_array().expect("findings").iter();
        let mut open = findings.filter(|finding| finding["what"] == "counters");
        let opens = open.any(|finding| {
            let found = finding["found"].as_str().expect("text");
            found.split(", ").any(|known| known == name)
        });
        match profile["missing_counters"].get(name) {
            Some(why) => {
                assert!(!opens, "doctor says otherwise: {doctor}");
                assert!(
                    why[0].as_str().expect("a reason").contains("(errno "),
                    "{why}"
                );
                assert!(values().all(str::is_empty), "never 0");
                assert!(row["counters"].get(name).is_none());
                let line = format!("{name} not counted: {}", why[0].as_str().expect("text"));
                assert!(text.contains(&line), "{text}");
            }
            None => {
                assert!(opens, "doctor says otherwise: {doctor}");
                let sum: u64 = values().filter_map(|value| value.parse::<u64>().ok()).sum();
                let shown = row["counters"][name].as_f64().expect("a sum");
                assert!((shown - sum as f64).abs() < 1e-6, "{name}: {shown} {sum}");
                assert!(text.contains(&name.to_uppercase()), "{text}");
            }
        }
    }
    assert!(row["counters"].get("ru_minflt").is_some(), "{row}");
    let parquet = [
        "export",
        "records",
        "--format",
        "parquet",
        "-o",
        "parquet",
        "--by-method",
    ];
    let files = scratch.mastermind(&parquet).well();
    let states = files.lines().find(|file| file.contains("states.compute"));
    let bytes = fs::read(scratch.path(states.expect("a file"))).expect("a file");
    for name in ["cycles", "ru_minflt"] {
        let is_there = bytes
            .windows(name.len())
            .any(|bytes| bytes == name.as_bytes());
        assert!(is_there, "column {name}");
    }
}

/// A counted metric is fitted like a time, in its own unit. For one that was not counted the error says why.
#[test]
fn counters_are_fitted() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 3");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    let counters = "states.compute:ru_minflt,ru_utime";
    let arguments = ["--records", "records", "--counters", counters];
    scratch.verb("run", &assembly, &arguments).well();
    let fit = |metric: &str| scratch.mastermind(&["fit", "records", "--metric", metric, "--json"]);
    for (metric, expected, unit) in [
        ("ru_minflt", "ru_minflt", "1"),
        ("ru_utime", "ru_utime [ns]", "ns"),
    ] {
        let models: Value = serde_json::from_str(&fit(metric).well()).expect("JSON");
        let models = models["models"].as_array().expect("models");
        assert!(!models.is_empty());
        for model in models {
            assert_eq!(model["metric"], expected);
            let method = model["method"].as_str().expect("a name");
            assert!(method.ends_with("states.compute"), "{method}");
            let first = model["coefficients"][0]["unit"].as_str().expect("a unit");
            // The first coefficient may belong to a power of a parameter: ns/(q^(-1)).
            let counted = first.trim_start_matches("ln ").split('/').next();
            assert_eq!(counted, Some(unit), "{first}");
        }
    }
    let wrong = fit("dreams").error();
    let expected = "cannot fit dreams: no counter of that name in \"records\", expected wall, inclusive, mpi, compute, ru_minflt, \
                    ru_utime; count it with run --counters METHOD:dreams";
    assert!(wrong.contains(expected), "{wrong}");
}

#[test]
fn what_cannot_be_counted_is_an_error_before_the_run() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let run = |counters: &str| {
        let arguments = ["--records", "records", "--counters", counters];
        scratch.verb("run", &assembly, &arguments)
    };
    let unknown = run("ru_minflt,cycels");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("cannot count \"cycels\": unknown"),
        "{unknown:?}"
    );
    let error = run("states.comput:ru_minflt").error();
    let expected = "cannot count in \"states.comput\": no such monitored method, expected one of";
    assert!(error.contains(expected), "{error}");
    assert!(!scratch.path("records").exists());
}
