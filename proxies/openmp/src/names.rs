//! The names that this library replaces, and the program's definitions of them.
//!
//! `libproxy_audit` reads the names, and writes down the address of each definition as objects are mapped: nothing has
//! to be looked up while the program runs, when a thread that waits for this one may have the dynamic linker's lock.

use std::ffi::{CStr, c_int, c_void};
use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::gomp::{N_ENTRIES, NAMES};

/// Behind the entry points: the tools interface, and queries of GCC's runtime.
const OTHERS: &str = "ompt_start_tool\0omp_get_thread_num\0omp_get_num_threads\0";
const START_TOOL: usize = N_ENTRIES;
const THREAD_NUMBER: usize = N_ENTRIES + 1;
const N_THREADS: usize = N_ENTRIES + 2;
const N_NAMES: usize = N_ENTRIES + 3;

const N_BYTES: usize = NAMES.len() + OTHERS.len() + 1;

const fn all_names() -> [u8; N_BYTES] {
    let mut all = [0; N_BYTES];
    let mut at = 0;
    while at < NAMES.len() {
        all[at] = NAMES.as_bytes()[at];
        at += 1;
    }
    let mut of_others = 0;
    while of_others < OTHERS.len() {
        all[at + of_others] = OTHERS.as_bytes()[of_others];
        of_others += 1;
    }
    all
}

/// The arrays of `cca_proxy.h`, one word a name; here the first, the numbers of definitions, and the places of these are of use.
#[unsafe(no_mangle)]
pub static cca_proxy_names_v1: [u8; N_BYTES] = all_names();
#[unsafe(no_mangle)]
pub static cca_proxy_counts_v1: [AtomicU32; N_NAMES] = [const { AtomicU32::new(0) }; N_NAMES];
#[unsafe(no_mangle)]
pub static cca_proxy_homes_v1: [AtomicUsize; N_NAMES] = [const { AtomicUsize::new(0) }; N_NAMES];
#[unsafe(no_mangle)]
pub static cca_proxy_home_is_ifunc_v1: [AtomicU32; N_NAMES] =
    [const { AtomicU32::new(0) }; N_NAMES];
#[unsafe(no_mangle)]
pub static cca_proxy_targets_v1: [AtomicUsize; N_NAMES] = [const { AtomicUsize::new(0) }; N_NAMES];
#[unsafe(no_mangle)]
pub static cca_proxy_entries_v1: [AtomicUsize; N_NAMES] = [const { AtomicUsize::new(0) }; N_NAMES];
/// Nothing is looked up at a first call.
#[unsafe(no_mangle)]
pub static cca_proxy_resolvers_v1: [usize; N_NAMES] = [0; N_NAMES];

/// By which `libproxy_audit` knows a proxy; as the proxy of a C library this one offers nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cca_proxy_v1() -> *const c_void {
    ptr::null()
}

/// Definitions that were looked up, if `libproxy_audit` has not written them down.
static FOUND: [AtomicPtr<c_void>; N_NAMES] = [const { AtomicPtr::new(ptr::null_mut()) }; N_NAMES];

/// The function of an entry point in the program's runtime.
#[inline(always)]
pub(crate) fn target(code: usize) -> usize {
    match cca_proxy_homes_v1[code].load(Ordering::Relaxed) {
        0 => found(code),
        home => home,
    }
}

/// The calling thread's number in its team, and how many are in it.
pub(crate) fn thread_number() -> (usize, usize) {
    let ask = |place| {
        // SAFETY: both take nothing and return an integer.
        let function: extern "C" fn() -> c_int = unsafe { std::mem::transmute(target(place)) };
        usize::try_from(function()).unwrap_or(0)
    };
    (ask(THREAD_NUMBER), ask(N_THREADS))
}

/// Address of the program's own `ompt_start_tool`; 0 if it has none.
pub(crate) fn other_tool() -> usize {
    match cca_proxy_homes_v1[START_TOOL].load(Ordering::Relaxed) {
        0 => look_up(START_TOOL).addr(),
        home => home,
    }
}

/// The bytes of a name, with the zero at its end.
fn name(place: usize) -> &'static CStr {
    let mut names = cca_proxy_names_v1.split_inclusive(|byte| *byte == 0);
    let name = names.nth(place).unwrap_or_default();
    CStr::from_bytes_with_nul(name).unwrap_or_default()
}

fn look_up(place: usize) -> *mut c_void {
    // SAFETY: a text of C; this library is in the global scope, behind whose place it is searched.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name(place).as_ptr()) }
}

/// Without `libproxy_audit`, or with several runtimes but none of them this library's.
#[cold]
#[inline(never)]
fn found(place: usize) -> usize {
    let known = FOUND[place].load(Ordering::Acquire);
    if !known.is_null() {
        return known.addr();
    }
    let found = look_up(place);
    if found.is_null() {
        // The dynamic linker would have done the same if this library did not define the name.
        let text = format!(
            "cannot call {:?}: no OpenMP runtime with it is loaded, expected one\n",
            name(place)
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort();
    }
    FOUND[place].store(found, Ordering::Release);
    found.addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_place() {
        assert_eq!(name(0), c"GOMP_parallel");
        assert_eq!(name(START_TOOL), c"ompt_start_tool");
        assert_eq!(name(N_THREADS), c"omp_get_num_threads");
        assert_eq!(name(N_NAMES), c"");
    }
}
