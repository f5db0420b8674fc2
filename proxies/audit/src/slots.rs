//! The words of an object that lead its calls to other objects, and their targets.

use std::ffi::CStr;

use crate::bound::{all_of, proxied};
use crate::object::{Name, Object};
use crate::proxy::protection;

/// A reference to a proxied name that does not lead to the proxy.
pub(crate) struct Slot {
    pub(crate) name: &'static CStr,
    /// Its target.
    pub(crate) value: usize,
}

/// The relocations of x86-64 that hold the address of a function: `R_X86_64_64`, `R_X86_64_GLOB_DAT`, `R_X86_64_JUMP_SLOT`.
const WORD: u32 = 1;
const GLOBAL: u32 = 6;
const JUMP: u32 = 7;

/// References of an object to proxied names that hold something else than the proxy's address.
///
/// A function that is not bound yet, since it was never called, has an address of the object
/// itself.
pub(crate) fn round_about(object: &Object) -> Vec<Slot> {
    let relocations = object.relocations();
    let is_function = |kind: u32| matches!(kind, WORD | GLOBAL | JUMP);
    let functions = relocations.filter(|relocation| is_function(relocation.kind));
    let slots = functions.filter_map(|relocation| {
        let name = object.name_of(relocation.symbol);
        proxied(name)?;
        // SAFETY: the dynamic linker has written there, so it is mapped and can be read.
        let word =
            unsafe { ((object.address() + relocation.offset) as *const usize).read_unaligned() };
        let addend = if relocation.kind == WORD {
            relocation.addend
        } else {
            0
        };
        let value = word.wrapping_sub(addend);
        let is_led = all_of(name).any(|proxied| proxied.stub() == value);
        (!is_led).then_some(Slot { name, value })
    });
    slots.collect()
}

/// Leads references of our own objects to proxied names past the proxies: our calls are not the program's.
///
/// # Arguments
/// * `target` - the definition of a name without the proxies, if there is one
pub(crate) fn lead_past(object: &Object, target: impl Fn(&Name) -> Option<usize>) {
    let is_function = |kind: u32| matches!(kind, GLOBAL | JUMP);
    for relocation in object.relocations() {
        if !is_function(relocation.kind) || !object.is_undefined(relocation.symbol) {
            continue;
        }
        let proxied = proxied(object.name_of(relocation.symbol));
        let target = proxied.and_then(|proxied| target(&Name::new(proxied.name())));
        if let Some(target) = target {
            write(object, object.address() + relocation.offset, target);
        }
    }
}

/// Writes a word of an object that the dynamic linker may have made read-only after it was bound.
fn write(object: &Object, at: usize, value: usize) {
    // SAFETY: a number of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = at / page * page;
    let Some(before) = protection(object, at) else {
        return;
    };
    // SAFETY: a page of the object, which is never unmapped; the word is aligned and within it. No code of the object
    // runs yet.
    unsafe {
        if libc::mprotect(start as *mut _, page, libc::PROT_READ | libc::PROT_WRITE) == 0 {
            (at as *mut usize).write_volatile(value);
            libc::mprotect(start as *mut _, page, before);
        }
    }
}
