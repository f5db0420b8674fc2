//! Events by time: a calendar of buckets, each sorted when it is reached.
//!
//! The engine for schedules takes single events in the order of time. The queue is a ring of
//! buckets of 256 ns: an event is appended to the bucket of its time, without a comparison, and a
//! bucket is sorted once, when time comes to it. What is sorted are 64-bit keys: the nanosecond in
//! the bucket in front of the order of scheduling.
//!
//! ```text
//! new        events of the present bucket that came after it was sorted: a small heap
//! present    the present bucket, sorted, taken from its end
//! buckets    16,384 of them, 4.2 ms: appended, unsorted
//! later      lists of as many buckets each, moved into the ring when it comes to them
//!
//! key        nanosecond in the bucket (8 bits) │ order (56 bits)
//! ```
//!
//! An event may not be scheduled before the present bucket. What an event does is not known here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::events::occupied::OccupiedBuckets;

/// Nanoseconds of a bucket, as a power of two.
const SHIFT: u32 = 8;

/// Buckets of the calendar: later events wait in lists, each for as many buckets.
const BUCKETS: usize = 1 << 14;

/// Bits of an order: the times in a bucket are above them.
pub(crate) const ORDER_BITS: u32 = u64::BITS - SHIFT;

/// Most entries of a bucket that are compared each with each.
const MAX_COUNTED: usize = 32;

/// No buffer.
const NONE: u32 = u32::MAX;

/// An event at a rank. Of events at the same time, the one with the lower `order` is first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at: u64,
    /// Its place in the order of scheduling, and in the lowest bits its type; below 2^54.
    pub(crate) order: u64,
    pub(crate) rank: u32,
    /// The operation, of the rank or of the sender of a message.
    pub(crate) op: u32,
    /// The other rank of a message.
    pub(crate) peer: u32,
    /// The receive that a message's bytes are for.
    pub(crate) other: u32,
}

/// An event in the bucket of its time. The bucket gives the upper bits of the time; the key has the
/// rest and the order, so that entries are compared by one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The time in the bucket, and in the lower bits the order.
    pub(crate) key: u64,
    pub(crate) rank: u32,
    pub(crate) op: u32,
    pub(crate) peer: u32,
    pub(crate) other: u32,
}

impl Entry {
    #[inline]
    fn of(event: &Event) -> Self {
        let Event {
            at,
            order,
            rank,
            op,
            peer,
            other,
        } = *event;
        Self {
            key: at << ORDER_BITS | order,
            rank,
            op,
            peer,
            other,
        }
    }

    /// The event, of that bucket.
    #[inline]
    fn event(&self, bucket: u64) -> Event {
        let Self {
            key,
            rank,
            op,
            peer,
            other,
        } = *self;
        Event {
            at: bucket << SHIFT | key >> ORDER_BITS,
            order: key & ((1 << ORDER_BITS) - 1),
            rank,
            op,
            peer,
            other,
        }
    }
}

/// Puts at most [`MAX_COUNTED`] entries into an empty list, the first one last: by counting for each how many are behind it, which
/// takes no branch that depends on them.
fn put_in_order(entries: &[Entry], into: &mut Vec<Entry>) {
    let mut places = [0_u32; MAX_COUNTED];
    for (i, entry) in entries.iter().enumerate() {
        let mut place = 0;
        for (earlier, other) in places.iter_mut().zip(&entries[..i]) {
            let is_behind = u32::from(other.key > entry.key);
            place += is_behind;
            *earlier += 1 - is_behind;
        }
        places[i] = place;
    }
    let mut in_order = [0_u32; MAX_COUNTED];
    for (i, place) in places[..entries.len()].iter().enumerate() {
        in_order[*place as usize] = i as u32;
    }
    into.extend(
        in_order[..entries.len()]
            .iter()
            .map(|i| entries[*i as usize]),
    );
}

/// Puts any number of entries into an empty list, the first one last: to their nanosecond, and there in order, in which most are.
fn put_by_time(entries: &[Entry], into: &mut Vec<Entry>) {
    let time = |entry: &Entry| (entry.key >> ORDER_BITS) as usize;
    let mut ends = [0_u32; 1 << SHIFT];
    entries.iter().for_each(|entry| ends[time(entry)] += 1);
    let mut end = entries.len() as u32;
    for n in &mut ends {
        end -= std::mem::replace(n, end);
    }
    into.extend_from_slice(entries);
    for entry in entries {
        let end = &mut ends[time(entry)];
        *end -= 1;
        into[*end as usize] = *entry;
    }
    for together in into.chunk_by_mut(|a, b| time(a) == time(b)) {
        if !together.is_sorted_by_key(|entry| Reverse(entry.key)) {
            together.sort_unstable_by_key(|entry| Reverse(entry.key));
        }
    }
}

