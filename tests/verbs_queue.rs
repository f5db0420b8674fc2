//! `queue`: closed networks by formula, and the same formula compared with simulations.

use mastermind_tests::{Scratch, root};
use serde_json::Value;

fn example(file: &str) -> String {
    root().join("examples").join(file).display().to_string()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

#[test]
fn all_customers_of_a_network_are_somewhere() {
    let scratch = Scratch::new();
    let network = example("queueing/io-nodes.toml");
    let report = scratch.mastermind(&["queue", &network, "--cross-check", "--json"]);
    let report = document(&report.well());
    assert_eq!(report["method"], "exact");
    let number = |value: &Value| value.as_f64().expect("a number");
    for (class, customers) in [("compute", 64.0), ("draw", 4.0)] {
        let of_class = |list: &str, name: &str| -> Vec<Value> {
            let rows = report[list].as_array().expect("rows").iter();
            rows.filter(|row| row[name] == class).cloned().collect()
        };
        let row = &of_class("classes", "class")[0];
        let thinking = number(&row["throughput"]) * number(&row["think_s"]);
        let stations = of_class("stations", "class");
        let there: f64 = stations.iter().map(|row| number(&row["queue"])).sum();
        assert!(
            (thinking + there - customers).abs() < 1e-6,
            "{thinking} {there}"
        );
    }
    // The file system is busy half of the time: the approximations differ, but not much.
    for other in report["others"].as_array().expect("methods") {
        let percent = number(&other["difference_percent"]);
        assert!(percent > 0.0 && percent < 10.0, "{other}");
    }
    assert!(
        scratch
            .mastermind(&["queue", &network])
            .well()
            .contains("solved by: exact")
    );
}

#[test]
fn a_network_that_is_none_is_refused() {
    let scratch = Scratch::new();
    scratch.write("none.toml", "[[classes]]\nname = \"a\"\ncustomers = 3\n");
    let error = scratch.mastermind(&["queue", "none.toml"]).error();
    assert!(error.contains("class \"a\" takes 0 s"), "{error}");
    let error = scratch.mastermind(&["queue", "missing.toml"]).error();
    assert!(error.contains("missing.toml"), "{error}");
}

/// Workers that ask one rank, whose computation varies: the queue's formula is within 10 % of the simulation, from no contention to a
/// rank that is always busy.
#[test]
fn the_formula_of_a_queue_is_compared_with_its_simulation() {
    let scratch = Scratch::new();
    let [model, machine, study] = [
        "queueing/requests.toml",
        "sweep3d/machine.toml",
        "queueing/requests-study.toml",
    ]
    .map(example);
    let words = [
        "simulate",
        &model,
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
        let ratio = row["ratio"].as_f64().expect("a ratio");
        assert!((ratio - 1.0).abs() < 0.1, "{row}");
    }
}

#[test]
fn functions_of_contention_are_known_to_models_and_check_their_arguments() {
    let scratch = Scratch::new();
    let model = |cost: &str| {
        format!(
            "[model]\nname = \"one\"\nmain = \"Main\"\n[activities.Main]\nflow = [{{ action = \"work\", cost = \"{cost}\" }}]\n"
        )
    };
    let machine = example("sweep3d/machine.toml");
    let simulate = [
        "simulate",
        "one.toml",
        "--machine",
        &machine,
        "--ranks",
        "1",
        "--json",
    ];
    // One customer never waits; LoPC without handlers is work and two latencies.
    for (cost, expected_ns) in [
        ("closed_queue(1, 1e-3, 2e-3, 1)", 3_000_000),
        ("closed_queue(4, 0, 1e-3, 1)", 4_000_000),
        ("lopc(1e-3, 1e-6, 0, 1)", 1_002_000),
    ] {
        scratch.write("one.toml", model(cost));
        let report = document(&scratch.mastermind(&simulate).well());
        assert_eq!(report["makespan_ns"], expected_ns, "{cost}");
    }
    for (cost, found) in [
        ("closed_queue(1, 1e-3)", "closed_queue"),
        ("closed_queue(0, 1e-3, 1e-3, 1)", "NaN"),
    ] {
        scratch.write("one.toml", model(cost));
        let error = scratch.mastermind(&simulate).error();
        assert!(error.contains(found), "{error}");
    }
}
