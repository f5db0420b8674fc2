//! Decides whether a recording may begin: not in the handler of a signal that interrupted the C library or a memory
//! allocator.
//!
//! To begin, our threads are started, for which the C library allocates memory. A handler may have interrupted an
//! allocation, and then the allocator's lists are half changed, or a lock is held for ever. The stack shows where a
//! handler was called from: behind the frame that the system made for the signal.
//!
//! ```text
//! start_at_call ← cca_enter ← handler ← signal ← malloc ← main        not now
//! start_at_call ← cca_enter ← handler ← signal ← main                 now
//! start_at_call ← cca_enter ← ?                                       by the frame that the system left on the stack for a signal
//! ```
//!
//! A function without unwind tables ends the search, as where a program generates its code while it runs. From there on
//! the stack is searched for frames of signals: each begins with the address that the handler returns to, and says
//! where the signal came. Functions of the C library that only wait, or send a signal ([`WAITING`]), are where most
//! handlers are called: they hold no lock.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_abi::guest;

/// Address range of the C library, of the dynamic linker, and of the object with the memory allocator.
static DELICATE: [[AtomicUsize; 2]; 3] = [const { [const { AtomicUsize::new(0) }; 2] }; 3];

/// Functions in which a signal may arrive while the state of the C library is consistent: none holds a lock of the C
/// library while it waits, or allocates memory (from POSIX's lists of cancellation points, and functions that send
/// signals).
const WAITING: [&CStr; 37] = [
    c"raise",
    c"kill",
    c"killpg",
    c"tgkill",
    c"pthread_kill",
    c"sigqueue",
    c"pause",
    c"sigsuspend",
    c"sigwait",
    c"sigwaitinfo",
    c"sigtimedwait",
    c"sleep",
    c"usleep",
    c"nanosleep",
    c"clock_nanosleep",
    c"poll",
    c"ppoll",
    c"select",
    c"pselect",
    c"epoll_wait",
    c"epoll_pwait",
    c"read",
    c"write",
    c"recv",
    c"recvfrom",
    c"recvmsg",
    c"send",
    c"sendto",
    c"sendmsg",
    c"accept",
    c"waitpid",
    c"sched_yield",
    c"sem_wait",
    c"sem_timedwait",
    c"pthread_cond_wait",
    c"pthread_cond_timedwait",
    c"pthread_join",
];
/// Where they begin.
static WAITING_AT: [AtomicUsize; WAITING.len()] = [const { AtomicUsize::new(0) }; WAITING.len()];

/// Maximum number of frames between a signal and the call.
const MAX_FRAMES: u32 = 256;
/// `_URC_NO_REASON` and `_URC_NORMAL_STOP` of the unwinder.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: unsafe extern "C" fn(context: *mut c_void, found: *mut c_void) -> c_int,
        found: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetRegionStart(context: *mut c_void) -> usize;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_exact: *mut c_int) -> usize;
    fn __tls_get_addr(index: *const usize) -> *mut c_void;
}

/// Finds the objects; objects that are mapped later allocate from these.
pub(crate) fn prepare() {
    // SAFETY: a name of the C library.
    let memory = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    let addresses = [
        libc::pthread_create as *const () as usize,
        __tls_get_addr as *const () as usize,
        memory.addr(),
    ];
    let addresses: *const [usize; 3] = &raw const addresses;
    // SAFETY: `visit` gets the addresses, which live until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), addresses.cast_mut().cast()) };
    for (name, at) in WAITING.iter().zip(&WAITING_AT) {
        // SAFETY: names of C.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        at.store(address.addr(), Ordering::Relaxed);
    }
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    addresses: *mut c_void,
) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description, and what `prepare` gave it.
    let (info, addresses, parts) = unsafe {
        let info = &*info;
        let parts = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (info, &*addresses.cast::<[usize; 3]>(), parts)
    };
    let loaded = parts.iter().filter(|part| part.p_type == libc::PT_LOAD);
    let ranges = loaded.map(|part| {
        let begin = (info.dlpi_addr + part.p_vaddr) as usize;
        (begin, begin + part.p_memsz as usize)
    });
    let whole = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    for (address, delicate) in addresses.iter().zip(&DELICATE) {
        if let Some((begin, end)) = whole.filter(|(begin, end)| (*begin..*end).contains(address)) {
            delicate[0].store(begin, Ordering::Relaxed);
            delicate[1].store(end, Ordering::Relaxed);
        }
    }
    0
}

