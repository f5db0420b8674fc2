//! A framework: makes instances, connects their ports, starts them, and takes them apart again.

use std::path::PathBuf;
use std::sync::Arc;

use cca_abi::{
    Interface, InterfaceDescriptor, OwnedPort, ProvidedBy, Slot, SlotPointer, compare_layouts,
};
use cca_loader::Class;
use cca_ports::{Services, ServicesPort};

use crate::connector::Target;
use crate::error::FrameworkError;
use crate::services::{ComponentServices, Shared};
use crate::state::{Connection, Entry, State, good_name};

/// A framework. Dropping it says goodbye to the components, last made first, and destroys them.
#[derive(Default)]
pub struct Framework {
    pub(crate) shared: Arc<Shared>,
}

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

/// An instance as it is now.
#[derive(Clone, Debug)]
pub struct InstanceInfo {
    /// Name.
    pub name: String,
    /// Class.
    pub class: String,
    /// Version of the class.
    pub version: String,
    /// Its library; `None` for the host's own.
    pub library: Option<PathBuf>,
    /// Ports it provides.
    pub provides: Vec<PortInfo>,
    /// Ports it uses.
    pub uses: Vec<PortInfo>,
}

/// A port of an instance.
#[derive(Clone)]
pub struct PortInfo {
    /// Name.
    pub name: String,
    /// Its interface.
    pub interface: &'static InterfaceDescriptor,
}

impl std::fmt::Debug for PortInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.interface.name)
    }
}

impl Framework {
    /// A framework without instances.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an instance of a class and has it register its ports.
    ///
    /// # Errors
    /// The name is bad or taken; the class's, a panic's included. The instance is then not there.
    pub fn create_instance(&self, name: &str, class: &Class) -> Result<(), FrameworkError> {
        let services = self.add_entry(
            name,
            class.name(),
            class.version(),
            Some(class.library().into()),
        )?;
        let created = self.start_instance(name, class, &services);
        if created.is_err() {
            self.remove_entry(name);
        }
        created
    }

    fn start_instance(
        &self,
        name: &str,
        class: &Class,
        services: &OwnedPort,
    ) -> Result<(), FrameworkError> {
        let component = class.create().map_err(|source| FrameworkError::Create {
            instance: name.into(),
            source,
        })?;
        let component = Arc::new(component);
        self.shared.lock().instance_mut(name)?.component = Some(Arc::clone(&component));
        // SAFETY: the services object is never freed (`add_entry`).
        let set = unsafe { component.set_services(services.port) };
        set.map_err(|source| FrameworkError::SetServices {
            instance: name.into(),
            class: class.name().into(),
            source,
        })
    }

    /// Services for the program that holds the framework, so that it takes part as an instance of its own
    /// (`AbstractFramework.getServices`).
    ///
    /// # Errors
    /// The name is bad or taken.
    pub fn services(
        &self,
        name: &str,
        class: &str,
        version: &str,
    ) -> Result<Services, FrameworkError> {
        let port = self.add_entry(name, class, version, None)?;
        // SAFETY: a `cca.Services` port whose object is never freed (`add_entry`).
        Ok(unsafe { Services::new(port.port) })
    }

    fn add_entry(
        &self,
        name: &str,
        class: &str,
        version: &str,
        library: Option<PathBuf>,
    ) -> Result<std::mem::ManuallyDrop<OwnedPort>, FrameworkError> {
        if !good_name(name) {
            return Err(FrameworkError::BadInstanceName {
                instance: name.into(),
            });
        }
        let mut state = self.shared.lock();
        if state.instances.contains_key(name) {
            return Err(FrameworkError::InstanceExists {
                instance: name.into(),
            });
        }
        let entry = Entry {
            class: class.into(),
            version: version.into(),
            library,
            component: None,
            provides: Default::default(),
            uses: Default::default(),
        };
        state.instances.insert(name.into(), entry);
        state.order.push(name.into());
        let services = Arc::new(ComponentServices {
            framework: Arc::downgrade(&self.shared),
            instance: name.into(),
        });
        // Its share is never given back: a component, or a thread that it left behind, may keep its services longer than
        // the framework lives, and then gets an error from them.
        Ok(std::mem::ManuallyDrop::new(<dyn ServicesPort>::provide(
            services,
        )))
    }

