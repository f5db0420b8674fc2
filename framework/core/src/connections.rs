//! Connections between the ports of instances: made, moved, removed, listed.
//!
//! A connection leads from a uses port to a provides port. A uses port has at most one, so the
//! using end names it; a provides port may have many users. Every change follows the same steps:
//! listeners hear that it is pending, the ends are checked under the framework's lock, the uses
//! port's slot is pointed to the new target by one atomic store, and listeners hear how it ended.
//! Callers never take the lock: they follow the slot, so a call that is in flight ends at the old
//! provider and the next one goes to the new.
//!
//! ```text
//! driver.flux ──slot──▶ flux.flux        reconnect: ──slot──▶ flux2.flux
//!   uses      (atomic)   provides          old target stays alive until the last call has left it
//! ```
//!
//! Two ports fit if name, version, hash, table size and argument layouts of their interfaces agree
//! (`fits`). A component may be built by another compiler, so its types are compared rather than
//! trusted.

use std::sync::Arc;
use std::time::Duration;

use cca_abi::{InterfaceDescriptor, OwnedPort, compare_layouts};
use cca_ports::{ComponentId, ConnectionEventKind};

use crate::error::FrameworkError;
use crate::events::port_connection;
use crate::framework::{Framework, interface_of, within};
use crate::lead::Change;
use crate::state::{Provided, State};

/// A connection: the using end names it, since a uses port has at most one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId {
    /// The using instance.
    pub user: String,
    /// Its uses port.
    pub uses: String,
    /// The providing instance.
    pub provider: String,
    /// Its provides port.
    pub provides: String,
}

impl Framework {
    /// Connects a uses port to a provides port.
    ///
    /// # Errors
    /// An unknown instance or port; ends that do not fit; a uses port connected already.
    pub fn connect(&self, connection: &ConnectionId) -> Result<(), FrameworkError> {
        self.change_and_notify(
            connection,
            ConnectionEventKind::ConnectPending,
            ConnectionEventKind::Connected,
            || self.connect_now(connection),
        )
    }

    fn connect_now(&self, connection: &ConnectionId) -> Result<(), FrameworkError> {
        let (user, port) = {
            let state = self.shared.lock();
            let provides = state.provides(&connection.provider, &connection.provides)?;
            (state.id(&connection.user), Arc::clone(&provides.port))
        };
        self.lead(&user, connection, &port, Change::Connect)
    }

    /// Connects a uses port to a port that no instance provides by that name.
    pub(crate) fn connect_to(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
    ) -> Result<(), FrameworkError> {
        self.change_and_notify(
            connection,
            ConnectionEventKind::ConnectPending,
            ConnectionEventKind::Connected,
            || self.lead(user, connection, port, Change::Connect),
        )
    }

    /// Leads a connected uses port to another provider from the next call on; a call in flight ends on the old one. That
    /// is one atomic store: it may be done while any number of threads call. A monitored connection stays monitored.
    ///
    /// Listeners hear of the old connection's end and of the new connection.
    ///
    /// # Errors
    /// As [`Framework::connect`]; the port is not connected. The connection then stays unchanged.
    pub fn reconnect(&self, connection: &ConnectionId) -> Result<(), FrameworkError> {
        // The connection must exist: it is moved, and listeners get its old end.
        let before = self.connection(&connection.user, &connection.uses)?;
        let (user, port, moved) = {
            let state = self.shared.lock();
            let provides = state.provides(&connection.provider, &connection.provides)?;
            let ends = |connection| port_connection(&state, connection);
            let moved = (ends(&before), ends(connection));
            (moved.0.user.clone(), Arc::clone(&provides.port), moved)
        };
        let moved = self.move_and_notify(&[moved], || {
            self.lead(&user, connection, &port, Change::Reconnect)
        });
        self.give_up_replaced();
        moved
    }

    /// Takes a connection away.
    ///
    /// # Errors
    /// An unknown instance or port; not connected; in use.
    pub fn disconnect(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
        self.disconnect_within(user, uses, Duration::ZERO)
    }

    /// As [`Framework::disconnect`], but waits until it is no longer in use. Listeners are notified once that it is
    /// about to end, and once of the outcome.
    ///
    /// # Errors
    /// As [`Framework::disconnect`]; still in use after `timeout`.
    pub fn disconnect_within(
        &self,
        user: &str,
        uses: &str,
        timeout: Duration,
    ) -> Result<(), FrameworkError> {
        let connection = self.connection(user, uses)?;
        self.change_and_notify(
            &connection,
            ConnectionEventKind::DisconnectPending,
            ConnectionEventKind::Disconnected,
            || within(timeout, || self.disconnect_now(user, uses)),
        )
    }

    fn disconnect_now(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let uses_port = state.uses_mut(user, uses)?;
        let (instance, port) = (user.to_string(), uses.to_string());
        if uses_port.connector.is_in_use() {
            return Err(FrameworkError::InUse { instance, port });
        }
        let Some(connection) = uses_port.connection.take() else {
            return Err(FrameworkError::NotConnected { instance, port });
        };
        let unreachable = uses_port.connector.point_to(None);
        if let Some(users) = state.users_mut(&connection) {
            users.remove(&(instance.clone(), port));
        }
        state.unserved.insert(instance);
        drop(state);
        // After the lock: dropping the last share of a port may run the component's code.
        drop((connection, unreachable));
        self.give_up_replaced();
        Ok(())
    }

