//! Sweep3D as simulated and as POEMS computes it.

use mastermind_simulation::analytic::Sweep3d;
use mastermind_simulation::machine::{Link, Machine};

use crate::engine::common::outcome;

const BLOCK_NS: u64 = 1_000_000;

/// One wave of one block from the first corner: when each process begins its block.
fn simulated_ns(sweep: &Sweep3d) -> Vec<u64> {
    let Sweep3d {
        columns,
        rows,
        bytes,
        ..
    } = sweep;
    let text = format!(
        r#"
[model]
name = "wave"
main = "Main"
[activities.Main.locals]
x = "process % {columns}"
y = "div(process, {columns})"
west = "x > 0 ? process - 1 : none"
north = "y > 0 ? process - {columns} : none"
east = "x + 1 < {columns} ? process + 1 : none"
south = "y + 1 < {rows} ? process + {columns} : none"
[activities.Main]
flow = [
    {{ recv = "west", from = "west" }},
    {{ recv = "north", from = "north" }},
    {{ action = "block", cost = "ns({BLOCK_NS})" }},
    {{ send = "east", to = "east", bytes = {bytes} }},
    {{ send = "south", to = "south", bytes = {bytes} }},
]
"#
    );
    let machine = Machine {
        inter: sweep.link,
        intra: sweep.link,
        ..Machine::default()
    };
    let found = outcome(&text, &machine, columns * rows);
    let block = found.elements.iter().position(|e| e.name == "block");
    let sends = |rank: usize| {
        let sends = found
            .elements
            .iter()
            .enumerate()
            .filter(|(_, e)| e.kind == "send");
        sends
            .map(|(e, _)| found.element_of(rank, e).total_ns)
            .sum::<u64>()
    };
    assert!(block.is_some());
    // Behind the block there are only sends; each process ends with its last one.
    let starts = found.processes.iter().enumerate();
    starts
        .map(|(rank, p)| p.finish_ns - sends(rank) - BLOCK_NS)
        .collect()
}

fn sweep(columns: u32, rows: u32, bytes: u64, link: Link) -> Sweep3d {
    Sweep3d {
        columns,
        rows,
        k_blocks: 1,
        angle_groups: 1,
        block_ns: BLOCK_NS,
        bytes,
        link,
    }
}

/// Small messages, no gap, and a receive that takes nothing of its processor before it is called.
#[test]
fn a_wave_is_the_recurrence_of_eq_5() {
    let link = Link {
        receive_overhead_ns: 0,
        gap_ns: 0,
        ..Link::default()
    };
    for (columns, rows) in [
        (1, 1),
        (1, 7),
        (7, 1),
        (2, 2),
        (3, 5),
        (10, 10),
        (50, 30),
        (30, 50),
        (160, 175),
    ] {
        let sweep = sweep(columns, rows, 1, link);
        assert_eq!(
            simulated_ns(&sweep),
            sweep.starts_ns(),
            "{columns} x {rows}"
        );
    }
}

/// Large messages use rendezvous, so receives are taken in the order in which they are called; the
/// interface is free again, `(s - 1) G`, when the sender comes to its next message.
#[test]
fn a_wave_of_messages_that_ask_is_the_recurrence_of_eq_5() {
    let link = Link {
        rendezvous_bytes: 4096,
        gap_ns: 0,
        gap_per_byte_ns: 0.2,
        ..Link::default()
    };
    for (columns, rows) in [(1, 1), (1, 175), (160, 1), (2, 2)] {
        let sweep = sweep(columns, rows, 6000, link);
        assert_eq!(
            simulated_ns(&sweep),
            sweep.starts_ns(),
            "{columns} x {rows}"
        );
    }
    // Elsewhere a request may come in the middle of another receive, which Eq. 5 does not know.
    let sweep = sweep(160, 175, 6000, link);
    for (simulated, computed) in simulated_ns(&sweep).iter().zip(sweep.starts_ns()) {
        assert!(simulated.abs_diff(computed) as f64 <= 0.002 * computed as f64);
    }
}

/// The whole iteration. Eq. 6 to 8 add, to each block, a latency for each processor of a row and a column: the
/// waits of blocking messages for each other. So without latency they equal the simulation, and exceed it with
/// one.
#[test]
fn an_iteration_is_eq_8() {
    let simulated = |sweep: &Sweep3d| {
        let Sweep3d { columns, rows, .. } = *sweep;
        let (k, angles, bytes) = (sweep.k_blocks, sweep.angle_groups, sweep.bytes as u32);
        let text =
            crate::engine::wavefront::sweep(columns, rows, k, angles, bytes, sweep.block_ns as u32);
        let machine = Machine {
            inter: sweep.link,
            intra: sweep.link,
            ..Machine::default()
        };
        outcome(&text, &machine, columns * rows).makespan_ns as f64
    };
    for (columns, rows) in [(1, 1), (2, 2), (4, 4), (10, 10), (20, 20), (40, 40)] {
        let link = Link {
            latency_ns: 0,
            ..Link::default()
        };
        let mut sweep = sweep(columns, rows, 3360, link);
        (sweep.k_blocks, sweep.angle_groups, sweep.block_ns) = (26, 2, 294_000);
        let ratio = sweep.iteration_ns() as f64 / simulated(&sweep);
        println!("{columns} x {rows}: {ratio}");
        assert!((0.98..1.03).contains(&ratio), "{columns} x {rows}: {ratio}");
        sweep.link = Link::default();
        let (computed, found) = (sweep.iteration_ns() as f64, simulated(&sweep));
        let latencies = u64::from(rows + columns) * 8 * 52 * sweep.link.latency_ns;
        println!("{columns} x {rows}: {computed} {found} {latencies}");
        assert!(computed >= 0.98 * found && computed <= 1.03 * found + latencies as f64);
    }
}
