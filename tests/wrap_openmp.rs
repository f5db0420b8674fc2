//! `wrap --openmp`: the OpenMP counts of a program equal those counted by hand, under GCC's runtime and LLVM's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, ended, root, skip};
use serde_json::Value;

/// Compilers, each with the runtime that its programs have.
const COMPILERS: [(&str, &str); 2] = [("gcc", "GCC"), ("clang", "LLVM")];

/// A program of `tests/fixtures/openmp`; `None` where there is no such compiler, or it has no OpenMP.
fn compile(compiler: &str, name: &str, scratch: &Scratch) -> Option<PathBuf> {
    let program = scratch.path(name);
    let mut command = Command::new(compiler);
    if command.arg("--version").output().is_err() {
        skip(compiler, format_args!("no {compiler} on this machine"));
        return None;
    }
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-fopenmp", "-pthread", "-o"]);
    command.arg(&program);
    command.arg(root().join(format!("tests/fixtures/openmp/{name}.c")));
    let compiled = ended(&mut command);
    if !compiled.status.success() {
        let text = String::from_utf8_lossy(&compiled.stderr).into_owned();
        skip("libomp", text.lines().next().unwrap_or_default());
        return None;
    }
    Some(program)
}

/// The document of `profile --openmp --json` of a wrapped run, and the output of the program.
fn profile(scratch: &Scratch, program: &PathBuf) -> (Value, String) {
    let records = scratch.path("records");
    let mastermind = || Command::new(bin_dir().join("mastermind"));
    let alone = ended(&mut Command::new(program));
    let mut wrap = mastermind();
    wrap.args(["wrap", "--openmp", "--overwrite", "--records"]);
    let wrapped = ended(wrap.arg(&records).arg("--").arg(program));
    assert_eq!(
        (alone.status.code(), &alone.stdout),
        (wrapped.status.code(), &wrapped.stdout),
        "{wrapped:?}"
    );
    let shown = ended(
        mastermind()
            .args(["profile", "--openmp", "--json"])
            .arg(&records),
    );
    assert!(shown.status.success(), "{shown:?}");
    let document = serde_json::from_slice(&shown.stdout).expect("a document");
    let written = String::from_utf8_lossy(&wrapped.stdout).into_owned();
    (document, written)
}

/// How many, calls and pieces, by construct, over all call sites.
fn counts(document: &Value) -> BTreeMap<String, [u64; 3]> {
    let mut counts = BTreeMap::<String, [u64; 3]>::new();
    for row in document["constructs"].as_array().expect("rows") {
        let construct = row["construct"].as_str().expect("a name").to_owned();
        let known = counts.entry(construct).or_default();
        for (sum, field) in known.iter_mut().zip(["instances", "calls", "pieces"]) {
            *sum += row[field].as_u64().expect("a number");
        }
    }
    counts
}

#[test]
fn counts_are_those_of_the_source() {
    for (compiler, runtime) in COMPILERS {
        let scratch = Scratch::new();
        let Some(program) = compile(compiler, "counted", &scratch) else {
            continue;
        };
        let (document, _) = profile(&scratch, &program);
        let rank = &document["ranks"][0];
        assert_eq!(rank["runtimes"], serde_json::json!([runtime]));
        // 20 rounds of 4 threads that begin one, 10, 1 and 1; the two of the last are within it.
        let regions = 20 * 4 + 10 + 1 + 1;
        assert_eq!(rank["regions"], regions, "{compiler}");
        let rows = document["regions"].as_array().expect("rows");
        let nested: u64 = rows
            .iter()
            .filter(|row| row["nested"] == true)
            .filter_map(|row| row["regions"].as_u64())
            .sum();
        assert_eq!(nested, 2, "{compiler}: {rows:?}");
        let of_thread = |thread: usize| rank["threads"][thread]["regions"].as_u64();
        let of_threads = [0, 1, 2].map(|thread| of_thread(thread).expect("a number"));
        assert_eq!(of_threads, [regions, regions, regions - 1], "{compiler}");
        let mut counts = counts(&document);
        let mut take = |name: &str| counts.remove(name).unwrap_or_default();
        // Number, calls by 3 threads, and pieces where the runtime reports them.
        let [loops, calls, pieces] = take("loop");
        assert_eq!((loops, calls), (80 + 10, 3 * (80 + 10)), "{compiler}");
        if runtime == "GCC" {
            assert!(pieces >= 80 * 100 + 10, "{pieces}");
        }
        // Behind each loop, the explicit one, behind `single` and `sections`; behind the `single` of the tasks.
        let barriers = 80 + 10 * 4 + 1;
        assert_eq!(take("barrier")[..2], [barriers, 3 * barriers], "{compiler}");
        assert_eq!(take("single")[..2], [11, 33], "{compiler}");
        assert_eq!(take("sections")[..2], [10, 30], "{compiler}");
        assert_eq!(take("critical")[..2], [30, 30], "{compiler}");
        // Calls of fib(10) with n > 1.
        assert_eq!(take("taskwait")[..2], [88, 88], "{compiler}");
        assert_eq!(take("task")[..2], [2 * 88, 2 * 88], "{compiler}");
        assert!(counts.is_empty(), "{compiler}: {counts:?}");
    }
}

