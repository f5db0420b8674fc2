//! `cca.Services` of one instance: the interface through which a component calls the framework.
//!
//! Each component receives a port of this type in `set_services` and registers, gets and releases
//! its ports through it. A component in C may pass any pointer, so names, descriptions and function
//! tables are checked before they enter the framework's state. The functions for parameters and
//! properties exist twice, once with Rust types and once in `Plain…` types for C, C++ and Fortran;
//! texts that the latter return are leaked once each, because C has no owner for them.
//!
//! ```text
//! component ── get_port("flux") ─▶ ComponentServices ── lock ─▶ State
//!           ◀── SlotPointer ──────  connector.acquire(): in use until release_port
//! calls go through the slot, not through here
//! ```
//!
//! A component may outlive its framework (a thread that it left behind, say). The reference to the
//! state is weak for that case, and every method then returns an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use cca_abi::{
    ErrorCode, InterfaceDescriptor, InterfacePointer, MAX_TEXT_BYTES, OwnedPort, PortError,
    ProvidedBy, RStr, RString, SlotPointer, checked_text, missing_function,
};
use cca_ports::{
    ComponentId, ComponentReleasePort, KeptValue, ParameterListenerPort, ParameterListenerPortStub,
    ParameterPort, ParameterSet, PlainParameter, PlainValue, ServicesPort, TypeKind, TypeMap,
};

use crate::connector::Connector;
use crate::error::{FrameworkError, names};
use crate::framework::{Framework, call_provided, interface_of};
use crate::state::{Entry, Provided, Provides, State, Uses, good_name};

/// A framework's state, shared with the services of its instances.
#[derive(Default)]
pub struct Shared(Mutex<State>);

impl Shared {
    /// The state; no component code may run while it is locked.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic leaves the state half changed, so that a poisoned lock is as good as any.
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The services of one instance: the implementation of the port that its component received in
/// `set_services`.
pub struct ComponentServices {
    pub framework: Weak<Shared>,
    pub id: ComponentId,
    pub plain: PlainServices,
}

/// What the `Plain…` functions of the services keep for components in C, C++ and Fortran: parameter
/// sets and returned texts.
#[derive(Default)]
pub struct PlainServices {
    /// By the name of the port.
    parameters: Mutex<BTreeMap<String, Arc<ParameterSet>>>,
    /// Texts that were returned, each once; they live as long as the process, as the services of a component do.
    texts: Mutex<BTreeSet<&'static str>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent at any moment.
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl PlainServices {
    fn keep(&self, text: &str) -> RStr<'static> {
        let mut texts = locked(&self.texts);
        if let Some(kept) = texts.get(text) {
            return (*kept).into();
        }
        let kept: &'static str = String::leak(text.into());
        texts.insert(kept);
        kept.into()
    }

    fn set(&self, port: &str) -> Option<Arc<ParameterSet>> {
        locked(&self.parameters).get(port).cloned()
    }
}

impl ComponentServices {
    fn framework(&self) -> Result<Arc<Shared>, PortError> {
        let gone = || PortError::failed("the framework is gone");
        self.framework.upgrade().ok_or_else(gone)
    }