    fn remove_entry(&self, name: &str) {
        let removed = {
            let mut state = self.shared.lock();
            state.order.retain(|known| known != name);
            state.instances.remove(name)
        };
        // Component code may run here, without the lock.
        drop(removed);
    }

    /// Connects a uses port to a provides port.
    ///
    /// # Errors
    /// An unknown instance or port; ends that do not fit; a uses port connected already.
    pub fn connect(&self, connection: &ConnectionId) -> Result<(), FrameworkError> {
        let ConnectionId {
            user,
            uses,
            provider,
            provides,
        } = connection;
        let mut state = self.shared.lock();
        let port = Arc::clone(state.provides(provider, provides)?);
        let uses_port = state.uses(user, uses)?;
        if uses_port.connection.is_some() {
            return Err(FrameworkError::AlreadyConnected {
                instance: user.clone(),
                port: uses.clone(),
            });
        }
        fits(connection, uses_port.interface, &port)?;
        let target = Target::new(port.port, port);
        let uses_port = state.uses_mut(user, uses)?;
        uses_port.connection = Some(Connection {
            provider: provider.clone(),
            port: provides.clone(),
            proxy: None,
        });
        let unreachable = uses_port.connector.point_to(Some(target));
        drop(state);
        drop(unreachable);
        Ok(())
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
        let port = Arc::clone(state.provides(provider, provides)?);
        fits(connection, state.uses(user, uses)?.interface, &port)?;
        let uses_port = state.uses_mut(user, uses)?;
        let Some(old) = uses_port.connection.as_mut() else {
            return Err(FrameworkError::NotConnected {
                instance: user.clone(),
                port: uses.clone(),
            });
        };
        let old = std::mem::replace(
            old,
            Connection {
                provider: provider.clone(),
                port: provides.clone(),
                proxy: None,
            },
        );
        let unreachable = uses_port
            .connector
            .point_to(Some(Target::new(port.port, port)));
        drop(state);
        drop((old, unreachable));
        Ok(())
    }

    /// Takes a connection away.
    ///
    /// # Errors
    /// An unknown instance or port; not connected; in use.
    pub fn disconnect(&self, user: &str, uses: &str) -> Result<(), FrameworkError> {
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
        drop(state);
        drop((connection, unreachable));
        Ok(())
    }

    /// Names the provider of an interface for every uses port of it that an assembly leaves unconnected, such as the
    /// communicator.
    ///
    /// # Errors
    /// An unknown instance or port.
    pub fn provide_by_default(&self, instance: &str, port: &str) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let interface = interface_of(state.provides(instance, port)?)
            .name
            .to_string();
        state
            .defaults
            .insert(interface, (instance.into(), port.into()));
        Ok(())
    }

    /// Connects every uses port that has a default provider and is not connected.
    ///
    /// # Errors
    /// Ends that do not fit.
    pub fn connect_defaults(&self) -> Result<(), FrameworkError> {
        let missing: Vec<_> = {
            let state = self.shared.lock();
            let default = |uses: &(String, String, String)| state.defaults.get(&uses.2).cloned();
            let unconnected = unconnected(&state);
            unconnected
                .into_iter()
                .filter_map(|uses| default(&uses).map(|to| (uses, to)))
                .collect()
        };
        for ((user, uses, _), (provider, provides)) in missing {
            self.connect(&ConnectionId {
                user,
                uses,
                provider,
                provides,
            })?;
        }
        Ok(())
    }

    /// Uses ports that lead nowhere: (instance, port, interface).
    pub fn unconnected(&self) -> Vec<(String, String, String)> {
        unconnected(&self.shared.lock())
    }

    /// Every connection, by its using end.
    pub fn connections(&self) -> Vec<ConnectionId> {
        let state = self.shared.lock();
        let mut connections = Vec::new();
        for (user, entry) in &state.instances {
            for (uses, port) in &entry.uses {
                connections.extend(port.connection.as_ref().map(|connection| ConnectionId {
                    user: user.clone(),
                    uses: uses.clone(),
                    provider: connection.provider.clone(),
                    provides: connection.port.clone(),
                }));
            }
        }
        connections
    }

    /// Every instance, by name.
    pub fn instances(&self) -> Vec<InstanceInfo> {
        let state = self.shared.lock();
        state
            .instances
            .iter()
            .map(|(name, entry)| info(name, entry))
            .collect()
    }

    /// Calls a provided port of an instance from the program that holds the framework.
    ///
    /// # Errors
    /// An unknown instance or port; a port of another interface.
    pub fn with_port<P: Interface + ?Sized, R>(
        &self,
        instance: &str,
        port: &str,
        work: impl FnOnce(&P::Stub) -> R,
    ) -> Result<R, FrameworkError> {
        let provided = Arc::clone(self.shared.lock().provides(instance, port)?);
        let connection = ConnectionId {
            user: "framework".into(),
            uses: port.into(),
            provider: instance.into(),
            provides: port.into(),
        };
        fits(&connection, P::descriptor(), &provided)?;
        let mut pair = provided.port;
        let slot = Slot::unconnected();
        slot.replace(&raw mut pair);
        // SAFETY: slot, pair and the share of the provider outlive the stub, which does not leave this function.
        let stub = P::stub(unsafe { SlotPointer::new(&slot) });
        Ok(work(&stub))
    }
}

