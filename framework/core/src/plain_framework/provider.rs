//! Provider of the port: CCA's own ports of the framework, with type maps and texts kept for callers that cannot own
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cca_abi::{ErrorCode, OwnedPort, PortError, ProvidedBy, RSlice, RSliceMut, RStr, RString};
use cca_ports::{
    AbstractFrameworkPort, BuilderServicePort, ComponentId, ConnectionEvent, ConnectionEventKind,
    ConnectionEventListenerPort, KeptValue, ParameterPort, PlainValue, PortConnection, TypeMap,
    TypeValue, plain_kind,
};

use super::property::{
    bad_property, copy, integers, kind_of, lent, lent_mut, number_of, of_integers, of_reals,
    of_value, reals, text,
};
use super::{PlainFrameworkPort, PlainListenerPort};
use crate::framework::{Framework, call_provided};
use crate::framework_ports::FrameworkPorts;
use crate::services::Shared;
use crate::state::{FRAMEWORK, Provided, is_own};

/// Provider of the port: one for each uses port connected to it.
struct PlainFramework {
    ports: FrameworkPorts,
    shared: Weak<Shared>,
    maps: Mutex<Maps>,
    /// Texts that were returned, each once.
    texts: Mutex<BTreeSet<&'static str>>,
}

#[derive(Default)]
struct Maps {
    last: u64,
    maps: BTreeMap<u64, TypeMap>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The port of a framework.
pub fn provide(shared: Weak<Shared>) -> OwnedPort {
    let ports = FrameworkPorts::new(Weak::clone(&shared));
    provide_through(ports, shared)
}

fn provide_through(ports: FrameworkPorts, shared: Weak<Shared>) -> OwnedPort {
    <dyn PlainFrameworkPort>::provide(Arc::new(PlainFramework {
        ports,
        shared,
        maps: Mutex::default(),
        texts: Mutex::default(),
    }))
}

impl PlainFramework {
    fn keep(&self, text: &str) -> RStr<'static> {
        let mut texts = locked(&self.texts);
        if let Some(kept) = texts.get(text) {
            return (*kept).into();
        }
        let kept: &'static str = String::leak(text.into());
        texts.insert(kept);
        kept.into()
    }

    fn framework(&self) -> Result<Framework, PortError> {
        let shared = self.shared.upgrade();
        let shared = shared.ok_or_else(|| PortError::failed("the framework is gone"))?;
        Ok(Framework::handle(shared))
    }

    fn add_map(&self, map: TypeMap) -> u64 {
        let mut maps = locked(&self.maps);
        maps.last += 1;
        let number = maps.last;
        maps.maps.insert(number, map);
        number
    }

    fn with_map<R>(
        &self,
        number: u64,
        work: impl FnOnce(&mut TypeMap) -> Result<R, PortError>,
    ) -> Result<R, PortError> {
        let mut maps = locked(&self.maps);
        let map = maps.maps.get_mut(&number).ok_or_else(|| {
            let message = format!(
                "cannot find type map {number}: unknown, expected one that was made and not freed"
            );
            PortError::new(ErrorCode::BadProperties, message)
        })?;
        work(map)
    }

    /// A map as an argument: 0 is an empty one.
    fn map(&self, number: u64) -> Result<TypeMap, PortError> {
        match number {
            0 => Ok(TypeMap::default()),
            number => self.with_map(number, |map| Ok(map.clone())),
        }
    }

    fn value(&self, map: u64, key: &str) -> Result<Option<TypeValue>, PortError> {
        self.with_map(map, |map| Ok(map.value(key).cloned()))
    }

    fn id(&self, component: u64) -> Result<ComponentId, PortError> {
        let framework = self.framework()?;
        let name = framework.shared.lock().order.get(&component).cloned();
        let name = name.filter(|name| !is_own(name)).ok_or_else(|| {
            PortError::failed(format_args!(
                "cannot find component {component}: unknown, expected the number of one that lives"
            ))
        })?;
        let name = RString::from(name);
        let serial = component;
        Ok(ComponentId { name, serial })
    }

