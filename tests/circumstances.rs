//! Logs record how and on which machine a run was started; no verb combines runs of different commands without a note.

use std::path::Path;
use std::process::Command;

use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{EndDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Definition};
use mastermind_tests::{Scratch, bin_dir, mpirun, mpis_with, output};
use serde_json::Value;

/// A library of one function, a program that calls it as often as its argument says, and the proxy.
struct Work {
    scratch: Scratch,
}

impl Work {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.write("work.h", "int work(int n);\n");
        scratch.write("work.c", "int work(int n) { return n + 1; }\n");
        let program = "#include <stdlib.h>\n#include \"work.h\"\n\
                       int main(int n, char **words) { for (int i = 0; i < atoi(words[1]); i++) work(i); return n == 9; }\n";
        scratch.write("program.c", program);
        let cc = |arguments: &[&str]| {
            let mut cc = Command::new("cc");
            output(cc.current_dir(scratch.path("")).args(arguments));
        };
        cc(&["-shared", "-fPIC", "-o", "libwork.so", "work.c"]);
        let linked = ["-L.", "-lwork", "-Wl,-rpath,$ORIGIN"];
        cc(&[&["-o", "program", "program.c"][..], &linked].concat());
        scratch
            .mastermind(&["proxy", "work.h", "-o", "proxies"])
            .well();
        Self { scratch }
    }

    fn record(&self, records: &str, options: &[&str], program: &[&str]) {
        let wrap = [
            "wrap",
            "--proxy",
            "proxies/libwork_proxy.so",
            "--records",
            records,
        ];
        let arguments = [&wrap[..], options, &["--"], program].concat();
        self.scratch.mastermind(&arguments).well();
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.scratch.mastermind(arguments).well();
        serde_json::from_str(&text).expect("JSON")
    }
}

#[test]
fn a_log_knows_how_its_run_was_started() {
    let work = Work::new();
    work.record("r", &["--set", "n=3"], &["./program", "3", "a b"]);
    let info = work.json(&["info", "r", "--json"]);
    assert_eq!(info["parameters"]["n"], "3");
    let started = &info["circumstances"][0];
    assert_eq!(
        started["command"],
        serde_json::json!(["./program", "3", "a b"])
    );
    assert_eq!(started["first_argument"], 1);
    assert_eq!(started["ranks"], serde_json::json!([0]));
    let folder = work.scratch.path("").canonicalize().expect("a folder");
    assert_eq!(
        started["folder"].as_str().map(Path::new),
        Some(folder.as_path())
    );
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    for known in ["user", "processors_usable"] {
        assert!(!started[known].is_null(), "{known}: {info:#}");
    }
    let (begin, end) = (&info["started_unix_ns"], &info["ended_unix_ns"]);
    assert!(begin.as_u64() <= end.as_u64(), "{info:#}");
    assert!(info["load_begin"].is_f64() && info["load_end"].is_f64());
    if Path::new("/proc/self/schedstat").exists() {
        let share = info["processor_shares"]["0"].as_f64();
        assert!(
            share.is_some_and(|share| share > 0.0 && share <= 1.0),
            "{info:#}"
        );
    }
    let text = work.scratch.mastermind(&["info", "r"]).well();
    assert!(text.contains("./program 3 'a b'"), "{text}");
}

#[test]
fn a_log_knows_the_mpi_library() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let source = "#include <mpi.h>\nint main(int n, char **words) { MPI_Init(&n, &words); return MPI_Finalize(); }\n";
        scratch.write("program.c", source);
        let mut cc = Command::new(format!("mpicc.{mpi}"));
        let program = scratch.path("program");
        output(cc.arg("-o").arg(&program).arg(scratch.path("program.c")));
        let mut run = mpirun(mpi, 2, &scratch.path(""));
        run.arg(bin_dir().join("mastermind"));
        run.args(["wrap", "--records", "r", "--"]).arg(&program);
        scratch.run(&mut run).well();
        let info = scratch.mastermind(&["info", "r", "--json"]).well();
        let info: Value = serde_json::from_str(&info).expect("JSON");
        let found = &info["circumstances"][0];
        let library = found["mpi_library"].as_str().expect("a library");
        let expected = if mpi == "mpich" {
            "MPICH "
        } else {
            "Open MPI v"
        };
        assert!(library.starts_with(expected), "{library}");
        assert_eq!(found["ranks"], serde_json::json!([0, 1]));
    }
}

