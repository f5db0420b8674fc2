//! State of a framework, behind its one lock. No component code runs under the lock.
//!
//! # Why one lock
//!
//! Components call the framework back from almost everywhere: from constructors, from destructors,
//! from listeners. If any of these ran under the lock, it would deadlock. The rule has two
//! consequences that shape the code of this crate. Objects that leave the state are moved out under
//! the lock and dropped after it, because dropping the last reference to a port or an instance runs
//! a destructor of a component. And a decision made before component code ran is checked again
//! after it. Calls between components never take the lock.
//!
//! ```text
//! State
//! ├─ instances: name -> Entry ── provides: port -> Provides { port, users }
//! │                           └─ uses:     port -> Uses { connector, connection } ─▶ Provided
//! ├─ namesakes: serial -> Entry   replaced, still called by someone; or about to replace
//! ├─ services, listeners, repository, monitoring
//! └─ order: serial -> name     destruction is the reverse of creation
//! ```
//!
//! [`Provided`] keeps a port and its instance alive together, so an instance that has been replaced
//! lives until its last caller has left.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use cca_abi::{InterfaceDescriptor, OwnedPort};
use cca_loader::Instance;
use cca_ports::{ComponentId, ParameterValue, TypeMap};

use crate::connector::{Connector, Provider};
use crate::dispatch::Dispatching;
use crate::error::{FrameworkError, names};
use crate::events::Listener;
use crate::monitor::{Describes, Monitoring};
use crate::repository::Repository;
use crate::service_registry::Service;
use crate::services::Shared;

/// Name of the instance that represents the framework's own ports; it is not listed.
pub const FRAMEWORK: &str = "framework";

/// Prefix of the names of the program's own instances, such as `@comm`; other names may not have it, so all of them are
/// free.
pub const OWN_MARK: char = '@';

/// Class under which a port passed as a service (`cca.ServiceRegistry`) is monitored, since its class is
/// unknown.
const SERVICE_CLASS: &str = "cca.Service";

/// Everything that a framework knows: its instances with their ports and connections, its services,
/// listeners and monitoring.
#[derive(Default)]
pub struct State {
    pub instances: BTreeMap<String, Entry>,
    /// By number, those that share their name with one of `instances`: about to take its place, or replaced and not yet
    /// left by all callers.
    pub namesakes: BTreeMap<u64, Entry>,
    /// Servers of unconnected uses ports, by the interface's name.
    pub services: BTreeMap<String, Service>,
    /// Number to name, for destruction in the order opposite to that of creation.
    pub order: BTreeMap<u64, String>,
    /// The number given last.
    pub serial: u64,
    /// Names given to instances that came without, by class.
    pub counters: BTreeMap<String, u64>,
    pub listeners: Vec<Listener>,
    /// Names of instances that got a uses port, or lost a connection, since the services were last connected.
    pub unserved: BTreeSet<String>,
    /// Descriptions of interfaces that include a proxy, by name, version and hash: a component in C has none of its
    /// own.
    pub proxied: BTreeMap<InterfaceKey, &'static InterfaceDescriptor>,
    /// Finds descriptions that are not in `proxied`.
    pub describes: Option<Arc<Describes>>,
    /// The classes that components can be made of by name.
    pub repository: Repository,
    /// Which connections get a proxy when they are made.
    pub monitoring: Option<Arc<Monitoring>>,
    /// Prefix of a monitor's names of the instances. Empty except in a framework made by another.
    pub label: String,
    /// The frameworks made by this one, monitored as it is.
    pub children: Vec<Weak<Shared>>,
    /// Number of frameworks made by this one.
    pub n_children: u32,
    /// Nothing is added any more.
    pub is_shut_down: bool,
    /// All have been released, and nothing is connected any more.
    pub is_closed: bool,
}

/// Name, version and hash of an interface, and the bytes of its table.
type InterfaceKey = (&'static str, &'static str, u64, usize);

fn interface_key(interface: &'static InterfaceDescriptor) -> InterfaceKey {
    let (name, version) = (interface.name.as_str(), interface.version.as_str());
    (name, version, interface.hash, interface.vtable_size)
}

