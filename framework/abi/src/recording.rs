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
mod library;
mod mpi;
mod thread;
mod value;
pub mod word;

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use abi_stable::StableAbi;

use crate::{PortError, RawPort};
use context::{Parent, time_stamp_counter};
use thread::ThreadContexts;

pub use context::{
    ClockFunction, LogCells, MAX_OPEN_CALLS, N_CACHED_CALL_PATHS, OpenCall, RecordingContext,
};
pub use library::{
    LIBRARY_PROXY_SYMBOL, LIBRARY_PROXY_VERSION, LibraryProxyEntry, LibraryProxyFunction,
    LibraryProxyFunctions, LibraryProxyParameter,
};
pub use mpi::{
    MPI_COMPLETED, MPI_EVENT_PARAMETERS, MPI_PARTS, MPI_PROXY_SYMBOL, MPI_STACK, MpiBytesCallback,
    MpiCommunicator, MpiCommunicatorCallback, MpiMeeting, MpiMeetingCallback, MpiProxyEntry,
    MpiProxyFunctions, MpiStackCallback, MpiTotal,
};
pub use thread::thread_pointer;
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
    /// The context is null if the thread has none. `wall` and `mpi` are in clock ticks. With [`NO_PARAMETERS`] as `path` the call's
    /// parameters could not be computed, and `wall` is the method's id.
    pub lost: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        path: u32,
        wall: u64,
        mpi: u64,
    ),
    /// Reads the counters of a call whose method opted in: with `out` null at its start; at its end with room for
    /// [`MAX_COUNTERS`] words, which receive the differences. Returns the number of words written.
    pub counters: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        path: u32,
        out: *mut u64,
    ) -> u32,
}

/// Version of the code that appends in line: of the context, the words of a record, and the meaning of both.
pub const RECORDING_VERSION: u64 = 4;

/// A recorder as seen by the code that records into it, whichever library that code is in.
#[repr(C)]
#[derive(Debug)]
pub struct Recorder {
    /// [`RECORDING_VERSION`] of the library that made it; first, so that any version can be told from any other.
    version: u64,
    object: *const c_void,
    identity: u64,
    functions: RecorderFunctions,
    /// Contexts at the places that their threads' pointers lead to.
    contexts: ThreadContexts,
}

// SAFETY: `Recorder::new` requires that the functions may be called from every thread with this object.
unsafe impl Send for Recorder {}
// SAFETY: as for `Send`; the fields that are written after construction are atomic.
unsafe impl Sync for Recorder {}

impl Recorder {
    /// # Arguments
    /// * `object` - handed back to every function; not null
    /// * `created` - clock reading; it tells recorders apart whose objects had the same address one after the other
    ///
    /// # Safety
    /// The functions may be called with `object` from any thread as long as the `Recorder` lives. A context that
    /// `context` returns is the calling thread's own until the thread has ended, valid for as long as the `Recorder`
    /// lives, and no other recorder's; it is hidden from its thread ([`RecordingContext::hide_from_thread`]) before the
    /// thread has ended; its cursor, end, origin and cells describe writable memory as [`RecordingContext`] says, or all
    /// of it is zero. `(object, created)` was not used before in this process.
    pub unsafe fn new(object: *const c_void, created: u64, functions: RecorderFunctions) -> Self {
        // Both in one word that is compared at each call. Two pairs have the same one with a chance of 2⁻⁶⁴; the
        // multiplier is 2⁶⁴ divided by the golden ratio. Odd, and thus never 0.
        let identity = (created.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ object.addr() as u64) | 1;
        Self {
            version: RECORDING_VERSION,
            object,
            identity,
            functions,
            contexts: ThreadContexts::new(),
        }
    }

