//! Which process is to be visited when: buckets of one window each, processes linked through them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of the ring.
const BUCKETS: usize = 4096;

/// No process.
const NONE: u32 = u32::MAX;

/// In no bucket.
const IDLE: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Place {
    next: u32,
    previous: u32,
    /// Window the process is to be visited in.
    window: u64,
}

/// Visits in order of windows; a process has at most one.
///
/// Windows less than [`BUCKETS`] ahead are a ring of linked lists, later ones wait in a heap, whose
/// entries count only while they are the visit that their process has.
pub(super) struct Calendar {
    /// Nanoseconds of a window, ≥ 1.
    width_ns: u64,
    now: u64,
    heads: Vec<u32>,
    /// One bit a bucket that is not empty.
    filled: Vec<u64>,
    places: Vec<Place>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    pub(super) fn new(processes: usize, width_ns: u64) -> Self {
        let place = Place {
            next: NONE,
            previous: NONE,
            window: IDLE,
        };
        Self {
            width_ns: width_ns.max(1),
            now: 0,
            heads: vec![NONE; BUCKETS],
            filled: vec![0; BUCKETS / 64],
            places: vec![place; processes],
            later: BinaryHeap::new(),
        }
    }

    /// End of the present window, the first nanosecond that is not in it.
    pub(super) fn end_ns(&self) -> u64 {
        (self.now + 1).saturating_mul(self.width_ns)
    }

    /// Has `process` visited at `at_ns`, or in the present window if that is past, but not later
    /// than it is to be anyway.
    #[inline]
    pub(super) fn visit(&mut self, process: u32, at_ns: u64) {
        let window = (at_ns / self.width_ns).max(self.now);
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
            self.later.push(Reverse((window, process)));
        }
    }

    fn link(&mut self, process: u32) {
        let bucket = self.places[process as usize].window as usize % BUCKETS;
        let next = self.heads[bucket];
        let place = &mut self.places[process as usize];
        (place.next, place.previous) = (next, NONE);
        if next != NONE {
            self.places[next as usize].previous = process;
        }
        self.heads[bucket] = process;
        self.filled[bucket / 64] |= 1 << (bucket % 64);
    }

    fn unlink(&mut self, process: u32) {
        let Place {
            next,
            previous,
            window,
        } = self.places[process as usize];
        if next != NONE {
            self.places[next as usize].previous = previous;
        }
        if previous == NONE {
            let bucket = window as usize % BUCKETS;
            self.heads[bucket] = next;
            if next == NONE {
                self.filled[bucket / 64] &= !(1 << (bucket % 64));
            }
        } else {
            self.places[previous as usize].next = next;
        }
    }

    /// Takes a process to visit out of the earliest window that has one; that window is the present
    /// one from then on.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u32> {
        let bucket = self.now as usize % BUCKETS;
        let mut head = self.heads[bucket];
        if head == NONE {
            self.advance()?;
            head = self.heads[self.now as usize % BUCKETS];
        }
        self.unlink(head);
        self.places[head as usize].window = IDLE;
        Some(head)
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
        let Place {
            previous, window, ..
        } = self.places[process as usize];
        previous != NONE || self.heads[window as usize % BUCKETS] == process
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
        self.heads.len() * 4
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
                *earliest = (*earliest).min(at / 100);
            }
            let mut last = 0;
            while let Some(process) = calendar.next() {
                let window = std::mem::replace(&mut expected[process as usize], u64::MAX);
                prop_assert_eq!(window, calendar.now);
                prop_assert!(window >= last);
                prop_assert_eq!(calendar.end_ns(), (window + 1) * 100);
                last = window;
                // A visit in the past is one in the present window.
                if window % 3 == 0 && window > 0 {
                    calendar.visit(process, window * 100 + 700_000);
                    expected[process as usize] = window + 7000;
                }
                if calendar.now > 400_000 {
                    break;
                }
            }
        }
    }
}
