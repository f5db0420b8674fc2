//! The measurement of one call of MPI.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use cca_abi::recording::{ClockFunction, Recorder, RecordingContext};

use crate::totals::{Totals, thread_totals};

/// The recorder that MPI time is told to; null if none is attached.
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());
/// Number of times that another recorder, or none, was attached; tells contexts of earlier recorders apart.
static EPOCH: AtomicU64 = AtomicU64::new(1);
/// A [`ClockFunction`]; null is the time-stamp counter.
static CLOCK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// What one thread knows.
struct ThreadState {
    /// MPI calls that have begun and not ended: those within the outermost are not counted.
    depth: Cell<u32>,
    /// The epoch that `context` is of; 0 before the first call.
    epoch: Cell<u64>,
    /// The thread's context; null if it has none.
    context: Cell<*mut RecordingContext>,
    /// The thread's own totals; null before the first call that is in no log's.
    totals: Cell<*const Totals>,
}

thread_local! {
    // Nothing to drop: the first access costs what any other does.
    static STATE: ThreadState = const {
        ThreadState {
            depth: Cell::new(0),
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
    // SAFETY: whoever attached the recorder keeps it until it is detached, when no call of MPI is being made.
    unsafe { RECORDER.load(Ordering::Acquire).as_ref() }
}

/// Whether the calling thread is in no call of MPI.
pub(crate) fn is_outermost() -> bool {
    STATE.with(|state| state.depth.get() == 0)
}

/// Tells MPI time to `recorder` from now on; null to no one.
pub(crate) fn attach(recorder: *const Recorder) {
    RECORDER.store(recorder.cast_mut(), Ordering::Release);
    EPOCH.fetch_add(1, Ordering::Release);
}

#[inline(always)]
fn now() -> u64 {
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
}

impl Call {
    /// Begins a call of the function with this place in [`crate::wrappers::NAMES`].
    #[inline(always)]
    pub(crate) fn begin(function: u32) -> Self {
        STATE.with(|state| {
            let depth = state.depth.get();
            state.depth.set(depth + 1);
            let start = if depth == 0 { now() } else { 0 };
            Call {
                state,
                start,
                function,
            }
        })
    }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this is the thread of `begin`, whose state lives until the thread has ended.
        let state = unsafe { &*self.state };
        let depth = state.depth.get().wrapping_sub(1);
        if depth == 0 {
            let ticks = now().saturating_sub(self.start);
            if state.epoch.get() == EPOCH.load(Ordering::Relaxed) {
                state.add(self.function, ticks);
            } else {
                state.add_anew(self.function, ticks);
            }
        }
        state.depth.set(depth);
    }
}

impl ThreadState {
    /// Adds a call to the totals in the thread's log, or to those of the thread if there are none.
    #[inline(always)]
    fn add(&self, function: u32, ticks: u64) {
        // SAFETY: null, or this thread's context, of the recorder that is attached.
        if let Some(context) = unsafe { self.context.get().as_mut() } {
            context.mpi_ticks = context.mpi_ticks.wrapping_add(ticks);
            // The pointer is read anew each time: a forked child finds a cleared context, and must not write into its
            // parent's log.
            if u64::from(function) < context.n_mpi_totals && !context.mpi_totals.is_null() {
                // SAFETY: there are that many, mapped as long as the context is.
                unsafe { &*context.mpi_totals.add(function as usize) }.add(ticks);
                return;
            }
        }
        self.add_to_own(function, ticks);
    }

    #[inline(never)]
    fn add_to_own(&self, function: u32, ticks: u64) {
        if self.totals.get().is_null() {
            self.totals.set(thread_totals());
        }
        // SAFETY: set above or before; they live for ever.
        if let Some(totals) = unsafe { self.totals.get().as_ref() } {
            totals.add(function, ticks);
        }
    }

    /// The thread's first call, or its first since another recorder was attached.
    #[cold]
    #[inline(never)]
    fn add_anew(&self, function: u32, ticks: u64) {
        let epoch = EPOCH.load(Ordering::Acquire);
        let context = attached().map_or(ptr::null_mut(), Recorder::thread_context);
        self.context.set(context);
        self.epoch.set(epoch);
        self.add(function, ticks);
    }
}
