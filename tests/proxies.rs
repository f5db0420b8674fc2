//! `mastermind proxy` and `wrap --proxy`: a C library's header becomes a proxy, under a program that was not written
//! for it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mastermind_records::{Record, Run};
use mastermind_tests::{Scratch, bin_dir, output, root};

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/libraries").join(name)
}

/// The library in two implementations, a program that is linked with the first, and the proxy.
struct Sums {
    scratch: Scratch,
}

impl Sums {
    fn new() -> Self {
        let scratch = Scratch::new();
        let sums = Self { scratch };
        sums.library("libsums.so", "one", 1, &["-DWHOLE"]);
        sums.library("libother.so", "other", 10, &[]);
        let mut cc = Command::new("cc");
        cc.arg("-o")
            .arg(sums.path("program"))
            .arg(fixture("program.c"));
        cc.arg("-L")
            .arg(sums.path(""))
            .args(["-lsums", "-Wl,-rpath,$ORIGIN"]);
        output(&mut cc);
        sums
    }

    fn library(&self, file: &str, name: &str, factor: u32, options: &[&str]) {
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-shared", "-fPIC"]).args(options);
        cc.arg(format!("-DNAME=\"{name}\""))
            .arg(format!("-DFACTOR={factor}"));
        output(cc.arg("-o").arg(self.path(file)).arg(fixture("sums.c")));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn proxy(&self) -> String {
        let (header, markup) = (text(&fixture("sums.h")), text(&fixture("sums.toml")));
        let arguments = [
            "proxy", &header, "--markup", &markup, "-o", "proxies", "--force",
        ];
        self.scratch.mastermind(&arguments).well()
    }

    fn wrapped(&self, options: &[&str]) -> Command {
        let mut command = Command::new(bin_dir().join("mastermind"));
        command
            .current_dir(self.path(""))
            .args(["wrap", "--proxy", "proxies/libsums_proxy.so"]);
        command
            .args(["--records", "records", "--overwrite"])
            .args(options);
        command.arg("--").arg(self.path("program"));
        command
    }

    /// Class, group, name and parameters of each call, and whether it failed.
    fn calls(&self, n_dropped: u64) -> Vec<String> {
        let run = Run::open(&self.path("records")).expect("records");
        assert_eq!(run.dropped(), n_dropped, "calls that could not be recorded");
        let records = run.logs().iter().flat_map(|log| log.records());
        let of_library = records.filter(|record| record.method.class != "program");
        let call = |record: Record<'_>| {
            let method = record.method;
            let values = record.parameters().zip(&method.parameters);
            let values = values.map(|(value, parameter)| format!(" {}={value}", parameter.name));
            let failed = if record.failed { " failed" } else { "" };
            let values: String = values.collect();
            format!(
                "{} {}.{}{values}{failed}",
                method.class, method.port, method.method
            )
        };
        of_library.map(call).collect()
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// Runs the program without a proxy.
fn plain(sums: &Sums) -> String {
    output(&mut Command::new(sums.path("program")))
}

/// The calls of `program.c`, including those that the library makes of itself. C does not define the order in which
/// arguments are evaluated.
const CALLS: [&str; 20] = [
    "fortran.sum_fortran_ n=5",
    "sum_handle.sum_add",
    "sum_handle.sum_add failed",
    "sum_handle.sum_end",
    "sums.sum_begin n=0 failed",
    "sums.sum_begin n=1",
    "sums.sum_kinds kind=SUM_PLAIN n=4",
    "sums.sum_kinds kind=SUM_SQUARES n=4",
    "sums.sum_many mean=5.25",
    "sums.sum_mapped n=3",
    "sums.sum_matrix_values cells=6 rows=2",
    "sums.sum_name",
    "sums.sum_of_list",
    "sums.sum_of_list",
    "sums.sum_text length=5",
    "sums.sum_twice",
    "sums.sum_values blocks=1 n=5",
    "sums.sum_values blocks=1 n=6",
    "sums.sum_values blocks=2 n=8",
    "sums.sum_values blocks=2 n=8",
];

#[test]
fn every_call_is_recorded_with_its_parameters_and_nothing_else_changes() {
    let sums = Sums::new();
    let generated = sums.proxy();
    for line in [
        "14 functions recorded, 1 forwarded only, 2 left alone",
        "forwarded: sum_of: variadic",
        "left alone: sum_transposed: skipped by the mark-up",
        "left alone: sum_inline: its body is in the header",
    ] {
        assert!(generated.contains(line), "{line} in {generated}");
    }
    let wrapped = output(&mut sums.wrapped(&[]));
    assert_eq!(wrapped, plain(&sums));
    // The two calls whose expressions read a null pointer are counted as lost.
    let mut calls = sums.calls(2);
    calls.sort();
    assert_eq!(calls, CALLS.map(|call| format!("libsums.so {call}")));
    let profile = sums.scratch.mastermind(&["profile", "records"]);
    let reason = "have no record: an expression of the mark-up of sums.sum_";
    assert!(profile.stderr.contains(reason), "{}", profile.stderr);
}

#[test]
fn another_library_takes_the_calls_and_keeps_its_own() {
    let sums = Sums::new();
    sums.proxy();
    let other = format!("sums={}", text(&sums.path("libother.so")));
    let ended = sums.scratch.run(&mut sums.wrapped(&["--use", &other]));
    assert!(
        ended
            .stderr
            .contains("it lacks 1 of 15 functions: sum_only_here"),
        "{ended:?}"
    );
    let printed = ended.well();
    // Its own call of sum_values stays in it: 2 × 10 × 36.
    assert!(printed.starts_with("other 360 720\n"), "{printed}");
    let calls = sums.calls(2);
    assert!(
        calls.iter().all(|call| call.starts_with("libother.so ")),
        "{calls:?}"
    );
    let own = calls
        .iter()
        .filter(|call| call.contains("sum_values blocks=2 n=8"))
        .count();
    assert_eq!(own, 1, "{calls:?}");

    let strict = sums
        .scratch
        .run(&mut sums.wrapped(&["--strict", "--use", &other]));
    assert!(
        strict
            .error()
            .contains("it lacks 1 of 15 functions: sum_only_here")
    );
    let unknown = format!("products={}", text(&sums.path("libother.so")));
    let unknown = sums.scratch.run(&mut sums.wrapped(&["--use", &unknown]));
    assert!(
        unknown
            .error()
            .contains("for interface \"products\": proxies of [sums]")
    );
}

/// A running program that answers lines.
struct Running {
    child: Child,
    printed: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program");
        let printed = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, printed }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.printed.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    fn ask(&mut self) -> String {
        self.child
            .stdin
            .as_mut()
            .expect("its input")
            .write_all(b"\n")
            .expect("a line");
        self.line()
    }
}

#[test]
fn a_running_program_is_sent_to_another_library_and_back() {
    let sums = Sums::new();
    sums.proxy();
    let mut running = Running::start(&mut sums.wrapped(&[]));
    while running.line() != "15 2" {}
    assert_eq!(running.ask(), "one 3");
    let process = running.child.id().to_string();
    for (library, answer) in [
        ("libother.so", "other 30"),
        ("libsums.so", "one 3"),
        ("libother.so", "other 30"),
    ] {
        let library = format!("sums={}", text(&sums.path(library)));
        sums.scratch
            .mastermind(&["redirect", &process, &library])
            .well();
        assert_eq!(running.ask(), answer);
    }
    let no_library = sums
        .scratch
        .mastermind(&["redirect", &process, "sums=/etc/passwd"])
        .error();
    assert!(
        no_library.contains("not loadable, expected a shared library"),
        "{no_library}"
    );
    assert_eq!(running.ask(), "other 30");
    drop(running.child.stdin.take());
    assert!(running.child.wait().expect("an end").success());
    let calls = sums.calls(2);
    let last: Vec<_> = calls
        .iter()
        .filter(|call| call.contains("sum_values blocks=0 n=2"))
        .collect();
    let from = |library: &str| format!("{library} sums.sum_values blocks=0 n=2");
    let expected = [
        "libsums.so",
        "libother.so",
        "libsums.so",
        "libother.so",
        "libother.so",
    ]
    .map(from);
    assert_eq!(last, expected.iter().collect::<Vec<_>>());
}

/// A header in which no function is understood is refused, with the lines. With a struct of functions as well it is
/// accepted, and the lines are named.
#[test]
fn declarations_that_are_not_understood_are_named() {
    let scratch = Scratch::new();
    let broken = "/* a library */\n\nint broken(nowhere_t x);\n";
    let header = text(&scratch.write("broken.h", broken));
    let error = scratch
        .mastermind(&["proxy", &header, "-o", "proxies"])
        .error();
    let expected = "0 functions declared, expected at least 1; not understood: ";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("/broken.h:3"), "{error}");

