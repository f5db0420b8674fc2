//! A method: the recorder switches it, and each call of it reads the switch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use abi_stable::StableAbi;

use super::context;
use crate::RawPort;

/// One monitored method.
#[repr(C)]
#[derive(Debug)]
pub struct ProxyMethod {
    /// `method_key` of the id, where calls take the straight path; else a number that no sum of a path and a key is.
    pub(super) key: AtomicU64,
    pub(super) state: AtomicU32,
    /// `method_slot` of the id.
    pub(super) slot: AtomicU32,
    /// The port that answers a call that fails; null without.
    before: AtomicPtr<RawPort>,
    /// That a monitor gave; 0 before that.
    id: AtomicU32,
    /// Which calls are admitted; null if all are. Proxies of earlier versions do not know it and admit all; it is read
    /// only if the state requires it, since an earlier version's method ends before it.
    admission: AtomicPtr<Admission>,
}

/// Which calls of a method are admitted to the current component, and the port that answers the others.
#[repr(C)]
#[derive(Debug)]
pub struct Admission {
    /// Whether a call is let through, by its parameter words: it is given this and `[n_words]` words, null where the parameters make no
    /// sense. It does not unwind.
    pub admits:
        unsafe extern "C" fn(this: *const Admission, words: *const u64, n_words: usize) -> u32,
    /// The port that answers a call that is not admitted; of the method's interface.
    pub instead: *const RawPort,
}

impl Default for ProxyMethod {
    fn default() -> Self {
        Self::new()
    }
}

impl ProxyMethod {
    pub(super) const OFF: u32 = 0;
    const ON: u32 = 1;
    pub(super) const COUNTERS: u32 = 2;
    const GUARDED: u32 = 4;
    const LIMITED: u32 = 8;
    /// No key of a call path, whichever path is added.
    const NO_KEY: u64 = 1 << 63;

