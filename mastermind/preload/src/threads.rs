//! Our threads in the program's process, and the end of the process once only they are left.
//!
//! A process whose first thread ends by `pthread_exit` ends with its last thread, which calls `exit(0)`. Our threads
//! must not be that one. The C library runs the destructors of a thread's values ([`KEY`]) where a thread ends, but not
//! where `main` returns. From then on a watching thread of ours does what the program's last thread would have done.
//!
//! ```text
//! the first thread ends     pthread_exit, thrd_exit, cancelled: the destructor starts the watching thread
//! only ours are left        exit(0) there, among the program's open files and with the signals that the first thread had blocked
//! ```

use std::ffi::c_void;
use std::io;
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mastermind_component::own_thread;

use crate::RUNNING;

/// Time between two checks of which threads are left; the process lives on for up to that long. Arbitrary.
const PAUSE: Duration = Duration::from_millis(5);

/// The process that our threads belong to, and how many run: `process << 32 | n`.
static OURS: AtomicU64 = AtomicU64::new(0);
/// Has a value in the first thread only.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
/// The process whose first thread has ended.
static ENDED_IN: AtomicU32 = AtomicU32::new(0);
/// The process in which a watching thread runs.
static WATCHED: AtomicU32 = AtomicU32::new(0);
/// Signals that the first thread had blocked.
static MASK: Mutex<Option<libc::sigset_t>> = Mutex::new(None);
/// Whether there is a recording, and so a thread that could keep the process alive.
static IS_NEEDED: AtomicBool = AtomicBool::new(false);

/// Counts one thread more or less.
fn count(change: impl Fn(u32) -> u32) -> u32 {
    let process = u64::from(std::process::id());
    let next = |ours: u64| {
        // A forked child has none of its parent's threads.
        let n = if ours >> 32 == process {
            ours as u32
        } else {
            0
        };
        process << 32 | u64::from(change(n))
    };
    let before = OURS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |ours| Some(next(ours)));
    next(before.unwrap_or_else(|ours| ours)) as u32
}

/// One of our threads, as long as it runs.
struct OwnThread;

impl OwnThread {
    fn begin() -> Self {
        count(|n| n + 1);
        Self
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        count(|n| n.saturating_sub(1));
    }
}

/// Starts a thread with a table of open files of its own.
///
/// # Errors
/// Those of [`own_thread::spawn`].
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let counted = OwnThread::begin();
    own_thread::spawn(name, move || {
        let _counted = counted;
        work();
    })
    .map(drop)
}

/// Starts a thread that shares the program's open files. It opens no files except those that libraries open as they are
/// loaded.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn spawn_among_files(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let counted = OwnThread::begin();
    own_thread::spawn_among_files(name, move || {
        let _counted = counted;
        work();
    })
    .map(drop)
}

/// Installs a destructor that reports the end of the first thread; called in it, before `main`.
pub(crate) fn prepare() {
    // SAFETY: a number of the calling thread, and plain calls of the C library.
    unsafe {
        let mut key = 0;
        if libc::pthread_key_create(&raw mut key, Some(first_thread_ends)) == 0
            && KEY.set(key).is_ok()
        {
            mark_first_thread();
            libc::pthread_atfork(None, None, Some(mark_first_thread));
        }
    }
}

/// Sets the first thread's value; after a fork the calling thread is the first.
unsafe extern "C" fn mark_first_thread() {
    // SAFETY: plain calls of the system and of the C library.
    unsafe {
        if let Some(key) = KEY.get()
            // `gettid` is in glibc since 2.30 only.
            && libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid())
        {
            libc::pthread_setspecific(*key, ptr::from_ref(key).cast());
        }
    }
}

/// Called when the first thread ends by itself; the process goes on.
extern "C" fn first_thread_ends(_: *mut c_void) {
    // SAFETY: zeros are a valid set, which is this function's own.
    let mask = unsafe {
        let mut mask = zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut mask);
        mask
    };
    *MASK.lock().unwrap_or_else(PoisonError::into_inner) = Some(mask);
    ENDED_IN.store(std::process::id(), Ordering::SeqCst);
    if IS_NEEDED.load(Ordering::SeqCst) {
        watch();
    }
}

/// There is a recording from now on.
pub(crate) fn recording_begins() {
    IS_NEEDED.store(true, Ordering::SeqCst);
    if ENDED_IN.load(Ordering::SeqCst) == std::process::id() {
        watch();
    }
}

/// Starts the watching thread, once.
fn watch() {
    let process = std::process::id();
    if WATCHED.swap(process, Ordering::SeqCst) == process {
        return;
    }
    if spawn_among_files("mastermind-end", end_with_program).is_err() {
        // Without that thread, the threads of the recording must end.
        crate::end();
    }
}

/// Ends the process once it has no threads except ours and the first one, which the system lists until then.
fn end_with_program() {
    loop {
        let Some((n_threads, n_recorder)) = threads() else {
            return crate::end();
        };
        if n_threads <= count(|n| n) + n_recorder + 1 {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    // SAFETY: the set is one that a thread had; this thread is the last, and ends the process as the program's last one would.
    unsafe {
        if let Some(mask) = *MASK.lock().unwrap_or_else(PoisonError::into_inner) {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut());
        }
        libc::exit(0)
    }
}

/// Whether the process has threads of ours, and only one of its own.
pub(crate) fn are_ours_but_one() -> bool {
    threads().is_some_and(|(n, n_recorder)| n > 1 && n <= count(|n| n) + n_recorder + 1)
}

/// Number of threads of the process, and of the recorder's threads among them; `None` where the system does not say.
fn threads() -> Option<(u32, u32)> {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(wrapped) = running.as_ref() else {
        return own_thread::of_process().map(|n| (n, 0));
    };
    wrapped.threads()
}
