//! Families of alternatives: from the records of each class to a table by which each call goes to the fastest one; and the example
//! of Fourier transforms, where FFTW and the GNU Scientific Library are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_records::Run;
use mastermind_tests::{Scratch, bin_dir, mpis, root, skip, succeeds};

/// The records of a method to make: the instance, the class, and the value of a parameter.
fn answers(records: &Path, method: &str, parameter: &str) -> Vec<(String, String, f64)> {
    let run = Run::open(records).expect("records");
    let records = run.logs().iter().flat_map(|log| log.records());
    let of_method = records.filter(|record| record.method.method == method);
    let answers = of_method.map(|record| {
        let names = record.method.parameters.iter();
        let mut values = names.zip(record.parameters());
        let value = values.find(|(known, _)| known.name == parameter);
        let (_, value) = value.expect("the parameter");
        (
            record.method.instance.clone(),
            record.method.class.clone(),
            value.as_f64(),
        )
    });
    answers.collect()
}

/// A component of an example's port.
fn component(scratch: &Scratch, name: &str, source: &Path, options: &[&str]) -> PathBuf {
    let library = scratch.path(&format!("lib{name}.so"));
    let mut command = Command::new("cc");
    command
        .args([
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fPIC",
            "-shared",
            "-I",
        ])
        .arg(scratch.path("made/c"))
        .arg("-I")
        .arg(root().join("examples"))
        .args(options)
        .arg("-o")
        .arg(&library)
        .arg(source)
        .arg(scratch.path("made/c/sparse_ports.c"))
        .arg("-lm");
    succeeds(&mut command);
    library
}

/// Two solvers that cross at some 50 unknowns, and the workload of the example; the assembly with one of them.
fn solvers(scratch: &Scratch) -> PathBuf {
    let sidl = root()
        .join("examples/sparse/sparse.sidl")
        .display()
        .to_string();
    scratch
        .mastermind(&["proxy", &sidl, "-o", "made", "--language", "c"])
        .well();
    let dense = root().join("tests/fixtures/dense.c");
    let workload = root().join("examples/sparse/workload.c");
    let libraries = [
        component(scratch, "rising", &dense, &["-DRISING"]),
        component(scratch, "level", &dense, &[]),
        component(scratch, "workload", &workload, &[]),
    ];
    let assembly = format!(
        "[assembly]\nname = \"solvers\"\npath = {libraries:?}\n\n\
         [instances]\ndriver = \"sparse.Workload\"\nsolver = \"test.Level\"\n\n\
         [connections]\n\"driver.solver\" = \"solver.solver\"\n\n\
         [parameters.driver]\nsmallest = 10\nlargest = 130\nlargest_cube = 130\nlargest_disorder = 130\nsizes = 6\ncalls = 1\nmost_calls = 40\n\n\
         [alternatives]\nsolver = [\"test.Level\", \"test.Rising\"]\n\n[go]\nport = \"driver.go\"\n"
    );
    scratch.write("solvers.toml", assembly)
}

#[test]
fn each_call_goes_to_the_class_that_is_fastest_for_it() {
    let scratch = Scratch::new();
    let assembly = solvers(&scratch);
    let record = |class: &str| {
        let replace = format!("solver=test.{class}");
        let arguments = ["--replace", &replace, "--records", class];
        scratch.verb("run", &assembly, &arguments).well();
    };
    record("Level");
    record("Rising");
    let fit = [
        "fit",
        "Level",
        "Rising",
        "--statistic",
        "median",
        "-o",
        "models.json",
    ];
    scratch.mastermind(&fit).well();
    let choose = [
        "--models",
        "models.json",
        "--records",
        "Level",
        "--dispatch",
    ];
    let missing = scratch.verb("choose", &assembly, &choose);
    assert!(missing.stderr.contains("--output"), "{missing:?}");
    let choose = [&choose[..], &["-o", "best.toml"]].concat();
    let output = scratch.verb("choose", &assembly, &choose).well();
    assert!(output.contains("calls of solver go to test."), "{output}");

    let best = scratch.path("best.toml");
    scratch.verb("check", &best, &[]).well();
    let graph = scratch.verb("graph", &best, &["--format", "dot"]).well();
    assert!(graph.contains("solver-Rising"), "{graph}");
    let arguments = ["--records", "dispatched"];
    scratch.verb("run", &best, &arguments).well();
    let answers = answers(&scratch.path("dispatched"), "solve", "n");
    assert!(answers.len() > 500, "{}", answers.len());
    for (instance, class, n) in answers {
        let expected = match n {
            ..30.0 if n >= 12.0 => "Rising",
            80.0..115.0 => "Level",
            _ => continue,
        };
        assert_eq!(class, format!("test.{expected}"), "n = {n}");
        assert_eq!(instance, format!("solver-{expected}"), "n = {n}");
    }
}

