//! Requests of MPI: the data of each, from the call that made it to the one that completes it.
//!
//! ```text
//! MPI_Isend, MPI_Ibcast, …      the call has its bytes; so has the one that completes the request
//! MPI_Send_init, …              no bytes move yet; MPI_Start has them, and the one that completes the request; each send that was
//!                               started is a record of its own too, since one call may start several
//! MPI_Wait, MPI_Testsome, …     the bytes of the requests that it found complete, and their peer if it is the same; for receives
//!                               the bytes in their statuses
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use smallvec::SmallVec;

use crate::abi::abi;
use crate::message::{Arguments, Language, Moved};
use crate::pending::{Key, Pending, Table, pending};

/// The effect of a function on requests; generated from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    None,
    /// Begins a request that another call completes.
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
        /// Whether it sends to one rank.
        is_send: bool,
    },
    /// Receives a message, or finds one.
    Receives {
        /// Place of the status.
        status: usize,
        /// Index of the argument that tests for a message.
        flag: Option<usize>,
    },
    /// Tests whether requests are complete, and leaves them as they are.
    TestsOnly {
        /// Index of the argument that tests for a completed one.
        flag: usize,
    },
    /// Sends a message and receives one.
    Exchanges {
        /// Place of the status; before it are the source, the tag and the communicator.
        status: usize,
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

impl Role {
    /// Whether a call makes or completes one request, or receives one message, and does nothing else.
    #[inline(always)]
    pub(crate) const fn is_of_one(self) -> bool {
        matches!(
            self,
            Self::Begins { .. }
                | Self::Receives { .. }
                | Self::Completes(Completion::Wait | Completion::Test)
        )
    }

    /// Whether a call that succeeded has polled for a message or a completed request in vain.
    ///
    /// # Safety
    /// The arguments belong to a call of a function of this role that has succeeded.
    #[inline(always)]
    pub(crate) unsafe fn has_found_none(self, arguments: Arguments<'_>) -> bool {
        // SAFETY: MPI has written flag or number there.
        self.flag()
            .is_some_and(|at| unsafe { arguments.pointed(at, 0) } == 0)
    }

    /// Whether it may poll for a message or a completed request in vain.
    #[inline(always)]
    pub(crate) fn may_find_none(self) -> bool {
        self.flag().is_some()
    }

    /// Index of the argument that is not 0 if anything was found; a number or a flag.
    #[inline(always)]
    fn flag(self) -> Option<usize> {
        match self {
            Self::Receives { flag, .. } => flag,
            Self::Completes(Completion::Test) => Some(1),
            // `MPI_Waitsome` is among the latter; it never finds 0.
            Self::Completes(Completion::Testall | Completion::Waitsome) => Some(2),
            Self::Completes(Completion::Testany) => Some(3),
            Self::TestsOnly { flag } => Some(flag),
            _ => None,
        }
    }

    /// Place of the only status that a call gets.
    #[inline(always)]
    pub(crate) fn status(self) -> Option<usize> {
        match self {
            Self::Receives { status, .. } | Self::Exchanges { status } => Some(status),
            Self::Completes(how @ (Completion::Wait | Completion::Test)) => Some(how.status()),
            _ => None,
        }
    }
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

/// Requests of a call that are kept without being allocated.
const N_FEW: usize = 4;

/// The requests of a call, as they are before it.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The request of a function of a single one.
    one: Key,
    /// The requests of a function of an array.
    several: SmallVec<[Key; N_FEW]>,
    /// Each request that the call completed, if its own record does not identify them.
    pub(crate) completed: Vec<Moved>,
    /// Received data in addition to sent data.
    pub(crate) received: Option<Moved>,
}

impl Requests {
    /// Reads the handles that the call has.
    ///
    /// # Safety
    /// The arguments belong to a call of a function of this role that MPI is about to get.
    #[inline(always)]
    pub(crate) unsafe fn read(&mut self, role: Role, arguments: Arguments<'_>) {
        // SAFETY: MPI reads the handle, or the number and as many handles.
        unsafe {
            match role {
                Role::Completes(Completion::Wait | Completion::Test)
                | Role::StartsOne
                | Role::Frees => self.one = one_before(role, arguments),
                Role::Completes(_) | Role::StartsAll => self.read_several(arguments),
                Role::None
                | Role::Begins { .. }
                | Role::Prepares { .. }
                | Role::Exchanges { .. }
                | Role::TestsOnly { .. }
                | Role::Receives { .. } => {}
            }
        }
    }

    /// # Safety
    /// As for [`Requests::read`], for a function `(count, requests, …)`.
    #[inline(never)]
    unsafe fn read_several(&mut self, arguments: Arguments<'_>) {
        // SAFETY: required of the caller.
        unsafe {
            let n = arguments.number(0, false).max(0) as usize;
            let keys = (0..n).map(|index| key(arguments, 1, index));
            self.several = keys.collect();
        }
    }

    /// Place and number of the statuses that a call gets.
    #[inline(always)]
    pub(crate) fn statuses(&self, role: Role) -> Option<(usize, usize)> {
        match role {
            Role::Completes(how) if !self.several.is_empty() => {
                Some((how.status(), self.several.len()))
            }
            _ => role.status().map(|at| (at, 1)),
        }
    }

    /// The data of all requests to be started.
    #[inline(never)]
    pub(crate) fn to_be_started(&self, role: Role) -> Moved {
        let mut pending = pending();
        let keys = self.of(role).iter();
        Moved::sum(keys.filter_map(|key| pending.first(*key).map(|first| first.moved)))
    }

    /// For each request of a call that has started them, the data that it sends to one rank or receives, and
    /// whether it receives.
    #[inline(never)]
    pub(crate) fn started(&self, role: Role) -> SmallVec<[(bool, Moved); N_FEW]> {
        let mut pending = pending();
        let of_one = |first: &&mut Pending| first.is_send || first.is_receive;
        let started = self.of(role).iter().filter_map(|key| {
            let first = pending.first(*key).filter(of_one)?;
            Some((first.is_receive, first.moved))
        });
        started.collect()
    }

    /// The requests of a function of this role.
    fn of(&self, role: Role) -> &[Key] {
        match role {
            Role::StartsOne | Role::Frees => slice::from_ref(&self.one),
            _ => &self.several,
        }
    }

    /// Updates the table after a successful call, and reads the received data.
    ///
    /// # Arguments
    /// * `moved` - data by the call's own arguments
    ///
    /// # Returns
    /// The data that the call moved, or the data of the requests that it completed.
    ///
    /// # Safety
    /// As for [`Requests::read`], after the call.
    #[inline(always)]
    pub(crate) unsafe fn after(
        &mut self,
        role: Role,
        arguments: Arguments<'_>,
        moved: Moved,
    ) -> Moved {
        // SAFETY: required of the caller.
        unsafe {
            match role {
                role if role.is_of_one() => after_one(role, self.one, arguments, moved),
                Role::Exchanges { status } => {
                    let source = arguments.number(status - 3, false);
                    let tag = arguments.number(status - 2, false);
                    let received = moved.exchanged(source, tag);
                    let status = arguments.status(status, 0, false);
                    self.received =
                        Some(status.map_or(received, |status| received.received(status)));
                    moved
                }
                // No panic may reach the program; the branches above have none.
                _ => {
                    let mut others = || self.after_others(role, arguments, moved);
                    catch_unwind(AssertUnwindSafe(&mut others)).unwrap_or(moved)
                }
            }
        }
    }

    /// # Safety
    /// As for [`Requests::after`].
    #[inline(never)]
    unsafe fn after_others(&mut self, role: Role, arguments: Arguments<'_>, moved: Moved) -> Moved {
        match role {
            Role::Prepares {
                at,
                is_receive,
                is_send,
            } => {
                // SAFETY: MPI has written the request there.
                let key = unsafe { key(arguments, at, 0) };
                *pending().place(key) = Pending {
                    moved,
                    is_persistent: true,
                    is_receive,
                    is_send,
                    is_active: false,
                };
                moved.without_bytes()
            }
            Role::StartsOne | Role::StartsAll => {
                let mut pending = pending();
                for key in self.of(role) {
                    let number = pending.next_number();
                    if let Some(first) = pending.first(*key) {
                        first.is_active = true;
                        first.moved = first.moved.with_request(number);
                    }
                }
                moved
            }
            Role::Frees => {
                let _ = pending().pop(self.one);
                moved
            }
            // SAFETY: required of the caller.
            Role::Completes(completion) => unsafe { self.complete_several(completion, arguments) },
            Role::None
            | Role::Begins { .. }
            | Role::Exchanges { .. }
            | Role::TestsOnly { .. }
            | Role::Receives { .. } => moved,
        }
    }

    /// The data of the requests that the call found complete.
    ///
    /// # Safety
    /// As for [`Requests::after`], for an array of requests.
    unsafe fn complete_several(
        &mut self,
        completion: Completion,
        arguments: Arguments<'_>,
    ) -> Moved {
        let mut table = pending();
        let mut is_from_any = false;
        let mut completed = SmallVec::<[Moved; N_FEW]>::new();
        // SAFETY: MPI has written flag, index, or number and indices, and a status for each that it found complete.
        unsafe {
            let number = |place: usize| arguments.pointed(place, 0);
            let indices: SmallVec<[i64; N_FEW]> = match completion {
                Completion::Waitany | Completion::Testany => SmallVec::from_elem(number(2), 1),
                Completion::Waitsome => {
                    let n = number(2).max(0) as usize;
                    (0..n).map(|nth| arguments.pointed(3, nth)).collect()
                }
                _ => SmallVec::new(),
            };
            let first = self.first_place(&mut table, &indices, arguments);
            let mut take = |index: usize, nth: usize| {
                let key = *self.several.get(index)?;
                let begun = table.first(key).map(|first| *first);
                is_from_any |=
                    begun.is_some_and(|begun| begun.is_receive && !begun.moved.has_peer());
                take(&mut table, key, completion, arguments, nth)
            };
            match completion {
                Completion::Testall if number(2) == 0 => {}
                Completion::Testany if number(3) == 0 => {}
                // Without a completed request the index is negative.
                Completion::Waitany | Completion::Testany | Completion::Waitsome => {
                    let indices = indices.iter().enumerate();
                    completed.extend(indices.filter_map(|(nth, place)| {
                        take(usize::try_from(place - first).ok()?, nth)
                    }));
                }
                _ => {
                    let all = 0..self.several.len();
                    completed.extend(all.filter_map(|index| take(index, index)));
                }
            }
        }
        let sum = Moved::sum(completed.iter().copied());
        if sum.is_scattered() || is_from_any && completed.len() > 1 {
            self.completed = completed.into_vec();
        }
        sum
    }

    /// The number of the first element of an array.
    ///
    /// Fortran counts from 1; but MPICH's `mpi_f08` counts from 0 when its function is called, and from 1 when that
    /// returns. So it is inferred from the indices themselves: those requests are gone from the array, or persistent.
    ///
    /// # Arguments
    /// * `indices` - the indices of complete requests, as MPI returns them
    ///
    /// # Safety
    /// As for [`Requests::after`], for an array at place 1.
    #[inline]
    unsafe fn first_place(
        &self,
        table: &mut Table,
        indices: &[i64],
        arguments: Arguments<'_>,
    ) -> i64 {
        if arguments.language == Language::C {
            return 0;
        }
        let mut is_complete = |place: i64| {
            let index = usize::try_from(place).ok();
            let before = index.and_then(|index| Some((index, self.several.get(index)?)));
            before.is_some_and(|(index, before)| {
                let is_persistent = table
                    .first(*before)
                    .is_some_and(|first| first.is_persistent);
                // SAFETY: required of the caller.
                is_persistent || unsafe { key(arguments, 1, index) } != *before
            })
        };
        let mut fits = |first: &i64| indices.iter().all(|place| is_complete(place - first));
        [1, 0].into_iter().find(|first| fits(first)).unwrap_or(1)
    }
}

/// The request of a call without an array of them, before the call; any if there is none yet.
///
/// # Safety
/// As for [`Requests::read`].
#[inline(always)]
pub(crate) unsafe fn one_before(role: Role, arguments: Arguments<'_>) -> Key {
    match role {
        Role::Completes(_) | Role::StartsOne | Role::Frees => {
            // SAFETY: required of the caller.
            unsafe { key(arguments, 0, 0) }
        }
        _ => Key::default(),
    }
}

/// As [`Requests::after`], for a role of one request or one message ([`Role::is_of_one`]).
///
/// # Arguments
/// * `one` - the request as it was before the call
///
/// # Safety
/// As for [`Requests::after`].
#[inline(always)]
pub(crate) unsafe fn after_one(
    role: Role,
    one: Key,
    arguments: Arguments<'_>,
    moved: Moved,
) -> Moved {
    // SAFETY: MPI has written the request there, or the flag, and the status.
    unsafe {
        match role {
            Role::Begins { at, is_receive } => {
                let mut table = pending();
                let moved = moved.with_request(table.next_number());
                let key = key(arguments, at, 0);
                if is_receive {
                    table.forget_abandoned(key);
                }
                *table.place(key) = Pending {
                    moved,
                    is_persistent: false,
                    is_receive,
                    is_send: false,
                    is_active: true,
                };
                moved
            }
            Role::Completes(Completion::Test) if arguments.pointed(1, 0) == 0 => Moved::NOTHING,
            Role::Completes(completion) => {
                let taken = take(&mut pending(), one, completion, arguments, 0);
                taken.unwrap_or(Moved::NOTHING)
            }
            Role::Receives { flag: Some(at), .. } if arguments.pointed(at, 0) == 0 => moved,
            Role::Receives { status, .. } => match arguments.status(status, 0, false) {
                Some(received) => moved.received(received),
                None => moved,
            },
            _ => moved,
        }
    }
}

/// The data of a request that is complete; `None` if no such request was made and started.
///
/// # Arguments
/// * `nth` - place of its status
///
/// # Safety
/// As for [`Requests::after`].
#[inline(always)]
unsafe fn take(
    table: &mut Table,
    key: Key,
    completion: Completion,
    arguments: Arguments<'_>,
    nth: usize,
) -> Option<Moved> {
    let pending = table.take(key)?;
    if !pending.is_receive {
        return Some(pending.moved);
    }
    // SAFETY: MPI has written a status for each request that it found complete.
    let received = unsafe { arguments.status(completion.status(), nth, true) };
    Some(received.map_or(pending.moved, |received| pending.moved.received(received)))
}

/// The handle at a place of an array.
///
/// # Safety
/// There is an array of handles at the place, with more than `index` of them.
#[inline(always)]
unsafe fn key(arguments: Arguments<'_>, at: usize, index: usize) -> Key {
    // In MPICH's ABI a handle is the same number in both languages.
    let language = match arguments.language {
        Language::Fortran if abi().has_addresses() => Language::Fortran,
        _ => Language::C,
    };
    let array = arguments.words[at];
    // SAFETY: required of the caller; handles in Fortran are integers, in C as the ABI defines.
    let handle = unsafe {
        if language == Language::C && abi().has_addresses() {
            (array as *const usize).add(index).read()
        } else {
            (array as *const u32).add(index).read() as usize
        }
    };
    Key::new(language, handle)
}