    /// Whether the calling library's in-line code is of the version that the recorder expects.
    ///
    /// # Errors
    /// Both versions: a library built before or after the recorder's cannot record through it.
    pub fn check_version(&self) -> Result<(), PortError> {
        if self.version == RECORDING_VERSION {
            return Ok(());
        }
        Err(PortError::failed(format_args!(
            "the proxy's library records in version {RECORDING_VERSION}, expected {}; build it anew",
            self.version
        )))
    }

    /// The calling thread's context, or null if the thread cannot record.
    ///
    /// A variable of the thread costs a dynamic library a call; the context at the thread pointer's place costs a
    /// comparison, and the variable is for threads that share a place.
    #[inline(always)]
    pub fn thread_context(&self) -> *mut RecordingContext {
        let context = self.contexts.of_thread(thread_pointer());
        if context.is_null() {
            self.find_context()
        } else {
            context
        }
    }

    #[cold]
    #[inline(never)]
    fn find_context(&self) -> *mut RecordingContext {
        let cached = CACHED.get();
        if cached.identity == self.identity {
            return cached.context;
        }
        let context = (self.functions.context)(self.object);
        if !context.is_null() {
            // SAFETY: not null, hence this thread's valid context (contract of `Recorder::new`).
            unsafe {
                (*context).recorder = self;
                (*context).show_to_thread();
                self.contexts.keep(context);
            }
            CACHED.set(Cached {
                identity: self.identity,
                context,
            });
        }
        context
    }

    #[cold]
    #[inline(never)]
    fn enter_new(&self, context: *mut RecordingContext, method_word: u64) -> Option<u32> {
        let method = context::method_id(method_word);
        // SAFETY: the caller got the context from `thread_context`.
        let parent = unsafe { (*context).path() };
        let path = (self.functions.call_path)(self.object, context, parent, method);
        // SAFETY: as above.
        unsafe {
            let entered = path != 0 && (*context).remember_call_path(method_word, path);
            if entered {
                return (*context).enter_cached(method_word);
            }
        }
        (self.functions.lost)(self.object, context, 0, 0, 0);
        None
    }

    #[cold]
    #[inline(never)]
    fn lost_before_call(&self, method: &ProxyMethod) {
        let id = u64::from(method.id());
        (self.functions.lost)(self.object, self.thread_context(), NO_PARAMETERS, id, 0);
    }
}

/// In place of a call path: an expression of the mark-up divided by zero, read a null pointer, or panicked.
pub const NO_PARAMETERS: u32 = u32::MAX;

/// The calling thread's context, as the calling library saw it last.
#[derive(Clone, Copy)]
struct Cached {
    identity: u64,
    context: *mut RecordingContext,
}

thread_local! {
    static CACHED: Cell<Cached> = const { Cell::new(Cached { identity: 0, context: ptr::null_mut() }) };
}

/// One monitored method.
#[repr(C)]
#[derive(Debug, Default)]
pub struct ProxyMethod {
    /// `method_word` of the id that a monitor gave; 0 before that.
    word: AtomicU64,
    state: AtomicU32,
    /// What answers a call that fails; null without.
    before: AtomicPtr<RawPort>,
}

impl ProxyMethod {
    const OFF: u32 = 0;
    const ON: u32 = 1;
    const COUNTERS: u32 = 2;
    const GUARDED: u32 = 4;

