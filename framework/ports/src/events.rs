//! Listeners for connections that are made and ended, services offered to all components, and the
//! end of a component.

use cca_abi::OwnedPort;

use crate::builder::PortConnection;
use crate::{PortError, RStr, RString, StableAbi, port};

/// `gov.cca.ports.EventType`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub enum ConnectionEventKind {
    /// A connection could not be made.
    Error = -1,
    /// Any of the others; only to listen for.
    All = 0,
    /// A connection is about to be made.
    ConnectPending = 1,
    /// A connection has been made.
    Connected = 2,
    /// A connection is about to end.
    DisconnectPending = 3,
    /// A connection has ended.
    Disconnected = 4,
}

/// `gov.cca.ports.ConnectionEvent`.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
pub struct ConnectionEvent {
    /// Type of the event (`getEventType`).
    pub kind: ConnectionEventKind,
    /// The connection; its ends' properties are those of `getPortInfo`.
    pub connection: PortConnection,
    /// The error's text; empty for other events.
    pub message: RString,
}

/// `gov.cca.ports.ConnectionEventListener`.
#[port(name = "cca.ConnectionEventListener", version = "1.0")]
pub trait ConnectionEventListenerPort {
    /// Called for every event it listens for, whoever caused it, while the framework is not locked.
    ///
    /// # Errors
    /// Ignored: a listener cannot veto an event.
    fn connection_activity(&self, event: ConnectionEvent) -> Result<(), PortError>;
}

/// `gov.cca.ports.ConnectionEventService`: events of all connections of the framework.
#[port(name = "cca.ConnectionEventService", version = "1.0")]
pub trait ConnectionEventServicePort {
    /// Adds a listener, a port of interface `cca.ConnectionEventListener`.
    ///
    /// # Returns
    /// The number that removes it.
    ///
    /// # Errors
    /// `BadPortType`.
    fn add_connection_event_listener(
        &self,
        kind: ConnectionEventKind,
        listener: OwnedPort,
    ) -> Result<u64, PortError>;

    /// Removes a listener. An event in flight may still reach it.
    ///
    /// # Errors
    /// There is no such listener.
    fn remove_connection_event_listener(&self, listener: u64) -> Result<(), PortError>;
}

/// `gov.cca.ports.ServiceProvider`: makes a port for each requesting uses port.
#[port(name = "cca.ServiceProvider", version = "1.0")]
pub trait ServiceProviderPort {
    /// A port for the uses port of an instance (`createService`); it is dropped with the connection
    /// (`destroyService`).
    ///
    /// # Errors
    /// The provider's.
    fn create_service(&self, instance: RStr<'_>, uses: RStr<'_>) -> Result<OwnedPort, PortError>;
}

/// `gov.cca.ports.ServiceRegistry`: connects unconnected uses ports to services, on the first `get_port`.
#[port(name = "cca.ServiceRegistry", version = "1.0")]
pub trait ServiceRegistryPort {
    /// Adds a provider of an interface, a port of interface `cca.ServiceProvider`.
    ///
    /// # Errors
    /// The interface has a service already; `BadPortType`.
    fn add_service(&self, interface: RStr<'_>, provider: OwnedPort) -> Result<(), PortError>;

    /// Adds one port for all users of its interface.
    ///
    /// # Errors
    /// The interface has a service already; `BadPortInfo`.
    fn add_singleton_service(&self, port: OwnedPort) -> Result<(), PortError>;

    /// Removes a service; present users keep it.
    ///
    /// # Errors
    /// The interface has no service.
    fn remove_service(&self, interface: RStr<'_>) -> Result<(), PortError>;
}

/// `gov.cca.ComponentRelease`, for ports registered by `register_for_release`.
///
/// A Rust component need not register itself: its [`Component::release_services`](crate::Component::release_services) is
/// called in any case.
#[port(name = "cca.ComponentRelease", version = "1.0")]
pub trait ComponentReleasePort {
    /// Called before the instance is destroyed; no port may be used afterwards.
    ///
    /// # Errors
    /// Ignored: the instance is destroyed all the same.
    fn release_services(&self) -> Result<(), PortError>;
}