    /// The instance's entry, not that of a later instance of the same name.
    fn own<'a>(&self, state: &'a mut State) -> Result<&'a mut Entry, FrameworkError> {
        state.entry_mut(&self.id)
    }

    fn uses<'a>(&self, state: &'a mut State, port: &str) -> Result<&'a mut Uses, FrameworkError> {
        self.own(state)?.uses_port_mut(&self.id.name, port)
    }

    /// The names that an error needs.
    fn ends(&self, port: &str) -> (String, String) {
        (self.id.name.to_string(), port.to_string())
    }

    /// Comes into a connected port.
    fn acquire(&self, shared: &Shared, port: &str) -> Result<Option<SlotPointer>, FrameworkError> {
        let mut state = shared.lock();
        let uses = self.uses(&mut state, port)?;
        if !uses.connector.is_connected() {
            return Ok(None);
        }
        uses.connector.acquire();
        // SAFETY: the slot is boxed; a port in use is not unregistered, and the framework outlives its components' calls.
        Ok(Some(unsafe { SlotPointer::new(uses.connector.slot()) }))
    }

    fn add_error(&self, port: &str, what: impl Into<String>) -> FrameworkError {
        FrameworkError::BadPort {
            instance: self.id.name.to_string(),
            port: port.into(),
            what: what.into(),
        }
    }

    /// The description behind a pointer, if it can be one.
    fn checked(
        &self,
        port: &str,
        interface: InterfacePointer,
    ) -> Result<&'static InterfaceDescriptor, FrameworkError> {
        let descriptor = interface.get();
        let descriptor =
            descriptor.ok_or_else(|| self.add_error(port, "no interface, expected one"))?;
        match (
            checked_text(&descriptor.name),
            checked_text(&descriptor.version),
        ) {
            (Some(name), Some(_)) if !name.is_empty() => Ok(descriptor),
            _ => Err(self.add_error(port, "an interface without a name, expected one")),
        }
    }

    /// A name that came from a component, if it is a text: C may pass anything.
    fn text<'a>(&self, name: RStr<'a>) -> Result<&'a str, PortError> {
        checked_text(&name).ok_or_else(|| {
            let instance = &self.id.name;
            let what = format!(
                "cannot use port of \"{instance}\": name that is no text, expected a pointer to at most {MAX_TEXT_BYTES} \
                 bytes of UTF-8"
            );
            PortError::new(ErrorCode::BadPortName, what)
        })
    }

    fn checked_name(&self, state: &mut State, name: &str) -> Result<(), FrameworkError> {
        let (instance, port) = self.ends(name);
        if !good_name(name) {
            return Err(FrameworkError::BadPortName { instance, port });
        }
        let entry = self.own(state)?;
        if entry.provides.contains_key(name) || entry.uses.contains_key(name) {
            return Err(FrameworkError::PortAlreadyDefined { instance, port });
        }
        Ok(())
    }

    /// The parameters behind a port that the component added by `add_parameter_port`.
    fn parameter_set(&self, port: &str) -> Result<Arc<ParameterSet>, FrameworkError> {
        self.plain
            .set(port)
            .ok_or_else(|| FrameworkError::PortNotDefined {
                kind: "parameter",
                instance: self.id.name.to_string(),
                port: port.into(),
                known: names(locked(&self.plain.parameters).keys()),
            })
    }

    fn checked_table(&self, name: &str, port: &OwnedPort) -> Result<(), FrameworkError> {
        let descriptor = self.checked(name, port.interface)?;
        if port.port.vtable.is_null() {
            return Err(self.add_error(name, "no table of functions, expected one"));
        }
        // SAFETY: a table begins with a header (`RawPort`), and this one is not null.
        let header = unsafe { &*port.port.vtable };
        if header.size != descriptor.vtable_size || header.hash != descriptor.hash {
            let what = format!(
                "a table of {} bytes and hash {:016x}, expected {} bytes and hash {:016x}",
                header.size, header.hash, descriptor.vtable_size, descriptor.hash
            );
            return Err(self.add_error(name, what));
        }
        // SAFETY: the table is not null, and as large as its interface says.
        match unsafe { missing_function(port.port.vtable) } {
            Some(place) => Err(self.add_error(
                name,
                format!("a table without its function {place}, expected all"),
            )),
            None => Ok(()),
        }
    }
}

impl ServicesPort for ComponentServices {
    fn add_provides_port(&self, name: RStr<'_>, port: OwnedPort) -> Result<(), PortError> {
        let name = self.text(name)?;
        self.checked_table(name, &port)?;
        let shared = self.framework()?;
        let mut state = shared.lock();
        self.checked_name(&mut state, name)?;
        state.know_interface(interface_of(&port));
        let entry = self.own(&mut state)?;
        let provides = Provides {
            port: Provided::of_instance(port, entry),
            properties: TypeMap::default(),
            users: Default::default(),
        };
        entry.provides.insert(name.into(), provides);
        Ok(())
    }

    fn remove_provides_port(&self, name: RStr<'_>) -> Result<(), PortError> {
        let name = self.text(name)?;
        let shared = self.framework()?;
        let removed = {
            let mut state = shared.lock();
            let entry = self.own(&mut state)?;
            let used = entry.provides.get(name).map(|p| !p.users.is_empty());
            if used == Some(true) {
                let (instance, port) = self.ends(name);
                return Err(FrameworkError::InUse { instance, port }.into());
            }
            let removed = entry.provides.remove(name);
            if removed.is_none() {
                // Fails if there is no such port.
                entry.provides_port(&self.id.name, name)?;
            }
            removed
        };
        drop(removed);
        Ok(())
    }

    fn register_uses_port(
        &self,
        name: RStr<'_>,
        interface: InterfacePointer,
    ) -> Result<(), PortError> {
        let name = self.text(name)?;
        let interface = self.checked(name, interface)?;
        let shared = self.framework()?;
        let mut state = shared.lock();
        self.checked_name(&mut state, name)?;
        state.know_interface(interface);
        let uses = Uses {
            interface,
            properties: TypeMap::default(),
            connector: Connector::default(),
            connection: None,
        };
        let entry = self.own(&mut state)?;
        entry.uses.insert(name.into(), uses);
        state.unserved.insert(self.id.name.to_string());
        Ok(())
    }

