//! The framework as components see it: its own ports, which it connects to every uses port of their
//! interfaces.

use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use cca_abi::{OwnedPort, PortError, ProvidedBy, RStr, RString, RVec};
use cca_ports::{
    AbstractFrameworkPort, BuilderServicePort, ComponentClassDescription, ComponentId,
    ComponentRepositoryPort, ConnectionEventKind, ConnectionEventServicePort, PortConnection,
    ReplacementServicePort, ServiceRegistryPort, TypeMap,
};

use crate::connections::ConnectionId;
use crate::error::FrameworkError;
use crate::events::port_connection;
use crate::framework::{Framework, InstanceInfo, PortInfo};
use crate::services::Shared;
use crate::state::is_own;

/// Providers of the framework's own ports.
pub struct FrameworkPorts {
    shared: Weak<Shared>,
    // Of a framework made through a port: it ends with the port.
    _owned: Option<Framework>,
}

impl FrameworkPorts {
    pub fn new(shared: Weak<Shared>) -> Self {
        FrameworkPorts {
            shared,
            _owned: None,
        }
    }

    fn framework(&self) -> Result<Framework, PortError> {
        let shared = self.shared.upgrade();
        let shared = shared.ok_or_else(|| PortError::failed("the framework is gone"))?;
        Ok(Framework::handle(shared))
    }

    /// The ports of another framework, which ends with them, and a reference to it.
    pub fn empty_framework(&self) -> Result<(FrameworkPorts, Weak<Shared>), PortError> {
        let framework = self.framework()?.create_empty_framework();
        let shared = std::sync::Arc::downgrade(&framework.shared);
        let ports = FrameworkPorts {
            shared: Weak::clone(&shared),
            _owned: Some(framework),
        };
        Ok((ports, shared))
    }

    /// The framework, and the name of an instance that is the one meant.
    fn named(&self, id: &ComponentId) -> Result<(Framework, String), PortError> {
        let framework = self.framework()?;
        framework.shared.lock().exactly(id)?;
        refuse_reach(&framework, &id.name)?;
        Ok((framework, id.name.to_string()))
    }

    fn instance(&self, id: &ComponentId) -> Result<InstanceInfo, PortError> {
        let (framework, name) = self.named(id)?;
        Ok(framework.instance(&name)?)
    }

    /// The framework, if the connection is as described.
    fn connected(&self, connection: &PortConnection) -> Result<Framework, PortError> {
        let (framework, user) = self.named(&connection.user)?;
        let found = framework.connection(&user, &connection.uses)?;
        let same = port_connection(&framework.shared.lock(), &found) == *connection;
        if same {
            return Ok(framework);
        }
        Err(FrameworkError::NotConnected {
            instance: user,
            port: connection.uses.to_string(),
        }
        .into())
    }
}

/// The program's own instances are not there for components.
fn refuse_reach(framework: &Framework, instance: &str) -> Result<(), FrameworkError> {
    match is_own(instance) {
        true => Err(framework.shared.lock().unknown(instance)),
        false => Ok(()),
    }
}

fn port_names(ports: &[PortInfo]) -> RVec<RString> {
    let names = ports.iter().map(|port| RString::from(port.name.as_str()));
    names.collect()
}

