//! The schedule of visits: buckets of one window each; a scheduled visit stays.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::events::calendar::{BUCKETS, NONE};
use crate::events::occupied::OccupiedBuckets;
use crate::events::prefetch::prefetch;
use mastermind_programs::huge_pages::vec_of;

/// Visits in order of windows; a process has at most one.
///
/// Windows less than [`BUCKETS`] ahead are a ring of linked lists, later ones wait in a heap.
pub(super) struct Calendar {
    /// A window has two to the power of this nanoseconds.
    shift: u32,
    now: u64,
    /// The first process of each bucket, or [`NONE`].
    heads: Box<[u32; BUCKETS]>,
    occupied: OccupiedBuckets<{ BUCKETS / 64 }>,
    /// By process: the one after it in its bucket, or [`NONE`].
    next: Vec<u32>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// Windows of at most `longest_ns`, 1 ns at least.
    pub(super) fn new(processes: usize, longest_ns: u64) -> Self {
        Self {
            shift: longest_ns.clamp(1, 1 << 40).ilog2(),
            now: 0,
            heads: Box::new([NONE; BUCKETS]),
            occupied: OccupiedBuckets::default(),
            next: vec_of(NONE, processes),
            later: BinaryHeap::new(),
        }
    }

    /// Begin of the present window.
    #[inline]
    pub(super) fn begin_ns(&self) -> u64 {
        self.now << self.shift
    }

    /// End of the present window, the first nanosecond that is not in it.
    #[inline]
    pub(super) fn end_ns(&self) -> u64 {
        (self.now + 1) << self.shift
    }

    /// Has `process`, which is not to be visited yet, visited at `at_ns`, or in the present window if
    /// that is past.
    #[inline]
    pub(super) fn visit(&mut self, process: u32, at_ns: u64) {
        let window = (at_ns >> self.shift).max(self.now);
        if window - self.now < BUCKETS as u64 {
            self.link(process, window);
        } else {
            self.later.push(Reverse((window, process)));
        }
    }

    #[inline]
    fn link(&mut self, process: u32, window: u64) {
        let bucket = window as usize % BUCKETS;
        self.next[process as usize] = std::mem::replace(&mut self.heads[bucket], process);
        self.occupied.set(bucket);
    }

    /// Takes a process to visit out of the earliest window that has one; that window is the present
    /// one from then on.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u32> {
        let mut bucket = self.now as usize % BUCKETS;
        if self.heads[bucket] == NONE {
            self.advance()?;
            bucket = self.now as usize % BUCKETS;
        }
        let process = self.heads[bucket];
        self.heads[bucket] = self.next[process as usize];
        if self.heads[bucket] == NONE {
            self.occupied.clear(bucket);
        }
        Some(process)
    }

    /// The processes to be visited next, as far as the ring contains them.
    #[inline]
    pub(super) fn upcoming(&self) -> [Option<u32>; 3] {
        let mut upcoming = [None; 3];
        let (mut process, mut window) = (self.heads[self.now as usize % BUCKETS], self.now);
        for place in &mut upcoming {
            if process == NONE {
                // Two windows at most: later ones are prefetched from the next visit.
                if window != self.now {
                    break;
                }
                let Some(next) = self.occupied.next(self.now + 1) else {
                    break;
                };
                window = next;
                process = self.heads[window as usize % BUCKETS];
            }
            *place = Some(process);
            process = self.next[process as usize];
        }
        upcoming
    }

    /// Prefetches the state of a process.
    #[inline]
    pub(super) fn prefetch(&self, process: u32) {
        prefetch(&self.next[process as usize]);
    }

    /// Advances to the next window with a visit.
    fn advance(&mut self) -> Option<()> {
        let ring = self.occupied.next(self.now);
        let later = self.later.peek().map(|Reverse((window, _))| *window);
        self.now = match (ring, later) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        while let Some(Reverse((window, process))) = self.later.peek().copied() {
            if window - self.now >= BUCKETS as u64 {
                break;
            }
            self.later.pop();
            self.link(process, window);
        }
        Some(())
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        (BUCKETS + self.next.len()) * 4 + self.later.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_come_in_order_of_windows(at in prop::collection::vec(0..9_000_000_u64, 1..100)) {
            let mut calendar = Calendar::new(at.len(), 100);
            for (process, at) in at.iter().enumerate() {
                calendar.visit(process as u32, *at);
            }
            let mut expected: Vec<u64> = at.iter().map(|at| at / 64).collect();
            let (mut visits, mut last) = (0, 0);
            while let Some(process) = calendar.next() {
                let window = expected[process as usize];
                prop_assert_eq!(calendar.begin_ns(), window * 64);
                prop_assert_eq!(calendar.end_ns(), (window + 1) * 64);
                prop_assert!(window >= last);
                (last, visits) = (window, visits + 1);
                // A visit in the past is one in the present window.
                if visits % 3 == 0 && visits < 400 {
                    calendar.visit(process, 0);
                } else if visits % 3 == 1 && visits < 400 {
                    calendar.visit(process, window * 64 + 448_000);
                    expected[process as usize] = window + 7000;
                } else {
                    expected[process as usize] = u64::MAX;
                }
            }
            prop_assert!(expected.iter().all(|window| *window == u64::MAX));
        }
    }
}
