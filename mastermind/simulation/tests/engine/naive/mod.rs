//! The engine against a naive interpreter: every process's operations written out, one global heap of
//! events; no windows, no running ahead, collectives and threads by code of its own.

mod interpreter;
mod lines;
mod random;
mod rounds;
mod threads;

use std::cell::Cell;

use mastermind_simulation::engine::EngineChoice;
use mastermind_simulation::machine::{Link, Machine, NearLink, Pieces, Queue, Rendezvous};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::engine::common::outcome;
use crate::noise::noise;
use crate::paths;
use interpreter::{Naive, Step};
use lines::line;
use random::{Round, model, round};
use rounds::steps;

fn link() -> impl Strategy<Value = Link> {
    let overheads = (1..3000_u64, 1..3000_u64);
    let rest = (1..9000_u64, 0..4000_u64, 0.0..2.0_f64, 0.0..0.5_f64);
    let rendezvous = prop_oneof![Just(Rendezvous::Sent), Just(Rendezvous::Fetched)];
    (overheads, rest, rendezvous).prop_map(
        |(o, (latency_ns, gap_ns, gap_per_byte_ns, per_byte), rendezvous)| Link {
            latency_ns,
            send_overhead_ns: o.0,
            receive_overhead_ns: o.1,
            gap_ns,
            gap_per_byte_ns,
            overhead_per_byte_ns: if per_byte < 0.25 { 0.0 } else { per_byte },
            rendezvous_bytes: 5000,
            rendezvous,
            pieces: Pieces::default(),
        },
    )
}

