//! One uses port's end of a connection: its target, the callers that may be inside, and the targets that
//! must be kept for them.
//!
//! Everything but the call itself happens under the framework's lock. A call goes through the [`Slot`] without it; this
//! is sound because a target is released only when no `get_port` is outstanding: a caller that gets the port afterwards
//! takes the lock after the slot was re-pointed (`tests/loom_connector.rs` tries all interleavings).
//!
//! # Decisions
//!
//! A connection is a slot: an atomic pointer to an immutable pair. Getting a port, releasing it,
//! connecting and replacing take the framework's lock; a call takes only the slot. A replaced
//! target is released when no `get_port` is outstanding on its slot: a later caller has taken the
//! lock after the slot was re-pointed. `framework/core/tests/loom_connector.rs` compiles slot and
//! connector over loom's atomics and tries all interleavings. The slot also has the name of the
//! instance: the caller's side puts it in front of an error, unless a mark in the text, which is
//! never displayed, shows that this was done further down.

use std::ptr::NonNull;
use std::sync::Arc;

use cca_abi::{ConnectedPort, RawPort, Slot};

/// An object that keeps a provider alive.
pub trait Provider: Send + Sync {}

impl<T: Send + Sync> Provider for T {}

/// Target of a slot: the pair that is called, and a reference that keeps the provider alive.
#[repr(C)]
pub struct Target {
    pair: ConnectedPort,
    /// The name that the pair points to; never changed.
    _instance: Option<Box<str>>,
    key: Option<TargetKey>,
    _provider: Arc<dyn Provider>,
}

/// Identity of a target: the provider's address, and its monitor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetKey {
    /// Address of the provider, which the target keeps.
    pub provider: usize,
    /// Address of the monitor, which the target keeps; 0 without.
    pub monitor: usize,
}

impl Target {
    /// The pair that is called; it is valid as long as the target is kept.
    pub fn pair(&self) -> NonNull<RawPort> {
        // It begins with the port.
        NonNull::from(&self.pair).cast()
    }

    /// A target that calls `pair` and keeps `provider`.
    pub fn new(pair: RawPort, provider: Arc<dyn Provider>) -> Arc<Self> {
        Arc::new(Target {
            pair: ConnectedPort::unnamed(pair),
            _instance: None,
            key: None,
            _provider: provider,
        })
    }

    /// As [`Target::new`], to be found again by [`Connector::find`] as long as a caller may be inside.
    ///
    /// # Arguments
    /// * `instance` - owner of the port; errors of its methods name it
    pub fn with_key(
        pair: RawPort,
        instance: Option<&str>,
        provider: Arc<dyn Provider>,
        key: TargetKey,
    ) -> Arc<Self> {
        let instance: Option<Box<str>> = instance.map(Into::into);
        let pair = match &instance {
            // SAFETY: the text is in a box of the target's own.
            Some(instance) => unsafe { ConnectedPort::of_instance(pair, instance) },
            None => ConnectedPort::unnamed(pair),
        };
        Arc::new(Target {
            pair,
            _instance: instance,
            key: Some(key),
            _provider: provider,
        })
    }
}

/// A slot with its users counted.
#[derive(Default)]
pub struct Connector {
    // Boxed, because stubs keep its address.
    slot: Box<Slot>,
    current: Option<Arc<Target>>,
    retired: Vec<Arc<Target>>,
    in_use: usize,
}

impl Connector {
    /// The slot, to call through between [`Connector::acquire`] and [`Connector::release`].
    pub fn slot(&self) -> *const Slot {
        &*self.slot
    }

    /// Whether it leads anywhere.
    pub fn is_connected(&self) -> bool {
        self.current.is_some()
    }

    /// Whether a user may be inside.
    pub fn is_in_use(&self) -> bool {
        self.in_use > 0
    }

    /// Switches to another target from the next call on.
    ///
    /// # Returns
    /// Targets that no caller can be inside any more. The caller drops them after it has released the framework's lock:
    /// dropping may run a component's code.
    #[must_use = "drop it without the framework's lock"]
    pub fn point_to(&mut self, target: Option<Arc<Target>>) -> Vec<Arc<Target>> {
        let pair = target.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
        // `Target` begins with its pair.
        self.slot.replace(pair.cast_mut().cast());
        if let Some(target) = &target {
            // A target that the connector led to before.
            self.retired.retain(|retired| !Arc::ptr_eq(retired, target));
        }
        let old = std::mem::replace(&mut self.current, target);
        let is_same = old.as_ref().map(Arc::as_ptr) == self.current.as_ref().map(Arc::as_ptr);
        self.retired.extend(old.filter(|_| !is_same));
        self.unreachable()
    }

    /// Its current target.
    pub fn current(&self) -> Option<Arc<Target>> {
        self.current.clone()
    }

    /// The target of this key that the connector leads to or led to, if a caller may still be inside: switching back
    /// and forth between providers while calls run makes no second target.
    pub fn find(&self, key: TargetKey) -> Option<Arc<Target>> {
        let mut targets = self.current.iter().chain(&self.retired);
        targets
            .find(|target| target.key == Some(key))
            .map(Arc::clone)
    }

    /// Leads to `last` for ever, for a caller that has not left by the end: neither the slot nor any of its targets is
    /// freed. The connector then starts anew.
    pub fn abandon(&mut self, last: Option<Arc<Target>>) {
        let mut abandoned = std::mem::take(self);
        // Targets that would be unreachable are kept as well.
        std::mem::forget(abandoned.point_to(last));
        std::mem::forget(abandoned);
    }

    /// A user comes in.
    pub fn acquire(&mut self) {
        self.in_use += 1;
    }

    /// A user leaves; `None` if none was inside.
    ///
    /// # Returns
    /// As [`Connector::point_to`].
    #[must_use = "drop it without the framework's lock"]
    pub fn release(&mut self) -> Option<Vec<Arc<Target>>> {
        self.in_use = self.in_use.checked_sub(1)?;
        Some(self.unreachable())
    }

    fn unreachable(&mut self) -> Vec<Arc<Target>> {
        if self.in_use == 0 {
            std::mem::take(&mut self.retired)
        } else {
            Vec::new()
        }
    }
}
