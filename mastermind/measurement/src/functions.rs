//! The recorder's functions, as the code that records calls them.

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

use cca_abi::recording::{NO_PARAMETERS, RecorderFunctions, RecordingContext};
use mastermind_records::{RecordsError, own_thread};

use crate::shared::{LogPointer, Shared};

/// For [`cca_abi::recording::Recorder::new`], with an `Arc<Shared>`'s address as the object.
pub(crate) const FUNCTIONS: RecorderFunctions = RecorderFunctions {
    context,
    roll_over,
    call_path,
    lost,
    counters,
};

/// # Safety
/// `object` is the `Shared` that the recorder was made with.
unsafe fn shared<'a>(object: *const c_void) -> &'a Shared {
    // SAFETY: required of the caller.
    unsafe { &*object.cast() }
}

/// The log of a context; `None` for the cleared context of a forked child.
///
/// # Safety
/// `context` is null or one that [`context`] returned to this thread.
unsafe fn log_of(context: *mut RecordingContext) -> Option<LogPointer> {
    // SAFETY: required of the caller.
    let owner = unsafe { context.as_ref() }?.owner;
    (!owner.is_null()).then_some(LogPointer(owner.cast()))
}

extern "C" fn context(object: *const c_void) -> *mut RecordingContext {
    // What our own threads call is not the program's.
    if own_thread::is_own() {
        return std::ptr::null_mut();
    }
    // SAFETY: called by the recorder made in `RunRecorder::start`, which keeps one strong count.
    let shared = unsafe {
        Arc::increment_strong_count(object.cast::<Shared>());
        Arc::from_raw(object.cast::<Shared>())
    };
    if shared.has_ended() && shared.is_own_process() {
        shared.count_dropped();
        return std::ptr::null_mut();
    }
    let leased = if shared.is_own_process() {
        shared.leased()
    } else {
        shared.leased_in_child()
    };
    let log = match leased {
        None if !shared.is_own_process() || shared.is_full() => Err(RecordsError::NoLogs {
            directory: PathBuf::new(),
        }),
        leased => leased.map_or_else(|| shared.lease(), Ok),
    };
    match log {
        // SAFETY: the calling thread has the lease.
        Ok(log) => unsafe { (*log.0).context() },
        Err(_) => {
            shared.count_dropped();
            std::ptr::null_mut()
        }
    }
}

extern "C" fn roll_over(object: *const c_void, context: *mut RecordingContext, words: u64) -> u32 {
    // SAFETY: the recorder passes its object and this thread's context; no other borrow of the log is alive.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    log.filter(|_| !shared.has_ended())
        .is_some_and(|log| {
            // SAFETY: as above.
            unsafe { &mut *log.0 }.roll_over(words as usize, || shared.clock().calibration())
        })
        .into()
}

extern "C" fn call_path(
    object: *const c_void,
    context: *mut RecordingContext,
    parent: u32,
    method: u32,
) -> u32 {
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    // Without an owner it is the cleared context of a forked child.
    log.or_else(|| shared.leased_in_child())
        .and_then(|log| shared.call_path(log, parent, method))
        .unwrap_or(0)
}

extern "C" fn lost(
    object: *const c_void,
    context: *mut RecordingContext,
    path: u32,
    wall: u64,
    mpi: u64,
) {
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    match log {
        Some(log) => {
            // SAFETY: the calling thread has the lease, and no other borrow of the log is alive.
            let log = unsafe { &mut *log.0 };
            match path {
                NO_PARAMETERS => log.lose_parameters(wall as u32, |id| shared.method_name(id)),
                _ => log.lose(path, wall, mpi),
            }
        }
        None => {
            shared.count_dropped();
        }
    }
}

extern "C" fn counters(
    _: *const c_void,
    context: *mut RecordingContext,
    path: u32,
    out: *mut u64,
) -> u32 {
    // SAFETY: the recorder passes this thread's context.
    let Some(log) = (unsafe { log_of(context) }) else {
        return 0;
    };
    // SAFETY: the calling thread has the lease, and no other borrow of the log is alive.
    let log = unsafe { &mut *log.0 };
    if out.is_null() {
        log.begin_counters(path);
        return 0;
    }
    let (words, n_words) = log.end_counters();
    // SAFETY: there is room for `MAX_COUNTERS` words (`RecorderFunctions::counters`).
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), out, n_words) };
    n_words as u32
}
