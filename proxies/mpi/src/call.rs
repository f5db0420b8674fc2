//! The measurement of one call of MPI.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use cca_abi::recording::{ClockFunction, Recorder, RecordingContext};

use crate::totals::{Totals, thread_totals};

/// The recorder that MPI time is told to; null if none is attached.
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());
/// Number of times that another recorder, or none, was attached; tells contexts of earlier recorders apart.
static EPOCH: AtomicU64 = AtomicU64::new(0);
/// A [`ClockFunction`]; null is the time-stamp counter.
static CLOCK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// What one thread knows.
struct ThreadState {
    /// MPI calls that have begun and not ended: those within the outermost are not counted.
    depth: Cell<u32>,
    /// The epoch that `context` is of.
    epoch: Cell<u64>,
    /// The thread's context; null if it has none.
    context: Cell<*mut RecordingContext>,
    /// The thread's totals; null before the first call.
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
            // SAFETY: null, or totals that are this thread's own and live for ever.
            match unsafe { state.totals.get().as_ref() } {
                Some(totals) if state.epoch.get() == EPOCH.load(Ordering::Relaxed) => {
                    totals.add(self.function, ticks);
                    // SAFETY: null, or this thread's context, of the recorder that is attached.
                    if let Some(context) = unsafe { state.context.get().as_mut() } {
                        context.mpi_ticks = context.mpi_ticks.wrapping_add(ticks);
                    }
                }
                _ => state.add_anew(self.function, ticks),
            }
        }
        state.depth.set(depth);
    }
}

impl ThreadState {
    /// The thread's first call, or its first since another recorder was attached.
    #[cold]
    #[inline(never)]
    fn add_anew(&self, function: u32, ticks: u64) {
        if self.totals.get().is_null() {
            self.totals.set(thread_totals());
        }
        let epoch = EPOCH.load(Ordering::Acquire);
        // SAFETY: whoever attached the recorder keeps it until it is detached.
        let recorder = unsafe { RECORDER.load(Ordering::Acquire).as_ref() };
        let context = recorder.map_or(ptr::null_mut(), Recorder::thread_context);
        self.context.set(context);
        self.epoch.set(epoch);
        // SAFETY: set above; they live for ever.
        if let Some(totals) = unsafe { self.totals.get().as_ref() } {
            totals.add(function, ticks);
        }
        // SAFETY: null, or this thread's context.
        if let Some(context) = unsafe { context.as_mut() } {
            context.mpi_ticks = context.mpi_ticks.wrapping_add(ticks);
        }
    }
}
