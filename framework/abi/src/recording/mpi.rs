//! What the proxy of MPI offers to the program that loads it.

use std::ffi::{c_char, c_void};

use super::{ClockFunction, Recorder};

/// Name of the function that the proxy of MPI exports.
pub const MPI_PROXY_SYMBOL: &str = "proxy_mpi_v1";

/// The type of that function; it returns null where MPI cannot be intercepted on this processor.
pub type MpiProxyEntry = extern "C" fn() -> *const MpiProxyFunctions;

/// The functions of the proxy of MPI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MpiProxyFunctions {
    /// Bytes of this struct; a later version has more functions at its end.
    pub size: u64,
    /// Sets the clock that calls of MPI are timed with, `None` for the time-stamp counter; the recorder's must be the
    /// same. To be called before the first call of MPI.
    pub set_clock: extern "C" fn(clock: Option<ClockFunction>),
    /// From now on time in MPI is added to [`super::RecordingContext::mpi_ticks`] of the calling thread's context of
    /// `recorder`, which must live until another one, or null for none, is attached. Returns 0, and attaches none, if
    /// the recorder is of another version.
    pub attach: unsafe extern "C" fn(recorder: *const Recorder) -> u32,
    /// Calls `each` with `out` for each function of MPI that was called so far: its name in C, the number of outermost
    /// calls, and their time in clock ticks, over all threads.
    pub totals: extern "C" fn(
        out: *mut c_void,
        each: extern "C" fn(out: *mut c_void, name: *const c_char, calls: u64, ticks: u64),
    ),
}
