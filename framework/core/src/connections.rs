//! Connections between the ports of instances: made, moved, taken away, listed.

use std::sync::Arc;
use std::time::Duration;

use cca_abi::{InterfaceDescriptor, OwnedPort, compare_layouts};
use cca_ports::{ConnectionEventKind, TypeMap};

use crate::connector::Target;
use crate::error::FrameworkError;
use crate::framework::{Framework, interface_of, within};
use crate::state::{Connection, Provided, State};

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
        self.told(
            connection,
            ConnectionEventKind::ConnectPending,
            ConnectionEventKind::Connected,
            || self.connect_now(connection),
        )
    }

    fn connect_now(&self, connection: &ConnectionId) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let ConnectionId {
            provider, provides, ..
        } = connection;
        let port = Arc::clone(&state.provides(provider, provides)?.port);
        attach(&mut state, connection, port)
    }

    /// Connects a uses port to a port that no instance provides by that name.
    pub(crate) fn connect_to(
        &self,
        connection: &ConnectionId,
        port: Arc<Provided>,
    ) -> Result<(), FrameworkError> {
        self.told(
            connection,
            ConnectionEventKind::ConnectPending,
            ConnectionEventKind::Connected,
            || attach(&mut self.shared.lock(), connection, port),
        )
    }

    /// Leads a connected uses port to another provider from the next call on; a call in flight ends on the old one.
    /// A monitored connection is monitored no longer: monitor it again for the new provider.
    ///
    /// # Errors
    /// As [`Framework::connect`]; the port is not connected.
    pub fn reconnect(&self, connection: &ConnectionId) -> Result<(), FrameworkError> {
        let ConnectionId {
            user,
            uses,
            provider,
            provides,
        } = connection;
        let mut state = self.shared.lock();
        let port = Arc::clone(&state.provides(provider, provides)?.port);
        fits(connection, state.uses(user, uses)?.interface, &port)?;
        refuse_ending(&state, connection)?;
        let uses_port = state.uses_mut(user, uses)?;
        let Some(old) = uses_port.connection.as_mut() else {
            return Err(FrameworkError::NotConnected {
                instance: user.clone(),
                port: uses.clone(),
            });
        };
        let new = Connection {
            provider: provider.clone(),
            port: provides.clone(),
            provided: Arc::clone(&port),
            properties: old.properties.clone(),
            proxy: None,
        };
        let old = std::mem::replace(old, new.clone());
        let unreachable = uses_port
            .connector
            .point_to(Some(Target::new(port.port, port)));
        let end = (user.clone(), uses.clone());
        if let Some(users) = state.users_mut(&old) {
            users.remove(&end);
        }
        if let Some(users) = state.users_mut(&new) {
            users.insert(end);
        }
        drop(state);
        drop((old, new, unreachable));
        Ok(())
    }

    /// Takes a connection away.
    ///
    /// # Errors
    /// An unknown instance or port; not connected; in use.
    pub fn disconnect(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
        let connection = self.connection(user, uses)?;
        self.told(
            &connection,
            ConnectionEventKind::DisconnectPending,
            ConnectionEventKind::Disconnected,
            || self.disconnect_now(user, uses),
        )
    }

    /// As [`Framework::disconnect`], but waits until it is no longer in use.
    ///
    /// # Errors
    /// As [`Framework::disconnect`]; still in use after `timeout`.
    pub fn disconnect_within(
        &self,
        user: &str,
        uses: &str,
        timeout: Duration,
    ) -> Result<(), FrameworkError> {
        within(timeout, || self.disconnect(user, uses))
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
            users.remove(&(instance, port));
        }
        drop(state);
        drop((connection, unreachable));
        Ok(())
    }

    /// Takes all connections between two instances away, in either direction.
    ///
    /// # Errors
    /// No such instance; one still in use after `timeout`: those before it are then gone.
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

/// Leads a free uses port to a port.
fn attach(
    state: &mut State,
    connection: &ConnectionId,
    port: Arc<Provided>,
) -> Result<(), FrameworkError> {
    let ConnectionId {
        user,
        uses,
        provider,
        provides,
    } = connection;
    let uses_port = state.uses(user, uses)?;
    if uses_port.connection.is_some() {
        return Err(FrameworkError::AlreadyConnected {
            instance: user.clone(),
            port: uses.clone(),
        });
    }
    fits(connection, uses_port.interface, &port)?;
    refuse_ending(state, connection)?;
    let target = Target::new(port.port, Arc::clone(&port) as _);
    let made = Connection {
        provider: provider.clone(),
        port: provides.clone(),
        provided: port,
        properties: TypeMap::default(),
        proxy: None,
    };
    if let Some(users) = state.users_mut(&made) {
        users.insert((user.clone(), uses.clone()));
    }
    let uses_port = state.uses_mut(user, uses)?;
    uses_port.connection = Some(made);
    // A free port led nowhere, and whoever was inside has gone, so that nothing becomes unreachable.
    drop(uses_port.connector.point_to(Some(target)));
    Ok(())
}

/// Nobody connects to what is being destroyed.
fn refuse_ending(state: &State, connection: &ConnectionId) -> Result<(), FrameworkError> {
    for name in [&connection.user, &connection.provider] {
        if state.instances.get(name).is_some_and(|e| e.is_ending) {
            let instance = name.clone();
            return Err(FrameworkError::BeingDestroyed { instance });
        }
    }
    Ok(())
}

/// Whether a provided port is what a user was compiled against: name, version, hash, size, and the types passed.
pub(crate) fn fits(
    connection: &ConnectionId,
    expected: &'static InterfaceDescriptor,
    provided: &OwnedPort,
) -> Result<(), FrameworkError> {
    let found = interface_of(provided);
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
