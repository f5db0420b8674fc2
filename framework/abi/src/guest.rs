//! The rules of a guest, for code that runs on a thread of a program that was never written for it.
//!
//! [`run`] runs work of ours that is more than a few instructions on such a thread. While the work runs, no handler of
//! the program's signals does, so none can find a lock of ours taken; the thread cannot be cancelled; and the stack is
//! one of ours, since the caller's may have only a few kilobytes left. Afterwards `errno`, the floating-point
//! environment, the signal mask and the cancellation state are as before.
//!
//! ```text
//! a thread of the program       signals blocked, cancellation off, errno and MXCSR kept
//!   └─ a stack of ours          work: may lock, open files, start threads
//! a thread of the program       all as before
//! ```
//!
//! Signals that an instruction raises are let through: blocked, they would end the process.

mod memory;
mod process;
mod thread;

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

pub use memory::Memory;
pub use process::run_in_process;
pub use thread::{Thread, spawn};

/// Bytes of a stack. Arbitrary: opening a log needs some 20 KiB, and untouched pages occupy no memory.
const STACK_BYTES: usize = 256 << 10;
/// Bytes before it that no access may reach.
const GUARD_BYTES: usize = 4096;
/// Stacks that are kept for the next time; more threads at work at once map theirs anew.
const N_KEPT: usize = 8;

/// Signals that the processor or a filter of system calls raises for an instruction.
const RAISED: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// The control and status register of the vector unit as a program finds it.
const DEFAULT_MXCSR: u32 = 0x1F80;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}
/// `PTHREAD_CANCEL_DISABLE` of the C library.
const CANCEL_DISABLE: c_int = 1;

static KEPT: [AtomicPtr<u8>; N_KEPT] = [const { AtomicPtr::new(ptr::null_mut()) }; N_KEPT];

thread_local! {
    /// Nothing to drop: the first access needs no lock of the dynamic linker.
    static IS_AT_WORK: Cell<bool> = const { Cell::new(false) };
    /// Whether [`run`] has blocked the thread's signals.
    static ARE_SIGNALS_BLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is within [`run`]: calls that it makes then are not the program's.
#[inline]
pub fn is_at_work() -> bool {
    IS_AT_WORK.get()
}

/// Does work of ours on a thread of the program.
///
/// # Returns
/// The result of the work; `None` if it panicked, if there is no memory for a stack, or if the thread already runs such
/// work, as when the work calls a function that the program has replaced.
pub fn run<T>(work: impl FnOnce() -> T) -> Option<T> {
    if is_at_work() {
        return None;
    }
    let state = State::take();
    IS_AT_WORK.set(true);
    let done = on_stack_of_ours(work);
    IS_AT_WORK.set(false);
    state.restore();
    done
}

/// Does something of the program's within [`run`]: calls within it are recorded.
pub fn as_program<T>(act: impl FnOnce() -> T) -> T {
    let was_at_work = IS_AT_WORK.replace(false);
    let done = act();
    IS_AT_WORK.set(was_at_work);
    done
}

/// As [`run`], for a little work that needs neither a stack nor a lock: only the thread's own state is kept.
#[inline]
pub fn run_in_place<T>(work: impl FnOnce() -> T) -> T {
    let (errno, mxcsr) = (errno(), mxcsr());
    let (cancel, was_at_work) = (disable_cancellation(), IS_AT_WORK.replace(true));
    set_mxcsr(DEFAULT_MXCSR);
    let done = work();
    IS_AT_WORK.set(was_at_work);
    restore_cancellation(cancel);
    set_mxcsr(mxcsr);
    set_errno(errno);
    done
}

/// State of a thread that our work would change.
struct State {
    errno: c_int,
    mxcsr: u32,
    cancel: c_int,
    signals: libc::sigset_t,
    were_signals_blocked: bool,
}

/// Blocks the calling thread's signals except for those that an instruction raises.
///
/// # Returns
/// Those that were blocked before.
fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are this function's own; a set of zeros is valid.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        for signal in RAISED {
            libc::sigdelset(&raw mut all, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        before
    }
}

/// Does something while all signals of the calling thread are blocked; a thread that it starts has them blocked as well.
pub fn with_all_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are this function's own; a set of zeros is valid.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let done = work();
        restore_signals(&before);
        done
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: the mask is the thread's own from before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
}

