//! A framework: makes instances of classes, and takes them apart again.
//!
//! # The life of an instance
//!
//! An entry under the instance's name comes first, so that the component finds itself in the
//! framework when its `set_services` registers ports. If that fails, the entry is removed again.
//! Component code runs only while the framework's lock is free: it may call back into the framework
//! at any point. The end has a fixed order for the same reason, since an instance may be called by
//! another until the last connection is gone.
//!
//! ```text
//! create_instance:  entry  ->  Class::create  ->  set_services (registers ports)
//! destroy_instance: refuse new connections  ->  disconnect  ->  release  ->  drop
//! shutdown:         release, last made first  ->  all connections  ->  dispatchers  ->  drop
//! ```
//!
//! [`Framework`] is a handle: several may share one state, and only the owner's drop ends it. The
//! state itself is in `state.rs`, connections in `connections.rs`, the port that components call in
//! `services.rs`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cca_abi::{
    ConnectedPort, Interface, InterfaceDescriptor, OwnedPort, ProvidedBy, Slot, SlotPointer,
};
use cca_loader::Class;
use cca_ports::{ComponentId, ComponentReleasePort, Services, ServicesPort, TypeMap};

use crate::connections::{ConnectionId, fits};
use crate::connector::Target;
use crate::error::FrameworkError;
use crate::lead::straight_target;
use crate::services::{ComponentServices, PlainServices, Shared};
use crate::state::{ClassOrigin, Connection, Entry, FRAMEWORK, Provided, Uses, good_name, is_own};

/// A framework (`gov.cca.AbstractFramework`). Dropping it shuts it down: it releases and destroys the components,
/// last made first.
pub struct Framework {
    pub(crate) shared: Arc<Shared>,
    is_owner: bool,
}

/// An instance at the moment of the query: its class and library, and the ports that it has
/// registered so far.
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

impl std::fmt::Debug for Framework {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Framework").finish_non_exhaustive()
    }
}

impl Default for Framework {
    fn default() -> Self {
        let framework = Framework {
            shared: Arc::default(),
            is_owner: true,
        };
        {
            let mut state = framework.shared.lock();
            crate::service_registry::add_own_services(&mut state);
            crate::service_registry::know_standard_interfaces(&mut state);
        }
        framework
    }
}

impl Framework {
    /// A framework without instances.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another handle to this framework, which does not end it when it is dropped.
    #[must_use]
    pub fn another_handle(&self) -> Self {
        Self::handle(Arc::clone(&self.shared))
    }

    /// A handle to a framework that has another owner.
    pub(crate) fn handle(shared: Arc<Shared>) -> Self {
        Framework {
            shared,
            is_owner: false,
        }
    }

    /// Makes an instance of a class and has it register its ports.
    ///
    /// # Errors
    /// The name is bad or taken; the class's, a panic's included. The instance is then not there.
    pub fn create_instance(&self, name: &str, class: &Class) -> Result<(), FrameworkError> {
        self.create_instance_with(name, class, TypeMap::default())
    }

    /// As [`Framework::create_instance`], with properties.
    ///
    /// # Errors
    /// As [`Framework::create_instance`].
    pub fn create_instance_with(
        &self,
        name: &str,
        class: &Class,
        properties: TypeMap,
    ) -> Result<(), FrameworkError> {
        let id = self.add_entry(name, origin_of(class), properties)?;
        // The entry exists before the component does, so that `set_services` can register ports in
        // it.
        let created = self.start_instance(&id, class);
        if created.is_err() {
            self.remove_entry(&id);
        }
        created
    }

    /// Makes the component of an entry and has it register its ports.
    pub(crate) fn start_instance(
        &self,
        id: &ComponentId,
        class: &Class,
    ) -> Result<(), FrameworkError> {
        let name = id.name.as_str();
        let component = class
            .create(name)
            .map_err(|source| FrameworkError::Create {
                instance: name.into(),
                source,
            })?;
        let component = Arc::new(component);
        self.shared.lock().entry_mut(id)?.component = Some(Arc::clone(&component));
        // Its reference is never released: a component, or a thread that it left behind, may keep its services longer
        // than the framework lives, and then gets an error from them.
        let services = std::mem::ManuallyDrop::new(self.services_of(id));
        // SAFETY: the services object is never freed.
        let set = unsafe { component.set_services(services.port) };
        set.map_err(|source| FrameworkError::SetServices {
            instance: name.into(),
            class: class.name().into(),
            source,
        })
    }

