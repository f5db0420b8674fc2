//! The analytic LogGP model of Sweep3D, for comparison with its simulation.
//!
//! # Source
//! V. Adve et al., "POEMS: End-to-End Performance Design of Large Parallel Adaptive Computational
//! Systems", IEEE TSE 2000, Eq. 1 to 8. Deviations, so that both sides have one machine: `(s - 1) G` for
//! the paper's `s G`; a receive of a small message takes `o + (s - 1) G` of the processor rather than
//! `o`; of two sends in a row the second waits for the interface, `max(o, g + (s - 1) G)`.

use crate::machine::Link;

/// A sweep: a grid of processors, blocks that are passed on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sweep3d {
    /// Processors in the i direction (west to east), ≥ 1.
    pub columns: u32,
    /// Processors in the j direction (north to south), ≥ 1.
    pub rows: u32,
    /// #k-blocks.
    pub k_blocks: u32,
    /// #angle-groups.
    pub angle_groups: u32,
    /// W, one block's computation, nanoseconds (Eq. 4: `Wg × mmi × mk × it × jt`).
    pub block_ns: u64,
    /// Of one message.
    pub bytes: u64,
    /// All links.
    pub link: Link,
}

impl Sweep3d {
    /// Whether messages ask before they are sent.
    fn asks(&self) -> bool {
        self.bytes > self.link.rendezvous_bytes
    }

    /// Eq. 1: how long a send keeps its sender, nanoseconds.
    pub fn send_ns(&self) -> u64 {
        let link = &self.link;
        if self.asks() {
            // os + L + os + os + L + ol
            return 3 * link.send_overhead_ns + link.receive_overhead_ns + 2 * link.latency_ns;
        }
        let interface = link.gap_ns + link.bytes_gap_ns(self.bytes);
        interface.max(link.send_overhead_ns + link.bytes_overhead_ns(self.bytes))
    }

    /// Eq. 2: time of a receive whose sender is ready, nanoseconds.
    pub fn receive_ns(&self) -> u64 {
        let link = &self.link;
        let bytes = link.receive_ns(self.bytes);
        if self.asks() {
            // os + L + ol + s G + L + ol
            return 2 * link.send_overhead_ns + 2 * link.latency_ns + bytes;
        }
        bytes
    }

    /// Eq. 3: from a send to the end of its receipt, nanoseconds.
    pub fn total_comm_ns(&self) -> u64 {
        let link = &self.link;
        let request = if self.asks() {
            link.send_overhead_ns + link.latency_ns + link.receive_overhead_ns
        } else {
            link.send_overhead_ns + link.latency_ns
        };
        request + self.receive_ns()
    }

    /// Eq. 5: when each processor begins its first block, row by row from the corner that the sweep
    /// comes from, nanoseconds. A processor without a neighbour in the north has no second receive.
    pub fn starts_ns(&self) -> Vec<u64> {
        let (columns, rows) = (self.columns as usize, self.rows as usize);
        let (total, receive, send) = (self.total_comm_ns(), self.receive_ns(), self.send_ns());
        let mut starts = vec![0; columns * rows];
        for at in 1..columns * rows {
            let (i, j) = (at % columns, at / columns);
            let mut start = 0;
            if i > 0 {
                let second = if j > 0 { receive } else { 0 };
                start = starts[at - 1] + self.block_ns + total + second;
            }
            if j > 0 {
                // A processor of the last column sends to the south alone.
                let first = if i + 1 < columns { send } else { 0 };
                start = start.max(starts[at - columns] + self.block_ns + first + total);
            }
            starts[at] = start;
        }
        starts
    }

    /// Eq. 6 to 8: the time of one iteration, all eight octants, nanoseconds.
    pub fn iteration_ns(&self) -> u64 {
        let (n, m) = (u64::from(self.columns), u64::from(self.rows));
        let starts = self.starts_ns();
        let start = |i: u64, j: u64| starts[((j - 1) * n + i - 1) as usize];
        let blocks = u64::from(self.k_blocks) * u64::from(self.angle_groups);
        let (w, latency) = (self.block_ns, self.link.latency_ns);
        let side = |more: bool, time: u64| if more { time } else { 0 };
        let (east, north) = (side(n > 1, self.send_ns()), side(m > 1, self.receive_ns()));
        let west = side(n > 1, self.receive_ns());
        let rows = (m - 1) * latency;
        let first = start(1, m) + 2 * ((w + east + north + rows) * blocks);
        let columns = n.saturating_sub(2) * latency;
        let last = (n - 1).max(1);
        let second = start(last, m)
            + 2 * ((w + east + west + north + rows + columns) * blocks)
            + side(n > 1, west + w);
        2 * (first + second)
    }
}
