//! Services: ports that are connected to unconnected uses ports of their interface.
//!
//! An assembly does not mention the communicator, the builder or the measurement; it would have to
//! in every file. Instead an interface may have one service, and a uses port that the assembly
//! leaves unconnected is led to the service of its interface, either when the application starts
//! (`connect_defaults`) or at the first `get_port`. A service is a port of an instance, one port
//! for all users, a `cca.ServiceProvider` that makes a port for each user, or a port of the
//! framework itself.
//!
//! ```text
//! driver.comm  (uses cca.Comm, not in [connections])
//!    └─ services["cca.Comm"] = Port("@comm", ...)   ->  connected to @comm
//! ```
//!
//! Ports are made and connected without the lock, since a provider is component code. Another
//! thread may therefore connect the port in between; that counts as success.

use std::sync::{Arc, Weak};

use cca_abi::{Interface, InterfaceDescriptor, OwnedPort, ProvidedBy};
use cca_ports::{
    AbstractFrameworkPort, BuilderServicePort, CommPort, ComponentId, ComponentReleasePort,
    ComponentRepositoryPort, ConnectionEventListenerPort, ConnectionEventServicePort, CounterPort,
    GoPort, MeasurementPort, ParameterListenerPort, ParameterPort, PerfModelPort, PerfParamPort,
    ProgressPort, ReplacementServicePort, ServiceProviderPort, ServiceRegistryPort,
    StatefulComponentPort,
};

use crate::connections::ConnectionId;
use crate::error::FrameworkError;
use crate::framework::{Framework, call_provided, interface_of};
use crate::framework_ports::FrameworkPorts;
use crate::plain_framework::{PlainFrameworkPort, PlainListenerPort};
use crate::services::Shared;
use crate::state::{FRAMEWORK, OWN_MARK, Provided, State};

/// The instance through which components get at MPI in Ccaffeine's scripts.
///
/// # Source
/// Ccaffeine, `ccafe6.MPIComponent`, `initialize`: "This will appear in the frame as an MPISetup component".
const MPI_SETUP: &str = "MPISetup";

/// The provider of an interface for all uses ports of it that nothing else is connected to.
#[derive(Clone)]
pub enum Service {
    /// A provides port of an instance.
    Port(String, String),
    /// One port for all.
    Singleton(Arc<Provided>),
    /// A `cca.ServiceProvider` that makes a port for each.
    Provider(Arc<Provided>),
    /// The framework itself.
    Own(fn(Weak<Shared>) -> OwnedPort),
}

fn own<P>(framework: Weak<Shared>) -> OwnedPort
where
    P: ProvidedBy<FrameworkPorts> + ?Sized,
{
    P::provide(Arc::new(FrameworkPorts::new(framework)))
}

/// The ports that the framework provides itself.
pub fn add_own_services(state: &mut State) {
    let mut add = |interface: &'static InterfaceDescriptor, make: fn(Weak<Shared>) -> OwnedPort| {
        let name = interface.name.to_string();
        state.services.insert(name, Service::Own(make));
    };
    add(
        <dyn BuilderServicePort>::descriptor(),
        own::<dyn BuilderServicePort>,
    );
    add(
        <dyn AbstractFrameworkPort>::descriptor(),
        own::<dyn AbstractFrameworkPort>,
    );
    add(
        <dyn ComponentRepositoryPort>::descriptor(),
        own::<dyn ComponentRepositoryPort>,
    );
    add(
        <dyn ConnectionEventServicePort>::descriptor(),
        own::<dyn ConnectionEventServicePort>,
    );
    add(
        <dyn PlainFrameworkPort>::descriptor(),
        crate::plain_framework::provide,
    );
    add(
        <dyn ReplacementServicePort>::descriptor(),
        own::<dyn ReplacementServicePort>,
    );
    add(
        <dyn ServiceRegistryPort>::descriptor(),
        own::<dyn ServiceRegistryPort>,
    );
}

