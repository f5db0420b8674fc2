//! The recording context: what a proxy appends its records through, in line.
//!
//! A proxied call runs, in this order: parameters extracted; the calling thread's [`RecordingContext`] fetched, once;
//! the call's path looked up; the MPI accumulator and the clock read; *the call*; the clock and the accumulator read;
//! the record appended to the thread's memory-mapped log and committed; the open call popped. No function of another
//! library is called unless a chunk is full, a call path is new, or a thread records for the first time.
//!
//! ```text
//! Recording::begin(recorder, method, || [left.len() as u64, axis as u64])      proxy, before the call
//! recording.end(status != 0)                                                   proxy, after the call
//! ```
//!
//! A measurement never fails the measured call: whatever goes wrong here, the record is dropped and counted.

mod context;
mod value;
pub mod word;

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

pub use context::{
    CallPathEntry, ClockFunction, LogCells, MAX_OPEN_CALLS, N_CACHED_CALL_PATHS, OpenCall,
    RecordingContext,
};
pub use value::{ParameterKind, PerfValue};

/// Most counters that one record can hold.
pub const MAX_COUNTERS: usize = 16;

/// The functions a recorder gives to the code that records; the first argument of each is [`Recorder`]'s object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RecorderFunctions {
    /// This thread's context, or null if it cannot record; the refusal is counted by the recorder.
    pub context: extern "C" fn(object: *const c_void) -> *mut RecordingContext,
    /// Makes room for `words` more words at the context's cursor. Returns 0 if there is none to be had.
    pub roll_over:
        extern "C" fn(object: *const c_void, context: *mut RecordingContext, words: u64) -> u32,
    /// The id of the call path `parent` → `method`, defined in the log by then; 0 if it cannot be defined.
    pub call_path: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        parent: u32,
        method: u32,
    ) -> u32,
    /// Takes note of a call that ended and could not be recorded (`path` is 0 where not even that is known).
    /// The context is null if the thread has none. `wall` and `mpi` are in clock ticks.
    pub lost: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        path: u32,
        wall: u64,
        mpi: u64,
    ),
    /// Reads the counters of a method that opted in: with `out` null at the start of a call; at its end with room for
    /// [`MAX_COUNTERS`] words, which receive the differences. Returns the number of words written.
    pub counters: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        method: u32,
        out: *mut u64,
    ) -> u32,
}

/// A recorder as seen by the code that records into it, whichever library that code is in.
#[repr(C)]
#[derive(Debug)]
pub struct Recorder {
    object: *const c_void,
    created: u64,
    functions: RecorderFunctions,
}

// SAFETY: `Recorder::new` requires that the functions may be called from every thread with this object.
unsafe impl Send for Recorder {}
// SAFETY: as for `Send`; the fields are never written after construction.
unsafe impl Sync for Recorder {}

impl Recorder {
    /// # Arguments
    /// * `object` - handed back to every function
    /// * `created` - clock reading; together with the address of this `Recorder` it is unique in the process
    ///
    /// # Safety
    /// The functions may be called with `object` from any thread as long as the `Recorder` lives. A context that
    /// `context` returns is the calling thread's own and valid for as long as the `Recorder` lives; its cursor, end,
    /// origin and cells describe writable memory as [`RecordingContext`] says, or are all zero.
    pub const unsafe fn new(
        object: *const c_void,
        created: u64,
        functions: RecorderFunctions,
    ) -> Self {
        Self {
            object,
            created,
            functions,
        }
    }

    /// The calling thread's context, or null if the thread cannot record.
    #[inline(always)]
    pub fn thread_context(&self) -> *mut RecordingContext {
        let cached = CACHED.get();
        if cached.recorder == ptr::from_ref(self) && cached.created == self.created {
            // SAFETY: this very recorder handed the context to this thread, and contexts live as long as it does.
            let lease = unsafe { (*cached.context).lease };
            if lease == cached.lease {
                return cached.context;
            }
        }
        self.fetch_context()
    }

    #[cold]
    #[inline(never)]
    fn fetch_context(&self) -> *mut RecordingContext {
        let context = (self.functions.context)(self.object);
        if !context.is_null() {
            // SAFETY: not null, hence this thread's valid context (contract of `Recorder::new`).
            let lease = unsafe { (*context).lease };
            CACHED.set(Cached {
                recorder: self,
                created: self.created,
                context,
                lease,
            });
        }
        context
    }