fn machine() -> impl Strategy<Value = Machine> {
    let queue = prop_oneof![
        Just(Queue::Fcfs),
        (1..9000_u64).prop_map(|quantum_ns| Queue::RoundRobin { quantum_ns })
    ];
    let noise = (1..30_000_u64, 0..50_u64, 0..9_u64, 0..6_u64)
        .prop_map(|(every_ns, share, seed, kind)| noise(every_ns, share, seed, kind));
    let noise = prop::option::weighted(0.25, noise);
    let near = || {
        let uplinks = prop::option::of(1..4_u32);
        let near = (1..4_u32, link(), uplinks);
        let near = near.prop_map(|(nodes, link, uplinks)| NearLink {
            nodes,
            link,
            uplinks,
        });
        prop::option::weighted(0.4, near)
    };
    let near = (near(), near()).prop_map(|(switch, mut group)| {
        if let (Some(switch), Some(group)) = (&switch, &mut group) {
            group.nodes *= switch.nodes;
        }
        (switch, group)
    });
    (1..7_u32, 7..14_u32, queue, (link(), link(), near), noise).prop_map(
        |(nodes, processors, queue, (intra, inter, (switch, group)), noise)| Machine {
            nodes: Some(nodes),
            processors,
            queue,
            intra,
            switch,
            group,
            inter,
            noise,
            ..Machine::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_engine_is_as_the_naive_interpreter(
        rounds in prop::collection::vec(round(), 1..6),
        n in 6..14_u32,
        mut machine in machine(),
    ) {
        machine.nodes = machine.nodes.map(|nodes| nodes.max(2));
        let steps = |rank| steps(&rounds, rank, n, &machine);
        agrees(&model(&rounds), &machine, n, steps)?;
    }

    #[test]
    fn processes_that_run_ahead_are_as_the_naive_interpreter(
        lines in prop::collection::vec(line(), 1..7),
        n in 2..40_u32,
        link in link(),
    ) {
        let machine = Machine { inter: link, ..Machine::default() };
        let steps = |rank| lines::steps(&lines, rank, n);
        let engine = agrees(&lines::model(&lines), &machine, n, steps)?;
        prop_assert!(matches!(engine, EngineChoice::Eager | EngineChoice::FixedDistances));
    }
}

/// The longest paths of random programs: derivatives of times by simulations with other parameters.
#[test]
fn counts_on_the_longest_path_are_derivatives() {
    let derivatives = Cell::new([0; 2]);
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    };
    let rounds = prop::collection::vec(round(), 1..6);
    let result = TestRunner::new(config).run(&(rounds, machine()), |(rounds, machine)| {
        // No node has more ranks than processors.
        let nodes = machine.nodes.map(|nodes| nodes.max(10));
        let machine = paths::without_obstacles(Machine { nodes, ..machine });
        let model = model(&rounds);
        let found = paths::check(&machine, &paths::of_model(&model, 10));
        derivatives.set([0, 1].map(|i| derivatives.get()[i] + found[i]));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let [same, other] = derivatives.get();
    println!("{same} derivatives, {other} where the path changes");
    assert!(same > 4000 && other < same / 20, "{same}, {other}");
}

/// A program of 64 ranks and its machine, and whether it is made for the eager engine: one link between all nodes, eager messages alone,
/// no threads.
fn large() -> impl Strategy<Value = (Vec<Round>, Machine, bool)> {
    let rounds = prop::collection::vec(round(), 1..6);
    (rounds, machine(), any::<bool>()).prop_map(|(mut rounds, mut machine, is_eager)| {
        // No node has more ranks than processors.
        machine.nodes = Some(10);
        if is_eager {
            (machine.switch, machine.group) = (None, None);
            for link in [&mut machine.intra, &mut machine.inter] {
                link.rendezvous_bytes = 1 << 20;
            }
            rounds.retain(|round| !matches!(round, Round::Region { .. }));
        }
        (rounds, machine, is_eager)
    })
}

/// Whether the engine knows all sizes of messages: it does not for parts of a group's data, nor for sizes that depend
/// on the counter of a loop if another loop, whose number of rounds is known only during the run, has the same counter.
fn has_known_sizes(rounds: &[Round]) -> bool {
    let has = |is: fn(&Round) -> bool| rounds.iter().any(is);
    let has_parts = has(|round| {
        let kinds = ["gather", "scatter", "allgather"];
        matches!(round, Round::Collective { kind, .. } if kinds.contains(kind))
    });
    let has_loops = has(|round| {
        matches!(
            round,
            Round::Gather { .. } | Round::Answers { .. } | Round::Collective { .. }
        )
    });
    let has_any = has(|round| matches!(round, Round::Any { .. }));
    !(has_parts || has_loops && has_any)
}

/// Programs of 64 ranks. At least a fifth are for the eager engine, and it must have run them: a program that it gives
/// up is run again by the engine for all programs, which would hide a defect of it.
fn large_agree(cases: u32) {
    let n_eager = Cell::new(0);
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let result = TestRunner::new(config).run(&large(), |(rounds, machine, is_eager)| {
        let steps = |rank| steps(&rounds, rank, 64, &machine);
        let engine = agrees(&model(&rounds), &machine, 64, steps)?;
        if is_eager && has_known_sizes(&rounds) {
            let is_expected = matches!(engine, EngineChoice::Eager | EngineChoice::FixedDistances);
            prop_assert!(is_expected, "{engine:?}");
            n_eager.set(n_eager.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    println!(
        "{cases} programs, {} of them by the eager engine",
        n_eager.get()
    );
    assert!(n_eager.get() > cases / 5, "{} of {cases}", n_eager.get());
}

#[test]
fn programs_of_64_ranks_are_as_in_the_naive_interpreter() {
    large_agree(1000);
}

#[test]
#[ignore = "ten times the test before it"]
fn ten_thousand_programs_of_64_ranks_are_as_in_the_naive_interpreter() {
    large_agree(10_000);
}

/// Runs a model, and its processes by the naive interpreter, and compares both, including cases in which times of
/// creation leave an order open: both then take a process's own event first, and messages in the order of their
/// senders.
fn agrees(
    model: &str,
    machine: &Machine,
    n: u32,
    steps: impl Fn(u32) -> Vec<Step>,
) -> Result<EngineChoice, TestCaseError> {
    let found = outcome(model, machine, n);
    let finish: Vec<_> = found.processes.iter().map(|p| p.finish_ns).collect();
    let work: Vec<_> = found.processes.iter().map(|p| p.work_ns).collect();
    let mut naive = Naive::new(machine, n, steps);
    naive.run();
    prop_assert_eq!(finish, naive.processor);
    prop_assert_eq!(work, naive.work);
    prop_assert_eq!((found.unreceived, found.unmatched), (0, 0));
    Ok(found.engine)
}
