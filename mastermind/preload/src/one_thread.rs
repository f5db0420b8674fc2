//! Ends our threads for a program that must have one thread only: for a system call, or because it checks.
//!
//! `unshare` and `setns` fail for a user namespace where the process has a second thread, and `setns` for a mount
//! namespace where a second thread shares the working directory. Chromium, and programs built on it, count the links of
//! the folder `/proc/self/task`, and end a process that is about to give up its rights if it has a second thread.
//! Python 3.12 and later read `/proc/self/stat` after a fork, and warn if there is a second thread.
//!
//! None of these may be one of our threads. If only ours are in the way, they end before such a call, and the recording
//! goes on without them; where it cannot, it ends too, and `wrap` says why. The call then fails or succeeds as it does
//! alone. `mastermind redirect` is no longer heard.
//!
//! Two exceptions. `/proc/self/stat` is read for other reasons too (MPICH's start does so), so in a process that has
//! not forked nothing ends for it. And a program that reads it while the recording needs its thread (on a file system
//! that copies on write) finds that thread.

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use cca_abi::guest;
use mastermind_component::own_thread;

use crate::started::{Real, none};
use crate::{control, restricted, threads};

/// Flags of `unshare(2)` that require a process of one thread.
const OF_ONE_THREAD: c_int =
    libc::CLONE_NEWUSER | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_VM;
/// Types of namespaces that `setns(2)` enters only for such a process.
const ENTERED_ALONE: c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
/// `NS_GET_NSTYPE` of `ioctl_nsfs(2)`: returns the type of a namespace.
const TYPE_OF_NAMESPACE: c_ulong = 0xb703;
/// Longest wait until the system has removed our threads, which end at once.
const PATIENCE: Duration = Duration::from_secs(2);

static UNSHARE: Real = Real::new(c"unshare");
static SETNS: Real = Real::new(c"setns");
static FSTATAT: Real = Real::new(c"fstatat");
static FSTATAT64: Real = Real::new(c"fstatat64");
static FOPEN: Real = Real::new(c"fopen");
static FOPEN64: Real = Real::new(c"fopen64");

/// Whether this process, or one that it was forked from, has forked.
static HAS_FORKED: AtomicBool = AtomicBool::new(false);

/// Finds the C library's functions, since they may not be looked up later.
pub(crate) fn prepare() {
    for real in [&UNSHARE, &SETNS, &FSTATAT, &FSTATAT64, &FOPEN, &FOPEN64] {
        real.address();
    }
    // SAFETY: a function of this library, which stays loaded.
    unsafe { libc::pthread_atfork(None, Some(mark_fork), None) };
}

unsafe extern "C" fn mark_fork() {
    HAS_FORKED.store(true, Ordering::Relaxed);
}

/// What the program does with the number of its threads.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// It fails, or ends, unless it has one thread.
    Alone,
    /// It reads how many threads there are.
    Count,
}

/// The program is about to call `unshare`.
pub(crate) fn before_unshare(flags: c_int) {
    if flags & OF_ONE_THREAD != 0 {
        make_way(Purpose::Alone);
    }
}

/// The program is about to call `setns`.
fn before_setns(file: c_int, namespaces: c_int) {
    let is_any = |namespaces: c_int| namespaces & ENTERED_ALONE != 0;
    let enters = match namespaces {
        // SAFETY: the call reads nothing of the caller's.
        0 => guest::run_in_place(|| is_any(unsafe { libc::ioctl(file, TYPE_OF_NAMESPACE) }.max(0))),
        namespaces => is_any(namespaces),
    };
    if enters {
        make_way(Purpose::Alone);
    }
}

/// Ends our threads if they are the only ones besides the caller.
fn make_way(purpose: Purpose) {
    // A forked child has no thread of ours, and one of `vfork` has its parent's memory.
    if own_thread::is_own() || guest::is_at_work() || !crate::is_recorded_process() {
        return;
    }
    guest::run(|| {
        if !threads::are_ours_but_one() {
            return;
        }
        if !crate::go_on_without_thread() {
            if purpose == Purpose::Count {
                return;
            }
            crate::end_early(
                "the program must have one thread, as to enter other namespaces: what it called after that has no record",
            );
        }
        stop_listening();
    });
}