    fn unregister_uses_port(&self, name: RStr<'_>) -> Result<(), PortError> {
        let name = self.text(name)?;
        let shared = self.framework()?;
        loop {
            let mut state = shared.lock();
            let uses = self.uses(&mut state, name)?;
            let (instance, port) = self.ends(name);
            if uses.connector.is_in_use() {
                return Err(FrameworkError::InUse { instance, port }.into());
            }
            if uses.connection.is_none() {
                self.own(&mut state)?.uses.remove(name);
                return Ok(());
            }
            drop(state);
            // Its connection ends with it, and listeners are notified.
            Framework::handle(Arc::clone(&shared)).disconnect(&instance, &port)?;
        }
    }

    fn get_port(&self, name: RStr<'_>) -> Result<SlotPointer, PortError> {
        let name = self.text(name)?;
        let slot = self.get_port_nonblocking(name.into())?;
        if slot.as_ptr().is_null() {
            let (instance, port) = self.ends(name);
            return Err(FrameworkError::NotConnected { instance, port }.into());
        }
        Ok(slot)
    }

    fn release_port(&self, name: RStr<'_>) -> Result<(), PortError> {
        let name = self.text(name)?;
        let shared = self.framework()?;
        let (released, some_replaced) = {
            let mut state = shared.lock();
            let released = self.uses(&mut state, name)?.connector.release();
            (released, !state.namesakes.is_empty())
        };
        // The former target may be dropped now; the lock is free again here.
        match released {
            Some(unreachable) => drop(unreachable),
            None => {
                let (instance, port) = self.ends(name);
                return Err(FrameworkError::NotInUse { instance, port }.into());
            }
        }
        if some_replaced {
            Framework::handle(shared).give_up_replaced();
        }
        Ok(())
    }

    fn instance_name(&self) -> Result<RString, PortError> {
        Ok(self.id.name.clone())
    }

    fn get_port_nonblocking(&self, name: RStr<'_>) -> Result<SlotPointer, PortError> {
        let name = self.text(name)?;
        let shared = self.framework()?;
        if let Some(slot) = self.acquire(&shared, name)? {
            return Ok(slot);
        }
        let framework = Framework::handle(Arc::clone(&shared));
        if framework.connect_service(&self.id, name)?
            && let Some(slot) = self.acquire(&shared, name)?
        {
            return Ok(slot);
        }
        // SAFETY: never called through, as the caller is promised.
        Ok(unsafe { SlotPointer::new(std::ptr::null()) })
    }

    fn create_type_map(&self) -> Result<TypeMap, PortError> {
        Ok(TypeMap::default())
    }

    fn get_port_properties(&self, name: RStr<'_>) -> Result<TypeMap, PortError> {
        let name = self.text(name)?;
        let shared = self.framework()?;
        let mut state = shared.lock();
        self.own(&mut state)?;
        Ok(state.port_properties_mut(&self.id, name)?.clone())
    }

    fn set_port_properties(&self, name: RStr<'_>, properties: TypeMap) -> Result<(), PortError> {
        let name = self.text(name)?;
        let shared = self.framework()?;
        let mut state = shared.lock();
        self.own(&mut state)?;
        *state.port_properties_mut(&self.id, name)? = properties;
        Ok(())
    }

    fn get_component_id(&self) -> Result<ComponentId, PortError> {
        self.framework()?.lock().entry(&self.id)?;
        Ok(self.id.clone())
    }

    fn register_for_release(&self, release: OwnedPort) -> Result<(), PortError> {
        let shared = self.framework()?;
        let mut state = shared.lock();
        let release = Provided::of_instance(release, self.own(&mut state)?);
        drop(state);
        // Nothing is called; only whether it could be is found out.
        call_provided::<dyn ComponentReleasePort, _>(&release, &self.id.name, |_| ())?;
        self.own(&mut shared.lock())?.releases.push(release);
        Ok(())
    }