    /// Services for the program that holds the framework, so that it takes part as an instance of its own
    /// (`AbstractFramework.getServices`). One whose name begins with `@` is out of reach of components.
    ///
    /// # Errors
    /// The name is bad or taken.
    pub fn services(
        &self,
        name: &str,
        class: &str,
        version: &str,
    ) -> Result<Services, FrameworkError> {
        let origin = ClassOrigin {
            class: class.into(),
            version: version.into(),
            library: None,
        };
        let id = self.add_entry(name, origin, TypeMap::default())?;
        let port = std::mem::ManuallyDrop::new(self.services_of(&id));
        // SAFETY: a `cca.Services` port whose object is never freed, as in `start_instance`.
        Ok(unsafe { Services::new(port.port) })
    }

    /// As [`Framework::services`], as a port that may cross the border.
    pub(crate) fn services_port(
        &self,
        name: &str,
        class: &str,
        properties: TypeMap,
    ) -> Result<OwnedPort, FrameworkError> {
        refuse_own(name)?;
        let origin = ClassOrigin {
            class: class.into(),
            version: String::new(),
            library: None,
        };
        let id = self.add_entry(name, origin, properties)?;
        Ok(self.services_of(&id))
    }

    /// The services of an instance, as a port.
    fn services_of(&self, id: &ComponentId) -> OwnedPort {
        <dyn ServicesPort>::provide(Arc::new(ComponentServices {
            framework: Arc::downgrade(&self.shared),
            id: id.clone(),
            plain: PlainServices::default(),
        }))
    }

    pub(crate) fn add_entry(
        &self,
        name: &str,
        class: ClassOrigin,
        properties: TypeMap,
    ) -> Result<ComponentId, FrameworkError> {
        let instance = || name.to_string();
        if !good_name(name) {
            let instance = instance();
            return Err(FrameworkError::BadInstanceName { instance });
        }
        let mut state = self.shared.lock();
        if state.is_shut_down {
            return Err(FrameworkError::ShutDown);
        }
        if name == FRAMEWORK || state.instances.contains_key(name) {
            let instance = instance();
            return Err(FrameworkError::InstanceExists { instance });
        }
        let id = ComponentId {
            name: name.into(),
            serial: state.next_serial(name),
        };
        let entry = Entry::new(id.serial, class, properties);
        state.instances.insert(name.into(), entry);
        Ok(id)
    }

    pub(crate) fn remove_entry(&self, id: &ComponentId) {
        let removed = {
            let mut state = self.shared.lock();
            state.order.remove(&id.serial);
            match state.exactly(id) {
                Ok(_) => state.instances.remove(id.name.as_str()),
                Err(_) => state.namesakes.remove(&id.serial),
            }
        };
        // Component code may run here, without the lock.
        drop(removed);
    }

    /// Ends an instance's connections, releases it, and destroys it; the others continue. Also ends the part of a
    /// program that got its services by that name (`AbstractFramework.releaseServices`).
    ///
    /// # Errors
    /// No such instance; a port of it, or of an instance that uses it, still in use after
    /// `timeout`.
    pub fn destroy_instance(&self, name: &str, timeout: Duration) -> Result<(), FrameworkError> {
        let id = self.component_id(name)?;
        let started = Instant::now();
        // From here on nobody can connect to it; if a connection stays in use, this is undone.
        within(timeout, || self.begin_to_end(&id))?;
        for connection in self.connections_of(&[name]) {
            // A component that got the port meanwhile has the rest of the time to release it.
            let rest = timeout.saturating_sub(started.elapsed());
            if let Err(error) = self.disconnect_within(&connection.user, &connection.uses, rest) {
                if let Ok(entry) = self.shared.lock().instance_mut(name) {
                    entry.is_ending = false;
                }
                return Err(error);
            }
        }
        self.say_goodbye(&id);
        self.remove_entry(&id);
        Ok(())
    }

