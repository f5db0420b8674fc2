//! Functions of tasks in GCC's runtime.
//!
//! A task's function gets a copy of its data, whose layout is the runtime's and the compiler's own. So nothing is added there: the runtime
//! gets another function instead, a stub of its own for each function and call site, which knows both by its own address.

use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::state;
use crate::sums::{self, Construct, Key, More};
use crate::thread;

/// Functions of tasks, by call site, that are measured, a power of two. Arbitrary; calls of others are reported.
const MAX_STUBS: usize = 1 << 11;
/// Places in which a function may be, starting at its own.
const MAX_PROBES: usize = 64;
/// Bytes from one stub to the next.
const STUB_BYTES: usize = 16;

unsafe extern "C" {
    /// The first stub: it passes its argument on, and its own address behind that.
    fn proxy_openmp_stubs();
}

global_asm!(
    ".pushsection .text",
    ".p2align 4",
    ".hidden proxy_openmp_stubs",
    ".globl proxy_openmp_stubs",
    ".type proxy_openmp_stubs, @function",
    "proxy_openmp_stubs:",
    ".cfi_startproc",
    ".rept {n}",
    ".p2align 4",
    // The address behind this instruction of 7 bytes.
    "lea rsi, [rip]",
    "jmp {run}",
    ".endr",
    ".cfi_endproc",
    ".popsection",
    n = const MAX_STUBS,
    run = sym run,
);

/// A stub's function and call site.
struct Stub {
    /// The function; 0 for a free place, 1 while it is being taken.
    function: AtomicUsize,
    /// Site times 2, plus 1 for a loop of tasks.
    site: AtomicUsize,
}

const TAKEN: usize = 1;

static STUBS: [Stub; MAX_STUBS] = [const {
    Stub {
        function: AtomicUsize::new(0),
        site: AtomicUsize::new(0),
    }
}; MAX_STUBS];

/// The address of a stub that replaces a function, called by tasks of a call site; the function itself if there is no
/// room.
pub(crate) fn stub(construct: Construct, function: usize, site: usize) -> usize {
    let site = site << 1 | usize::from(construct == Construct::Taskloop);
    let mixed = ((function ^ site.rotate_left(32)) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let first = (mixed >> (u64::BITS - MAX_STUBS.ilog2())) as usize;
    for place in (first..first + MAX_PROBES).map(|place| place % MAX_STUBS) {
        let stub = &STUBS[place];
        let known = stub.function.load(Ordering::Acquire);
        let is_known = known == function && stub.site.load(Ordering::Relaxed) == site;
        let is_taken = known == 0 && {
            let taken =
                stub.function
                    .compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed);
            taken.is_ok()
        };
        if is_taken {
            stub.site.store(site, Ordering::Relaxed);
            stub.function.store(function, Ordering::Release);
        }
        if is_known || is_taken {
            return proxy_openmp_stubs as *const () as usize + place * STUB_BYTES;
        }
    }
    state::leave_out();
    function
}

/// Runs a task.
///
/// # Safety
/// Called by a stub that the runtime called, with the task's data.
unsafe extern "C-unwind" fn run(data: usize, behind: usize) {
    let place = (behind - proxy_openmp_stubs as *const () as usize) / STUB_BYTES;
    let stub = &STUBS[place % MAX_STUBS];
    let function = stub.function.load(Ordering::Acquire);
    if !state::is_on() {
        // SAFETY: only a stub that replaces a function of tasks is returned; the data are the task's.
        return unsafe { thread::run(function, data) };
    }
    let (interrupted, begun) = thread::with(|thread| (thread.interrupt(), thread.begin_task()));
    // SAFETY: as above.
    unsafe { thread::run(function, data) };
    let ticks = thread::with(|thread| {
        let ticks = thread.end_task(begun);
        thread.resume(interrupted);
        ticks
    });
    let site = stub.site.load(Ordering::Relaxed);
    let more = More {
        // How many tasks a loop makes is known by their runs only.
        calls: (site & 1) as u64,
        instances: 1,
        ticks,
        ..More::default()
    };
    sums::add(Key::of(Construct::Task, site >> 1), more);
}
