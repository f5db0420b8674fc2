//! The recording context, through which a proxy appends its records, in line.
//!
//! A proxied call runs, in this order: parameters extracted; the calling thread's [`RecordingContext`] fetched, once;
//! the call's path looked up; the MPI accumulator and the clock read; *the call*; the clock and the accumulator read;
//! the record appended to the thread's memory-mapped log and committed; the open call popped. No function of another
//! library is called unless a chunk is full, a call path is new, or a thread records for the first time. A signal handler may
//! come in between at any instruction, and a call may be left by `longjmp` (`context`, `open`).
//!
//! ```text
//! Recording::begin(recorder, method, || [left.len() as u64, axis as u64])      proxy, before the call
//! recording.end(status != 0)                                                   proxy, after the call
//! ```
//!
//! A measurement never fails the measured call: after any error here, the record is dropped and counted.

mod context;
mod joined;
mod library;
mod method;
mod mpi;
mod open;
mod openmp;
mod thread;
mod value;
pub mod word;

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::PortError;
use context::{NO_FRAME, OTHER_CLOCK, begin_mark, end_mark, time_stamp_counter};
use thread::ThreadContexts;

pub use context::{
    ClockFunction, LogCells, MAX_OPEN_CALLS, N_CACHED_CALL_PATHS, OPEN_UNTIL_ZERO, OpenCall,
    RecordingContext, stack_address,
};
pub use joined::JoinedCalls;
pub use library::{
    LIBRARY_PROXY_SYMBOL, LIBRARY_PROXY_VERSION, LibraryProxyEntry, LibraryProxyFunction,
    LibraryProxyFunctions, LibraryProxyParameter,
};
pub use method::{Admission, MethodPointer, ProxyMethod};
pub use mpi::{
    MPI_COMPLETED, MPI_EVENT_PARAMETERS, MPI_PARTS, MPI_PROXY_SYMBOL, MPI_STACK, MpiBytesCallback,
    MpiCallSum, MpiCallSumCallback, MpiCommunicator, MpiCommunicatorCallback, MpiEventOptions,
    MpiMeeting, MpiMeetingCallback, MpiProxyEntry, MpiProxyFunctions, MpiStackCallback, MpiTotal,
};
pub use open::{Begins, Ends, LeftCall};
pub use openmp::{
    OPENMP_GCC, OPENMP_LLVM, OPENMP_OTHER_TOOL, OPENMP_OUTDATED, OPENMP_PROXY_SYMBOL,
    OPENMP_SANITIZER, OpenMpFacts, OpenMpProxyEntry, OpenMpProxyFunctions, OpenMpStartCallback,
    OpenMpSum, OpenMpSumCallback,
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
    /// Makes room for `words` more words at the context's cursor. Returns 0 if there is no more room.
    pub roll_over:
        extern "C" fn(object: *const c_void, context: *mut RecordingContext, words: u64) -> u32,
    /// The id of the call path `parent` → `method`, defined in the log by then; 0 if it cannot be defined.
    pub call_path: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        parent: u32,
        method: u32,
    ) -> u32,
    /// Counts a call that ended and could not be recorded (`path` is 0 if even that is unknown). The context is null if
    /// the thread has none. `wall` and `mpi` are in clock ticks. With [`NO_PARAMETERS`] as `path` the call's parameters
    /// could not be computed, and `wall` is the method's id.
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
    /// A call begins at the stack address `frame`, which is not below the frame of the context. Returns whether it is to be
    /// recorded; if not, it has been counted.
    pub begin_out_of_order:
        extern "C" fn(object: *const c_void, context: *mut RecordingContext, frame: i64) -> u32,
    /// A call that began at the stack address `frame` and at `start` ends, at the stack address `now`, and the context's frame is
    /// another one. Returns one of [`Ends`].
    pub end_out_of_order: extern "C" fn(
        object: *const c_void,
        context: *mut RecordingContext,
        path: u32,
        start: u64,
        frame: i64,
        now: i64,
    ) -> u32,
}

/// Version of the code that appends in line: of the context, the words of a record, and the meaning of both.
pub const RECORDING_VERSION: u64 = 5;

/// A recorder as seen by the code that records into it, whichever library that code is in.
#[repr(C)]
#[derive(Debug)]
pub struct Recorder {
    /// [`RECORDING_VERSION`] of the library that made it; first, so that every version can read it.
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
    /// * `object` - passed to every function; not null
    /// * `created` - clock reading; it distinguishes recorders whose objects had the same address one after the
    ///   other
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