    #[cold]
    #[inline(never)]
    fn new_call_path(&self, context: *mut RecordingContext, parent: u32, method: u32) -> u32 {
        let path = (self.functions.call_path)(self.object, context, parent, method);
        if path == 0 {
            (self.functions.lost)(self.object, context, 0, 0, 0);
        } else {
            // SAFETY: the caller got the context from `thread_context`.
            unsafe { (*context).remember_call_path(parent, method, path) };
        }
        path
    }

    #[cold]
    #[inline(never)]
    fn lost_before_call(&self) {
        (self.functions.lost)(self.object, self.thread_context(), 0, 0, 0);
    }
}

/// The calling thread's context, as the calling library saw it last.
#[derive(Clone, Copy)]
struct Cached {
    recorder: *const Recorder,
    created: u64,
    context: *mut RecordingContext,
    lease: u64,
}

thread_local! {
    static CACHED: Cell<Cached> = const {
        Cell::new(Cached { recorder: ptr::null(), created: 0, context: ptr::null_mut(), lease: 0 })
    };
}

/// One monitored method of one proxy.
#[repr(C)]
#[derive(Debug, Default)]
pub struct ProxyMethod {
    id: AtomicU32,
    state: AtomicU32,
}

impl ProxyMethod {
    const OFF: u32 = 0;
    const ON: u32 = 1;
    const COUNTERS: u32 = 2;

    /// A method that no monitor knows yet, switched off.
    pub const fn new() -> Self {
        Self {
            id: AtomicU32::new(0),
            state: AtomicU32::new(Self::OFF),
        }
    }

    /// A method with the id that a monitor gave it (from 1 up), switched on.
    pub fn registered(id: u32) -> Self {
        let method = Self::new();
        method.register(id);
        method
    }

    /// Takes the id that the monitor gave to the method (from 1 up) and switches the method on.
    pub fn register(&self, id: u32) {
        self.id.store(id, Ordering::Relaxed);
        self.state.store(Self::ON, Ordering::Release);
    }

    /// The id that the monitor gave to the method; 0 before that.
    pub fn id(&self) -> u32 {
        self.id.load(Ordering::Relaxed)
    }

    /// Switches recording on or off; calls in flight end as they began. A method without an id stays off.
    pub fn set_enabled(&self, enabled: bool) {
        let on = enabled && self.id() != 0;
        self.state
            .store(if on { Self::ON } else { Self::OFF }, Ordering::Release);
    }

    /// Switches recording on with counters.
    pub fn enable_counters(&self) {
        if self.id() != 0 {
            self.state
                .store(Self::ON | Self::COUNTERS, Ordering::Release);
        }
    }

    /// Whether calls are recorded.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.state.load(Ordering::Relaxed) != Self::OFF
    }
}

/// A call that is being measured; dropped without [`Recording::end`], it counts as failed.
#[derive(Debug)]
pub struct Recording<'r, const N: usize> {
    recorder: &'r Recorder,
    context: *mut RecordingContext,
    start: u64,
    mpi: u64,
    parameters: [u64; N],
    path: u32,
    parent: u32,
    /// Method id if counters are read, else 0.
    counted: u32,
    thread: PhantomData<*mut ()>,
}

