//! What a framework holds, behind its one lock. No component code runs while the lock is held.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use cca_abi::{InterfaceDescriptor, OwnedPort};
use cca_loader::Instance;
use cca_ports::{ComponentId, TypeMap};

use crate::connector::Connector;
use crate::error::{FrameworkError, names};
use crate::events::Listener;
use crate::monitor::Proxy;
use crate::repository::Repository;
use crate::service_registry::Service;

/// Name of the instance that stands for the framework's own ports; it is not listed.
pub const FRAMEWORK: &str = "framework";

/// Everything a framework holds.
#[derive(Default)]
pub struct State {
    pub instances: BTreeMap<String, Entry>,
    /// Who serves uses ports of an interface that nobody connected, by the interface's name.
    pub services: BTreeMap<String, Service>,
    /// Number to name, for destruction in the order opposite to that of creation.
    pub order: BTreeMap<u64, String>,
    /// The number given last.
    pub serial: u64,
    /// Names given to instances that came without, by class.
    pub counters: BTreeMap<String, u64>,
    pub listeners: Vec<Listener>,
    /// The classes that components can be made of by name.
    pub repository: Repository,
    /// Nothing is added any more.
    pub is_shut_down: bool,
}

/// One instance.
pub struct Entry {
    pub serial: u64,
    pub class: String,
    pub version: String,
    pub library: Option<PathBuf>,
    pub properties: TypeMap,
    /// `None` for the host's own.
    pub component: Option<Arc<Instance>>,
    /// It is being destroyed.
    pub is_ending: bool,
    /// Who says goodbye as well (`register_for_release`).
    pub releases: Vec<Arc<Provided>>,
    pub provides: BTreeMap<String, Provides>,
    pub uses: BTreeMap<String, Uses>,
}

/// A provided port, with a share of the instance that it belongs to: whoever may be inside keeps both.
pub struct Provided {
    // Given back before the instance is destroyed.
    port: OwnedPort,
    _instance: Option<Arc<Instance>>,
}

impl Provided {
    pub fn new(port: OwnedPort, instance: Option<Arc<Instance>>) -> Arc<Self> {
        Arc::new(Provided {
            port,
            _instance: instance,
        })
    }
}

impl Deref for Provided {
    type Target = OwnedPort;

    fn deref(&self) -> &OwnedPort {
        &self.port
    }
}

/// One provides port.
pub struct Provides {
    pub port: Arc<Provided>,
    pub properties: TypeMap,
    /// The uses ports that are connected to it: (instance, port).
    pub users: BTreeSet<(String, String)>,
}

/// One uses port.
pub struct Uses {
    pub interface: &'static InterfaceDescriptor,
    pub properties: TypeMap,
    pub connector: Connector,
    pub connection: Option<Connection>,
}

/// Where a uses port is connected to.
#[derive(Clone)]
pub struct Connection {
    pub provider: String,
    pub port: String,
    /// What is called at its end; not the provider's port if that is made for each connection.
    pub provided: Arc<Provided>,
    pub properties: TypeMap,
    /// The proxy that stands in it, if it is monitored.
    pub proxy: Option<Arc<Proxy>>,
}

impl State {
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

    /// The identity of an instance; of the framework's own ports for any other name.
    pub fn id(&self, name: &str) -> ComponentId {
        ComponentId {
            name: name.into(),
            serial: self.instances.get(name).map_or(0, |entry| entry.serial),
        }
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

    fn unknown(&self, name: &str) -> FrameworkError {
        FrameworkError::UnknownInstance {
            instance: name.into(),
            known: names(self.instances.keys()),
        }
    }

    pub fn provides(&self, instance: &str, port: &str) -> Result<&Provides, FrameworkError> {
        let entry = self.instance(instance)?;
        entry
            .provides
            .get(port)
            .ok_or_else(|| FrameworkError::PortNotDefined {
                kind: "provides",
                instance: instance.into(),
                port: port.into(),
                known: names(entry.provides.keys()),
            })
    }

    /// The provides port with the connection's users, where it is an instance's and still there.
    pub fn users_mut(
        &mut self,
        connection: &Connection,
    ) -> Option<&mut BTreeSet<(String, String)>> {
        let entry = self.instances.get_mut(&connection.provider)?;
        let provides = entry.provides.get_mut(&connection.port)?;
        Some(&mut provides.users)
    }

    pub fn uses(&self, instance: &str, port: &str) -> Result<&Uses, FrameworkError> {
        let entry = self.instance(instance)?;
        entry
            .uses
            .get(port)
            .ok_or_else(|| no_uses_port(instance, port, entry))
    }

    pub fn uses_mut(&mut self, instance: &str, port: &str) -> Result<&mut Uses, FrameworkError> {
        self.uses(instance, port)?;
        let entry = self.instance_mut(instance)?;
        let missing = FrameworkError::PortNotDefined {
            kind: "uses",
            instance: instance.into(),
            port: port.into(),
            known: String::new(),
        };
        entry.uses.get_mut(port).ok_or(missing)
    }

    /// Properties of a port, used or provided.
    pub fn port_properties_mut(
        &mut self,
        instance: &str,
        port: &str,
    ) -> Result<&mut TypeMap, FrameworkError> {
        let entry = self.instance_mut(instance)?;
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

fn no_uses_port(instance: &str, port: &str, entry: &Entry) -> FrameworkError {
    FrameworkError::PortNotDefined {
        kind: "uses",
        instance: instance.into(),
        port: port.into(),
        known: names(entry.uses.keys()),
    }
}

/// Whether a name is fit for an instance or a port: `INSTANCE.PORT` must be readable.
pub fn good_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '.')
}
