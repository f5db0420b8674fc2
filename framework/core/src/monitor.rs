//! Proxies put into connections and taken out again, while calls run.

use std::str::FromStr;
use std::sync::Arc;

use cca_abi::recording::MethodPointer;
use cca_abi::{InterfaceDescriptor, InterfacePointer, NewProxy, OwnedPort, RSlice, call};
use cca_ports::{MonitorPort, MonitoredMethod, PortError, RecorderPointer};

use crate::connections::ConnectionId;
use crate::connector::{Connector, Target};
use crate::error::FrameworkError;
use crate::framework::{Framework, interface_of};
use crate::state::Provided;

/// A proxy and its own way to the provider.
pub struct Proxy {
    // Dropped before the slot that it calls through.
    port: OwnedPort,
    _connector: Connector,
}

// SAFETY: the port's object is `Send + Sync` (`OwnedPort`); the connector is only changed by `&mut`.
unsafe impl Send for Proxy {}
// SAFETY: as for `Send`.
unsafe impl Sync for Proxy {}

/// Which connections are monitored: `all`, `none`, or a list of `INSTANCE.PORT` and interface names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonitorSelection {
    /// Every connection between instances of the assembly.
    All,
    /// None.
    None,
    /// Those with a named end or of a named interface.
    These(Vec<String>),
}

impl FromStr for MonitorSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(MonitorSelection::All),
            "none" => Ok(MonitorSelection::None),
            list => {
                let items: Vec<_> = list
                    .split(',')
                    .map(|item| item.trim().to_string())
                    .collect();
                if items.iter().any(String::is_empty) {
                    return Err("an empty item, expected all, none, or INSTANCE.PORT,…".into());
                }
                Ok(MonitorSelection::These(items))
            }
        }
    }
}

impl MonitorSelection {
    /// Whether a connection is selected.
    pub fn selects(&self, connection: &ConnectionId, interface: &str) -> bool {
        match self {
            MonitorSelection::All => true,
            MonitorSelection::None => false,
            MonitorSelection::These(items) => {
                items.iter().any(|item| names(item, connection, interface))
            }
        }
    }

    /// Items that select none of the connections.
    pub fn unmatched(&self, connections: &[(ConnectionId, String)]) -> Vec<String> {
        let MonitorSelection::These(items) = self else {
            return Vec::new();
        };
        let matches = |item: &&String| {
            connections
                .iter()
                .any(|(c, interface)| names(item, c, interface))
        };
        items
            .iter()
            .filter(|item| !matches(item))
            .cloned()
            .collect()
    }
}

fn names(item: &str, connection: &ConnectionId, interface: &str) -> bool {
    let is = |instance: &str, port: &str| item.split_once('.') == Some((instance, port));
    item == interface
        || is(&connection.user, &connection.uses)
        || is(&connection.provider, &connection.provides)
}

impl Framework {
    /// Interface name of every connection.
    pub fn connection_interfaces(&self) -> Vec<(ConnectionId, String)> {
        let connections = self.connections();
        let state = self.shared.lock();
        let interface = |c: &ConnectionId| {
            state
                .uses(&c.user, &c.uses)
                .map(|uses| uses.interface.name.to_string())
        };
        connections
            .into_iter()
            .filter_map(|c| interface(&c).ok().map(|name| (c, name)))
            .collect()
    }

    /// Whether a connection can be monitored: one of its sides can make a proxy.
    ///
    /// # Errors
    /// An unknown instance or port; not connected; an interface that neither side can make a proxy of.
    pub fn check_monitorable(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
        let connected = self.connected(user, uses)?;
        connected.proxy_maker(user, uses).map(|_| ())
    }

