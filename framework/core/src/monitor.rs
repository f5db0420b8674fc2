//! Proxies put into connections and taken out again, while calls run.
//!
//! # Decisions
//!
//! Every connection gets its proxy as it is made, before its first call, whoever makes it: the
//! framework knows which are selected (`Framework::start_monitoring`), and frameworks made by it
//! inherit the selection; there a monitor's names of instances begin with `framework1/`. A
//! monitored connection that is moved to other providers has a proxy for each provider. If neither
//! side can make one, the framework uses any description of the interface that it has seen, its own
//! of the standard ports included, or a class of a library of the path
//! (`cli/src/session/describing.rs`). A connection without a proxy is still made; the log names it,
//! and every verb that reads the log warns. The call that starts the application is a connection
//! too, from an instance `@main`, and is recorded with the others.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use cca_abi::recording::MethodPointer;
use cca_abi::{InterfaceDescriptor, InterfacePointer, NewProxy, OwnedPort, RSlice, call};
use cca_ports::{
    ComponentId, MonitorPort, MonitoredInstance, MonitoredMethod, PortError, RecorderPointer,
};

use crate::connections::ConnectionId;
use crate::connector::{Connector, Target};
use crate::error::FrameworkError;
use crate::framework::{Framework, call_provided, interface_of};
use crate::lead::{Way, straight_target, target_key};
use crate::state::{ClassOrigin, FRAMEWORK, Provided};

/// A proxy and its own slot to the provider.
struct Proxy {
    // Dropped before the slot that it calls through, and before the monitor whose recorder it records into.
    port: OwnedPort,
    _connector: Connector,
    _monitor: Arc<Provided>,
}

// SAFETY: the port's object is `Send + Sync` (`OwnedPort`); the connector is only changed by `&mut`.
unsafe impl Send for Proxy {}
// SAFETY: as for `Send`.
unsafe impl Sync for Proxy {}