/// Seconds to wait; zero for an invalid time.
fn timeout(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

impl BuilderServicePort for FrameworkPorts {
    fn create_instance(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: TypeMap,
    ) -> Result<ComponentId, PortError> {
        let framework = self.framework()?;
        let name = framework.create_instance_of(&instance, &class, properties)?;
        Ok(framework.component_id(&name)?)
    }

    fn get_component_ids(&self) -> Result<RVec<ComponentId>, PortError> {
        let ids = self.framework()?.component_ids().into_iter();
        Ok(ids.filter(|id| !is_own(&id.name)).collect())
    }

    fn get_component_properties(&self, component: ComponentId) -> Result<TypeMap, PortError> {
        let (framework, name) = self.named(&component)?;
        Ok(framework.component_properties(&name)?)
    }

    fn set_component_properties(
        &self,
        component: ComponentId,
        properties: TypeMap,
    ) -> Result<(), PortError> {
        let (framework, name) = self.named(&component)?;
        Ok(framework.set_component_properties(&name, properties)?)
    }

    fn get_deserialization(&self, text: RStr<'_>) -> Result<ComponentId, PortError> {
        let parts = text.rsplit_once('#');
        let id = parts.and_then(|(name, serial)| {
            let serial = serial.parse().ok()?;
            let name = name.into();
            Some(ComponentId { name, serial })
        });
        let id = id.ok_or_else(|| {
            PortError::failed(format_args!(
                "cannot read component \"{text}\": no number, expected NAME#NUMBER"
            ))
        })?;
        self.named(&id).map(|_| id)
    }

    fn get_component_id(&self, instance: RStr<'_>) -> Result<ComponentId, PortError> {
        let framework = self.framework()?;
        refuse_reach(&framework, &instance)?;
        Ok(framework.component_id(&instance)?)
    }

    fn destroy_instance(&self, component: ComponentId, timeout_s: f64) -> Result<(), PortError> {
        let (framework, name) = self.named(&component)?;
        Ok(framework.destroy_instance(&name, timeout(timeout_s))?)
    }

    fn get_provided_port_names(&self, component: ComponentId) -> Result<RVec<RString>, PortError> {
        Ok(port_names(&self.instance(&component)?.provides))
    }

    fn get_used_port_names(&self, component: ComponentId) -> Result<RVec<RString>, PortError> {
        Ok(port_names(&self.instance(&component)?.uses))
    }

    fn get_port_properties(
        &self,
        component: ComponentId,
        port: RStr<'_>,
    ) -> Result<TypeMap, PortError> {
        let (framework, name) = self.named(&component)?;
        Ok(framework.port_properties(&name, &port)?)
    }

    fn set_port_properties(
        &self,
        component: ComponentId,
        port: RStr<'_>,
        properties: TypeMap,
    ) -> Result<(), PortError> {
        let (framework, name) = self.named(&component)?;
        Ok(framework.set_port_properties(&name, &port, properties)?)
    }

    fn connect(
        &self,
        user: ComponentId,
        uses: RStr<'_>,
        provider: ComponentId,
        provides: RStr<'_>,
    ) -> Result<PortConnection, PortError> {
        let (framework, user_name) = self.named(&user)?;
        let (_, provider_name) = self.named(&provider)?;
        framework.connect(&ConnectionId {
            user: user_name,
            uses: uses.into(),
            provider: provider_name,
            provides: provides.into(),
        })?;
        Ok(PortConnection {
            user,
            uses: uses.into(),
            provider,
            provides: provides.into(),
        })
    }

    fn get_connection_ids(
        &self,
        components: RVec<ComponentId>,
    ) -> Result<RVec<PortConnection>, PortError> {
        let framework = self.framework()?;
        let connections = if components.is_empty() {
            framework.connections()
        } else {
            components
                .iter()
                .try_for_each(|id| self.named(id).map(drop))?;
            let names: Vec<_> = components.iter().map(|id| id.name.as_str()).collect();
            framework.connections_of(&names)
        };
        let state = framework.shared.lock();
        let is_visible = |c: &&ConnectionId| !is_own(&c.user) && !is_own(&c.provider);
        let connections = connections.iter().filter(is_visible);
        Ok(connections.map(|c| port_connection(&state, c)).collect())
    }

    fn get_connection_properties(&self, connection: PortConnection) -> Result<TypeMap, PortError> {
        let framework = self.connected(&connection)?;
        Ok(framework.connection_properties(&connection.user.name, &connection.uses)?)
    }

    fn set_connection_properties(
        &self,
        connection: PortConnection,
        properties: TypeMap,
    ) -> Result<(), PortError> {
        let framework = self.connected(&connection)?;
        let (user, uses) = (&connection.user.name, &connection.uses);
        Ok(framework.set_connection_properties(user, uses, properties)?)
    }

    fn disconnect(&self, connection: PortConnection, timeout_s: f64) -> Result<(), PortError> {
        let framework = self.connected(&connection)?;
        let (user, uses) = (&connection.user.name, &connection.uses);
        Ok(framework.disconnect_within(user, uses, timeout(timeout_s))?)
    }

    fn disconnect_all(
        &self,
        first: ComponentId,
        second: ComponentId,
        timeout_s: f64,
    ) -> Result<(), PortError> {
        let (framework, first) = self.named(&first)?;
        let (_, second) = self.named(&second)?;
        Ok(framework.disconnect_all(&first, &second, timeout(timeout_s))?)
    }
}

impl AbstractFrameworkPort for FrameworkPorts {
    fn create_type_map(&self) -> Result<TypeMap, PortError> {
        Ok(TypeMap::default())
    }

    fn get_services(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: TypeMap,
    ) -> Result<OwnedPort, PortError> {
        let framework = self.framework()?;
        Ok(framework.services_port(&instance, &class, properties)?)
    }

    fn release_services(&self, instance: RStr<'_>) -> Result<(), PortError> {
        let framework = self.framework()?;
        refuse_reach(&framework, &instance)?;
        Ok(framework.release_services(&instance)?)
    }

    fn shutdown_framework(&self) -> Result<(), PortError> {
        Ok(self.framework()?.shutdown_framework()?)
    }

    fn create_empty_framework(&self) -> Result<OwnedPort, PortError> {
        let (ports, _) = self.empty_framework()?;
        Ok(<dyn AbstractFrameworkPort>::provide(std::sync::Arc::new(
            ports,
        )))
    }

    fn builder_service(&self) -> Result<OwnedPort, PortError> {
        let ports = FrameworkPorts::new(Weak::clone(&self.shared));
        Ok(<dyn BuilderServicePort>::provide(std::sync::Arc::new(
            ports,
        )))
    }
}

impl ComponentRepositoryPort for FrameworkPorts {
    fn get_available_component_classes(
        &self,
    ) -> Result<RVec<ComponentClassDescription>, PortError> {
        let classes = self.framework()?.available_classes();
        let describe = |class: &cca_loader::Class| ComponentClassDescription {
            name: class.name().into(),
            version: class.version().into(),
            doc: class.doc().into(),
            library: class.library().display().to_string().into(),
        };
        Ok(classes.iter().map(describe).collect())
    }

    fn append_repository_path(&self, path: RStr<'_>) -> Result<(), PortError> {
        let added = self.framework()?.append_repository_path(Path::new(&*path));
        added.map_err(PortError::failed)
    }
}

impl ConnectionEventServicePort for FrameworkPorts {
    fn add_connection_event_listener(
        &self,
        kind: ConnectionEventKind,
        listener: OwnedPort,
    ) -> Result<u64, PortError> {
        let framework = self.framework()?;
        Ok(framework.add_connection_event_listener(kind, listener)?)
    }

    fn remove_connection_event_listener(&self, listener: u64) -> Result<(), PortError> {
        let framework = self.framework()?;
        Ok(framework.remove_connection_event_listener(listener)?)
    }
}

impl ReplacementServicePort for FrameworkPorts {
    fn reconnect(
        &self,
        user: RStr<'_>,
        uses: RStr<'_>,
        provider: RStr<'_>,
        provides: RStr<'_>,
    ) -> Result<(), PortError> {
        let framework = self.framework()?;
        [&user, &provider]
            .into_iter()
            .try_for_each(|name| refuse_reach(&framework, name))?;
        Ok(framework.reconnect(&ConnectionId {
            user: user.into(),
            uses: uses.into(),
            provider: provider.into(),
            provides: provides.into(),
        })?)
    }

    fn replace_instance(&self, instance: RStr<'_>, class: RStr<'_>) -> Result<(), PortError> {
        let framework = self.framework()?;
        refuse_reach(&framework, &instance)?;
        Ok(framework.replace_instance(&instance, &class)?)
    }
}

impl ServiceRegistryPort for FrameworkPorts {
    fn add_service(&self, interface: RStr<'_>, provider: OwnedPort) -> Result<(), PortError> {
        Ok(self.framework()?.add_service(&interface, provider)?)
    }

    fn add_singleton_service(&self, port: OwnedPort) -> Result<(), PortError> {
        Ok(self.framework()?.add_singleton_service(port)?)
    }

    fn remove_service(&self, interface: RStr<'_>) -> Result<(), PortError> {
        Ok(self.framework()?.remove_service(&interface)?)
    }
}