/// One instance, with its ports. Its serial number distinguishes it from earlier and later
/// instances of the same name.
pub struct Entry {
    pub serial: u64,
    pub class: Arc<ClassOrigin>,
    pub properties: TypeMap,
    /// `None` for the host's own.
    pub component: Option<Arc<Instance>>,
    /// It is being destroyed.
    pub is_ending: bool,
    /// Set for a dispatching instance: its uses ports are in use as long as its provides port is.
    pub dispatching: Option<Dispatching>,
    /// Another has taken its place.
    pub is_replaced: bool,
    /// Called before it is destroyed (`register_for_release`).
    pub releases: Vec<Arc<Provided>>,
    /// Listeners for its parameters (`add_parameter_listener`).
    pub parameter_listeners: Vec<Arc<Provided>>,
    pub provides: BTreeMap<String, Provides>,
    pub uses: BTreeMap<String, Uses>,
    /// State that its predecessors left.
    pub left_behind: LeftBehind,
}

/// Connections and parameters of replaced instances that their successors have no port or key for: a later instance
/// of the class gets them back.
#[derive(Clone, Default)]
pub struct LeftBehind {
    /// Provider and its port, by uses port.
    pub connections: BTreeMap<String, (String, String)>,
    /// Values of parameters, by port and key.
    pub parameters: BTreeMap<(String, String), ParameterValue>,
}

/// Where an instance's code comes from: its class, the version, and the library.
#[derive(Clone, Debug)]
pub struct ClassOrigin {
    pub class: String,
    pub version: String,
    /// `None` for the host's own.
    pub library: Option<PathBuf>,
}

/// A provided port, with a reference to its instance: a caller that may be inside keeps both alive.
pub struct Provided {
    // Released before the instance is destroyed.
    port: OwnedPort,
    /// The implementation behind it; `None` for the framework's own ports, which are not monitored.
    pub class: Option<Arc<ClassOrigin>>,
    _instance: Option<Arc<Instance>>,
    /// Data that the port points to.
    _behind: Option<Arc<dyn Provider>>,
}

impl Provided {
    /// A port of an instance.
    pub fn of_instance(port: OwnedPort, entry: &Entry) -> Arc<Self> {
        Arc::new(Provided {
            port,
            class: Some(Arc::clone(&entry.class)),
            _instance: entry.component.clone(),
            _behind: None,
        })
    }

    /// A port that is put in front of another, of the same instance and class, with the data that it points to.
    pub fn in_front_of(
        provided: &Provided,
        port: OwnedPort,
        behind: Arc<dyn Provider>,
    ) -> Arc<Self> {
        Arc::new(Provided {
            port,
            class: provided.class.clone(),
            _instance: provided._instance.clone(),
            _behind: Some(behind),
        })
    }

    /// A port that was passed for others to use, of an unknown instance.
    pub fn of_service(port: OwnedPort) -> Arc<Self> {
        Arc::new(Provided {
            port,
            class: Some(Arc::new(ClassOrigin {
                class: SERVICE_CLASS.into(),
                version: String::new(),
                library: None,
            })),
            _instance: None,
            _behind: None,
        })
    }

    /// The name of the instance that errors of the port refer to: none for the framework's own.
    pub fn named<'a>(&self, instance: &'a str) -> Option<&'a str> {
        self.class.is_some().then_some(instance)
    }

    /// A port that only the framework calls, or that is the framework's own.
    pub fn own(port: OwnedPort) -> Arc<Self> {
        Arc::new(Provided {
            port,
            class: None,
            _instance: None,
            _behind: None,
        })
    }

    /// A port of the framework's own, with the data that it points to.
    pub fn own_with(port: OwnedPort, behind: Arc<dyn Provider>) -> Arc<Self> {
        Arc::new(Provided {
            port,
            class: None,
            _instance: None,
            _behind: Some(behind),
        })
    }
}

impl Deref for Provided {
    type Target = OwnedPort;

    fn deref(&self) -> &OwnedPort {
        &self.port
    }
}

/// One provides port of an instance, with the uses ports that lead to it.
pub struct Provides {
    pub port: Arc<Provided>,
    pub properties: TypeMap,
    /// The uses ports that are connected to it: (instance, port).
    pub users: BTreeSet<(String, String)>,
}

/// One uses port of an instance: the interface that its owner was compiled against, the slot it
/// calls through, and the connection.
pub struct Uses {
    pub interface: &'static InterfaceDescriptor,
    pub properties: TypeMap,
    pub connector: Connector,
    pub connection: Option<Connection>,
}

