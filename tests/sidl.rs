//! Ports from SIDL: components in C, C++ and Fortran, built with the output of `proxy` alone, are connected and
//! measured. The ports in Rust are the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_records::{Record, Run};
use mastermind_tests::{Scratch, cargo, root, skip, succeeds};

/// Makes the ports of the example.
fn made(scratch: &Scratch) -> PathBuf {
    let sidl = root()
        .join("examples/sidl/solver.sidl")
        .display()
        .to_string();
    let framework = root().join("framework").display().to_string();
    scratch
        .mastermind(&["proxy", &sidl, "-o", "made", "--framework", &framework])
        .well();
    scratch.path("made")
}

/// Compiles a component of the fixtures, with the description of the ports.
fn library(scratch: &Scratch, c: &Path, compiler: &str, standard: &str, source: &str) -> PathBuf {
    let strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC"];
    let ports = scratch.path("solver_ports.o");
    let mut command = Command::new("cc");
    command
        .args(strict)
        .arg("-std=gnu11")
        .arg("-c")
        .arg("-o")
        .arg(&ports)
        .arg(c.join("solver_ports.c"));
    succeeds(&mut command);
    let name = source.split('.').next().unwrap_or(source);
    let library = scratch.path(&format!("lib{name}.so"));
    let mut command = Command::new(compiler);
    command
        .args(strict)
        .arg(standard)
        .arg("-shared")
        .arg("-I")
        .arg(c)
        .arg("-o")
        .arg(&library);
    if source.ends_with(".f90") {
        let modules = c.with_file_name("fortran");
        command.args(["cca.f90", "solver_ports.f90"].map(|name| modules.join(name)));
    }
    command
        .arg(root().join("tests/fixtures").join(source))
        .arg(&ports)
        .arg("-lm");
    // Where modules of Fortran are written down, if there are any.
    command.current_dir(scratch.path(""));
    succeeds(&mut command);
    library
}

#[test]
fn components_in_c_and_cpp_are_connected_and_measured() {
    let scratch = Scratch::new();
    let c = made(&scratch).join("c");
    let libraries = [
        library(&scratch, &c, "cc", "-std=gnu11", "jacobi.c"),
        library(&scratch, &c, "c++", "-std=c++17", "solving.cpp"),
    ];
    let paths = libraries.map(|path| format!("{:?}", path.display().to_string()));
    let assembly = format!(
        "[assembly]\nname = \"solving\"\npath = [{}]\n\n[instances]\nsolver = \"demo.Jacobi\"\ndriver = \"demo.Solving\"\n\n\
         [connections]\n\"driver.solver\" = \"solver.solver\"\n\n[go]\nport = \"driver.go\"\n",
        paths.join(", ")
    );
    let file = scratch.write("solving.toml", assembly);
    scratch.verb("check", &file, &[]).well();
    scratch.verb("run", &file, &[]).well();
    let output = scratch.verb("run", &file, &["--records", "records"]).well();
    assert!(!output.contains("no proxy"), "{output}");
    let run = Run::open(&scratch.path("records")).expect("records");
    let of = |method: &str| -> Vec<String> {
        let logs = run.logs().iter();
        let records = logs.flat_map(|log| log.records());
        let found = records.filter(|record| record.method.method == method);
        found
            .map(|record| {
                let names = record
                    .method
                    .parameters
                    .iter()
                    .map(|parameter| &parameter.name);
                let values = names.zip(record.parameters());
                let texts = values.map(|(name, value)| format!("{name}={}", value.as_f64()));
                texts.collect::<Vec<_>>().join(" ")
            })
            .collect()
    };
    let solved = of("solve");
    assert_eq!(solved.len(), 21, "{solved:?}");
    assert_eq!(solved[19], "n=20 storage=0");
    assert_eq!(of("norm"), ["q=3 work=6 p=2"]);
    assert_eq!(of("sort_numbers"), ["values=3 sorted=3"]);
    assert_eq!(of("scale_table"), ["table=6"]);
    assert_eq!(of("get_effort").len(), 20);
    let profile = scratch.mastermind(&["profile", "records"]).well();
    assert!(profile.contains(" solver.solve "), "{profile}");
    // A method in C that a dry run leaves out keeps its array as it is, or sets it to NaN; the driver checks that.
    scratch
        .mastermind(&["fit", "records", "-o", "models.json"])
        .well();
    let verify = [
        "--dry",
        "models.json",
        "--dry-method",
        "solver.solve",
        "--verify",
    ];
    let ended = scratch.verb("run", &file, &verify);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("a wrong solution"), "{ended:#?}");
    assert!(!ended.stderr.contains("could be made NaN"), "{ended:#?}");
}

