//! What a framework holds, behind its one lock. No component code runs while the lock is held.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use cca_abi::{InterfaceDescriptor, OwnedPort};
use cca_loader::Instance;

use crate::connector::Connector;
use crate::error::{FrameworkError, names};
use crate::monitor::Proxy;

/// Everything a framework holds.
#[derive(Default)]
pub struct State {
    pub instances: BTreeMap<String, Entry>,
    /// Who serves uses ports of an interface that the assembly left unconnected: interface to (instance, provides port).
    pub defaults: BTreeMap<String, (String, String)>,
    /// Names in the order of creation, for destruction in the opposite one.
    pub order: Vec<String>,
}

/// One instance.
pub struct Entry {
    pub class: String,
    pub version: String,
    pub library: Option<PathBuf>,
    /// `None` for the host's own.
    pub component: Option<Arc<Instance>>,
    pub provides: BTreeMap<String, Arc<OwnedPort>>,
    pub uses: BTreeMap<String, Uses>,
}

/// One uses port.
pub struct Uses {
    pub interface: &'static InterfaceDescriptor,
    pub connector: Connector,
    pub connection: Option<Connection>,
}

/// Where a uses port is connected to.
#[derive(Clone)]
pub struct Connection {
    pub provider: String,
    pub port: String,
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

    fn unknown(&self, name: &str) -> FrameworkError {
        FrameworkError::UnknownInstance {
            instance: name.into(),
            known: names(self.instances.keys()),
        }
    }

    pub fn provides(&self, instance: &str, port: &str) -> Result<&Arc<OwnedPort>, FrameworkError> {
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