    /// The begin of a call whose method is not simply switched on, whose thread or call path is new, whose frame is out of order,
    /// or that has another clock.
    ///
    /// # Arguments
    /// * `frame` - stack address at which the call begins, for as long as it is open; [`NO_FRAME`] for a call without a
    ///   place on the stack
    /// * `now` - the stack address of the code that begins it
    #[cold]
    #[inline(never)]
    fn begin_otherwise(
        &self,
        method: &ProxyMethod,
        n_words: usize,
        frame: i64,
        now: i64,
    ) -> Option<Begun> {
        let state = method.state.load(Ordering::Relaxed);
        if state == ProxyMethod::OFF {
            return None;
        }
        let context = NonNull::new(self.thread_context())?;
        let (owned, context) = (context, context.as_ptr());
        let (object, functions) = (self.object, &self.functions);
        // SAFETY: the context is this thread's own and valid (contract of `Recorder::new`); no reference to it is kept while one
        // of the recorder's functions runs.
        unsafe {
            let is_in_order = now < (*context).frame.load(Ordering::Relaxed);
            if !is_in_order && (functions.begin_out_of_order)(object, context, now) == 0 {
                return None;
            }
            let around = (*context).frame.load(Ordering::Relaxed);
            (*context).mark(begin_mark(frame));
            let parent = (*context).parent;
            let id = method.id();
            let key = parent.wrapping_add(context::method_key(id));
            let slot = context::method_slot(id);
            let known = (*context).other_path(key);
            let head = match known {
                Some(head) => {
                    (*context).remember_first(slot, key, head);
                    head
                }
                None => match (functions.call_path)(object, context, parent as u32, id) {
                    0 => {
                        (functions.lost)(object, context, 0, 0, 0);
                        (*context).unmark(around);
                        return None;
                    }
                    path => (*context).remember_call_path(slot, key, path),
                },
            };
            let path = word::path(head);
            let mut head = head | (n_words as u64) << word::LENGTH_SHIFT;
            head |= COUNTED * u64::from(state & ProxyMethod::COUNTERS != 0);
            let has_room = (*context).top < (*context).top_end;
            let top = if has_room {
                (*context).top
            } else {
                ptr::null()
            };
            let is_slow = !has_room || frame == NO_FRAME || head & (COUNTED | OTHER_CLOCK) != 0;
            let mpi = (*context).mpi_ticks;
            let start = begin_slowly(context, head);
            (*context).parent = u64::from(path);
            match has_room {
                true => (*context).push_open_call(top, path, start, frame),
                false => (*context).n_deeper += 1,
            }
            (*context).unmark(frame);
            Some(Begun {
                context: owned,
                start,
                mpi,
                head,
                parent,
                frame: if is_slow { frame | SLOWLY } else { frame },
                around,
                top,
            })
        }
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

/// A call that is being measured; dropped without [`Recording::end`], it counts as failed.
#[derive(Debug)]
pub struct Recording<'r, const N: usize> {
    begun: Begun,
    parameters: [u64; N],
    recorder: PhantomData<&'r Recorder>,
}

/// State of a call as it begins.
#[derive(Clone, Copy, Debug)]
struct Begun {
    context: NonNull<RecordingContext>,
    start: u64,
    mpi: u64,
    /// First word of the record, check and flags still to come; with the marks below.
    head: u64,
    /// The caller's path.
    parent: u64,
    /// Where on the stack it begins; with [`SLOWLY`].
    frame: i64,
    /// The frame of the context before.
    around: i64,
    /// Its place among the open calls; null if it has none.
    top: *const OpenCall,
}

/// Mark in [`Begun`]'s first word, never in a log: counters are read.
const COUNTED: u64 = 1 << 63;
/// Mark in [`Begun`]'s frame, which no context has, and so the call ends out of line.
const SLOWLY: i64 = 1;

impl<'r, const N: usize> Recording<'r, N> {
    const WORDS: usize = word::HEAD_WORDS + N;

    /// Begins to measure a call; the clock is read last. It ends in the function that it begins in: a call that begins there
    /// without that, or further up the stack, shows that it was left (`longjmp`).
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
        if !method.is_enabled() {
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
        let begun = Begun::begin(recorder, method, Self::WORDS, stack_address())?;
        Some(Self {
            begun,
            parameters,
            recorder: PhantomData,
        })
    }

    /// As [`Recording::begin`], for a call that may end in another function: it is never treated as abandoned.
    #[cold]
    pub fn begin_anywhere(
        recorder: &'r Recorder,
        method: &ProxyMethod,
        parameters: [u64; N],
    ) -> Option<Self> {
        let begun = recorder.begin_otherwise(method, Self::WORDS, NO_FRAME, stack_address())?;
        Some(Self {
            begun,
            parameters,
            recorder: PhantomData,
        })
    }

    /// Ends the measurement and appends the record.
    ///
    /// # Arguments
    /// * `failed` - whether the call returned an error or panicked
    #[inline(always)]
    pub fn end(self, failed: bool) {
        let recording = ManuallyDrop::new(self);
        recording
            .begun
            .finish(time_stamp_counter(), failed, &recording.parameters);
    }

