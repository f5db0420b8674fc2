//! The machine: nodes of processors, and LogGP links in a node and between nodes.
//!
//! ```toml
//! [nodes]
//! count = 8
//! processors = 4
//! per_switch = 4                 # nodes of a switch; without it there are none
//! per_group = 8                  # nodes of a group of switches, likewise
//! queue = "fcfs"                 # or { round_robin_ns = 10_000_000 }
//! waiting = "blocks"             # or "yields", "spins": what a process does that waits for another
//! regroup_turns = 24             # of this number of time slices on an oversubscribed node one is double; without it none
//!
//! [network]                      # LogGP, nanoseconds; tables of classes override, as below
//! latency_ns = 2500              # L
//! overhead_ns = 1500             # o (send_overhead_ns, receive_overhead_ns where they differ)
//! gap_ns = 1000                  # g
//! gap_per_byte_ns = 1.0          # G
//! overhead_per_byte_ns = 0.0     # O
//! rendezvous_bytes = 65535       # S
//! rendezvous = "sent"            # or "fetched": by the receiver, whatever the sender does meanwhile
//!
//! [[network.pieces]]             # messages of more bytes than `above_bytes` take another time
//! above_bytes = 65535
//! added_ns = 800                 # may be below 0
//! gap_per_byte_ns = 0.4
//!
//! [network.switch]               # between nodes of a switch; [network.group]: of a group; [network.intra]: in a node;
//! latency_ns = 1200              # [network.inter]: between all others
//! uplinks = 2                    # of a switch or a group: number of links that lead up from it, which messages share;
//!                                # without it as many as they need
//!
//! [noise]                        # interrupts computation; without it nothing does
//! every_ns = 10_000_000          # once in each period of this number of nanoseconds, at a random time in it
//! length_ns = 25_000             # for so long on average
//! lengths = "constant"           # or "exponential"
//! synchronous = false            # whether all processors are interrupted at once
//! seed = 0                       # another one gives other times
//!
//! [collectives]
//! library = "basic"              # or "mpich", "openmpi": whose algorithms are taken for which sizes
//! ```
//!
//! # Source
//! A. Alexandrov et al., "LogGP", SPAA 1995; T. Hoefler et al., "LogGOPSim", 2010 (O and S).

use mastermind_programs::Collectives;

mod network;
mod noise;
mod read;
mod write;

pub use crate::loggp::{Link, MOST_PIECES, Parameter, Piece, Pieces, Rendezvous};
pub use network::{LinkClass, NearLink};
pub use noise::{Lengths, Noise};
pub use read::{MachineError, read_machine};
pub use write::write_machine;

/// How processes wait for a processor of an oversubscribed node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// First come, first served.
    Fcfs,
    /// By time slices.
    RoundRobin {
        /// Time slice, nanoseconds, ≥ 1.
        quantum_ns: u64,
    },
}

/// Behaviour of a process of an oversubscribed node that waits for a message, or for the receiver of
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// It leaves its processor, and its messages need none of those that are queued for.
    #[default]
    Blocks,
    /// It polls for its message each time it has a processor, and yields the processor at once.
    Yields,
    /// It keeps its processor until its time slice is over, and polls for its message all the while.
    Spins,
}

impl Waiting {
    /// Each with its name in a machine file.
    pub const ALL: [(&'static str, Self); 3] = [
        ("blocks", Self::Blocks),
        ("yields", Self::Yields),
        ("spins", Self::Spins),
    ];

    /// Its name in a machine file.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(_, waiting)| *waiting == self)
            .map_or("", |(name, _)| name)
    }
}

/// A machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Nodes; `None` for as many as the processes need.
    pub nodes: Option<u32>,
    /// Processors of a node, ≥ 1.
    pub processors: u32,
    /// How processes wait for a processor.
    pub queue: Queue,
    /// How processes wait for each other on an oversubscribed node.
    pub waiting: Waiting,
    /// One in this number of time slices of an oversubscribed node is twice as long, ≥ 2: other load on a machine makes a
    /// process keep its processor now and then, after which other processes run at the same time. `None` without such
    /// load. Only for processes that do not block.
    pub regroup_turns: Option<u32>,
    /// Links between processes of a node.
    pub intra: Link,
    /// Links between nodes of one switch, if these are links of their own.
    pub switch: Option<NearLink>,
    /// Links between nodes of one group of switches, if these are links of their own.
    pub group: Option<NearLink>,
    /// Links between all other nodes.
    pub inter: Link,
    /// Library whose algorithms collectives use.
    pub collectives: Collectives,
    /// Interruptions of computation; `None` without.
    pub noise: Option<Noise>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            nodes: None,
            processors: 1,
            queue: Queue::Fcfs,
            waiting: Waiting::Blocks,
            regroup_turns: None,
            intra: Link::default(),
            switch: None,
            group: None,
            inter: Link::default(),
            collectives: Collectives::default(),
            noise: None,
        }
    }
}

impl Machine {
    /// Nodes that `processes` run on.
    pub fn nodes_for(&self, processes: u32) -> u32 {
        self.nodes
            .unwrap_or_else(|| processes.div_ceil(self.processors.max(1)))
            .max(1)
    }
}
