//! The two-dimensional wavefront at the sizes of the issue: finishing times to the nanosecond.

use mastermind_simulation::engine::{EngineChoice, Limits, simulate, simulate_traced};
use mastermind_simulation::machine::{Link, Machine};
use proptest::prelude::*;

use crate::engine::common::{machine, outcome, program};
use crate::engine::wavefront::sweep;

/// LogGP L 2500, o 1500, g 1000 ns, G 1 ns/byte: the default machine, a process a node.
#[test]
fn a_hundred_by_a_hundred() {
    let outcome = outcome(&sweep(100, 100, 10, 2, 6000, 1_000_000), &machine(), 10_000);
    assert_eq!(outcome.messages, 3_168_000);
    assert_eq!((outcome.makespan_ns, outcome.ties), (770_783_304, 0));
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
    assert!((1..20).contains(&outcome.ties));
    // As for a million processes: 400 MB. With shorter blocks more messages are in flight.
    assert!(
        outcome.memory_bytes <= 400 * 28_000,
        "{}",
        outcome.memory_bytes
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The two eager engines against the one for all, which runs the traced programs; a wait for nothing keeps a program from the
    /// engine for fixed distances.
    #[test]
    fn the_engines_agree(
        (px, py, k) in (1..7_u32, 1..7_u32, 1..4_u32),
        bytes in 1..9000_u32,
        block_ns in prop_oneof![0..30_000_u32, 100_000..1_000_000_u32],
        (latency_ns, gap_ns) in (0..9000_u64, 0..9000_u64),
        overhead_per_byte_ns in prop_oneof![Just(0.0), 0.0..2.0_f64],
        processors in 1..4_u32,
    ) {
        let mut machine = Machine { processors, ..machine() };
        machine.inter = Link { latency_ns, gap_ns, overhead_per_byte_ns, ..machine.inter };
        let blocking = sweep(px, py, k, 2, bytes, block_ns);
        let octant = "{ activity = \"Octant\" }";
        let waited = blocking.replace(octant, &format!("{octant}, {{ wait = \"w\" }}"));
        for (text, engine) in [(blocking, EngineChoice::FixedDistances), (waited, EngineChoice::Eager)] {
            let program = program(&text, &machine, px * py);
            let mut found = simulate(&program, &machine).expect("an end");
            prop_assert_eq!(found.engine, engine);
            let traced = simulate_traced(&program, &machine, Limits::default(), &mut |_| (), &mut |_| ());
            let mut traced = traced.expect("an end");
            for outcome in [&mut found, &mut traced] {
                (outcome.memory_bytes, outcome.most_messages) = (0, 0);
                outcome.engine = engine;
            }
            if engine == EngineChoice::FixedDistances {
                // It counts ties while it puts messages in order, which it does at other times.
                (found.ties, traced.ties) = (0, 0);
            }
            prop_assert_eq!(found, traced);
        }
    }
}

/// The example of the command line is the model of these tests.
#[test]
fn the_example_is_the_same_program() {
    let example = include_str!("../../../../examples/sweep3d/sweep3d.toml");
    let found = outcome(example, &machine(), 100);
    let expected = outcome(&sweep(10, 10, 10, 2, 6000, 1_000_000), &machine(), 100);
    assert_eq!(found.processes, expected.processes);
}

/// Enough processes that messages are delivered some time after they were sent.
#[test]
fn the_engines_agree_on_many_processes() {
    let flow = r#"
        { send = "own", to = "process", bytes = 8 },
        { broadcast = "b", root = 7, bytes = 800 },
        { recv = "own", from = "process" },
        { isend = "over", to = "xor(process, 1)", bytes = 300 },
        { reduce = "r", root = 0, bytes = 8 },
        { recv = "over", from = "any" },
        { allreduce = "a", bytes = 8 },
    "#;
    let text =
        format!("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [{flow}]\n");
    let program = program(&text, &machine(), 40_000);
    let mut found = simulate(&program, &machine()).expect("an end");
    assert_eq!(found.engine, EngineChoice::Eager);
    // Of the last, 15 rounds of 32,768 processes and two messages of each other.
    assert_eq!(found.messages, 159_998 + 505_984);
    let traced = simulate_traced(
        &program,
        &machine(),
        Limits::default(),
        &mut |_| (),
        &mut |_| (),
    );
    let traced = traced.expect("an end");
    found.memory_bytes = traced.memory_bytes;
    (found.most_messages, found.engine) = (traced.most_messages, traced.engine);
    assert!(
        found == traced,
        "{} and {} ns",
        found.makespan_ns,
        traced.makespan_ns
    );
}