    /// A method that no monitor knows yet, switched off.
    pub const fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            state: AtomicU32::new(Self::OFF),
            before: AtomicPtr::new(ptr::null_mut()),
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
        self.word.store(context::method_word(id), Ordering::Relaxed);
        self.state.store(Self::ON, Ordering::Release);
    }

    /// The id that the monitor gave to the method; 0 before that.
    pub fn id(&self) -> u32 {
        context::method_id(self.word.load(Ordering::Relaxed))
    }

    /// Switches recording on or off; calls in flight end as they began. A method without an id stays off.
    pub fn set_enabled(&self, enabled: bool) {
        let on = enabled && self.id() != 0;
        let state = if on {
            Self::ON | self.guarded()
        } else {
            Self::OFF
        };
        self.state.store(state, Ordering::Release);
    }

    /// The bit that stands for a port that answers instead.
    fn guarded(&self) -> u32 {
        match self.before.load(Ordering::Relaxed).is_null() {
            true => 0,
            false => Self::GUARDED,
        }
    }

    /// From now on a call that fails is made once more, to another port: a component that has just been put in does not end
    /// the run. Only calls that are recorded are guarded, and only methods whose arguments own nothing. `None` ends it.
    ///
    /// # Safety
    /// The port is of the method's interface; it can be called as long as there is a proxy that has the method, also after
    /// the guard has ended, since a call may be under way.
    pub unsafe fn guard(&self, before: Option<NonNull<RawPort>>) {
        let before = before.map_or(ptr::null_mut(), NonNull::as_ptr);
        self.before.store(before, Ordering::Release);
        let state = self.state.load(Ordering::Relaxed);
        if state != Self::OFF {
            let state = (state & !Self::GUARDED) | self.guarded();
            self.state.store(state, Ordering::Release);
        }
    }

    /// The port that answers a call that has failed.
    ///
    /// # Safety
    /// It may be called as [`ProxyMethod::guard`]'s caller has promised.
    pub unsafe fn before(&self) -> Option<RawPort> {
        let before = NonNull::new(self.before.load(Ordering::Acquire));
        // SAFETY: the promise of `guard`.
        before.map(|before| unsafe { before.read() })
    }

    /// Whether calls are recorded, without counters or a guard: the straight path.
    #[inline(always)]
    pub fn is_simply_enabled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == Self::ON
    }

    /// Switches recording on with counters.
    pub fn enable_counters(&self) {
        if self.id() != 0 {
            let state = Self::ON | Self::COUNTERS | self.guarded();
            self.state.store(state, Ordering::Release);
        }
    }

    /// Whether calls are recorded.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.state.load(Ordering::Relaxed) != Self::OFF
    }
}

/// A method by address: whoever made the recorder can switch it, whichever proxies stand in front of it. It lives as long
/// as the recorder.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct MethodPointer(pub *const ProxyMethod);

/// A call that is being measured; dropped without [`Recording::end`], it counts as failed.
#[derive(Debug)]
pub struct Recording<'r, const N: usize> {
    context: NonNull<RecordingContext>,
    start: u64,
    mpi: u64,
    parameters: [u64; N],
    /// First word of the record, check and flags still to come; with [`COUNTED`].
    head: u64,
    parent: Parent,
    recorder: PhantomData<&'r Recorder>,
}

/// Mark in [`Recording`]'s first word, never in a log: counters are read.
const COUNTED: u64 = 1 << 63;
/// Either of the marks: the call is recorded out of line.
const SLOWLY: u64 = COUNTED | context::OTHER_CLOCK;

