//! How a stub holds a slot.

use abi_stable::StableAbi;

use crate::{ConnectedPort, RawPort, Slot};

/// A slot as a stub holds it: by address.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct SlotPointer(*const Slot);

impl SlotPointer {
    /// A pointer to a slot.
    ///
    /// # Safety
    /// The slot outlives every stub made from the pointer; the framework keeps its slots until it is dropped.
    pub unsafe fn new(slot: *const Slot) -> Self {
        SlotPointer(slot)
    }

    /// The address, as it crosses the border.
    pub fn as_ptr(self) -> *const Slot {
        self.0
    }

    /// The slot's current pair.
    ///
    /// # Safety
    /// As for [`Slot::load`].
    #[inline(always)]
    pub unsafe fn load(self) -> RawPort {
        // SAFETY: the slot lives (promise of `new`); connected by this function's own promise.
        unsafe { (*self.0).load() }
    }

    /// As [`Slot::target`].
    ///
    /// # Safety
    /// As for [`Slot::load`].
    #[inline(always)]
    pub unsafe fn target(self) -> *const ConnectedPort {
        // SAFETY: the slot lives (promise of `new`).
        unsafe { (*self.0).target() }
    }
}

// SAFETY: a slot is an atomic; the providers behind it are `Send + Sync` (`add_provides_port` demands it).
unsafe impl Send for SlotPointer {}
// SAFETY: as for `Send`.
unsafe impl Sync for SlotPointer {}
