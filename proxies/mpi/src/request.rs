//! Requests of MPI: what each moves, from the call that made it to the one that completes it.
//!
//! ```text
//! MPI_Isend, MPI_Ibcast, …      the call has its bytes; so has the one that completes the request
//! MPI_Send_init, …              no bytes move yet; MPI_Start has them, and the one that completes the request
//! MPI_Wait, MPI_Testsome, …     the bytes of the requests that it found complete, and their peer if it is one
//! ```
//!
//! MPICH gives one request to all sends that are complete at once, so a handle may stand for several: the first made is the first
//! completed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::message::{Arguments, Language, Moved};
use crate::target::Target;

/// What a function does with requests; generated from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    None,
    /// Begins what another call completes; the place of the request.
    Begins(usize),
    /// Makes a request that is started later, and again; its place.
    Prepares(usize),
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
}

/// A handle, which is another number in Fortran than in C under Open MPI. MPICH's is the same, and a request that one language
/// makes is completed by the other: `mpi_f08` goes to C to make it.
type Key = (Language, usize);

#[derive(Clone, Copy, Debug)]
struct Pending {
    moved: Moved,
    is_persistent: bool,
    /// Whether it has been started and not completed.
    is_active: bool,
}

static PENDING: Mutex<BTreeMap<Key, VecDeque<Pending>>> = Mutex::new(BTreeMap::new());

fn pending() -> MutexGuard<'static, BTreeMap<Key, VecDeque<Pending>>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets all requests: calls that are not recorded make and complete some as well.
pub(crate) fn forget() {
    pending().clear();
}

/// Whether the MPI of this process is Open MPI: its handles are addresses, those of MPICH and its kin numbers of 32 bits, and
/// `MPI_PROC_NULL` is another.
pub(crate) fn is_open_mpi() -> bool {
    static WORLD: Target = Target::new(c"ompi_mpi_comm_world", c"ompi_mpi_comm_world");
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| !WORLD.address_if_any().is_null())
}

/// The requests of a call, as they are before it.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    keys: Vec<Key>,
}

impl Requests {
    /// Reads the handles that the call has.
    ///
    /// # Safety
    /// The arguments are those of a call of a function of this role that MPI is about to get.
    pub(crate) unsafe fn before(role: Role, arguments: Arguments<'_>) -> Self {
        let (count, requests) = match role {
            Role::Completes(completion) => completion.places(),
            Role::StartsAll => (Some(0), 1),
            Role::StartsOne | Role::Frees => (None, 0),
            Role::None | Role::Begins(_) | Role::Prepares(_) => return Self::default(),
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

    /// What the requests to be started move together.
    pub(crate) fn to_be_started(&self) -> Moved {
        let pending = pending();
        let first = |key: &Key| pending.get(key).and_then(VecDeque::front);
        let moved = self.keys.iter().filter_map(first);
        Moved::sum(moved.map(|pending| pending.moved))
    }

    /// Takes note of what a call that succeeded did with its requests.
    ///
    /// # Arguments
    /// * `moved` - what the call's own arguments say
    ///
    /// # Returns
    /// What the call moved, or what the requests did that it completed.
    ///
    /// # Safety
    /// As for [`Requests::before`], after the call.
    pub(crate) unsafe fn after(&self, role: Role, arguments: Arguments<'_>, moved: Moved) -> Moved {
        // SAFETY: MPI has written the request there, and what it found complete.
        unsafe {
            match role {
                Role::None => moved,
                Role::Begins(at) => {
                    insert(key(arguments, at, 0), moved, false);
                    moved
                }
                Role::Prepares(at) => {
                    insert(key(arguments, at, 0), moved, true);
                    moved.without_bytes()
                }
                Role::StartsOne | Role::StartsAll => {
                    self.start();
                    moved
                }
                Role::Completes(completion) => {
                    let complete = self.complete(completion, arguments);
                    Moved::sum(complete.into_iter().filter_map(take))
                }
                Role::Frees => {
                    self.keys.iter().for_each(free);
                    moved
                }
            }
        }
    }

    fn start(&self) {
        let mut pending = pending();
        for key in &self.keys {
            if let Some(first) = pending.get_mut(key).and_then(VecDeque::front_mut) {
                first.is_active = true;
            }
        }
    }

    /// The requests that MPI has taken out of the array, which are complete, and of those that it tells the places of the persistent
    /// ones, which stay. (MPICH's `mpi_f08` counts places from 0 where its function is called, from 1 where that returns.)
    ///
    /// # Safety
    /// As for [`Requests::after`], for an array at place 1.
    unsafe fn gone_or(
        &self,
        arguments: Arguments<'_>,
        told: impl IntoIterator<Item = Key>,
    ) -> Vec<Key> {
        let is_gone = |(index, before): &(usize, &Key)| {
            // SAFETY: required of the caller.
            (unsafe { key(arguments, 1, *index) }) != **before
        };
        let gone = self.keys.iter().enumerate().filter(is_gone);
        let mut complete: Vec<Key> = gone.map(|(_, key)| *key).collect();
        complete.extend(told.into_iter().filter(is_persistent));
        complete
    }

    /// The requests that the call found complete.
    ///
    /// # Safety
    /// As for [`Requests::after`].
    unsafe fn complete(&self, completion: Completion, arguments: Arguments<'_>) -> Vec<Key> {
        // Fortran counts from 1; where there is none the index is negative in both.
        let first = i64::from(arguments.language == Language::Fortran);
        let at = |index: i64| {
            let index = usize::try_from(index - first).ok()?;
            self.keys.get(index).copied()
        };
        // SAFETY: MPI has written flag, index, or number and indices.
        unsafe {
            let told = |place: usize| arguments.pointed(place, 0);
            match completion {
                Completion::Wait | Completion::Waitall => self.keys.clone(),
                Completion::Test if told(1) != 0 => self.keys.clone(),
                Completion::Testall if told(2) != 0 => self.keys.clone(),
                Completion::Waitany => self.gone_or(arguments, at(told(2))),
                Completion::Testany if told(3) != 0 => self.gone_or(arguments, at(told(2))),
                Completion::Waitsome => {
                    let n = told(2).max(0) as usize;
                    let index = |nth| arguments.pointed(3, nth);
                    self.gone_or(arguments, (0..n).filter_map(|nth| at(index(nth))))
                }
                Completion::Test | Completion::Testall | Completion::Testany => Vec::new(),
            }
        }
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

fn insert(key: Key, moved: Moved, is_persistent: bool) {
    pending().entry(key).or_default().push_back(Pending {
        moved,
        is_persistent,
        is_active: !is_persistent,
    });
}

fn is_persistent(key: &Key) -> bool {
    let pending = pending();
    let first = pending.get(key).and_then(VecDeque::front);
    first.is_some_and(|pending| pending.is_persistent)
}

/// What a request that is complete has moved; nothing if it was not active.
fn take(key: Key) -> Option<Moved> {
    let mut pending = pending();
    let made = pending.get_mut(&key)?;
    let first = made.front_mut()?;
    let moved = first.is_active.then_some(first.moved);
    if first.is_persistent {
        first.is_active = false;
        return moved;
    }
    made.pop_front();
    if made.is_empty() {
        pending.remove(&key);
    }
    moved
}

fn free(key: &Key) {
    let mut pending = pending();
    if let Some(made) = pending.get_mut(key) {
        made.pop_front();
        if made.is_empty() {
            pending.remove(key);
        }
    }
}
