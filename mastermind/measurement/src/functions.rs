//! The recorder's functions, called by the code that records.
//!
//! [`FUNCTIONS`] fills in the table of a [`cca_abi::recording::Recorder`]. Proxies record inline and call these
//! functions only for rare events: the first call of a thread, a full chunk, a new call path, a call with counters, a
//! call that is lost or left. They run on threads of the program, so they follow the rules of a guest
//! ([`cca_abi::guest`]): calls that such work makes are neither recorded nor counted.
//!
//! ```text
//! first call of a thread         context   ->  lease of a log (`shared`)
//! no room for a record           roll over ->  next chunk (`thread_log`)
//! new caller and method          path      ->  definition of a call path
//! ```

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

use cca_abi::guest;
use cca_abi::recording::{
    Begins, Ends, LeftCall, NO_PARAMETERS, RecorderFunctions, RecordingContext,
};
use mastermind_records::{RecordsError, own_thread};

use crate::shared::{LogPointer, Shared};

/// For [`cca_abi::recording::Recorder::new`], with an `Arc<Shared>`'s address as the object.
pub(crate) const FUNCTIONS: RecorderFunctions = RecorderFunctions {
    context,
    roll_over,
    call_path,
    lost,
    counters,
    begin_out_of_order,
    end_out_of_order,
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
/// `context` is null or was returned by [`context`] to this thread.
unsafe fn log_of(context: *mut RecordingContext) -> Option<LogPointer> {
    // SAFETY: required of the caller.
    let owner = unsafe { context.as_ref() }?.owner;
    (!owner.is_null()).then_some(LogPointer(owner.cast()))
}

extern "C" fn context(object: *const c_void) -> *mut RecordingContext {
    // Calls of our own threads, and of our work on the program's threads, do not belong to the program.
    if guest::is_at_work() || own_thread::is_own() {
        return std::ptr::null_mut();
    }
    // SAFETY: the recorder passes its object.
    let shared = unsafe { shared(object) };
    let is_refused = shared.has_ended() || shared.has_nothing_free();
    if is_refused && shared.is_own_process() {
        shared.count_dropped();
        return std::ptr::null_mut();
    }
    guest::run(|| find_context(object)).unwrap_or_else(|| {
        shared.count_dropped();
        std::ptr::null_mut()
    })
}

fn find_context(object: *const c_void) -> *mut RecordingContext {
    // SAFETY: called by the recorder that `RunRecorder::start` made, which owns one strong count.
    let shared = unsafe {
        Arc::increment_strong_count(object.cast::<Shared>());
        Arc::from_raw(object.cast::<Shared>())
    };
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
    let Some(log) = log.filter(|_| !shared.has_ended()) else {
        return 0;
    };
    let has_room = guest::run(|| {
        // SAFETY: as above.
        unsafe { &mut *log.0 }.roll_over(words as usize, || shared.clock().calibration())
    });
    has_room.unwrap_or(false).into()
}

extern "C" fn call_path(
    object: *const c_void,
    context: *mut RecordingContext,
    parent: u32,
    method: u32,
) -> u32 {
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    let path = guest::run(|| {
        // Without an owner, this is the cleared context of a forked child.
        let log = log.or_else(|| shared.leased_in_child())?;
        shared.call_path(log, parent, method)
    });
    path.flatten().unwrap_or(0)
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
                NO_PARAMETERS => {
                    let method = wall as u32;
                    log.lose(0, 0, 0);
                    if !log.has_said_why(method) {
                        guest::run(|| log.say_why(method, shared.method_name(method)));
                    }
                }
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
        // SAFETY: the context is this thread's.
        let depth = unsafe { &*context }.n_open_calls();
        if log.has_counters_open(path) {
            guest::run_in_place(|| log.begin_counters(path, depth));
        } else if guest::run(|| log.begin_counters(path, depth)).is_none() {
            log.begin_without_counters(depth);
        }
        return 0;
    }
    let (words, n_words) = guest::run_in_place(|| log.end_counters());
    // SAFETY: there is room for `MAX_COUNTERS` words (`RecorderFunctions::counters`).
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), out, n_words) };
    n_words as u32
}

extern "C" fn begin_out_of_order(
    object: *const c_void,
    context: *mut RecordingContext,
    frame: i64,
) -> u32 {
    if guest::is_at_work() {
        return 0;
    }
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    let Some(log) = log else {
        // The cleared context of a forked child.
        let log = guest::run(|| shared.leased_in_child()).flatten();
        if log.is_none() {
            shared.count_dropped();
        }
        return u32::from(log.is_some());
    };
    // SAFETY: the calling thread has the lease. This does not touch data that the interrupted code has borrowed: the
    // context alone shows that the call interrupts it.
    unsafe {
        let begins = (*context).begin_out_of_order(frame, |call| (*log.0).leave(call));
        if begins == Begins::Counted {
            (*log.0).interrupt();
            return 0;
        }
        (*log.0).forget_counters((*context).n_open_calls());
        // A definition moves the cursor, which no code is using now.
        say_left(shared, log);
    }
    1
}

/// Writes a definition to the log that names the method whose call was left.
///
/// # Safety
/// The calling thread has the lease, and no other borrow of the log is alive.
unsafe fn say_left(shared: &Shared, log: LogPointer) {
    // SAFETY: required of the caller.
    let log = unsafe { &mut *log.0 };
    if let Some(method) = log.left_method() {
        guest::run(|| log.say_left(method, shared.method_name(method)));
    }
}

extern "C" fn end_out_of_order(
    object: *const c_void,
    context: *mut RecordingContext,
    path: u32,
    start: u64,
    frame: i64,
    now: i64,
) -> u32 {
    // SAFETY: the recorder passes its object and this thread's context.
    let (shared, log) = unsafe { (shared(object), log_of(context)) };
    let Some(log) = log else {
        return Ends::Counted as u32;
    };
    let call = LeftCall {
        path,
        start,
        frame,
        n_callers: 0,
    };
    // SAFETY: as in `begin_out_of_order`.
    unsafe {
        let ends = (*context).end_out_of_order(call, now, |call| (*log.0).leave(call));
        match ends {
            Ends::Counted => {}
            Ends::Innermost => {
                (*log.0).forget_counters((*context).n_open_calls());
                say_left(shared, log);
            }
            Ends::Alone => (*log.0).return_to(call),
        }
        ends as u32
    }
}