/// In earlier code, threads of LLVM's runtime lost their state after 1024 regions.
#[test]
fn many_regions_are_all_measured() {
    for (compiler, _) in COMPILERS {
        let scratch = Scratch::new();
        let Some(program) = compile(compiler, "many", &scratch) else {
            continue;
        };
        let (document, _) = profile(&scratch, &program);
        assert_eq!(document["ranks"][0]["regions"], 3000, "{compiler}");
        let counts = counts(&document);
        assert_eq!(counts["barrier"][..2], [3000, 9000], "{compiler}");
        let mut shown = Command::new(bin_dir().join("mastermind"));
        let shown = ended(
            shown
                .args(["profile", "--json"])
                .arg(scratch.path("records")),
        );
        let table: Value = serde_json::from_slice(&shown.stdout).expect("a document");
        assert_eq!(table["lost_records"], 0, "{compiler}: {shown:?}");
    }
}

#[test]
fn time_of_threads_is_work_waiting_and_their_start() {
    for (compiler, _) in COMPILERS {
        let scratch = Scratch::new();
        let Some(program) = compile(compiler, "counted", &scratch) else {
            continue;
        };
        let (document, _) = profile(&scratch, &program);
        let ns = |row: &Value, field: &str| row[field].as_u64().expect("a number");
        let rank = &document["ranks"][0];
        for row in [rank]
            .into_iter()
            .chain(rank["threads"].as_array().expect("rows"))
        {
            let parts = ["work_ns", "wait_ns", "start_ns"].map(|field| ns(row, field));
            let (sum, all) = (parts.iter().sum::<u64>(), ns(row, "thread_ns"));
            // Each sum of ticks is rounded by itself.
            assert!(sum.abs_diff(all) < 100, "{compiler}: {row}");
        }
        // The first thread is there as long as its regions are.
        let first = ns(&rank["threads"][0], "thread_ns");
        assert!(
            first.abs_diff(ns(rank, "region_ns")) < 100,
            "{compiler}: {rank}"
        );
    }
}

#[test]
fn regions_and_tasks_have_their_source_lines() {
    for (compiler, _) in COMPILERS {
        let scratch = Scratch::new();
        let Some(program) = compile(compiler, "counted", &scratch) else {
            continue;
        };
        let (document, _) = profile(&scratch, &program);
        let sites = |rows: &str, construct: Option<&str>| {
            let rows = document[rows].as_array().expect("rows").iter();
            let rows = rows.filter(|row| construct.is_none_or(|name| row["construct"] == name));
            let sites = rows.map(|row| row["call_site"].as_str().expect("a text").to_owned());
            sites.collect::<Vec<_>>()
        };
        let of_regions = sites("regions", None);
        assert!(
            of_regions.iter().all(|site| site.contains("counted.c:")),
            "{of_regions:?}"
        );
        assert!(
            of_regions.iter().any(|site| site.starts_with("start (")),
            "{of_regions:?}"
        );
        let of_tasks = sites("constructs", Some("task"));
        assert!(
            of_tasks.iter().all(|site| site.starts_with("fib")),
            "{of_tasks:?}"
        );
    }
}

#[test]
fn a_run_without_sums_is_refused() {
    let scratch = Scratch::new();
    let Some(program) = compile("gcc", "counted", &scratch) else {
        return;
    };
    let records = scratch.path("records");
    let mastermind = || Command::new(bin_dir().join("mastermind"));
    let mut wrap = mastermind();
    wrap.args(["wrap", "--openmp", "--records"]);
    // A program that never comes to a construct leaves no records.
    ended(wrap.arg(&records).args(["--", "true"]));
    let shown = ended(mastermind().args(["profile", "--openmp"]).arg(&records));
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    drop(program);
}
