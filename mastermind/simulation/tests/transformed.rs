//! The Rust source of models builds, and gives the result that the models give.

use mastermind_diagrams::read_plantuml;
use mastermind_models::ModelSet;
use mastermind_programs::{Model, Program, System, lower, read_toml};
use mastermind_simulation::engine::{Outcome, simulate};
use mastermind_simulation::machine::{Machine, read_machine};

#[rustfmt::skip]
#[path = "../../../tests/golden/transform/features.rs"]
mod features;
#[rustfmt::skip]
#[path = "../../../tests/golden/transform/fitted.rs"]
mod fitted;
#[rustfmt::skip]
#[path = "../../../tests/golden/transform/sample.rs"]
mod sample;
#[rustfmt::skip]
#[path = "../../../tests/golden/transform/sweep3d.rs"]
mod sweep3d;

fn machines() -> [Machine; 2] {
    let text = "[nodes]\nprocessors = 4\nqueue = { round_robin_ns = 700 }\n[network]\ngap_per_byte_ns = 0.3\n[network.intra]\nlatency_ns = 300\nrendezvous_bytes = 4000\n";
    [Machine::default(), read_machine(text).expect("a machine")]
}

fn same(model: &Model, transformed: fn(System) -> Program, sizes: &[u32]) {
    same_with(model, &ModelSet::default(), transformed, sizes);
}

fn same_with(model: &Model, models: &ModelSet, transformed: fn(System) -> Program, sizes: &[u32]) {
    for machine in machines() {
        for processes in sizes {
            let system = System {
                processes: *processes,
                nodes: machine.nodes_for(*processes),
                processors: machine.processors,
            };
            let program = lower(model, models, system).expect("a machine form");
            let expected = simulate(&program, &machine).expect("an end");
            let found = simulate(&transformed(system), &machine).expect("an end");
            assert_eq!(found.processes, expected.processes, "{processes}");
            assert_eq!(found.elements, expected.elements);
            assert_eq!(found.messages, expected.messages);
            let elements = |outcome: &Outcome| {
                let elements = 0..outcome.elements.len() * outcome.processes.len();
                let n = outcome.elements.len();
                elements
                    .map(|i| outcome.element_of(i / n, i % n))
                    .collect::<Vec<_>>()
            };
            assert_eq!(elements(&found), elements(&expected));
        }
    }
}

#[test]
fn the_sample_of_the_paper() {
    let diagram = include_str!("../../../examples/sample/sample.puml");
    let model = read_plantuml(diagram).expect("a diagram").model;
    same(&model, sample::program, &[1, 4, 7]);
}

#[test]
fn the_sweep() {
    let text = include_str!("../../../examples/sweep3d/sweep3d.toml");
    same(
        &read_toml(text).expect("a model"),
        sweep3d::program,
        &[10, 100, 130],
    );
}

#[test]
fn costs_of_fitted_models() {
    let text = include_str!("../../programs/tests/transformed/fitted.toml");
    let models = include_str!("../../../tests/golden/transform/models.json");
    let models = ModelSet::from_json(models).expect("models");
    let model = read_toml(text).expect("a model");
    same_with(&model, &models, fitted::program, &[1, 5]);
}

#[test]
fn everything_a_model_may_have() {
    let text = include_str!("../../programs/tests/transformed/features.toml");
    let model = read_toml(text).expect("a model");
    same(&model, features::program, &[1, 2, 3, 4, 8, 13]);
}
