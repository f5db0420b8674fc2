//! Threads of ours in a process that belongs to somebody else.
//!
//! A signal that comes for the process is the program's: our threads block all of them, from before they begin. A file
//! descriptor is a number that the program may close, or get next: our threads have a table of open files of their own,
//! and a working directory of their own, which a `chroot` of the program does not move. What our threads call is not the
//! program's: [`is_own`] tells the recorder to leave it alone.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::sync_channel;

use cca_abi::guest::{self, Thread};
use rustix::process::getpid;
use rustix::thread::Pid;

/// Highest descriptor that is closed one by one, where the system cannot close a range (Linux before 5.9).
const MAX_CLOSED_ONE_BY_ONE: i32 = 1 << 16;

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread was made by [`spawn`] or [`spawn_among_files`].
pub fn is_own() -> bool {
    IS_OWN.get()
}

/// Starts a thread with all signals blocked and a table of open files of its own, empty but for `/dev/null` as the three
/// standard ones.
///
/// # Errors
/// Those of starting a thread; those of the system where it gives the thread no table of its own.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<io::Result<T>>> {
    let (report, is_apart) = sync_channel(1);
    let thread = start(name, move || {
        let apart = be_apart();
        let error = apart.as_ref().err().map(copy_of);
        // Who started the thread waits for it.
        let _ = report.send(error.map_or(Ok(()), Err));
        apart.map(|()| work())
    })?;
    let ended = |_| io::Error::other("the thread ended at once");
    is_apart.recv().map_err(ended).flatten()?;
    Ok(thread)
}

/// Starts a thread with all signals blocked among the program's open files, of which it opens none.
///
/// # Errors
/// Those of starting a thread.
pub fn spawn_among_files<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    start(name, work)
}

/// Threads of the process, with a first one that has ended; `None` where the system does not say. No file is opened.
pub fn of_process() -> Option<u32> {
    /// Links of a folder that holds none: its name in the folder above, and its own `.`.
    const LINKS_OF_EMPTY: u64 = 2;
    let folder = std::fs::metadata("/proc/self/task").ok()?;
    let n = folder.nlink().checked_sub(LINKS_OF_EMPTY)?;
    u32::try_from(n).ok().filter(|n| *n > 0)
}

/// Whether this thread of the process runs; if its number was given to a new one, that counts. A first thread that has ended by
/// `pthread_exit` is known to the system as long as the process, but has no memory, and so no program. No file is opened.
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

/// Runs something in a thread of its own ([`spawn`]), and waits for it.
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

/// As [`run_apart`], in a process of its own with the memory of this one ([`guest::run_in_process`]), where no thread of ours is to be
/// seen. Of itself the system tells that process, not this one.
///
/// # Errors
/// Those of [`guest::run_in_process`].
pub fn run_in_process<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    // The process has the variables of this thread.
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

/// Gives the calling thread a table of open files and a working directory of its own, with room however many files the program has open.
fn be_apart() -> io::Result<()> {
    // SAFETY: the calls change nothing but the calling thread's own table, and close what is in that alone.
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
        // Without it a `chroot` of the program is ours as well, and files are not found.
        libc::unshare(libc::CLONE_FS);
        // What is written to the standard error, as by the C library before it ends the process, goes into no file of ours.
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
            // SAFETY: zeros are a valid set, which is this function's own.
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
