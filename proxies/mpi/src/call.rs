//! The measurement of one call of MPI.
//!
//! Calls that MPI makes itself, within one of the program, are not counted: they begin further down the stack than the
//! outermost one. An error handler may leave that call by `longjmp`: the next call, which begins further up the stack,
//! reveals it. The left call is then counted as failed, with unknown duration.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use cca_abi::guest;
use cca_abi::recording::{
    ClockFunction, LogCells, MpiTotal, Recorder, RecordingContext, stack_address,
};

use crate::facts::Recent;
use crate::polls::Polls;
use crate::processor_time::ProcessorTime;
use crate::totals::{Totals, thread_totals};

/// The recorder that receives MPI time; null if none is attached.
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());
/// Number of times that another recorder, or none, was attached; distinguishes contexts of earlier
/// recorders.
static EPOCH: AtomicU64 = AtomicU64::new(1);
/// A [`ClockFunction`]; null is the time-stamp counter.
static CLOCK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// State of one thread.
pub(crate) struct ThreadState {
    /// Its recent queries of MPI.
    pub(crate) recent: Recent,
    /// Its latest calls that have found nothing and have no record yet.
    pub(crate) polls: Polls,
    /// Its computation since its latest call, if that is recorded.
    pub(crate) processor_time: ProcessorTime,
    /// Stack address where the outermost call began; [`NO_CALL`] outside of MPI.
    outermost: Cell<i64>,
    /// Its function; [`NO_FUNCTION`] if it is none of the program's.
    function: Cell<u32>,
    /// The epoch that `context` is of; 0 before the first call.
    epoch: Cell<u64>,
    /// The thread's context; null if it has none.
    context: Cell<*mut RecordingContext>,
    /// The thread's own totals; null before the first call that is in no log's.
    totals: Cell<*const Totals>,
}

/// Below every stack address.
const NO_CALL: i64 = 0;
/// Above every stack address: the call is within another one.
const WITHIN: i64 = i64::MAX;
const NO_FUNCTION: u32 = u32::MAX;

thread_local! {
    // Nothing to drop, so the first access costs as much as any other.
    static STATE: ThreadState = const {
        ThreadState {
            recent: Recent::new(),
            polls: Polls::new(),
            processor_time: ProcessorTime::new(),
            outermost: Cell::new(NO_CALL),
            function: Cell::new(NO_FUNCTION),
            epoch: Cell::new(0),
            context: Cell::new(ptr::null_mut()),
            totals: Cell::new(ptr::null()),
        }
    };
}

/// Forgets the calling thread's totals: they pass on to another thread.
pub(crate) fn forget_totals() {
    let _ = STATE.try_with(|state| state.totals.set(ptr::null()));
}

/// Sets the clock of calls that begin from now on.
pub(crate) fn set_clock(clock: Option<ClockFunction>) {
    let address = clock.map_or(ptr::null_mut(), |clock| clock as *mut ());
    CLOCK.store(address, Ordering::Relaxed);
}

/// The recorder that is attached.
pub(crate) fn attached<'r>() -> Option<&'r Recorder> {
    // SAFETY: the program that attached the recorder keeps it until it is detached, when no call of MPI is
    // being made.
    unsafe { RECORDER.load(Ordering::Acquire).as_ref() }
}

/// Changes with the recorder that is attached.
pub(crate) fn epoch() -> u64 {
    EPOCH.load(Ordering::Relaxed)
}

/// State of the calling thread; valid until the thread has ended.
#[inline]
pub(crate) fn thread_state() -> *const ThreadState {
    STATE.with(ptr::from_ref)
}

/// Adds MPI time to `recorder` from now on; null switches that off.
pub(crate) fn attach(recorder: *const Recorder) {
    RECORDER.store(recorder.cast_mut(), Ordering::Release);
    EPOCH.fetch_add(1, Ordering::Release);
}

/// Reads the clock, ticks.
#[inline(always)]
pub(crate) fn now() -> u64 {
    let clock = CLOCK.load(Ordering::Relaxed);
    if clock.is_null() {
        // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
        return unsafe { std::arch::x86_64::_rdtsc() };
    }
    // SAFETY: `set_clock` stored a clock function there.
    let clock: ClockFunction = unsafe { std::mem::transmute(clock) };
    clock()
}

/// A call of MPI that is being made; ended when it is dropped, by an exception of C++ as well.
pub(crate) struct Call {
    state: *const ThreadState,
    start: u64,
    function: u32,
    /// Stack address of its begin; [`WITHIN`].
    frame: i64,
}

impl Call {
    /// Begins a call of the function with this place in [`crate::wrappers::NAMES`].
    #[inline(always)]
    pub(crate) fn begin(function: u32) -> Self {
        STATE.with(|state| state.begin(function, now))
    }

    /// Counts the call as failed, if it is the outermost.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_failure(&self) {
        if self.frame != WITHIN {
            // SAFETY: as in `drop`.
            unsafe { &*self.state }.count_failure(self.function);
        }
    }

    /// Ends the call.
    ///
    /// # Returns
    /// When it ended, ticks; 0 for a call that is not the outermost.
    #[inline(always)]
    pub(crate) fn end(self) -> u64 {
        ManuallyDrop::new(self).finish()
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        if self.frame == WITHIN {
            return 0;
        }
        // SAFETY: this is the thread of `begin`, whose state lives until the thread has ended.
        let state = unsafe { &*self.state };
        let stop = now();
        let ticks = stop.saturating_sub(self.start);
        if state.outermost.get() != self.frame {
            state.return_to(self.function);
        }
        if state.epoch.get() == EPOCH.load(Ordering::Relaxed) {
            state.add(self.function, ticks, stop);
        } else {
            state.add_anew(self.function, ticks, stop);
        }
        if state.outermost.get() == self.frame {
            state.outermost.set(NO_CALL);
        }
        stop
    }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        self.finish();
    }
}

