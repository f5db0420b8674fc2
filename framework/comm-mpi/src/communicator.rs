//! The operations: collective ones at once, messages through the table of requests.

use std::ffi::c_int;
use std::process;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use cca_abi::RVec;
use cca_comm::{CommError, Completion, MAX_VALUES, Reduction, check_length, check_rank, check_tag};
use mpi::ffi::{self, MPI_Comm};
use thiserror::Error;

use crate::library::check;
use crate::requests::Requests;

/// Why MPI was not started.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum StartError {
    /// It runs: this process has a communicator, or calls MPI itself.
    #[error(
        "cannot start MPI: it was started in this process before, expected one start a process"
    )]
    AlreadyStarted,
    /// It was ended: MPI cannot be started twice.
    #[error("cannot start MPI: it was ended in this process before, expected one start a process")]
    AlreadyEnded,
    /// The library reports an error.
    #[error(transparent)]
    Library(#[from] CommError),
}

/// All ranks of the run, through MPI.
///
/// MPI is started when this is made and ended when it is dropped, both on all ranks together. If
/// it is dropped while its thread panics, the whole run is aborted: the other ranks may wait for
/// this one.
///
/// Errors are returned: of the operations here, and of MPI's own calls on the world communicator and
/// for requests, which a component should check if it makes them. Calls on the communicator of
/// [`fortran_handle`](Self::fortran_handle) that fail end the run, as is usual in MPI.
///
/// Calls from several threads are made one after the other. Where MPI allows just the thread that
/// started it, another thread gets [`CommError::WrongThread`].
#[derive(Debug)]
pub struct MpiCommunicator {
    rank: i32,
    size: i32,
    /// The communicator for components that call MPI themselves.
    fortran_handle: i32,
    /// The only thread that may call MPI; `None` where any may.
    only: Option<ThreadId>,
    state: Mutex<State>,
}

/// What only one thread may use at a time.
struct State {
    /// For the operations here; returns its errors.
    own: MPI_Comm,
    /// For components that call MPI themselves: their messages never meet those of `own`, and an
    /// error of theirs ends the run, as is usual in MPI.
    shared: MPI_Comm,
    requests: Requests,
}

