//! The communicator of all ranks through MPI: collective operations directly, messages through the
//! table of requests.
//!
//! # Locks and the thread level
//!
//! MPI libraries differ in which threads may call them, and components may call from any. Two locks
//! adapt to that. `turn` is taken for a whole collective operation, because MPI wants those one
//! after the other on a communicator; under `MPI_THREAD_SERIALIZED` it is also taken for each short
//! call. `requests` protects the table of messages in flight and is never taken while MPI may wait
//! for another rank: a thread that waits copies the MPI handles out of the table, waits without the
//! lock, and notes the result under the lock again.
//!
//! ```text
//!                      Multiple              Serialized                 Only(thread)
//! collective           turn                  turn                       turn
//! send, receive        requests              turn + requests            requests
//! wait                 MPI_Waitsome unlocked MPI_Testsome, yield, again MPI_Waitsome unlocked
//! another thread       allowed               allowed                    CommError::WrongThread
//! ```
//!
//! Two duplicates of the world communicator keep messages apart: `own` for the operations here,
//! which returns errors, and `shared` for components that call MPI themselves.

use std::ffi::c_int;
use std::process;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use cca_abi::RVec;
use cca_comm::{
    CommError, Communicator, Completion, MAX_VALUES, Reduction, check_length, check_rank, check_tag,
};
use mpi::ffi::{self, MPI_Comm};
use thiserror::Error;

use crate::at_exit::Inside;
use crate::library::check;
use crate::requests::Requests;

/// Reasons why MPI was not started. A process may start it once: neither a second start nor one
/// after the end is possible.
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
/// Any thread may call if the library has `MPI_THREAD_MULTIPLE`: threads send, receive and wait at the
/// same time, each for requests of its own; collective operations, which MPI requires one after the
/// other on a communicator, wait for each other. If MPI allows one thread at a time, calls wait for
/// each other; a call that waits for messages lets others in meanwhile, a collective operation does
/// not. If MPI allows only the thread that started it, other threads get [`CommError::WrongThread`].
#[derive(Debug)]
pub struct MpiCommunicator {
    rank: i32,
    size: i32,
    /// The communicator for components that call MPI themselves.
    fortran_handle: i32,
    threads: Threads,
    handles: Handles,
    /// Locked for a collective operation; if MPI allows one thread at a time, for each call of MPI.
    turn: Mutex<()>,
    /// Never locked while MPI waits for another rank.
    requests: Mutex<Requests>,
}

/// Which threads may call MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    /// Any, at the same time.
    Multiple,
    /// Any, one at a time.
    Serialized,
    /// The thread that started MPI.
    Only(ThreadId),
}

/// The communicators.
struct Handles {
    /// For the operations here; returns its errors.
    own: MPI_Comm,
    /// For components that call MPI themselves: their messages never meet those of `own`, and an
    /// error of theirs ends the run, as is usual in MPI.
    shared: MPI_Comm,
}

// SAFETY: MPI's handles (pointers in Open MPI) are valid in each thread of the process. Which threads
// call MPI, and when: see `MpiCommunicator::enter`.
unsafe impl Send for Handles {}
// SAFETY: as for `Send`; they do not change until the communicator is dropped.
unsafe impl Sync for Handles {}

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handles").finish_non_exhaustive()
    }
}

impl MpiCommunicator {
    /// Starts MPI. Whether the number of ranks is the launcher's is for the caller to compare:
    /// [`cca_comm::compare_sizes`].
    ///
    /// # Errors
    /// [`StartError`]; but most MPI libraries end the process if they cannot be started.
    pub fn start() -> Result<Self, StartError> {
        // SAFETY: a constant of the rsmpi shim, never written.
        Self::start_with(unsafe { ffi::RSMPI_THREAD_MULTIPLE })
    }

    /// As [`MpiCommunicator::start`], with threads that call MPI one at a time (`MPI_THREAD_SERIALIZED`), even if the
    /// library allows more.
    ///
    /// # Errors
    /// As [`MpiCommunicator::start`].
    pub fn start_serialized() -> Result<Self, StartError> {
        // SAFETY: a constant of the rsmpi shim, never written.
        let mut comm = Self::start_with(unsafe { ffi::RSMPI_THREAD_SERIALIZED })?;
        if comm.threads == Threads::Multiple {
            comm.threads = Threads::Serialized;
        }
        Ok(comm)
    }

