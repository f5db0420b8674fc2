//! The proxy of MPI itself: every MPI function is wrapped, forwarded to the next definition of its name, and timed.
//!
//! One library for every MPI, and for C and Fortran, built without any: on x86-64 each argument of each MPI function is
//! one integer-class register or stack word, so that the numbers of arguments in `functions.txt` are all that must be
//! known. It is loaded before the MPI library, by `RTLD_GLOBAL` or `LD_PRELOAD`, and takes its place by name.
//!
//! ```text
//! MPI_Waitsome(a0 … a4)                 any caller: C, Fortran (mpi_waitsome_, mpi_waitsome_f08_), a dlopened library
//!     note the stack, read the clock    calls made by MPI from within, further down the stack, are forwarded only
//!     the next MPI_Waitsome(a0 … a4) MPI's own, or that of a library between the program and MPI
//!     read the clock
//!     the thread's RecordingContext::mpi_ticks, and its totals of MPI_Waitsome, which are mapped from its log
//! ```
//!
//! * `call.rs`: the measurement; `totals.rs`: sums per function and thread; `target.rs`: finds the definition behind
//!   this one; `abi.rs`: the binary interface of the MPI library;
//! * `entry.rs`: the entry of a call; `event.rs`: a record for each call, opted in; `message.rs`: the data that a call
//!   moves, by `messages.txt`; `request.rs`: the data that requests move, from the call that makes one to the one that
//!   completes it; `pending.rs`: the table of requests; `sums.rs`: totals of calls without records; `shared.rs`: a
//!   table that is mostly used by one thread;
//! * `polls.rs`: consecutive polling calls that find nothing; `processor_time.rs`: a thread's computation between
//!   calls;
//! * `handle.rs`, `facts.rs`: handles, and their properties, queried once; `status.rs`: received messages; `stack.rs`:
//!   call sites; `phase.rs`: `MPI_Pcontrol`; `meeting.rs`: calls in which all ranks meet;
//! * `host.rs`: functions that the program that loads this library calls ([`cca_abi::recording::MpiProxyFunctions`]).
//!
//! On processors other than x86-64 nothing is wrapped, and the host can query that.
//!
//! # Decisions
//!
//! MPI time comes from a library that exports all MPI functions and forwards each to the next
//! definition of its name in the order of search. The executable has no libmpi, so the library is
//! opened first (`RTLD_GLOBAL`), the MPI back end after it, and the dynamic linker resolves the
//! back end's and the components' MPI calls to it; nothing is preloaded. The target is looked up at
//! the first call (`target.rs`): the next definition, which may be in a library between the program
//! and MPI, in the global scope or in any loaded library, else `PMPI_x`. The layout of handles and
//! statuses follows from the library's ABI (`abi.rs`): Open MPI's, MPICH's or that of MPI 5.0; with
//! any other ABI only calls and time are recorded. Calls made from within a call of MPI are not
//! counted. Totals by function are in each thread's log, in the unused part of a padding entry that
//! stays mapped and is changed in place, so that a killed run has them; at the end of a run they
//! are also written as a definition, with its check. `exclusive` in a profile is without MPI, whose
//! functions are rows.

// A thread that a library's constructor waits for may be the first to call MPI.
#[cfg(target_os = "linux")]
cca_abi::own_thread_destructors!();

#[cfg(target_arch = "x86_64")]
mod abi;
#[cfg(target_arch = "x86_64")]
mod call;
#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod event;
#[cfg(target_arch = "x86_64")]
mod facts;
#[cfg(target_arch = "x86_64")]
mod handle;
#[cfg(target_arch = "x86_64")]
mod host;
#[cfg(target_arch = "x86_64")]
mod meeting;
#[cfg(target_arch = "x86_64")]
mod message;
#[cfg(target_arch = "x86_64")]
mod pending;
#[cfg(target_arch = "x86_64")]
mod phase;
#[cfg(target_arch = "x86_64")]
mod polls;
#[cfg(target_arch = "x86_64")]
mod processor_time;
#[cfg(target_arch = "x86_64")]
mod request;
#[cfg(target_arch = "x86_64")]
mod shared;
#[cfg(target_arch = "x86_64")]
mod stack;
#[cfg(target_arch = "x86_64")]
mod status;
#[cfg(target_arch = "x86_64")]
mod sums;
#[cfg(target_arch = "x86_64")]
mod target;
#[cfg(target_arch = "x86_64")]
mod totals;
#[cfg(target_arch = "x86_64")]
mod wrappers;

#[cfg(target_arch = "x86_64")]
pub use host::proxy_mpi_v5;

/// The entry point, [`cca_abi::recording::MpiProxyEntry`]: nothing is offered on this processor.
#[cfg(not(target_arch = "x86_64"))]
#[unsafe(no_mangle)]
pub extern "C" fn proxy_mpi_v5() -> *const cca_abi::recording::MpiProxyFunctions {
    std::ptr::null()
}