/// Takes note of the standard ports, so that a proxy of them can be made between components in C too.
pub fn know_standard_interfaces(state: &mut State) {
    let interfaces = [
        <dyn AbstractFrameworkPort>::descriptor(),
        <dyn BuilderServicePort>::descriptor(),
        <dyn CommPort>::descriptor(),
        <dyn ComponentReleasePort>::descriptor(),
        <dyn ComponentRepositoryPort>::descriptor(),
        <dyn ConnectionEventListenerPort>::descriptor(),
        <dyn ConnectionEventServicePort>::descriptor(),
        <dyn CounterPort>::descriptor(),
        <dyn GoPort>::descriptor(),
        <dyn MeasurementPort>::descriptor(),
        <dyn ParameterListenerPort>::descriptor(),
        <dyn ParameterPort>::descriptor(),
        <dyn PerfModelPort>::descriptor(),
        <dyn PerfParamPort>::descriptor(),
        <dyn PlainFrameworkPort>::descriptor(),
        <dyn PlainListenerPort>::descriptor(),
        <dyn ProgressPort>::descriptor(),
        <dyn ReplacementServicePort>::descriptor(),
        <dyn ServiceProviderPort>::descriptor(),
        <dyn ServiceRegistryPort>::descriptor(),
        <dyn StatefulComponentPort>::descriptor(),
    ];
    interfaces
        .into_iter()
        .for_each(|interface| state.know_interface(interface));
}

