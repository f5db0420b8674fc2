//! Events by time: a calendar of buckets, each sorted when it is reached.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::engine::Filled;

/// Nanoseconds of a bucket, as a power of two.
const SHIFT: u32 = 10;

/// Buckets of the calendar: what is due later waits in a heap.
const BUCKETS: usize = 1 << 14;

/// Something that happens at a rank. Of the same time, what has the lower `order` is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) at: u64,
    /// When it was settled among all, and in the lowest bits what it is.
    pub(super) order: u64,
    pub(super) rank: u32,
    /// The operation, of the rank or of the sender of a message.
    pub(super) op: u32,
    /// The other rank of a message.
    pub(super) peer: u32,
    /// The receive that a message's bytes are for.
    pub(super) other: u32,
}

/// The calendar.
pub(super) struct Queue {
    buckets: Vec<Vec<Event>>,
    filled: Filled<{ BUCKETS / 64 }>,
    /// Number of the present bucket, counted from time 0.
    now: u64,
    /// Events of the present bucket in reverse order, and those that came after it was reached.
    present: Vec<Event>,
    new: BinaryHeap<Reverse<Event>>,
    later: BinaryHeap<Reverse<Event>>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            buckets: vec![Vec::new(); BUCKETS],
            filled: Filled::default(),
            now: 0,
            present: Vec::new(),
            new: BinaryHeap::new(),
            later: BinaryHeap::new(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let bucket = event.at >> SHIFT;
        if bucket <= self.now {
            self.new.push(Reverse(event));
        } else if bucket - self.now < BUCKETS as u64 {
            self.put(bucket, event);
        } else {
            self.later.push(Reverse(event));
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, event: Event) {
        let place = bucket as usize % BUCKETS;
        self.buckets[place].push(event);
        self.filled.set(place);
    }

    /// The earliest event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        loop {
            match (self.present.last(), self.new.peek()) {
                (None, None) => self.advance()?,
                (Some(a), Some(Reverse(b))) if b < a => return self.new.pop().map(|e| e.0),
                (None, Some(_)) => return self.new.pop().map(|e| e.0),
                _ => return self.present.pop(),
            }
        }
    }

    /// The event `after` others of the present bucket from now, but for those that are yet to come.
    #[inline]
    pub(super) fn upcoming(&self, after: usize) -> Option<&Event> {
        self.present.get(self.present.len().wrapping_sub(1 + after))
    }

    fn advance(&mut self) -> Option<()> {
        let later = self.later.peek().map(|event| event.0.at >> SHIFT);
        self.now = match (self.filled.next(self.now + 1), later) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        while let Some(Reverse(event)) = self.later.peek().copied() {
            let bucket = event.at >> SHIFT;
            if bucket - self.now >= BUCKETS as u64 {
                break;
            }
            self.later.pop();
            self.put(bucket, event);
        }
        let place = self.now as usize % BUCKETS;
        self.filled.clear(place);
        std::mem::swap(&mut self.present, &mut self.buckets[place]);
        self.present
            .sort_unstable_by_key(|event| Reverse((event.at, event.order)));
        Some(())
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let held: usize = self.buckets.iter().map(Vec::capacity).sum();
        let all = held + self.present.capacity() + self.new.capacity() + self.later.capacity();
        all * size_of::<Event>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order(begin in prop::collection::vec(0..90_000_000_u64, 1..60), after in prop::collection::vec(0..60_000_000_u64, 0..60)) {
            let mut queue = Queue::new();
            let mut order = 0;
            let mut event = |at| {
                order += 8;
                Event { at, order, rank: 0, op: 0, peer: 0, other: 0 }
            };
            for at in &begin {
                queue.push(event(*at));
            }
            let mut after = after.into_iter();
            let mut last = (0, 0);
            let (mut pushed, mut popped) = (begin.len(), 0);
            while let Some(found) = queue.pop() {
                prop_assert!((found.at, found.order) > last);
                last = (found.at, found.order);
                popped += 1;
                if let Some(wait) = after.next() {
                    queue.push(event(found.at + wait % 7000));
                    queue.push(event(found.at + wait));
                    pushed += 2;
                }
            }
            prop_assert_eq!(popped, pushed);
        }
    }
}
