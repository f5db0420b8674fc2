//! State that this process inherited and Rust's runtime changes before `main`, restored for the program that `wrap`
//! starts.
//!
//! The runtime ignores SIGPIPE and opens `/dev/null` in place of a closed standard stream, and `Command` empties the
//! set of blocked signals. A program that `nohup` or a shell's trap started with ignored signals would notice.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of the last signal.
const LAST_SIGNAL: i32 = 64;

/// Bit `n - 1`: signal `n` was ignored.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Bit `n`: descriptor `n` of the standard streams was closed.
static CLOSED: AtomicU64 = AtomicU64::new(0);

/// Runs before the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = observe;

extern "C" fn observe() {
    let is_ignored = |signal| {
        // SAFETY: zeros are an action; only read.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, ptr::null(), &mut action) == 0
                && action.sa_sigaction == libc::SIG_IGN
        }
    };
    // SAFETY: only asks.
    let is_closed = |descriptor| unsafe { libc::fcntl(descriptor, libc::F_GETFD) < 0 };
    let bits = |all: std::ops::RangeInclusive<i32>, first, is: &dyn Fn(i32) -> bool| {
        all.filter(|n| is(*n))
            .fold(0, |bits, n| bits | 1u64 << (n - first))
    };
    IGNORED.store(bits(1..=LAST_SIGNAL, 1, &is_ignored), Ordering::Relaxed);
    CLOSED.store(bits(0..=2, 0, &is_closed), Ordering::Relaxed);
}

/// Restores all of it in a process that is about to become the program, and the signals that were blocked.
///
/// # Errors
/// The system's.
///
/// # Safety
/// The process has just been forked, and executes a program next: its handlers of signals are gone then anyway.
pub(super) unsafe fn restore(blocked: &libc::sigset_t) -> io::Result<()> {
    let ignored = IGNORED.load(Ordering::Relaxed);
    for signal in 1..=LAST_SIGNAL {
        let action = match ignored >> (signal - 1) & 1 {
            1 => libc::SIG_IGN,
            _ => libc::SIG_DFL,
        };
        // SAFETY: required of the caller. Signals that the system does not let change keep their action.
        unsafe { libc::signal(signal, action) };
    }
    let closed = CLOSED.load(Ordering::Relaxed);
    for descriptor in (0..=2).filter(|n| closed >> n & 1 == 1) {
        // SAFETY: it was opened by the runtime.
        unsafe { libc::close(descriptor) };
    }
    // SAFETY: a set of the caller's.
    match unsafe { libc::sigprocmask(libc::SIG_SETMASK, blocked, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