impl Framework {
    /// Names the provider of an interface for every uses port of it that an assembly leaves unconnected, such as the
    /// communicator; in place of a service that the interface had.
    ///
    /// # Errors
    /// An unknown instance or port.
    pub fn provide_by_default(&self, instance: &str, port: &str) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let interface = interface_of(&state.provides(instance, port)?.port).name;
        let service = Service::Port(instance.into(), port.into());
        let old = state.services.insert(interface.to_string(), service);
        state.all_unserved();
        drop(state);
        // Its destructor may be component code, so it runs without the lock.
        drop(old);
        Ok(())
    }

    /// Adds a provider of an interface, a port of interface `cca.ServiceProvider`.
    ///
    /// # Errors
    /// The interface has a service already; the port is of another interface.
    pub fn add_service(&self, interface: &str, provider: OwnedPort) -> Result<(), FrameworkError> {
        let provider = Provided::own(provider);
        call_provided::<dyn ServiceProviderPort, _>(&provider, FRAMEWORK, |_| ())?;
        self.offer(interface, Service::Provider(provider))
    }

    /// Adds one port for all users of its interface.
    ///
    /// # Errors
    /// The interface has a service already; the port has no interface.
    pub fn add_singleton_service(&self, port: OwnedPort) -> Result<(), FrameworkError> {
        let interface = interface_of(&port).name.to_string();
        if interface.is_empty() || port.port.vtable.is_null() {
            return Err(FrameworkError::BadPort {
                instance: FRAMEWORK.into(),
                port: interface,
                what: "no interface or no table of functions, expected both".into(),
            });
        }
        self.offer(&interface, Service::Singleton(Provided::of_service(port)))
    }

    fn offer(&self, interface: &str, service: Service) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        if state.services.contains_key(interface) {
            return Err(FrameworkError::ServiceExists {
                interface: interface.into(),
            });
        }
        state.services.insert(interface.into(), service);
        state.all_unserved();
        Ok(())
    }

    /// Removes the service of an interface; present users keep it.
    ///
    /// # Errors
    /// The interface has no service.
    pub fn remove_service(&self, interface: &str) -> Result<(), FrameworkError> {
        let removed = self.shared.lock().services.remove(interface);
        removed
            .map(drop)
            .ok_or_else(|| FrameworkError::UnknownService {
                interface: interface.into(),
            })
    }

    /// Connects every uses port that has a service and is not connected. Instances in which nothing has changed since the last time
    /// are not visited, so that an assembly that grows between many starts costs no more than its growth.
    ///
    /// # Errors
    /// Ends that do not fit; a provider of a service that fails. The rest is tried the next time.
    pub fn connect_defaults(&self) -> Result<(), FrameworkError> {
        // Taken out at once: connecting may run component code, and instances that it changes are
        // noted anew.
        let unserved = std::mem::take(&mut self.shared.lock().unserved);
        let connected = unserved
            .iter()
            .try_for_each(|user| self.connect_services_of(user));
        if connected.is_err() {
            self.shared.lock().unserved.extend(unserved);
        }
        connected
    }

    /// Connects each unconnected uses port of an instance to its service, if it has one; does nothing if the instance is gone.
    fn connect_services_of(&self, user: &str) -> Result<(), FrameworkError> {
        let (id, free) = {
            let state = self.shared.lock();
            let Some(entry) = state.instances.get(user) else {
                return Ok(());
            };
            let free = entry.uses.iter().filter(|(_, u)| u.connection.is_none());
            let free: Vec<_> = free.map(|(port, _)| port.clone()).collect();
            (state.id(user), free)
        };
        free.iter()
            .try_for_each(|port| self.connect_service(&id, port).map(drop))
    }

    /// The instance and port that a word means as the provider of a uses port, if no instance has that name: a service
    /// of the program's, such as `comm`, or `MPISetup`, Ccaffeine's name for the communicator of all ranks.
    ///
    /// # Returns
    /// `None` if it is the name of an instance, or means nothing.
    pub fn service_named(&self, word: &str, port: &str) -> Option<(String, String)> {
        let state = self.shared.lock();
        if state.instances.contains_key(word) {
            return None;
        }
        let own = format!("{OWN_MARK}{word}");
        if state.instances.contains_key(&own) {
            return Some((own, port.into()));
        }
        let interface = <dyn CommPort>::descriptor().name;
        match state.services.get(interface.as_str()) {
            Some(Service::Port(instance, port)) if word == MPI_SETUP => {
                Some((instance.clone(), port.clone()))
            }
            _ => None,
        }
    }

    /// Leads a uses port to the service of its interface, if there is one.
    ///
    /// # Errors
    /// As [`Framework::connect_defaults`].
    pub(crate) fn connect_service(
        &self,
        user: &ComponentId,
        uses: &str,
    ) -> Result<bool, FrameworkError> {
        let (interface, service) = {
            let state = self.shared.lock();
            let entry = state.entry(user)?;
            let interface = entry.uses_port(&user.name, uses)?.interface.name;
            (interface, state.services.get(interface.as_str()).cloned())
        };
        let connection = |provider: &str, provides: &str| ConnectionId {
            user: user.name.to_string(),
            uses: uses.into(),
            provider: provider.into(),
            provides: provides.into(),
        };
        let own = connection(FRAMEWORK, &interface);
        let connected = match service {
            None => return Ok(false),
            Some(Service::Port(instance, port)) => {
                let provided = Arc::clone(&self.shared.lock().provides(&instance, &port)?.port);
                self.connect_to(user, &connection(&instance, &port), &provided)
            }
            Some(Service::Singleton(port)) => self.connect_to(user, &own, &port),
            Some(Service::Own(make)) => {
                let port = make(Arc::downgrade(&self.shared));
                self.connect_to(user, &own, &Provided::own(port))
            }
            Some(Service::Provider(provider)) => {
                // The provider is component code, called without the lock.
                let made =
                    call_provided::<dyn ServiceProviderPort, _>(&provider, FRAMEWORK, |p| {
                        p.create_service(user.name.as_str().into(), uses.into())
                    })?;
                let port = made.map_err(|source| FrameworkError::Port {
                    act: format!(
                        "create service \"{interface}\" for \"{}.{uses}\"",
                        user.name
                    ),
                    source,
                })?;
                self.connect_to(user, &own, &Provided::of_service(port))
            }
        };
        match connected {
            // Another thread was faster.
            Err(FrameworkError::AlreadyConnected { .. }) => Ok(true),
            connected => connected.map(|()| true),
        }
    }
}