    let solver = "typedef struct Solver { void *data; int (*solve)(struct Solver *self, int n); int (*reset)(struct Solver *self); } Solver;\n";
    let header = text(&scratch.write("solver.h", format!("{solver}{broken}")));
    for option in ["--define=X", "--json"] {
        let output = scratch
            .mastermind(&[
                "proxy",
                &header,
                "-o",
                "ports",
                "--force",
                "--source-only",
                option,
            ])
            .well();
        assert!(output.contains("/solver.h:4"), "{output}");
    }
}

/// A shell starts two programs, one by each function of the C library for that. Their records are kept apart, and a
/// program that is started without an environment is named.
#[test]
fn programs_that_others_start_are_distinguished() {
    let sums = Sums::new();
    sums.proxy();
    std::fs::copy(sums.path("program"), sums.path("copied")).expect("a copy");
    let starting = sums.path("starting");
    output(
        Command::new("cc")
            .arg("-o")
            .arg(&starting)
            .arg(fixture("starting.c")),
    );
    let wrap = |line: &str| {
        let mut arguments = vec!["wrap", "--proxy", "proxies/libsums_proxy.so"];
        arguments.extend([
            "--records",
            "records",
            "--overwrite",
            "--",
            "sh",
            "-c",
            line,
        ]);
        sums.scratch.mastermind(&arguments)
    };
    let once = plain(&sums);
    for way in [
        "execl",
        "execlp",
        "execle",
        "system",
        "popen",
        "posix_spawn",
    ] {
        let ended = wrap(&format!(
            "./program </dev/null; ./starting {way} ./copied </dev/null; ./program </dev/null"
        ));
        assert_eq!(ended.well(), once.repeat(3), "{way}");
        let info = sums.scratch.mastermind(&["info", "records", "--json"]);
        assert!(
            info.stderr.contains("copied, program (2 processes); "),
            "{way}: {info:?}"
        );
        let info: serde_json::Value = serde_json::from_str(&info.stdout).expect("JSON");
        assert_eq!(
            info["programs"],
            serde_json::json!({"copied": 1, "program": 2})
        );
        let calls = |records: &str| {
            let shown = sums
                .scratch
                .mastermind(&["profile", records, "--json"])
                .well();
            let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
            let rows = shown["rows"].as_array().expect("rows").clone();
            let mut own = rows.iter().filter(|row| row["name"] == "sums.sum_values");
            own.next().and_then(|row| row["calls"].as_f64())
        };
        assert_eq!(calls("records"), Some(12.0), "{way}");
        assert_eq!(calls("records:copied"), Some(4.0), "{way}");
        assert_eq!(calls("records:program"), Some(8.0), "{way}");
        let nobody = sums
            .scratch
            .mastermind(&["profile", "records:nobody"])
            .error();
        assert!(
            nobody.contains("cannot read records of program \"nobody\""),
            "{nobody}"
        );
        let cleared = wrap(&format!("./starting {way} ./copied cleared </dev/null"));
        assert!(
            cleared
                .stderr
                .contains("started 1 time without the environment of wrap"),
            "{way}: {cleared:?}"
        );
    }
}
