//! The table of functions between the proxy of MPI and the program that records with it.
//!
//! The proxy of MPI is a library of its own that stands in front of MPI and forwards every call to
//! it. Proxy and recorder do not link to each other: the proxy exports one function,
//! [`MPI_PROXY_SYMBOL`], which returns a table of C functions. Through the table the recorder
//! attaches itself, switches events and sums on and off, and receives callbacks for facts that a
//! single call does not carry: communicators, call stacks, and meetings of all ranks.
//!
//! ```text
//! recorder                                proxy of MPI                MPI
//!   dlsym(proxy_mpi_v5)() ─▶ MpiProxyFunctions
//!   attach(recorder)      ─▶ adds ticks to RecordingContext::mpi_ticks
//!   record_events(ids, …) ─▶ MPI_Send(…) ──▶ PMPI_Send(…)
//!   ◀─ event(id, MPI_EVENT_PARAMETERS)
//! ```
//!
//! Only `repr(C)` types and function pointers may live here. The table grows at its end, with
//! `size` for the reader to check; a change of meaning needs another number in the symbol's name.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ClockFunction, Recorder};

/// Name of the function that the proxy of MPI exports.
pub const MPI_PROXY_SYMBOL: &str = "proxy_mpi_v5";

/// The type of that function; it returns null where MPI cannot be intercepted on this processor.
pub type MpiProxyEntry = extern "C" fn() -> *const MpiProxyFunctions;

/// The performance parameters of a recorded call of MPI, in the order of their words; the same for every function.
///
/// `peer` is a rank in the communicator `comm` of `ranks` ranks, and `world_peer` the same rank in `MPI_COMM_WORLD`;
/// each is −1 if there is no peer, or more than one. Each rank numbers communicators in the order of first use,
/// `MPI_COMM_WORLD` is 0. `tag` is the tag, as the call gives it, of a message to or from one rank. Each process
/// numbers requests as they begin: `request` is the first of the `requests` consecutive ones that the call began or
/// completed, −1 where they are not consecutive. Consecutive calls that poll for a message or a completed request in
/// vain (`MPI_Test`, `MPI_Iprobe` and the like) share one record, from the start of the first to the end of the last;
/// its `request` is minus their number, and its time in MPI is the sum of theirs. The last two are recorded only on
/// request: `cpu_before`, the thread's processor time since its previous call of MPI, nanoseconds, −1 where that is not
/// known, and the return address of the call.
pub const MPI_EVENT_PARAMETERS: [&str; 10] = [
    "bytes",
    "peer",
    "ranks",
    "comm",
    "world_peer",
    "tag",
    "request",
    "requests",
    "cpu_before",
    "call site",
];

/// Which of [`MPI_EVENT_PARAMETERS`] a call of MPI is recorded with that are not always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MpiEventOptions {
    /// With 1 the return address of the call, with more the number of its stack of that many calls, with 0 neither.
    pub call_depth: u32,
    /// Whether with `cpu_before`.
    pub processor_time: bool,
}

/// Calls and time of one function of MPI; written by one thread at a time.
#[repr(C)]
#[derive(Debug, Default)]
pub struct MpiTotal {
    /// Calls, without those that MPI makes itself.
    pub calls: AtomicU64,
    /// Their time, clock ticks.
    pub ticks: AtomicU64,
}

impl MpiTotal {
    /// No calls.
    pub const fn new() -> Self {
        Self {
            calls: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
        }
    }

    /// Takes a call back that took no time. By one thread at a time.
    pub fn take_back(&self) {
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_sub(1), Ordering::Relaxed);
    }

    /// Adds a call. By one thread at a time.
    #[inline(always)]
    pub fn add(&self, ticks: u64) {
        // One writer: no need for an instruction that locks.
        let add = |sum: &AtomicU64, more| {
            sum.store(
                sum.load(Ordering::Relaxed).wrapping_add(more),
                Ordering::Relaxed,
            );
        };
        add(&self.calls, 1);
        add(&self.ticks, ticks);
    }
}

