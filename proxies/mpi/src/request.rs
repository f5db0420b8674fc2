//! Requests of MPI: what each moves, from the call that made it to the one that completes it.
//!
//! ```text
//! MPI_Isend, MPI_Ibcast, …      the call has its bytes; so has the one that completes the request
//! MPI_Send_init, …              no bytes move yet; MPI_Start has them, and the one that completes the request
//! MPI_Wait, MPI_Testsome, …     the bytes of the requests that it found complete, and their peer if it is one; of receives those
//!                               that their statuses tell
//! ```
//!
//! MPICH gives one request to all sends that are complete at once, so a handle may stand for several: the first made is the first
//! completed.

use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::handle::is_open_mpi;
use crate::message::{Arguments, Language, Moved};

/// What a function does with requests; generated from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    None,
    /// Begins what another call completes.
    Begins {
        /// Place of the request.
        at: usize,
        /// Whether it is completed with a status.
        is_receive: bool,
    },
    /// Makes a request that is started later, and again.
    Prepares {
        /// Place of the request.
        at: usize,
        /// Whether it is completed with a status.
        is_receive: bool,
    },
    /// Receives a message, or finds one.
    Receives {
        /// Place of the status.
        status: usize,
        /// Place of what says whether there is a message.
        flag: Option<usize>,
    },
    /// Starts one.
    StartsOne,
    /// Starts an array of them.
    StartsAll,
    /// Completes some.
    Completes(Completion),
    /// Frees one.
    Frees,
}

/// Which requests a call completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// `(request, status)`
    Wait,
    /// `(request, flag, status)`
    Test,
    /// `(count, requests, statuses)`
    Waitall,
    /// `(count, requests, flag, statuses)`
    Testall,
    /// `(count, requests, index, status)`
    Waitany,
    /// `(count, requests, index, flag, status)`
    Testany,
    /// `(count, requests, n_complete, indices, statuses)`, as of `MPI_Testsome`
    Waitsome,
}

impl Completion {
    /// Place of the requests, and of their number where there is one.
    fn places(self) -> (Option<usize>, usize) {
        match self {
            Self::Wait | Self::Test => (None, 0),
            _ => (Some(0), 1),
        }
    }

    /// Place of the status or statuses.
    fn status(self) -> usize {
        match self {
            Self::Wait => 1,
            Self::Test | Self::Waitall => 2,
            Self::Testall | Self::Waitany => 3,
            Self::Testany | Self::Waitsome => 4,
        }
    }
}

impl Role {
    /// Place and number of the statuses that a call gets.
    ///
    /// # Arguments
    /// * `n_requests` - those of the call
    pub(crate) fn statuses(self, n_requests: usize) -> Option<(usize, usize)> {
        match self {
            Self::Receives { status, .. } => Some((status, 1)),
            Self::Completes(how) if n_requests > 0 => Some((how.status(), n_requests)),
            _ => None,
        }
    }
}

/// A handle, which is another number in Fortran than in C under Open MPI. MPICH's is the same, and a request that one language
/// makes is completed by the other: `mpi_f08` goes to C to make it.
type Key = (Language, usize);

#[derive(Clone, Copy, Debug)]
struct Pending {
    moved: Moved,
    is_persistent: bool,
    is_receive: bool,
    /// Whether it has been started and not completed.
    is_active: bool,
}

/// What one handle stands for, the first made first.
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

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// All requests that were made and not completed.
///
/// The first one of a handle lies in a slot if that is free; what comes later, or finds it taken, in the map.
struct Table {
    slots: [Option<(Key, Pending)>; N_SLOTS],
    others: HashMap<Key, Queue, BuildHasherDefault<HandleHasher>>,
}

/// Slots of the table, a power of two.
const N_SLOTS: usize = 256;

impl Table {
    #[inline]
    fn place(key: Key) -> usize {
        let mut hasher = HandleHasher::default();
        hasher.write_u64(key.1 as u64 ^ (key.0 as u64) << (u64::BITS - 1));
        hasher.finish() as usize % N_SLOTS
    }

    /// The first request that a handle stands for.
    #[inline]
    fn first(&mut self, key: Key) -> Option<&mut Pending> {
        match &mut self.slots[Self::place(key)] {
            Some((kept, first)) if *kept == key => Some(first),
            _ if self.others.is_empty() => None,
            _ => self.others.get_mut(&key).map(|queue| &mut queue.first),
        }
    }

