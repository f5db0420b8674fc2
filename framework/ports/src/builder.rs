//! The ports through which a program, or a component, builds assemblies of others.
//!
//! CCA lets applications be composed while they run: a component that uses `cca.BuilderService` can
//! make, connect and destroy other components, as a builder with a graphical interface would. The
//! traits here follow `gov.cca` method for method, in types that cross the border; the framework's
//! `builder.rs` implements them. `cca.AbstractFramework` gives a program its own place in a
//! framework and makes further ones, `cca.ComponentRepository` lists the classes that can be
//! instantiated.
//!
//! ```text
//! let flux = builder.create_instance("flux", "hydro.GodunovFlux", properties)?;
//! let driver = builder.get_component_id("driver")?;
//! let connection = builder.connect(driver, "flux", flux, "flux")?;
//! builder.disconnect(connection, 1.0)?;          // waits at most 1 s for callers to leave
//! ```
//!
//! A [`ComponentId`] has a number next to the name, so that an identity kept from before a
//! replacement does not mean the new instance.

use std::fmt;

use cca_abi::OwnedPort;

use crate::{PortError, RStr, RString, RVec, StableAbi, TypeMap, port};

/// `gov.cca.ComponentID`: an instance; the number distinguishes it from a later one of the same
/// name.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, StableAbi)]
pub struct ComponentId {
    /// Name of the instance (`getInstanceName`).
    pub name: RString,
    /// Number of the instance in its framework, from 1.
    pub serial: u64,
}

impl fmt::Display for ComponentId {
    /// `NAME#NUMBER` (`getSerialization`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.serial)
    }
}

/// `gov.cca.ConnectionID`: a connection, by both its ends. Instances have their numbers, so it
/// never means a later connection of the same names.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, StableAbi)]
pub struct PortConnection {
    /// The using component.
    pub user: ComponentId,
    /// Its uses port.
    pub uses: RString,
    /// The providing component.
    pub provider: ComponentId,
    /// Its provides port.
    pub provides: RString,
}

/// `gov.cca.ports.BuilderService`: makes, connects and destroys components while others run.
///
/// An unconnected uses port of it is connected to the framework's own on the first `get_port`. Times to wait are in
/// seconds; 0 does not wait.
#[port(name = "cca.BuilderService", version = "1.0")]
pub trait BuilderServicePort {
    /// Makes an instance of a class of the framework's repository. With an empty name, it is named after the class,
    /// with a number.
    ///
    /// # Errors
    /// An unknown class; a name that is bad or taken; the component's own.
    fn create_instance(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: TypeMap,
    ) -> Result<ComponentId, PortError>;

    /// Every component.
    ///
    /// # Errors
    /// The framework is gone.
    fn get_component_ids(&self) -> Result<RVec<ComponentId>, PortError>;

    /// A component's properties.
    ///
    /// # Errors
    /// No such component.
    fn get_component_properties(&self, component: ComponentId) -> Result<TypeMap, PortError>;

    /// Replaces a component's properties.
    ///
    /// # Errors
    /// No such component.
    fn set_component_properties(
        &self,
        component: ComponentId,
        properties: TypeMap,
    ) -> Result<(), PortError>;