    fn connection(&self, user: u64, uses: &str) -> Result<PortConnection, PortError> {
        let id = self.id(user)?;
        let framework = self.framework()?;
        let found = framework.connection(&id.name, uses)?;
        let state = framework.shared.lock();
        Ok(crate::events::port_connection(&state, &found))
    }

    fn connections(&self, component: u64) -> Result<Vec<PortConnection>, PortError> {
        let of = match component {
            0 => Vec::new(),
            number => vec![self.id(number)?],
        };
        Ok(self.ports.get_connection_ids(of.into())?.into())
    }

    /// An element of a list by its place, its text kept.
    fn nth(&self, list: &[RString], index: usize) -> RStr<'static> {
        self.keep(list.get(index).map_or("", |text| text.as_str()))
    }
}

impl PlainFrameworkPort for PlainFramework {
    fn create_map(&self) -> Result<u64, PortError> {
        Ok(self.add_map(TypeMap::default()))
    }

    fn clone_map(&self, map: u64) -> Result<u64, PortError> {
        let copy = self.with_map(map, |map| Ok(map.clone()))?;
        Ok(self.add_map(copy))
    }

    fn free_map(&self, map: u64) -> Result<(), PortError> {
        self.with_map(map, |_| Ok(()))?;
        locked(&self.maps).maps.remove(&map);
        Ok(())
    }

    fn remove_property(&self, map: u64, key: RStr<'_>) -> Result<(), PortError> {
        let key = text("key", &key)?;
        self.with_map(map, |map| {
            map.remove(key);
            Ok(())
        })
    }

    fn property_type(&self, map: u64, key: RStr<'_>) -> Result<u32, PortError> {
        let key = text("key", &key)?;
        self.with_map(map, |map| Ok(number_of(map.type_of(key))))
    }