impl ThreadState {
    /// Whether a call made from the calling function is within no other call of MPI.
    #[inline(always)]
    pub(crate) fn is_outermost(&self) -> bool {
        stack_address() >= self.outermost.get()
    }

    /// Begins a call of a function.
    ///
    /// # Arguments
    /// * `start` - reads the begin, ticks; called if it is the outermost
    #[inline(always)]
    pub(crate) fn begin(&self, function: u32, start: impl FnOnce() -> u64) -> Call {
        let (frame, outermost) = (stack_address(), self.outermost.get());
        if frame < outermost {
            return Call {
                state: self,
                start: 0,
                function,
                frame: WITHIN,
            };
        }
        if outermost != NO_CALL {
            self.leave();
        }
        self.outermost.set(frame);
        self.function.set(function);
        Call {
            state: self,
            start: start(),
            function,
            frame,
        }
    }

    /// Counts the outermost call, which was left without its end.
    #[cold]
    #[inline(never)]
    fn leave(&self) {
        let function = self.function.replace(NO_FUNCTION);
        if function != NO_FUNCTION {
            self.add_anew(function, 0, now());
            self.count_failure(function);
        }
    }

    /// A call ends that was treated as left, as a coroutine's may be: it is not counted twice.
    #[cold]
    #[inline(never)]
    fn return_to(&self, function: u32) {
        self.with_total(function, MpiTotal::take_back);
        self.change_failures(function, |failed| failed.saturating_sub(1));
    }

    /// The cells of the thread's log; `None` before its first call has ended.
    #[inline(always)]
    pub(crate) fn cells(&self) -> Option<&LogCells> {
        if self.epoch.get() != EPOCH.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: null, or this thread's context, of the recorder that is attached; its cells are null or mapped as long as it is.
        unsafe { self.context.get().as_ref()?.cells.as_ref() }
    }

    /// Does something whose calls of MPI are not the program's.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let (outermost, function) = (self.outermost.get(), self.function.get());
        if stack_address() >= outermost {
            self.outermost.set(stack_address());
            self.function.set(NO_FUNCTION);
        }
        let done = work();
        self.outermost.set(outermost);
        self.function.set(function);
        done
    }

    /// Counts a failed call in the thread's log.
    fn count_failure(&self, function: u32) {
        self.change_failures(function, |failed| failed + 1);
    }

    fn change_failures(&self, function: u32, change: impl FnOnce(u64) -> u64) {
        // A thread whose first call fails has no context before it ends.
        if self.epoch.get() != EPOCH.load(Ordering::Relaxed) {
            self.find_context();
        }
        // SAFETY: null, or this thread's context, of the attached recorder; if there is a place for failed calls, there
        // is one for each function.
        unsafe {
            let context = self.context.get().as_ref();
            let Some(context) = context.filter(|context| !context.mpi_failed.is_null()) else {
                return;
            };
            if u64::from(function) < context.n_mpi_totals {
                // One writer.
                let failed = &*context.mpi_failed.add(function as usize);
                failed.store(change(failed.load(Ordering::Relaxed)), Ordering::Relaxed);
            }
        }
    }

    /// Adds a call to the totals in the thread's log, or to those of the thread if there are none.
    #[inline(always)]
    fn add(&self, function: u32, ticks: u64, stop: u64) {
        // SAFETY: null, or this thread's context, of the recorder that is attached.
        if let Some(context) = unsafe { self.context.get().as_mut() } {
            context.mpi_ticks = context.mpi_ticks.wrapping_add(ticks);
            // SAFETY: null, or mapped as long as the context is.
            if let Some(cells) = unsafe { context.cells.as_ref() } {
                cells.mpi_latest.store(stop, Ordering::Relaxed);
            }
        }
        self.with_total(function, |total| total.add(ticks));
    }

    /// Changes the total of a function.
    #[inline(always)]
    fn with_total(&self, function: u32, change: impl FnOnce(&MpiTotal)) {
        // SAFETY: null, or this thread's context, of the recorder that is attached.
        if let Some(context) = unsafe { self.context.get().as_ref() } {
            // The pointer is read anew each time: a forked child finds a cleared context, and must not write into its
            // parent's log.
            if u64::from(function) < context.n_mpi_totals && !context.mpi_totals.is_null() {
                // SAFETY: there are that many, mapped as long as the context is.
                change(unsafe { &*context.mpi_totals.add(function as usize) });
                return;
            }
        }
        if let Some(total) = self.own_total(function) {
            change(total);
        }
    }

    /// A total of the thread's own, which no log has.
    #[inline(never)]
    fn own_total(&self, function: u32) -> Option<&MpiTotal> {
        if self.totals.get().is_null() {
            self.totals.set(guest::run(thread_totals)?);
        }
        // SAFETY: set above or before; they live for ever.
        unsafe { self.totals.get().as_ref() }?.of(function)
    }

    /// The thread's first call, or its first since another recorder was attached.
    #[cold]
    #[inline(never)]
    fn add_anew(&self, function: u32, ticks: u64, stop: u64) {
        self.find_context();
        self.add(function, ticks, stop);
    }

    fn find_context(&self) {
        let epoch = EPOCH.load(Ordering::Acquire);
        let context = attached().map_or(ptr::null_mut(), Recorder::thread_context);
        self.context.set(context);
        self.epoch.set(epoch);
    }
}