/// The provider's end of a connection, as the uses port keeps it.
#[derive(Clone)]
pub struct Connection {
    pub provider: String,
    pub port: String,
    /// The port that is called at its end; not the provider's port if that is made for each
    /// connection.
    pub provided: Arc<Provided>,
    pub properties: TypeMap,
    /// The `cca.Monitor` port that it is recorded through, if it is monitored.
    pub monitor: Option<Arc<Provided>>,
}

impl State {
    /// A number for a new instance, which is destroyed in its turn.
    pub fn next_serial(&mut self, name: &str) -> u64 {
        self.serial += 1;
        self.order.insert(self.serial, name.into());
        self.serial
    }

    pub fn instance(&self, name: &str) -> Result<&Entry, FrameworkError> {
        self.instances.get(name).ok_or_else(|| self.unknown(name))
    }

    pub fn instance_mut(&mut self, name: &str) -> Result<&mut Entry, FrameworkError> {
        if !self.instances.contains_key(name) {
            return Err(self.unknown(name));
        }
        self.instances
            .get_mut(name)
            .ok_or_else(|| FrameworkError::UnknownInstance {
                instance: name.into(),
                known: String::new(),
            })
    }

    /// The instance that a number belongs to, not a later one of the same name.
    pub fn exactly(&self, id: &ComponentId) -> Result<&Entry, FrameworkError> {
        let entry = self.instance(&id.name)?;
        if entry.serial == id.serial {
            return Ok(entry);
        }
        Err(FrameworkError::UnknownInstance {
            instance: id.to_string(),
            known: format!("{}#{}", id.name, entry.serial),
        })
    }

    /// The instance that a number belongs to, be it replaced by another of its name or about to replace one.
    pub fn entry(&self, id: &ComponentId) -> Result<&Entry, FrameworkError> {
        match self.namesakes.get(&id.serial) {
            Some(entry) => Ok(entry),
            None => self.exactly(id),
        }
    }

    pub fn entry_mut(&mut self, id: &ComponentId) -> Result<&mut Entry, FrameworkError> {
        if self.namesakes.contains_key(&id.serial) {
            let entry = self.namesakes.get_mut(&id.serial);
            return entry.ok_or_else(|| FrameworkError::UnknownInstance {
                instance: id.to_string(),
                known: String::new(),
            });
        }
        self.exactly(id)?;
        self.instance_mut(&id.name)
    }

    /// Every instance, also those that share their name with another.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.instances
            .values_mut()
            .chain(self.namesakes.values_mut())
    }

    /// The identity of an instance; of the framework's own ports for any other name.
    pub fn id(&self, name: &str) -> ComponentId {
        ComponentId {
            name: name.into(),
            serial: self.instances.get(name).map_or(0, |entry| entry.serial),
        }
    }

    /// Takes note of an interface that a proxy can be made of.
    pub fn know_interface(&mut self, interface: &'static InterfaceDescriptor) {
        if interface.new_proxy.is_some() {
            let key = interface_key(interface);
            self.proxied.entry(key).or_insert(interface);
        }
    }

    /// The same interface, as described by a component or library that can make a proxy of it.
    pub fn proxied(
        &self,
        interface: &'static InterfaceDescriptor,
    ) -> Option<&'static InterfaceDescriptor> {
        self.proxied.get(&interface_key(interface)).copied()
    }

    /// A service was added: any unconnected uses port may have one now.
    pub fn all_unserved(&mut self) {
        self.unserved.extend(self.instances.keys().cloned());
    }

    /// A name for an instance that comes without: the last part of its class's and a number.
    pub fn free_name(&mut self, class: &str) -> String {
        let stem = class.rsplit('.').next().unwrap_or(class);
        let counter = self.counters.entry(class.into()).or_default();
        loop {
            let name = format!("{stem}{counter}");
            *counter += 1;
            if !self.instances.contains_key(&name) {
                return name;
            }
        }
    }

    /// That there is no such instance.
    pub fn unknown(&self, name: &str) -> FrameworkError {
        FrameworkError::UnknownInstance {
            instance: name.into(),
            known: names(self.instances.keys().filter(|name| !is_own(name))),
        }
    }

    pub fn provides(&self, instance: &str, port: &str) -> Result<&Provides, FrameworkError> {
        self.instance(instance)?.provides_port(instance, port)
    }

    /// The provides port with the connection's users, if it belongs to an instance and still
    /// exists.
    pub fn users_mut(
        &mut self,
        connection: &Connection,
    ) -> Option<&mut BTreeSet<(String, String)>> {
        let entry = self.instances.get_mut(&connection.provider)?;
        let provides = entry.provides.get_mut(&connection.port)?;
        Some(&mut provides.users)
    }

    pub fn uses(&self, instance: &str, port: &str) -> Result<&Uses, FrameworkError> {
        self.instance(instance)?.uses_port(instance, port)
    }

    pub fn uses_mut(&mut self, instance: &str, port: &str) -> Result<&mut Uses, FrameworkError> {
        self.instance_mut(instance)?.uses_port_mut(instance, port)
    }

    /// Properties of a port, used or provided.
    pub fn port_properties_mut(
        &mut self,
        instance: &ComponentId,
        port: &str,
    ) -> Result<&mut TypeMap, FrameworkError> {
        let entry = self.entry_mut(instance)?;
        let instance = instance.name.as_str();
        let known = || names(entry.uses.keys().chain(entry.provides.keys()));
        if !entry.uses.contains_key(port) && !entry.provides.contains_key(port) {
            return Err(FrameworkError::PortNotDefined {
                kind: "uses or provides",
                instance: instance.into(),
                port: port.into(),
                known: known(),
            });
        }
        let missing = FrameworkError::PortNotDefined {
            kind: "uses or provides",
            instance: instance.into(),
            port: port.into(),
            known: String::new(),
        };
        let provides = entry.provides.get_mut(port).map(|p| &mut p.properties);
        let uses = entry.uses.get_mut(port).map(|u| &mut u.properties);
        uses.or(provides).ok_or(missing)
    }
}

