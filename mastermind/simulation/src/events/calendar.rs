//! The schedule of visits: buckets of one window each.
//!
//! The engines for programs need no order within a window, so a calendar of visits need not sort: a
//! bucket is the set of processes with something to do in that window. A process has at most one
//! visit, the earliest requested one. If it moves forward, the old entry stays behind and is
//! ignored when it comes up: `windows` says where the visit of a process is.
//!
//! ```text
//! ring, by window % 2048    ... │ 17 │ 18 │ 19 │ ...               later: a heap of (window, process)
//!                                 │
//!                                 ▼ chunk: one cache line          windows[process] = 17
//!                                 [p4 p9 p2 ... 14 processes, n, next] ─▶ [...]
//! ```
//!
//! A chunk is one cache line, so a line is read for 14 processes. Events have no place here, only
//! the processes that they are at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::occupied::OccupiedBuckets;
use super::prefetch::prefetch;
use mastermind_programs::huge_pages::vec_of;

/// Buckets of the ring.
pub(crate) const BUCKETS: usize = 2048;

/// No chunk.
pub(crate) const NONE: u32 = u32::MAX;

/// No visit.
const IDLE: u64 = u64::MAX;

/// Processes of a chunk.
const MAX_CHUNK: usize = 14;

/// Some processes of a bucket: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Chunk {
    processes: [u32; MAX_CHUNK],
    n: u32,
    /// The next chunk of the bucket, or of those that are free.
    next: u32,
}

/// Visits in order of windows; a process has at most one.
///
/// Windows less than [`BUCKETS`] ahead are a ring of lists of chunks, later ones wait in a heap. An entry counts only while it
/// is the visit that its process has: a visit that moves leaves an entry behind.
pub(crate) struct Calendar {
    window_ns: u64,
    now: u64,
    /// Begin and end of the present window.
    bounds_ns: [u64; 2],
    /// The first chunk of each bucket, or [`NONE`]; it has a process.
    heads: Vec<u32>,
    occupied: OccupiedBuckets<{ BUCKETS / 64 }>,
    chunks: Vec<Chunk>,
    free: u32,
    /// By process: the window of its visit, or [`IDLE`].
    windows: Vec<u64>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// Windows of `window_ns`, 1 ns at least.
    pub(crate) fn new(processes: usize, window_ns: u64) -> Self {
        let window_ns = window_ns.clamp(1, 1 << 40);
        Self {
            window_ns,
            now: 0,
            bounds_ns: [0, window_ns],
            heads: vec![NONE; BUCKETS],
            occupied: OccupiedBuckets::default(),
            chunks: Vec::new(),
            free: NONE,
            windows: vec_of(IDLE, processes),
            later: BinaryHeap::new(),
        }
    }

    /// Begin of the present window.
    #[inline]
    pub(crate) fn begin_ns(&self) -> u64 {
        self.bounds_ns[0]
    }