    #[inline]
    fn push(&mut self, key: Key, made: Pending) {
        let slot = &mut self.slots[Self::place(key)];
        // Behind those of the same handle that are in the map.
        if slot.is_none() && (self.others.is_empty() || !self.others.contains_key(&key)) {
            *slot = Some((key, made));
            return;
        }
        match self.others.get_mut(&key) {
            Some(queue) => queue.others.push_back(made),
            None => {
                let others = VecDeque::new();
                let queue = Queue {
                    first: made,
                    others,
                };
                self.others.insert(key, queue);
            }
        }
    }

    /// Takes out the first request that a handle stands for.
    #[inline]
    fn pop(&mut self, key: Key) -> Option<Pending> {
        let slot = &mut self.slots[Self::place(key)];
        if let Some((kept, first)) = slot
            && *kept == key
        {
            let first = *first;
            *slot = None;
            return Some(first);
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

    /// What a request that is complete was to move; nothing if it was not active.
    #[inline]
    fn take(&mut self, key: Key) -> Option<Pending> {
        let first = self.first(key)?;
        if first.is_persistent {
            let was_active = std::mem::replace(&mut first.is_active, false);
            return was_active.then_some(*first);
        }
        self.pop(key)
    }
}

/// The table, behind a lock that is held for a few instructions: an uncontended one of the standard library costs twice as much.
struct Shared {
    is_taken: AtomicBool,
    table: UnsafeCell<Table>,
}

// SAFETY: the table is touched by who has the lock only.
unsafe impl Sync for Shared {}

static PENDING: Shared = Shared {
    is_taken: AtomicBool::new(false),
    table: UnsafeCell::new(Table {
        slots: [None; N_SLOTS],
        others: HashMap::with_hasher(BuildHasherDefault::new()),
    }),
};

/// The table, as long as the lock is held.
struct Held<'a>(&'a Shared);

impl Deref for Held<'_> {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        // SAFETY: the lock is held.
        unsafe { &*self.0.table.get() }
    }
}

impl DerefMut for Held<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Table {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.table.get() }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

#[inline]
fn pending() -> Held<'static> {
    while PENDING.is_taken.swap(true, Ordering::Acquire) {
        while PENDING.is_taken.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    }
    Held(&PENDING)
}

/// Forgets all requests: calls that are not recorded make and complete some as well.
pub(crate) fn forget() {
    let mut pending = pending();
    pending.slots.fill(None);
    pending.others.clear();
}

/// Requests of a call that are kept without being allocated.
const N_FEW: usize = 4;

/// The requests of a call, as they are before it.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    keys: SmallVec<[Key; N_FEW]>,
}

impl Requests {
    /// Reads the handles that the call has.
    ///
    /// # Safety
    /// The arguments are those of a call of a function of this role that MPI is about to get.
    #[inline]
    pub(crate) unsafe fn before(role: Role, arguments: Arguments<'_>) -> Self {
        let (count, requests) = match role {
            Role::Completes(completion) => completion.places(),
            Role::StartsAll => (Some(0), 1),
            Role::StartsOne | Role::Frees => (None, 0),
            Role::None | Role::Begins { .. } | Role::Prepares { .. } | Role::Receives { .. } => {
                return Self::default();
            }
        };
        // SAFETY: MPI reads the number and as many handles.
        let keys = unsafe {
            let n = count.map_or(1, |at| arguments.number(at, false));
            (0..n.max(0) as usize)
                .map(|index| key(arguments, requests, index))
                .collect()
        };
        Self { keys }
    }

    /// Number of the handles.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// What the requests to be started move together.
    pub(crate) fn to_be_started(&self) -> Moved {
        let mut pending = pending();
        let keys = self.keys.iter();
        Moved::sum(keys.filter_map(|key| pending.first(*key).map(|first| first.moved)))
    }

    /// Takes note of what a call that succeeded did with its requests, and reads what was received.
    ///
    /// # Arguments
    /// * `moved` - what the call's own arguments say
    ///
    /// # Returns
    /// What the call moved, or what the requests did that it completed.
    ///
    /// # Safety
    /// As for [`Requests::before`], after the call.
    #[inline]
    pub(crate) unsafe fn after(&self, role: Role, arguments: Arguments<'_>, moved: Moved) -> Moved {
        // SAFETY: MPI has written the request there, what it found complete, and the statuses.
        unsafe {
            match role {
                Role::None => moved,
                Role::Receives { flag: Some(at), .. } if arguments.pointed(at, 0) == 0 => moved,
                Role::Receives { status, .. } => match arguments.status(status, 0, false) {
                    Some(received) => moved.received(received),
                    None => moved,
                },
                Role::Begins { at, is_receive } => {
                    insert(key(arguments, at, 0), moved, false, is_receive);
                    moved
                }
                Role::Prepares { at, is_receive } => {
                    insert(key(arguments, at, 0), moved, true, is_receive);
                    moved.without_bytes()
                }
                Role::StartsOne | Role::StartsAll => {
                    self.start();
                    moved
                }
                Role::Completes(completion) => self.complete(completion, arguments),
                Role::Frees => {
                    let mut pending = pending();
                    for key in &self.keys {
                        let _ = pending.pop(*key);
                    }
                    moved
                }
            }
        }
    }