    /// The component that a [`ComponentId`]'s text names.
    ///
    /// # Errors
    /// No such component.
    fn get_deserialization(&self, text: RStr<'_>) -> Result<ComponentId, PortError>;

    /// The component of a name.
    ///
    /// # Errors
    /// No such component.
    fn get_component_id(&self, instance: RStr<'_>) -> Result<ComponentId, PortError>;

    /// Ends a component's connections, releases it, and destroys it.
    ///
    /// # Errors
    /// No such component; `UsesPortNotReleased` if a port of it is still in use after `timeout_s`.
    fn destroy_instance(&self, component: ComponentId, timeout_s: f64) -> Result<(), PortError>;

    /// Names of the ports that a component provides.
    ///
    /// # Errors
    /// No such component.
    fn get_provided_port_names(&self, component: ComponentId) -> Result<RVec<RString>, PortError>;

    /// Names of the ports that a component uses.
    ///
    /// # Errors
    /// No such component.
    fn get_used_port_names(&self, component: ComponentId) -> Result<RVec<RString>, PortError>;

    /// A port's properties.
    ///
    /// # Errors
    /// No such component or port.
    fn get_port_properties(
        &self,
        component: ComponentId,
        port: RStr<'_>,
    ) -> Result<TypeMap, PortError>;

    /// Replaces a port's properties.
    ///
    /// # Errors
    /// No such component or port.
    fn set_port_properties(
        &self,
        component: ComponentId,
        port: RStr<'_>,
        properties: TypeMap,
    ) -> Result<(), PortError>;

    /// Connects a uses port to a provides port.
    ///
    /// # Errors
    /// No such component or port; `BadPortType`; connected already.
    fn connect(
        &self,
        user: ComponentId,
        uses: RStr<'_>,
        provider: ComponentId,
        provides: RStr<'_>,
    ) -> Result<PortConnection, PortError>;

    /// The connections in which any of the components takes part; all if none is given.
    ///
    /// # Errors
    /// No such component.
    fn get_connection_ids(
        &self,
        components: RVec<ComponentId>,
    ) -> Result<RVec<PortConnection>, PortError>;

    /// A connection's properties.
    ///
    /// # Errors
    /// No such connection.
    fn get_connection_properties(&self, connection: PortConnection) -> Result<TypeMap, PortError>;

    /// Replaces a connection's properties.
    ///
    /// # Errors
    /// No such connection.
    fn set_connection_properties(
        &self,
        connection: PortConnection,
        properties: TypeMap,
    ) -> Result<(), PortError>;

    /// Takes a connection away.
    ///
    /// # Errors
    /// No such connection; `UsesPortNotReleased` if it is still in use after `timeout_s`.
    fn disconnect(&self, connection: PortConnection, timeout_s: f64) -> Result<(), PortError>;

    /// Takes all connections between two components away, in either direction.
    ///
    /// # Errors
    /// As [`BuilderServicePort::disconnect`]; those before the one in use have then been removed.
    fn disconnect_all(
        &self,
        first: ComponentId,
        second: ComponentId,
        timeout_s: f64,
    ) -> Result<(), PortError>;
}

/// `gov.cca.AbstractFramework`: services for a program that takes part in a framework, further
/// frameworks, and the end of this one.
#[port(name = "cca.AbstractFramework", version = "1.0")]
pub trait AbstractFrameworkPort {
    /// A map without properties.
    ///
    /// # Errors
    /// None of its own.
    fn create_type_map(&self) -> Result<TypeMap, PortError>;

    /// A `cca.Services` port for a program that takes part as an instance of its own.
    ///
    /// # Errors
    /// The name is bad or taken.
    fn get_services(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: TypeMap,
    ) -> Result<OwnedPort, PortError>;

    /// Ends the part of a program that got services by that name.
    ///
    /// # Errors
    /// No such instance; `UsesPortNotReleased`.
    fn release_services(&self, instance: RStr<'_>) -> Result<(), PortError>;

    /// Releases and destroys all components. Fails while a port of any is in use.
    ///
    /// # Errors
    /// `UsesPortNotReleased`.
    fn shutdown_framework(&self) -> Result<(), PortError>;

    /// Another framework, without components: a `cca.AbstractFramework` port, which ends it when it is dropped.
    ///
    /// # Errors
    /// None of its own.
    fn create_empty_framework(&self) -> Result<OwnedPort, PortError>;

    /// The framework's `cca.BuilderService` port.
    ///
    /// # Errors
    /// The framework is gone.
    fn builder_service(&self) -> Result<OwnedPort, PortError>;
}

/// `gov.cca.ComponentClassDescription`: a class that can be instantiated.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
pub struct ComponentClassDescription {
    /// Name of the class (`getComponentClassName`).
    pub name: RString,
    /// Its version.
    pub version: RString,
    /// Description, one paragraph.
    pub doc: RString,
    /// Path of its library.
    pub library: RString,
}

/// `gov.cca.ports.ComponentRepository`, with Ccaffeine's additions: the classes that can be
/// instantiated, and where they are searched for.
#[port(name = "cca.ComponentRepository", version = "1.0")]
pub trait ComponentRepositoryPort {
    /// The classes that can be instantiated, by name.
    ///
    /// # Errors
    /// The framework is gone.
    fn get_available_component_classes(&self)
    -> Result<RVec<ComponentClassDescription>, PortError>;

    /// Adds a library, or the component libraries of a folder (`appendRepositoryPath`).
    ///
    /// # Errors
    /// It cannot be read, or a library cannot be opened.
    fn append_repository_path(&self, path: RStr<'_>) -> Result<(), PortError>;
}