    /// End of the present window, the first nanosecond that is not in it.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.bounds_ns[1]
    }

    /// Schedules a visit of `process` at `at_ns`, or in the present window if that time is past; an earlier visit that is
    /// already scheduled stays.
    #[inline]
    pub(crate) fn visit(&mut self, process: u32, at_ns: u64) {
        // A time in the past belongs to the present window, which is not over yet.
        let window = (at_ns / self.window_ns).max(self.now);
        let has = &mut self.windows[process as usize];
        if *has <= window {
            return;
        }
        *has = window;
        if window - self.now < BUCKETS as u64 {
            self.put(process, window);
        } else {
            self.later.push(Reverse((window, process)));
        }
    }

    /// Puts a process into the bucket of a window.
    #[inline]
    fn put(&mut self, process: u32, window: u64) {
        let bucket = window as usize % BUCKETS;
        let head = self.heads[bucket];
        if let Some(chunk) = self.chunks.get_mut(head as usize)
            && (chunk.n as usize) < MAX_CHUNK
        {
            chunk.processes[chunk.n as usize] = process;
            chunk.n += 1;
            return;
        }
        if head == NONE {
            self.occupied.set(bucket);
        }
        self.heads[bucket] = self.add_chunk(process, head);
    }

    /// A chunk with one process, in front of others.
    fn add_chunk(&mut self, process: u32, next: u32) -> u32 {
        let mut chunk = Chunk {
            processes: [NONE; MAX_CHUNK],
            n: 1,
            next,
        };
        chunk.processes[0] = process;
        let index = self.free;
        if index == NONE {
            self.chunks.push(chunk);
            return self.chunks.len() as u32 - 1;
        }
        self.free = self.chunks[index as usize].next;
        self.chunks[index as usize] = chunk;
        index
    }

    /// Takes a process to visit out of the present window, if it has one.
    #[inline]
    pub(crate) fn next_of_window(&mut self) -> Option<u32> {
        loop {
            let bucket = self.now as usize % BUCKETS;
            let head = self.heads[bucket];
            if head == NONE {
                return None;
            }
            let chunk = &mut self.chunks[head as usize];
            chunk.n -= 1;
            let process = chunk.processes[chunk.n as usize];
            if chunk.n == 0 {
                self.heads[bucket] = chunk.next;
                chunk.next = std::mem::replace(&mut self.free, head);
                self.prefetch_behind(self.heads[bucket]);
                if self.heads[bucket] == NONE {
                    self.occupied.clear(bucket);
                }
            }
            let window = &mut self.windows[process as usize];
            // Otherwise the entry was left behind by a visit that has moved.
            if *window == self.now {
                *window = IDLE;
                return Some(process);
            }
        }
    }

    /// Prefetches the chunk behind one.
    #[inline]
    fn prefetch_behind(&self, chunk: u32) {
        if let Some(chunk) = self.chunks.get(chunk as usize)
            && let Some(behind) = self.chunks.get(chunk.next as usize)
        {
            prefetch(behind);
        }
    }

    /// The process to be visited `after` others from now, as far as the present window and the front of the one behind
    /// it contain it; processes whose visits have moved count.
    #[inline]
    pub(crate) fn upcoming(&self, after: usize) -> Option<u32> {
        let chunk = self
            .chunks
            .get(self.heads[self.now as usize % BUCKETS] as usize)?;
        let n = chunk.n as usize;
        if after < n {
            return Some(chunk.processes[n - 1 - after]);
        }
        let next = self.chunks.get(chunk.next as usize)?;
        let after = after - n;
        (after < next.n as usize).then(|| next.processes[next.n as usize - 1 - after])
    }

    /// Prefetches the state of a process.
    #[inline]
    pub(crate) fn prefetch(&self, process: u32) {
        prefetch(&self.windows[process as usize]);
    }

    /// Advances to the next window with an entry, or to the window of `by_ns` if that is earlier.
    pub(crate) fn advance(&mut self, by_ns: Option<u64>) -> Option<()> {
        let ring = self.occupied.next(self.now);
        let later = loop {
            match self.later.peek() {
                None => break None,
                Some(Reverse((window, process))) => {
                    if self.windows[*process as usize] == *window {
                        break Some(*window);
                    }
                    self.later.pop();
                }
            }
        };
        let by = by_ns.map(|by_ns| by_ns / self.window_ns);
        self.now = [ring, later, by].into_iter().flatten().min()?;
        self.bounds_ns = [self.now, self.now + 1].map(|window| window * self.window_ns);
        // The ring has moved on, and covers more windows at its end.
        while let Some(Reverse((window, process))) = self.later.peek().copied() {
            if window - self.now >= BUCKETS as u64 {
                break;
            }
            self.later.pop();
            // An entry may be left behind, or a second one of the same visit.
            if self.windows[process as usize] == window {
                self.put(process, window);
            }
        }
        Some(())
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.heads.capacity() * 4
            + self.windows.len() * 8
            + self.chunks.len() * size_of::<Chunk>()
            + self.later.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_come_in_order_of_windows(visits in prop::collection::vec((0..40_u32, 0..9_000_000_u64), 1..200), stop in 0..9_000_000_u64) {
            let mut calendar = Calendar::new(40, 100);
            let mut expected = [u64::MAX; 40];
            for (process, at) in &visits {
                calendar.visit(*process, *at);
                let earliest = &mut expected[*process as usize];
                *earliest = (*earliest).min(at / 100);
            }
            let mut last = 0;
            // A stop in between changes nothing.
            let mut stop = (stop > 0).then_some(stop);
            while let Some(process) = loop {
                if let Some(process) = calendar.next_of_window() {
                    break Some(process);
                }
                let by_ns = stop.filter(|stop| *stop >= calendar.end_ns());
                if calendar.advance(by_ns).is_none() {
                    break None;
                }
                if stop.is_some_and(|stop| stop < calendar.end_ns()) {
                    prop_assert!(stop.take() >= Some(calendar.begin_ns()));
                }
            } {
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
            prop_assert!(last > 400_000 || expected.iter().all(|window| *window == u64::MAX));
        }
    }
}
