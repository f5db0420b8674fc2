//! An assembly with errors in it: one clear message for each, all at once, and nothing is run.

use std::path::Path;

use mastermind_tests::{Scratch, assert_golden};

/// The error of `run`. `check` reports the same, and nothing is recorded.
#[track_caller]
fn error(scratch: &Scratch, assembly: &Path, arguments: &[&str]) -> String {
    let records = [arguments, &["--records", "records"]].concat();
    let run = scratch.verb("run", assembly, &records).error();
    assert!(!scratch.path("records").exists());
    let check = scratch.verb("check", assembly, arguments).error();
    assert_eq!(problems(&check), problems(&run));
    // No launcher is started either: its own errors would appear.
    let ranks = [arguments, &["--ranks", "2"]].concat();
    assert_eq!(scratch.verb("run", assembly, &ranks).error(), run);
    run
}

/// The lines of the problems: `run` puts several of them under a heading.
fn problems(error: &str) -> Vec<&str> {
    let lines = error
        .lines()
        .filter(|line| !line.contains("problems found"));
    lines
        .map(|line| line.trim_start().trim_start_matches("error: "))
        .collect()
}

#[test]
fn an_alternative_that_cannot_take_the_place() {
    let scratch = Scratch::new();
    let more = ("\"hydro.EfmFlux\"]", "\"hydro.EfmFlux\", \"hydro.RK2\"]");
    let assembly = scratch.example("sod/sod.toml", &[], &[more]);
    let error = scratch.verb("check", &assembly, &[]).error();
    let begins = "error: cannot take alternative \"hydro.RK2\" for instance \"flux\"";
    assert!(error.starts_with(begins), "{error}");
    assert!(
        error.contains("cannot find provides port \"flux\" of \"flux\""),
        "{error}"
    );
    assert!(!error.contains("Efm"), "{error}");
    // A run without that option succeeds.
    scratch
        .verb("run", &assembly, &["--set", "driver.max_steps=1"])
        .well();
}

#[test]
fn a_part_that_is_not_there_or_does_not_fit() {
    let scratch = Scratch::new();
    for (name, from, to) in [
        ("unknown-class", "\"hydro.RK2\"", "\"hydro.RK3\""),
        ("unknown-uses-port", "\"rhs.flux\"", "\"rhs.flow\""),
        ("unknown-provides-port", "\"flux.flux\"", "\"flux.flow\""),
        ("unknown-provider", "\"flux.flux\"", "\"fluks.flux\""),
        ("unknown-user", "\"rhs.flux\"", "\"rsh.flux\""),
        (
            "type-mismatch",
            "\"rhs.flux\" = \"flux.flux\"",
            "\"rhs.flux\" = \"states.states\"",
        ),
        ("unconnected", "\"rhs.flux\" = \"flux.flux\"", ""),
        ("unknown-parameter", "cfl = 0.4", "cfk = 0.4"),
        (
            "unknown-parameter-port",
            "cfl = 0.4",
            "numbers = { cfl = 0.4 }",
        ),
        (
            "parameter-of-nobody",
            "[parameters.driver]",
            "[parameters.diver]",
        ),
        (
            "no-parameter-at-all",
            "[parameters.driver]",
            "[parameters.rk2]",
        ),
        ("out-of-bounds", "cfl = 0.4", "cfl = 1.5"),
        (
            "just-out-of-bounds",
            "cfl = 0.4",
            "cfl = 1.0000000000000002",
        ),
        ("not-a-number", "cfl = 0.4", "cfl = nan"),
        ("infinite", "end_time = 0.2", "end_time = inf"),
        ("text-for-a-number", "cfl = 0.4", "cfl = \"fast\""),
        ("real-for-an-integer", "nx = 200", "nx = 200.5"),
        ("list-for-a-number", "cfl = 0.4", "cfl = [0.4]"),
        ("no-choice", "left = \"outflow\"", "left = \"inflow\""),
        ("number-for-a-text", "left = \"outflow\"", "left = 3"),
        (
            "bad-instance-name",
            "rk2 = \"hydro.RK2\"",
            "\"r k\" = \"hydro.RK2\"\nrk2 = \"hydro.RK2\"",
        ),
        (
            "reserved-instance-name",
            "rk2 = \"hydro.RK2\"",
            "comm = \"hydro.RK2\"\nrk2 = \"hydro.RK2\"",
        ),
        (
            "unknown-alternative",
            "\"hydro.MinmodStates\"",
            "\"hydro.MaxmodStates\"",
        ),
        (
            "alternative-of-nobody",
            "states = [\"hydro.S",
            "status = [\"hydro.S",
        ),
        ("no-go", "[go]\nport = \"driver.go\"", ""),
        ("unknown-go-port", "\"driver.go\"", "\"driver.run\""),
        ("unknown-go-instance", "\"driver.go\"", "\"diver.go\""),
        ("no-go-port", "\"driver.go\"", "\"mesh.mesh\""),
    ] {
        let assembly = scratch.example("sod/sod.toml", &[], &[(from, to)]);
        assert_golden(
            &format!("assembly-{name}"),
            &error(&scratch, &assembly, &[]),
        );
    }
}

