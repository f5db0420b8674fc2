//! One end of a connection: where a uses port finds its provider.
//!
//! Connecting moves a pointer to an immutable `{object, vtable}` pair, which is stored with the name of its instance.
//! Replacing a provider while calls run is one atomic store: the next call goes to the new pair, a call in flight ends
//! on the old one. The call path counts nothing; the framework frees an old pair only when no `get_port` is outstanding
//! on the slot, which it knows from its own lock (`cca-core: connector.rs`). A test of `cca-core` compiles this file
//! over atomics that try every interleaving.

use crate::RawPort;
use crate::atomic::{AtomicPtr, Ordering};

/// Target of a slot: the port that is called, and the name of the instance that provides it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConnectedPort {
    // First: a slot's user in C knows no more than this.
    port: RawPort,
    instance: *const u8,
    instance_length: usize,
}

// SAFETY: the name is immutable; the rest as for `RawPort`.
unsafe impl Send for ConnectedPort {}
// SAFETY: as for `Send`.
unsafe impl Sync for ConnectedPort {}

impl ConnectedPort {
    /// A port of the framework's own, or of an instance that is not known.
    pub const fn unnamed(port: RawPort) -> Self {
        ConnectedPort {
            port,
            instance: core::ptr::null(),
            instance_length: 0,
        }
    }

    /// A port of an instance.
    ///
    /// # Safety
    /// `instance` lives, unchanged, as long as the result.
    pub const unsafe fn of_instance(port: RawPort, instance: &str) -> Self {
        ConnectedPort {
            port,
            instance: instance.as_ptr(),
            instance_length: instance.len(),
        }
    }

    /// Name of the instance, if it is known.
    pub fn instance(&self) -> Option<&str> {
        if self.instance.is_null() {
            return None;
        }
        // SAFETY: pointer and length are a `str`'s, which lives (promise of `of_instance`).
        unsafe {
            let bytes = core::slice::from_raw_parts(self.instance, self.instance_length);
            Some(core::str::from_utf8_unchecked(bytes))
        }
    }

    /// The port.
    #[inline(always)]
    pub fn port(&self) -> RawPort {
        self.port
    }
}

/// The atomic pointer that a uses port calls through.
#[repr(C)]
#[derive(Debug)]
pub struct Slot {
    current: AtomicPtr<ConnectedPort>,
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

    /// The current pair, which a caller calls.
    ///
    /// # Safety
    /// The slot is connected, and stays so for the call: the caller is between `get_port` and `release_port`.
    #[inline(always)]
    pub unsafe fn load(&self) -> RawPort {
        // SAFETY: a connected slot points to a pair that the framework keeps until the caller's release.
        unsafe { (*self.target()).port }
    }

    /// The current pair by its address, which also leads to the name of its instance; null if there is no provider. The
    /// address is valid until the caller's `release_port`.
    #[inline(always)]
    pub fn target(&self) -> *const ConnectedPort {
        self.current.load(Ordering::Acquire)
    }

    /// Whether there is a provider.
    pub fn is_connected(&self) -> bool {
        !self.current.load(Ordering::Acquire).is_null()
    }

    /// Points the slot to another pair, or to none, and returns the pair it pointed to.
    ///
    /// The pair is not freed here: it is the framework's to keep while a caller may be inside it.
    pub fn replace(&self, pair: *mut ConnectedPort) -> *mut ConnectedPort {
        self.current.swap(pair, Ordering::AcqRel)
    }
}
