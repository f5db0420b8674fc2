//! Exports, figures and comparisons that the binary makes from the records of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mastermind_records::definition::MethodDefinition;
use mastermind_tests::{Scratch, bin_dir, root, write_calls};

fn mastermind(arguments: &[&str]) -> Output {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let output = command.current_dir(root()).args(arguments).output();
    output.expect("the binary")
}

/// Runs a command, which must succeed, and returns its output.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = mastermind(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Records a few steps of the shock example, its libraries where these tests find them.
fn record(folder: &Path, name: &str, options: &[&str]) -> String {
    let text = fs::read_to_string(root().join("examples/shock/shock.toml")).expect("the example");
    let text = text.replace("../../target/release", &bin_dir().display().to_string());
    let assembly = folder.join("shock.toml");
    fs::write(&assembly, text).expect("a file");
    let records = folder.join(name).display().to_string();
    let assembly = assembly.display().to_string();
    let run = [
        "run",
        &assembly,
        "--set",
        "driver.max_steps=4",
        "--records",
        &records,
    ];
    printed(&[&run[..], options].concat());
    records
}

fn text(path: PathBuf) -> String {
    path.display().to_string()
}

/// The rows of a timeline: nanoseconds by method.
fn times_in(timeline: &serde_json::Value) -> BTreeMap<String, f64> {
    let names = timeline["names"].as_array().expect("names");
    let mut times = BTreeMap::new();
    let mut add = |method: f64, ns: f64| {
        let name = names[method as usize].as_str().expect("a name").to_owned();
        *times.entry(name).or_default() += ns;
    };
    for row in timeline["rows"].as_array().expect("rows") {
        let numbers = |key: &str| -> Vec<f64> {
            let numbers = row[key].as_array().into_iter().flatten();
            numbers.filter_map(serde_json::Value::as_f64).collect()
        };
        for slice in numbers("slices").chunks(3) {
            add(slice[0], slice[2] - slice[1]);
        }
        let column_ns = timeline["column_ns"].as_f64().expect("a width");
        for part in numbers("parts").chunks(4) {
            add(part[2], part[1] * column_ns * part[3] / 1000.0);
        }
    }
    times
}

#[test]
fn a_timeline_has_the_time_of_the_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = record(folder.path(), "records", &[]);
    let json = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&printed(words)).expect("JSON")
    };
    let timeline = |options: &[&str]| {
        // As many columns as let it show single calls.
        let plot = [
            "plot",
            &records,
            "--kind",
            "timeline",
            "--json",
            "--size",
            "10000x800",
        ];
        json(&[&plot[..], options].concat())
    };
    let whole = timeline(&[]);
    let profile = json(&["profile", &records, "--json"]);
    for row in profile["rows"].as_array().expect("rows") {
        let own_ns = row["exclusive_ns"].as_f64().expect("a time");
        let name = row["name"].as_str().expect("a name");
        let found = times_in(&whole)[name];
        // The ends of each call are rounded to nanoseconds.
        let rounding = profile["rows"].as_array().expect("rows").iter();
        let rounding = rounding
            .filter_map(|row| row["calls"].as_f64())
            .sum::<f64>();
        assert!(
            (found - own_ns).abs() <= rounding,
            "{name}: {found} {own_ns}"
        );
    }
    // Parts of the time add up to all of it.
    let span_ns = whole["span_ns"].as_f64().expect("a length");
    let middle = format!("{:.9}", (span_ns / 3.0).round() * 1e-9);
    let parts = [timeline(&["--to", &middle]), timeline(&["--from", &middle])];
    let [first, second] = parts.each_ref().map(times_in);
    for (name, ns) in times_in(&whole) {
        let of_parts = first.get(&name).unwrap_or(&0.0) + second.get(&name).unwrap_or(&0.0);
        assert_eq!(of_parts, ns, "{name}");
    }
    let svg = printed(&["plot", &records, "--kind", "timeline", "-o", "-"]);
    for words in [
        "flux.compute",
        "time of each rank by method",
        "time since the beginning",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    let beyond = mastermind(&[
        "plot", &records, "--kind", "timeline", "--from", "9999", "-o", "-",
    ]);
    assert_eq!(beyond.status.code(), Some(1), "{beyond:?}");
    let other = mastermind(&[
        "plot", &records, "--kind", "graph", "--from", "0", "-o", "-",
    ]);
    assert_eq!(other.status.code(), Some(2), "{other:?}");
}

