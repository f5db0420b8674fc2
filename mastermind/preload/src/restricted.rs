//! Ends the recording when a program restricts its own system calls: from then on a call of ours may fail, or end the
//! program.
//!
//! A filter is installed by `prctl(PR_SET_SECCOMP)` or by `syscall(SYS_seccomp)`; the C library has no other function
//! for it. So both functions are intercepted: a recording ends, none begins any more, and `wrap` says why. All their
//! other calls are passed on unchanged; before `syscall(SYS_exit)` of the last thread, ours end (`one_thread.rs`).

use std::ffi::{c_int, c_long};
use std::process::id;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{one_thread, started};

/// The process that has restricted its system calls.
static RESTRICTED: AtomicU32 = AtomicU32::new(0);

/// Whether this process has restricted its system calls.
pub(crate) fn is_restricted() -> bool {
    let restricted = RESTRICTED.load(Ordering::Acquire);
    restricted != 0 && restricted == id()
}

/// As [`is_restricted`], without a system call; also true in a process that was forked from a restricted one, or shares its memory.
pub(crate) fn may_be_restricted() -> bool {
    RESTRICTED.load(Ordering::Acquire) != 0
}

/// Finds the C library's functions, since they may not be looked up later.
pub(crate) fn prepare() {
    #[cfg(target_arch = "x86_64")]
    variadic::prepare();
    // SAFETY: the function does nothing but to store a number.
    unsafe { libc::pthread_atfork(None, None, Some(inherit)) };
}

/// A forked child inherits the restriction; one of `vfork` changes its parent's memory, but not its parent's
/// restriction.
unsafe extern "C" fn inherit() {
    // SAFETY: a number of the process.
    let parent = unsafe { libc::getppid() }.cast_unsigned();
    if RESTRICTED.load(Ordering::Acquire) == parent {
        RESTRICTED.store(id(), Ordering::Release);
    }
}

/// Called when the program is about to restrict its system calls.
fn restrict() {
    started::note_restricted();
    crate::end_early(
        "the program restricts its system calls (seccomp): what it called after that has no record",
    );
    // A program that may not call `exit_group` any more ends with its last thread.
    one_thread::end_listening();
    RESTRICTED.store(id(), Ordering::Release);
}

/// Whether a call of `syscall` or `prctl` restricts later system calls.
fn restricts(number: c_long, first: c_long) -> bool {
    /// `SECCOMP_SET_MODE_STRICT` and `SECCOMP_SET_MODE_FILTER` of `seccomp(2)`; larger operations only query.
    const MODES: [u32; 2] = [0, 1];
    match number {
        libc::SYS_seccomp => MODES.contains(&(first as u32)),
        libc::SYS_prctl => first as c_int == libc::PR_SET_SECCOMP,
        _ => false,
    }
}

#[cfg(target_arch = "x86_64")]
mod variadic {
    //! Both take a variable number of arguments, so each is a few instructions: all registers that may hold an argument
    //! are saved, and the C library's function is jumped to with everything unchanged.

    use std::ffi::{c_int, c_long, c_void};
    use std::sync::atomic::{AtomicPtr, Ordering};

    use super::{one_thread, restrict, restricts};
    use crate::started::Real;

    static SYSCALL: Real = Real::new(c"syscall");
    static PRCTL: Real = Real::new(c"prctl");
    /// Target of a direct jump; the slow path as long as the address is unknown.
    static JUMPS: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];

    pub(super) fn prepare() {
        SYSCALL.address();
        PRCTL.address();
    }

    /// Checks whether a call may restrict, enter namespaces, or end the thread.
    ///
    /// # Returns
    /// The C library's function.
    extern "C" fn look(number: c_long, first: c_long, which: usize) -> *mut c_void {
        if restricts(number, first) {
            restrict();
        }
        match number {
            libc::SYS_unshare => one_thread::before_unshare(first as c_int),
            libc::SYS_exit => one_thread::before_exit(),
            _ => {}
        }
        let real = [&SYSCALL, &PRCTL][which].address();
        if real.is_null() {
            return missing as *mut c_void;
        }
        JUMPS[which].store(real, Ordering::Release);
        real
    }

    extern "C" fn missing() -> c_long {
        crate::started::none().into()
    }

    /// The C library's `syscall`.
    ///
    /// # Safety
    /// As there.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn syscall() -> c_long {
        core::arch::naked_asm!(
            "endbr64",
            // `SYS_seccomp`, `SYS_prctl`, `SYS_unshare`, `SYS_exit`
            "cmp rdi, 317",
            "je 2f",
            "cmp rdi, 272",
            "je 2f",
            "cmp rdi, 60",
            "je 2f",
            "cmp rdi, 157",
            "je 2f",
            "mov r11, [rip + {jumps}]",
            "test r11, r11",
            "je 2f",
            "jmp r11",
            "2:",
            "sub rsp, 56",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "xor edx, edx",
            "call {look}",
            "mov r11, rax",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "mov rcx, [rsp + 24]",
            "mov r8, [rsp + 32]",
            "mov r9, [rsp + 40]",
            "add rsp, 56",
            "xor eax, eax",
            "jmp r11",
            jumps = sym JUMPS,
            look = sym look,
        )
    }

    /// The C library's `prctl`.
    ///
    /// # Safety
    /// As there.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn prctl() -> c_long {
        core::arch::naked_asm!(
            "endbr64",
            // `PR_SET_SECCOMP`
            "cmp edi, 22",
            "je 2f",
            "mov r11, [rip + {jumps} + 8]",
            "test r11, r11",
            "je 2f",
            "jmp r11",
            "2:",
            "sub rsp, 56",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "mov rsi, rdi",
            // `SYS_prctl`
            "mov edi, 157",
            "mov edx, 1",
            "call {look}",
            "mov r11, rax",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "mov rcx, [rsp + 24]",
            "mov r8, [rsp + 32]",
            "mov r9, [rsp + 40]",
            "add rsp, 56",
            "xor eax, eax",
            "jmp r11",
            jumps = sym JUMPS,
            look = sym look,
        )
    }
}