    /// When the call began, ticks of the recorder's clock.
    #[inline(always)]
    pub fn start(&self) -> u64 {
        self.begun.start
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
        recording.begun.head &= !OTHER_CLOCK;
        recording.begun.finish(stop, failed, &parameters);
    }

    /// As [`Recording::end`], for parameters that are known when the call has ended.
    ///
    /// # Arguments
    /// * `parameters` - changes those that were given at the begin, after the clock was read; if it panics, those are recorded
    #[cold]
    pub fn end_with(self, failed: bool, parameters: impl FnOnce(&mut [u64; N])) {
        let recording = ManuallyDrop::new(self);
        let mut begun = recording.begun;
        // SAFETY: as in `finish`.
        let stop = unsafe { begun.context.as_ref() }.now();
        let mut words = recording.parameters;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| parameters(&mut words))) {
            // The payload's own drop might panic.
            std::mem::forget(payload);
            words = recording.parameters;
        }
        // The clock has been read, whichever it is.
        begun.head = begun.head & !OTHER_CLOCK | (u64::from(failed) * word::FAILED);
        // SAFETY: as in `finish`.
        unsafe { append_slowly(begun, stop, words) };
    }
}

impl Begun {
    /// Begins a call at this stack address.
    #[inline(always)]
    fn begin(
        recorder: &Recorder,
        method: &ProxyMethod,
        n_words: usize,
        frame: i64,
    ) -> Option<Self> {
        let thread = thread_pointer();
        let context = recorder.contexts.at_place_of(thread);
        // SAFETY: the context is mapped as long as the recorder is. It is only changed once it is known to be this thread's own.
        unsafe {
            let at = context.as_ptr();
            let around = (*at).frame.load(Ordering::Relaxed);
            let top = (*at).top;
            if ThreadContexts::is_own(at, thread) && frame < around && top < (*at).top_end {
                (*at).mark(begin_mark(frame));
                let parent = (*at).parent;
                let cached = (*at).cached_path(method.slot.load(Ordering::Relaxed));
                let key = parent.wrapping_add(method.key.load(Ordering::Relaxed));
                if cached.key == key {
                    let head = cached.head | (n_words as u64) << word::LENGTH_SHIFT;
                    let path = word::path(head);
                    (*at).parent = u64::from(path);
                    let mpi = (*at).mpi_ticks;
                    let start = time_stamp_counter();
                    (*at).push_open_call(top, path, start, frame);
                    (*at).unmark(frame);
                    return Some(Self {
                        context,
                        start,
                        mpi,
                        head,
                        parent,
                        frame,
                        around,
                        top,
                    });
                }
                (*at).unmark(around);
            }
        }
        recorder.begin_otherwise(method, n_words, frame, frame)
    }

    #[inline(always)]
    fn finish<const N: usize>(&self, stop: u64, failed: bool, parameters: &[u64; N]) {
        let context = self.context.as_ptr();
        // SAFETY: the borrow of the recorder keeps the context alive, and only the thread that it is of appends through it: a
        // coroutine may be in another one than `begin` was. A context with room has cells.
        unsafe {
            let is_innermost = (*context).frame.load(Ordering::Relaxed) == self.frame;
            if is_innermost && !failed && (*context).is_of_thread() {
                (*context).mark(end_mark(self.frame));
                let next = (*context).cursor.wrapping_add(word::HEAD_WORDS + N);
                if next <= (*context).end {
                    let mpi = (*context).mpi_ticks.wrapping_sub(self.mpi);
                    let times = [self.start, stop.saturating_sub(self.start), mpi];
                    let cells = &*(*context).cells;
                    append(context, cells, self.head, times, parameters, &[]);
                    (*context).pop_open_call(self.top);
                    (*context).parent = self.parent;
                    (*context).unmark(self.around);
                    return;
                }
            }
            let mut begun = *self;
            begun.head |= u64::from(failed) * word::FAILED;
            // The parameters are copied here, so that they can stay in registers otherwise.
            append_slowly(begun, stop, *parameters);
        }
    }
}

impl<const N: usize> Drop for Recording<'_, N> {
    /// An exception of another language passes through.
    #[inline(always)]
    fn drop(&mut self) {
        // By value, so that a call that returns need not keep them in memory.
        let &mut Self {
            begun,
            parameters,
            recorder,
        } = self;
        abandon(Self {
            begun,
            parameters,
            recorder,
        });
    }
}

#[cold]
#[inline(never)]
fn abandon<const N: usize>(recording: Recording<'_, N>) {
    recording.end(true);
}