#[test]
fn every_export_has_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = record(folder.path(), "records", &[]);
    let path = |name: &str| text(folder.path().join(name));
    let export = |format: &str, out: &str, options: &[&str]| {
        let out = path(out);
        let words = ["export", &records, "--format", format, "-o", &out];
        let files = printed(&[&words, options].concat());
        let files: Vec<PathBuf> = files.lines().map(PathBuf::from).collect();
        assert!(
            files.iter().all(|file| file.is_file()),
            "{format}: {files:?}"
        );
        files
    };
    let parquet = export("parquet", "dataset", &["--by-method"]);
    let flux = folder
        .path()
        .join("dataset/method=flux.flux.compute/rank=0/records.parquet");
    assert!(parquet.contains(&flux), "{parquet:?}");
    assert!(fs::read(flux).expect("a file").starts_with(b"PAR1"));
    assert_eq!(export("csv", "csv", &[]).len(), parquet.len());
    let header = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let csv = fs::read_to_string(&export("csv", "all.csv", &[])[0]).expect("a file");
    let first =
        "run,rank,thread,instance,class,port,method,seq,start_ns,wall_ns,mpi_ns,compute_ns,";
    assert!(header(&csv).starts_with(first), "{}", header(&csv));
    let n_rows = csv.lines().count() as u64 - 1;
    let info = printed(&["info", &records, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    assert_eq!(info["records"], n_rows);
    for (format, out, start) in [("parquet", "one", "PAR1"), ("arrow", "all.arrow", "ARROW1")] {
        let bytes = fs::read(&export(format, out, &[])[0]).expect("a file");
        assert!(bytes.starts_with(start.as_bytes()), "{format}");
    }
    for (format, file) in [
        ("extrap", "flux.flux.compute-axis-x.txt"),
        ("extrap-jsonl", "flux.flux.compute-axis-x.jsonl"),
    ] {
        assert!(export(format, format, &[]).contains(&folder.path().join(format).join(file)));
    }
    let trace = fs::read_to_string(&export("perfetto", "trace.json", &[])[0]).expect("a file");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    assert!(trace["traceEvents"].as_array().expect("a list").len() > 100);
}

#[test]
fn figures_are_drawn_in_both_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = record(folder.path(), "records", &[]);
    for ending in ["svg", "png"] {
        for options in [
            &["--kind", "scatter", "--method", "states.compute"][..],
            &["--kind", "graph"],
        ] {
            let path = folder.path().join(format!("figure.{ending}"));
            let out = text(path.clone());
            printed(&[&["plot", &records, "-o", &out, "--force"], options].concat());
            let bytes = fs::read(&path).expect("a figure");
            let start: &[u8] = if ending == "svg" { b"<svg" } else { b"\x89PNG" };
            assert!(
                bytes.starts_with(start) && bytes.len() > 5_000,
                "{options:?}"
            );
        }
    }
}

/// `graph` draws the recorded calls like the wiring: each instance with its time, each connection with its calls.
#[test]
fn a_figure_has_the_size_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table.csv");
    let rows: Vec<_> = (1..9)
        .map(|n| format!("solve,{n}00,{}e-6", n * n))
        .collect();
    fs::write(&table, format!("method,n,time\n{}\n", rows.join("\n"))).expect("a file");
    let (table, path) = (text(table), folder.path().join("figure.svg"));
    let out = text(path.clone());
    let plot = [
        "plot", &table, "--kind", "mean", "--method", "solve", "-o", &out, "--force",
    ];
    printed(&[&plot[..], &["--size", "900x640"]].concat());
    let svg = fs::read_to_string(&path).expect("a figure");
    assert!(
        svg.starts_with("<svg width=\"900\" height=\"640\""),
        "{svg:.200}"
    );
    printed(&[&plot[..], &["--size", "900x640", "--font-size", "38"]].concat());
    let svg = fs::read_to_string(&path).expect("a figure");
    assert!(
        svg.starts_with("<svg width=\"900\" height=\"640\" viewBox=\"0 0 450 320\""),
        "{svg:.200}"
    );
    for options in [["--font-size", "4"], ["--font-size", "60"]] {
        let output = mastermind(&[&plot[..], &["--size", "900x640"], &options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}: {output:?}");
    }
    for size in ["900", "900x", "20x20", "9000000x600"] {
        let output = mastermind(&[&plot[..], &["--size", size]].concat());
        assert_eq!(output.status.code(), Some(2), "{size}: {output:?}");
    }
}

#[test]
fn the_graph_of_calls_has_times_and_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = record(folder.path(), "records", &[]);
    let svg = printed(&["plot", &records, "--kind", "graph", "-o", "-"]);
    let profile = printed(&["profile", &records, "--json"]);
    let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
    let rows = profile["rows"].as_array().expect("rows").iter();
    let names = rows.filter_map(|row| row["name"].as_str());
    let called = names.filter_map(|name| Some(name.split_once('.')?.0));
    let called: std::collections::BTreeSet<_> = called.collect();
    assert!(called.len() > 5, "{profile}");
    for class in ["box", "time"] {
        let n = svg.matches(&format!("class=\"{class}\"")).count();
        assert_eq!(n, called.len(), "{class}: {svg}");
    }
    for name in called {
        assert!(svg.contains(&format!(">{name}</text>")), "{name}: {svg}");
    }
    assert!(svg.matches("class=\"calls\"").count() > 5, "{svg}");
}

