//! `Services`: the functions by which each component registers and gets ports.
//!
//! Four layers lead from a component to the port it calls. [`ServicesPort`] is the table of
//! functions as it crosses the border; [`Services`] is the handle that Rust components use;
//! [`UsesPort`] is a port that was registered with its interface as a type; [`PortRef`] is the port
//! in use. Getting a port goes through the framework and its lock once. Calls through the
//! [`PortRef`] then cost an indirect call: they follow a slot that the framework may redirect
//! between two calls.
//!
//! ```text
//! Services ── register_uses_port::<dyn FluxPort>("flux") ─▶ UsesPort
//! UsesPort ── get() ─▶ PortRef ── compute(..) ─▶ slot ─▶ provider's table
//! PortRef dropped  ─▶ release_port: the connection may be changed again
//! ```
//!
//! Any change of the trait [`ServicesPort`] changes its hash, and every component has to be built
//! again; [`Services::checked`] finds a component built against another version before it calls.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use cca_abi::{
    ConnectedPort, Interface, InterfacePointer, OwnedPort, ProvidedBy, RawPort, Slot, SlotPointer,
};

use crate::{
    ComponentId, ComponentReleasePort, ErrorCode, ParameterPort, ParameterSet, PlainParameter,
    PlainValue, PortError, RStr, RString, STATELESS, TypeMap, WHOLE_STEPS, port,
};

