//! A program that enters other namespaces, which the system allows to a process of one thread only.
//!
//! `unshare` and `setns` fail for a user namespace where the process has a second thread, and `setns` for a mount namespace where a
//! second one has the same working directory. Ours must not be that thread: before such a call a recording ends and our threads
//! with it, if they are all that stands in the way, and `wrap` says why. The call then fails or succeeds as it does alone.

use std::ffi::{c_int, c_ulong};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use cca_abi::guest;
use mastermind_component::own_thread;

use crate::started::{Real, none};
use crate::{control, threads};

/// What `unshare(2)` does for a process of one thread only.
const OF_ONE_THREAD: c_int =
    libc::CLONE_NEWUSER | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_VM;
/// What `setns(2)` does for such a process only.
const ENTERED_ALONE: c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
/// `NS_GET_NSTYPE` of `ioctl_nsfs(2)`: of which type a namespace is.
const TYPE_OF_NAMESPACE: c_ulong = 0xb703;
/// Longest wait until the system has forgotten our threads, which end at once.
const PATIENCE: Duration = Duration::from_secs(2);

static UNSHARE: Real = Real::new(c"unshare");
static SETNS: Real = Real::new(c"setns");

/// Finds the C library's functions, which may not be looked for later.
pub(crate) fn prepare() {
    UNSHARE.address();
    SETNS.address();
}

/// The program is about to call `unshare`.
pub(crate) fn before_unshare(flags: c_int) {
    if flags & OF_ONE_THREAD != 0 {
        make_way();
    }
}

/// The program is about to call `setns`.
fn before_setns(file: c_int, kinds: c_int) {
    let is_any = |kinds: c_int| kinds & ENTERED_ALONE != 0;
    let enters = match kinds {
        // SAFETY: the call reads nothing of the caller's.
        0 => guest::run_in_place(|| is_any(unsafe { libc::ioctl(file, TYPE_OF_NAMESPACE) }.max(0))),
        kinds => is_any(kinds),
    };
    if enters {
        make_way();
    }
}

/// Ends our threads where the program has none but the caller.
fn make_way() {
    // A forked child has no thread of ours, and one of `vfork` has its parent's memory.
    if own_thread::is_own() || guest::is_at_work() || !crate::is_recorded_process() {
        return;
    }
    guest::run(|| {
        if !threads::are_ours_but_one() {
            return;
        }
        crate::end_early(
            "the program enters other namespaces, for which it must have one thread: what it called after that has no record",
        );
        control::stop();
        let begin = Instant::now();
        // A thread that was waited for is known to the system for some moments more.
        while own_thread::of_process().is_some_and(|n| n > 1) && begin.elapsed() < PATIENCE {
            yield_now();
        }
    });
}

/// The C library's `unshare`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshare(flags: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_int) -> c_int;
    before_unshare(flags);
    // SAFETY: required of the caller; the function of that name has that type.
    unsafe {
        let real: Option<Function> = std::mem::transmute(UNSHARE.address());
        real.map_or_else(none, |real| real(flags))
    }
}

/// The C library's `setns`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setns(file: c_int, kinds: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_int, c_int) -> c_int;
    before_setns(file, kinds);
    // SAFETY: as for `unshare`.
    unsafe {
        let real: Option<Function> = std::mem::transmute(SETNS.address());
        real.map_or_else(none, |real| real(file, kinds))
    }
}
