//! A component's side of its parameters: declared once, read by the component, set by others.
//!
//! A component that has settings declares them in a [`ParameterSet`], which is at the same time the
//! provider of its parameter port. The declaration gives type, default, bounds or choices, unit and
//! help; every value that comes in from an assembly, the command line or another component is
//! checked against it, so the component reads only valid values and needs no checks of its own.
//!
//! ```text
//! let set = services.parameters("config")?;
//! let cfl = set.real("cfl", 0.4).bounds(0.0, 1.0).help("Courant number").add()?;
//! ...
//! let dt = cfl.get() * dx / speed;               // the value now
//!
//! [parameters]                                   # in an assembly file
//! driver = { config = { cfl = 0.9 } }
//! ```
//!
//! Listeners are called without any lock of the set, because they may read, set or add parameters
//! themselves.

use std::marker::PhantomData;
use std::sync::{Arc, RwLock};

use cca_abi::ROption;

use crate::parameter::{Bounds, ParameterDescription, ParameterPort, ParameterValue};
use crate::{ErrorCode, PortError, RStr, RString, RVec, TypeMap, TypeValue};

/// The parameters behind one parameter port, as `gov.cca.ports.ParameterPortFactory` makes them.
///
/// | CCA | here |
/// |---|---|
/// | `createParameterPort`, `addParameterPort`, `initParameterData` | [`Services::parameters`](crate::Services::parameters) |
/// | `removeParameterPort` | [`Services::remove_provides_port`](crate::Services::remove_provides_port) |
/// | `setBatchTitle` | [`ParameterSet::set_title`] |
/// | `setGroupName`, `setGroupNameAndTitle` | [`ParameterSet::begin_group`] |
/// | `addRequest…` (by type) | [`ParameterSet::real`], [`integer`](ParameterSet::integer), [`bool`](ParameterSet::bool), [`text`](ParameterSet::text); default, help, prompt and bounds by the builder |
/// | `addRequestStringChoice` | [`ParameterBuilder::choices`] |
/// | `registerUpdatedListener` (`ParameterSetListener`) | [`ParameterSet::on_set`] |
/// | `registerUpdater` (`ParameterGetListener`) | [`ParameterSet::on_get`] |
#[derive(Default)]
pub struct ParameterSet {
    entries: RwLock<Vec<Entry>>,
    texts: RwLock<Texts>,
    set_listeners: RwLock<Vec<SetListener>>,
    get_listeners: RwLock<Vec<GetListener>>,
}

/// `ParameterSetListener.updatedParameterValue`: receives the key of a parameter that was set.
type SetListener = Arc<dyn Fn(&str) + Send + Sync>;

/// `ParameterGetListener.updateParameterPort`: may add parameters before they are read.
type GetListener = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug, Default)]
struct Texts {
    title: RString,
    group: RString,
}

impl std::fmt::Debug for ParameterSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParameterSet")
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[derive(Debug)]
struct Entry {
    description: ParameterDescription,
    value: ParameterValue,
}

/// A Rust type that a parameter's value can be read as.
pub trait ParameterType: Clone {
    /// The value as this type; the set contains only values of the right type.
    fn from_value(value: &ParameterValue) -> Option<Self>;
}

impl ParameterType for f64 {
    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Real(value) => Some(*value),
            _ => None,
        }
    }
}

impl ParameterType for i64 {
    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Integer(value) => Some(*value),
            _ => None,
        }
    }
}

impl ParameterType for bool {
    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl ParameterType for String {
    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Text(value) => Some(value.to_string()),
            _ => None,
        }
    }
}

/// A parameter as its component reads it: a handle on the set, whose value is always of type `T`
/// and allowed.
#[derive(Clone, Debug)]
pub struct Parameter<T> {
    set: Arc<ParameterSet>,
    index: usize,
    default: T,
}

impl<T: ParameterType> Parameter<T> {
    /// The value now.
    pub fn get(&self) -> T {
        let entries = read(&self.set.entries);
        let value = entries
            .get(self.index)
            .and_then(|entry| T::from_value(&entry.value));
        value.unwrap_or_else(|| self.default.clone())
    }
}

/// A parameter being declared; [`ParameterBuilder::add`] adds it.
#[derive(Debug)]
#[must_use = "the parameter is added by `add`"]
pub struct ParameterBuilder<T> {
    set: Arc<ParameterSet>,
    description: ParameterDescription,
    default: T,
    kind: PhantomData<T>,
}

impl ParameterSet {
    /// Sets the title of the parameters.
    pub fn set_title(&self, title: &str) {
        write(&self.texts).title = title.into();
    }

    /// Begins a group: parameters declared from now on are shown in it.
    pub fn begin_group(&self, group: &str) {
        write(&self.texts).group = group.into();
    }