/// `gov.cca.Services` as it crosses the border. Rust components use [`Services`].
///
/// CCA's eleven methods, and two of our own: `instance_name`, and `set_port_properties`, which takes the properties that
/// CCA's `addProvidesPort` and `registerUsesPort` have as an argument. A port's type is the interface it comes with.
///
/// The functions from `component_name` on do the same as `instance_name`, `get_component_id`, `get_port_properties`,
/// `set_port_properties` and [`Services::parameters`] with types that C, C++ and Fortran have; the texts that they
/// return live as long as the process.
#[port(name = "cca.Services", version = "1.4")]
pub trait ServicesPort {
    /// Adds a port that the component provides.
    ///
    /// # Errors
    /// `BadPortName`, `PortAlreadyDefined`, `BadPortType`.
    fn add_provides_port(&self, name: RStr<'_>, port: OwnedPort) -> Result<(), PortError>;

    /// Takes a provided port away.
    ///
    /// # Errors
    /// `PortNotDefined`; `UsesPortNotReleased` while a connection leads to it.
    fn remove_provides_port(&self, name: RStr<'_>) -> Result<(), PortError>;

    /// Registers a port that the component uses.
    ///
    /// # Errors
    /// `BadPortName`, `PortAlreadyDefined`, `BadPortType`.
    fn register_uses_port(
        &self,
        name: RStr<'_>,
        interface: InterfacePointer,
    ) -> Result<(), PortError>;

    /// Takes a used port away, with its connection.
    ///
    /// # Errors
    /// `PortNotDefined`; `UsesPortNotReleased` while it is in use.
    fn unregister_uses_port(&self, name: RStr<'_>) -> Result<(), PortError>;

    /// The slot to call a used port through, until it is released.
    ///
    /// # Errors
    /// `PortNotDefined`, `PortNotConnected`.
    fn get_port(&self, name: RStr<'_>) -> Result<SlotPointer, PortError>;

    /// Gives a port back.
    ///
    /// # Errors
    /// `PortNotDefined`, `PortNotInUse`.
    fn release_port(&self, name: RStr<'_>) -> Result<(), PortError>;

    /// Name of the component's instance.
    ///
    /// # Errors
    /// None of its own.
    fn instance_name(&self) -> Result<RString, PortError>;

    /// As `get_port`, but a null slot if nothing is connected.
    ///
    /// # Errors
    /// `PortNotDefined`.
    fn get_port_nonblocking(&self, name: RStr<'_>) -> Result<SlotPointer, PortError>;

    /// A map without properties.
    ///
    /// # Errors
    /// None of its own.
    fn create_type_map(&self) -> Result<TypeMap, PortError>;

    /// Properties of a port of the component.
    ///
    /// # Errors
    /// `PortNotDefined`.
    fn get_port_properties(&self, name: RStr<'_>) -> Result<TypeMap, PortError>;

    /// Replaces the properties of a port of the component.
    ///
    /// # Errors
    /// `PortNotDefined`.
    fn set_port_properties(&self, name: RStr<'_>, properties: TypeMap) -> Result<(), PortError>;

    /// The component, as `cca.BuilderService` names it.
    ///
    /// # Errors
    /// None of its own.
    fn get_component_id(&self) -> Result<ComponentId, PortError>;

    /// Has a port of interface `cca.ComponentRelease` called before the instance is destroyed.
    ///
    /// # Errors
    /// `BadPortType`.
    fn register_for_release(&self, release: OwnedPort) -> Result<(), PortError>;

    /// Name of the component's instance.
    ///
    /// # Errors
    /// None of its own.
    fn component_name(&self) -> Result<RStr<'static>, PortError>;

    /// Number of the component's instance: no other of this framework ever has it.
    ///
    /// # Errors
    /// The framework has destroyed the instance.
    fn component_serial(&self) -> Result<u64, PortError>;

    /// A property of a port of the component; its type is `NONE` if no property has that name.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadProperties`: it is complex or an array.
    fn port_property(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
    ) -> Result<PlainValue<'static>, PortError>;

    /// Puts a property of a port of the component.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadProperties`: it has another type already.
    fn set_port_property(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
        value: PlainValue<'_>,
    ) -> Result<(), PortError>;

    /// Name of a port's property by its place, from 0; empty behind the last.
    ///
    /// # Errors
    /// `PortNotDefined`.
    fn port_property_key(&self, port: RStr<'_>, index: usize) -> Result<RStr<'static>, PortError>;

    /// Provides a parameter port, to which `add_parameter` adds.
    ///
    /// # Errors
    /// `BadPortName`, `PortAlreadyDefined`.
    fn add_parameter_port(&self, port: RStr<'_>) -> Result<(), PortError>;

    /// Adds a parameter to a port of `add_parameter_port`.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadParameter`: the name is taken, or the default is not allowed itself.
    fn add_parameter(&self, port: RStr<'_>, parameter: PlainParameter<'_>)
    -> Result<(), PortError>;

    /// The value of a parameter that `add_parameter` added.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadParameter`: no parameter has that name.
    fn parameter(&self, port: RStr<'_>, key: RStr<'_>) -> Result<PlainValue<'static>, PortError>;

    /// Sets a parameter that `add_parameter` added, as anyone else may by the parameter port.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadParameter`: unknown, of another type, out of bounds, or not among the
    /// choices.
    fn set_parameter(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
        value: PlainValue<'_>,
    ) -> Result<(), PortError>;

    /// Sets the title of a port's parameters (`setBatchTitle`).
    ///
    /// # Errors
    /// `PortNotDefined`; `BadParameter`: no text.
    fn set_parameter_title(&self, port: RStr<'_>, title: RStr<'_>) -> Result<(), PortError>;

    /// Begins a group: parameters that are added to the port from now on are shown in it (`setGroupName`).
    ///
    /// # Errors
    /// `PortNotDefined`; `BadParameter`: no text.
    fn begin_parameter_group(&self, port: RStr<'_>, group: RStr<'_>) -> Result<(), PortError>;

    /// Sets the prompt that asks a user for the parameter.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadParameter`: no parameter has that name, or it is not a text.
    fn set_parameter_prompt(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
        prompt: RStr<'_>,
    ) -> Result<(), PortError>;

    /// Has a port of interface `cca.ParameterListener` called when parameters of a port were set, and before they are described;
    /// as long as the instance lives.
    ///
    /// # Errors
    /// `PortNotDefined`; `BadPortType`.
    fn add_parameter_listener(&self, port: RStr<'_>, listener: OwnedPort) -> Result<(), PortError>;
}

/// A component's access to its framework; a handle, cheap to clone.
#[derive(Clone)]
pub struct Services {
    inner: Arc<Inner>,
}

struct Inner {
    stub: ServicesPortStub,
    // The slot that the stub calls through; freed after it.
    slot: Box<Slot>,
    pair: *mut ConnectedPort,
}

// SAFETY: the pair is immutable and the port behind it is shared between threads (`RawPort`).
unsafe impl Send for Inner {}
// SAFETY: as for `Send`.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        self.slot.replace(std::ptr::null_mut());
        // SAFETY: the pair is this handle's own, made in `new`; nothing can call through the slot any more.
        drop(unsafe { Box::from_raw(self.pair) });
    }
}

impl Services {
    /// A handle on the framework's port.
    ///
    /// # Safety
    /// `port` is a `cca.Services` port that lives as long as the component it is given to.
    pub unsafe fn new(port: RawPort) -> Self {
        let pair = Box::into_raw(Box::new(ConnectedPort::unnamed(port)));
        let slot = Box::new(Slot::unconnected());
        slot.replace(pair);
        // SAFETY: the slot is boxed and lives as long as the stub, in the same `Inner`.
        let stub = <dyn ServicesPort>::stub(unsafe { SlotPointer::new(&*slot) });
        Services {
            inner: Arc::new(Inner { stub, slot, pair }),
        }
    }

    /// As [`Services::new`], for a port whose table may be another version's.
    ///
    /// # Safety
    /// As for [`Services::new`], but the port's table need only begin with a header.
    ///
    /// # Errors
    /// `BadPortType`: the framework and this library were built against different services.
    pub unsafe fn checked(port: RawPort) -> Result<Self, PortError> {
        let expected = <dyn ServicesPort>::descriptor();
        // SAFETY: every table begins with a header, and this one is not null (the caller's promise).
        let found = unsafe { &*port.vtable };
        let fits = found.hash == expected.hash && found.version == expected.version;
        if !fits || found.size != expected.vtable_size {
            let message = format!(
                "cannot use services: version {} and hash {:016x}, expected version {} and hash {:016x}; build \
                 component and framework against the same cca-ports",
                found.version, found.hash, expected.version, expected.hash
            );
            return Err(PortError::new(ErrorCode::BadPortType, message));
        }
        // SAFETY: the caller's promise, and the table is the one expected.
        Ok(unsafe { Self::new(port) })
    }

    /// Provides a port of interface `P`, such as `dyn GoPort`, by `component`.
    ///
    /// # Errors
    /// `BadPortName`, `PortAlreadyDefined`.
    pub fn add_provides_port<P, T>(&self, name: &str, component: &Arc<T>) -> Result<(), PortError>
    where
        P: ProvidedBy<T> + ?Sized,
    {
        let port = P::provide(Arc::clone(component));
        self.inner.stub.add_provides_port(name.into(), port)
    }

    /// Takes a provided port away.
    ///
    /// # Errors
    /// `PortNotDefined`; `UsesPortNotReleased` while a connection leads to it.
    pub fn remove_provides_port(&self, name: &str) -> Result<(), PortError> {
        self.inner.stub.remove_provides_port(name.into())
    }

    /// Registers a uses port of interface `P`.
    ///
    /// # Errors
    /// `BadPortName`, `PortAlreadyDefined`.
    pub fn register_uses_port<P: Interface + ?Sized>(
        &self,
        name: &str,
    ) -> Result<UsesPort<P>, PortError> {
        let interface = InterfacePointer::new(P::descriptor());
        self.inner.stub.register_uses_port(name.into(), interface)?;
        Ok(UsesPort {
            services: self.clone(),
            name: name.into(),
            interface: PhantomData,
        })
    }

    /// A map without properties.
    pub fn create_type_map(&self) -> TypeMap {
        TypeMap::default()
    }

    /// Properties of a port of this component.
    ///
    /// # Errors
    /// `PortNotDefined`.
    pub fn get_port_properties(&self, name: &str) -> Result<TypeMap, PortError> {
        self.inner.stub.get_port_properties(name.into())
    }

    /// Replaces the properties of a port of this component.
    ///
    /// # Errors
    /// `PortNotDefined`.
    pub fn set_port_properties(&self, name: &str, properties: TypeMap) -> Result<(), PortError> {
        self.inner.stub.set_port_properties(name.into(), properties)
    }

    /// Declares that the answers of a provides port depend only on its arguments and on the component's parameters:
    /// another component may then replace this one between any two calls, as `run --adapt` does.
    ///
    /// # Errors
    /// `PortNotDefined`.
    pub fn declare_stateless(&self, port: &str) -> Result<(), PortError> {
        self.declare(port, STATELESS)
    }

    /// Declares for a stateless provides port that all calls of one step of the application must be answered by the
    /// same class: another component then replaces this one only between two steps. It is for results that must agree
    /// with one another, such as fluxes through faces that two patches share: two classes give different fluxes, and
    /// mass would be lost.
    ///
    /// # Errors
    /// `PortNotDefined`.
    pub fn declare_whole_steps(&self, port: &str) -> Result<(), PortError> {
        self.declare(port, WHOLE_STEPS)
    }

    fn declare(&self, port: &str, property: &str) -> Result<(), PortError> {
        let mut properties = self.get_port_properties(port)?;
        let put = properties.put(property, true);
        put.map_err(PortError::failed)?;
        self.set_port_properties(port, properties)
    }

    /// This component, as `cca.BuilderService` names it.
    ///
    /// # Errors
    /// The framework is gone, or has destroyed the instance.
    pub fn get_component_id(&self) -> Result<ComponentId, PortError> {
        self.inner.stub.get_component_id()
    }

    /// Calls `release` before the instance is destroyed; the last registered is called first.
    ///
    /// # Errors
    /// The framework is gone, or has destroyed the instance.
    pub fn register_for_release<T>(&self, release: &Arc<T>) -> Result<(), PortError>
    where
        dyn ComponentReleasePort: ProvidedBy<T>,
    {
        let port = <dyn ComponentReleasePort as ProvidedBy<T>>::provide(Arc::clone(release));
        self.inner.stub.register_for_release(port)
    }

    /// Takes a used port away, with its connection.
    ///
    /// # Errors
    /// `PortNotDefined`; `UsesPortNotReleased` while it is in use.
    pub fn unregister_uses_port(&self, name: &str) -> Result<(), PortError> {
        self.inner.stub.unregister_uses_port(name.into())
    }

    /// Provides a parameter port, to which the component adds its parameters.
    ///
    /// # Errors
    /// `BadPortName`, `PortAlreadyDefined`.
    pub fn parameters(&self, name: &str) -> Result<Arc<ParameterSet>, PortError> {
        let set = Arc::new(ParameterSet::default());
        self.add_provides_port::<dyn ParameterPort, _>(name, &set)?;
        Ok(set)
    }

    /// Name of this component's instance.
    ///
    /// # Errors
    /// None of its own.
    pub fn instance_name(&self) -> Result<String, PortError> {
        self.inner.stub.instance_name().map(Into::into)
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

/// A registered uses port of interface `P`. It can be called once it is connected and got
/// ([`UsesPort::get`]).
pub struct UsesPort<P: ?Sized> {
    services: Services,
    name: Box<str>,
    interface: PhantomData<fn(&P)>,
}

impl<P: Interface + ?Sized> UsesPort<P> {
    /// Gets the port (`getPort`); it is released when the reference is dropped.
    ///
    /// Calls through one reference cost no more than the table's call, so a loop gets the port once.
    ///
    /// # Errors
    /// `PortNotConnected`.
    pub fn get(&self) -> Result<PortRef<'_, P>, PortError> {
        let slot = self.services.inner.stub.get_port((&*self.name).into())?;
        Ok(PortRef {
            stub: P::stub(slot),
            port: self,
        })
    }

    /// Gets the port if it is connected (`getPortNonblocking`).
    ///
    /// # Errors
    /// The framework is gone, or has destroyed the instance.
    pub fn get_nonblocking(&self) -> Result<Option<PortRef<'_, P>>, PortError> {
        let stub = &self.services.inner.stub;
        let slot = stub.get_port_nonblocking((&*self.name).into())?;
        if slot.as_ptr().is_null() {
            return Ok(None);
        }
        Ok(Some(PortRef {
            stub: P::stub(slot),
            port: self,
        }))
    }
}

impl<P: ?Sized> fmt::Debug for UsesPort<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsesPort")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A port in use: calls go to the provider that is connected at that moment.
pub struct PortRef<'a, P: Interface + ?Sized> {
    stub: P::Stub,
    port: &'a UsesPort<P>,
}

impl<P: Interface + ?Sized> Deref for PortRef<'_, P> {
    type Target = P::Stub;

    #[inline(always)]
    fn deref(&self) -> &P::Stub {
        &self.stub
    }
}

impl<P: Interface + ?Sized> Drop for PortRef<'_, P> {
    fn drop(&mut self) {
        // It was got, so that releasing it cannot fail.
        let _ = self
            .port
            .services
            .inner
            .stub
            .release_port((&*self.port.name).into());
    }
}

impl<P: Interface + ?Sized> fmt::Debug for PortRef<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortRef")
            .field("name", &self.port.name)
            .finish_non_exhaustive()
    }
}
