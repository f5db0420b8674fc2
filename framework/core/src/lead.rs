//! Leads a uses port to a provider: straight, or through a proxy where the connection is monitored.
//!
//! A proxy is made before the slot is moved, so that the first call through a connection is recorded like any other.
//! The monitor's and the proxy's code run without the framework's lock; the state they depend on is checked again under
//! it.

use std::sync::Arc;

use cca_abi::InterfaceDescriptor;
use cca_ports::{ComponentId, TypeMap};

use crate::connections::{ConnectionId, fits, refuse_ending};
use crate::connector::{Target, TargetKey};
use crate::error::FrameworkError;
use crate::framework::Framework;
use crate::monitor::{Monitoring, proxy_target};
use crate::state::{Connection, Provided, State};

/// A change of a uses port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A free one is connected.
    Connect,
    /// A connected one is led to another provider; if it was monitored it stays so.
    Reconnect,
}

/// New target of a slot.
pub struct Way {
    pub target: Arc<Target>,
    /// The `cca.Monitor` port that its calls are recorded through.
    pub monitor: Option<Arc<Provided>>,
}

/// How a uses port is before the change.
struct Before {
    expected: &'static InterfaceDescriptor,
    monitoring: Option<Arc<Monitoring>>,
    /// Of the connection so far.
    monitor: Option<Arc<Provided>>,
    label: String,
}

impl Framework {
    /// Leads a uses port to a port.
    pub(crate) fn lead(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
        change: Change,
    ) -> Result<(), FrameworkError> {
        loop {
            let before = check(&self.shared.lock(), user, connection, port, change)?;
            let way = self.way(user, connection, port, &before)?;
            let mut state = self.shared.lock();
            check(&state, user, connection, port, change)?;
            if !is_same(before.monitoring.as_ref(), state.monitoring.as_ref()) {
                // Monitoring began meanwhile.
                continue;
            }
            let unreachable = point_to(&mut state, user, connection, port, way)?;
            drop(state);
            drop(unreachable);
            return Ok(());
        }
    }

    /// The target of a uses port's slot after the change.
    pub(crate) fn way_of(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
        change: Change,
    ) -> Result<Way, FrameworkError> {
        let before = check(&self.shared.lock(), user, connection, port, change)?;
        self.way(user, connection, port, &before)
    }

    /// The target of the slot: a proxy if the monitoring selects the connection, or if it was monitored before. A
    /// measurement never fails the measured program: without a proxy the port is still connected, and the failure is
    /// noted.
    fn way(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
        before: &Before,
    ) -> Result<Way, FrameworkError> {
        let selects =
            |m: &&Arc<Monitoring>| m.selects(&before.label, connection, before.expected, port);
        let by_selection = before.monitoring.as_ref().filter(selects);
        let monitor = by_selection.map(|monitoring| &monitoring.monitor);
        let Some(monitor) = monitor.or(before.monitor.as_ref()) else {
            return self.way_to(user, connection, port, None, || {
                Ok(straight_target(&connection.provider, port))
            });
        };
        let expected = before.expected;
        let monitored = self.way_to(user, connection, port, Some(monitor), || {
            let known = self.known_by_others(expected, Some(port));
            proxy_target(monitor, &before.label, connection, expected, port, known)
        });
        match (monitored, &before.monitoring) {
            (Ok(way), _) => Ok(way),
            (Err(error), monitoring) => {
                if let Some(monitoring) = monitoring {
                    monitoring.note(connection, error);
                }
                self.way_to(user, connection, port, None, || {
                    Ok(straight_target(&connection.provider, port))
                })
            }
        }
    }

    /// A target that the uses port led to before and that is still kept, or a new one.
    pub(crate) fn way_to(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
        monitor: Option<&Arc<Provided>>,
        make: impl FnOnce() -> Result<Arc<Target>, FrameworkError>,
    ) -> Result<Way, FrameworkError> {
        let known = {
            let state = self.shared.lock();
            let entry = state.entry(user)?;
            let uses = entry.uses_port(&user.name, &connection.uses)?;
            uses.connector.find(target_key(port, monitor))
        };
        let target = known.map_or_else(make, Ok)?;
        let monitor = monitor.map(Arc::clone);
        Ok(Way { target, monitor })
    }
}

/// Identity under which a target is found again: a target keeps the objects at these addresses
/// alive.
pub fn target_key(port: &Arc<Provided>, monitor: Option<&Arc<Provided>>) -> TargetKey {
    TargetKey {
        provider: Arc::as_ptr(port).addr(),
        monitor: monitor.map_or(0, |monitor| Arc::as_ptr(monitor).addr()),
    }
}

/// A target that calls the provider itself.
///
/// # Arguments
/// * `instance` - owner of the port
pub fn straight_target(instance: &str, port: &Arc<Provided>) -> Arc<Target> {
    let (instance, key) = (port.named(instance), target_key(port, None));
    Target::with_key(port.port, instance, Arc::clone(port) as _, key)
}

fn is_same<T>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
}

/// Whether the change can be made.
fn check(
    state: &State,
    user: &ComponentId,
    connection: &ConnectionId,
    port: &Arc<Provided>,
    change: Change,
) -> Result<Before, FrameworkError> {
    let uses = state.entry(user)?.uses_port(&user.name, &connection.uses)?;
    let (instance, name) = (user.name.to_string(), connection.uses.clone());
    match (change, &uses.connection) {
        (Change::Connect, None) | (Change::Reconnect, Some(_)) => {}
        (Change::Connect, Some(_)) => {
            let port = name;
            return Err(FrameworkError::AlreadyConnected { instance, port });
        }
        (Change::Reconnect, None) => {
            let port = name;
            return Err(FrameworkError::NotConnected { instance, port });
        }
    }
    fits(connection, uses.interface, port)?;
    refuse_ending(state, connection)?;
    Ok(Before {
        expected: uses.interface,
        monitoring: state.monitoring.clone(),
        monitor: uses.connection.as_ref().and_then(|c| c.monitor.clone()),
        label: state.label.clone(),
    })
}

/// Moves the slot, and takes note of it.
///
/// # Returns
/// Targets that may be dropped without the lock.
fn point_to(
    state: &mut State,
    user: &ComponentId,
    connection: &ConnectionId,
    port: &Arc<Provided>,
    way: Way,
) -> Result<impl Sized + use<>, FrameworkError> {
    let is_current = state.exactly(user).is_ok();
    let uses = state
        .entry_mut(user)?
        .uses_port_mut(&user.name, &connection.uses)?;
    let properties = uses.connection.as_ref().map(|old| old.properties.clone());
    let new = Connection {
        provider: connection.provider.clone(),
        port: connection.provides.clone(),
        provided: Arc::clone(port),
        properties: properties.unwrap_or_else(TypeMap::default),
        monitor: way.monitor,
    };
    let old = uses.connection.replace(new.clone());
    let unreachable = uses.connector.point_to(Some(way.target));
    if is_current {
        let end = (connection.user.clone(), connection.uses.clone());
        if let Some(users) = old.as_ref().and_then(|old| state.users_mut(old)) {
            users.remove(&end);
        }
        if let Some(users) = state.users_mut(&new) {
            users.insert(end);
        }
    }
    Ok((old, new, unreachable))
}