/// Finds a description of an interface with which a proxy can be made.
pub type Describes = dyn Fn(&Framework, &'static InterfaceDescriptor) -> Option<&'static InterfaceDescriptor>
    + Send
    + Sync;

/// Decides from a connection and the name of its interface whether it is monitored.
type Selects = dyn Fn(&ConnectionId, &str) -> bool + Send + Sync;

/// Which connections get a proxy when they are made, and the monitor that they record to.
pub struct Monitoring {
    /// A `cca.Monitor` port.
    pub monitor: Arc<Provided>,
    selects: Box<Selects>,
    /// Connections that are selected and got no proxy, each once.
    unmonitored: Mutex<BTreeMap<ConnectionId, FrameworkError>>,
}

impl Monitoring {
    pub fn selects(
        &self,
        label: &str,
        connection: &ConnectionId,
        interface: &InterfaceDescriptor,
        port: &Provided,
    ) -> bool {
        // The framework's own ports are not measured.
        port.class.is_some() && (self.selects)(&labelled(label, connection), &interface.name)
    }

    pub fn note(&self, connection: &ConnectionId, error: FrameworkError) {
        let mut unmonitored = self
            .unmonitored
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        unmonitored.entry(connection.clone()).or_insert(error);
    }
}

/// A connection as a monitor knows it.
fn labelled(label: &str, connection: &ConnectionId) -> ConnectionId {
    ConnectionId {
        user: format!("{label}{}", connection.user),
        provider: format!("{label}{}", connection.provider),
        ..connection.clone()
    }
}

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
        let (_, connection, port, expected) = self.connected(user, uses)?;
        let known = self.known_by_others(expected, Some(&port));
        proxy_maker(&connection, expected, &port, known).map(|_| ())
    }

    /// An interface as described by a component or library that can make a proxy of it, which thus names its methods;
    /// unchanged if there is none.
    pub fn described(
        &self,
        interface: &'static InterfaceDescriptor,
    ) -> &'static InterfaceDescriptor {
        match interface.new_proxy {
            Some(_) => interface,
            None => self.known_by_others(interface, None).unwrap_or(interface),
        }
    }

    /// Asks `describes` for a description of an interface that no component made so far can make a proxy of. It may
    /// make components in other frameworks; the description is kept.
    pub fn describe_interfaces_by(
        &self,
        describes: impl Fn(
            &Framework,
            &'static InterfaceDescriptor,
        ) -> Option<&'static InterfaceDescriptor>
        + Send
        + Sync
        + 'static,
    ) {
        let describes: Arc<Describes> = Arc::new(describes);
        let replaced = self.shared.lock().describes.replace(describes);
        drop(replaced);
    }

    /// A description of an interface, from another component or library, with which a proxy can be made; `None` where an end of the connection
    /// can make it.
    ///
    /// # Arguments
    /// * `port` - the provider's end, if there is one
    pub(crate) fn known_by_others(
        &self,
        expected: &'static InterfaceDescriptor,
        port: Option<&Arc<Provided>>,
    ) -> Option<&'static InterfaceDescriptor> {
        let provided = port.map(|port| interface_of(port));
        let mut ends = [Some(expected), provided].into_iter().flatten();
        if ends.any(|end| end.new_proxy.is_some()) {
            return None;
        }
        let describes = {
            let state = self.shared.lock();
            match state.proxied(expected) {
                Some(known) => return Some(known),
                None => state.describes.clone()?,
            }
        };
        let found = describes(self, expected)?;
        let mut state = self.shared.lock();
        state.know_interface(found);
        state.proxied(expected)
    }

    /// Monitors every selected connection, present and future, whoever makes it, also in frameworks made by this
    /// one. Each gets its proxy before the first call goes through it.
    ///
    /// # Arguments
    /// * `monitor` - instance and provides port of interface `cca.Monitor`
    /// * `selects` - decides from a connection and the name of its interface whether it is monitored; in a framework
    ///   made by another the instances' names have a label and a slash in front
    ///
    /// # Errors
    /// An unknown instance or port.
    pub fn start_monitoring(
        &self,
        monitor: (&str, &str),
        selects: impl Fn(&ConnectionId, &str) -> bool + Send + Sync + 'static,
    ) -> Result<(), FrameworkError> {
        let monitor = Arc::clone(&self.shared.lock().provides(monitor.0, monitor.1)?.port);
        self.monitor_by(&Arc::new(Monitoring {
            monitor,
            selects: Box::new(selects),
            unmonitored: Mutex::default(),
        }));
        Ok(())
    }

    fn monitor_by(&self, monitoring: &Arc<Monitoring>) {
        let (replaced, children) = {
            let mut state = self.shared.lock();
            let replaced = state.monitoring.replace(Arc::clone(monitoring));
            (replaced, state.children.clone())
        };
        drop(replaced);
        for connection in self.connections() {
            // The connection may have been removed meanwhile, and made again with a proxy.
            let Ok((user, connection, port, expected)) =
                self.connected(&connection.user, &connection.uses)
            else {
                continue;
            };
            let label = self.shared.lock().label.clone();
            if monitoring.selects(&label, &connection, expected, &port) {
                let made = self.put_in(&user, &connection, &port, expected, &monitoring.monitor);
                if let Err(error) = made {
                    monitoring.note(&connection, error);
                }
            }
        }
        for child in children.iter().filter_map(std::sync::Weak::upgrade) {
            Framework::handle(child).monitor_by(monitoring);
        }
    }

    /// Connections that [`Framework::start_monitoring`] selects and for which no proxy could be made since the last
    /// call of this function: calls through them are not recorded. Each with the reason.
    pub fn take_unmonitored(&self) -> Vec<(ConnectionId, FrameworkError)> {
        let Some(monitoring) = self.shared.lock().monitoring.clone() else {
            return Vec::new();
        };
        let unmonitored = monitoring.unmonitored.lock();
        let mut unmonitored = unmonitored.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *unmonitored).into_iter().collect()
    }

    /// Puts a proxy into a connection: from the next call on, calls are recorded through `monitor`, a `cca.Monitor` port.
    /// It stays there when the connection is led to another provider.
    ///
    /// # Errors
    /// An unknown instance or port; not connected; an interface that neither side can make a proxy of; the monitor's.
    pub fn monitor(
        &self,
        user: &str,
        uses: &str,
        monitor: (&str, &str),
    ) -> Result<(), FrameworkError> {
        let monitor = Arc::clone(&self.shared.lock().provides(monitor.0, monitor.1)?.port);
        let (id, connection, port, expected) = self.connected(user, uses)?;
        self.put_in(&id, &connection, &port, expected, &monitor)
    }

    /// Takes the proxy out of a connection; an unmonitored call costs as much as a bare call.
    ///
    /// # Errors
    /// An unknown instance or port.
    pub fn unmonitor(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
        let (id, connection, port, _) = self.connected(user, uses)?;
        let way = self.way_to(&id, &connection, &port, None, || {
            Ok(straight_target(&connection.provider, &port))
        })?;
        self.change_way(&id, &connection, &port, way)
    }

    fn put_in(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
        expected: &'static InterfaceDescriptor,
        monitor: &Arc<Provided>,
    ) -> Result<(), FrameworkError> {
        let label = self.shared.lock().label.clone();
        let known = self.known_by_others(expected, Some(port));
        let way = self.way_to(user, connection, port, Some(monitor), || {
            proxy_target(monitor, &label, connection, expected, port, known)
        })?;
        self.change_way(user, connection, port, way)
    }

    /// Changes how a connection leads where it leads.
    fn change_way(
        &self,
        user: &ComponentId,
        connection: &ConnectionId,
        port: &Arc<Provided>,
        way: Way,
    ) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let uses = state
            .exactly(user)
            .and_then(|entry| entry.uses_port(&user.name, &connection.uses));
        let found = uses?.connection.as_ref();
        let still = found.filter(|found| Arc::ptr_eq(&found.provided, port));
        if still.is_none() {
            return Err(FrameworkError::NotConnected {
                instance: user.name.to_string(),
                port: connection.uses.clone(),
            });
        }
        let uses = state.uses_mut(&user.name, &connection.uses)?;
        let old = uses
            .connection
            .as_mut()
            .map(|found| std::mem::replace(&mut found.monitor, way.monitor));
        let unreachable = uses.connector.point_to(Some(way.target));
        drop(state);
        drop((old, unreachable));
        Ok(())
    }

    fn connected(&self, user: &str, uses: &str) -> Result<Connected, FrameworkError> {
        let state = self.shared.lock();
        let uses_port = state.uses(user, uses)?;
        let Some(connection) = &uses_port.connection else {
            return Err(FrameworkError::NotConnected {
                instance: user.into(),
                port: uses.into(),
            });
        };
        let id = ConnectionId {
            user: user.into(),
            uses: uses.into(),
            provider: connection.provider.clone(),
            provides: connection.port.clone(),
        };
        let port = Arc::clone(&connection.provided);
        Ok((state.id(user), id, port, uses_port.interface))
    }
}