    fn property_key(&self, map: u64, kind: u32, index: usize) -> Result<RStr<'static>, PortError> {
        let kind = kind_of(kind)?;
        self.with_map(map, |map| {
            Ok(self.keep(map.get_all_keys(kind).get(index).unwrap_or(&"")))
        })
    }

    fn property(&self, map: u64, key: RStr<'_>) -> Result<PlainValue<'static>, PortError> {
        match self.value(map, text("key", &key)?)? {
            None => Ok(PlainValue::NONE),
            Some(value) => Ok(KeptValue::try_from(&value)?.plain(|text| self.keep(text))),
        }
    }

    fn put_property(
        &self,
        map: u64,
        key: RStr<'_>,
        kind: u32,
        value: PlainValue<'_>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let value = of_value(key, kind_of(kind)?, value)?;
        self.with_map(map, |map| Ok(map.put_value(key, value)?))
    }

    fn property_length(&self, map: u64, key: RStr<'_>) -> Result<usize, PortError> {
        let value = self.value(map, text("key", &key)?)?;
        Ok(value.map_or(0, |value| match &value {
            TypeValue::String(_) => 1,
            TypeValue::StringArray(texts) => texts.len(),
            other => {
                let integers = integers(other).map(|values| values.len());
                integers
                    .or_else(|| reals(other).map(|values| values.len()))
                    .unwrap_or(0)
            }
        }))
    }

    fn property_integers(
        &self,
        map: u64,
        key: RStr<'_>,
        mut values: RSliceMut<'_, i64>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let found = self.value(map, key)?.as_ref().and_then(integers);
        copy(key, found, lent_mut(&mut values), "integers")
    }

    fn property_reals(
        &self,
        map: u64,
        key: RStr<'_>,
        mut values: RSliceMut<'_, f64>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let found = self.value(map, key)?.as_ref().and_then(reals);
        copy(key, found, lent_mut(&mut values), "real numbers")
    }

    fn property_text(
        &self,
        map: u64,
        key: RStr<'_>,
        index: usize,
    ) -> Result<RStr<'static>, PortError> {
        let key = text("key", &key)?;
        match self.value(map, key)? {
            Some(TypeValue::StringArray(texts)) => Ok(self.nth(&texts, index)),
            Some(other) => Err(bad_property(
                key,
                format!("type {}", other.kind()),
                "an array of texts",
            )),
            None => Ok(self.keep("")),
        }
    }

    fn put_integers(
        &self,
        map: u64,
        key: RStr<'_>,
        kind: u32,
        values: RSlice<'_, i64>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let value = of_integers(key, kind_of(kind)?, lent(&values))?;
        self.with_map(map, |map| Ok(map.put_value(key, value)?))
    }

    fn put_reals(
        &self,
        map: u64,
        key: RStr<'_>,
        kind: u32,
        values: RSlice<'_, f64>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let value = of_reals(key, kind_of(kind)?, lent(&values))?;
        self.with_map(map, |map| Ok(map.put_value(key, value)?))
    }

    fn put_texts(
        &self,
        map: u64,
        key: RStr<'_>,
        values: RSlice<'_, RStr<'_>>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let texts = lent(&values)
            .iter()
            .map(|value| text("property", value).map(RString::from));
        let texts: Vec<_> = texts.collect::<Result<_, _>>()?;
        self.with_map(map, |map| {
            Ok(map.put_value(key, TypeValue::StringArray(texts.into()))?)
        })
    }

    fn create_instance(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: u64,
    ) -> Result<u64, PortError> {
        let (instance, class) = (text("name", &instance)?, text("class", &class)?);
        let properties = self.map(properties)?;
        let id = self
            .ports
            .create_instance(instance.into(), class.into(), properties)?;
        Ok(id.serial)
    }

    fn component_at(&self, index: usize) -> Result<u64, PortError> {
        let ids = self.ports.get_component_ids()?;
        Ok(ids.get(index).map_or(0, |id| id.serial))
    }

    fn component(&self, instance: RStr<'_>) -> Result<u64, PortError> {
        let instance = text("name", &instance)?;
        Ok(self.ports.get_component_id(instance.into())?.serial)
    }

    fn component_name(&self, component: u64) -> Result<RStr<'static>, PortError> {
        Ok(self.keep(&self.id(component)?.name))
    }

    fn serialization(&self, component: u64) -> Result<RStr<'static>, PortError> {
        Ok(self.keep(&self.id(component)?.to_string()))
    }

    fn deserialization(&self, serialized: RStr<'_>) -> Result<u64, PortError> {
        let serialized = text("component", &serialized)?;
        Ok(self.ports.get_deserialization(serialized.into())?.serial)
    }

    fn component_properties(&self, component: u64) -> Result<u64, PortError> {
        let map = self.ports.get_component_properties(self.id(component)?)?;
        Ok(self.add_map(map))
    }

    fn set_component_properties(&self, component: u64, map: u64) -> Result<(), PortError> {
        self.ports
            .set_component_properties(self.id(component)?, self.map(map)?)
    }

    fn destroy_instance(&self, component: u64, timeout_s: f64) -> Result<(), PortError> {
        BuilderServicePort::destroy_instance(&self.ports, self.id(component)?, timeout_s)
    }

    fn provided_port(&self, component: u64, index: usize) -> Result<RStr<'static>, PortError> {
        let names = self.ports.get_provided_port_names(self.id(component)?)?;
        Ok(self.nth(&names, index))
    }

    fn used_port(&self, component: u64, index: usize) -> Result<RStr<'static>, PortError> {
        let names = self.ports.get_used_port_names(self.id(component)?)?;
        Ok(self.nth(&names, index))
    }

    fn port_properties(&self, component: u64, port: RStr<'_>) -> Result<u64, PortError> {
        let port = text("port", &port)?;
        let map = self
            .ports
            .get_port_properties(self.id(component)?, port.into())?;
        Ok(self.add_map(map))
    }

    fn set_port_properties(
        &self,
        component: u64,
        port: RStr<'_>,
        map: u64,
    ) -> Result<(), PortError> {
        let port = text("port", &port)?;
        self.ports
            .set_port_properties(self.id(component)?, port.into(), self.map(map)?)
    }

    fn connect(
        &self,
        user: u64,
        uses: RStr<'_>,
        provider: u64,
        provides: RStr<'_>,
    ) -> Result<(), PortError> {
        let (uses, provides) = (text("port", &uses)?, text("port", &provides)?);
        let (user, provider) = (self.id(user)?, self.id(provider)?);
        let connected = self
            .ports
            .connect(user, uses.into(), provider, provides.into());
        connected.map(drop)
    }

    fn connection_user(&self, component: u64, index: usize) -> Result<u64, PortError> {
        let connections = self.connections(component)?;
        Ok(connections
            .get(index)
            .map_or(0, |connection| connection.user.serial))
    }

    fn connection_uses(&self, component: u64, index: usize) -> Result<RStr<'static>, PortError> {
        let connections = self.connections(component)?;
        Ok(self.keep(
            connections
                .get(index)
                .map_or("", |connection| connection.uses.as_str()),
        ))
    }

    fn connection_provider(&self, user: u64, uses: RStr<'_>) -> Result<u64, PortError> {
        Ok(self.connection(user, text("port", &uses)?)?.provider.serial)
    }

    fn connection_provides(&self, user: u64, uses: RStr<'_>) -> Result<RStr<'static>, PortError> {
        let connection = self.connection(user, text("port", &uses)?)?;
        Ok(self.keep(&connection.provides))
    }

    fn connection_properties(&self, user: u64, uses: RStr<'_>) -> Result<u64, PortError> {
        let connection = self.connection(user, text("port", &uses)?)?;
        let map = self.ports.get_connection_properties(connection)?;
        Ok(self.add_map(map))
    }

    fn set_connection_properties(
        &self,
        user: u64,
        uses: RStr<'_>,
        map: u64,
    ) -> Result<(), PortError> {
        let connection = self.connection(user, text("port", &uses)?)?;
        self.ports
            .set_connection_properties(connection, self.map(map)?)
    }

    fn disconnect(&self, user: u64, uses: RStr<'_>, timeout_s: f64) -> Result<(), PortError> {
        let connection = self.connection(user, text("port", &uses)?)?;
        BuilderServicePort::disconnect(&self.ports, connection, timeout_s)
    }

    fn disconnect_all(&self, first: u64, second: u64, timeout_s: f64) -> Result<(), PortError> {
        let (first, second) = (self.id(first)?, self.id(second)?);
        BuilderServicePort::disconnect_all(&self.ports, first, second, timeout_s)
    }

    fn set_parameter(
        &self,
        component: u64,
        key: RStr<'_>,
        value: PlainValue<'_>,
    ) -> Result<(), PortError> {
        let key = text("key", &key)?;
        let value = match value.kind {
            plain_kind::BOOL => toml::Value::Boolean(value.integer != 0),
            plain_kind::INTEGER => toml::Value::Integer(value.integer),
            plain_kind::REAL => toml::Value::Float(value.real),
            plain_kind::TEXT => toml::Value::String(text("value", &value.text)?.into()),
            kind => {
                let message = format!(
                    "cannot set parameter \"{key}\": a value of kind {kind}, expected 1 to 4"
                );
                return Err(PortError::new(ErrorCode::BadParameter, message));
            }
        };
        let id = self.id(component)?;
        Ok(self.framework()?.set_parameter(&id.name, key, &value)?)
    }

    fn parameter(
        &self,
        component: u64,
        port: RStr<'_>,
        key: RStr<'_>,
    ) -> Result<PlainValue<'static>, PortError> {
        let (port, key) = (text("port", &port)?, text("key", &key)?);
        let id = self.id(component)?;
        let value =
            self.framework()?
                .with_port::<dyn ParameterPort, _>(&id.name, port, |port| {
                    port.value(key.into())
                })??;
        Ok(KeptValue::from(&value).plain(|text| self.keep(text)))
    }

    fn class_at(&self, index: usize) -> Result<RStr<'static>, PortError> {
        let classes = self.framework()?.available_classes();
        Ok(classes
            .get(index)
            .map_or_else(|| self.keep(""), |class| class.name().into()))
    }

    fn class_library(&self, class: RStr<'_>) -> Result<RStr<'static>, PortError> {
        let class = text("class", &class)?;
        let classes = self.framework()?.available_classes();
        let found = classes.iter().find(|known| known.name() == class);
        Ok(self
            .keep(&found.map_or_else(String::new, |class| class.library().display().to_string())))
    }

    fn append_repository_path(&self, path: RStr<'_>) -> Result<(), PortError> {
        let path = Path::new(text("path", &path)?);
        let added = self.framework()?.append_repository_path(path);
        added.map_err(PortError::failed)
    }

    fn add_listener(&self, kind: i32, listener: OwnedPort) -> Result<u64, PortError> {
        let event_kinds = [
            ConnectionEventKind::Error,
            ConnectionEventKind::All,
            ConnectionEventKind::ConnectPending,
            ConnectionEventKind::Connected,
            ConnectionEventKind::DisconnectPending,
            ConnectionEventKind::Disconnected,
        ];
        let found = event_kinds.into_iter().find(|known| *known as i32 == kind);
        let kind = found.ok_or_else(|| {
            PortError::failed(format_args!(
                "cannot listen for events of kind {kind}: unknown, expected -1 to 4"
            ))
        })?;
        let listener = Provided::own(listener);
        call_provided::<dyn PlainListenerPort, _>(&listener, FRAMEWORK, |_| ())?;
        let adapter = Arc::new(Listener(listener));
        let port = <dyn ConnectionEventListenerPort>::provide(adapter);
        Ok(self
            .framework()?
            .add_connection_event_listener(kind, port)?)
    }

    fn remove_listener(&self, listener: u64) -> Result<(), PortError> {
        Ok(self
            .framework()?
            .remove_connection_event_listener(listener)?)
    }

    fn get_services(
        &self,
        instance: RStr<'_>,
        class: RStr<'_>,
        properties: u64,
    ) -> Result<OwnedPort, PortError> {
        let (instance, class) = (text("name", &instance)?, text("class", &class)?);
        let properties = self.map(properties)?;
        AbstractFrameworkPort::get_services(&self.ports, instance.into(), class.into(), properties)
    }

    fn release_services(&self, instance: RStr<'_>) -> Result<(), PortError> {
        let instance = text("name", &instance)?;
        AbstractFrameworkPort::release_services(&self.ports, instance.into())
    }

    fn shutdown_framework(&self) -> Result<(), PortError> {
        AbstractFrameworkPort::shutdown_framework(&self.ports)
    }

    fn create_empty_framework(&self) -> Result<OwnedPort, PortError> {
        let (ports, shared) = self.ports.empty_framework()?;
        Ok(provide_through(ports, shared))
    }
}

/// Passes events on in plain types.
struct Listener(Arc<Provided>);

impl ConnectionEventListenerPort for Listener {
    fn connection_activity(&self, event: ConnectionEvent) -> Result<(), PortError> {
        let ConnectionEvent {
            kind,
            connection,
            message,
        } = event;
        call_provided::<dyn PlainListenerPort, _>(&self.0, FRAMEWORK, |port| {
            port.connection_activity(
                kind as i32,
                connection.user.serial,
                connection.uses.as_str().into(),
                connection.provider.serial,
                connection.provides.as_str().into(),
                message.as_str().into(),
            )
        })?
    }
}
