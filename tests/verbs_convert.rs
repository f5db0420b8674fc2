//! `convert`: the crate that it writes for a model builds, and finishes when `simulate` does.

use std::fs;

use mastermind_tests::{Scratch, cargo, root};

#[test]
fn the_crate_of_a_diagram_finishes_with_the_simulation() {
    let scratch = Scratch::new();
    let example = root().join("examples/sample");
    let [model, machine] =
        ["sample.puml", "machine.toml"].map(|name| example.join(name).display().to_string());
    let sources = root().join("mastermind/simulation").display().to_string();
    let transform = || {
        let words = ["convert", &model, "-o", "made", "--simulation", &sources];
        scratch.mastermind(&words)
    };
    transform().well();
    let words = [
        "simulate",
        &model,
        "--machine",
        &machine,
        "--ranks",
        "4",
        "--json",
    ];
    let simulated = scratch.mastermind(&words).well();
    let simulated: serde_json::Value = serde_json::from_str(&simulated).expect("a document");
    let made = scratch.path("made");
    let said = cargo(&["run", "--quiet", "--", &machine, "4"], &made);
    let (makespan, messages) = (&simulated["makespan_ns"], &simulated["messages"]);
    assert!(makespan.as_u64().is_some_and(|ns| ns > 0), "{simulated}");
    let first = format!("{makespan} ns, {messages} messages\n");
    assert!(said.starts_with(&first), "{said}, expected {first}");

    // Nothing is written over unasked.
    let main = made.join("src/main.rs");
    fs::write(&main, "fn main() {}\n").expect("a file");
    transform().error();
    assert_eq!(fs::read_to_string(&main).expect("a file"), "fn main() {}\n");
}