    /// Refuses further connections to an instance, if no caller is inside it.
    fn begin_to_end(&self, id: &ComponentId) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let entry = state.exactly(id)?;
        let in_use = |instance: &str, port: &str| FrameworkError::InUse {
            instance: instance.into(),
            port: port.into(),
        };
        if let Some((port, _)) = entry.uses.iter().find(|(_, u)| u.connector.is_in_use()) {
            return Err(in_use(&id.name, port));
        }
        let users = entry.provides.values().flat_map(|provides| &provides.users);
        for (user, uses) in users {
            if state.uses(user, uses)?.connector.is_in_use() {
                return Err(in_use(user, uses));
            }
        }
        state.instance_mut(&id.name)?.is_ending = true;
        Ok(())
    }

    /// A component that fails to release itself is destroyed all the same; the failure has no
    /// recipient.
    pub(crate) fn say_goodbye(&self, id: &ComponentId) {
        let (component, releases) = match self.shared.lock().entry_mut(id) {
            Ok(entry) => (entry.component.clone(), std::mem::take(&mut entry.releases)),
            Err(_) => return,
        };
        for release in releases.iter().rev() {
            let _ = call_provided::<dyn ComponentReleasePort, _>(release, &id.name, |port| {
                port.release_services()
            });
        }
        if let Some(component) = component {
            let _ = component.release_services();
        }
    }

    /// Releases and destroys all components, last made first; nothing can be added any more.
    ///
    /// # Errors
    /// A port is in use; nothing is then done.
    pub fn shutdown_framework(&self) -> Result<(), FrameworkError> {
        {
            let mut state = self.shared.lock();
            for (instance, entry) in state
                .instances
                .iter()
                .filter(|(_, e)| e.dispatching.is_none())
            {
                if let Some((port, _)) = entry.uses.iter().find(|(_, u)| u.connector.is_in_use()) {
                    let (instance, port) = (instance.clone(), port.clone());
                    return Err(FrameworkError::InUse { instance, port });
                }
            }
            state.is_shut_down = true;
        }
        self.end();
        Ok(())
    }

    /// Another framework, without instances; the two do not meet. It is monitored as this one is: a monitor knows its
    /// instances by their names after `framework1/`, counted up.
    pub fn create_empty_framework(&self) -> Framework {
        let other = Framework::new();
        let mut state = self.shared.lock();
        // Frameworks that have ended leave a dead weak reference.
        state.children.retain(|child| child.strong_count() > 0);
        state.n_children += 1;
        {
            let mut new = other.shared.lock();
            new.label = format!("{}{FRAMEWORK}{}/", state.label, state.n_children);
            new.monitoring = state.monitoring.clone();
            new.describes = state.describes.clone();
        }
        state.children.push(Arc::downgrade(&other.shared));
        drop(state);
        other
    }

    /// A map without properties.
    pub fn create_type_map(&self) -> TypeMap {
        TypeMap::default()
    }

    fn end(&self) {
        let order = {
            let mut state = self.shared.lock();
            state.is_shut_down = true;
            std::mem::take(&mut state.order)
        };
        let ids = order.iter().rev().map(|(serial, name)| ComponentId {
            name: name.as_str().into(),
            serial: *serial,
        });
        ids.clone().for_each(|id| self.say_goodbye(&id));
        // Connections first, so that no component is destroyed while another leads to it.
        let mut unreachable = Vec::new();
        let (services, listeners, monitoring) = {
            let mut state = self.shared.lock();
            state.is_closed = true;
            for entry in state
                .entries_mut()
                .filter(|entry| entry.dispatching.is_none())
            {
                entry.provides.values_mut().for_each(|p| p.users.clear());
                for uses in entry.uses.values_mut() {
                    unreachable.push(end_connection(uses));
                }
            }
            (
                std::mem::take(&mut state.services),
                std::mem::take(&mut state.listeners),
                state.monitoring.take(),
            )
        };
        drop((unreachable, services, listeners));
        // Dispatchers last: their callers' connections had to end before it is certain that no
        // caller is inside one.
        let unreachable = self.end_dispatchers();
        drop(unreachable);
        ids.for_each(|id| self.remove_entry(&id));
        drop(monitoring);
    }

    /// Ends the connections of dispatchers, after those of all others: no caller is inside a dispatcher whose port only
    /// its entry keeps.
    fn end_dispatchers(&self) -> Vec<(Option<Connection>, Vec<Arc<Target>>)> {
        let mut state = self.shared.lock();
        let mut unreachable = Vec::new();
        for entry in state.entries_mut() {
            let Some(dispatching) = &entry.dispatching else {
                continue;
            };
            entry.provides.values_mut().for_each(|p| p.users.clear());
            let is_left = dispatching.n_ports() <= 1
                && entry
                    .provides
                    .values()
                    .all(|p| Arc::strong_count(&p.port) == 1);
            for uses in entry.uses.values_mut() {
                if is_left {
                    unreachable.extend(uses.connector.release().map(|targets| (None, targets)));
                }
                unreachable.push(end_connection(uses));
            }
        }
        unreachable
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

    /// One instance.
    ///
    /// # Errors
    /// No instance has that name.
    pub fn instance(&self, name: &str) -> Result<InstanceInfo, FrameworkError> {
        let state = self.shared.lock();
        Ok(info(name, state.instance(name)?))
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
        let provided = Arc::clone(&self.shared.lock().provides(instance, port)?.port);
        let connection = ConnectionId {
            user: FRAMEWORK.into(),
            uses: port.into(),
            provider: instance.into(),
            provides: port.into(),
        };
        fits(&connection, P::descriptor(), &provided)?;
        Ok(call::<P, R>(&provided, work))
    }
}

