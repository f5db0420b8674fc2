//! What a component calls the framework by: `cca.Services` of one instance.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use cca_abi::{
    InterfaceDescriptor, InterfacePointer, OwnedPort, PortError, RStr, RString, SlotPointer,
    checked_text, missing_function,
};
use cca_ports::ServicesPort;

use crate::connector::Connector;
use crate::error::FrameworkError;
use crate::state::{State, Uses, good_name};

/// A framework's state, shared with the services of its instances.
#[derive(Default)]
pub struct Shared(Mutex<State>);

impl Shared {
    /// The state; no component code may run while it is held.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic leaves the state half changed, so that a poisoned lock is as good as any.
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The services of one instance.
pub struct ComponentServices {
    pub framework: Weak<Shared>,
    pub instance: String,
}

impl ComponentServices {
    fn framework(&self) -> Result<Arc<Shared>, PortError> {
        let gone = || PortError::failed("the framework is gone");
        self.framework.upgrade().ok_or_else(gone)
    }

    fn add_error(&self, port: &str, what: impl Into<String>) -> FrameworkError {
        FrameworkError::BadPort {
            instance: self.instance.clone(),
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

    fn checked_name(&self, state: &State, port: &str) -> Result<(), FrameworkError> {
        let (instance, port) = (self.instance.clone(), port.to_string());
        if !good_name(&port) {
            return Err(FrameworkError::BadPortName { instance, port });
        }
        let entry = state.instance(&instance)?;
        if entry.provides.contains_key(&port) || entry.uses.contains_key(&port) {
            return Err(FrameworkError::PortAlreadyDefined { instance, port });
        }
        Ok(())
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
        self.checked_table(&name, &port)?;
        let shared = self.framework()?;
        let mut state = shared.lock();
        self.checked_name(&state, &name)?;
        let entry = state.instance_mut(&self.instance)?;
        entry.provides.insert(name.into(), Arc::new(port));
        Ok(())
    }

    fn remove_provides_port(&self, name: RStr<'_>) -> Result<(), PortError> {
        let shared = self.framework()?;
        let removed = {
            let mut state = shared.lock();
            state.provides(&self.instance, &name)?;
            let connected = state
                .instances
                .values()
                .flat_map(|entry| entry.uses.values())
                .any(|uses| {
                    let connection = uses.connection.as_ref();
                    connection.is_some_and(|c| c.provider == self.instance && c.port == *name)
                });
            if connected {
                let (instance, port) = (self.instance.clone(), name.to_string());
                return Err(FrameworkError::InUse { instance, port }.into());
            }
            state.instance_mut(&self.instance)?.provides.remove(&*name)
        };
        drop(removed);
        Ok(())
    }

    fn register_uses_port(
        &self,
        name: RStr<'_>,
        interface: InterfacePointer,
    ) -> Result<(), PortError> {
        let interface = self.checked(&name, interface)?;
        let shared = self.framework()?;
        let mut state = shared.lock();
        self.checked_name(&state, &name)?;
        let uses = Uses {
            interface,
            connector: Connector::default(),
            connection: None,
        };
        state
            .instance_mut(&self.instance)?
            .uses
            .insert(name.into(), uses);
        Ok(())
    }

    fn unregister_uses_port(&self, name: RStr<'_>) -> Result<(), PortError> {
        let shared = self.framework()?;
        let mut state = shared.lock();
        let uses = state.uses(&self.instance, &name)?;
        if uses.connector.is_in_use() || uses.connection.is_some() {
            let (instance, port) = (self.instance.clone(), name.to_string());
            return Err(FrameworkError::InUse { instance, port }.into());
        }
        state.instance_mut(&self.instance)?.uses.remove(&*name);
        Ok(())
    }

    fn get_port(&self, name: RStr<'_>) -> Result<SlotPointer, PortError> {
        let shared = self.framework()?;
        let mut state = shared.lock();
        let uses = state.uses_mut(&self.instance, &name)?;
        if !uses.connector.is_connected() {
            let (instance, port) = (self.instance.clone(), name.to_string());
            return Err(FrameworkError::NotConnected { instance, port }.into());
        }
        uses.connector.acquire();
        // SAFETY: the slot is boxed; a port in use is not unregistered, and the framework outlives its components' calls.
        Ok(unsafe { SlotPointer::new(uses.connector.slot()) })
    }

    fn release_port(&self, name: RStr<'_>) -> Result<(), PortError> {
        let shared = self.framework()?;
        let released = shared
            .lock()
            .uses_mut(&self.instance, &name)?
            .connector
            .release();
        // What it led to before may be dropped now; here the lock is free again.
        match released {
            Some(unreachable) => drop(unreachable),
            None => {
                let (instance, port) = (self.instance.clone(), name.to_string());
                return Err(FrameworkError::NotInUse { instance, port }.into());
            }
        }
        Ok(())
    }

    fn instance_name(&self) -> Result<RString, PortError> {
        Ok(self.instance.as_str().into())
    }
}