    fn start_with(wanted: c_int) -> Result<Self, StartError> {
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
        let code =
            unsafe { ffi::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), wanted, &mut level) };
        check("start MPI", code)?;
        // SAFETY: constants of the rsmpi shim, never written.
        let (multiple, serialized) =
            unsafe { (ffi::RSMPI_THREAD_MULTIPLE, ffi::RSMPI_THREAD_SERIALIZED) };
        let threads = if level >= multiple {
            Threads::Multiple
        } else if level >= serialized {
            Threads::Serialized
        } else {
            Threads::Only(thread::current().id())
        };
        Ok(Self::on_world(threads)?)
    }

    /// The communicator on all ranks, MPI having been started.
    fn on_world(threads: Threads) -> Result<Self, CommError> {
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
        Ok(Self {
            rank,
            size,
            fortran_handle,
            threads,
            handles: Handles { own, shared },
            turn: Mutex::default(),
            requests: Mutex::new(Requests::new()),
        })
    }

    /// The right to call MPI for a collective operation, in this thread and in no other at the same time.
    fn enter(&self, operation: &'static str) -> Result<(MutexGuard<'_, ()>, Inside), CommError> {
        let inside = self.go_inside(operation)?;
        let turn = self.turn.lock();
        Ok((turn.unwrap_or_else(PoisonError::into_inner), inside))
    }

    fn go_inside(&self, operation: &'static str) -> Result<Inside, CommError> {
        match self.threads {
            Threads::Only(only) if only != thread::current().id() => {
                Err(CommError::WrongThread { operation })
            }
            _ => Inside::enter().ok_or_else(|| CommError::Library {
                operation,
                text: "MPI has been ended, expected it to run".into(),
            }),
        }
    }

    /// Locks for calls of MPI that do not wait for another rank, and the requests.
    fn enter_shortly(&self, operation: &'static str) -> Result<Entered<'_>, CommError> {
        let inside = self.go_inside(operation)?;
        let needs_turn = self.threads == Threads::Serialized;
        let turn = needs_turn.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        let requests = self.requests.lock();
        Ok(Entered {
            requests: requests.unwrap_or_else(PoisonError::into_inner),
            _turn: turn,
            _inside: inside,
        })
    }

    /// Waits until one of the requests that are marked as awaited has ended, without a lock.
    fn wait_for(&self, awaited: &[u64]) -> Result<(), CommError> {
        if self.threads != Threads::Serialized {
            let mut waiting = self.enter_shortly("wait")?.requests.waiting(awaited);
            let ended = waiting.wait();
            return self
                .enter_shortly("wait")?
                .requests
                .take_note(waiting, ended);
        }
        loop {
            let mut entered = self.enter_shortly("wait")?;
            let mut waiting = entered.requests.waiting(awaited);
            let ended = waiting.test();
            let any = ended.as_ref().map_or(true, |ended| *ended > 0);
            entered.requests.take_note(waiting, ended)?;
            if any {
                return Ok(());
            }
            drop(entered);
            thread::yield_now();
        }
    }
}

/// The requests, in a thread that may call MPI.
struct Entered<'a> {
    requests: MutexGuard<'a, Requests>,
    _turn: Option<MutexGuard<'a, ()>>,
    _inside: Inside,
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> i32 {
        self.rank
    }

    fn size(&self) -> i32 {
        self.size
    }

    fn fortran_handle(&self) -> i32 {
        self.fortran_handle
    }

    fn barrier(&self) -> Result<(), CommError> {
        let _turn = self.enter("barrier")?;
        // SAFETY: `own` is valid as long as `self`.
        check("barrier", unsafe { ffi::MPI_Barrier(self.handles.own) })
    }

    fn all_reduce(&self, reduction: Reduction, values: &mut [f64]) -> Result<(), CommError> {
        let count = check_length("all_reduce", values.len())?;
        let _turn = self.enter("all_reduce")?;
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
                self.handles.own,
            )
        })
    }

    fn broadcast(&self, root: i32, values: &mut [f64]) -> Result<(), CommError> {
        check_rank("broadcast", root, self.size)?;
        let count = check_length("broadcast", values.len())?;
        let _turn = self.enter("broadcast")?;
        // SAFETY: the array has `count` doubles; `own` is valid; the constant is never written.
        check("broadcast", unsafe {
            let double = ffi::RSMPI_DOUBLE;
            ffi::MPI_Bcast(
                values.as_mut_ptr().cast(),
                count,
                double,
                root,
                self.handles.own,
            )
        })
    }

    fn gather(&self, root: i32, values: &[f64]) -> Result<Vec<Vec<f64>>, CommError> {
        check_rank("gather", root, self.size)?;
        let _turn = self.enter("gather")?;
        let lengths = self.lengths(self.size, values.len())?;
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
        // SAFETY: `values` has the number of doubles that all ranks received; on the root, `all`
        // has room for the sum of the counts, each at its start. `own` and the constant are valid.
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
                self.handles.own,
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

    fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, CommError> {
        check_rank("send", to, self.size)?;
        check_tag("send", tag)?;
        let mut entered = self.enter_shortly("send")?;
        entered.requests.send(self.handles.own, to, tag, data)
    }

    fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, CommError> {
        check_rank("receive", from, self.size)?;
        check_tag("receive", tag)?;
        let mut entered = self.enter_shortly("receive")?;
        entered
            .requests
            .receive(self.handles.own, from, tag, length)
    }

    fn wait_some(&self, requests: &mut [u64]) -> Result<Vec<Completion>, CommError> {
        let _inside = self.go_inside("wait")?;
        let awaited = self.enter_shortly("wait")?.requests.begin_wait(requests)?;
        let waited = if awaited.is_empty() {
            Ok(())
        } else {
            self.wait_for(&awaited)
        };
        let mut entered = self.enter_shortly("wait")?;
        entered.requests.end_wait(&awaited);
        waited?;
        entered.requests.hand_back(requests)
    }

    fn abort(&self, code: i32) -> ! {
        // SAFETY: MPI is started, and not ended before `self` is dropped.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        process::exit(code)
    }
}

impl MpiCommunicator {
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
                self.handles.own,
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
        // The other ranks would wait for this one in MPI_Finalize.
        if thread::panicking() && self.size > 1 {
            self.abort(101);
        }
        let requests = self.requests.get_mut();
        requests.unwrap_or_else(PoisonError::into_inner).give_up();
        // SAFETY: MPI is started and not ended, both communicators are ours, and nothing uses them
        // any more.
        unsafe {
            ffi::MPI_Comm_free(&mut self.handles.own);
            ffi::MPI_Comm_free(&mut self.handles.shared);
            ffi::MPI_Finalize();
        }
    }
}