#[test]
fn a_figure_that_cannot_be_drawn_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = record(folder.path(), "records", &[]);
    let refused = |options: &[&str]| {
        let output = mastermind(&[&["plot", &records], options].concat());
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let error = refused(&["--kind", "scatter", "--method", "no.such"]);
    assert!(error.contains("no calls of it, expected one of"), "{error}");
    assert!(error.contains("states.compute"), "{error}");
    let error = refused(&["--kind", "comm"]);
    assert!(error.contains("no time in MPI in any record"), "{error}");
    let error = refused(&["--kind", "graph", "-o", "graph.gif"]);
    assert!(error.contains("expected .svg, .png or .pdf"), "{error}");
}

#[test]
fn runs_are_compared_method_by_method() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = record(folder.path(), "first", &[]);
    let second = record(
        folder.path(),
        "second",
        &["--replace", "flux=hydro.EfmFlux"],
    );
    let same = printed(&["compare", &first, &first, "--json"]);
    let same: serde_json::Value = serde_json::from_str(&same).expect("JSON");
    for method in same["methods"].as_array().expect("a list") {
        // The verdict is open for a method of few calls, and for one that differs from block to block.
        let verdict = method["verdict"].as_str().expect("a verdict");
        assert!(["same", "cannot tell"].contains(&verdict), "{method}");
        if !method["effect"].is_null() {
            assert_eq!(method["effect"]["percent"], 0.0, "{method}");
        }
    }
    let table = printed(&["compare", &first, &second]);
    assert!(table.contains("flux.compute"), "{table}");
}

/// Which of two runs is faster, by calls with chosen times: those of real runs depend on the machine.
#[test]
fn what_became_faster_is_reported() {
    let scratch = Scratch::new();
    // 20 calls at each of ten sizes, each slightly longer than the one before, by a tenth in all.
    let write = |name: &str, ns_per_element: u64| {
        let calls = (1..=10).flat_map(|size| (0..20).map(move |call| (1000 * size, call)));
        let calls = calls.map(|(size, call)| (size, ns_per_element * size * (200 + call) / 200));
        let method = MethodDefinition {
            instance: "flux".into(),
            class: "hydro.Flux".into(),
            port: "flux".into(),
            interface: "hydro.FluxPort".into(),
            method: "compute".into(),
            ..MethodDefinition::default()
        };
        write_calls(&scratch.path(name), method, "q", calls);
    };
    write("slow", 40);
    write("fast", 10);
    let compared = |first: &str, second: &str| -> serde_json::Value {
        let comparison = scratch
            .mastermind(&["compare", first, second, "--json"])
            .well();
        let comparison: serde_json::Value = serde_json::from_str(&comparison).expect("JSON");
        let [flux] = &comparison["methods"].as_array().expect("a list")[..] else {
            panic!("one method: {comparison}")
        };
        assert_eq!(flux["name"], "flux.compute");
        flux.clone()
    };
    for (first, second, verdict, percent) in [
        ("slow", "fast", "faster", -75.0),
        ("fast", "slow", "slower", 300.0),
        ("fast", "fast", "same", 0.0),
    ] {
        let flux = compared(first, second);
        assert_eq!(flux["verdict"], verdict, "{flux}");
        let effect = flux["effect"]["percent"].as_f64().expect("an effect");
        assert!((effect - percent).abs() < 1.0, "{flux}");
    }
}

/// A folder holds the export of one run: the files of another export are removed, other files stay.
#[test]
fn an_export_does_not_mix_two_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let with_states = record(folder.path(), "first", &[]);
    let flux_alone = record(folder.path(), "second", &["--monitor", "flux.flux"]);
    let out = text(folder.path().join("out"));
    let export = |records: &str, more: &[&str]| {
        mastermind(&[&["export", records, "--format", "csv", "-o", &out], more].concat())
    };
    assert!(export(&with_states, &[]).status.success());
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&out).expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.starts_with('.')).collect()
    };
    assert!(names().iter().any(|name| name.starts_with("states.")));
    fs::write(folder.path().join("out/mine.txt"), "mine").expect("a file");
    assert_eq!(export(&flux_alone, &[]).status.code(), Some(1));
    assert!(export(&flux_alone, &["--force"]).status.success());
    let names = names();
    assert!(
        !names.iter().any(|name| name.starts_with("states.")),
        "{names:?}"
    );
    assert!(
        names.iter().any(|name| name.starts_with("flux.")),
        "{names:?}"
    );
    assert!(names.contains(&"mine.txt".to_owned()), "{names:?}");
}