/// Totals of calls of one function of MPI: those from one call site, of one class of size, in communicators of one
/// class of size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MpiCallSum {
    /// Name of the function in C; null for calls that there was no room for.
    pub name: *const c_char,
    /// Their return address; 0 if it was not requested.
    pub site: u64,
    /// `k` for 2ᵏ up to 2ᵏ⁺¹ − 1 bytes; −1 for none.
    pub bytes_class: i32,
    /// `k` for 2ᵏ up to 2ᵏ⁺¹ − 1 ranks; −1 for none.
    pub ranks_class: i32,
    /// Calls.
    pub calls: u64,
    /// Those that returned an error.
    pub failed: u64,
    /// Their time, clock ticks.
    pub ticks: u64,
    /// Shortest, clock ticks.
    pub least_ticks: u64,
    /// Longest, clock ticks.
    pub greatest_ticks: u64,
    /// Sum of their bytes.
    pub bytes: u64,
    /// Fewest bytes.
    pub least_bytes: u64,
    /// Most bytes.
    pub greatest_bytes: u64,
}

impl MpiCallSum {
    /// No calls.
    pub const NONE: Self = Self {
        name: std::ptr::null(),
        site: 0,
        bytes_class: -1,
        ranks_class: -1,
        calls: 0,
        failed: 0,
        ticks: 0,
        least_ticks: 0,
        greatest_ticks: 0,
        bytes: 0,
        least_bytes: 0,
        greatest_bytes: 0,
    };
}

/// Receives one sum, which is valid until the function returns, and the pointer that the caller passed.
pub type MpiCallSumCallback = unsafe extern "C" fn(out: *mut c_void, sum: *const MpiCallSum);

/// The methods under which parts of a call are recorded, behind its own record: they take no time and have the
/// parameters of one message, which the parameters of the call do not contain. In order: a send and a receive of a
/// persistent request that `MPI_Start` or `MPI_Startall` has started; the message that `MPI_Sendrecv` received; each
/// request that a call completed, if they are not consecutive or one of them received from any rank.
pub const MPI_PARTS: [&str; 4] = [
    "MPI_Start_send",
    "MPI_Start_recv",
    "MPI_Sendrecv_recv",
    MPI_COMPLETED,
];

/// The last of [`MPI_PARTS`]: it has no message, which the call that began the request has.
pub const MPI_COMPLETED: &str = "MPI_Completed";

/// Receives communicators, with the pointer that the caller passed; the communicator lives as long as the call.
pub type MpiCommunicatorCallback =
    unsafe extern "C" fn(context: *mut c_void, communicator: *const MpiCommunicator);

/// Set in the number of a stack of calls, which no address of a program has.
pub const MPI_STACK: u64 = 1 << 62;

/// Receives stacks: the number of one, and the return addresses of its `n` calls, the innermost first. Returns 0 if the
/// stack cannot be kept; its calls are then recorded with the first address.
pub type MpiStackCallback =
    unsafe extern "C" fn(number: u64, addresses: *const usize, n: u64) -> u32;

/// A communicator as recorded calls name it, by its number in this process, with the ranks that it
/// consists of.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MpiCommunicator {
    /// Its number in this process, the parameter `comm`.
    pub number: i64,
    /// This process's rank in it.
    pub own: i64,
    /// Whether it is an intercommunicator; then the ranks are those of the remote group.
    pub is_inter: u32,
    /// Number of its ranks.
    pub n_ranks: u32,
    /// Their ranks in `MPI_COMM_WORLD`, −1 for a rank outside it; null where the numbers are the same.
    pub world_ranks: *const i32,
}

/// Receives meetings; the meeting lives as long as the call.
///
/// Returns the number of the next meeting to report, the same on every rank; a number that has passed ends the reports.
pub type MpiMeetingCallback = unsafe extern "C" fn(meeting: *const MpiMeeting) -> u64;

/// All ranks of `MPI_COMM_WORLD` at the end of one call of MPI that none of them leaves before all have come.
///
/// Its functions are called by all of these ranks in the same order. They go over a communicator of the proxy's own, and return 0 where
/// MPI cannot.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MpiMeeting {
    /// How many such calls there were so far, this one included; the same on every rank.
    pub number: u64,
    /// This process's rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Adds `n` words up over the ranks, in an order of MPI's choice.
    pub sum: unsafe extern "C" fn(words: *mut f64, n: u64) -> u32,
    /// Gathers the `n` bytes of each rank on rank 0, which calls `each` with `out` and each rank's bytes, in the order
    /// of the ranks.
    pub gather: unsafe extern "C" fn(
        bytes: *const u8,
        n: u64,
        out: *mut c_void,
        each: MpiBytesCallback,
    ) -> u32,
    /// Gives the `n` bytes of rank 0 to all.
    pub broadcast: unsafe extern "C" fn(bytes: *mut u8, n: u64) -> u32,
}