/// A connection as a proxy needs it: the user, the connection, the provided port, and the interface that the user
/// knows.
type Connected = (
    ComponentId,
    ConnectionId,
    Arc<Provided>,
    &'static InterfaceDescriptor,
);

/// Finds a maker of the proxy: one of the two sides, or else any other known description of the interface, since a
/// component in C cannot make one.
fn proxy_maker(
    connection: &ConnectionId,
    expected: &'static InterfaceDescriptor,
    port: &Provided,
    known: Option<&'static InterfaceDescriptor>,
) -> Result<(&'static InterfaceDescriptor, NewProxy), FrameworkError> {
    let sides = [interface_of(port), expected];
    let maker = sides
        .into_iter()
        .chain(known)
        .find_map(|side| side.new_proxy.map(|new_proxy| (side, new_proxy)));
    maker.ok_or_else(|| FrameworkError::NoProxy {
        instance: connection.user.clone(),
        port: connection.uses.clone(),
        interface: expected.name.to_string(),
    })
}

/// A target that records each call through a monitor. No lock may be held: the monitor's and the proxy's code run
/// here.
///
/// # Arguments
/// * `known` - the interface as described by a third party that can make a proxy
///
/// # Errors
/// An interface that neither side can make a proxy of; the monitor's.
pub fn proxy_target(
    monitor: &Arc<Provided>,
    label: &str,
    connection: &ConnectionId,
    expected: &'static InterfaceDescriptor,
    port: &Arc<Provided>,
    known: Option<&'static InterfaceDescriptor>,
) -> Result<Arc<Target>, FrameworkError> {
    let (interface, new_proxy) = proxy_maker(connection, expected, port, known)?;
    let instance = port.named(&connection.provider);
    let connection = labelled(label, connection);
    let announced = call_provided::<dyn MonitorPort, _>(monitor, FRAMEWORK, |monitor| {
        announce(monitor, &connection, interface, port)
    })?;
    let failed = |source| FrameworkError::Port {
        act: format!(
            "monitor uses port \"{}\" of \"{}\"",
            connection.uses, connection.user
        ),
        source,
    };
    let (recorder, methods) = announced.map_err(failed)?;
    let mut connector = Connector::default();
    let inner = Target::new(port.port, Arc::clone(port) as _);
    // A new connector leads nowhere, so that nothing becomes unreachable.
    drop(connector.point_to(Some(inner)));
    // SAFETY: slot, recorder and methods outlive the proxy: the slot is stored with it, the others live as long as
    // the monitor, which the proxy keeps alive.
    let made = unsafe {
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
    let proxy = Arc::new(Proxy {
        port: made.map_err(failed)?,
        _connector: connector,
        _monitor: Arc::clone(monitor),
    });
    let key = target_key(port, Some(monitor));
    Ok(Target::with_key(proxy.port.port, instance, proxy, key))
}

fn announce(
    monitor: &impl MonitorPort,
    connection: &ConnectionId,
    interface: &'static InterfaceDescriptor,
    port: &Provided,
) -> Result<(RecorderPointer, Vec<MethodPointer>), PortError> {
    let recorder = monitor.recorder()?;
    let class = port
        .class
        .as_ref()
        .map_or("", |origin| origin.class.as_str());
    if let Some(origin) = &port.class {
        register_instance(monitor, &connection.provider, origin)?;
    }
    let methods = (0..interface.methods().len() as u32).map(|index| {
        monitor.register_method(MonitoredMethod {
            instance: connection.provider.as_str().into(),
            class: class.into(),
            port: connection.provides.as_str().into(),
            interface: InterfacePointer::new(interface),
            index,
        })
    });
    Ok((recorder, methods.collect::<Result<_, _>>()?))
}

fn register_instance(
    monitor: &impl MonitorPort,
    instance: &str,
    origin: &ClassOrigin,
) -> Result<(), PortError> {
    let library = origin.library.as_ref();
    let library = library.map_or_else(String::new, |path| path.display().to_string());
    monitor.register_instance(MonitoredInstance {
        instance: instance.into(),
        class: origin.class.as_str().into(),
        version: origin.version.as_str().into(),
        library: library.as_str().into(),
    })
}

/// Reports an instance to a monitor, which may not know it from a connection yet; an error of the monitor does not
/// affect the run.
pub fn announce_instance(monitor: &Arc<Provided>, instance: &str, origin: &ClassOrigin) {
    let _ = call_provided::<dyn MonitorPort, _>(monitor, FRAMEWORK, |monitor| {
        register_instance(monitor, instance, origin)
    });
}