    /// A method that no monitor knows yet, switched off.
    pub const fn new() -> Self {
        Self {
            key: AtomicU64::new(Self::NO_KEY),
            state: AtomicU32::new(Self::OFF),
            slot: AtomicU32::new(0),
            before: AtomicPtr::new(ptr::null_mut()),
            id: AtomicU32::new(0),
            admission: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Changes the state. The key follows: calls in flight are recorded as before.
    fn set_state(&self, state: u32) {
        let key = match state {
            Self::ON => context::method_key(self.id()),
            _ => Self::NO_KEY,
        };
        self.state.store(state, Ordering::Release);
        self.key.store(key, Ordering::Release);
    }

    /// A method with the id that a monitor gave it (from 1 up), switched on.
    pub fn registered(id: u32) -> Self {
        let method = Self::new();
        method.register(id);
        method
    }

    /// Takes the id that the monitor gave to the method (from 1 up) and switches the method on.
    pub fn register(&self, id: u32) {
        self.id.store(id, Ordering::Relaxed);
        self.slot.store(context::method_slot(id), Ordering::Relaxed);
        self.set_state(Self::ON);
    }

    /// The id that the monitor gave to the method; 0 before that.
    pub fn id(&self) -> u32 {
        self.id.load(Ordering::Relaxed)
    }

    /// Switches recording on or off; calls in flight end as they began. A method without an id stays off.
    pub fn set_enabled(&self, enabled: bool) {
        let on = enabled && self.id() != 0;
        let state = if on {
            Self::ON | self.guarded()
        } else {
            Self::OFF
        };
        self.set_state(state);
    }

    /// The bits for a port that answers instead, and for calls that are not admitted.
    fn guarded(&self) -> u32 {
        let of = |is_null: bool, bit: u32| if is_null { 0 } else { bit };
        of(self.before.load(Ordering::Relaxed).is_null(), Self::GUARDED)
            | of(
                self.admission.load(Ordering::Relaxed).is_null(),
                Self::LIMITED,
            )
    }

    fn guard_anew(&self) {
        let state = self.state.load(Ordering::Relaxed);
        if state != Self::OFF {
            self.set_state((state & !(Self::GUARDED | Self::LIMITED)) | self.guarded());
        }
    }

    /// From now on a call that fails is made once more, to another port: a component that has just been installed does
    /// not end the run. Only calls that are recorded are guarded, and only methods whose arguments own nothing. `None`
    /// ends it.
    ///
    /// # Safety
    /// The port is of the method's interface; it can be called as long as any proxy has the method, even after the
    /// guard has ended, since a call may be in flight.
    pub unsafe fn guard(&self, before: Option<NonNull<RawPort>>) {
        let before = before.map_or(ptr::null_mut(), NonNull::as_ptr);
        self.before.store(before, Ordering::Release);
        self.guard_anew();
    }

    /// From now on calls that an admission does not let through are answered by its port. `None` ends it.
    ///
    /// # Safety
    /// It can be asked, and its port called, as long as any proxy has the method, even after the admission has ended,
    /// since a call may be in flight.
    pub unsafe fn admit(&self, admission: Option<NonNull<Admission>>) {
        let admission = admission.map_or(ptr::null_mut(), NonNull::as_ptr);
        self.admission.store(admission, Ordering::Release);
        self.guard_anew();
    }

    /// The port that answers a call in the place of the component that is there, since the call is not let through to it.
    ///
    /// # Arguments
    /// * `parameters` - extracts the parameter words; if it panics the call is admitted
    ///
    /// # Safety
    /// As [`ProxyMethod::admit`]'s caller has promised.
    pub unsafe fn instead<const N: usize>(
        &self,
        parameters: impl FnOnce() -> [u64; N],
    ) -> Option<RawPort> {
        if self.state.load(Ordering::Relaxed) & Self::LIMITED == 0 {
            return None;
        }
        let admission = NonNull::new(self.admission.load(Ordering::Acquire))?;
        let words = match catch_unwind(AssertUnwindSafe(parameters)) {
            Ok(words) => words,
            Err(payload) => {
                // The payload's own drop might panic.
                std::mem::forget(payload);
                return None;
            }
        };
        // SAFETY: the promise of `admit`.
        let is_admitted = unsafe {
            let admits = admission.as_ref().admits;
            admits(admission.as_ptr(), words.as_ptr(), N)
        };
        // SAFETY: as above.
        (is_admitted == 0).then(|| unsafe { admission.as_ref().instead.read() })
    }

    /// The port that answers a call that has failed.
    ///
    /// # Safety
    /// It may be called as [`ProxyMethod::guard`]'s caller has promised.
    pub unsafe fn before(&self) -> Option<RawPort> {
        let before = NonNull::new(self.before.load(Ordering::Acquire));
        // SAFETY: the promise of `guard`.
        before.map(|before| unsafe { before.read() })
    }

    /// Whether calls are recorded, without counters or a guard: the straight path.
    #[inline(always)]
    pub fn is_simply_enabled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == Self::ON
    }

    /// Switches recording on with counters.
    pub fn enable_counters(&self) {
        if self.id() != 0 {
            self.set_state(Self::ON | Self::COUNTERS | self.guarded());
        }
    }

    /// Whether calls are recorded.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.state.load(Ordering::Relaxed) != Self::OFF
    }
}

/// A method by address: the maker of the recorder can switch it, whichever proxies use it. It lives as long as the
/// recorder.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct MethodPointer(pub *const ProxyMethod);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_of_a_method_that_is_off_takes_the_straight_path() {
        let method = ProxyMethod::registered(7);
        let key = || method.key.load(Ordering::Relaxed);
        assert_eq!(key(), context::method_key(7));
        method.set_enabled(false);
        for parent in [0, 1, 2, u64::from(u32::MAX)] {
            let sum = parent.wrapping_add(key());
            // An unused place, and places of other methods.
            assert!(sum != 0 && (1..100).all(|id| sum != parent + context::method_key(id)));
        }
    }
}