impl Entry {
    /// An instance without ports.
    pub fn new(serial: u64, class: ClassOrigin, properties: TypeMap) -> Self {
        Entry {
            serial,
            class: Arc::new(class),
            properties,
            component: None,
            is_ending: false,
            dispatching: None,
            is_replaced: false,
            releases: Vec::new(),
            parameter_listeners: Vec::new(),
            provides: BTreeMap::new(),
            uses: BTreeMap::new(),
            left_behind: LeftBehind::default(),
        }
    }

    pub fn provides_port(&self, instance: &str, port: &str) -> Result<&Provides, FrameworkError> {
        let provides = self.provides.get(port);
        provides.ok_or_else(|| FrameworkError::PortNotDefined {
            kind: "provides",
            instance: instance.into(),
            port: port.into(),
            known: names(self.provides.keys()),
        })
    }

    pub fn provides_port_mut(
        &mut self,
        instance: &str,
        port: &str,
    ) -> Result<&mut Provides, FrameworkError> {
        let known = names(self.provides.keys());
        let provides = self.provides.get_mut(port);
        provides.ok_or_else(|| FrameworkError::PortNotDefined {
            kind: "provides",
            instance: instance.into(),
            port: port.into(),
            known,
        })
    }

    pub fn uses_port(&self, instance: &str, port: &str) -> Result<&Uses, FrameworkError> {
        let uses = self.uses.get(port);
        uses.ok_or_else(|| no_uses_port(instance, port, self))
    }

    pub fn uses_port_mut(
        &mut self,
        instance: &str,
        port: &str,
    ) -> Result<&mut Uses, FrameworkError> {
        self.uses_port(instance, port)?;
        let missing = FrameworkError::PortNotDefined {
            kind: "uses",
            instance: instance.into(),
            port: port.into(),
            known: String::new(),
        };
        self.uses.get_mut(port).ok_or(missing)
    }

    /// Whether no caller can be inside: only the entry keeps its ports, and it has released those it uses. Requires the
    /// framework's lock, without which no reference to a replaced instance's ports can be obtained.
    pub fn is_left(&self) -> bool {
        let is_kept = |provides: &Provides| Arc::strong_count(&provides.port) > 1;
        let is_in_use = |uses: &Uses| uses.connector.is_in_use();
        !self.provides.values().any(is_kept) && !self.uses.values().any(is_in_use)
    }
}

fn no_uses_port(instance: &str, port: &str, entry: &Entry) -> FrameworkError {
    FrameworkError::PortNotDefined {
        kind: "uses",
        instance: instance.into(),
        port: port.into(),
        known: names(entry.uses.keys()),
    }
}

/// Whether a name is of an instance of the program that holds the framework.
pub fn is_own(name: &str) -> bool {
    name.starts_with(OWN_MARK)
}

/// Whether a name is fit for an instance or a port: `INSTANCE.PORT` must be readable.
pub fn good_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '.')
}
