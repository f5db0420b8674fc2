//! The table of requests that were made and not completed.
//!
//! MPICH gives one request to all sends that are complete at once, so a handle may belong to several: the first made is
//! the first completed.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::message::{Language, Moved};
use crate::shared::{Shared, TableGuard};

/// A handle, which is another number in Fortran than in C under Open MPI. MPICH's is the same, and a request that one language
/// makes is completed by the other: `mpi_f08` goes to C to make it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key(u64);

impl Key {
    /// Not a handle of a request that was made: 0 is none in C, and the null handle of Open MPI in
    /// Fortran.
    const NONE: Self = Self(0);

    pub(crate) fn new(language: Language, handle: usize) -> Self {
        // No address and no integer of 32 bits has the uppermost bit.
        Self(handle as u64 | u64::from(language == Language::Fortran) << (u64::BITS - 1))
    }
}

/// A request that was made and not completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) moved: Moved,
    pub(crate) is_persistent: bool,
    /// Whether it is completed with a status.
    pub(crate) is_receive: bool,
    /// Whether it sends to one rank, each time that it is started.
    pub(crate) is_send: bool,
    /// Whether it has been started and not completed.
    pub(crate) is_active: bool,
}

impl Pending {
    /// None.
    const NOTHING: Self = Self {
        moved: Moved::NOTHING,
        is_persistent: false,
        is_receive: false,
        is_send: false,
        is_active: false,
    };
}

/// Requests of one handle, the first made first.
#[derive(Debug)]
struct Queue {
    first: Pending,
    others: VecDeque<Pending>,
}

/// Mixes the bits of handles, which differ in a few only.
#[derive(Clone, Copy, Debug, Default)]
struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        // The multiplier is 2⁶⁴ divided by the golden ratio.
        let mixed = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Room for the first request of a handle.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// [`Key::NONE`] if it is free.
    key: Key,
    pending: Pending,
}

/// All requests that were made and not completed.
///
/// The first request of a handle is in a slot if that is free; later ones, and those that find it taken, are
/// in the map.
pub(crate) struct Table {
    slots: [Slot; N_SLOTS],
    others: HashMap<Key, Queue, BuildHasherDefault<HandleHasher>>,
    /// Requests that have begun so far.
    n_begun: i64,
}

/// Slots of the table, a power of two.
const N_SLOTS: usize = 256;

impl Table {
    const fn new() -> Self {
        let free = Slot {
            key: Key::NONE,
            pending: Pending::NOTHING,
        };
        Self {
            slots: [free; N_SLOTS],
            others: HashMap::with_hasher(BuildHasherDefault::new()),
            n_begun: 0,
        }
    }

    /// The number of a request that begins now.
    #[inline(always)]
    pub(crate) fn next_number(&mut self) -> i64 {
        self.n_begun += 1;
        self.n_begun - 1
    }

    #[inline(always)]
    fn slot(&mut self, key: Key) -> &mut Slot {
        let mut hasher = HandleHasher::default();
        hasher.write_u64(key.0);
        &mut self.slots[hasher.finish() as usize % N_SLOTS]
    }

    /// The first request of a handle.
    #[inline(always)]
    pub(crate) fn first(&mut self, key: Key) -> Option<&mut Pending> {
        if self.slot(key).key == key {
            return Some(&mut self.slot(key).pending);
        }
        if self.others.is_empty() {
            return None;
        }
        self.others.get_mut(&key).map(|queue| &mut queue.first)
    }

    /// Forgets a receive of a handle that MPI gives to another one: no two receives that move anything have one handle, so
    /// the first has ended, in a call that an error handler left with a jump.
    #[inline(always)]
    pub(crate) fn forget_abandoned(&mut self, key: Key) {
        let is_receive =
            |first: &mut Pending| first.is_receive && !first.is_persistent && first.moved.bytes > 0;
        if self.slot(key).key == key && self.first(key).is_some_and(is_receive) {
            let _ = self.pop(key);
        }
    }

    /// The place of a new request; the caller writes the request there.
    #[inline(always)]
    pub(crate) fn place(&mut self, key: Key) -> &mut Pending {
        // Behind the requests of the same handle that are in the map.
        let is_first = self.others.is_empty() || !self.others.contains_key(&key);
        if is_first && self.slot(key).key == Key::NONE {
            let slot = self.slot(key);
            slot.key = key;
            &mut slot.pending
        } else {
            self.place_behind(key)
        }
    }