/// Names of the program's own instances are for the program only.
pub(crate) fn refuse_own(name: &str) -> Result<(), FrameworkError> {
    match is_own(name) {
        true => Err(FrameworkError::BadInstanceName {
            instance: name.into(),
        }),
        false => Ok(()),
    }
}

/// Calls a port that was passed as a value.
///
/// # Errors
/// It is of another interface.
pub(crate) fn call_provided<P: Interface + ?Sized, R>(
    provided: &Arc<Provided>,
    from: &str,
    work: impl FnOnce(&P::Stub) -> R,
) -> Result<R, FrameworkError> {
    let name = P::descriptor().name.to_string();
    let connection = ConnectionId {
        user: FRAMEWORK.into(),
        uses: name.clone(),
        provider: from.into(),
        provides: name,
    };
    fits(&connection, P::descriptor(), provided)?;
    Ok(call::<P, R>(provided, work))
}

/// Calls a port that is known to be of interface `P`.
fn call<P: Interface + ?Sized, R>(provided: &Arc<Provided>, work: impl FnOnce(&P::Stub) -> R) -> R {
    let provided = Arc::clone(provided);
    // A caller outside of all instances needs a slot as well, since stubs call through one.
    let mut pair = ConnectedPort::unnamed(provided.port);
    let slot = Slot::unconnected();
    slot.replace(&raw mut pair);
    // SAFETY: slot, pair and the share of the provider outlive the stub, which does not leave this function.
    let stub = P::stub(unsafe { SlotPointer::new(&slot) });
    work(&stub)
}

/// Tries until it is no longer refused because of a port in use, or the time is over.
pub(crate) fn within<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> Result<T, FrameworkError>,
) -> Result<T, FrameworkError> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(FrameworkError::InUse { .. }) if started.elapsed() < timeout => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

/// Ends the connection of a uses port. A component's thread that has not released it may still call: it continues to
/// call the provider, unmonitored, and neither the provider nor a proxy that it may be inside is ever freed.
pub(crate) fn end_connection(uses: &mut Uses) -> (Option<Connection>, Vec<Arc<Target>>) {
    let connection = uses.connection.take();
    if !uses.connector.is_in_use() {
        let unreachable = uses.connector.point_to(None);
        return (connection, unreachable);
    }
    let last = connection
        .as_ref()
        .map(|c| straight_target(&c.provider, &c.provided));
    uses.connector.abandon(last);
    (connection, Vec::new())
}

pub(crate) fn origin_of(class: &Class) -> ClassOrigin {
    ClassOrigin {
        class: class.name().into(),
        version: class.version().into(),
        library: Some(class.library().into()),
    }
}

impl Drop for Framework {
    fn drop(&mut self) {
        if self.is_owner {
            self.end();
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
        new_dispatcher: None,
    };
    port.interface.get().unwrap_or(&NONE)
}

fn info(name: &str, entry: &Entry) -> InstanceInfo {
    let provides = entry.provides.iter().map(|(name, provides)| PortInfo {
        name: name.clone(),
        interface: interface_of(&provides.port),
    });
    let uses = entry.uses.iter().map(|(name, uses)| PortInfo {
        name: name.clone(),
        interface: uses.interface,
    });
    InstanceInfo {
        name: name.into(),
        class: entry.class.class.clone(),
        version: entry.class.version.clone(),
        library: entry.class.library.clone(),
        provides: provides.collect(),
        uses: uses.collect(),
    }
}
