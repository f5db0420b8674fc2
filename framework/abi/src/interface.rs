//! Implementations that `#[port]` generates for `dyn Trait`, so that one type names an interface
//! everywhere.

use std::sync::Arc;

use crate::{InterfaceDescriptor, OwnedPort, SlotPointer};

/// An interface; implemented by `#[port]` for `dyn Trait`.
///
/// # Safety
/// `descriptor` describes the table that `Stub` calls through.
pub unsafe trait Interface: 'static {
    /// The caller's side: implements the trait by calls through a slot.
    type Stub: Send + Sync + 'static;

    /// The interface as this library was compiled against it.
    fn descriptor() -> &'static InterfaceDescriptor;

    /// A caller's side on a slot.
    fn stub(slot: SlotPointer) -> Self::Stub;
}

/// An interface that a `T` can provide; implemented by `#[port]` for every `T` that implements the trait.
///
/// # Safety
/// The port's table belongs to the interface, and its object is the one that the table's functions
/// expect.
pub unsafe trait ProvidedBy<T>: Interface {
    /// A port on a share of `object`.
    fn provide(object: Arc<T>) -> OwnedPort;
}