    #[cold]
    fn place_behind(&mut self, key: Key) -> &mut Pending {
        let queue = match self.others.entry(key) {
            Entry::Vacant(free) => {
                let others = VecDeque::new();
                let first = Pending::NOTHING;
                return &mut free.insert(Queue { first, others }).first;
            }
            Entry::Occupied(taken) => taken.into_mut(),
        };
        queue.others.push_back(Pending::NOTHING);
        let last = queue.others.len() - 1;
        &mut queue.others[last]
    }

    /// Removes the first request of a handle.
    #[inline(always)]
    pub(crate) fn pop(&mut self, key: Key) -> Option<Pending> {
        let slot = self.slot(key);
        if slot.key == key {
            slot.key = Key::NONE;
            return Some(slot.pending);
        }
        if self.others.is_empty() {
            return None;
        }
        let queue = self.others.get_mut(&key)?;
        match queue.others.pop_front() {
            Some(next) => Some(std::mem::replace(&mut queue.first, next)),
            None => self.others.remove(&key).map(|queue| queue.first),
        }
    }

    /// The data that a complete request was to move; nothing if it was not active.
    #[inline(always)]
    pub(crate) fn take(&mut self, key: Key) -> Option<Pending> {
        let first = self.first(key)?;
        if first.is_persistent {
            let was_active = std::mem::replace(&mut first.is_active, false);
            return was_active.then_some(*first);
        }
        self.pop(key)
    }
}

static PENDING: Shared<Table> = Shared::new(Table::new());

/// The table of this process.
#[inline(always)]
pub(crate) fn pending() -> TableGuard<'static, Table> {
    PENDING.enter()
}

/// Forgets all requests: calls that are not recorded make and complete some as well.
pub(crate) fn forget() {
    let mut pending = pending();
    pending
        .slots
        .iter_mut()
        .for_each(|slot| slot.key = Key::NONE);
    pending.others.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key(7);

    fn made(bytes: i64) -> Pending {
        let mut moved = Moved::NOTHING;
        moved.bytes = bytes;
        Pending {
            moved,
            is_persistent: false,
            is_receive: false,
            is_send: false,
            is_active: true,
        }
    }

    #[test]
    fn a_handle_that_stands_for_several_gives_the_first_made_first() {
        let mut table = Table::new();
        let mut taken = Vec::new();
        for bytes in 0..4 {
            *table.place(KEY) = made(2 * bytes);
            *table.place(KEY) = made(2 * bytes + 1);
            taken.extend(table.take(KEY));
        }
        taken.extend((0..5).filter_map(|_| table.take(KEY)));
        let taken: Vec<_> = taken.iter().map(|pending| pending.moved.bytes).collect();
        assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn handles_that_share_a_slot_are_distinguished() {
        let mut table = Table::new();
        let keys = (1..1_000).map(Key);
        keys.clone()
            .for_each(|key| *table.place(key) = made(key.0 as i64));
        for key in keys.rev() {
            let taken = table.take(key).map(|pending| pending.moved.bytes);
            assert_eq!(taken, Some(key.0 as i64));
            assert!(table.first(key).is_none());
        }
    }

    #[test]
    fn a_receive_that_was_left_by_a_jump_is_forgotten() {
        let mut table = Table::new();
        let received = |bytes| Pending {
            is_receive: true,
            ..made(bytes)
        };
        *table.place(KEY) = received(8);
        table.forget_abandoned(KEY);
        *table.place(KEY) = received(9);
        let taken = table.take(KEY).map(|pending| pending.moved.bytes);
        assert_eq!((taken, table.first(KEY).is_none()), (Some(9), true));
        // Sends that are complete at once share a handle.
        *table.place(KEY) = made(1);
        table.forget_abandoned(KEY);
        assert!(table.first(KEY).is_some());
    }

    #[test]
    fn a_persistent_request_counts_when_it_was_started() {
        let mut table = Table::new();
        *table.place(KEY) = Pending {
            is_persistent: true,
            is_active: false,
            ..made(8)
        };
        assert!(table.take(KEY).is_none());
        for _ in 0..2 {
            table.first(KEY).expect("it was pushed").is_active = true;
            assert!(table.take(KEY).is_some());
            assert!(table.take(KEY).is_none());
        }
        assert!(table.pop(KEY).is_some() && table.first(KEY).is_none());
    }
}