    fn start(&self) {
        let mut pending = pending();
        for key in &self.keys {
            if let Some(first) = pending.first(*key) {
                first.is_active = true;
            }
        }
    }

    /// What the requests moved that the call found complete.
    ///
    /// # Safety
    /// As for [`Requests::after`].
    unsafe fn complete(&self, completion: Completion, arguments: Arguments<'_>) -> Moved {
        let mut table = pending();
        let status = completion.status();
        // SAFETY: MPI has written flag, index, or number and indices, and a status for each that it found complete.
        unsafe {
            let number = |place: usize| arguments.pointed(place, 0);
            let told: SmallVec<[i64; N_FEW]> = match completion {
                Completion::Waitany | Completion::Testany => SmallVec::from_elem(number(2), 1),
                Completion::Waitsome => {
                    let n = number(2).max(0) as usize;
                    (0..n).map(|nth| arguments.pointed(3, nth)).collect()
                }
                _ => SmallVec::new(),
            };
            let first = self.first_place(&mut table, &told, arguments);
            let mut take = |index: usize, nth: usize| {
                let pending = table.take(*self.keys.get(index)?)?;
                let received = match pending.is_receive {
                    true => arguments.status(status, nth, true),
                    false => None,
                };
                Some(received.map_or(pending.moved, |received| pending.moved.received(received)))
            };
            match completion {
                Completion::Test if number(1) == 0 => Moved::NOTHING,
                Completion::Testall if number(2) == 0 => Moved::NOTHING,
                Completion::Testany if number(3) == 0 => Moved::NOTHING,
                Completion::Wait | Completion::Test => take(0, 0).unwrap_or(Moved::NOTHING),
                Completion::Waitall | Completion::Testall => {
                    Moved::sum((0..self.len()).filter_map(|index| take(index, index)))
                }
                // Where there is none the place is negative.
                Completion::Waitany | Completion::Testany | Completion::Waitsome => {
                    let told = told.iter().enumerate();
                    Moved::sum(
                        told.filter_map(|(nth, place)| {
                            take(usize::try_from(place - first).ok()?, nth)
                        }),
                    )
                }
            }
        }
    }

    /// What the first place of an array is counted as.
    ///
    /// Fortran counts from 1; but MPICH's `mpi_f08` counts from 0 where its function is called, and from 1 where that returns. So
    /// there it is told by the places themselves: those requests are gone from the array, or persistent.
    ///
    /// # Arguments
    /// * `told` - the places of complete requests, as MPI tells them
    ///
    /// # Safety
    /// As for [`Requests::after`], for an array at place 1.
    #[inline]
    unsafe fn first_place(&self, table: &mut Table, told: &[i64], arguments: Arguments<'_>) -> i64 {
        if arguments.language == Language::C {
            return 0;
        }
        let mut is_complete = |place: i64| {
            let index = usize::try_from(place).ok();
            let before = index.and_then(|index| Some((index, self.keys.get(index)?)));
            before.is_some_and(|(index, before)| {
                let is_persistent = table
                    .first(*before)
                    .is_some_and(|first| first.is_persistent);
                // SAFETY: required of the caller.
                is_persistent || unsafe { key(arguments, 1, index) } != *before
            })
        };
        let mut fits = |first: &i64| told.iter().all(|place| is_complete(place - first));
        [1, 0].into_iter().find(|first| fits(first)).unwrap_or(1)
    }
}

/// The handle at a place of an array.
///
/// # Safety
/// There is an array of handles at the place, with more than `index` of them.
unsafe fn key(arguments: Arguments<'_>, at: usize, index: usize) -> Key {
    let language = match arguments.language {
        Language::Fortran if is_open_mpi() => Language::Fortran,
        _ => Language::C,
    };
    let array = arguments.words[at];
    // SAFETY: required of the caller; handles in Fortran are integers, in C as `is_open_mpi` says.
    let handle = unsafe {
        if language == Language::C && is_open_mpi() {
            (array as *const usize).add(index).read()
        } else {
            (array as *const u32).add(index).read() as usize
        }
    };
    (language, handle)
}

#[inline]
fn insert(key: Key, moved: Moved, is_persistent: bool, is_receive: bool) {
    let made = Pending {
        moved,
        is_persistent,
        is_receive,
        is_active: !is_persistent,
    };
    pending().push(key, made);
}