impl<'r, const N: usize> Recording<'r, N> {
    /// Begins to measure a call; the clock is read last.
    ///
    /// # Arguments
    /// * `recorder` - where the record goes
    /// * `method` - the method that is called
    /// * `parameters` - extracts the parameter words ([`PerfValue::to_word`]); if it panics, the call is not recorded
    ///
    /// # Returns
    /// `None` if the method is switched off or the call cannot be recorded (which is counted).
    #[inline(always)]
    pub fn begin(
        recorder: &'r Recorder,
        method: &ProxyMethod,
        parameters: impl FnOnce() -> [u64; N],
    ) -> Option<Self> {
        let state = method.state.load(Ordering::Relaxed);
        if state == ProxyMethod::OFF {
            return None;
        }
        let parameters = match catch_unwind(AssertUnwindSafe(parameters)) {
            Ok(parameters) => parameters,
            Err(payload) => {
                // The payload's own drop might panic.
                std::mem::forget(payload);
                recorder.lost_before_call();
                return None;
            }
        };
        let context = recorder.thread_context();
        if context.is_null() {
            return None;
        }
        let id = method.id.load(Ordering::Relaxed);
        // SAFETY: the context is this thread's own and valid (contract of `Recorder::new`); no other reference to it
        // exists while this function runs, since the functions called below get the pointer.
        unsafe {
            let parent = (*context).path;
            let mut path = (*context).cached_call_path(parent, id);
            if path == 0 {
                path = recorder.new_call_path(context, parent, id);
                if path == 0 {
                    return None;
                }
            }
            (*context).path = path;
            let mut counted = 0;
            if state & ProxyMethod::COUNTERS != 0 {
                counted = id;
                (recorder.functions.counters)(recorder.object, context, id, ptr::null_mut());
            }
            let mpi = (*context).mpi_ticks;
            let start = (*context).now();
            (*context).push_open_call(path, start);
            Some(Self {
                recorder,
                context,
                start,
                mpi,
                parameters,
                path,
                parent,
                counted,
                thread: PhantomData,
            })
        }
    }

    /// Ends the measurement and appends the record.
    ///
    /// # Arguments
    /// * `failed` - whether the call returned an error or panicked
    #[inline(always)]
    pub fn end(self, failed: bool) {
        let this = ManuallyDrop::new(self);
        this.finish(failed);
    }

    #[inline(always)]
    fn finish(&self, failed: bool) {
        let context = self.context;
        // SAFETY: `Recording` is not `Send`, so this is the thread that `begin` ran in, and the borrow of the
        // recorder keeps the context alive; `append` checks the room before it writes.
        unsafe {
            let stop = (*context).now();
            let wall = stop.saturating_sub(self.start);
            let mpi = (*context).mpi_ticks.wrapping_sub(self.mpi).min(wall);
            if self.counted == 0 && (*context).room() >= Self::WORDS {
                self.append(failed, wall, mpi, &[]);
            } else {
                self.append_slowly(failed, wall, mpi);
            }
            (*context).path = self.parent;
            (*context).pop_open_call();
        }
    }

    const WORDS: usize = word::HEAD_WORDS + N;

    /// # Safety
    /// The context is valid and has room for the record.
    #[inline(always)]
    unsafe fn append(&self, failed: bool, wall: u64, mpi: u64, counters: &[u64]) {
        // SAFETY: required of the caller.
        unsafe {
            let flags = (*self.context).flags | (u64::from(failed) * word::FAILED);
            let n_words = Self::WORDS + counters.len();
            let head = word::record(self.path, n_words, flags);
            let mut check = head ^ self.start ^ wall ^ mpi;
            let cursor = (*self.context).cursor;
            *cursor.add(1) = self.start;
            *cursor.add(2) = wall;
            *cursor.add(3) = mpi;
            let mut next = cursor.add(word::HEAD_WORDS);
            for value in self.parameters.iter().chain(counters) {
                *next = *value;
                check ^= *value;
                next = next.add(1);
            }
            *cursor = head | word::folded(check);
            (*self.context).commit(next);
        }
    }

    #[cold]
    #[inline(never)]
    fn append_slowly(&self, failed: bool, wall: u64, mpi: u64) {
        let Recorder {
            object, functions, ..
        } = self.recorder;
        let mut counters = [0; MAX_COUNTERS];
        let mut n_counters = 0;
        if self.counted != 0 {
            let n =
                (functions.counters)(*object, self.context, self.counted, counters.as_mut_ptr());
            n_counters = (n as usize).min(MAX_COUNTERS);
        }
        let words = Self::WORDS + n_counters;
        // SAFETY: the context is valid (see `finish`), and `append` runs only where there is room.
        unsafe {
            if words > word::MAX_RECORD_WORDS
                || ((*self.context).room() < words
                    && (functions.roll_over)(*object, self.context, words as u64) == 0)
            {
                (functions.lost)(*object, self.context, self.path, wall, mpi);
            } else {
                self.append(failed, wall, mpi, &counters[..n_counters]);
            }
        }
    }
}

impl<const N: usize> Drop for Recording<'_, N> {
    fn drop(&mut self) {
        self.finish(true);
    }
}
