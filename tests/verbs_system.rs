//! `system`: files of application, runtime and hardware, with the real models, simulations, records and runs behind them.

use std::fs;

use mastermind_simulation::analytic::Sweep3d;
use mastermind_simulation::machine::read_machine;
use mastermind_tests::{Scratch, root};
use serde_json::Value;

fn example() -> String {
    root()
        .join("examples/system/sweep3d.toml")
        .display()
        .to_string()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn evaluated(scratch: &Scratch, more: &[&str]) -> Value {
    let example = example();
    let words = [&["system", "evaluate", &example, "--json"], more].concat();
    document(&scratch.mastermind(&words).well())
}

/// The row of a component.
fn node<'d>(report: &'d Value, component: &str) -> &'d Value {
    let mut rows = report["nodes"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["component"] == component);
    row.expect("the component")
}

#[test]
fn the_simulation_in_a_system_is_that_of_simulate() {
    let scratch = Scratch::new();
    let set = ["--set", "px=5", "--set", "py=3", "--set", "mk=5"];
    let more = [&["--method", "sweep=simulation"], &set[..]].concat();
    let report = evaluated(&scratch, &more);
    let block_us = number(&node(&report, "k_block")["value"]);
    assert!((block_us - 14.0 * 14.0 * 5.0 * 3.0 * 6.91e-3).abs() < 1e-9);
    let [model, machine] = ["sweep3d.toml", "machine.toml"].map(|file| {
        root()
            .join("examples/sweep3d")
            .join(file)
            .display()
            .to_string()
    });
    let block = format!("block={:?}", block_us / 1e6);
    let words = [
        "simulate",
        &model,
        "--machine",
        &machine,
        "--ranks",
        "15",
        "--set",
        "px=5",
        "--set",
        "k_blocks=51",
        "--set",
        "angle_groups=2",
        "--set",
        "bytes=1680",
        "--set",
        &block,
        "--json",
    ];
    let simulated = document(&scratch.mastermind(&words).well());
    let simulated_ms = number(&simulated["makespan_ns"]) / 1e6;
    let total = &report["total"];
    assert!(
        (number(&total["value"]) - simulated_ms).abs() < 1e-9,
        "{total} {simulated_ms}"
    );
    let [lower, upper] = ["lower", "upper"].map(|end| number(&total[end]));
    assert!(lower < simulated_ms && simulated_ms < upper, "{total}");
    assert_eq!(report["without_interval"], serde_json::json!(["sweep"]));
}

#[test]
fn attributes_take_the_place_of_those_of_the_machine_file() {
    let scratch = Scratch::new();
    let time = |latency: &str, method: &str| {
        let set = format!("latency={latency}");
        let method = format!("sweep={method}");
        let report = evaluated(&scratch, &["--set", &set, "--method", &method]);
        (
            number(&report["total"]["value"]),
            number(&node(&report, "mpi")["value"]),
        )
    };
    for method in ["simulation", "closed form"] {
        let (near_ms, message_us) = time("2500 ns", method);
        let (far_ms, far_message_us) = time("0.1 ms", method);
        assert!((far_message_us - message_us - 97.5).abs() < 1e-9);
        // More than twice a latency for each processor that the wavefronts pass; some is hidden behind the others' work.
        assert!(
            far_ms - near_ms > 2.0 * 18.0 * 0.0975,
            "{method}: {near_ms} {far_ms}"
        );
    }
}

