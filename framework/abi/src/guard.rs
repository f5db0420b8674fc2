//! The panic guard of the provider's side and the caller's side of one call.
//!
//! # Decisions
//!
//! An exception of C++ may leave a method of a component in C++: the tables are `extern
//! "C-unwind"`, so it passes through a proxy, which records the call as failed, to a caller in C++
//! that catches it. A caller in Rust cannot (`catch_unwind` of a foreign exception may abort, the
//! Rust reference says); there the process ends with a message, and the records of all calls, this
//! one included, are in the logs. `cca::guarded` of `cca.h` turns exceptions into errors on the
//! component's side, as panics are.

use core::mem::MaybeUninit;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{ConnectedPort, ErrorBuffer, ErrorCode, PortError};

/// Runs a component's method on its own side of the border: an error goes into the buffer, and so does a panic.
///
/// # Returns
/// The status to return: 0, or an [`ErrorCode`].
///
/// # Safety
/// As for [`ErrorBuffer::write`].
#[inline(always)]
pub unsafe fn guard(
    error: *mut ErrorBuffer,
    method: impl FnOnce() -> Result<(), PortError>,
) -> i32 {
    match catch_unwind(AssertUnwindSafe(method)) {
        Ok(Ok(())) => 0,
        // SAFETY: the caller's promise.
        Ok(Err(failure)) => unsafe { ErrorBuffer::write(error, &failure) },
        // SAFETY: the caller's promise.
        Err(panic) => unsafe { panicked(error, &panic) },
    }
}

/// As [`guard`], for a method with a result, which is written to `out`.
///
/// # Safety
/// As for [`ErrorBuffer::write`]; `out` points to space for a `T`.
#[inline(always)]
pub unsafe fn guard_value<T>(
    out: *mut T,
    error: *mut ErrorBuffer,
    method: impl FnOnce() -> Result<T, PortError>,
) -> i32 {
    // SAFETY: the caller's promise, passed on; `out` is written once and only here.
    unsafe {
        guard(error, || {
            out.write(method()?);
            Ok(())
        })
    }
}

/// The caller's side: calls through the border and turns status and buffer into a `Result`.
///
/// An exception of C++ that leaves a component ends the process here, with a message: Rust can neither catch it (Rust
/// reference, "Unwinding": `catch_unwind` may abort, and does) nor continue. A caller in C++ that catches it receives
/// it, through any proxy in between.
///
/// # Safety
/// `method` returns 0 after writing a `T`, or non-zero, before which it may leave a message in the error buffer.
#[inline(always)]
pub unsafe fn call<T>(
    method: impl FnOnce(*mut T, *mut ErrorBuffer) -> i32,
) -> Result<T, PortError> {
    // SAFETY: the caller's promise.
    unsafe { call_with(method, |error| error) }
}

/// As [`call`], of the port that a slot points to: an error names the instance that it is from.
///
/// # Safety
/// As for [`call`]; `target` is the former target of the slot, and the caller is between `get_port` and
/// `release_port`.
#[inline(always)]
pub unsafe fn call_connected<T>(
    target: *const ConnectedPort,
    method: impl FnOnce(*mut T, *mut ErrorBuffer) -> i32,
) -> Result<T, PortError> {
    // SAFETY: the caller's promise; the target is kept until its `release_port`.
    unsafe { call_with(method, |error| named(target, error)) }
}

#[inline(always)]
unsafe fn call_with<T>(
    method: impl FnOnce(*mut T, *mut ErrorBuffer) -> i32,
    with_context: impl FnOnce(PortError) -> PortError,
) -> Result<T, PortError> {
    let mut out = MaybeUninit::<T>::uninit();
    let mut error = ErrorBuffer::empty();
    let foreign = ForeignException;
    let status = method(out.as_mut_ptr(), error.as_mut_ptr());
    core::mem::forget(foreign);
    if status == 0 {
        // SAFETY: status 0 means that the value was written.
        Ok(unsafe { out.assume_init() })
    } else {
        // SAFETY: the buffer started empty, and contains only the output of the method.
        let error = unsafe { ErrorBuffer::read(error.as_ptr(), status) };
        Err(with_context(error))
    }
}

#[cold]
#[inline(never)]
unsafe fn named(target: *const ConnectedPort, error: PortError) -> PortError {
    // SAFETY: the caller's promise: it is not null and lives.
    match unsafe { (*target).instance() } {
        Some(instance) => error.from_instance(instance),
        None => error,
    }
}

/// Dropped only where an exception passes: a panic is caught on the provider's side.
struct ForeignException;

impl Drop for ForeignException {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // A panic in a destructor that runs while the stack is unwound: reported like any panic, and the process ends.
        panic!(
            "cannot return from a component's method: it threw an exception, expected a status; \
             catch it there (`cca::guarded` of cca.h)"
        );
    }
}

#[cold]
unsafe fn panicked(error: *mut ErrorBuffer, panic: &Box<dyn Any + Send>) -> i32 {
    let message = format_args!("panicked: {}", panic_message(panic));
    let failure = PortError::new(ErrorCode::Panicked, message);
    // SAFETY: the caller's promise.
    unsafe { ErrorBuffer::write(error, &failure) }
}

/// The text that a panic was raised with.
pub fn panic_message(panic: &Box<dyn Any + Send>) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "a panic without a message"
    }
}