/// The other class has no model: its cost, and where it is faster, is learnt during the run.
#[test]
fn calls_are_sent_elsewhere_while_the_run_learns_where_they_are_fastest() {
    let scratch = Scratch::new();
    let assembly = solvers(&scratch);
    scratch
        .verb("run", &assembly, &["--records", "Level"])
        .well();
    scratch
        .mastermind(&["fit", "Level", "-o", "models.json"])
        .well();
    // More than the default, and a run of seconds, so that some decisions fit in even if they take long on a busy
    // machine.
    let adapt = [
        "--adapt",
        "models.json",
        "--dispatch",
        "--explore",
        "10%",
        "--set",
        "driver.most_calls=500",
        "--set",
        "driver.calls=10",
        "--overwrite",
    ];
    let adapt = |more: &[&str]| {
        let arguments = [&["--records", "adapted"], &adapt[..], more].concat();
        scratch.verb("run", &assembly, &arguments).well()
    };
    let output = adapt(&[]);
    assert!(
        output.contains("where calls of a size go, now:"),
        "{output}"
    );
    assert!(output.contains("test.Rising"), "{output}");
    let swaps = ", of which 0 swap, in ";
    assert!(output.contains(swaps), "{output}");
    let first = scratch.read("adapted/decisions.0.jsonl");
    let line = first.lines().find(|line| line.contains("\"try\""));
    let line = line.expect("a trial");
    assert!(
        line.contains("\"calls\":\"solver.solve bandwidth="),
        "{line}"
    );

    // The assembly that the run leaves behind sends calls that way from the first one on, without learning.
    let learnt = scratch.path("adapted/adapted.toml");
    scratch.verb("check", &learnt, &[]).well();
    scratch
        .verb("run", &learnt, &["--records", "learnt"])
        .well();
    let (mut right, mut all) = (0, 0);
    for (instance, class, n) in answers(&scratch.path("learnt"), "solve", "n") {
        let expected = match n {
            ..30.0 if n >= 12.0 => "Rising",
            80.0..115.0 => "Level",
            _ => continue,
        };
        all += 1;
        right += u32::from(class == format!("test.{expected}"));
        assert!(instance.starts_with("solver-"), "{instance}");
    }
    assert!(
        all > 100 && 4 * right > 3 * all,
        "{right} of {all}: {output}"
    );

    for mpi in mpis() {
        adapt(&["--ranks", "2", "--mpi", mpi.kind.name()]);
        let decided = scratch.read("adapted/decisions.0.jsonl");
        assert!(decided.contains("\"try\""), "{decided}");
        assert_eq!(scratch.read("adapted/decisions.1.jsonl"), decided);
    }
}

#[test]
fn what_cannot_be_dispatched_is_an_error() {
    let scratch = Scratch::new();
    let assembly = solvers(&scratch);
    let records = ["--records", "Level"];
    scratch.verb("run", &assembly, &records).well();
    let fit = ["fit", "Level", "-o", "models.json"];
    scratch.mastermind(&fit).well();
    let text = fs::read_to_string(&assembly).expect("the assembly");
    let alone = text.replace("[\"test.Level\", \"test.Rising\"]", "[\"test.Level\"]");
    let alone = scratch.write("alone.toml", alone.replace("solver = [\"test.Level\"]", ""));
    let adapt = ["--adapt", "models.json", "--dispatch", "--records", "no"];
    let error = scratch.verb("run", &alone, &adapt).error();
    let expected = "cannot dispatch calls in assembly \"solvers\": no [alternatives], expected an instance with two classes";
    assert!(error.contains(expected), "{error}");
    let unknown = text.replace("\"test.Rising\"]", "\"test.Absent\"]");
    let unknown = scratch.write("unknown.toml", unknown);
    let error = scratch.verb("run", &unknown, &adapt).error();
    assert!(error.contains("test.Absent"), "{error}");
    let without = ["--dispatch", "--records", "no"];
    let ended = scratch.verb("run", &assembly, &without);
    assert!(ended.stderr.contains("--adapt"), "{ended:?}");
    assert!(!scratch.path("no").exists());
}

