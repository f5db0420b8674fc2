//! Collectives as libraries build them, against formulas: an exchange of s bytes takes 2 o + L + (s - 1) G.

use mastermind_programs::Collectives;
use mastermind_simulation::engine::Outcome;
use mastermind_simulation::machine::{Link, Machine};

use crate::engine::common::outcome;

/// L 2500, o 1500, g 1000, G 1; all messages are eager.
fn machine(collectives: Collectives) -> Machine {
    let link = Link {
        rendezvous_bytes: 1 << 40,
        ..Link::default()
    };
    Machine {
        intra: link,
        inter: link,
        collectives,
        ..Machine::default()
    }
}

/// Runs one collective, its size known beforehand or not.
fn run(element: &str, library: Collectives, processes: u32, is_known: bool) -> Outcome {
    let size = if is_known { "n" } else { "n + 0 * process" };
    let element = element.replace("SIZE", size);
    let (n, element) = element.split_once('|').expect("N|ELEMENT");
    let text = format!(
        "[model]\nname = \"m\"\nmain = \"Main\"\n[globals]\nn = {n}\n[activities.Main]\nflow = [{{ {element} }}]\n"
    );
    let known = outcome(&text, &machine(library), processes);
    assert_eq!((known.unreceived, known.unmatched), (0, 0), "{element}");
    known
}

/// Times of exchanges of these numbers of bytes, one after the other.
fn exchanges(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().map(|s| 2 * 1500 + 2500 + s - 1).sum()
}

#[track_caller]
fn assert_takes(element: &str, library: Collectives, processes: u32, expected_ns: u64) {
    for is_known in [true, false] {
        let makespan_ns = run(element, library, processes, is_known).makespan_ns;
        assert_eq!(makespan_ns, expected_ns, "size known: {is_known}");
    }
}

#[test]
fn allreduce_doubles_for_small_sizes_and_halves_or_goes_around_for_large_ones() {
    let element = r#"allreduce = "a", bytes = "SIZE""#;
    let of = |n: u64| format!("{n}|{element}");
    let doubling = |n| exchanges([n; 3]);
    assert_takes(&of(2048), Collectives::Mpich, 8, doubling(2048));
    let (a, b, c) = (4096, 2048, 1024);
    assert_takes(
        &of(8192),
        Collectives::Mpich,
        8,
        exchanges([a, b, c, c, b, a]),
    );
    assert_takes(&of(8192), Collectives::OpenMpi, 8, doubling(8192));
    assert_takes(&of(16_000), Collectives::OpenMpi, 8, exchanges([2000; 14]));
    assert_takes(&of(16_000), Collectives::Basic, 8, doubling(16_000));
}

#[test]
fn reduce_by_halves_gathers_at_the_root() {
    for root in [0, 5] {
        let element = format!(r#"8192|reduce = "r", root = {root}, bytes = "SIZE""#);
        let expected = exchanges([4096, 2048, 1024, 1024, 2048, 4096]);
        assert_takes(&element, Collectives::Mpich, 8, expected);
    }
}

#[test]
fn alltoall_goes_by_bits_for_small_sizes() {
    let element = r#"100|alltoall = "a", bytes = "SIZE""#;
    assert_takes(element, Collectives::Mpich, 8, exchanges([400; 3]));
    assert_takes(element, Collectives::OpenMpi, 16, exchanges([800; 4]));
    // Pairwise: one exchange with each of the others.
    let element = r#"40000|alltoall = "a", bytes = "SIZE""#;
    assert_takes(element, Collectives::Mpich, 8, exchanges([40_000; 7]));
}

#[test]
fn a_pipeline_takes_a_segment_for_each_process_and_then_one_after_the_other() {
    // In the middle each segment is received, o + (s - 1) G, and sent on, o.
    let s = 65_536;
    let expected = exchanges([s; 3]) + 9 * (2 * 1500 + s - 1);
    let element = format!(r#"{}|broadcast = "b", root = 1, bytes = "SIZE""#, 10 * s);
    assert_takes(&element, Collectives::OpenMpi, 4, expected);
}

#[test]
fn a_broadcast_by_parts_sends_each_part_down_and_around() {
    let element = r#"80000|broadcast = "b", root = 2, bytes = "SIZE""#;
    let whole = run(element, Collectives::Basic, 8, true);
    let parts = run(element, Collectives::Mpich, 8, true);
    assert_eq!((whole.messages, parts.messages), (7, 7 + 8 * 7));
    assert!(parts.makespan_ns < whole.makespan_ns);
}

#[test]
fn every_algorithm_ends_on_any_number_of_processes() {
    let all = [
        r#"broadcast = "b", root = "processes - 1", bytes = "SIZE""#,
        r#"reduce = "r", root = "div(processes, 2)", bytes = "SIZE""#,
        r#"allreduce = "a", bytes = "SIZE""#,
        r#"alltoall = "t", bytes = "SIZE""#,
        r#"barrier = "w""#,
    ];
    for (_, library) in Collectives::ALL {
        for element in all {
            for processes in 1..20 {
                for n in [1, 1000, 5000, 100_000, 1_000_000] {
                    run(&format!("{n}|{element}"), library, processes, false);
                }
            }
        }
    }
}
