//! A machine as a machine file.

use std::fmt::Write;

use mastermind_programs::Collectives;

use super::{Lengths, Link, Machine, Queue, Rendezvous, Waiting};

/// A machine as the text that [`super::read_machine`] reads; times a byte with 5 digits.
///
/// # Arguments
/// * `notes` - lines that go first, as comments
/// * `measured` - for each class of links, in a node and between nodes, the comment at the begin of its table;
///   `None` leaves the table out
pub fn write_machine(machine: &Machine, notes: &[String], measured: [Option<&str>; 2]) -> String {
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "# {note}");
    }
    let _ = writeln!(text, "\n[nodes]");
    if let Some(nodes) = machine.nodes {
        let _ = writeln!(text, "count = {nodes}");
    }
    let _ = writeln!(text, "processors = {}", machine.processors);
    for (class, near) in [("switch", &machine.switch), ("group", &machine.group)] {
        if let Some(near) = near {
            let _ = writeln!(text, "per_{class} = {}", near.nodes);
        }
    }
    let _ = match machine.queue {
        Queue::Fcfs => writeln!(text, "queue = \"fcfs\""),
        Queue::RoundRobin { quantum_ns } => {
            writeln!(text, "queue = {{ round_robin_ns = {quantum_ns} }}")
        }
    };
    if machine.waiting != Waiting::Blocks {
        let _ = writeln!(text, "waiting = \"{}\"", machine.waiting.name());
    }
    if let Some(turns) = machine.regroup_turns {
        let _ = writeln!(text, "regroup_turns = {turns}");
    }
    let classes = [("intra", &machine.intra), ("inter", &machine.inter)];
    for ((name, link), note) in classes.into_iter().zip(measured) {
        if let Some(note) = note {
            table(&mut text, name, link, None, note);
        }
    }
    for (class, near) in [("switch", &machine.switch), ("group", &machine.group)] {
        if let Some(near) = near {
            table(
                &mut text,
                class,
                &near.link,
                near.uplinks,
                "between its nodes",
            );
        }
    }
    if let Some(noise) = machine.noise {
        let _ = writeln!(text, "\n[noise]\nevery_ns = {}", noise.every_ns);
        let _ = writeln!(text, "length_ns = {}", noise.length_ns);
        if noise.lengths == Lengths::Exponential {
            let _ = writeln!(text, "lengths = \"exponential\"");
        }
        let _ = writeln!(text, "synchronous = {}", noise.is_synchronous);
        let _ = writeln!(text, "seed = {}", noise.seed);
    }
    if machine.collectives != Collectives::Basic {
        let library = machine.collectives.name();
        let _ = writeln!(text, "\n[collectives]\nlibrary = \"{library}\"");
    }
    text
}

fn table(text: &mut String, name: &str, link: &Link, uplinks: Option<u32>, note: &str) {
    let _ = writeln!(text, "\n[network.{name}]  # {note}");
    for (key, value) in [
        ("latency_ns", link.latency_ns),
        ("send_overhead_ns", link.send_overhead_ns),
        ("receive_overhead_ns", link.receive_overhead_ns),
        ("gap_ns", link.gap_ns),
    ] {
        let _ = writeln!(text, "{key} = {value}");
    }
    let _ = writeln!(text, "gap_per_byte_ns = {:.5}", link.gap_per_byte_ns);
    let overhead = link.overhead_per_byte_ns;
    let _ = writeln!(text, "overhead_per_byte_ns = {overhead:.5}");
    let _ = writeln!(text, "rendezvous_bytes = {}", link.rendezvous_bytes);
    if link.rendezvous != Rendezvous::Sent {
        let _ = writeln!(text, "rendezvous = \"{}\"", link.rendezvous.name());
    }
    if let Some(uplinks) = uplinks {
        let _ = writeln!(text, "uplinks = {uplinks}");
    }
    for piece in link.pieces.as_slice() {
        let _ = writeln!(text, "\n[[network.{name}.pieces]]");
        let _ = writeln!(text, "above_bytes = {}", piece.above_bytes);
        let _ = writeln!(text, "added_ns = {:.1}", piece.added_ns);
        let _ = writeln!(text, "gap_per_byte_ns = {:.5}", piece.gap_per_byte_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{NearLink, Noise, Piece, Pieces, read_machine};

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let piece = Piece {
            above_bytes: 4096,
            added_ns: -120.5,
            gap_per_byte_ns: 0.08125,
        };
        let intra = Link {
            latency_ns: 431,
            overhead_per_byte_ns: 0.03,
            rendezvous: Rendezvous::Fetched,
            pieces: Pieces::new(&[piece]).expect("one"),
            ..Link::default()
        };
        let machine = Machine {
            nodes: Some(1),
            processors: 2,
            queue: Queue::RoundRobin {
                quantum_ns: 4_000_000,
            },
            waiting: Waiting::Spins,
            regroup_turns: Some(24),
            intra,
            collectives: Collectives::OpenMpi,
            switch: Some(NearLink {
                nodes: 3,
                link: Link {
                    latency_ns: 801,
                    ..Link::default()
                },
                uplinks: Some(2),
            }),
            group: Some(NearLink {
                nodes: 6,
                link: intra,
                uplinks: Some(1_000_000_000),
            }),
            noise: Some(Noise {
                every_ns: 1_000_000,
                length_ns: 2500,
                lengths: Lengths::Exponential,
                is_synchronous: true,
                seed: 7,
            }),
            ..Machine::default()
        };
        let notes = ["measured here".to_owned()];
        let text = write_machine(&machine, &notes, [Some("measured"), None]);
        assert_eq!(read_machine(&text).expect("a machine"), machine, "{text}");
    }

    #[test]
    fn noise_that_leaves_less_than_half_of_the_time_is_refused() {
        for (text, expected) in [
            ("every_ns = 0\nlength_ns = 0", "noise.every_ns\": 0"),
            ("every_ns = 100\nlength_ns = 51", "noise.length_ns\": 51"),
        ] {
            let error = read_machine(&format!("[noise]\n{text}\n")).expect_err("too much");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn spinning_needs_turns() {
        let error = read_machine("[nodes]\nwaiting = \"spins\"\n").expect_err("no turns");
        assert!(
            error
                .to_string()
                .contains("expected queue = { round_robin_ns"),
            "{error}"
        );
    }
}
