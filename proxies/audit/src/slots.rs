//! The words of an object that lead its calls to other objects, and where they lead.

use std::ffi::CStr;

use crate::bound::{all_of, proxied};
use crate::object::Object;

/// A reference to a proxied name that does not lead to the proxy.
pub(crate) struct Slot {
    pub(crate) name: &'static CStr,
    /// Where it leads.
    pub(crate) value: usize,
}

/// The relocations of x86-64 that hold the address of a function: `R_X86_64_64`, `R_X86_64_GLOB_DAT`, `R_X86_64_JUMP_SLOT`.
const WORD: u32 = 1;
const GLOBAL: u32 = 6;
const JUMP: u32 = 7;

/// References of an object to proxied names that hold something else than the proxy's address.
///
/// What is not bound yet, since it was never called, holds an address of the object itself.
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