/// Ends the threads that listen, and waits until the system has removed them, and the recorder's.
fn stop_listening() {
    control::stop();
    let begin = Instant::now();
    // The system lists a joined thread for a few moments more.
    while own_thread::of_process().is_some_and(|n| n > 1) && begin.elapsed() < PATIENCE {
        yield_now();
    }
}

/// Ends the threads that listen; `mastermind redirect` is no longer heard.
pub(crate) fn end_listening() {
    if !own_thread::is_own() && !guest::is_at_work() && crate::is_recorded_process() {
        guest::run(|| match threads::are_ours_but_one() {
            true => stop_listening(),
            false => control::stop(),
        });
    }
}

/// The calling thread is about to end without the C library's knowledge; if it is the last of the program, so are ours.
pub(crate) fn before_exit() {
    // Then they have ended, and any further system call may end the program.
    if restricted::may_be_restricted() {
        return;
    }
    if own_thread::is_own() || guest::is_at_work() || !crate::is_recorded_process() {
        return;
    }
    if guest::run(threads::are_ours_but_one) == Some(true) {
        crate::end();
        guest::run(stop_listening);
    }
}

/// The path without the part that names this process, `self` or its number: `stat` of `/proc/self/stat`. The part
/// before that is not checked, since a program may have `/proc` elsewhere, or open as a folder.
fn of_this_process(path: &[u8]) -> Option<&[u8]> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let (before, file) = path.split_at(path.iter().rposition(|byte| *byte == b'/')?);
    let process = before.rsplit(|byte| *byte == b'/').next()?;
    let is_number = || std::str::from_utf8(process).ok()?.parse::<u32>().ok();
    let is_this = process == b"self" || is_number() == Some(std::process::id());
    is_this.then(|| &file[1..])
}

/// Called when the program is about to query, or to open, `file` of its process.
///
/// # Safety
/// Null, or a C string.
unsafe fn before_reading(path: *const c_char, file: &[u8], purpose: Purpose) {
    if path.is_null() {
        return;
    }
    // SAFETY: required of the caller.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if of_this_process(path) == Some(file) {
        make_way(purpose);
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
pub unsafe extern "C" fn setns(file: c_int, namespaces: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_int, c_int) -> c_int;
    before_setns(file, namespaces);
    // SAFETY: as for `unshare`.
    unsafe {
        let real: Option<Function> = std::mem::transmute(SETNS.address());
        real.map_or_else(none, |real| real(file, namespaces))
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
        // Whose links are a thread each.
        before_reading(path, b"task", Purpose::Alone);
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

/// # Safety
/// As the C library's `fopen`.
unsafe fn open_file(real: &Real, path: *const c_char, mode: *const c_char) -> *mut c_void {
    type Function = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
    // SAFETY: as for `unshare`.
    unsafe {
        if HAS_FORKED.load(Ordering::Relaxed) {
            before_reading(path, b"stat", Purpose::Count);
        }
        let real: Option<Function> = std::mem::transmute(real.address());
        real.map_or_else(ptr::null_mut, |real| real(path, mode))
    }
}

/// The C library's `fopen`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    // SAFETY: required of the caller.
    unsafe { open_file(&FOPEN, path, mode) }
}

/// The C library's `fopen64`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void {
    // SAFETY: required of the caller.
    unsafe { open_file(&FOPEN64, path, mode) }
}

#[cfg(test)]
mod tests {
    use super::of_this_process;

    #[test]
    fn files_of_this_process_are_recognised() {
        let own = format!("/proc/{}/task", std::process::id());
        for (path, file) in [
            ("/proc/self/task/", Some("task")),
            ("self/stat", Some("stat")),
            (own.as_str(), Some("task")),
            ("/proc/1/task", None),
            ("/proc/self", None),
            ("stat", None),
            ("", None),
            ("/", None),
        ] {
            let found = of_this_process(path.as_bytes());
            assert_eq!(found, file.map(str::as_bytes), "{path}");
        }
    }
}