    /// Registers `listener`, which is called with the key of each parameter after the parameter is set.
    pub fn on_set(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        write(&self.set_listeners).push(Arc::new(listener));
    }

    /// Registers `listener`, which is called before parameters are described; it may add some.
    pub fn on_get(&self, listener: impl Fn() + Send + Sync + 'static) {
        write(&self.get_listeners).push(Arc::new(listener));
    }

    /// A real parameter.
    pub fn real(self: &Arc<Self>, key: &str, default: f64) -> ParameterBuilder<f64> {
        self.builder(key, ParameterValue::Real(default), default)
    }

    /// An integer parameter.
    pub fn integer(self: &Arc<Self>, key: &str, default: i64) -> ParameterBuilder<i64> {
        self.builder(key, ParameterValue::Integer(default), default)
    }

    /// A parameter that is true or false.
    pub fn bool(self: &Arc<Self>, key: &str, default: bool) -> ParameterBuilder<bool> {
        self.builder(key, ParameterValue::Bool(default), default)
    }

    /// A text parameter.
    pub fn text(self: &Arc<Self>, key: &str, default: &str) -> ParameterBuilder<String> {
        self.builder(key, ParameterValue::Text(default.into()), default.into())
    }

    /// Sets the prompt that asks a user for the parameter.
    ///
    /// # Errors
    /// `BadParameter`: no parameter has that name.
    pub fn set_prompt(&self, key: &str, prompt: &str) -> Result<(), PortError> {
        let mut entries = write(&self.entries);
        match entries
            .iter_mut()
            .find(|entry| entry.description.key == key)
        {
            Some(entry) => {
                entry.description.prompt = prompt.into();
                Ok(())
            }
            None => Err(unknown(&entries, key)),
        }
    }

    /// Adds a parameter by its description; without a group of its own it goes into the current
    /// group.
    ///
    /// # Returns
    /// Its place, from 0.
    ///
    /// # Errors
    /// `BadParameter`: the name is empty or taken, or the default is not allowed itself.
    pub fn add_described(&self, mut description: ParameterDescription) -> Result<usize, PortError> {
        if description.group.is_empty() {
            description.group = read(&self.texts).group.clone();
        }
        // A default outside its own bounds would make the first value invalid.
        let value = allowed(&description, description.default.clone())?;
        let mut entries = write(&self.entries);
        let key = &description.key;
        if key.is_empty() || entries.iter().any(|entry| entry.description.key == *key) {
            return Err(bad(format_args!(
                "cannot add parameter \"{key}\": the name is taken or empty, expected a new one"
            )));
        }
        entries.push(Entry { description, value });
        Ok(entries.len() - 1)
    }

    fn builder<T>(
        self: &Arc<Self>,
        key: &str,
        value: ParameterValue,
        default: T,
    ) -> ParameterBuilder<T> {
        ParameterBuilder {
            set: Arc::clone(self),
            description: ParameterDescription {
                key: key.into(),
                default: value,
                bounds: ROption::RNone,
                choices: RVec::new(),
                unit: RString::new(),
                help: RString::new(),
                prompt: RString::new(),
                group: RString::new(),
            },
            default,
            kind: PhantomData,
        }
    }
}

impl<T: ParameterType> ParameterBuilder<T> {
    /// Bounds of a number, both allowed.
    pub fn bounds(mut self, lower: f64, upper: f64) -> Self {
        self.description.bounds = ROption::RSome(Bounds { lower, upper });
        self
    }

    /// The texts allowed.
    pub fn choices(mut self, choices: &[&str]) -> Self {
        self.description.choices = choices
            .iter()
            .map(|choice| RString::from(*choice))
            .collect();
        self
    }

    /// The unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.description.unit = unit.into();
        self
    }

    /// Sets the description, one line.
    pub fn help(mut self, help: &str) -> Self {
        self.description.help = help.into();
        self
    }

    /// Sets the prompt that asks a user for a value.
    pub fn prompt(mut self, prompt: &str) -> Self {
        self.description.prompt = prompt.into();
        self
    }

    /// Adds the parameter to its port.
    ///
    /// # Errors
    /// `BadParameter`: the name is taken, or the default is not allowed itself.
    pub fn add(self) -> Result<Parameter<T>, PortError> {
        let index = self.set.add_described(self.description)?;
        Ok(Parameter {
            set: self.set,
            index,
            default: self.default,
        })
    }
}

impl ParameterPort for ParameterSet {
    fn descriptions(&self) -> Result<RVec<ParameterDescription>, PortError> {
        let listeners = read(&self.get_listeners).clone();
        listeners.iter().for_each(|listener| listener());
        let entries = read(&self.entries);
        Ok(entries
            .iter()
            .map(|entry| entry.description.clone())
            .collect())
    }

