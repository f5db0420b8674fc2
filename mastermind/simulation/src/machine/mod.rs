//! The machine: nodes of processors, and LogGP links in a node and between nodes.
//!
//! ```toml
//! [nodes]
//! count = 8
//! processors = 4
//! queue = "fcfs"                 # or { round_robin_ns = 10_000_000 }
//!
//! [network]                      # LogGP, nanoseconds; [network.intra] and [network.inter] override
//! latency_ns = 2500              # L
//! overhead_ns = 1500             # o (send_overhead_ns, receive_overhead_ns where they differ)
//! gap_ns = 1000                  # g
//! gap_per_byte_ns = 1.0          # G
//! overhead_per_byte_ns = 0.0     # O
//! rendezvous_bytes = 65535       # S
//! ```
//!
//! # Source
//! A. Alexandrov et al., "LogGP", SPAA 1995; T. Hoefler et al., "LogGOPSim", 2010 (O and S).

mod read;

pub use read::{MachineError, read_machine};

/// How processes that want a processor of a busy node wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// First come, first served.
    Fcfs,
    /// In turns.
    RoundRobin {
        /// Longest turn, nanoseconds, ≥ 1.
        quantum_ns: u64,
    },
}

/// LogGP parameters of one class of links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// L, nanoseconds.
    pub latency_ns: u64,
    /// o of the sender, nanoseconds.
    pub send_overhead_ns: u64,
    /// o of the receiver, nanoseconds.
    pub receive_overhead_ns: u64,
    /// g, nanoseconds.
    pub gap_ns: u64,
    /// G, nanoseconds a byte; it may be below 1.
    pub gap_per_byte_ns: f64,
    /// O, nanoseconds a byte.
    pub overhead_per_byte_ns: f64,
    /// S: messages of more bytes wait for their receiver.
    pub rendezvous_bytes: u64,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency_ns: 2500,
            send_overhead_ns: 1500,
            receive_overhead_ns: 1500,
            gap_ns: 1000,
            gap_per_byte_ns: 1.0,
            overhead_per_byte_ns: 0.0,
            rendezvous_bytes: 65535,
        }
    }
}

impl Link {
    /// `(s - 1) G` in whole nanoseconds.
    #[inline]
    pub(crate) fn bytes_gap_ns(&self, bytes: u64) -> u64 {
        per_byte(self.gap_per_byte_ns, bytes)
    }

    /// `(s - 1) O` in whole nanoseconds.
    #[inline]
    pub(crate) fn bytes_overhead_ns(&self, bytes: u64) -> u64 {
        if self.overhead_per_byte_ns == 0.0 {
            0
        } else {
            per_byte(self.overhead_per_byte_ns, bytes)
        }
    }

    /// Processor time of receiving so many bytes.
    #[inline]
    pub(crate) fn receive_ns(&self, bytes: u64) -> u64 {
        self.receive_overhead_ns + self.bytes_gap_ns(bytes).max(self.bytes_overhead_ns(bytes))
    }

    /// Least time from a send to its arrival.
    pub(crate) fn lookahead_ns(&self) -> u64 {
        self.send_overhead_ns + self.latency_ns
    }
}

#[inline]
fn per_byte(ns: f64, bytes: u64) -> u64 {
    // Half up; the conversion saturates.
    (ns * bytes.saturating_sub(1) as f64 + 0.5) as u64
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
    /// Links between processes of a node.
    pub intra: Link,
    /// Links between nodes.
    pub inter: Link,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            nodes: None,
            processors: 1,
            queue: Queue::Fcfs,
            intra: Link::default(),
            inter: Link::default(),
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
