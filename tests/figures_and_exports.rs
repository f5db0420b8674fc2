//! What the binary makes of the records of a run: exports, figures, a comparison.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mastermind_tests::{bin_dir, root};

fn mastermind(arguments: &[&str]) -> Output {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let output = command.current_dir(root()).args(arguments).output();
    output.expect("the binary")
}

/// What a command prints, which must end well.
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

#[test]
fn every_export_has_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = record(folder.path(), "records", &[]);
    let path = |name: &str| text(folder.path().join(name));
    let export = |format: &str, out: &str| {
        let files = printed(&["export", &records, "--format", format, "-o", &path(out)]);
        let files: Vec<PathBuf> = files.lines().map(PathBuf::from).collect();
        assert!(
            files.iter().all(|file| file.is_file()),
            "{format}: {files:?}"
        );
        files
    };
    let parquet = export("parquet", "dataset");
    let flux = folder
        .path()
        .join("dataset/method=flux.flux.compute/rank=0/records.parquet");
    assert!(parquet.contains(&flux), "{parquet:?}");
    assert!(fs::read(flux).expect("a file").starts_with(b"PAR1"));
    assert_eq!(export("csv", "csv").len(), parquet.len());
    for (format, file) in [
        ("extrap", "flux.flux.compute.txt"),
        ("extrap-jsonl", "flux.flux.compute.jsonl"),
    ] {
        assert!(export(format, format).contains(&folder.path().join(format).join(file)));
    }
    let trace = fs::read_to_string(&export("perfetto", "trace.json")[0]).expect("a file");
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
            printed(&[&["plot", &records, "-o", &out], options].concat());
            let bytes = fs::read(&path).expect("a figure");
            let start: &[u8] = if ending == "svg" { b"<svg" } else { b"\x89PNG" };
            assert!(
                bytes.starts_with(start) && bytes.len() > 5_000,
                "{options:?}"
            );
        }
    }
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
    assert!(error.contains("expected .svg or .png"), "{error}");
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
        let calls = method["first"]["calls"].as_f64().expect("calls");
        let verdict = if calls > 1.0 { "same" } else { "unknown" };
        assert_eq!(method["verdict"], verdict, "{method}");
    }
    let table = printed(&["compare", &first, &second]);
    assert!(table.contains("flux.compute"), "{table}");
}
