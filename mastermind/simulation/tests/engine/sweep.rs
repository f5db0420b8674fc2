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

/// The order of some events of one nanosecond is not decided by three creation times; taken the other
/// way round they move the end by nanoseconds. With all decided it is 444,002,904 ns.
#[test]
fn twenty_eight_thousand() {
    let outcome = outcome(&sweep(160, 175, 26, 2, 3360, 294_000), &machine(), 28_000);
    assert_eq!(outcome.messages, 23_156_640);
    assert!(
        outcome.makespan_ns.abs_diff(444_002_904) < 1000,
        "{}",
        outcome.makespan_ns
    );
    assert!(outcome.undecided > 0);
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