/// Receives the `n` bytes of a rank, with the pointer that the caller passed; they are valid as long
/// as the call lasts.
pub type MpiBytesCallback = unsafe extern "C" fn(out: *mut c_void, bytes: *const u8, n: u64);

/// The functions that the proxy of MPI offers to the recorder. The recorder obtains the table once,
/// by the symbol [`MPI_PROXY_SYMBOL`], and it stays valid until the process ends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MpiProxyFunctions {
    /// Bytes of this struct; a later version has more functions at its end.
    pub size: u64,
    /// Sets the clock that calls of MPI are timed with, `None` for the time-stamp counter; the recorder's must be the
    /// same. To be called before the first call of MPI.
    pub set_clock: extern "C" fn(clock: Option<ClockFunction>),
    /// From now on time in MPI is added to [`super::RecordingContext::mpi_ticks`] of the calling thread's context of
    /// `recorder`, and to its totals by function, which must live until another one, or null for none, is attached.
    /// Returns 0, and attaches none, if the recorder is of another version. Events are off.
    pub attach: unsafe extern "C" fn(recorder: *const Recorder) -> u32,
    /// Calls `each` with `out` for each function of MPI that was called so far: its name in C, the number of outermost
    /// calls, and their time in clock ticks, over all threads, without the totals of recording contexts.
    pub totals: extern "C" fn(
        out: *mut c_void,
        each: extern "C" fn(out: *mut c_void, name: *const c_char, calls: u64, ticks: u64),
    ),
    /// Calls `each` with `out` for each function of MPI, with its name in C, and last with those of [`MPI_PARTS`].
    pub functions:
        extern "C" fn(out: *mut c_void, each: extern "C" fn(out: *mut c_void, name: *const c_char)),
    /// From now on each outermost call is recorded with [`MPI_EVENT_PARAMETERS`]; with `cpu_before` if `processor_time`
    /// is not 0, and with the last of them if `call_sites` is not 0: the return address of the call, or with more than
    /// 1 the number of a stack of as many calls (`on_stack`). It is recorded as method `ids[i]` of the attached
    /// recorder for name `i` of `functions`; with `n` 0, or not the number of names, no call is recorded. Returns
    /// whether calls are recorded; they are not if the MPI has an unknown ABI (`unknown_abi`).
    pub record_events:
        unsafe extern "C" fn(ids: *const u32, n: u64, call_sites: u32, processor_time: u32) -> u32,
    /// Calls `callback` once, in the thread that is the first to call MPI, before that call begins.
    pub before_first_call: extern "C" fn(callback: Option<extern "C" fn()>),
    /// Calls `callback` with the level at each call of `MPI_Pcontrol` from now on, before MPI gets it.
    pub on_pcontrol: extern "C" fn(callback: Option<extern "C" fn(level: c_int)>),
    /// Calls `callback` with `context` and each communicator that a recorded call is the first to use from now on,
    /// before that call begins. `None` switches the reports off.
    pub on_communicator:
        extern "C" fn(context: *mut c_void, callback: Option<MpiCommunicatorCallback>),
    /// Calls `callback` with each stack of calls that a recorded call is the first to come from, before that call begins.
    pub on_stack: extern "C" fn(callback: Option<MpiStackCallback>),
    /// Calls `callback` at the first meeting of all ranks, and at those that it requests, in the thread that made the
    /// call. Meetings are counted from the first call of this function; `None` switches the reports off.
    pub on_meeting: extern "C" fn(callback: Option<MpiMeetingCallback>),
    /// The name of the MPI that is loaded, if handles and statuses have an ABI in it that is not known; else null.
    pub unknown_abi: extern "C" fn() -> *const c_char,
    /// With 1 the outermost calls of a recorder that is attached are summed up from now on, by function, call site and classes of size;
    /// with 0 no longer. Calls that are recorded are not summed up. Attaching another recorder forgets all sums.
    pub sum_calls: extern "C" fn(are_summed: u32),
    /// Calls `each` with `out` for each of these sums so far.
    pub call_sums: extern "C" fn(out: *mut c_void, each: MpiCallSumCallback),
}
