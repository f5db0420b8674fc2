//! The entry of a call: the exported functions, and the jump from there to the recording one.
//!
//! ```text
//! MPI_Send      cmp [STATE], 0         no call is recorded: the timed wrapper, which has the caller's words as its own
//!               je  timed_n
//!               mov eax, n             else all of them take one path
//!               jmp record             keeps the six registers, with room for the other words behind them
//!                 call event::ENTER[n] gets where these, the caller's stack and the return address are
//! ```
//!
//! No function in Rust can read its return address, which is the call site, so these two are in assembler.

use std::arch::naked_asm;

use crate::event;
use crate::message::{Language, MAX_WORDS};

/// How an exported function is called.
pub(crate) struct Signature {
    pub(crate) language: Language,
    /// Number of words of its arguments.
    pub(crate) n_words: u8,
    /// Place of the error code's address among them; none in C.
    pub(crate) error: u8,
}

impl Signature {
    /// Whether a call has failed.
    ///
    /// # Safety
    /// The result and the words belong to a call of this function that has returned.
    #[inline(always)]
    pub(crate) unsafe fn has_failed(&self, result: usize, words: &[usize]) -> bool {
        match words.get(usize::from(self.error)) {
            // SAFETY: required of the caller.
            Some(address) => unsafe { error_in(*address) },
            None => result as i32 != 0,
        }
    }
}

/// Whether there is an error code other than `MPI_SUCCESS` at an address; in `mpi_f08` it may be left out.
///
/// # Safety
/// The address is null or that of an integer.
#[inline(always)]
pub(crate) unsafe fn error_in(address: usize) -> bool {
    // SAFETY: required of the caller.
    unsafe { (address as *const i32).as_ref() }.is_some_and(|code| *code != 0)
}

/// An exported function.
macro_rules! entry {
    ($name:ident, $timed:ident, $code:literal) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {state}], 0",
                "je {timed}",
                "mov eax, {code}",
                "jmp {record}",
                state = sym crate::event::STATE,
                timed = sym $timed,
                code = const $code,
                record = sym crate::entry::record,
            )
        }
    };
}
pub(crate) use entry;

/// Passes a call to the function that [`event::ENTER`] has for its entry: `eax` has the number of the entry, all else
/// is as the caller left it.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn record() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, {room}",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "lea r10, [rip + {enter}]",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "mov rcx, [rbp + 8]",
        "call [r10 + rax * 8]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        enter = sym event::ENTER,
        room = const size_of::<usize>() * MAX_WORDS,
    )
}