    /// Puts a proxy into a connection: from the next call on, calls are recorded through `monitor`, a `cca.Monitor` port.
    ///
    /// # Errors
    /// An unknown instance or port; not connected; an interface that neither side can make a proxy of; the monitor's.
    pub fn monitor(
        &self,
        user: &str,
        uses: &str,
        monitor: (&str, &str),
    ) -> Result<(), FrameworkError> {
        let connected = self.connected(user, uses)?;
        let (interface, new_proxy) = connected.proxy_maker(user, uses)?;
        let announced = self.with_port::<dyn MonitorPort, _>(monitor.0, monitor.1, |monitor| {
            announce(monitor, &connected, interface)
        })?;
        let failed = |source| FrameworkError::Port {
            act: format!("monitor uses port \"{uses}\" of \"{user}\""),
            source,
        };
        let (recorder, methods) = announced.map_err(failed)?;
        let mut connector = Connector::default();
        let target = Target::new(connected.port.port, Arc::clone(&connected.port) as _);
        // A new connector leads nowhere, so that nothing becomes unreachable.
        drop(connector.point_to(Some(target)));
        // SAFETY: slot, recorder and methods outlive the proxy: the first lies beside it, the others live as long as the
        // monitor, which the framework destroys after the connections.
        let port = unsafe {
            call(|proxy, error| {
                new_proxy(
                    connector.slot(),
                    recorder.0,
                    RSlice::from_slice(&methods),
                    proxy,
                    error,
                )
            })
        };
        let port = port.map_err(failed)?;
        self.put_in(
            user,
            uses,
            &connected,
            Arc::new(Proxy {
                port,
                _connector: connector,
            }),
        )
    }

    /// Takes the proxy out of a connection; an unmonitored call costs what a bare call costs.
    ///
    /// # Errors
    /// An unknown instance or port.
    pub fn unmonitor(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
        let connected = self.connected(user, uses)?;
        let mut state = self.shared.lock();
        let uses_port = state.uses_mut(user, uses)?;
        let proxy = uses_port
            .connection
            .as_mut()
            .and_then(|connection| connection.proxy.take());
        let target = Target::new(connected.port.port, Arc::clone(&connected.port) as _);
        let unreachable = uses_port.connector.point_to(Some(target));
        drop(state);
        drop((proxy, unreachable));
        Ok(())
    }

    fn put_in(
        &self,
        user: &str,
        uses: &str,
        connected: &Connected,
        proxy: Arc<Proxy>,
    ) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let uses_port = state.uses_mut(user, uses)?;
        let still = uses_port.connection.as_mut().filter(|connection| {
            connection.provider == connected.provider && connection.port == connected.provides
        });
        let Some(connection) = still else {
            return Err(FrameworkError::NotConnected {
                instance: user.into(),
                port: uses.into(),
            });
        };
        let old = connection.proxy.replace(Arc::clone(&proxy));
        let unreachable = uses_port
            .connector
            .point_to(Some(Target::new(proxy.port.port, proxy)));
        drop(state);
        drop((old, unreachable));
        Ok(())
    }

    fn connected(&self, user: &str, uses: &str) -> Result<Connected, FrameworkError> {
        let state = self.shared.lock();
        let uses_port = state.uses(user, uses)?;
        let connection =
            uses_port
                .connection
                .as_ref()
                .ok_or_else(|| FrameworkError::NotConnected {
                    instance: user.into(),
                    port: uses.into(),
                })?;
        Ok(Connected {
            // The framework's own ports are no instance's.
            class: state
                .instances
                .get(&connection.provider)
                .map_or_else(String::new, |entry| entry.class.clone()),
            provider: connection.provider.clone(),
            provides: connection.port.clone(),
            port: Arc::clone(&connection.provided),
            expected: uses_port.interface,
        })
    }
}

/// A connection as a proxy needs it.
struct Connected {
    provider: String,
    class: String,
    provides: String,
    port: Arc<Provided>,
    expected: &'static InterfaceDescriptor,
}

impl Connected {
    /// The side that can make a proxy: a C component cannot, but whoever uses it from Rust can.
    fn proxy_maker(
        &self,
        user: &str,
        uses: &str,
    ) -> Result<(&'static InterfaceDescriptor, NewProxy), FrameworkError> {
        let sides = [interface_of(&self.port), self.expected];
        let maker = sides
            .into_iter()
            .find_map(|side| side.new_proxy.map(|new_proxy| (side, new_proxy)));
        maker.ok_or_else(|| FrameworkError::NoProxy {
            instance: user.into(),
            port: uses.into(),
            interface: self.expected.name.to_string(),
        })
    }
}

fn announce(
    monitor: &impl MonitorPort,
    connected: &Connected,
    interface: &'static InterfaceDescriptor,
) -> Result<(RecorderPointer, Vec<MethodPointer>), PortError> {
    let recorder = monitor.recorder()?;
    let methods = (0..interface.methods().len() as u32).map(|index| {
        monitor.register_method(MonitoredMethod {
            instance: connected.provider.as_str().into(),
            class: connected.class.as_str().into(),
            port: connected.provides.as_str().into(),
            interface: InterfacePointer::new(interface),
            index,
        })
    });
    Ok((recorder, methods.collect::<Result<_, _>>()?))
}
