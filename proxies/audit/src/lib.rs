//! Keeps proxies from giving names that the program's libraries lack, and sends them the calls that preloading alone misses.
//!
//! The proxy of MPI exports every function of MPI-4 and of Fortran's bindings. A program that first checks whether its
//! MPI has a function (a weak reference, `dlsym`) would find it there, call it, and end, since an older MPI has none to
//! forward it to. So this library, loaded by the dynamic linker through `LD_AUDIT`, sees each library once it is mapped
//! and before anything is bound to it:
//!
//! ```text
//! a proxy                    all its names are hidden: their values in its symbol table become 0
//! any other library          the names that it defines as well are shown again
//! ```
//!
//! So a name is visible exactly if it would be visible without the proxy. The generated proxies of C libraries also get
//! the number of definitions of a name.
//!
//! Bindings outside the order of search are led to the proxy as they are made (`la_symbind64`, `bound.rs`): `dlsym` in
//! a handle, and the calls of a plug-in that was opened with `RTLD_DEEPBIND`. Bindings that cannot be led there, and
//! every object that is mapped, are written to the file that `wrap` names (`trace.rs`); from it `wrap` reports the
//! calls that bypass the proxies.
//!
//! Calls of our own libraries, the recorder and the proxies, bypass all of them (`la_preinit`, `slots.rs`): they are
//! not the program's, and a proxy that has to wait for the recorder would wait for itself.
//!
//! No call is slowed: the dynamic linker audits no calls where there is neither `la_pltenter` nor `la_pltexit`.
//!
//! It runs in a link-map namespace of its own, with its own C library, and touches the program only by
//! the tables of the proxies.
//!
//! # Decisions
//!
//! Calls that preloading does not see are led to the proxy or reported. `dlsym` in a handle and
//! plug-ins opened with `RTLD_DEEPBIND` bypass the order of search; the dynamic linker calls the
//! audit library at each such binding (`la_symbind64`) and gets the proxy's symbol. If a name has
//! several definitions, two libraries or two versions in one, the proxy replaces the first one; its
//! names are hidden, so that every caller finds its own, and bindings to the first are led to the
//! proxy. The definition of a call is determined when it is bound, not from its return address: a
//! function that ends with a call jumps there. Bindings to other definitions are reported then, or
//! found as each object closes, from its own relocations. The rest, calls bound when a library was
//! linked, copies, static programs, is read from the files after the program has ended
//! (`proxies/reach`), also for a killed program: each process writes what it maps and starts into
//! one file. `tests/wrap_matrix.rs` checks that each form of call is either recorded or reported,
//! and that it has the result of the plain run.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod arrays;
mod bound;
mod mapped;
mod object;
mod proxy;
mod slots;
mod trace;

use std::ffi::{CStr, c_char, c_long, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mapped::{Mapped, MappedObjects, Role};
use object::{LinkMap, Object};

/// The newest version of the interface that is known here (`LAV_CURRENT` since glibc 2.35).
const AUDIT_VERSION: c_uint = 2;
/// The namespace of the program (`LM_ID_BASE`).
const PROGRAM: c_long = 0;
/// Bindings to the object are audited (`LA_FLG_BINDTO`), if their source is too (`LA_FLG_BINDFROM`).
const BIND_TO: c_uint = 1;
const BIND_FROM: c_uint = 2;

/// Whether the program's start was seen to its end.
static IS_LINKED: AtomicBool = AtomicBool::new(false);
static MAPPED: Mutex<MappedObjects> = Mutex::new(MappedObjects::new());

fn seen() -> MutexGuard<'static, MappedObjects> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called by the dynamic linker when it loads this library, with its version of the interface.
///
/// # Returns
/// The version of the interface; 0 under Valgrind, which leaves the library out. Valgrind puts a `malloc` of its own
/// into the C library of this namespace after memory was allocated, and at the end frees memory that the dynamic linker
/// allocated before.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(version: c_uint) -> c_uint {
    // SAFETY: a text of C; nothing changes the environment before the program runs.
    let preloaded = unsafe {
        let preloaded = libc::getenv(c"LD_PRELOAD".as_ptr());
        (!preloaded.is_null()).then(|| CStr::from_ptr(preloaded).to_bytes())
    };
    let is_of_valgrind = |part: &[u8]| part == VALGRIND;
    match preloaded.is_some_and(|list| list.windows(VALGRIND.len()).any(is_of_valgrind)) {
        true => 0,
        false => version.min(AUDIT_VERSION),
    }
}