#[test]
fn a_table_that_does_not_fit_is_an_error() {
    let scratch = Scratch::new();
    let assembly = solvers(&scratch);
    let text = fs::read_to_string(&assembly).expect("the assembly");
    let text = text
        .replace(
            "solver = \"test.Level\"\n",
            "a = \"test.Level\"\nb = \"test.Rising\"\n",
        )
        .replace(
            "[alternatives]\nsolver = [\"test.Level\", \"test.Rising\"]\n",
            "[dispatch]\nsolver = \"table.toml\"\n",
        );
    let file = scratch.write("dispatched.toml", text);
    let error = scratch.verb("check", &file, &[]).error();
    assert!(error.contains("cannot read decision table \""), "{error}");
    let table = |step: &str| {
        let text =
            format!("port = \"solver\"\nproviders = [\"a\", \"b\"]\n\n[[methods.solve]]\n{step}\n");
        scratch.write("table.toml", text);
        scratch.verb("check", &file, &[])
    };
    let error = table("parameter = \"m\"\nbounds = [1]\nnext = [\"a\", \"b\"]").error();
    let expected = "cannot dispatch calls of \"solver\": parameter \"m\" of \"solve\", expected one of n, nnz, bandwidth";
    assert!(error.contains(expected), "{error}");
    let error = table("parameter = \"n\"\nbounds = [1]\nnext = [\"a\", \"c\"]").error();
    assert!(
        error.contains("provider \"c\", expected one of a, b"),
        "{error}"
    );
    let error = table("parameters = \"n\"").error();
    assert!(
        error.contains("malformed, expected what choose --dispatch writes"),
        "{error}"
    );
    table("parameter = \"n\"\nbounds = [50]\nnext = [\"b\", \"a\"]").well();
    scratch.verb("run", &file, &["--records", "records"]).well();
    for (instance, _, n) in answers(&scratch.path("records"), "solve", "n") {
        assert_eq!(instance, if n < 50.0 { "b" } else { "a" }, "n = {n}");
    }
}

/// The example, as far as it can be built with Debian's packages and the C compiler.
#[test]
fn transforms_by_fftw_and_gsl_agree() {
    let includes = ["fftw3.h", "gsl/gsl_fft_complex.h"];
    let is_there = |header: &&str| Path::new("/usr/include").join(header).exists();
    if let Some(missing) = includes.iter().find(|header| !is_there(header)) {
        skip(
            "fftw",
            format_args!(
                "no {missing} here: examples/fft is not tried; install libfftw3-dev and libgsl-dev"
            ),
        );
        return;
    }
    let scratch = Scratch::new();
    let build = root().join("examples/fft/build.sh");
    let program = bin_dir().join("mastermind");
    let made = scratch.path("made");
    let arguments = [Path::new("--without-rustfft"), &program, &made];
    succeeds(Command::new(build).args(arguments));
    let text = fs::read_to_string(root().join("examples/fft/fft.toml")).expect("the example");
    let text = text.replace(", \"fft.RustFft\"]", "]");
    let assembly = scratch.write("fft.toml", text);
    let small = [
        "driver.lengths=5",
        "driver.largest=1024",
        "driver.largest_prime=300",
        "driver.work=20000",
    ];
    for class in ["Fftw", "Gsl"] {
        let replace = format!("fft=fft.{class}");
        let results = format!(
            "driver.results={}",
            scratch.path(&format!("{class}.txt")).display()
        );
        let mut arguments = vec!["--replace", &replace, "--records", class, "--set", &results];
        arguments.extend(small.iter().flat_map(|set| ["--set", set]));
        scratch.verb("run", &assembly, &arguments).well();
    }
    let [fftw, gsl] = ["Fftw.txt", "Gsl.txt"].map(|name| scratch.read(name));
    assert_eq!(fftw.lines().count(), gsl.lines().count());
    for (one, other) in fftw.lines().zip(gsl.lines()) {
        let numbers = |line: &str| -> Vec<f64> {
            line.split(' ')
                .map(|word| word.parse().expect("a number"))
                .collect()
        };
        let (one, other) = (numbers(one), numbers(other));
        assert_eq!(one[..2], other[..2], "length and frequency");
        let off = (one[2] - other[2]).hypot(one[3] - other[3]);
        assert!(off <= 1e-10 * one[4], "{one:?} {other:?}");
    }
    scratch
        .mastermind(&["fit", "Fftw", "Gsl", "-o", "models.json"])
        .well();
    let plot = [
        "plot", "Gsl", "--kind", "mean", "--method", "forward", "-o", "gsl.svg",
    ];
    scratch.mastermind(&plot).well();
    let choose = [
        "--models",
        "models.json",
        "--records",
        "Fftw",
        "--dispatch",
        "-o",
        "best.toml",
    ];
    scratch.verb("choose", &assembly, &choose).well();
    let mut arguments = vec!["--records", "best"];
    arguments.extend(small.iter().flat_map(|set| ["--set", set]));
    scratch
        .verb("run", &scratch.path("best.toml"), &arguments)
        .well();
}
