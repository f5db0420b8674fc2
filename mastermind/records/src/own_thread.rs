//! Threads of ours in a process that belongs to another program.
//!
//! Signals sent to the process are for the program: our threads block all of them from their start. The program may
//! close any file descriptor, or receive its number next: our threads have a table of open files of their own. They
//! also have a working directory of their own, which a `chroot` of the program does not move. Calls from our threads
//! are not the program's; the recorder ignores threads for which [`is_own`] is true.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::sync_channel;

use cca_abi::guest::{self, Thread};
use rustix::process::getpid;
use rustix::thread::Pid;

/// Highest descriptor that is closed individually if the system cannot close a range (Linux before 5.9).
const MAX_CLOSED_ONE_BY_ONE: i32 = 1 << 16;

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread was made by [`spawn`] or [`spawn_among_files`].
pub fn is_own() -> bool {
    IS_OWN.get()
}

/// Starts a thread with all signals blocked and a table of open files of its own. The table contains only `/dev/null`
/// as the three standard files.
///
/// # Errors
/// Those of starting a thread, or of giving the thread its own table.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<io::Result<T>>> {
    let (report, is_apart) = sync_channel(1);
    let thread = start(name, move || {
        let apart = be_apart();
        let error = apart.as_ref().err().map(copy_of);
        // The thread's starter waits for this report.
        let _ = report.send(error.map_or(Ok(()), Err));
        apart.map(|()| work())
    })?;
    let ended = |_| io::Error::other("the thread ended at once");
    is_apart.recv().map_err(ended).flatten()?;
    Ok(thread)
}

/// Starts a thread with all signals blocked that shares the program's open files. It must not open any.
///
/// # Errors
/// Those of starting a thread.
pub fn spawn_among_files<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    start(name, work)
}

/// Number of threads of the process, including a first thread that has ended; `None` if the system does not report it.
/// Opens no file.
pub fn of_process() -> Option<u32> {
    /// Number of links of a folder without subfolders: its name in the parent folder, and its own `.`.
    const LINKS_OF_EMPTY: u64 = 2;
    let folder = std::fs::metadata("/proc/self/task").ok()?;
    let n = folder.nlink().checked_sub(LINKS_OF_EMPTY)?;
    u32::try_from(n).ok().filter(|n| *n > 0)
}

/// Whether this thread of the process runs. If the system has reused its number, that thread counts. A first thread
/// that has ended by `pthread_exit` stays known to the system, but has no memory, and so no program. Opens no file.
pub fn is_alive(thread: Pid) -> bool {
    let (process, number) = (getpid(), thread.as_raw_nonzero().get());
    // SAFETY: no signal is sent.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, process.as_raw_nonzero(), number, 0) };
    let error = io::Error::last_os_error().raw_os_error();
    if sent != 0 && error == Some(libc::ESRCH) {
        return false;
    }
    let has_program = |path: &str| rustix::fs::readlink(path, Vec::new()).is_ok();
    thread != process || has_program("/proc/self/exe") || !has_program("/proc/thread-self/exe")
}

/// Runs a closure in a thread of its own ([`spawn`]), and waits for it.
///
/// # Errors
/// Those of [`spawn`].
pub fn run_apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let ended = |_| io::Error::other("the thread panicked");
    spawn("mastermind-files", work)?
        .join()
        .map_err(ended)
        .flatten()
}

/// As [`run_apart`], in a process of its own that shares this one's memory ([`guest::run_in_process`]), for programs
/// that must not see a thread of ours. Queries such as `getpid` there return that process, not this one.
///
/// # Errors
/// Those of [`guest::run_in_process`].
pub fn run_in_process<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    // The new process shares this thread's variables.
    let was_own = IS_OWN.replace(true);
    let done = guest::run_in_process(|| be_apart().map(|()| work()));
    IS_OWN.set(was_own);
    done.flatten()
}

fn copy_of(error: &io::Error) -> io::Error {
    let kind = error.kind();
    error
        .raw_os_error()
        .map_or_else(|| kind.into(), io::Error::from_raw_os_error)
}

fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    guest::with_all_signals_blocked(|| {
        guest::spawn(name, move || {
            IS_OWN.set(true);
            work()
        })
    })
}

/// Gives the calling thread a table of open files and a working directory of its own, however many files the program
/// has open.
fn be_apart() -> io::Result<()> {
    // SAFETY: the calls change only the calling thread's own table, and close only files in it.
    unsafe {
        let unshare = libc::CLOSE_RANGE_UNSHARE;
        if libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, unshare) != 0 {
            if libc::unshare(libc::CLONE_FILES) != 0 {
                return Err(io::Error::last_os_error());
            }
            let most = libc::sysconf(libc::_SC_OPEN_MAX);
            let most = i32::try_from(most).unwrap_or(MAX_CLOSED_ONE_BY_ONE);
            for descriptor in 0..most.clamp(0, MAX_CLOSED_ONE_BY_ONE) {
                libc::close(descriptor);
            }
        }
        // Without it, a `chroot` of the program would apply to our threads, and they would not find files.
        libc::unshare(libc::CLONE_FS);
        // Output to the standard error, for example from the C library before it ends the process, must not go to a
        // file of ours.
        for _ in 0..=libc::STDERR_FILENO {
            libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{File, read_link};
    use std::mem::zeroed;
    use std::os::fd::IntoRawFd;
    use std::ptr;

    use super::*;

    #[test]
    fn what_our_thread_opens_is_not_in_the_table_of_others() {
        let opened = run_apart(|| {
            let number = File::open("/proc/self/status").map(IntoRawFd::into_raw_fd);
            let is_there = |number| read_link(format!("/proc/thread-self/fd/{number}")).is_ok();
            number.map(|number| (number, is_there(number)))
        });
        let (number, is_there) = opened.unwrap().unwrap();
        assert!(is_there);
        let here = read_link(format!("/proc/thread-self/fd/{number}"));
        assert!(here.map_or(true, |path| !path.ends_with("status")));
    }

    #[test]
    fn our_thread_blocks_signals_and_the_caller_does_not() {
        let is_blocked = || {
            // SAFETY: all zeros are a valid set, which belongs to this function.
            unsafe {
                let mut mask = zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut mask);
                libc::sigismember(&raw const mask, libc::SIGTERM) == 1
            }
        };
        assert!(run_apart(is_blocked).unwrap());
        assert!(!is_blocked());
        assert!(run_apart(is_own).unwrap() && !is_own());
    }

    #[test]
    fn threads_are_counted() {
        assert!(of_process() >= Some(1));
    }
}