impl<'r, const N: usize> Recording<'r, N> {
    const WORDS: usize = word::HEAD_WORDS + N;

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
                recorder.lost_before_call(method);
                return None;
            }
        };
        let owned = NonNull::new(recorder.thread_context())?;
        let context = owned.as_ptr();
        // SAFETY: the context is this thread's own and valid (contract of `Recorder::new`); no reference to it is
        // kept while one of the recorder's functions runs.
        unsafe {
            let method_word = method.word.load(Ordering::Relaxed);
            let parent = (*context).parent();
            let path = match (*context).enter_cached(method_word) {
                Some(path) => path,
                None => recorder.enter_new(context, method_word)?,
            };
            let mut head = word::record(path, Self::WORDS, (*context).flags);
            let mpi = (*context).mpi_ticks;
            let start = if state & ProxyMethod::COUNTERS == 0 && head & SLOWLY == 0 {
                time_stamp_counter()
            } else {
                head |= COUNTED * u64::from(state & ProxyMethod::COUNTERS != 0);
                begin_slowly(context, head)
            };
            (*(*context).cells).push_open_call(path, start);
            Some(Self {
                context: owned,
                start,
                mpi,
                parameters,
                head,
                parent,
                recorder: PhantomData,
            })
        }
    }

    /// Ends the measurement and appends the record.
    ///
    /// # Arguments
    /// * `failed` - whether the call returned an error or panicked
    #[inline(always)]
    pub fn end(self, failed: bool) {
        let recording = ManuallyDrop::new(self);
        recording.finish(time_stamp_counter(), failed, &recording.parameters);
    }

    /// When the call began, ticks of the recorder's clock.
    #[inline(always)]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The parameter words that were given at the begin.
    #[inline(always)]
    pub fn parameters(&self) -> &[u64; N] {
        &self.parameters
    }

    /// As [`Recording::end`], for a caller that has read the recorder's clock as the call ended, and knows the parameters only now.
    ///
    /// # Arguments
    /// * `stop` - that reading
    /// * `parameters` - take the place of those that were given at the begin
    #[inline(always)]
    pub fn end_at(self, stop: u64, failed: bool, parameters: [u64; N]) {
        let mut recording = ManuallyDrop::new(self);
        // The clock has been read, whichever it is.
        recording.head &= !context::OTHER_CLOCK;
        recording.finish(stop, failed, &parameters);
    }

    /// As [`Recording::end`], for parameters that are known when the call has ended.
    ///
    /// # Arguments
    /// * `parameters` - changes those that were given at the begin, after the clock was read; if it panics, those are recorded
    #[cold]
    pub fn end_with(self, failed: bool, parameters: impl FnOnce(&mut [u64; N])) {
        let recording = ManuallyDrop::new(self);
        let context = recording.context.as_ptr();
        // SAFETY: as in `finish`.
        let stop = unsafe { (*context).now() };
        let mut words = recording.parameters;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| parameters(&mut words))) {
            // The payload's own drop might panic.
            std::mem::forget(payload);
            words = recording.parameters;
        }
        // The clock has been read, whichever it is.
        let head = recording.head & !context::OTHER_CLOCK | (u64::from(failed) * word::FAILED);
        // SAFETY: as in `finish`.
        unsafe {
            (*context).restore(recording.parent);
            append_slowly(context, head, [recording.start, stop, recording.mpi], words);
        }
    }

    #[inline(always)]
    fn finish(&self, stop: u64, failed: bool, parameters: &[u64; N]) {
        let context = self.context.as_ptr();
        // SAFETY: `Recording` is not `Send`, so this is the thread that `begin` ran in, and the borrow of the
        // recorder keeps the context alive. A context with room has cells.
        unsafe {
            (*context).restore(self.parent);
            let next = (*context).cursor.wrapping_add(Self::WORDS);
            if !failed && self.head & SLOWLY == 0 && next <= (*context).end {
                let times = times(context, self.start, stop, self.mpi);
                let cells = &*(*context).cells;
                append(context, cells, self.head, times, parameters);
                cells.pop_open_call();
            } else {
                let head = self.head | (u64::from(failed) * word::FAILED);
                // The parameters are copied here, so that they can stay in registers otherwise.
                append_slowly(context, head, [self.start, stop, self.mpi], *parameters);
            }
        }
    }
}

impl<const N: usize> Drop for Recording<'_, N> {
    /// An exception of another language passes through.
    #[inline(always)]
    fn drop(&mut self) {
        // By value, so that a call that returns need not keep them in memory.
        let &mut Self {
            context,
            start,
            mpi,
            parameters,
            head,
            parent,
            recorder,
        } = self;
        abandon(Self {
            context,
            start,
            mpi,
            parameters,
            head,
            parent,
            recorder,
        });
    }
}

#[cold]
#[inline(never)]
fn abandon<const N: usize>(recording: Recording<'_, N>) {
    recording.end(true);
}