#[test]
fn the_cheapest_method_within_the_bound_counts_wherever_it_was_compared() {
    let scratch = Scratch::new();
    let report = evaluated(&scratch, &["--cross-check"]);
    // Compared on 4 × 4, evaluated on 10 × 10.
    assert_eq!(number(&report["cross_check"]["at"]["px"]), 4.0);
    let compared = report["cross_check"]["nodes"]
        .as_array()
        .expect("rows")
        .iter();
    let sweep = compared.clone().find(|row| row["component"] == "sweep");
    let methods = sweep.expect("the sweep")["methods"]
        .as_array()
        .expect("methods")
        .clone();
    for row in &methods {
        let off = number(&row["difference_percent"]);
        let is_last = row["method"] == "simulation";
        assert_eq!(row["used"], is_last, "{row}");
        assert!(is_last == (off.abs() <= 7.0), "{row}");
    }
    assert_eq!(node(&report, "sweep")["method"], "simulation");
    assert_eq!(node(&report, "k_block")["method"], "grind time");
    // A wider bound takes the first.
    let report = evaluated(&scratch, &["--cross-check", "--bound", "0.15"]);
    assert_eq!(node(&report, "sweep")["method"], "pipeline");
    let report = evaluated(&scratch, &["--cross-check", "--bound", "0"]);
    assert_eq!(node(&report, "k_block")["method"], "fitted model");
}

#[test]
fn a_fitted_model_says_where_it_lies_and_whether_it_is_outside() {
    let scratch = Scratch::new();
    let model = ["--method", "k_block=fitted model"];
    let report = evaluated(&scratch, &model);
    let row = node(&report, "k_block");
    let [lower, value, upper] = ["lower", "value", "upper"].map(|key| number(&row[key]));
    assert!(lower < value && value < upper, "{row}");
    assert_eq!(row["notes"], serde_json::json!([]));
    let report = evaluated(
        &scratch,
        &[&model[..], &["--set", "it=140", "--set", "jt=140"]].concat(),
    );
    let notes = node(&report, "k_block")["notes"].to_string();
    assert!(notes.contains("outside of the measured range"), "{notes}");
}