/// State of a walk up a stack.
struct StackWalk {
    n_frames: u32,
    /// Address of the latest frame; 0 at the end of the stack.
    latest: usize,
    /// Whether the innermost handler's signal came in one of the objects.
    interrupted: Option<bool>,
    /// Begin of the outermost function in the objects that the signal interrupted.
    entered: usize,
}

/// Whether the calling thread is in the handler of a signal that came where no memory may be allocated.
pub(crate) fn is_delicate() -> bool {
    let mut found = StackWalk {
        n_frames: 0,
        latest: 0,
        interrupted: None,
        entered: 0,
    };
    let found_at: *mut c_void = ptr::from_mut(&mut found).cast();
    let found_address = found_at.expose_provenance();
    // SAFETY: `look` gets what lives until the call returns.
    guest::run(|| unsafe {
        _Unwind_Backtrace(look, ptr::with_exposed_provenance_mut(found_address))
    });
    match found.interrupted {
        None => {
            let is_cut = found.latest != 0;
            let came =
                is_cut.then(|| guest::run_in_place(|| signal_frame::interrupted(found_address)));
            came.flatten().is_some_and(is_in_objects)
        }
        Some(false) => false,
        Some(true) => {
            let mut waiting = WAITING_AT.iter();
            !waiting.any(|at| at.load(Ordering::Relaxed) == found.entered)
        }
    }
}

fn is_in_objects(address: usize) -> bool {
    DELICATE.iter().any(|delicate| {
        let [begin, end] = delicate.each_ref().map(|end| end.load(Ordering::Relaxed));
        (begin..end).contains(&address)
    })
}

unsafe extern "C" fn look(context: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its own context, and what `is_delicate` gave it.
    let (address, is_exact, begin, found) = unsafe {
        let mut is_exact = 0;
        let address = _Unwind_GetIPInfo(context, &raw mut is_exact);
        let begin = _Unwind_GetRegionStart(context);
        (
            address,
            is_exact != 0,
            begin,
            &mut *found.cast::<StackWalk>(),
        )
    };
    found.n_frames += 1;
    found.latest = address;
    let is_inside = is_in_objects(address);
    if is_exact && found.interrupted.is_none() {
        found.interrupted = Some(is_inside);
    }
    let is_known = found.interrupted.is_some();
    if is_known && is_inside {
        found.entered = begin;
    }
    match (is_known && !is_inside) || found.n_frames == MAX_FRAMES {
        true => STOP,
        false => GO_ON,
    }
}

#[cfg(target_arch = "x86_64")]
mod signal_frame {
    //! The frame that Linux leaves on the stack for a handler (`struct rt_sigframe`): its return address, and the state
    //! of the thread.

    use std::ffi::c_int;
    use std::mem::{offset_of, zeroed};
    use std::ptr;

    const WORD: usize = size_of::<usize>();
    /// The code segment of a program of 64 bits, in the state of an interrupted thread.
    const USER_CODE: u64 = 0x33;
    const PAGE_BYTES: usize = 4096;
    /// Maximum number of bytes of a stack that are searched.
    const MAX_BYTES: usize = 8 << 20;

    /// The system's `struct sigaction`.
    #[repr(C)]
    struct Action {
        handler: usize,
        flags: u64,
        restorer: usize,
        mask: u64,
    }

