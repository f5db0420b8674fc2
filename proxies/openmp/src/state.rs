//! Whether anything is measured, by which clock, and facts that are reported in addition to sums.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use cca_abi::recording::{ClockFunction, OpenMpStartCallback};

static IS_ON: AtomicBool = AtomicBool::new(false);
/// A [`ClockFunction`]; null is the time-stamp counter.
static CLOCK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// Callback before the first construct; null if there is none.
static CALLBACK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// Bits of [`cca_abi::recording::OpenMpFacts::seen`].
static SEEN: AtomicU32 = AtomicU32::new(0);
/// Constructs and threads that there was no room for.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
/// Whether this is a child that a measured process forked.
static IS_CHILD: AtomicBool = AtomicBool::new(false);
/// Constructs in such children: a word that they share with their parent; null before the measurement.
static IN_CHILDREN: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Whether a construct that begins now is measured; the first construct starts the recording.
#[inline(always)]
pub(crate) fn begin() -> bool {
    IS_ON.load(Ordering::Relaxed) || begin_first()
}

/// Whether something is measured.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

#[cold]
#[inline(never)]
fn begin_first() -> bool {
    if IS_CHILD.load(Ordering::Relaxed) {
        // SAFETY: null, or a word that is never unmapped.
        if let Some(count) = unsafe { IN_CHILDREN.load(Ordering::Acquire).as_ref() } {
            count.fetch_add(1, Ordering::Relaxed);
        }
        return false;
    }
    let callback = CALLBACK.load(Ordering::Acquire);
    if !callback.is_null() {
        // SAFETY: `before_first_call` stored such a function there.
        let start: OpenMpStartCallback = unsafe { std::mem::transmute(callback) };
        // Several threads may come at once: each waits there until one of them has started the recording.
        if start() == 0 {
            CALLBACK.store(ptr::null_mut(), Ordering::Release);
        }
    }
    is_on()
}

/// Registers `callback`, which is called before the first construct.
pub(crate) fn before_first_call(callback: Option<OpenMpStartCallback>) {
    let address = callback.map_or(ptr::null_mut(), |callback| callback as *mut ());
    CALLBACK.store(address, Ordering::Release);
}

/// Measures from now on, by a clock.
pub(crate) fn turn_on(clock: Option<ClockFunction>) {
    let address = clock.map_or(ptr::null_mut(), |clock| clock as *mut ());
    CLOCK.store(address, Ordering::Relaxed);
    if IN_CHILDREN.load(Ordering::Acquire).is_null() {
        prepare_for_forks();
    }
    IS_ON.store(true, Ordering::Release);
}

/// Measures no more.
pub(crate) fn turn_off() {
    IS_ON.store(false, Ordering::Release);
}

fn prepare_for_forks() {
    // SAFETY: new memory of this process and its children; the handler lives as long as the process.
    unsafe {
        let page = libc::mmap(
            ptr::null_mut(),
            size_of::<AtomicU64>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page != libc::MAP_FAILED {
            IN_CHILDREN.store(page.cast(), Ordering::Release);
        }
        libc::pthread_atfork(None, None, Some(in_child));
    }
}

extern "C" fn in_child() {
    IS_ON.store(false, Ordering::Relaxed);
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// Reads the clock, ticks.
#[inline(always)]
pub(crate) fn now() -> u64 {
    let clock = CLOCK.load(Ordering::Relaxed);
    if clock.is_null() {
        // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
        return unsafe { std::arch::x86_64::_rdtsc() };
    }
    // SAFETY: `turn_on` stored a clock function there.
    let clock: ClockFunction = unsafe { std::mem::transmute(clock) };
    clock()
}

/// Takes note of something to report.
pub(crate) fn note(seen: u32) {
    if SEEN.load(Ordering::Relaxed) & seen != seen {
        SEEN.fetch_or(seen, Ordering::Relaxed);
    }
}

pub(crate) fn seen() -> u32 {
    SEEN.load(Ordering::Relaxed)
}

/// Counts something that there was no room for.
#[cold]
pub(crate) fn leave_out() {
    LEFT_OUT.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn n_left_out() -> u64 {
    LEFT_OUT.load(Ordering::Relaxed)
}

pub(crate) fn n_in_children() -> u64 {
    // SAFETY: null, or a word that is never unmapped.
    let count = unsafe { IN_CHILDREN.load(Ordering::Acquire).as_ref() };
    count.map_or(0, |count| count.load(Ordering::Relaxed))
}