/// Start, wall time and time in MPI, ticks.
///
/// # Safety
/// The context is valid.
#[inline(always)]
unsafe fn times(context: *mut RecordingContext, start: u64, stop: u64, mpi: u64) -> [u64; 3] {
    let wall = stop.saturating_sub(start);
    // SAFETY: required of the caller.
    let now = unsafe { (*context).mpi_ticks };
    // Below where a forked child, whose context was cleared, ends a call that its parent began.
    [start, wall, now.saturating_sub(mpi)]
}

/// # Safety
/// The context is valid, with room for the record and with these cells.
#[inline(always)]
unsafe fn append(
    context: *mut RecordingContext,
    cells: &LogCells,
    head: u64,
    times: [u64; 3],
    values: &[u64],
) {
    // SAFETY: required of the caller.
    unsafe {
        let [start, wall, mpi] = times;
        let cursor = (*context).cursor;
        *cursor.add(1) = start;
        *cursor.add(2) = wall;
        *cursor.add(3) = mpi;
        let mut check = head ^ start ^ wall ^ mpi;
        for (place, value) in values.iter().enumerate() {
            *cursor.add(word::HEAD_WORDS + place) = *value;
            check ^= *value;
        }
        *cursor = head | word::folded(check);
        (*context).commit_in(cells, cursor.add(word::HEAD_WORDS + values.len()));
    }
}

/// # Arguments
/// * `ticks` - start, the time-stamp counter's stop, and what was spent in MPI before the start
///
/// # Safety
/// As for [`append`], but for the room.
#[cold]
#[inline(never)]
unsafe fn append_slowly<const N: usize>(
    context: *mut RecordingContext,
    head: u64,
    [start, mut stop, mpi]: [u64; 3],
    parameters: [u64; N],
) {
    // SAFETY: the context is this thread's own and valid.
    let times = unsafe {
        if head & context::OTHER_CLOCK != 0 {
            stop = (*context).now();
        }
        times(context, start, stop, mpi)
    };
    // SAFETY: the context is this thread's own and valid; null where it was cleared for a forked child.
    let Some(recorder) = (unsafe { (*context).recorder.as_ref() }) else {
        return;
    };
    let (object, functions) = (recorder.object, &recorder.functions);
    let path = word::path(head);
    let mut values = [0; MAX_RECORD_VALUES];
    let mut n_values = N.min(word::MAX_RECORD_WORDS);
    values[..n_values].copy_from_slice(&parameters[..n_values]);
    if head & COUNTED != 0 {
        n_values +=
            (functions.counters)(object, context, path, values[n_values..].as_mut_ptr()) as usize;
    }
    let n_words = word::HEAD_WORDS + n_values;
    // SAFETY: the room is made, or there already.
    unsafe {
        let has_room = n_words <= word::MAX_RECORD_WORDS
            && ((*context).room() >= n_words
                || (functions.roll_over)(object, context, n_words as u64) != 0);
        let cells = &*(*context).cells;
        if has_room {
            let head = word::record(path, n_words, head & (word::FAILED | word::MPI_MEASURED));
            append(context, cells, head, times, &values[..n_values]);
        } else {
            (functions.lost)(object, context, path, times[1], times[2]);
        }
        cells.pop_open_call();
    }
}

/// Room for the most values, and for counters beyond them that are then lost.
const MAX_RECORD_VALUES: usize = word::MAX_RECORD_WORDS + MAX_COUNTERS;

/// Begins to read counters where the call has them, and reads whatever clock there is.
///
/// # Safety
/// The context is this thread's own and valid.
#[cold]
#[inline(never)]
unsafe fn begin_slowly(context: *mut RecordingContext, head: u64) -> u64 {
    // SAFETY: required of the caller.
    unsafe {
        if head & COUNTED != 0
            && let Some(recorder) = (*context).recorder.as_ref()
        {
            let path = word::path(head);
            (recorder.functions.counters)(recorder.object, context, path, ptr::null_mut());
        }
        (*context).now()
    }
}