#[test]
fn everything_at_once() {
    let scratch = Scratch::new();
    let edits = [
        ("\"hydro.RK2\"", "\"hydro.RK3\""),
        (
            "\"rhs.flux\" = \"flux.flux\"",
            "\"rhs.flux\" = \"states.states\"",
        ),
        ("\"driver.statistics\" = \"statistics.statistics\"", ""),
        ("cfl = 0.4", "cfl = 1.5\nmax_step = 3"),
        ("nx = 200", "nx = -200"),
        ("left = \"outflow\"", "left = \"inflow\""),
        ("\"driver.go\"", "\"driver.run\""),
    ];
    let gone = scratch.path("libgone.so");
    let assembly = scratch.example("sod/sod.toml", &[&gone], &edits);
    let arguments = ["--set", "diver.cfl=0.3", "--replace", "fluks=hydro.EfmFlux"];
    let checked = scratch.verb("check", &assembly, &arguments);
    assert_eq!(checked.stdout, "sod: 10 problems\n");
    assert_golden("assembly-everything", &checked.error());
    let run = scratch.verb("run", &assembly, &arguments).error();
    assert_golden("assembly-everything-run", &run);
    let json = scratch.verb("check", &assembly, &[&arguments[..], &["--json"]].concat());
    assert_eq!((json.code, json.stderr.as_str()), (Some(1), ""));
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["problems"].as_array().map(Vec::len), Some(10));
}

#[test]
fn malformed_toml() {
    let scratch = Scratch::new();
    for (name, from, to) in [
        ("open-bracket", "[connections]", "[connections"),
        ("no-equals", "cfl = 0.4", "cfl 0.4"),
        ("open-quote", "\"hydro.RK2\"", "\"hydro.RK2"),
        ("twice", "cfl = 0.4", "cfl = 0.4\ncfl = 0.3"),
        ("table-twice", "[parameters.mesh]", "[parameters.driver]"),
        ("unknown-table", "[connections]", "[connection]"),
        ("no-endpoint", "\"flux.flux\"", "\"flux\""),
        ("number-for-a-class", "\"hydro.RK2\"", "2"),
        ("no-name", "name = \"sod\"", ""),
        ("no-such-date", "cfl = 0.4", "cfl = 2024-13-45"),
    ] {
        let assembly = scratch.example("sod/sod.toml", &[], &[(from, to)]);
        let error = error(&scratch, &assembly, &[]);
        assert!(error.contains("line "), "{error}");
        assert_golden(&format!("toml-{name}"), &error);
    }
    let utf8 = scratch.write("binary.toml", b"[assembly]\nname = \"\xff\"\n");
    assert_golden("toml-no-text", &error(&scratch, &utf8, &[]));
    let empty = scratch.write("empty.toml", "");
    assert_golden("toml-empty", &error(&scratch, &empty, &[]));
    let gone = scratch.path("gone.toml");
    assert_golden("toml-gone", &error(&scratch, &gone, &[]));
    let folder = scratch.path("");
    assert!(error(&scratch, &folder, &[]).contains("cannot read assembly"));
}

#[test]
fn changes_of_what_is_not_there() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let mut errors = String::new();
    for arguments in [
        ["--set", "diver.cfl=0.4"],
        ["--set", "driver.cfk=0.4"],
        ["--set", "driver.cfl=nan"],
        ["--set", "driver.cfl=quick"],
        ["--set", "driver.cfl.x=1"],
        ["--set", "driver.parameters.cfl=7"],
        ["--set", "mesh.nx=1e400"],
        ["--replace", "fluks=hydro.EfmFlux"],
        ["--replace", "flux=hydro.EfmFluks"],
        ["--replace", "flux=hydro.StatesConstructor"],
    ] {
        errors += &format!(
            "{}\n{}",
            arguments.join(" "),
            error(&scratch, &assembly, &arguments)
        );
    }
    assert_golden("changes", &errors);
    scratch
        .verb("run", &assembly, &["--set", "driver.parameters.cfl=0.3"])
        .well();
}
