//! Services: ports that are led to whoever uses their interface and was not connected otherwise.

use std::sync::{Arc, Weak};

use cca_abi::{Interface, InterfaceDescriptor, OwnedPort, ProvidedBy};
use cca_ports::{
    AbstractFrameworkPort, BuilderServicePort, ComponentId, ComponentRepositoryPort,
    ConnectionEventServicePort, ReplacementServicePort, ServiceProviderPort, ServiceRegistryPort,
};

use crate::connections::ConnectionId;
use crate::error::FrameworkError;
use crate::framework::{Framework, call_provided, interface_of};
use crate::framework_ports::FrameworkPorts;
use crate::services::Shared;
use crate::state::{FRAMEWORK, Provided, State};

/// Who serves an interface.
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
    let mut add = |interface: &'static InterfaceDescriptor, make| {
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
        <dyn ReplacementServicePort>::descriptor(),
        own::<dyn ReplacementServicePort>,
    );
    add(
        <dyn ServiceRegistryPort>::descriptor(),
        own::<dyn ServiceRegistryPort>,
    );
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
        drop(state);
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

    /// Adds one port for all who use its interface.
    ///
    /// # Errors
    /// The interface has a service already; the port has none.
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
        Ok(())
    }

    /// Takes the service of an interface away; who has it keeps it.
    ///
    /// # Errors
    /// The interface has none.
    pub fn remove_service(&self, interface: &str) -> Result<(), FrameworkError> {
        let removed = self.shared.lock().services.remove(interface);
        removed
            .map(drop)
            .ok_or_else(|| FrameworkError::UnknownService {
                interface: interface.into(),
            })
    }

    /// Connects every uses port that has a service and is not connected.
    ///
    /// # Errors
    /// Ends that do not fit; a provider of a service that fails.
    pub fn connect_defaults(&self) -> Result<(), FrameworkError> {
        for (user, uses, _) in self.unconnected() {
            let user = self.component_id(&user)?;
            self.connect_service(&user, &uses)?;
        }
        Ok(())
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
            // Somebody else was faster.
            Err(FrameworkError::AlreadyConnected { .. }) => Ok(true),
            connected => connected.map(|()| true),
        }
    }
}