impl State {
    fn take() -> Self {
        let state = Self {
            errno: errno(),
            mxcsr: mxcsr(),
            cancel: disable_cancellation(),
            signals: block_signals(),
            were_signals_blocked: ARE_SIGNALS_BLOCKED.replace(true),
        };
        // The program may have set other rounding, or a signal at each inexact result.
        set_mxcsr(DEFAULT_MXCSR);
        state
    }

    fn restore(self) {
        set_mxcsr(self.mxcsr);
        ARE_SIGNALS_BLOCKED.set(self.were_signals_blocked);
        restore_signals(&self.signals);
        restore_cancellation(self.cancel);
        set_errno(self.errno);
    }
}

fn disable_cancellation() -> c_int {
    let mut before = 0;
    // SAFETY: the state is the thread's own; no unwinding begins here.
    unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
    before
}

fn restore_cancellation(before: c_int) {
    // SAFETY: as above; a request that came meanwhile is acted upon at the program's next cancellation point.
    unsafe { pthread_setcancelstate(before, ptr::null_mut()) };
}

fn errno() -> c_int {
    // SAFETY: the thread's own word.
    unsafe { *libc::__errno_location() }
}

fn set_errno(errno: c_int) {
    // SAFETY: the thread's own word.
    unsafe { *libc::__errno_location() = errno };
}

#[cfg(target_arch = "x86_64")]
fn mxcsr() -> u32 {
    let mut value = 0_u32;
    // SAFETY: it writes four bytes.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags));
    }
    value
}

#[cfg(target_arch = "x86_64")]
fn set_mxcsr(value: u32) {
    // SAFETY: the value is the default, or a former value of the register.
    unsafe {
        std::arch::asm!(
            "ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn mxcsr() -> u32 {
    DEFAULT_MXCSR
}

#[cfg(not(target_arch = "x86_64"))]
fn set_mxcsr(_: u32) {}

/// A destructor of a thread's variable, and its argument.
type Destructor = (unsafe extern "C" fn(*mut u8), *mut u8);

/// The key of the list of a thread's destructors.
static DESTRUCTORS: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

/// In place of the C library's `__cxa_thread_atexit_impl`, with a key of POSIX threads: the C library's takes the lock that the
/// dynamic linker holds while a library's constructors run, and a thread that such a constructor waits for would never come back.
/// [`own_thread_destructors`](crate::own_thread_destructors) has Rust's standard library call it.
///
/// # Safety
/// The destructor may be called with the object when the thread ends.
#[doc(hidden)]
pub unsafe extern "C" fn at_thread_exit(
    destructor: unsafe extern "C" fn(*mut u8),
    object: *mut u8,
    _: *mut u8,
) -> c_int {
    let key = *DESTRUCTORS.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the destructor takes the value that is stored below.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(run_destructors)) };
        (made == 0).then_some(key)
    });
    let Some(key) = key else { return -1 };
    // SAFETY: the value at the key came from `Box::into_raw` in this thread; nobody else borrows
    // it.
    unsafe {
        let mut list: *mut Vec<Destructor> = libc::pthread_getspecific(key).cast();
        if list.is_null() {
            list = Box::into_raw(Box::default());
            libc::pthread_setspecific(key, list.cast());
        }
        (*list).push((destructor, object));
    }
    0
}

/// # Safety
/// [`at_thread_exit`] made the list.
unsafe extern "C" fn run_destructors(list: *mut c_void) {
    // SAFETY: required of the caller. Functions registered meanwhile go into a list of their own.
    unsafe {
        let mut list = Box::from_raw(list.cast::<Vec<Destructor>>());
        while let Some((destructor, object)) = list.pop() {
            destructor(object);
        }
    }
}

/// Has the thread-local variables of this library's Rust code dropped by [`guest`](crate::guest)'s means; once, at the root of a
/// library that is loaded into foreign programs.
#[macro_export]
macro_rules! own_thread_destructors {
    () => {
        // The standard library has a weak reference to it, which the linker resolves to this one.
        #[cfg(target_arch = "x86_64")]
        ::std::arch::global_asm!(
            ".hidden __cxa_thread_atexit_impl",
            ".globl __cxa_thread_atexit_impl",
            ".type __cxa_thread_atexit_impl, @function",
            "__cxa_thread_atexit_impl:",
            "jmp {}",
            sym $crate::guest::at_thread_exit,
        );
    };
}

/// A mapped stack, by its lowest address behind the guard.
struct Stack(NonNull<u8>);

