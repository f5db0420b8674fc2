//! Notices that the code of a library ends the process instead of returning.
//!
//! # Decisions
//!
//! A component may call `exit`, as Fortran's `stop` does. While an assembly runs, a library is
//! opened or an instance is made or ended, the loader notices the call (`on_exit`, glibc), reports
//! it, and ends the process with the code 1: MPICH's launcher took a first rank that ended with the
//! code 0 for the end of the run.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    /// Of glibc: registers a function that `exit` calls with the exit code and a pointer.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;

    /// Ends the process at once.
    fn _exit(code: c_int) -> !;
}

struct Watch {
    is_on: AtomicBool,
    /// A child of the process, made by a component, ends as it likes.
    process: u32,
    last_words: Box<dyn Fn() -> bool + Send + Sync>,
}

/// While it lives, `exit` does not end the process with success, nor without a message.
///
/// A component is other people's code, in Fortran or C too, where `stop` and `exit(0)` are usual words for "there is an error".
/// The peers of a rank that is gone would wait for it, and its launcher may take the code 0 for the end of the run.
pub struct ExitWatch(Arc<Watch>);

impl ExitWatch {
    /// From now on, an `exit` calls `last_words`, and then, if they return that it was not allowed, ends the process
    /// with the code 1.
    pub fn begin(last_words: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let watch = Arc::new(Watch {
            is_on: AtomicBool::new(true),
            process: std::process::id(),
            last_words: Box::new(last_words),
        });
        let counted = Arc::into_raw(Arc::clone(&watch)).cast_mut().cast();
        // SAFETY: `at_exit` takes the pointer that is passed with it, whose count has been raised for it. If the registration
        // fails there is no watch, and the count stays raised: nothing else is lost.
        unsafe { on_exit(at_exit, counted) };
        ExitWatch(watch)
    }
}

impl Drop for ExitWatch {
    fn drop(&mut self) {
        self.0.is_on.store(false, Ordering::Release);
    }
}

extern "C" fn at_exit(_: c_int, watch: *mut c_void) {
    // SAFETY: the pointer of `ExitWatch::begin`, counted for this one call.
    let watch = unsafe { Arc::from_raw(watch.cast_const().cast::<Watch>()) };
    if watch.process == std::process::id() && watch.is_on.swap(false, Ordering::AcqRel) {
        // Whatever the callback does, the process ends here.
        let was_wrong = catch_unwind(AssertUnwindSafe(|| (watch.last_words)()));
        if was_wrong.unwrap_or(true) {
            // SAFETY: always allowed; the rest of `exit`'s work belongs to a run that is lost.
            unsafe { _exit(1) };
        }
    }
}