/// In the name of a library that Valgrind preloads.
const VALGRIND: &[u8] = b"/vgpreload_core";

/// Called by the dynamic linker for each object that it has mapped; nothing is bound to it yet.
///
/// # Safety
/// `map` describes the object, as the dynamic linker has it, and `cookie` is the object's own word.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(
    map: *const LinkMap,
    namespace: c_long,
    cookie: *mut usize,
) -> c_uint {
    // SAFETY: null is no object; else required of the caller.
    let found = unsafe { map.as_ref().map(|map| (map.path(), Object::of(map))) };
    let Some((path, Some(object))) = found else {
        return 0;
    };
    if namespace != PROGRAM {
        trace::elsewhere(&path);
        // SAFETY: required of the caller.
        unsafe { *cookie = 0 };
        return 0;
    }
    let mut seen = seen();
    let mapped: &'static Mapped = Box::leak(Box::new(seen.classify(object, path)));
    // SAFETY: required of the caller; leaked memory is readable as long as the process lives.
    unsafe { *cookie = std::ptr::from_ref(mapped) as usize };
    trace::mapped(mapped);
    seen.add(mapped)
}

/// Called by the dynamic linker when all objects that the program begins with are bound, before any of their code runs.
///
/// # Safety
/// None is needed: the cookie is not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_preinit(_cookie: *const usize) {
    seen().lead_own_past();
}

/// Called by the dynamic linker when it binds a name of one object to the definition in another; gives the address to bind to.
///
/// # Safety
/// `symbol` has the address that was found, the cookies are those of [`la_objopen`], and `name` is the symbol's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_symbind64(
    symbol: *const libc::Elf64_Sym,
    _place: c_uint,
    from: *const usize,
    to: *const usize,
    flags: *const c_uint,
    name: *const c_char,
) -> usize {
    // SAFETY: required of the caller.
    unsafe {
        let address = (*symbol).st_value as usize;
        let mapped = |cookie: *const usize| (*cookie as *const Mapped).as_ref();
        let (Some(from), Some(to)) = (mapped(from), mapped(to)) else {
            return address;
        };
        bound::bind(CStr::from_ptr(name), address, from, to, *flags)
    }
}

/// Called by the dynamic linker when an object is about to go, or the process to end.
///
/// # Safety
/// `cookie` is the one of [`la_objopen`]; the object is still mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objclose(cookie: *const usize) -> c_uint {
    // SAFETY: required of the caller.
    if let Some(mapped) = unsafe { (*cookie as *const Mapped).as_ref() } {
        seen().close(mapped);
    }
    0
}

/// The dynamic linker calls it before and after it maps or unmaps objects.
///
/// # Safety
/// None is needed: nothing is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_activity(_cookie: *const usize, flag: c_uint) {
    /// All changes are made (`LA_ACT_CONSISTENT`); for the first time, before any code of the program runs.
    const CONSISTENT: c_uint = 0;
    /// Objects will be removed (`LA_ACT_DELETE`).
    const DELETE: c_uint = 2;
    match flag {
        CONSISTENT if !IS_LINKED.swap(true, Ordering::AcqRel) => trace::linked(),
        DELETE => seen().forget_closed(),
        _ => {}
    }
}

/// The role of an object from which and to which bindings are audited.
fn flags(role: Role, defines_proxied: bool) -> c_uint {
    match role {
        // The main program is the first object: the proxied names are not known yet.
        Role::Main => BIND_FROM | BIND_TO,
        Role::Program if defines_proxied => BIND_FROM | BIND_TO,
        Role::Program => BIND_FROM,
        Role::Proxy | Role::Own => 0,
    }
}
