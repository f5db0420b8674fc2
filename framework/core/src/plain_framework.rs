//! The framework for components in C, C++ and Fortran: the functions of `cca.BuilderService`, `cca.AbstractFramework`,
//! `cca.ComponentRepository`, `cca.ConnectionEventService` and CCA's type maps, with types that every language has.
//!
//! Rust's interfaces own texts and lists, whose memory is Rust's. Here a component is its number in the framework, a
//! type map a number that this port returned, lists are read by index, and a returned text lives as long as the
//! process. `cca.h` has the table, and `cca.hpp` classes over it.

mod property;
mod provider;

use cca_abi::{OwnedPort, PortError, RSlice, RSliceMut, RStr};
use cca_ports::{PlainValue, port};

pub use provider::provide;

/// The framework in plain types. An unconnected uses port of it is connected to the framework's own.
///
/// Components are numbers, 0 is none. Type maps are numbers that this port returns and `free_map` releases; where a
/// function takes properties, 0 is an empty map. Functions with an `index` count from 0 and return 0 or an empty text
/// behind the last. Times to wait are in seconds.
#[port(name = "cca.PlainFramework", version = "1.0")]
pub trait PlainFrameworkPort {
    /// An empty type map (`createTypeMap`).
    ///
    /// # Errors
    /// None of its own.
    fn create_map(&self) -> Result<u64, PortError>;

    /// A copy of a type map (`cloneTypeMap`).
    ///
    /// # Errors
    /// No such map.
    fn clone_map(&self, map: u64) -> Result<u64, PortError>;

    /// Gives a type map back.
    ///
    /// # Errors
    /// No such map.
    fn free_map(&self, map: u64) -> Result<(), PortError>;

