//! A component's side of its parameters.

use std::marker::PhantomData;
use std::sync::{Arc, RwLock};

use cca_abi::ROption;

use crate::parameter::{Bounds, ParameterDescription, ParameterPort, ParameterValue};
use crate::{ErrorCode, PortError, RStr, RString, RVec};

/// The parameters behind one parameter port.
#[derive(Debug, Default)]
pub struct ParameterSet {
    entries: RwLock<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    description: ParameterDescription,
    value: ParameterValue,
}

/// A Rust type that a parameter's value can be read as.
pub trait ParameterType: Clone {
    /// The value as this type; the set holds only values of the right kind.
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

/// A parameter as its component reads it.
#[derive(Clone, Debug)]
pub struct Parameter<T> {
    set: Arc<ParameterSet>,
    index: usize,
    default: T,
}

impl<T: ParameterType> Parameter<T> {
    /// The value now.
    pub fn get(&self) -> T {
        let entries = self
            .set
            .entries
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
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

    /// What it is, one line.
    pub fn help(mut self, help: &str) -> Self {
        self.description.help = help.into();
        self
    }

    /// Adds the parameter to its port.
    ///
    /// # Errors
    /// `BadParameter`: the name is taken, or the default is not allowed itself.
    pub fn add(self) -> Result<Parameter<T>, PortError> {
        let value = allowed(&self.description, self.description.default.clone())?;
        let mut entries = self
            .set
            .entries
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = &self.description.key;
        if entries.iter().any(|entry| entry.description.key == *key) {
            return Err(bad(format_args!(
                "cannot add parameter \"{key}\": the name is taken"
            )));
        }
        let index = entries.len();
        entries.push(Entry {
            description: self.description,
            value,
        });
        drop(entries);
        Ok(Parameter {
            set: self.set,
            index,
            default: self.default,
        })
    }
}

impl ParameterPort for ParameterSet {
    fn descriptions(&self) -> Result<RVec<ParameterDescription>, PortError> {
        let entries = self
            .entries
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        Ok(entries
            .iter()
            .map(|entry| entry.description.clone())
            .collect())
    }

    fn value(&self, key: RStr<'_>) -> Result<ParameterValue, PortError> {
        let entries = self
            .entries
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let entry = entries.iter().find(|entry| entry.description.key == *key);
        entry
            .map(|entry| entry.value.clone())
            .ok_or_else(|| unknown(&entries, &key))
    }

    fn set_value(&self, key: RStr<'_>, value: ParameterValue) -> Result<(), PortError> {
        let mut entries = self
            .entries
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(index) = entries
            .iter()
            .position(|entry| entry.description.key == *key)
        else {
            return Err(unknown(&entries, &key));
        };
        let entry = &mut entries[index];
        entry.value = allowed(&entry.description, value)?;
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

/// The value as it will be held, if the description allows it.
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
mod tests {
    use super::*;

    fn set() -> (Arc<ParameterSet>, Parameter<f64>, Parameter<String>) {
        let set = Arc::new(ParameterSet::default());
        let cfl = set
            .real("cfl", 0.4)
            .bounds(0.0, 1.0)
            .unit("1")
            .add()
            .unwrap();
        let side = set
            .text("left", "fixed")
            .choices(&["fixed", "outflow"])
            .add()
            .unwrap();
        (set, cfl, side)
    }

    #[test]
    fn a_value_is_held_and_an_integer_taken_for_a_number() {
        let (set, cfl, side) = set();
        assert_eq!(cfl.get(), 0.4);
        set.set_value("cfl".into(), ParameterValue::Integer(1))
            .unwrap();
        set.set_value("left".into(), ParameterValue::Text("outflow".into()))
            .unwrap();
        assert_eq!((cfl.get(), side.get().as_str()), (1.0, "outflow"));
    }

    #[test]
    fn what_is_not_allowed_changes_nothing_and_is_named() {
        let (set, cfl, _) = set();
        let refused = |key: &str, value| {
            set.set_value(key.into(), value)
                .unwrap_err()
                .message()
                .to_string()
        };
        assert_eq!(
            refused("cfl", ParameterValue::Real(1.5)),
            "cannot set parameter \"cfl\": 1.5, expected 0 to 1"
        );
        assert!(refused("cfl", ParameterValue::Real(f64::NAN)).contains("NaN"));
        assert!(refused("cfl", ParameterValue::Text("x".into())).contains("expected number"));
        assert!(refused("left", ParameterValue::Text("x".into())).contains("fixed, outflow"));
        assert!(refused("cfk", ParameterValue::Real(0.1)).contains("one of cfl, left"));
        assert_eq!(cfl.get(), 0.4);
    }

    #[test]
    fn a_default_out_of_bounds_and_a_second_name_are_refused() {
        let (set, _, _) = set();
        assert!(set.real("x", 2.0).bounds(0.0, 1.0).add().is_err());
        assert!(set.real("cfl", 0.1).add().is_err());
    }
}
