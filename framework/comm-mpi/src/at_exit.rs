//! The end of MPI if a component still has the communicator when the process ends.
//!
//! MPI is ended when the communicator is dropped. A component's thread that has not released its port keeps it for
//! ever; without the end of MPI a launcher treats the rank as failed. So MPI is ended when the process ends, after the
//! framework has released its components, unless a thread is inside MPI just then.

use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mpi::ffi;

/// Threads that are inside MPI through a communicator.
static N_INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Whether no thread may enter any more.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// A thread inside MPI.
pub(crate) struct Inside;

impl Inside {
    /// `None` once MPI has been ended.
    pub(crate) fn enter() -> Option<Self> {
        N_INSIDE.fetch_add(1, Ordering::SeqCst);
        let inside = Self;
        (!HAS_ENDED.load(Ordering::SeqCst)).then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        N_INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has MPI ended with the process, if it is not ended before.
pub(crate) fn end_mpi_at_exit() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: a function of the C library; libraries of components are never closed, so `end_mpi` stays.
        let _ = unsafe { atexit(end_mpi) };
    });
}

extern "C" fn end_mpi() {
    HAS_ENDED.store(true, Ordering::SeqCst);
    let mut ended: c_int = 0;
    // SAFETY: may be called at any time, and writes to a valid place.
    unsafe { ffi::MPI_Finalized(&mut ended) };
    if ended == 0 && N_INSIDE.load(Ordering::SeqCst) == 0 {
        // SAFETY: MPI is started and not ended, and no thread is inside or enters.
        unsafe { ffi::MPI_Finalize() };
    }
}
