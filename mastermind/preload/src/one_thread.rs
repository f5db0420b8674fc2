//! A program that must have one thread only: for a call of the system, or because it looks itself.
//!
//! `unshare` and `setns` fail for a user namespace where the process has a second thread, and `setns` for a mount namespace where a
//! second one has the same working directory. Chromium, and programs built on it, end a process that is about to give up its rights if it has a
//! second thread: they count the links of the folder `/proc/self/task`. Ours must not be that thread: if they are all that stands in the
//! way, they end before such a call, and the recording goes on without them; where it cannot, it ends too, and `wrap` says why. The
//! call then fails or succeeds as it does alone. `mastermind redirect` is not heard any more.

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
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
static FSTATAT: Real = Real::new(c"fstatat");
static FSTATAT64: Real = Real::new(c"fstatat64");

/// Finds the C library's functions, which may not be looked for later.
pub(crate) fn prepare() {
    UNSHARE.address();
    SETNS.address();
    FSTATAT.address();
    FSTATAT64.address();
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
        if !crate::go_on_without_thread() {
            crate::end_early(
                "the program must have one thread, as to enter other namespaces: what it called after that has no record",
            );
        }
        control::stop();
        let begin = Instant::now();
        // A thread that was waited for is known to the system for some moments more.
        while own_thread::of_process().is_some_and(|n| n > 1) && begin.elapsed() < PATIENCE {
            yield_now();
        }
    });
}

/// The program is about to ask about a file.
///
/// # Safety
/// Null, or a text of C.
unsafe fn before_asking(path: *const c_char) {
    /// Whose links are a thread each; behind what the program has as `/proc`.
    const THREADS: &[u8] = b"self/task";
    if path.is_null() {
        return;
    }
    // SAFETY: required of the caller.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.strip_suffix(b"/").unwrap_or(path).ends_with(THREADS) {
        make_way();
    }
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

/// # Safety
/// As the C library's `fstatat`.
unsafe fn ask(
    real: &Real,
    folder: c_int,
    path: *const c_char,
    out: *mut c_void,
    flags: c_int,
) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *const c_char, *mut c_void, c_int) -> c_int;
    // SAFETY: as for `unshare`.
    unsafe {
        before_asking(path);
        let real: Option<Function> = std::mem::transmute(real.address());
        real.map_or_else(none, |real| real(folder, path, out, flags))
    }
}

/// The C library's `fstatat`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatat(
    folder: c_int,
    path: *const c_char,
    out: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: required of the caller.
    unsafe { ask(&FSTATAT, folder, path, out, flags) }
}

/// The C library's `fstatat64`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatat64(
    folder: c_int,
    path: *const c_char,
    out: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: required of the caller.
    unsafe { ask(&FSTATAT64, folder, path, out, flags) }
}