/// The calendar of events: a ring of buckets for those that are near, of which only the present one
/// is sorted, and lists for later ones.
pub(crate) struct Queue {
    /// The buffer of each bucket, or [`NONE`].
    buckets: Vec<u32>,
    occupied: OccupiedBuckets<{ BUCKETS / 64 }>,
    buffers: Vec<Vec<Entry>>,
    /// Buffers of no bucket, the one used last at the end: it is still in the caches.
    free: Vec<u32>,
    /// Number of the present bucket, counted from time 0.
    now: u64,
    /// Events of the present bucket in reverse order, and those that came after it was reached.
    present: Vec<Entry>,
    new: BinaryHeap<Reverse<Entry>>,
    /// Key of the first of those, or the greatest number.
    first_new: u64,
    /// Events behind all buckets, by the number of the list.
    later: BTreeMap<u64, Vec<Event>>,
    n_later: usize,
    most_later: usize,
    /// The present bucket is another one.
    has_turned: bool,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            buckets: vec![NONE; BUCKETS],
            occupied: OccupiedBuckets::default(),
            buffers: Vec::new(),
            free: Vec::new(),
            now: 0,
            present: Vec::new(),
            new: BinaryHeap::new(),
            first_new: u64::MAX,
            later: BTreeMap::new(),
            n_later: 0,
            most_later: 0,
            has_turned: false,
        }
    }

    /// Adds an event that is not due before the present one. Inlined, so that it is written in place: copying a value
    /// that has just been written in halves stalls.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        let bucket = event.at >> SHIFT;
        debug_assert!(bucket >= self.now, "{event:?}");
        // One comparison for both ends: behind the present bucket, and less than a round ahead of
        // it.
        if bucket.wrapping_sub(self.now + 1) < BUCKETS as u64 - 1 {
            self.put(bucket, Entry::of(&event));
        } else {
            self.push_outside(event);
        }
    }

    /// Adds an event to the present bucket, or to those behind all buckets.
    #[inline(never)]
    fn push_outside(&mut self, event: Event) {
        if event.at >> SHIFT == self.now {
            let entry = Entry::of(&event);
            self.first_new = self.first_new.min(entry.key);
            self.new.push(Reverse(entry));
        } else {
            let list = (event.at >> SHIFT) / BUCKETS as u64;
            self.later.entry(list).or_default().push(event);
            self.n_later += 1;
            self.most_later = self.most_later.max(self.n_later);
        }
    }

    #[inline(always)]
    fn put(&mut self, bucket: u64, entry: Entry) {
        let place = bucket as usize % BUCKETS;
        let buffer = match self.buckets[place] {
            NONE => self.give_buffer(place),
            buffer => buffer,
        };
        self.buffers[buffer as usize].push(entry);
    }

    #[inline(never)]
    fn give_buffer(&mut self, place: usize) -> u32 {
        let buffer = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            self.buffers.len() as u32 - 1
        });
        self.buckets[place] = buffer;
        self.occupied.set(place);
        buffer
    }

    /// The earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        loop {
            if let Some(entry) = self.present.last()
                && entry.key < self.first_new
            {
                let event = entry.event(self.now);
                self.present.pop();
                return Some(event);
            }
            if let Some(Reverse(entry)) = self.new.pop() {
                self.first_new = self.new.peek().map_or(u64::MAX, |next| next.0.key);
                return Some(entry.event(self.now));
            }
            self.advance()?;
        }
    }

    /// Known events of the present bucket, the next event last.
    #[inline]
    pub(crate) fn present(&self) -> &[Entry] {
        &self.present
    }

    /// Whether the present bucket is another one than at the last call.
    #[inline]
    pub(crate) fn has_turned(&mut self) -> bool {
        std::mem::take(&mut self.has_turned)
    }

    /// Known events of the next two buckets, without those that are not scheduled yet.
    pub(crate) fn ahead(&self) -> [&[Entry]; 2] {
        let mut from = self.now;
        [(); 2].map(|()| match self.occupied.next(from + 1) {
            Some(bucket) if bucket > from => {
                from = bucket;
                let buffer = self.buckets[bucket as usize % BUCKETS];
                self.buffers
                    .get(buffer as usize)
                    .map_or(&[][..], |buffer| buffer)
            }
            _ => &[],
        })
    }

    fn advance(&mut self) -> Option<()> {
        let mut next = self.occupied.next(self.now + 1);
        if let Some((list, _)) = self.later.first_key_value() {
            let begin = list * BUCKETS as u64;
            // A later list may begin inside the present round; it is opened before its first bucket
            // is passed.
            if next.is_none_or(|next| next >= begin) {
                self.open_later(begin);
                next = self.occupied.next(begin);
            }
        }
        self.now = next?;
        let place = self.now as usize % BUCKETS;
        self.occupied.clear(place);
        let buffer = std::mem::replace(&mut self.buckets[place], NONE);
        let entries = &mut self.buffers[buffer as usize];
        if entries.len() <= MAX_COUNTED {
            put_in_order(entries, &mut self.present);
        } else {
            put_by_time(entries, &mut self.present);
        }
        entries.clear();
        self.free.push(buffer);
        self.has_turned = true;
        Some(())
    }

    /// Moves the first list of later events into the calendar, at its first bucket.
    #[cold]
    #[inline(never)]
    fn open_later(&mut self, begin: u64) {
        self.now = begin;
        let (_, events) = self.later.pop_first().unwrap_or_default();
        self.n_later -= events.len();
        for event in events {
            self.put(event.at >> SHIFT, Entry::of(&event));
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let held: usize = self.buffers.iter().map(Vec::capacity).sum();
        let entries = held + self.present.capacity() + self.new.capacity();
        entries * size_of::<Entry>()
            + self.most_later * size_of::<Event>()
            + BUCKETS * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order(
            begin in prop::collection::vec(0..90_000_000_u64, 1..60),
            together in prop::collection::vec(0..400_u64, 0..400),
            after in prop::collection::vec(0..60_000_000_u64, 0..60),
        ) {
            let mut queue = Queue::new();
            let mut n = 0;
            let mut event = |at| {
                n += 1;
                // Those that are there at the begin are not inserted in their order.
                let order = if n <= begin.len() + together.len() { n * 40_503 % (1 << 16) } else { n + (1 << 16) };
                Event { at, order: order as u64, ..Event::default() }
            };
            for at in begin.iter().chain(&together) {
                queue.push(event(*at));
            }
            let mut after = after.into_iter();
            let mut last = (0, 0);
            let (mut pushed, mut popped) = (begin.len() + together.len(), 0);
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
