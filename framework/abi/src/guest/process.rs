//! Work of ours that opens files, in a process of its own for as long as the work takes.
//!
//! Like a process made by `vfork`, it shares the program's memory and has a copy of its table of open files: the
//! calling thread waits until it has ended. So the program sees no extra thread of ours among its own, and no
//! descriptor in its table.
//!
//! ```text
//! a thread of the program   all signals blocked, waits          the rest of the program goes on
//!   └─ a process of ours    the same memory, its own open files  work, then it ends
//! ```
//!
//! The process sends no signal when it ends, and only a `waitpid` with `__WALL` or `__WCLONE` sees it.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;

use super::{Job, Stack, do_job, with_all_signals_blocked};

/// Runs something in a process of its own, which has the caller's memory, and waits for it.
///
/// # Errors
/// The errors of starting a process. [`io::ErrorKind::Unsupported`] where a process of this thread would be in another
/// process namespace, where that is not known, and on processors other than x86-64. Any other error if the process
/// ended before its work was done, or, as under valgrind, has a copy of the memory.
pub fn run_in_process<T, W: FnOnce() -> T>(work: W) -> io::Result<T> {
    if !keeps_its_namespace() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let stack = Stack::take().ok_or(io::ErrorKind::OutOfMemory)?;
    let mut job = Job {
        work: MaybeUninit::new(work),
        done: None,
    };
    // SAFETY: the job and the stack live until the process has ended, and nothing else uses them.
    let started = with_all_signals_blocked(|| unsafe {
        let process = start((&raw mut job).cast(), do_job::<T, W>, stack.top())?;
        wait_for(process);
        Ok(())
    });
    if let Err(error) = started {
        // SAFETY: the work has not run.
        unsafe { job.work.assume_init_drop() };
        return Err(error);
    }
    let ended = || io::Error::other("the process of the work has ended early");
    job.done.ok_or_else(ended)
}

/// Whether a process that the calling thread starts is in the namespace of this one: the first one in another is its `init`, with
/// whose end it ends. No file is opened.
fn keeps_its_namespace() -> bool {
    let namespace = |path: &std::ffi::CStr| {
        let mut text = [0_u8; 64];
        // SAFETY: the system writes at most `text.len()` bytes.
        let n = unsafe { libc::readlink(path.as_ptr(), text.as_mut_ptr().cast(), text.len()) };
        (n > 0).then_some(text)
    };
    let own = namespace(c"/proc/thread-self/ns/pid");
    own.is_some() && own == namespace(c"/proc/thread-self/ns/pid_for_children")
}

/// Starts the process.
///
/// # Returns
/// Its number, once it has ended, or has begun another program.
///
/// # Safety
/// `work` may be called with `argument`, on a stack that ends at `top` and that nothing else uses.
#[cfg(target_arch = "x86_64")]
unsafe fn start(
    argument: *mut c_void,
    work: unsafe extern "C" fn(*mut c_void),
    top: *mut u8,
) -> io::Result<c_int> {
    // Without a signal at its end; a tracer of the program does not trace it.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_UNTRACED;
    let process: i64;
    // SAFETY: the system starts the new process here, on its own stack, where it calls the work and ends; it stores
    // only where the work does. The calling thread continues with all registers unchanged but those named.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone => process,
            in("rdi") i64::from(flags),
            in("rsi") top,
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            in("r12") argument,
            in("r13") work,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    match c_int::try_from(process) {
        Ok(process) if process > 0 => Ok(process),
        _ => Err(io::Error::from_raw_os_error(-process as c_int)),
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn start(
    _: *mut c_void,
    _: unsafe extern "C" fn(*mut c_void),
    _: *mut u8,
) -> io::Result<c_int> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Has the system forget a process that has ended.
fn wait_for(process: c_int) {
    let mut status = 0;
    // SAFETY: the status is this function's own. The system is called directly: in place of the C library's function a program may
    // have one.
    let wait = || unsafe {
        let none = std::ptr::null_mut::<c_void>();
        libc::syscall(
            libc::SYS_wait4,
            process,
            &raw mut status,
            libc::__WALL,
            none,
        )
    };
    let mut wait = wait;
    while wait() < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {}
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::IntoRawFd;

    use super::*;

    fn own_number() -> u32 {
        // SAFETY: a number of the process.
        unsafe { libc::syscall(libc::SYS_getpid) as u32 }
    }

    #[test]
    fn work_is_done_in_another_process_with_this_memory() {
        let mut here = 0;
        let there = run_in_process(|| {
            here = own_number();
            File::open("/proc/self/status").map(IntoRawFd::into_raw_fd)
        });
        let opened = there.unwrap().unwrap();
        assert!(here != 0 && here != own_number());
        let link = std::fs::read_link(format!("/proc/self/fd/{opened}"));
        assert!(link.map_or(true, |link| link.to_str()
            != Some(&format!("/proc/{here}/status"))));
    }

    #[test]
    fn work_that_panics_is_an_error() {
        let done = run_in_process(|| std::panic::resume_unwind(Box::new(3)));
        assert!(done.map(|(): ()| ()).is_err());
    }
}
