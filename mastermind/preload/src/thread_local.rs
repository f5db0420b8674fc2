//! Thread-local memory of this library at a fixed distance from each thread's pointer.
//!
//! With an audit library the dynamic linker allocates a library's thread-local memory for each thread by `malloc`, at
//! the first use. In a thread of ours that is the first allocation, for which glibc reserves 64 MB of addresses; three
//! threads come near to the limit of a program that has one (`ulimit -v`). One reference by the initial-exec model
//! makes the linker place all of this library's thread-local memory, 160 bytes, with each thread's stack; `wrap` adds
//! them to the linker's reserve.

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .tbss.mastermind_at_fixed_distance, \"awT\", @nobits",
    ".balign 8",
    ".type mastermind_at_fixed_distance, @object",
    ".size mastermind_at_fixed_distance, 8",
    ".local mastermind_at_fixed_distance",
    "mastermind_at_fixed_distance:",
    ".zero 8",
    ".popsection",
);

/// The distance of a word of that memory.
#[cfg(target_arch = "x86_64")]
extern "C" fn distance() -> usize {
    let distance;
    // SAFETY: one load of what the dynamic linker has written before any code runs.
    unsafe {
        core::arch::asm!(
            "mov {}, qword ptr [rip + mastermind_at_fixed_distance@GOTTPOFF]",
            out(reg) distance,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    distance
}

/// Keeps the reference.
#[cfg(target_arch = "x86_64")]
#[used]
static DISTANCE: extern "C" fn() -> usize = distance;