    unsafe extern "C" {
        /// End of the first thread's stack, from the dynamic linker.
        static __libc_stack_end: *const usize;
    }

    /// Return addresses of the handlers of the process; the C library has one for all, and a program may have others.
    fn restorers() -> [usize; 4] {
        let mut found = [0; 4];
        let mut n = 0;
        for signal in 1..=libc::SIGRTMAX() {
            // SAFETY: the action is this function's own and has the system's size; nothing is changed.
            let action = unsafe {
                let mut action: Action = zeroed();
                let (none, bytes) = (ptr::null::<Action>(), size_of::<u64>());
                libc::syscall(libc::SYS_rt_sigaction, signal, none, &raw mut action, bytes);
                action
            };
            if action.restorer != 0 && n < found.len() && !found.contains(&action.restorer) {
                found[n] = action.restorer;
                n += 1;
            }
        }
        found
    }

    /// The end of the stack that an address is on.
    fn end_of_stack(address: usize) -> usize {
        // SAFETY: the stack is this function's own; the dynamic linker sets the end before any code runs.
        let (alternate, first_end, thread) = unsafe {
            let mut stack: libc::stack_t = zeroed();
            libc::sigaltstack(ptr::null(), &raw mut stack);
            (
                stack,
                __libc_stack_end.addr(),
                libc::pthread_self() as usize,
            )
        };
        if alternate.ss_flags & libc::SS_ONSTACK != 0 {
            return alternate.ss_sp.addr() + alternate.ss_size;
        }
        // The C library keeps its data about a thread behind the thread's stack.
        let ends = [first_end, thread];
        let most = address + MAX_BYTES;
        ends.into_iter()
            .filter(|end| (address..most).contains(end))
            .min()
            .unwrap_or(most)
    }

    /// Where the signal came whose handler runs on the stack above an address, by the innermost frame; `None` if there
    /// is no such frame.
    pub(super) fn interrupted(address: usize) -> Option<usize> {
        let restorers = restorers();
        let end = end_of_stack(address);
        let state = WORD + offset_of!(libc::ucontext_t, uc_mcontext);
        let frame_bytes = state + size_of::<libc::mcontext_t>();
        let register = |at: usize, which: c_int| read(at + state + which as usize * WORD) as u64;
        let mut readable_to = address;
        let mut places = (address.next_multiple_of(WORD)..end).step_by(WORD);
        let frame = places.find_map(|at| {
            // The stack of a coroutine may end before the end assumed for it.
            while at + frame_bytes > readable_to && is_readable(readable_to) {
                readable_to = (readable_to / PAGE_BYTES + 1) * PAGE_BYTES;
            }
            if at + frame_bytes > readable_to {
                return Some(None);
            }
            let returns = read(at);
            let is_frame = returns != 0
                && restorers.contains(&returns)
                && register(at, libc::REG_CSGSFS) & 0xffff == USER_CODE;
            is_frame.then_some(Some(at))
        })??;
        Some(register(frame, libc::REG_RIP) as usize)
    }

    /// Whether an address is mapped: the system reads a set of signals there, and refuses the invalid operation.
    fn is_readable(address: usize) -> bool {
        /// None of the three operations that change a mask.
        const NO_WAY: c_int = -1;
        let aligned = address / WORD * WORD;
        // SAFETY: nothing is changed, and an address that is not mapped is an error.
        let error = unsafe {
            let none = ptr::null_mut::<u64>();
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                NO_WAY,
                aligned,
                none,
                size_of::<u64>(),
            );
            *libc::__errno_location()
        };
        error == libc::EINVAL
    }

    fn read(address: usize) -> usize {
        // SAFETY: the caller has checked that it is mapped.
        unsafe { ptr::with_exposed_provenance::<usize>(address).read_volatile() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod signal_frame {
    pub(super) fn interrupted(_: usize) -> Option<usize> {
        None
    }
}