#[test]
fn an_argument_or_a_name_becomes_a_parameter() {
    let work = Work::new();
    for n in ["2", "3", "4"] {
        let name = format!("n={n}");
        work.record(n, &["--set", &name], &["./program", n, "out"]);
    }
    // Nothing assigns the calls to runs, and `fit` reports that.
    let fitted = work
        .scratch
        .mastermind(&["fit", "2", "3", "4", "--method", "work"]);
    assert!(fitted.stderr.contains("--by n makes it"), "{fitted:#?}");
    for by in ["n", "arg:1"] {
        let arguments = ["fit", "2", "3", "4", "--method", "work", "--by", by];
        let fitted = work
            .scratch
            .mastermind(&[&arguments[..], &["--json"]].concat());
        assert!(!fitted.stderr.contains("differ"), "{fitted:#?}");
        let models: Value = serde_json::from_str(&fitted.well()).expect("JSON");
        let model = &models["models"][0];
        assert_eq!(model["params"], serde_json::json!([by]));
        assert_eq!(model["range"][by], serde_json::json!([2.0, 4.0]));
    }
    for (by, word) in [("arg:2", "arg:2"), ("arg:9", "arg:9"), ("m", "\"m\"")] {
        let failed = work.scratch.mastermind(&["fit", "2", "3", "--by", by]);
        assert!(failed.error().contains(word), "{by}");
    }
    let wrong = ["wrap", "--set", "ranks=3", "--", "true"];
    assert_eq!(work.scratch.mastermind(&wrong).code, Some(2));
}

#[test]
fn unlike_commands_are_not_put_together_without_a_word() {
    let work = Work::new();
    work.record("both", &[], &["sh", "-c", "./program 2; ./program 3"]);
    work.record("one", &[], &["./program", "2"]);
    work.record("other", &[], &["./program", "3"]);
    work.record("same", &[], &["./program", "2"]);
    let differs = |arguments: &[&str]| {
        let ended = work.scratch.mastermind(arguments);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        ended.stderr.contains("differ in arg:1 (2, 3)")
    };
    assert!(differs(&["profile", "both"]));
    assert!(differs(&["report", "both", "-o", "both.html"]));
    assert!(differs(&["fit", "both", "--method", "work"]));
    assert!(!differs(&[
        "fit", "both", "--method", "work", "--by", "arg:1"
    ]));
    assert!(differs(&["compare", "one", "other"]));
    assert!(!differs(&["compare", "one", "same"]));
    assert!(!differs(&["profile", "one"]));
}

#[test]
fn verbs_warn_of_a_rank_that_waited_for_a_processor() {
    let scratch = Scratch::new();
    for (name, waiting_ns) in [("waited", 400_000_000), ("ran", 200_000_000)] {
        let directory = scratch.path(name);
        std::fs::create_dir(&directory).expect("a folder");
        let recorder = RunRecorder::start(RecorderConfig {
            directory,
            rank: 0,
            limit_bytes: None,
            chunks: ChunkSizes::default(),
            clock: Clock::detect(),
            mpi: MpiFunctions::default(),
            run: RunDefinition {
                ranks: 1,
                ..RunDefinition::default()
            },
        })
        .expect("a recorder");
        recorder.announce(Definition::End(EndDefinition {
            ended_unix_ns: 1,
            load: None,
            running_ns: Some(1_000_000_000),
            waiting_ns: Some(waiting_ns),
        }));
        recorder.finish().expect("records");
    }
    let warned = |arguments: &[&str]| {
        let ended = scratch.mastermind(arguments);
        ended
            .stderr
            .contains("rank 0 had 71 % of the processor time")
    };
    assert!(warned(&["profile", "waited"]));
    assert!(warned(&["compare", "waited", "ran"]));
    assert!(!warned(&["profile", "ran"]));
    let info = scratch.mastermind(&["info", "waited", "--json"]).well();
    let info: Value = serde_json::from_str(&info).expect("JSON");
    let share = info["processor_shares"]["0"].as_f64().expect("a share");
    assert!((share - 1.0 / 1.4).abs() < 1e-12);
    // Records of an earlier version lack this, and `info` says so.
    let text = scratch.mastermind(&["info", "waited"]).well();
    assert!(text.contains("command          not known"), "{text}");
}

#[test]
fn a_slower_method_ends_a_comparison_with_1() {
    let work = Work::new();
    work.record("before", &[], &["./program", "200"]);
    // A thousand times as long: no machine is that busy.
    let slow = "int work(int n) { volatile int x = n; for (int i = 0; i < 50000; i++) x += i; return x; }\n";
    work.scratch.write("work.c", slow);
    let mut cc = Command::new("cc");
    let library = ["-shared", "-fPIC", "-o", "libwork.so", "work.c"];
    output(cc.current_dir(work.scratch.path("")).args(library));
    work.record("after", &[], &["./program", "200"]);
    let compare = |first: &str, second: &str, more: &[&str]| {
        let arguments = [&["compare", first, second, "--json"], more].concat();
        work.scratch.mastermind(&arguments)
    };
    let slower = compare("before", "after", &["--fail-above", "5%"]);
    assert_eq!(slower.code, Some(1), "{slower:#?}");
    assert!(slower.stderr.contains("slower: "), "{slower:#?}");
    let document: Value = serde_json::from_str(&slower.stdout).expect("JSON");
    let methods = document["methods"].as_array().expect("methods");
    assert!(
        methods.iter().any(|of| of["verdict"] == "slower"),
        "{document:#}"
    );
    assert!(document["overall"]["verdict"].is_string(), "{document:#}");
    compare("before", "after", &[]).well();
    compare("after", "before", &["--fail-above", "5"]).well();
    let wrong = compare("after", "before", &["--fail-above", "-5"]);
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
}
