//! Random models as Rust source: built, many in one crate, they finish as the models do.

use std::fmt::Write as _;
use std::fs;

use mastermind_models::ModelSet;
use mastermind_programs::transform::transform;
use mastermind_programs::{Model, System, lower, read_toml};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::read_machine;
use mastermind_tests::{Scratch, cargo, root};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

#[path = "../mastermind/simulation/tests/engine/naive/random.rs"]
mod random;

/// Models of one crate.
const BATCH: usize = 250;

const MACHINE: &str = "[nodes]\ncount = 5\nprocessors = 4\n[network]\ngap_per_byte_ns = 0.3\n[network.intra]\nlatency_ns = 300\nrendezvous_bytes = 5000\n";

/// Prints a line a model: times of the processes, messages, calls and times of the elements.
const MAIN: &str = r#"
fn tell(program: fn(System) -> Program, machine: &Machine, processes: u32) {
    let (nodes, processors) = (machine.nodes_for(processes), machine.processors);
    let outcome = simulate(&program(System { processes, nodes, processors }), machine);
    let outcome = outcome.expect("an end");
    let elements = (0..outcome.elements.len()).map(|i| outcome.element(i));
    let elements: Vec<_> = elements.collect();
    println!("{:?} {} {elements:?}", outcome.processes, outcome.messages);
}
"#;

#[test]
fn a_crate_of_random_models() {
    agree(20);
}

/// As many as the issue asks for.
#[test]
#[ignore = "builds forty crates: cargo test --test end_to_end transformed_models -- --ignored"]
fn ten_thousand_random_models() {
    agree(10_000);
}

fn agree(n_models: usize) {
    let mut runner = TestRunner::deterministic();
    // A value that only the run provides has no source.
    let asks = |round: &random::Round| {
        matches!(
            round,
            random::Round::Answers { .. } | random::Round::Any { .. }
        )
    };
    let round = random::round().prop_filter("no sender", move |round| !asks(round));
    let models = prop::collection::vec(round, 1..6);
    let mut models = std::iter::repeat_with(|| {
        let rounds = models.new_tree(&mut runner).expect("a model").current();
        read_toml(&random::model(&rounds)).expect("a model")
    });
    let mut left = n_models;
    while left > 0 {
        let batch: Vec<Model> = models.by_ref().take(left.min(BATCH)).collect();
        left -= batch.len();
        let expected: Vec<String> = batch.iter().enumerate().map(simulated).collect();
        let said = built(&batch);
        for (i, (found, expected)) in said.lines().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{:?}", batch[i]);
        }
        assert_eq!(said.lines().count(), batch.len());
    }
}

/// Number of processes for the model of an index: neither all on one node nor each on its own, some oversubscribed.
fn processes(index: usize) -> u32 {
    6 + index as u32 % 8
}

/// The line of a model as it is simulated itself.
fn simulated((index, model): (usize, &Model)) -> String {
    let machine = read_machine(MACHINE).expect("a machine");
    let processes = processes(index);
    let system = System {
        processes,
        nodes: machine.nodes_for(processes),
        processors: machine.processors,
    };
    let program = lower(model, &ModelSet::default(), system).expect("a machine form");
    let outcome = simulate(&program, &machine).expect("an end");
    let elements = (0..outcome.elements.len()).map(|i| outcome.element(i));
    let elements: Vec<_> = elements.collect();
    format!("{:?} {} {elements:?}", outcome.processes, outcome.messages)
}

/// The output of a crate of all models.
fn built(models: &[Model]) -> String {
    let scratch = Scratch::new();
    let programs = root().join("mastermind/programs");
    let simulation = root().join("mastermind/simulation");
    let folder = scratch.path("models");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"random-models\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.dev]\ndebug = false\n\n[dependencies]\nmastermind-programs = {{ path = {programs:?} }}\nmastermind-simulation = {{ path = {simulation:?} }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
    let mut main = String::from(
        "#![allow(dead_code, unused)]\nuse mastermind_programs::{Program, System};\nuse mastermind_simulation::{engine::simulate, machine::{Machine, read_machine}};\n",
    );
    let mut calls = String::new();
    for (i, model) in models.iter().enumerate() {
        let source = transform(model, &ModelSet::default()).expect("a source");
        fs::write(folder.join(format!("src/m{i}.rs")), source).expect("a file");
        let _ = writeln!(main, "mod m{i};");
        let _ = writeln!(
            calls,
            "    tell(m{i}::program, &machine, {});",
            processes(i)
        );
    }
    let _ = write!(
        main,
        "{MAIN}\nfn main() {{\n    let machine = read_machine({MACHINE:?}).expect(\"a machine\");\n{calls}}}\n"
    );
    fs::write(folder.join("src/main.rs"), main).expect("a file");
    cargo(&["run", "--quiet"], &folder)
}
