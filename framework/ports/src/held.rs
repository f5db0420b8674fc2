//! A port that was passed as a value rather than connected.

use std::fmt;
use std::ops::Deref;

use cca_abi::{ConnectedPort, Interface, OwnedPort, Slot, SlotPointer};

use crate::{ErrorCode, PortError};

/// A port that was passed as a value rather than connected, such as the result of
/// [`AbstractFrameworkPort::create_empty_framework`](crate::AbstractFrameworkPort::create_empty_framework).
pub struct HeldPort<P: Interface + ?Sized> {
    stub: P::Stub,
    // The slot that the stub calls through; freed after it, the pair after the slot.
    _slot: Box<Slot>,
    _pair: Box<ConnectedPort>,
    _port: OwnedPort,
}

impl<P: Interface + ?Sized> HeldPort<P> {
    /// Takes a port.
    ///
    /// # Errors
    /// `BadPortType`: it is of another interface than `P`.
    pub fn new(port: OwnedPort) -> Result<Self, PortError> {
        let expected = P::descriptor();
        let found = port.interface.get();
        let fits = found.is_some_and(|found| {
            found.name == expected.name
                && found.hash == expected.hash
                && found.vtable_size == expected.vtable_size
        });
        if !fits || port.port.vtable.is_null() {
            let found = found.map_or("none".into(), |d| format!("\"{}/{}\"", d.name, d.version));
            let message = format!(
                "cannot use port handed over: interface {found}, expected \"{}/{}\"",
                expected.name, expected.version
            );
            return Err(PortError::new(ErrorCode::BadPortType, message));
        }
        let mut pair = Box::new(ConnectedPort::unnamed(port.port));
        let slot = Box::new(Slot::unconnected());
        slot.replace(&raw mut *pair);
        // SAFETY: slot and pair are boxed and live as long as the stub, in the same struct.
        let stub = P::stub(unsafe { SlotPointer::new(&*slot) });
        Ok(HeldPort {
            stub,
            _slot: slot,
            _pair: pair,
            _port: port,
        })
    }
}

impl<P: Interface + ?Sized> Deref for HeldPort<P> {
    type Target = P::Stub;

    fn deref(&self) -> &P::Stub {
        &self.stub
    }
}

impl<P: Interface + ?Sized> fmt::Debug for HeldPort<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPort")
            .field("interface", &P::descriptor().name)
            .finish_non_exhaustive()
    }
}
