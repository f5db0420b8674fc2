//! Whether a recording may begin: not in the handler of a signal that has interrupted the C library or whoever gives out memory.
//!
//! To begin, our threads are started, for which the C library asks for memory. A handler may have interrupted just that, and then its
//! lists are half changed, or a lock is held for ever. Where a handler was called from is on the stack: behind the frame that the
//! system made for the signal.
//!
//! ```text
//! start_at_call ← cca_enter ← handler ← signal ← malloc ← main        not now
//! start_at_call ← cca_enter ← handler ← signal ← main                 now
//! start_at_call ← cca_enter ← handler ← ?                             not now, if a signal is blocked that has a handler
//! ```
//!
//! A function without unwind tables ends the search. Most handlers run with their own signal blocked.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_abi::guest;

/// First address and the one behind, of the C library, of the dynamic linker, and of the object that gives out memory.
static DELICATE: [[AtomicUsize; 2]; 3] = [const { [const { AtomicUsize::new(0) }; 2] }; 3];

/// Frames between a signal and the call, at most.
const MAX_FRAMES: u32 = 256;
/// `_URC_NO_REASON`, `_URC_NORMAL_STOP` and `_URC_END_OF_STACK` of the unwinder.
const GO_ON: c_int = 0;
const STOP: c_int = 4;
const END_OF_STACK: c_int = 5;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: unsafe extern "C" fn(context: *mut c_void, found: *mut c_void) -> c_int,
        found: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_exact: *mut c_int) -> usize;
    fn __tls_get_addr(index: *const usize) -> *mut c_void;
}

/// Finds the objects; more may be mapped later, whose memory comes from these.
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

/// What of a stack is known so far.
struct Found {
    n_frames: u32,
    /// Where the innermost handler's signal came.
    interrupted: Option<usize>,
}

/// Whether the calling thread is in the handler of a signal that came where no memory may be asked for.
pub(crate) fn is_delicate() -> bool {
    let mut found = Found {
        n_frames: 0,
        interrupted: None,
    };
    let found_at: *mut c_void = ptr::from_mut(&mut found).cast();
    let found_address = found_at.expose_provenance();
    // SAFETY: `look` gets what lives until the call returns.
    let end = guest::run(|| unsafe {
        _Unwind_Backtrace(look, ptr::with_exposed_provenance_mut(found_address))
    });
    let Some(address) = found.interrupted else {
        return end != Some(END_OF_STACK) && may_be_in_handler();
    };
    DELICATE.iter().any(|delicate| {
        let [begin, end] = delicate.each_ref().map(|end| end.load(Ordering::Relaxed));
        (begin..end).contains(&address)
    })
}

/// Whether the calling thread has a signal blocked that has a handler.
fn may_be_in_handler() -> bool {
    // SAFETY: the set and the actions are this function's own; zeros are valid, and nothing is changed.
    unsafe {
        let mut blocked = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut blocked);
        let has_handler = |signal| {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut action) == 0
                && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
        };
        (1..=libc::SIGRTMAX())
            .any(|signal| libc::sigismember(&raw const blocked, signal) == 1 && has_handler(signal))
    }
}

unsafe extern "C" fn look(context: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its own context, and what `is_delicate` gave it.
    let (address, is_exact, found) = unsafe {
        let mut is_exact = 0;
        let address = _Unwind_GetIPInfo(context, &raw mut is_exact);
        (address, is_exact != 0, &mut *found.cast::<Found>())
    };
    found.n_frames += 1;
    if is_exact {
        found.interrupted = Some(address);
    }
    match is_exact || found.n_frames == MAX_FRAMES {
        true => STOP,
        false => GO_ON,
    }
}