/// One in Fortran lies between the other two: it provides the port that it uses.
#[test]
fn a_component_in_fortran_provides_and_uses_a_port() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        skip("gfortran", "it cannot be started");
        return;
    }
    let scratch = Scratch::new();
    let c = made(&scratch).join("c");
    let libraries = [
        library(&scratch, &c, "cc", "-std=gnu11", "jacobi.c"),
        library(&scratch, &c, "gfortran", "-std=f2018", "refining.f90"),
        library(&scratch, &c, "c++", "-std=c++17", "solving.cpp"),
    ];
    let paths = libraries.map(|path| format!("{:?}", path.display().to_string()));
    let assembly = format!(
        "[assembly]\nname = \"refining\"\npath = [{}]\n\n[instances]\njacobi = \"demo.Jacobi\"\nsolver = \"demo.Refining\"\n\
         driver = \"demo.Solving\"\n\n[connections]\n\"driver.solver\" = \"solver.solver\"\n\"solver.inner\" = \"jacobi.solver\"\n\n\
         [go]\nport = \"driver.go\"\n",
        paths.join(", ")
    );
    let file = scratch.write("refining.toml", assembly);
    scratch.verb("check", &file, &[]).well();
    let output = scratch.verb("run", &file, &["--records", "records"]).well();
    assert!(!output.contains("no proxy"), "{output}");
    let run = Run::open(&scratch.path("records")).expect("records");
    let calls = |class: &str, method: &str| {
        let records = run.logs().iter().flat_map(|log| log.records());
        let is_one =
            |record: &Record<'_>| record.method.class == class && record.method.method == method;
        records.filter(is_one).count()
    };
    // Of 21 systems one is singular, and each of the others is solved once more for its residual.
    assert_eq!(calls("demo.Refining", "solve"), 21);
    assert_eq!(calls("demo.Jacobi", "solve"), 40);
    assert_eq!(calls("demo.Refining", "get_effort"), 20);
    assert_eq!(calls("demo.Jacobi", "get_effort"), 0);
    assert_eq!(calls("demo.Jacobi", "scale_table"), 1);
}

/// The crate builds, and the hashes of interfaces in C equal those that `#[port]` computes.
#[test]
fn the_ports_in_rust_are_those_in_c() {
    let scratch = Scratch::new();
    let made = made(&scratch);
    let header = fs::read_to_string(made.join("c/solver_ports.h")).expect("the header");
    let hash = |name: &str| {
        let line = header
            .lines()
            .find(|line| line.contains(&format!("#define {name}_HASH")));
        let text = line
            .and_then(|line| line.split("0x").nth(1))
            .expect("a hash");
        text.trim_end_matches(')').to_owned()
    };
    let test = format!(
        "use cca_abi::Interface;\nuse solver_ports::{{NamedPort, SolverPort}};\n\n\
         #[test]\nfn hashes() {{\n    assert_eq!(<dyn NamedPort>::descriptor().hash, 0x{});\n    \
         assert_eq!(<dyn SolverPort>::descriptor().hash, 0x{});\n}}\n",
        hash("DEMO_NAMED"),
        hash("DEMO_SOLVER")
    );
    let rust = made.join("rust");
    fs::create_dir_all(rust.join("tests")).expect("a folder");
    fs::write(rust.join("tests/hashes.rs"), test).expect("a test");
    cargo(&["test"], &rust);
}

/// The ports of this project, written in SIDL: both languages accept the generated code.
#[test]
fn the_ports_of_this_project_are_made_of_sidl() {
    let scratch = Scratch::new();
    let sidl = root()
        .join("examples/sidl/ports.sidl")
        .display()
        .to_string();
    let framework = root().join("framework").display().to_string();
    let output = scratch
        .mastermind(&["proxy", &sidl, "-o", "made", "--framework", &framework])
        .well();
    assert!(
        output.contains("ports.sidl: 10 ports") && !output.contains("left out"),
        "{output}"
    );
    let made = scratch.path("made");
    cargo(&["check"], &made.join("rust"));
    let strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
    succeeds(
        Command::new("cc")
            .args(strict)
            .arg(made.join("c/ports_ports.c")),
    );
    let strict = [
        "-std=c++11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        "-x",
        "c++",
    ];
    succeeds(
        Command::new("c++")
            .args(strict)
            .arg(made.join("c/ports_ports.h")),
    );
}

#[test]
fn what_is_wrong_is_reported() {
    let scratch = Scratch::new();
    let file = |name: &str, text: &str| scratch.write(name, text).display().to_string();
    let bad = file(
        "bad.sidl",
        "package p {\n  interface A { void f(int n); };\n}\n",
    );
    let empty = file(
        "empty.sidl",
        "package p { interface A { void f(in array<> a); }; }",
    );
    let fine = file("fine.sidl", "package p { interface A { void f(); }; }");
    for (arguments, expected) in [
        (
            vec![bad.as_str(), "-o", "x"],
            "line 2 has \"int\", expected in, out or inout",
        ),
        (
            vec![empty.as_str(), "-o", "x"],
            "no interface with a method, expected one; p.A.f: \"a\" is an array of any type",
        ),
        (vec![fine.as_str()], "no folder, expected one; use -o DIR"),
        (
            vec![fine.as_str(), "-o", "x", "--suggest-markup"],
            "expected @perf NAME=EXPRESSION",
        ),
        (
            vec!["nowhere.sidl", "-o", "x"],
            "cannot read SIDL \"nowhere.sidl\"",
        ),
        (
            vec!["stdlib.h", "-o", "x", "--language", "c"],
            "expected a file of SIDL",
        ),
        (
            vec![fine.as_str(), "-o", "x", "-I", "nowhere"],
            "cannot read folder \"nowhere\"",
        ),
    ] {
        let ended = scratch.mastermind(&[&["proxy"], &arguments[..]].concat());
        let error = ended.stderr;
        assert!(
            matches!(ended.code, Some(1 | 2)) && ended.stdout.is_empty(),
            "{error}"
        );
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!scratch.path("x").exists());
    }
    scratch
        .mastermind(&["proxy", &fine, "-o", "x", "--language", "c"])
        .well();
    let again = scratch
        .mastermind(&["proxy", &fine, "-o", "x", "--language", "c"])
        .error();
    assert!(again.contains("--force"), "{again}");
}