    /// Takes a property away, if it is there.
    ///
    /// # Errors
    /// No such map.
    fn remove_property(&self, map: u64, key: RStr<'_>) -> Result<(), PortError>;

    /// The type of a property, CCA's number (`CCA_TYPE_…`); 0 if no property has that name.
    ///
    /// # Errors
    /// No such map.
    fn property_type(&self, map: u64, key: RStr<'_>) -> Result<u32, PortError>;

    /// Name of a property by its index among those of a type, or among all of type 0.
    ///
    /// # Errors
    /// No such map or type.
    fn property_key(&self, map: u64, kind: u32, index: usize) -> Result<RStr<'static>, PortError>;

    /// A property with a single value; its type is 0 if no property has that name.
    ///
    /// # Errors
    /// No such map; the property is complex or an array.
    fn property(&self, map: u64, key: RStr<'_>) -> Result<PlainValue<'static>, PortError>;

    /// Puts a property that is one value: an int, long, float, double, string or bool.
    ///
    /// # Errors
    /// No such map; an unsupported type, or not the type of the value; the property exists with another type.
    fn put_property(
        &self,
        map: u64,
        key: RStr<'_>,
        kind: u32,
        value: PlainValue<'_>,
    ) -> Result<(), PortError>;

    /// Number of elements of a property: 2 for a complex number, its parts; 0 if no property has
    /// that name.
    ///
    /// # Errors
    /// No such map.
    fn property_length(&self, map: u64, key: RStr<'_>) -> Result<usize, PortError>;

    /// Copies the elements of an array of int, long or bool.
    ///
    /// # Errors
    /// No such map; another type; another number of elements.
    fn property_integers(
        &self,
        map: u64,
        key: RStr<'_>,
        values: RSliceMut<'_, i64>,
    ) -> Result<(), PortError>;

    /// Copies the elements of an array of float or double, or of complex numbers, real and imaginary part in turn.
    ///
    /// # Errors
    /// No such map; another type; another number of elements.
    fn property_reals(
        &self,
        map: u64,
        key: RStr<'_>,
        values: RSliceMut<'_, f64>,
    ) -> Result<(), PortError>;

    /// A text of an array of texts.
    ///
    /// # Errors
    /// No such map; another type.
    fn property_text(
        &self,
        map: u64,
        key: RStr<'_>,
        index: usize,
    ) -> Result<RStr<'static>, PortError>;

    /// Puts an array of int, long or bool.
    ///
    /// # Errors
    /// No such map; another type; a value outside the type's range; the property exists with another type.
    fn put_integers(
        &self,
        map: u64,
        key: RStr<'_>,
        kind: u32,
        values: RSlice<'_, i64>,
    ) -> Result<(), PortError>;

    /// Puts an array of float or double, a complex number, or an array of these.
    ///
    /// # Errors
    /// As `put_integers`.
    fn put_reals(
        &self,
        map: u64,
        key: RStr<'_>,
        kind: u32,
        values: RSlice<'_, f64>,
    ) -> Result<(), PortError>;

    /// Puts an array of texts.
    ///
    /// # Errors
    /// As `put_integers`.
    fn put_texts(
        &self,
        map: u64,
        key: RStr<'_>,
        values: RSlice<'_, RStr<'_>>,
    ) -> Result<(), PortError>;

    /// Makes an instance of a class of the framework's repository (`createInstance`). With an empty name, the instance
    /// is named after the class, with a number.
    ///
    /// # Errors
    /// An unknown class; a name that is bad or taken; the component's own.
    fn create_instance(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: u64,
    ) -> Result<u64, PortError>;

    /// A component by its place (`getComponentIDs`).
    ///
    /// # Errors
    /// The framework is gone.
    fn component_at(&self, index: usize) -> Result<u64, PortError>;

    /// The component of a name (`getComponentID`).
    ///
    /// # Errors
    /// No such component.
    fn component(&self, instance: RStr<'_>) -> Result<u64, PortError>;

    /// Name of a component (`getInstanceName`).
    ///
    /// # Errors
    /// No such component.
    fn component_name(&self, component: u64) -> Result<RStr<'static>, PortError>;

    /// A component as a text (`getSerialization`).
    ///
    /// # Errors
    /// No such component.
    fn serialization(&self, component: u64) -> Result<RStr<'static>, PortError>;

    /// The component that such a text names (`getDeserialization`).
    ///
    /// # Errors
    /// No such component.
    fn deserialization(&self, text: RStr<'_>) -> Result<u64, PortError>;

    /// A component's properties, as a new map.
    ///
    /// # Errors
    /// No such component.
    fn component_properties(&self, component: u64) -> Result<u64, PortError>;

    /// Replaces a component's properties.
    ///
    /// # Errors
    /// No such component or map.
    fn set_component_properties(&self, component: u64, map: u64) -> Result<(), PortError>;

    /// Ends a component's connections, releases it, and destroys it.
    ///
    /// # Errors
    /// No such component; `CCA_USES_PORT_NOT_RELEASED` if a port of it is still in use after `timeout_s`.
    fn destroy_instance(&self, component: u64, timeout_s: f64) -> Result<(), PortError>;

    /// Name of a provides port by its place.
    ///
    /// # Errors
    /// No such component.
    fn provided_port(&self, component: u64, index: usize) -> Result<RStr<'static>, PortError>;

    /// Name of a uses port by its place.
    ///
    /// # Errors
    /// No such component.
    fn used_port(&self, component: u64, index: usize) -> Result<RStr<'static>, PortError>;

    /// A port's properties, as a new map.
    ///
    /// # Errors
    /// No such component or port.
    fn port_properties(&self, component: u64, port: RStr<'_>) -> Result<u64, PortError>;

    /// Replaces a port's properties.
    ///
    /// # Errors
    /// No such component, port or map.
    fn set_port_properties(
        &self,
        component: u64,
        port: RStr<'_>,
        map: u64,
    ) -> Result<(), PortError>;

    /// Connects a uses port to a provides port. Using component and uses port name the connection from then on.
    ///
    /// # Errors
    /// No such component or port; `CCA_BAD_PORT_TYPE`; connected already.
    fn connect(
        &self,
        user: u64,
        uses: RStr<'_>,
        provider: u64,
        provides: RStr<'_>,
    ) -> Result<(), PortError>;

    /// The using component of a connection, by its index among those of a component, or among all if the
    /// component is 0 (`getConnectionIDs`).
    ///
    /// # Errors
    /// No such component.
    fn connection_user(&self, component: u64, index: usize) -> Result<u64, PortError>;

    /// The uses port of that connection.
    ///
    /// # Errors
    /// No such component.
    fn connection_uses(&self, component: u64, index: usize) -> Result<RStr<'static>, PortError>;

    /// The providing component of a connection; 0 where the framework itself provides.
    ///
    /// # Errors
    /// No such component or port; not connected.
    fn connection_provider(&self, user: u64, uses: RStr<'_>) -> Result<u64, PortError>;

    /// The provides port of a connection.
    ///
    /// # Errors
    /// No such component or port; not connected.
    fn connection_provides(&self, user: u64, uses: RStr<'_>) -> Result<RStr<'static>, PortError>;

    /// A connection's properties, as a new map.
    ///
    /// # Errors
    /// No such component or port; not connected.
    fn connection_properties(&self, user: u64, uses: RStr<'_>) -> Result<u64, PortError>;

    /// Replaces a connection's properties.
    ///
    /// # Errors
    /// No such component, port or map; not connected.
    fn set_connection_properties(
        &self,
        user: u64,
        uses: RStr<'_>,
        map: u64,
    ) -> Result<(), PortError>;

    /// Takes a connection away.
    ///
    /// # Errors
    /// Not connected; `CCA_USES_PORT_NOT_RELEASED` if it is still in use after `timeout_s`.
    fn disconnect(&self, user: u64, uses: RStr<'_>, timeout_s: f64) -> Result<(), PortError>;

    /// Takes all connections between two components away, in either direction.
    ///
    /// # Errors
    /// As `disconnect`.
    fn disconnect_all(&self, first: u64, second: u64, timeout_s: f64) -> Result<(), PortError>;

    /// Sets a parameter of a component, `KEY` or `PORT.KEY`.
    ///
    /// # Errors
    /// No such component or parameter; a value that is not allowed.
    fn set_parameter(
        &self,
        component: u64,
        key: RStr<'_>,
        value: PlainValue<'_>,
    ) -> Result<(), PortError>;

    /// The value of a component's parameter.
    ///
    /// # Errors
    /// No such component, port or parameter.
    fn parameter(
        &self,
        component: u64,
        port: RStr<'_>,
        key: RStr<'_>,
    ) -> Result<PlainValue<'static>, PortError>;

    /// Name of a class that can be instantiated, by its place (`getAvailableComponentClasses`).
    ///
    /// # Errors
    /// The framework is gone.
    fn class_at(&self, index: usize) -> Result<RStr<'static>, PortError>;

    /// Path of the library of a class; empty if there is no such class.
    ///
    /// # Errors
    /// The framework is gone.
    fn class_library(&self, class: RStr<'_>) -> Result<RStr<'static>, PortError>;

    /// Adds a library, or the component libraries of a folder, to the repository.
    ///
    /// # Errors
    /// It cannot be read, or a library cannot be opened.
    fn append_repository_path(&self, path: RStr<'_>) -> Result<(), PortError>;

    /// Adds a listener for connections, a port of interface `cca.PlainListener`. With kind 0 it hears all events, else
    /// those of one type (`CCA_EVENT_…`).
    ///
    /// # Returns
    /// The number that removes it.
    ///
    /// # Errors
    /// `CCA_BAD_PORT_TYPE`; no such event type.
    fn add_listener(&self, kind: i32, listener: OwnedPort) -> Result<u64, PortError>;

    /// Takes a listener away.
    ///
    /// # Errors
    /// There is no such listener.
    fn remove_listener(&self, listener: u64) -> Result<(), PortError>;

    /// A `cca.Services` port for a part of a program that takes part as an instance of its own (`getServices`).
    ///
    /// # Errors
    /// The name is bad or taken.
    fn get_services(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: u64,
    ) -> Result<OwnedPort, PortError>;

    /// Ends the part of a program that got services by that name.
    ///
    /// # Errors
    /// No such instance; `CCA_USES_PORT_NOT_RELEASED`.
    fn release_services(&self, instance: RStr<'_>) -> Result<(), PortError>;

    /// Releases and destroys all components. Fails while a port of any is in use.
    ///
    /// # Errors
    /// `CCA_USES_PORT_NOT_RELEASED`.
    fn shutdown_framework(&self) -> Result<(), PortError>;

    /// Another framework, without components: a port of this interface, which ends it when it is released.
    ///
    /// # Errors
    /// None of its own.
    fn create_empty_framework(&self) -> Result<OwnedPort, PortError>;
}

/// Hears of connections that come and go, in plain types.
#[port(name = "cca.PlainListener", version = "1.0")]
pub trait PlainListenerPort {
    /// Called for every event it listens for, whoever caused it.
    ///
    /// # Errors
    /// Ignored: a listener cannot veto an event.
    fn connection_activity(
        &self,
        kind: i32,
        user: u64,
        uses: RStr<'_>,
        provider: u64,
        provides: RStr<'_>,
        message: RStr<'_>,
    ) -> Result<(), PortError>;
}