impl Stack {
    fn take() -> Option<Self> {
        let kept = KEPT
            .iter()
            .find_map(|place| NonNull::new(place.swap(ptr::null_mut(), Ordering::AcqRel)));
        kept.map(Self).or_else(Self::map)
    }

    fn map() -> Option<Self> {
        let bytes = GUARD_BYTES + STACK_BYTES;
        // SAFETY: a new private mapping; its first page becomes the guard.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let map = libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0);
            if map == libc::MAP_FAILED {
                return None;
            }
            libc::mprotect(map, GUARD_BYTES, libc::PROT_NONE);
            NonNull::new(map.cast::<u8>().add(GUARD_BYTES)).map(Self)
        }
    }

    fn top(&self) -> *mut u8 {
        self.0.as_ptr().wrapping_add(STACK_BYTES)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let own = self.0.as_ptr();
        let is_kept = KEPT.iter().any(|place| {
            let put =
                place.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Relaxed);
            put.is_ok()
        });
        if !is_kept {
            // SAFETY: the mapping of `map`, which is no longer used.
            unsafe {
                let map = own.sub(GUARD_BYTES).cast();
                libc::munmap(map, GUARD_BYTES + STACK_BYTES);
            }
        }
    }
}

/// Work that waits for its stack, and its result.
struct Job<W, T> {
    work: MaybeUninit<W>,
    done: Option<T>,
}

fn on_stack_of_ours<T, W: FnOnce() -> T>(work: W) -> Option<T> {
    let stack = Stack::take()?;
    let mut job = Job {
        work: MaybeUninit::new(work),
        done: None,
    };
    // SAFETY: the job lives until the call returns, which never unwinds; the stack is this call's own.
    unsafe { call_on((&raw mut job).cast(), do_job::<T, W>, stack.top()) };
    job.done
}

/// # Safety
/// `job` is a [`Job`] of these types whose work has not been done.
unsafe extern "C" fn do_job<T, W: FnOnce() -> T>(job: *mut c_void) {
    // SAFETY: required of the caller.
    let job = unsafe { &mut *job.cast::<Job<W, T>>() };
    // SAFETY: it is read this once.
    let work = unsafe { job.work.assume_init_read() };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => job.done = Some(done),
        // The payload's own drop might panic.
        Err(payload) => std::mem::forget(payload),
    }
}

/// Calls `work` with `argument` on the stack that ends at `top`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn call_on(
    argument: *mut c_void,
    work: unsafe extern "C" fn(*mut c_void),
    top: *mut u8,
) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdx",
        "call rsi",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn call_on(
    argument: *mut c_void,
    work: unsafe extern "C" fn(*mut c_void),
    _: *mut u8,
) {
    // SAFETY: required of the caller.
    unsafe { work(argument) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::stack_address;

    #[test]
    fn work_runs_on_another_stack_and_leaves_the_thread_as_it_was() {
        let blocked = |signal| {
            // SAFETY: the set is this function's own.
            unsafe {
                let mut now = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut now);
                libc::sigismember(&raw const now, signal) == 1
            }
        };
        set_errno(77);
        // Rounding toward zero.
        set_mxcsr(DEFAULT_MXCSR | 0x6000);
        let here = stack_address();
        let there = run(|| {
            assert!(is_at_work() && blocked(libc::SIGPROF) && !blocked(libc::SIGSEGV));
            assert_eq!(mxcsr(), DEFAULT_MXCSR);
            assert_eq!(run(|| ()), None, "within itself");
            set_errno(1);
            stack_address()
        });
        assert!(there.unwrap().abs_diff(here) > 4096);
        assert!(!is_at_work() && !blocked(libc::SIGPROF));
        assert_eq!((errno(), mxcsr()), (77, DEFAULT_MXCSR | 0x6000));
        set_mxcsr(DEFAULT_MXCSR);
    }

    #[test]
    fn a_panic_ends_at_the_work() {
        let done = run(|| -> u32 { std::panic::resume_unwind(Box::new(1)) });
        assert_eq!(done, None);
        assert_eq!(run(|| 2), Some(2));
    }

    #[test]
    fn more_threads_at_work_than_stacks_are_kept() {
        let barrier = std::sync::Barrier::new(N_KEPT + 4);
        std::thread::scope(|scope| {
            for _ in 0..N_KEPT + 4 {
                scope.spawn(|| assert!(run(|| barrier.wait()).is_some()));
            }
        });
    }
}