    /// Takes all connections between two instances away, in either direction.
    ///
    /// # Errors
    /// No such instance; a connection still in use after `timeout`: those before it have then been removed.
    pub fn disconnect_all(
        &self,
        first: &str,
        second: &str,
        timeout: Duration,
    ) -> Result<(), FrameworkError> {
        self.component_id(first)?;
        self.component_id(second)?;
        let between = |c: &ConnectionId| {
            (c.user == first && c.provider == second) || (c.user == second && c.provider == first)
        };
        let connections = self.connections_of(&[first]);
        connections
            .iter()
            .filter(|connection| between(connection))
            .try_for_each(|c| self.disconnect_within(&c.user, &c.uses, timeout))
    }

    /// Where a uses port leads to.
    ///
    /// # Errors
    /// An unknown instance or port; not connected.
    pub fn connection(&self, user: &str, uses: &str) -> Result<ConnectionId, FrameworkError> {
        let state = self.shared.lock();
        let found = id(&state, user, uses);
        state.uses(user, uses)?;
        found.ok_or_else(|| FrameworkError::NotConnected {
            instance: user.into(),
            port: uses.into(),
        })
    }

    /// Every connection, by its using end.
    pub fn connections(&self) -> Vec<ConnectionId> {
        let state = self.shared.lock();
        let mut connections = Vec::new();
        for (user, entry) in &state.instances {
            connections.extend(entry.uses.keys().filter_map(|uses| id(&state, user, uses)));
        }
        connections
    }

    /// The connections in which any of the instances takes part, by using end.
    pub fn connections_of(&self, instances: &[&str]) -> Vec<ConnectionId> {
        let state = self.shared.lock();
        let mut connections = Vec::new();
        for name in instances {
            let Some(entry) = state.instances.get(*name) else {
                continue;
            };
            connections.extend(entry.uses.keys().filter_map(|uses| id(&state, name, uses)));
            let users = entry.provides.values().flat_map(|provides| &provides.users);
            connections.extend(users.filter_map(|(user, uses)| id(&state, user, uses)));
        }
        connections.sort();
        connections.dedup();
        connections
    }

    /// Uses ports that lead nowhere: (instance, port, interface).
    pub fn unconnected(&self) -> Vec<(String, String, String)> {
        let state = self.shared.lock();
        let mut ports = Vec::new();
        for (instance, entry) in &state.instances {
            let free = entry.uses.iter().filter(|(_, u)| u.connection.is_none());
            ports.extend(free.map(|(name, uses)| {
                let interface = uses.interface.name.to_string();
                (instance.clone(), name.clone(), interface)
            }));
        }
        ports
    }
}

fn id(state: &State, user: &str, uses: &str) -> Option<ConnectionId> {
    let uses_port = state.instances.get(user)?.uses.get(uses)?;
    let connection = uses_port.connection.as_ref()?;
    Some(ConnectionId {
        user: user.into(),
        uses: uses.into(),
        provider: connection.provider.clone(),
        provides: connection.port.clone(),
    })
}

/// Nothing connects to an instance that is being destroyed.
pub(crate) fn refuse_ending(
    state: &State,
    connection: &ConnectionId,
) -> Result<(), FrameworkError> {
    if state.is_closed {
        return Err(FrameworkError::ShutDown);
    }
    for name in [&connection.user, &connection.provider] {
        if state.instances.get(name).is_some_and(|e| e.is_ending) {
            let instance = name.clone();
            return Err(FrameworkError::BeingDestroyed { instance });
        }
    }
    Ok(())
}

/// Whether a provided port matches the interface that the user was compiled against: name, version, hash, size,
/// and argument types.
pub(crate) fn fits(
    connection: &ConnectionId,
    expected: &'static InterfaceDescriptor,
    provided: &OwnedPort,
) -> Result<(), FrameworkError> {
    let found = interface_of(provided);
    // Both ends were linked against the same description, which is the case within one library.
    if std::ptr::eq(found, expected) {
        return Ok(());
    }
    let mismatch = |found: String, expected: String| FrameworkError::TypeMismatch {
        user: connection.user.as_str().into(),
        uses: connection.uses.as_str().into(),
        provider: connection.provider.as_str().into(),
        provides: connection.provides.as_str().into(),
        found: found.into(),
        expected: expected.into(),
    };
    let title = |d: &InterfaceDescriptor| format!("type \"{}/{}\"", d.name, d.version);
    if found.name != expected.name || found.version != expected.version {
        return Err(mismatch(title(found), title(expected)));
    }
    if found.hash != expected.hash || found.vtable_size != expected.vtable_size {
        let detail = |d: &InterfaceDescriptor| {
            format!(
                "{} with hash {:016x} and a table of {} bytes",
                title(d),
                d.hash,
                d.vtable_size
            )
        };
        return Err(mismatch(detail(found), detail(expected)));
    }
    compare_layouts(expected, found).map_err(|difference| {
        mismatch(
            format!("another layout of what it passes ({difference})"),
            "the same layout".into(),
        )
    })
}
