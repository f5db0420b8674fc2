//! Names that are bound past the order of search are led to the proxy.
//!
//! Preloading works by the order of search: a proxy comes before the library that it replaces. Two forms of binding do
//! not follow that order: `dlsym` in a handle of a library, which Python's `ctypes` does too, and plug-ins opened with
//! `RTLD_DEEPBIND`, which search their own libraries first. The dynamic linker asks at both (`la_symbind64`), and gets
//! the proxy's own symbol instead:
//!
//! * if the program has one definition of the name, the proxy replaces this one;
//! * the proxy of MPI replaces the first definition behind it in the order of search, which may be in a library between
//!   the program and MPI; a reference bound only to another definition is bound to that with the proxy too;
//! * if a C library's name has several, two libraries or two versions in one, the proxy replaces the one that was
//!   loaded or bound first. The names are hidden then, so that every caller finds the definition it would find without
//!   the proxy; bindings to the replaced one lead to the proxy. If the mark-up declares several, the others lead to the
//!   proxy too, each to a function of its own; otherwise they stay bound to their definitions and are reported
//!   (`trace.rs`).
//!
//! The definition of a call is determined as it is bound, never as it is made: a function that ends with a call jumps
//! there, and its return address is in another object.

use std::ffi::{CStr, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::mapped::{Mapped, Role};
use crate::object::gnu_hash;
use crate::proxy::{Proxied, Proxy};
use crate::trace;

/// `dlsym` requested the binding (`LA_SYMB_DLSYM`).
const BY_DLSYM: c_uint = 8;

/// All names of all proxies, by their hashes. It is replaced as a whole and never freed: a signal handler may bind a name while
/// its thread is here, so there is no lock.
static NAMES: AtomicPtr<Vec<(u32, Proxied)>> = AtomicPtr::new(ptr::null_mut());

/// Makes the names of these proxies known.
pub(crate) fn publish(proxies: &[Proxy]) {
    let all = proxies.iter().flat_map(Proxy::proxied);
    let mut names: Vec<_> = all.map(|proxied| (proxied.hash(), proxied)).collect();
    names.sort_by_key(|(hash, _)| *hash);
    NAMES.store(Box::into_raw(Box::new(names)), Ordering::Release);
}

/// The proxied function of a name, which replaces its first definition.
pub(crate) fn proxied(name: &CStr) -> Option<&'static Proxied> {
    all_of(name).find(|proxied| !proxied.is_other())
}

/// The functions of a name: the one for its first definition, and those for others.
pub(crate) fn all_of(name: &CStr) -> impl Iterator<Item = &'static Proxied> + Clone {
    // SAFETY: null, or leaked by `publish`.
    let names = unsafe { NAMES.load(Ordering::Acquire).as_ref() };
    let names: &'static [_] = names.map_or(&[], Vec::as_slice);
    let hash = gnu_hash(name.to_bytes());
    let first = names.partition_point(|(other, _)| *other < hash);
    let same = names[first..]
        .iter()
        .take_while(move |(other, _)| *other == hash);
    same.map(|(_, proxied)| proxied)
        .filter(move |proxied| proxied.is(name))
}

/// The function of a proxy that replaces another definition of a name than the first: the one that does already, or
/// else the first free one.
fn bind_to_other(name: &CStr, address: usize, to: &Mapped) -> Option<usize> {
    let others = || all_of(name).filter(|proxied| proxied.is_other());
    if let Some(known) = others().find(|other| other.stands_for_other(address)) {
        return Some(known.stub());
    }
    let free = others().find(|other| other.claim(address, &to.object))?;
    let version = to.object.version_of(free.name(), address);
    trace::definition(name, free.number(), to, version);
    Some(free.stub())
}

/// The address that a reference is bound to.
///
/// # Arguments
/// * `address` - address of the definition that was found
/// * `from`, `to` - the object that refers to the name, and the one that defines it
/// * `flags` - how it is bound
pub(crate) fn bind(
    name: &CStr,
    address: usize,
    from: &Mapped,
    to: &Mapped,
    flags: c_uint,
) -> usize {
    let is_proxy = |mapped: &Mapped| matches!(mapped.role, Role::Proxy | Role::Own);
    if is_proxy(from) || is_proxy(to) {
        return address;
    }
    let Some(proxied) = proxied(name) else {
        return address;
    };
    // A program that is not position independent has an entry of its own for a function whose address it takes. It
    // defines nothing, and all objects must find that address.
    if !to.object.defines_at(proxied.name(), address) {
        return address;
    }
    if proxied.stands_for(address, &to.object) {
        return proxied.stub();
    }
    // A library between the program and MPI that calls the next definition: through the proxy it would call itself for
    // ever.
    if proxied.is_of_mpi() && proxied.is_defined_by(&from.object) {
        return address;
    }
    if let Some(stub) = bind_to_other(name, address, to) {
        return stub;
    }
    let how = if flags & BY_DLSYM != 0 {
        "dlsym"
    } else {
        "call"
    };
    trace::bound_elsewhere(how, from, name, to);
    address
}
