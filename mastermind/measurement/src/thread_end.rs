//! A value of each thread that is dropped when the thread ends, without the dynamic linker's lock.
//!
//! The C library registers a `thread_local!` whose value is dropped at its first use, and takes the lock which the
//! dynamic linker holds while a library's constructors run: a thread that such a constructor waits for would deadlock.
//! A key of POSIX threads needs no lock.

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::OnceLock;

use cca_abi::guest;

/// The value of the calling thread, the default one at first.
pub(crate) struct ThreadValue<T> {
    /// `None` if the system has no more keys.
    key: OnceLock<Option<libc::pthread_key_t>>,
    value: PhantomData<fn() -> T>,
}

impl<T: Default> ThreadValue<T> {
    pub(crate) const fn new() -> Self {
        Self {
            key: OnceLock::new(),
            value: PhantomData,
        }
    }

    fn key(&self) -> Option<libc::pthread_key_t> {
        *self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the destructor takes the value that `with` stores.
            let made = unsafe { libc::pthread_key_create(&raw mut key, Some(drop_value::<T>)) };
            (made == 0).then_some(key)
        })
    }

    /// Calls `act` with the value. A thread whose destructors run gets a new value, as long as the system runs its
    /// destructors again.
    ///
    /// # Returns
    /// `None` if there is no room for a value.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&RefCell<T>) -> R) -> Option<R> {
        let key = self.key()?;
        // SAFETY: the key is never deleted; its value came from `Box::into_raw` in this thread and lives until it ends.
        unsafe {
            let mut value: *const RefCell<T> = libc::pthread_getspecific(key).cast();
            if value.is_null() {
                value = Box::into_raw(Box::<RefCell<T>>::default());
                if libc::pthread_setspecific(key, value.cast()) != 0 {
                    drop(Box::from_raw(value.cast_mut()));
                    return None;
                }
            }
            Some(act(&*value))
        }
    }
}

/// # Safety
/// [`ThreadValue::with`] made the value, of the same type.
unsafe extern "C" fn drop_value<T>(value: *mut c_void) {
    // Dropping it may take a lock on a thread of the program.
    guest::run(|| {
        // SAFETY: required of the caller.
        drop(unsafe { Box::from_raw(value.cast::<RefCell<T>>()) });
    });
}