impl Drop for Framework {
    fn drop(&mut self) {
        let order = std::mem::take(&mut self.shared.lock().order);
        let component = |name: &String| self.shared.lock().instances.get(name)?.component.clone();
        for name in order.iter().rev() {
            if let Some(component) = component(name) {
                // A component that fails to say goodbye is destroyed all the same, and there is nobody to tell.
                let _ = component.release_services();
            }
        }
        // Connections first, so that no component is destroyed while another leads to it.
        let names: Vec<_> = order.iter().rev().cloned().collect();
        let mut unreachable = Vec::new();
        for entry in self.shared.lock().instances.values_mut() {
            for uses in entry.uses.values_mut() {
                unreachable.push((uses.connection.take(), uses.connector.point_to(None)));
            }
        }
        drop(unreachable);
        for name in names {
            self.remove_entry(&name);
        }
    }
}

pub(crate) fn interface_of(port: &OwnedPort) -> &'static InterfaceDescriptor {
    // A port without an interface is not taken in (`ComponentServices::checked`).
    static NONE: InterfaceDescriptor = InterfaceDescriptor {
        name: cca_abi::RStr::from_str(""),
        version: cca_abi::RStr::from_str(""),
        hash: 0,
        vtable_size: 0,
        methods: cca_abi::RSlice::from_slice(&[]),
        layouts: cca_abi::RSlice::from_slice(&[]),
        new_proxy: None,
    };
    port.interface.get().unwrap_or(&NONE)
}

/// Whether a provided port is what a user was compiled against: name, version, hash, size, and the types passed.
fn fits(
    connection: &ConnectionId,
    expected: &'static InterfaceDescriptor,
    provided: &OwnedPort,
) -> Result<(), FrameworkError> {
    let found = interface_of(provided);
    let mismatch = |found: String, expected: String| FrameworkError::TypeMismatch {
        connection: Box::new(connection.clone()),
        found,
        expected,
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

fn unconnected(state: &State) -> Vec<(String, String, String)> {
    let ports = state.instances.iter().flat_map(|(instance, entry)| {
        entry
            .uses
            .iter()
            .map(move |(name, uses)| (instance, name, uses))
    });
    ports
        .filter(|(_, _, uses)| uses.connection.is_none())
        .map(|(instance, name, uses)| {
            (
                instance.clone(),
                name.clone(),
                uses.interface.name.to_string(),
            )
        })
        .collect()
}

fn info(name: &str, entry: &Entry) -> InstanceInfo {
    let provides = entry.provides.iter().map(|(name, port)| PortInfo {
        name: name.clone(),
        interface: interface_of(port),
    });
    let uses = entry.uses.iter().map(|(name, uses)| PortInfo {
        name: name.clone(),
        interface: uses.interface,
    });
    InstanceInfo {
        name: name.into(),
        class: entry.class.clone(),
        version: entry.version.clone(),
        library: entry.library.clone(),
        provides: provides.collect(),
        uses: uses.collect(),
    }
}
