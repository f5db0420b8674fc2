//! A thread of ours in a foreign program, begun without the dynamic linker's lock.
//!
//! The standard library's `spawn` asks the dynamic linker for the size of a stack, which waits while a library's
//! constructors run.

use std::ffi::{CString, c_void};
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of its stack: the standard library's default for a thread.
const STACK_BYTES: usize = 2 << 20;

type Result<T> = Arc<Mutex<Option<std::thread::Result<T>>>>;

/// A thread that runs or has ended; dropping it detaches it.
#[derive(Debug)]
pub struct Thread<T> {
    thread: libc::pthread_t,
    result: Result<T>,
}

/// Start data of a thread.
struct Begin<W, T> {
    name: CString,
    work: W,
    result: Result<T>,
}

/// Begins a thread.
///
/// # Errors
/// The errors of starting a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    fn begin<T, W: FnOnce() -> T>(work: W, name: &str) -> io::Result<Thread<T>> {
        let result = Result::default();
        let begin = Box::into_raw(Box::new(Begin {
            name: CString::new(name).unwrap_or_default(),
            work,
            result: Arc::clone(&result),
        }));
        // SAFETY: the attributes are initialised before they are used; the thread takes its start data.
        unsafe {
            let mut attributes = MaybeUninit::uninit();
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_BYTES);
            let mut thread = 0;
            let error = libc::pthread_create(
                &raw mut thread,
                attributes.as_ptr(),
                run::<T, W>,
                begin.cast(),
            );
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if error != 0 {
                drop(Box::from_raw(begin));
                return Err(io::Error::from_raw_os_error(error));
            }
            Ok(Thread { thread, result })
        }
    }
    begin(work, name)
}

extern "C" fn run<T, W: FnOnce() -> T>(begin: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made it, for this thread alone.
    let Begin { name, work, result } = *unsafe { Box::from_raw(begin.cast::<Begin<W, T>>()) };
    // SAFETY: a text of C; a name that is too long is not taken.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    let done = catch_unwind(AssertUnwindSafe(work));
    *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    ptr::null_mut()
}

impl<T> Thread<T> {
    /// Waits for its end.
    ///
    /// # Errors
    /// The value it panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        // SAFETY: it was neither joined nor detached before.
        unsafe { libc::pthread_join(self.thread, ptr::null_mut()) };
        // SAFETY: it is taken out of a value that is never dropped.
        let result = unsafe { ptr::read(&raw const ManuallyDrop::new(self).result) };
        let done = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        done.unwrap_or_else(|| Err(Box::new("the thread was ended from outside")))
    }

    /// Whether its work is done.
    pub fn is_finished(&self) -> bool {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.is_some()
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        // SAFETY: it was not joined.
        unsafe { libc::pthread_detach(self.thread) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_what_its_work_returns() {
        assert_eq!(spawn("test", || 7).unwrap().join().unwrap(), 7);
        let panicked = spawn("test", || std::panic::resume_unwind(Box::new(3)));
        assert!(panicked.unwrap().join().map(|(): ()| ()).is_err());
    }
}