    fn component_name(&self) -> Result<RStr<'static>, PortError> {
        Ok(self.plain.keep(&self.id.name))
    }

    fn component_serial(&self) -> Result<u64, PortError> {
        Ok(self.get_component_id()?.serial)
    }

    fn port_property(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
    ) -> Result<PlainValue<'static>, PortError> {
        let key = self.text(key)?;
        let properties = self.get_port_properties(port)?;
        match properties.value(key) {
            Some(value) => Ok(KeptValue::try_from(value)?.plain(|text| self.plain.keep(text))),
            None => Ok(PlainValue::NONE),
        }
    }

    fn set_port_property(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
        value: PlainValue<'_>,
    ) -> Result<(), PortError> {
        let key = self.text(key)?;
        let mut properties = self.get_port_properties(port)?;
        let put = properties.put_value(key, value.try_into()?);
        put.map_err(FrameworkError::from)?;
        self.set_port_properties(port, properties)
    }

    fn port_property_key(&self, port: RStr<'_>, index: usize) -> Result<RStr<'static>, PortError> {
        let properties = self.get_port_properties(port)?;
        let keys = properties.get_all_keys(TypeKind::NoType);
        Ok(self.plain.keep(keys.get(index).unwrap_or(&"")))
    }

    fn add_parameter_port(&self, port: RStr<'_>) -> Result<(), PortError> {
        let name = self.text(port)?;
        let set = Arc::new(ParameterSet::default());
        self.add_provides_port(port, <dyn ParameterPort>::provide(Arc::clone(&set)))?;
        locked(&self.plain.parameters).insert(name.into(), set);
        Ok(())
    }

    fn add_parameter(
        &self,
        port: RStr<'_>,
        parameter: PlainParameter<'_>,
    ) -> Result<(), PortError> {
        let set = self.parameter_set(self.text(port)?)?;
        set.add_described(parameter.try_into()?).map(|_| ())
    }

    fn parameter(&self, port: RStr<'_>, key: RStr<'_>) -> Result<PlainValue<'static>, PortError> {
        let set = self.parameter_set(self.text(port)?)?;
        let value = set.value(self.text(key)?.into())?;
        Ok(KeptValue::from(&value).plain(|text| self.plain.keep(text)))
    }

    fn set_parameter(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
        value: PlainValue<'_>,
    ) -> Result<(), PortError> {
        let set = self.parameter_set(self.text(port)?)?;
        set.set_value(self.text(key)?.into(), value.try_into()?)
    }

    fn set_parameter_title(&self, port: RStr<'_>, title: RStr<'_>) -> Result<(), PortError> {
        let set = self.parameter_set(self.text(port)?)?;
        set.set_title(self.text(title)?);
        Ok(())
    }

    fn begin_parameter_group(&self, port: RStr<'_>, group: RStr<'_>) -> Result<(), PortError> {
        let set = self.parameter_set(self.text(port)?)?;
        set.begin_group(self.text(group)?);
        Ok(())
    }

    fn set_parameter_prompt(
        &self,
        port: RStr<'_>,
        key: RStr<'_>,
        prompt: RStr<'_>,
    ) -> Result<(), PortError> {
        let set = self.parameter_set(self.text(port)?)?;
        set.set_prompt(self.text(key)?, self.text(prompt)?)
    }

    fn add_parameter_listener(&self, port: RStr<'_>, listener: OwnedPort) -> Result<(), PortError> {
        let name = self.text(port)?.to_string();
        let set = self.parameter_set(&name)?;
        let shared = self.framework()?;
        let listener = Provided::of_instance(listener, self.own(&mut shared.lock())?);
        call_provided::<dyn ParameterListenerPort, _>(&listener, &self.id.name, |_| ())?;
        // The set outlives the instance, which the listener must not.
        let heard = ParameterListener {
            listener: Arc::downgrade(&listener),
            port: name,
            instance: self.id.name.to_string(),
        };
        self.own(&mut shared.lock())?
            .parameter_listeners
            .push(listener);
        let described = heard.clone();
        set.on_set(move |key| heard.call(|to, port| to.updated_parameter_value(port, key.into())));
        set.on_get(move || described.call(|to, port| to.update_parameter_port(port)));
        Ok(())
    }
}

/// A listener for the parameters of one of a component's ports, as long as the instance lives.
#[derive(Clone)]
struct ParameterListener {
    listener: Weak<Provided>,
    port: String,
    instance: String,
}

impl ParameterListener {
    /// Calls the listener; its result is ignored.
    fn call(
        &self,
        work: impl FnOnce(&ParameterListenerPortStub, RStr<'_>) -> Result<(), PortError>,
    ) {
        if let Some(listener) = self.listener.upgrade() {
            let port = self.port.as_str().into();
            let _ignored =
                call_provided::<dyn ParameterListenerPort, _>(&listener, &self.instance, |to| {
                    work(to, port)
                });
        }
    }
}