/// The same component from its records, and called again.
#[test]
fn components_are_evaluated_by_their_records_and_by_calls() {
    let scratch = Scratch::new();
    let assembly = root().join("examples/transport/transport.toml");
    let assembly = assembly.display().to_string();
    let run = [
        "run",
        &assembly,
        "--records",
        "records",
        "--set",
        "driver.cells=8",
        "--set",
        "driver.iterations=2",
    ];
    scratch.mastermind(&run).well();
    let text = format!(
        r#"
        [system]
        name = "kernel"
        [parameters]
        cells = 8
        [components.kernel]
        domain = "application"
        kind = "kernel"
        [[components.kernel.methods]]
        records = "records"
        call = "transport.sweep"
        [[components.kernel.methods]]
        run = "{assembly}"
        call = "transport.sweep"
        set = {{ "driver.cells" = "cells", "driver.iterations" = 2 }}
        [[components.kernel.methods]]
        name = "whole run"
        run = "{assembly}"
        set = {{ "driver.cells" = "cells", "driver.iterations" = 2 }}
        "#
    );
    scratch.write("kernel.toml", &text);
    let words = [
        "system",
        "evaluate",
        "kernel.toml",
        "--cross-check",
        "--json",
    ];
    let report = document(&scratch.mastermind(&words).well());
    let methods = node(&report, "kernel")["methods"]
        .as_array()
        .expect("methods")
        .clone();
    let values: Vec<f64> = methods.iter().map(|row| number(&row["value"])).collect();
    assert!(values.iter().all(|value| *value > 0.0), "{values:?}");
    // A run has several calls, whatever the machine does meanwhile.
    assert!(values[2] > values[1], "{values:?}");
    let kinds: Vec<_> = methods
        .iter()
        .map(|row| row["method_kind"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            "recorded distribution",
            "direct execution",
            "direct execution"
        ]
    );
    // Calls that were never made, and an assembly that does not run.
    for (method, error) in [
        ("records = \"records\"\ncall = \"nobody\"", "nobody"),
        (
            "records = \"records\"\ncall = \"transport.sweep\"\nat = { work = 7 }",
            "work = 7",
        ),
        ("run = \"transport.toml\"", "transport.toml"),
    ] {
        let text = format!(
            "[system]\nname = \"a\"\n[components.a]\ndomain = \"application\"\nkind = \"a\"\n[[components.a.methods]]\n{method}\n"
        );
        scratch.write("wrong.toml", &text);
        let found = scratch
            .mastermind(&["system", "evaluate", "wrong.toml"])
            .error();
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn a_schedule_is_simulated_on_its_own_ranks() {
    let scratch = Scratch::new();
    scratch.write(
        "two.goal",
        "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 100b to 1 tag 0\nl2 requires l1\n}\nrank 1 {\nl1: recv 100b from 0 tag 0\n}\n",
    );
    let machine = root()
        .join("examples/sweep3d/machine.toml")
        .display()
        .to_string();
    let system = |more: &str| {
        format!(
            "[system]\nname = \"a\"\n[components.a]\ndomain = \"application\"\nkind = \"a\"\n\
             requests.net = {{ select = {{ kind = \"network\" }} }}\n\
             methods = [{{ simulate = \"two.goal\", on = \"net\"{more} }}]\n\
             [components.n]\ndomain = \"hardware\"\nkind = \"network\"\nmachine = \"{machine}\"\n"
        )
    };
    scratch.write("a.toml", system(""));
    let report = document(
        &scratch
            .mastermind(&["system", "evaluate", "a.toml", "--json"])
            .well(),
    );
    let simulate = ["simulate", "two.goal", "--machine", &machine, "--json"];
    let simulated = document(&scratch.mastermind(&simulate).well());
    let seconds = number(&simulated["makespan_ns"]) / 1e9;
    assert!((number(&report["total"]["value"]) - seconds).abs() < 1e-12);
    for more in [", ranks = 3", ", set = { n = 1 }"] {
        scratch.write("a.toml", system(more));
        scratch
            .mastermind(&["system", "evaluate", "a.toml"])
            .error();
    }
}

#[test]
fn what_is_wrong_is_reported_all_at_once() {
    let scratch = Scratch::new();
    let text = fs::read_to_string(example()).expect("the example");
    let folder = root().join("examples");
    let text = text
        .replace("../sweep3d", &folder.join("sweep3d").display().to_string())
        .replace("\"transport.json\"", "\"none.json\"")
        .replace("loggp = \"message\"", "loggp = \"nobody\"")
        .replace(
            "kind = \"processor\", vector_bits",
            "kind = \"processor\", vector_bytes",
        )
        .replace("set = { px = \"px\",", "set = { pz = \"px\",");
    scratch.write("wrong.toml", &text);
    let words = ["system", "check", "wrong.toml", "--json"];
    let ended = scratch.mastermind(&words);
    assert_eq!(ended.code, Some(1));
    let checked = document(&ended.stdout);
    let problems = checked["problems"].to_string();
    for part in ["none.json", "nobody", "vector_bytes", "pz"] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    assert_eq!(checked["unused"], serde_json::json!(["core"]));
    // The others refuse it with the same.
    for verb in ["evaluate", "graph"] {
        let error = scratch.mastermind(&["system", verb, "wrong.toml"]).error();
        assert!(
            error.contains("vector_bytes") && error.contains("pz"),
            "{error}"
        );
    }
    for (text, found) in [
        ("", "missing field"),
        ("[system]\nname = 3\n", "name"),
        ("[system]\nname = \"a\"\nother = 1\n", "other"),
        (
            "[system]\nname = \"a\"\n[components.b]\ndomain = \"moon\"\nkind = \"c\"\n",
            "moon",
        ),
        (
            "[system]\nname = \"a\"\n[parameters]\nx = \"1 +\"\n",
            "\"x\"",
        ),
        (
            "[system]\nname = \"a\"\n[units]\ns = {}\n",
            "every file knows",
        ),
    ] {
        scratch.write("wrong.toml", text);
        let error = scratch
            .mastermind(&["system", "check", "wrong.toml"])
            .error();
        assert!(error.contains(found), "{found}: {error}");
    }
}

#[test]
fn a_system_is_drawn() {
    let scratch = Scratch::new();
    let example = example();
    let draw = |more: &[&str]| {
        scratch
            .mastermind(&[&["system", "graph", &example], more].concat())
            .well()
    };
    let drawn = document(&draw(&["--format", "json"]));
    let requests = drawn["requests"].as_array().expect("requests");
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|one| one["protocol"] == "call-return"));
    assert_eq!(drawn["total"], "sweep");
    assert!(draw(&[]).starts_with("digraph"));
    draw(&["-o", "system.svg"]);
    let svg = fs::read_to_string(scratch.path("system.svg")).expect("the picture");
    for name in ["sweep", "k_block", "mpi", "core", "switch", "hardware"] {
        assert!(svg.contains(&format!(">{name}<")), "{name}");
    }
}

