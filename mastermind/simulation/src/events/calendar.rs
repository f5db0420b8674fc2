//! Which process is to be visited when: buckets of one window each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::events::huge_pages::vec_of;
use crate::events::occupied::OccupiedBuckets;

/// Buckets of the ring.
pub(crate) const BUCKETS: usize = 2048;

/// In no bucket of the ring.
pub(crate) const NONE: u32 = u32::MAX;

/// No visit.
const IDLE: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Place {
    /// Window the process is to be visited in.
    window: u64,
    /// The process after it in its bucket, or [`NONE`].
    next: u32,
    /// The process before it, [`NONE`] where it is the first or in no bucket.
    previous: u32,
}

/// Visits in order of windows; a process has at most one.
///
/// Windows less than [`BUCKETS`] ahead are a ring of linked lists, later ones wait in a heap, whose
/// entries count only while they are the visit that their process has.
pub(crate) struct Calendar {
    /// A window has two to the power of this nanoseconds.
    shift: u32,
    now: u64,
    /// The first process of each bucket, or [`NONE`].
    heads: Vec<u32>,
    occupied: OccupiedBuckets<{ BUCKETS / 64 }>,
    places: Vec<Place>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// Windows of at most `longest_ns`, 1 ns at least.
    pub(crate) fn new(processes: usize, longest_ns: u64) -> Self {
        let place = Place {
            window: IDLE,
            next: NONE,
            previous: NONE,
        };
        Self {
            shift: longest_ns.clamp(1, 1 << 40).ilog2(),
            now: 0,
            heads: vec![NONE; BUCKETS],
            occupied: OccupiedBuckets::default(),
            places: vec_of(place, processes),
            later: BinaryHeap::new(),
        }
    }

    /// Begin of the present window.
    pub(crate) fn begin_ns(&self) -> u64 {
        self.now << self.shift
    }

    /// End of the present window, the first nanosecond that is not in it.
    pub(crate) fn end_ns(&self) -> u64 {
        (self.now + 1) << self.shift
    }

    /// Has `process` visited at `at_ns`, or in the present window if that is past, but not later
    /// than it is to be anyway.
    #[inline]
    pub(crate) fn visit(&mut self, process: u32, at_ns: u64) {
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
            self.places[process as usize].previous = NONE;
            self.later.push(Reverse((window, process)));
        }
    }

    #[inline]
    fn link(&mut self, process: u32) {
        let bucket = self.places[process as usize].window as usize % BUCKETS;
        let next = std::mem::replace(&mut self.heads[bucket], process);
        let place = &mut self.places[process as usize];
        (place.next, place.previous) = (next, NONE);
        if next == NONE {
            self.occupied.set(bucket);
        } else {
            self.places[next as usize].previous = process;
        }
    }

    /// Takes a process out of its bucket.
    #[inline]
    fn unlink(&mut self, process: u32) {
        let Place {
            window,
            next,
            previous,
        } = self.places[process as usize];
        let bucket = window as usize % BUCKETS;
        if previous == NONE {
            self.heads[bucket] = next;
            if next == NONE {
                self.occupied.clear(bucket);
            }
        } else {
            self.places[previous as usize].next = next;
        }
        if next != NONE {
            self.places[next as usize].previous = previous;
        }
    }

    /// Takes a process to visit out of the earliest window that has one; that window is the present
    /// one from then on.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        let mut process = self.heads[self.now as usize % BUCKETS];
        if process == NONE {
            self.advance()?;
            process = self.heads[self.now as usize % BUCKETS];
        }
        self.unlink(process);
        self.places[process as usize].window = IDLE;
        Some(process)
    }

    /// The process to be visited `after` others from now, as far as the present window tells.
    #[inline]
    pub(crate) fn upcoming(&self, after: usize) -> Option<u32> {
        let mut process = self.heads[self.now as usize % BUCKETS];
        for _ in 0..after {
            process = self.places.get(process as usize)?.next;
        }
        (process != NONE).then_some(process)
    }

    /// Goes on to the next window with a visit.
    fn advance(&mut self) -> Option<()> {
        let ring = self.occupied.next(self.now);
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

    /// Whether a process with a visit in the ring's windows is in its bucket.
    fn is_linked(&self, process: u32) -> bool {
        let Place {
            window, previous, ..
        } = self.places[process as usize];
        previous != NONE || self.heads[window as usize % BUCKETS] == process
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.heads.capacity() * 4
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