/// # Safety
/// The context is valid, with room for the record and with these cells.
#[inline(always)]
unsafe fn append(
    context: *mut RecordingContext,
    cells: &LogCells,
    head: u64,
    times: [u64; 3],
    parameters: &[u64],
    counters: &[u64],
) {
    // SAFETY: required of the caller.
    unsafe {
        let [start, wall, mpi] = times;
        let cursor = (*context).cursor;
        *cursor.add(1) = start;
        *cursor.add(2) = wall;
        *cursor.add(3) = mpi;
        let mut check = head ^ start ^ wall ^ mpi;
        let behind = cursor.add(word::HEAD_WORDS);
        for (place, value) in parameters.iter().enumerate() {
            *behind.add(place) = *value;
            check ^= *value;
        }
        let behind = behind.add(parameters.len());
        for (place, value) in counters.iter().enumerate() {
            *behind.add(place) = *value;
            check ^= *value;
        }
        *cursor = head | word::folded(check);
        ask_for(cursor.wrapping_byte_add(PREFETCH_BYTES));
        (*context).commit_in(cells, behind.add(counters.len()));
    }
}

/// Distance of prefetching ahead of a record: a page is available some twenty records later.
const PREFETCH_BYTES: usize = 1024;

/// Prefetches memory that is written soon: a store to the start of a new page would cost hundreds of nanoseconds.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_for(address: *mut u64) {
    // SAFETY: a hint; it faults nowhere.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask_for(_: *mut u64) {}

/// The end of a call that failed, has counters or another clock, fills its chunk, whose frame is not the innermost one, or in
/// another thread than it began, as that of a coroutine may be: there it has no record, and the thread it began in finds it left.
///
/// # Arguments
/// * `stop` - the time-stamp counter's
///
/// # Safety
/// The context is valid.
#[cold]
#[inline(never)]
unsafe fn append_slowly<const N: usize>(begun: Begun, mut stop: u64, parameters: [u64; N]) {
    let context = begun.context.as_ptr();
    // SAFETY: required of the caller; no recorder where the context was cleared for a forked child.
    unsafe {
        if begun.head & OTHER_CLOCK != 0 {
            stop = (*context).now();
        }
        let Some(recorder) = (*context).recorder.as_ref() else {
            return;
        };
        let is_unbound = begun.frame & !SLOWLY == NO_FRAME;
        // An unbound call may end after its thread.
        let is_of_nobody = is_unbound && (*context).seen_by() == 0;
        if !(*context).is_of_thread() && !is_of_nobody && recorder.thread_context() != context {
            return;
        }
        let (object, functions) = (recorder.object, &recorder.functions);
        let path = word::path(begun.head);
        let own = begun.frame & !SLOWLY;
        let now = if is_unbound { stack_address() } else { own };
        let frame = (*context).frame.load(Ordering::Relaxed);
        let is_marked = frame == end_mark(own) && !is_unbound;
        // Several calls that belong to no place of the stack have the same frame; those that found no room end in order.
        let is_innermost = frame == own && (!is_unbound || begun.top.is_null());
        let ends = match is_marked || is_innermost {
            true => Ends::Innermost as u32,
            false => (functions.end_out_of_order)(object, context, path, begun.start, own, now),
        };
        let wall = stop.saturating_sub(begun.start);
        // Smaller if a forked child, whose context was cleared, ends a call that its parent began.
        let mpi = (*context).mpi_ticks.saturating_sub(begun.mpi);
        if ends == Ends::Counted as u32 {
            (functions.lost)(object, context, path, wall, mpi);
            return;
        }
        let is_alone = ends == Ends::Alone as u32;
        let before = (*context).frame.load(Ordering::Relaxed);
        if !is_marked {
            (*context).mark(end_mark(own));
        }
        let (mut counters, mut n_counters) = ([0; MAX_COUNTERS], 0);
        // The counters of a call that is not among the open ones were forgotten with it.
        if begun.head & COUNTED != 0 && !is_alone {
            let room = counters.as_mut_ptr();
            n_counters = (functions.counters)(object, context, path, room) as usize;
        }
        let n_words = word::HEAD_WORDS + N + n_counters;
        let has_room = n_words <= word::MAX_RECORD_WORDS
            && ((*context).room() >= n_words
                || (functions.roll_over)(object, context, n_words as u64) != 0);
        if has_room {
            let flags = begun.head & (word::FAILED | word::MPI_MEASURED);
            let (head, times) = (word::record(path, n_words, flags), [begun.start, wall, mpi]);
            append(
                context,
                &*(*context).cells,
                head,
                times,
                &parameters,
                &counters[..n_counters],
            );
        } else {
            (functions.lost)(object, context, path, wall, mpi);
        }
        if is_alone {
            (*context).unmark(before);
            return;
        }
        match begun.top.is_null() {
            true => (*context).n_deeper -= 1,
            false => (*context).pop_open_call(begun.top),
        }
        (*context).parent = begun.parent;
        (*context).unmark(begun.around);
    }
}

/// Starts reading counters if the call has them, and reads the clock of the context, whichever it
/// is.
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