/// The studies of POEMS's figures: one command each, whose closed form is the library's.
#[test]
fn the_figures_of_poems_are_studies() {
    let scratch = Scratch::new();
    let file = |name: &str| {
        root()
            .join("examples/sweep3d")
            .join(name)
            .display()
            .to_string()
    };
    let [problem, sweep, machine] = ["problem.toml", "sweep3d.toml", "machine.toml"].map(file);
    let simulated = |model: &str, set: &[&str]| {
        let words = [
            "simulate",
            model,
            "--machine",
            &machine,
            "--ranks",
            "100",
            "--json",
        ];
        let set = set.iter().flat_map(|one| ["--set", *one]);
        let words: Vec<_> = words.into_iter().chain(set).collect();
        number(&document(&scratch.mastermind(&words).well())["makespan_ns"])
    };
    let given = [
        "px=10",
        "k_blocks=26",
        "angle_groups=2",
        "bytes=3360",
        "block=294e-6",
    ];
    let expected_ns = simulated(&sweep, &given);
    assert_eq!(simulated(&problem, &["it=14", "jt=14"]), expected_ns);
    let text = fs::read_to_string(file("machine.toml")).expect("the machine");
    let link = read_machine(&text).expect("a machine").inter;
    let study = file("figure-5.3a.toml");
    let words = [
        "simulate",
        &problem,
        "--machine",
        &machine,
        "--study",
        &study,
        "--json",
    ];
    let report = document(&scratch.mastermind(&words).well());
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 7);
    for row in rows {
        let side = number(&row["ranks"]).sqrt() as u32;
        let form = Sweep3d {
            columns: side,
            rows: side,
            k_blocks: 26,
            angle_groups: 2,
            block_ns: 294_000,
            bytes: 3360,
            link,
        };
        let [analytic_s, time_s] = ["analytic_s", "time_s"].map(|name| number(&row[name]));
        let closed_s = form.iteration_ns() as f64 / 1e9;
        assert!(
            (analytic_s / closed_s - 1.0).abs() < 1e-6,
            "{row} {closed_s}"
        );
        if side == 10 {
            assert_eq!(time_s * 1e9, expected_ns);
        }
    }
    // The others are read, and sound for their smallest number of ranks.
    for figure in ["5.2", "5.3b", "5.4a", "5.4b"] {
        let text = fs::read_to_string(file(&format!("figure-{figure}.toml"))).expect("a study");
        let lines = text.lines().map(|line| match line.starts_with("ranks") {
            true => "ranks = [4]",
            false => line,
        });
        scratch.write("small.toml", lines.collect::<Vec<_>>().join("\n"));
        let words = [
            "simulate",
            &problem,
            "--machine",
            &machine,
            "--study",
            "small.toml",
            "--json",
        ];
        let report = document(&scratch.mastermind(&words).well());
        assert!(
            !report["rows"].as_array().expect("rows").is_empty(),
            "{figure}"
        );
    }
}
