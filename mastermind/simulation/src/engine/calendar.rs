//! Which process is to be visited when: buckets of one window each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of the ring.
const BUCKETS: usize = 2048;

/// In no bucket of the ring.
const NONE: u32 = u32::MAX;

/// No visit.
const IDLE: u64 = u64::MAX;

/// Room that an emptied bucket keeps.
const KEPT: usize = 8;

#[derive(Clone, Copy)]
struct Place {
    /// Window the process is to be visited in.
    window: u64,
    /// Its place in the bucket.
    position: u32,
}

/// Visits in order of windows; a process has at most one.
///
/// Windows less than [`BUCKETS`] ahead are a ring of lists, later ones wait in a heap, whose
/// entries count only while they are the visit that their process has.
pub(super) struct Calendar {
    /// A window has two to the power of this nanoseconds.
    shift: u32,
    now: u64,
    buckets: Vec<Vec<u32>>,
    /// One bit a bucket that is not empty.
    filled: Vec<u64>,
    places: Vec<Place>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// Windows of at most `longest_ns`, 1 ns at least.
    pub(super) fn new(processes: usize, longest_ns: u64) -> Self {
        let place = Place {
            window: IDLE,
            position: NONE,
        };
        Self {
            shift: longest_ns.clamp(1, 1 << 40).ilog2(),
            now: 0,
            buckets: vec![Vec::new(); BUCKETS],
            filled: vec![0; BUCKETS / 64],
            places: vec![place; processes],
            later: BinaryHeap::new(),
        }
    }

    /// Begin of the present window.
    pub(super) fn begin_ns(&self) -> u64 {
        self.now << self.shift
    }

    /// End of the present window, the first nanosecond that is not in it.
    pub(super) fn end_ns(&self) -> u64 {
        (self.now + 1) << self.shift
    }

    /// Has `process` visited at `at_ns`, or in the present window if that is past, but not later
    /// than it is to be anyway.
    #[inline]
    pub(super) fn visit(&mut self, process: u32, at_ns: u64) {
        let window = (at_ns >> self.shift).max(self.now);
        let had = self.places[process as usize].window;
        if had <= window {
            return;
        }
        if had != IDLE && had - self.now < BUCKETS as u64 {
            self.unlink(process);
        }
        self.places[process as usize].window = window;
        if window - self.now < BUCKETS as u64 {
            self.link(process);
        } else {
            self.places[process as usize].position = NONE;
            self.later.push(Reverse((window, process)));
        }
    }

    #[inline]
    fn link(&mut self, process: u32) {
        let place = &mut self.places[process as usize];
        let bucket = place.window as usize % BUCKETS;
        place.position = self.buckets[bucket].len() as u32;
        self.buckets[bucket].push(process);
        self.filled[bucket / 64] |= 1 << (bucket % 64);
    }

    fn unlink(&mut self, process: u32) {
        let Place { window, position } = self.places[process as usize];
        let bucket = window as usize % BUCKETS;
        self.buckets[bucket].swap_remove(position as usize);
        if let Some(moved) = self.buckets[bucket].get(position as usize) {
            self.places[*moved as usize].position = position;
        } else if self.buckets[bucket].is_empty() {
            self.empty(bucket);
        }
    }

    fn empty(&mut self, bucket: usize) {
        self.filled[bucket / 64] &= !(1 << (bucket % 64));
        if self.buckets[bucket].capacity() > KEPT {
            self.buckets[bucket] = Vec::new();
        }
    }

    /// Takes a process to visit out of the earliest window that has one; that window is the present
    /// one from then on.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u32> {
        let mut bucket = self.now as usize % BUCKETS;
        if self.buckets[bucket].is_empty() {
            self.advance()?;
            bucket = self.now as usize % BUCKETS;
        }
        let process = self.buckets[bucket].pop()?;
        if self.buckets[bucket].is_empty() {
            self.empty(bucket);
        }
        self.places[process as usize].window = IDLE;
        Some(process)
    }

    /// The process to be visited `after` others from now, as far as the present window tells.
    #[inline]
    pub(super) fn upcoming(&self, after: usize) -> Option<u32> {
        let bucket = &self.buckets[self.now as usize % BUCKETS];
        bucket.get(bucket.len().wrapping_sub(1 + after)).copied()
    }

    /// Goes on to the next window with a visit.
    fn advance(&mut self) -> Option<()> {
        let ring = self.next_in_ring();
        let later = loop {
            match self.later.peek() {
                None => break None,
                Some(Reverse((window, process))) => {
                    if self.places[*process as usize].window == *window {
                        break Some(*window);
                    }
                    self.later.pop();
                }
            }
        };
        self.now = match (ring, later) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        while let Some(Reverse((window, process))) = self.later.peek().copied() {
            if window - self.now >= BUCKETS as u64 {
                break;
            }
            self.later.pop();
            // An entry may be stale, or a second one of the same visit.
            if self.places[process as usize].window == window && !self.is_linked(process) {
                self.link(process);
            }
        }
        Some(())
    }

    fn is_linked(&self, process: u32) -> bool {
        self.places[process as usize].position != NONE
    }

    fn next_in_ring(&self) -> Option<u64> {
        let start = self.now as usize % BUCKETS;
        let words = BUCKETS / 64;
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.filled[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (bucket + BUCKETS - start) % BUCKETS;
                return Some(self.now + ahead as u64);
            }
        }
        None
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let buckets = self.buckets.iter().map(Vec::capacity).sum::<usize>();
        buckets * 4
            + self.buckets.len() * size_of::<Vec<u32>>()
            + self.places.capacity() * size_of::<Place>()
            + self.later.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_come_in_order_of_windows(visits in prop::collection::vec((0..40_u32, 0..9_000_000_u64), 1..200)) {
            let mut calendar = Calendar::new(40, 100);
            let mut expected = [u64::MAX; 40];
            for (process, at) in &visits {
                calendar.visit(*process, *at);
                let earliest = &mut expected[*process as usize];
                *earliest = (*earliest).min(at / 64);
            }
            let mut last = 0;
            while let Some(process) = calendar.next() {
                let window = std::mem::replace(&mut expected[process as usize], u64::MAX);
                prop_assert_eq!(window, calendar.now);
                prop_assert!(window >= last);
                prop_assert_eq!(calendar.end_ns(), (window + 1) * 64);
                last = window;
                // A visit in the past is one in the present window.
                if window % 3 == 0 && window > 0 {
                    calendar.visit(process, window * 64 + 448_000);
                    expected[process as usize] = window + 7000;
                }
                if calendar.now > 400_000 {
                    break;
                }
            }
        }
    }
}
