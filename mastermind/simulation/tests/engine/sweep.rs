//! The two-dimensional wavefront at the sizes of the issue: finishing times to the nanosecond.

use crate::common::{machine, outcome, sweep};

/// LogGP L 2500, o 1500, g 1000 ns, G 1 ns/byte: the default machine, a process a node.
#[test]
fn a_hundred_by_a_hundred() {
    let outcome = outcome(&sweep(100, 100, 10, 2, 6000, 1_000_000), &machine(), 10_000);
    assert_eq!(outcome.messages, 3_168_000);
    assert_eq!((outcome.makespan_ns, outcome.undecided), (770_783_304, 0));
    assert!(
        outcome.memory_bytes <= 350 * 10_000,
        "{}",
        outcome.memory_bytes
    );
}

/// The order of a few events of one nanosecond is not decided by seven creation times.
#[test]
fn twenty_eight_thousand() {
    let outcome = outcome(&sweep(160, 175, 26, 2, 3360, 294_000), &machine(), 28_000);
    assert_eq!(outcome.messages, 23_156_640);
    assert_eq!(outcome.makespan_ns, 444_002_904);
    assert!((1..20).contains(&outcome.undecided));
    assert!(
        outcome.memory_bytes <= 350 * 28_000,
        "{}",
        outcome.memory_bytes
    );
}

/// The example of the command line is the model of these tests.
#[test]
fn the_example_is_the_same_program() {
    let example = include_str!("../../../../examples/sweep3d/sweep3d.toml");
    let found = outcome(example, &machine(), 100);
    let expected = outcome(&sweep(10, 10, 10, 2, 6000, 1_000_000), &machine(), 100);
    assert_eq!(found.processes, expected.processes);
}
