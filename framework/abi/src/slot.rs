//! One end of a connection: where a uses port finds its provider.
//!
//! Connecting moves a pointer to an immutable `{object, vtable}` pair. Replacing a provider while calls run is one
//! atomic store: the next call goes to the new pair, a call in flight ends on the old one. Nothing is counted on the
//! call path; the framework frees an old pair only when no `get_port` is outstanding on the slot, which it knows from
//! its own lock (`cca-core: connection.rs`).

#[cfg(loom)]
use loom::sync::atomic::{AtomicPtr, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicPtr, Ordering};

use abi_stable::StableAbi;

use crate::RawPort;

/// The atomic pointer that a uses port calls through.
#[repr(C)]
#[derive(Debug)]
pub struct Slot {
    current: AtomicPtr<RawPort>,
}

impl Default for Slot {
    fn default() -> Self {
        Self::unconnected()
    }
}

impl Slot {
    /// A slot without a provider.
    pub fn unconnected() -> Self {
        Slot {
            current: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// The current pair; what a caller calls.
    ///
    /// # Safety
    /// The slot is connected, and stays so for the call: the caller is between `get_port` and `release_port`.
    #[inline(always)]
    pub unsafe fn load(&self) -> RawPort {
        // SAFETY: a connected slot points to a pair that the framework keeps until the caller's release.
        unsafe { *self.current.load(Ordering::Acquire) }
    }

    /// Whether there is a provider.
    pub fn is_connected(&self) -> bool {
        !self.current.load(Ordering::Acquire).is_null()
    }

    /// Points the slot to another pair, or to none, and returns the pair it pointed to.
    ///
    /// The pair is not freed here: it is the framework's to keep while a caller may be inside it.
    pub fn replace(&self, pair: *mut RawPort) -> *mut RawPort {
        self.current.swap(pair, Ordering::AcqRel)
    }
}

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
}

// SAFETY: a slot is an atomic; the providers behind it are `Send + Sync` (`add_provides_port` demands it).
unsafe impl Send for SlotPointer {}
// SAFETY: as for `Send`.
unsafe impl Sync for SlotPointer {}