// SAFETY: MPI's handles (pointers in Open MPI) are valid in each thread of the process, and the
// memory of messages is owned by the table. MPI itself is called under the lock and, where it
// allows only one thread, from that one: see `MpiCommunicator::enter`.
unsafe impl Send for State {}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl MpiCommunicator {
    /// Starts MPI. Whether the number of ranks is the launcher's is for the caller to compare:
    /// [`cca_comm::compare_sizes`].
    ///
    /// # Errors
    /// [`StartError`]; but where the library cannot be started at all, most end the process.
    pub fn start() -> Result<Self, StartError> {
        let (mut started, mut ended): (c_int, c_int) = (0, 0);
        // SAFETY: both functions may be called at any time, and write to valid places.
        unsafe {
            ffi::MPI_Initialized(&mut started);
            ffi::MPI_Finalized(&mut ended);
        }
        if ended != 0 {
            return Err(StartError::AlreadyEnded);
        }
        if started != 0 {
            return Err(StartError::AlreadyStarted);
        }
        let mut level: c_int = 0;
        // SAFETY: MPI is neither started nor ended; it accepts null for the program's arguments.
        let (code, serialized) = unsafe {
            let wanted = ffi::RSMPI_THREAD_SERIALIZED;
            (
                ffi::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), wanted, &mut level),
                wanted,
            )
        };
        check("start MPI", code)?;
        let only = (level < serialized).then(|| thread::current().id());
        Ok(Self::on_world(only)?)
    }

    /// The communicator on all ranks, MPI having been started.
    fn on_world(only: Option<ThreadId>) -> Result<Self, CommError> {
        // SAFETY: constants of the rsmpi shim, never written.
        let (world, null, returns) = unsafe {
            (
                ffi::RSMPI_COMM_WORLD,
                ffi::RSMPI_COMM_NULL,
                ffi::RSMPI_ERRORS_RETURN,
            )
        };
        let (mut own, mut shared) = (null, null);
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: MPI is started, the world communicator is valid, and the results go to valid
        // places; all ranks come here, as duplication needs.
        let fortran_handle = unsafe {
            check("duplicate communicator", ffi::MPI_Comm_dup(world, &mut own))?;
            check(
                "duplicate communicator",
                ffi::MPI_Comm_dup(world, &mut shared),
            )?;
            // Waiting for requests belongs to no communicator: its errors go to the handler of the
            // world (MPICH 4.0) or of the process itself (MPI 4).
            for comm in [own, world, ffi::RSMPI_COMM_SELF] {
                check(
                    "set error handler",
                    ffi::MPI_Comm_set_errhandler(comm, returns),
                )?;
            }
            check("get rank", ffi::MPI_Comm_rank(own, &mut rank))?;
            check("get size", ffi::MPI_Comm_size(own, &mut size))?;
            ffi::RSMPI_Comm_c2f(shared)
        };
        let state = Mutex::new(State {
            own,
            shared,
            requests: Requests::new(),
        });
        Ok(Self {
            rank,
            size,
            fortran_handle,
            only,
            state,
        })
    }

    /// This process among the ranks, from 0.
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> i32 {
        self.size
    }

    /// The communicator that components which call MPI themselves should use, as Fortran's
    /// integer (`MPI_Comm_f2c` makes a C handle of it). It is not the one of the operations here,
    /// so messages never mix, and it has MPI's usual error handler. It is valid as long as `self`.
    pub fn fortran_handle(&self) -> i32 {
        self.fortran_handle
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// [`CommError::Library`], [`CommError::WrongThread`]; the latter from each operation.
    pub fn barrier(&self) -> Result<(), CommError> {
        let state = self.enter("barrier")?;
        // SAFETY: `own` is valid as long as `self`.
        check("barrier", unsafe { ffi::MPI_Barrier(state.own) })
    }

    /// Replaces each value by the reduction of that value over all ranks, which all get.
    ///
    /// # Arguments
    /// * `values` - shape `[n]`, the same `n` on all ranks
    ///
    /// # Errors
    /// [`CommError::TooLong`], [`CommError::Library`].
    pub fn all_reduce(&self, reduction: Reduction, values: &mut [f64]) -> Result<(), CommError> {
        let count = check_length("all_reduce", values.len())?;
        let state = self.enter("all_reduce")?;
        let mine = values.to_vec();
        // SAFETY: both arrays have `count` doubles and do not overlap; `own` is valid; the
        // constants of the rsmpi shim are never written.
        check("all_reduce", unsafe {
            let operation = match reduction {
                Reduction::Min => ffi::RSMPI_MIN,
                Reduction::Max => ffi::RSMPI_MAX,
                Reduction::Sum => ffi::RSMPI_SUM,
            };
            ffi::MPI_Allreduce(
                mine.as_ptr().cast(),
                values.as_mut_ptr().cast(),
                count,
                ffi::RSMPI_DOUBLE,
                operation,
                state.own,
            )
        })
    }

    /// Replaces the values of all ranks by those of `root`.
    ///
    /// # Arguments
    /// * `values` - shape `[n]`, the same `n` on all ranks
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::TooLong`], [`CommError::Library`].
    pub fn broadcast(&self, root: i32, values: &mut [f64]) -> Result<(), CommError> {
        check_rank("broadcast", root, self.size)?;
        let count = check_length("broadcast", values.len())?;
        let state = self.enter("broadcast")?;
        // SAFETY: the array has `count` doubles; `own` is valid; the constant is never written.
        check("broadcast", unsafe {
            let double = ffi::RSMPI_DOUBLE;
            ffi::MPI_Bcast(values.as_mut_ptr().cast(), count, double, root, state.own)
        })
    }

    /// Collects the values of all ranks, of which each may have another number, on `root`.
    ///
    /// # Returns
    /// One array a rank, shape `[size][length of that rank]`; empty on other ranks than `root`.
    ///
    /// # Errors
    /// [`CommError::Rank`]; [`CommError::TooLong`] on all ranks if they have more than
    /// [`MAX_VALUES`] together; [`CommError::Library`].
    pub fn gather(&self, root: i32, values: &[f64]) -> Result<Vec<Vec<f64>>, CommError> {
        check_rank("gather", root, self.size)?;
        let state = self.enter("gather")?;
        let lengths = state.lengths(self.size, values.len())?;
        let total = lengths
            .iter()
            .fold(0_u64, |sum, length| sum.saturating_add(*length));
        if total > MAX_VALUES as u64 {
            return Err(CommError::TooLong {
                operation: "gather",
                found: total,
            });
        }
        let counts: Vec<c_int> = lengths.iter().map(|length| *length as c_int).collect();
        let starts: Vec<c_int> = counts
            .iter()
            .scan(0, |next, count| {
                Some(std::mem::replace(next, *next + count))
            })
            .collect();
        let here = self.rank == root;
        let mut all = vec![0.0; if here { total as usize } else { 0 }];
        // SAFETY: `values` has the number of doubles told to all ranks; on the root, `all` has room
        // for the sum of the counts, each at its start. `own` and the constant are valid.
        check("gather", unsafe {
            ffi::MPI_Gatherv(
                values.as_ptr().cast(),
                counts[self.rank as usize],
                ffi::RSMPI_DOUBLE,
                all.as_mut_ptr().cast(),
                counts.as_ptr(),
                starts.as_ptr(),
                ffi::RSMPI_DOUBLE,
                root,
                state.own,
            )
        })?;
        let part = |(start, count): (&c_int, &c_int)| {
            all[*start as usize..(*start + *count) as usize].to_vec()
        };
        Ok(if here {
            starts.iter().zip(&counts).map(part).collect()
        } else {
            Vec::new()
        })
    }

    /// Posts a message to rank `to` and returns without waiting. The data comes back with the
    /// completed request.
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::Tag`], [`CommError::TooLong`], [`CommError::Library`].
    pub fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, CommError> {
        check_rank("send", to, self.size)?;
        check_tag("send", tag)?;
        let mut state = self.enter("send")?;
        let own = state.own;
        state.requests.send(own, to, tag, data)
    }

    /// Posts a receive of at most `length` values from rank `from` and returns without waiting.
    ///
    /// # Errors
    /// [`CommError::Rank`], [`CommError::Tag`], [`CommError::TooLong`], [`CommError::Library`].
    pub fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, CommError> {
        check_rank("receive", from, self.size)?;
        check_tag("receive", tag)?;
        let mut state = self.enter("receive")?;
        let own = state.own;
        state.requests.receive(own, from, tag, length)
    }

    /// Waits until at least one of `requests` has ended, and returns all that have.
    ///
    /// # Arguments
    /// * `requests` - open requests; 0 is passed over; those that ended are set to 0
    ///
    /// # Returns
    /// The requests that ended, by position; empty only if all were 0.
    ///
    /// # Errors
    /// [`CommError::UnknownRequest`] for one that is not open or given twice (nothing is changed);
    /// [`CommError::Truncated`], [`CommError::Overrun`] or [`CommError::Library`] for a message that
    /// failed (that request is closed and set to 0; the others that have ended are returned by the
    /// next call).
    pub fn wait_some(&self, requests: &mut [u64]) -> Result<Vec<Completion>, CommError> {
        self.enter("wait")?.requests.wait_some(requests)
    }

    /// Ends all ranks at once, with `code` as the exit code of the run.
    pub fn abort(&self, code: i32) -> ! {
        // SAFETY: MPI is started, and not ended before `self` is dropped.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        process::exit(code)
    }

    /// The state, for one thread at a time, where this thread may call MPI.
    fn enter(&self, operation: &'static str) -> Result<MutexGuard<'_, State>, CommError> {
        if self.only.is_some_and(|only| only != thread::current().id()) {
            return Err(CommError::WrongThread { operation });
        }
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// The lengths of all ranks, on all ranks.
    fn lengths(&self, size: i32, mine: usize) -> Result<Vec<u64>, CommError> {
        let mine = mine as u64;
        let mut lengths = vec![0_u64; size as usize];
        // SAFETY: one number is sent, one from each rank is received; `own` and the constant are
        // valid.
        check("gather", unsafe {
            ffi::MPI_Allgather(
                (&raw const mine).cast(),
                1,
                ffi::RSMPI_UINT64_T,
                lengths.as_mut_ptr().cast(),
                1,
                ffi::RSMPI_UINT64_T,
                self.own,
            )
        })?;
        Ok(lengths)
    }
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        let mut ended: c_int = 0;
        // SAFETY: may be called at any time, and writes to a valid place.
        unsafe { ffi::MPI_Finalized(&mut ended) };
        if ended != 0 {
            return;
        }
        if thread::panicking() && self.size > 1 {
            self.abort(101);
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.requests.give_up();
        // SAFETY: MPI is started and not ended, both communicators are ours, and nothing uses them
        // any more.
        unsafe {
            ffi::MPI_Comm_free(&mut state.own);
            ffi::MPI_Comm_free(&mut state.shared);
            ffi::MPI_Finalize();
        }
    }
}