    fn value(&self, key: RStr<'_>) -> Result<ParameterValue, PortError> {
        let entries = read(&self.entries);
        let entry = entries.iter().find(|entry| entry.description.key == *key);
        entry
            .map(|entry| entry.value.clone())
            .ok_or_else(|| unknown(&entries, &key))
    }

    fn set_value(&self, key: RStr<'_>, value: ParameterValue) -> Result<(), PortError> {
        let mut entries = write(&self.entries);
        let Some(index) = entries
            .iter()
            .position(|entry| entry.description.key == *key)
        else {
            return Err(unknown(&entries, &key));
        };
        let entry = &mut entries[index];
        entry.value = allowed(&entry.description, value)?;
        // A listener may read or set parameters of this set.
        drop(entries);
        let listeners = read(&self.set_listeners).clone();
        listeners.iter().for_each(|listener| listener(&key));
        Ok(())
    }

    fn title(&self) -> Result<RString, PortError> {
        Ok(read(&self.texts).title.clone())
    }

    fn read_configuration_map(&self) -> Result<TypeMap, PortError> {
        let mut map = TypeMap::default();
        for entry in read(&self.entries).iter() {
            let value = match &entry.value {
                ParameterValue::Bool(value) => TypeValue::Bool(*value),
                ParameterValue::Integer(value) => TypeValue::Long(*value),
                ParameterValue::Real(value) => TypeValue::Double(*value),
                ParameterValue::Text(value) => TypeValue::String(value.clone()),
            };
            map.put_value(&entry.description.key, value)?;
        }
        Ok(map)
    }

    fn write_configuration_map(&self, map: TypeMap) -> Result<(), PortError> {
        for key in map.get_all_keys(crate::TypeKind::NoType) {
            let value = match map.value(key) {
                Some(TypeValue::Bool(value)) => ParameterValue::Bool(*value),
                Some(TypeValue::Int(value)) => ParameterValue::Integer((*value).into()),
                Some(TypeValue::Long(value)) => ParameterValue::Integer(*value),
                Some(TypeValue::Float(value)) => ParameterValue::Real((*value).into()),
                Some(TypeValue::Double(value)) => ParameterValue::Real(*value),
                Some(TypeValue::String(value)) => ParameterValue::Text(value.clone()),
                _ => {
                    let kind = map.type_of(key);
                    let message = format!(
                        "cannot set parameter \"{key}\": {kind}, expected bool, int, long, float, double or string"
                    );
                    return Err(PortError::new(ErrorCode::BadProperties, message));
                }
            };
            self.set_value(key.into(), value)?;
        }
        Ok(())
    }
}

fn unknown(entries: &[Entry], key: &str) -> PortError {
    let known: Vec<_> = entries
        .iter()
        .map(|entry| entry.description.key.as_str())
        .collect();
    let known = if known.is_empty() {
        "no parameter".into()
    } else {
        format!("one of {}", known.join(", "))
    };
    bad(format_args!(
        "cannot set parameter \"{key}\": unknown, expected {known}"
    ))
}

fn bad(message: std::fmt::Arguments<'_>) -> PortError {
    PortError::new(ErrorCode::BadParameter, message)
}

/// The value in the parameter's type, if the description allows it.
fn allowed(
    description: &ParameterDescription,
    value: ParameterValue,
) -> Result<ParameterValue, PortError> {
    use ParameterValue::*;
    let key = &description.key;
    let unit = if matches!(description.unit.as_str(), "" | "1") {
        String::new()
    } else {
        format!(" {}", description.unit)
    };
    let refuse = |found: &ParameterValue, wanted: String| {
        Err(bad(format_args!(
            "cannot set parameter \"{key}\": {found}{unit}, expected {wanted}"
        )))
    };
    let value = match (&description.default, value) {
        // TOML writes `4` for a real parameter as well.
        (Real(_), Integer(whole)) => Real(whole as f64),
        (Bool(_), value @ Bool(_))
        | (Integer(_), value @ Integer(_))
        | (Real(_), value @ Real(_)) => value,
        (Text(_), value @ Text(_)) => value,
        (default, value) => return refuse(&value, default.kind().into()),
    };
    let number = match &value {
        Real(number) => Some(*number),
        Integer(number) => Some(*number as f64),
        _ => None,
    };
    if number.is_some_and(f64::is_nan) {
        return refuse(&value, "a number".into());
    }
    if let (Some(number), ROption::RSome(bounds)) = (number, &description.bounds)
        && !(bounds.lower..=bounds.upper).contains(&number)
    {
        return refuse(&value, format!("{bounds}{unit}"));
    }
    if let Text(text) = &value
        && !description.choices.is_empty()
        && !description.choices.contains(text)
    {
        let choices: Vec<_> = description
            .choices
            .iter()
            .map(|choice| choice.as_str())
            .collect();
        return refuse(&value, format!("one of {}", choices.join(", ")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
