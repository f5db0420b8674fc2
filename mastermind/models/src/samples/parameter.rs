//! Performance parameters and the coordinates they span.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of the values of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterKind {
    /// Whole numbers: sizes and counts.
    Integer,
    /// Real numbers.
    Real,
    /// A choice; a sample contains the index of its label. Combinations whose times differ are fitted separately.
    Enumeration(Vec<String>),
}

/// A performance parameter of a method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, unique in the method.
    pub name: String,
    /// Its unit, in the singular ("double"); empty where it has none.
    pub unit: String,
    /// Type of its values.
    pub kind: ParameterKind,
}

impl Parameter {
    /// A whole-number parameter.
    pub fn integer(name: &str, unit: &str) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            kind: ParameterKind::Integer,
        }
    }

    /// A real parameter.
    pub fn real(name: &str, unit: &str) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            kind: ParameterKind::Real,
        }
    }

    /// A choice among `labels`.
    pub fn enumeration(name: &str, labels: &[&str]) -> Self {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Self {
            name: name.into(),
            unit: String::new(),
            kind: ParameterKind::Enumeration(labels),
        }
    }

    /// Whether `value` is a valid value of this parameter.
    pub(crate) fn accepts(&self, value: f64) -> bool {
        match &self.kind {
            ParameterKind::Enumeration(labels) => {
                value.fract() == 0.0 && (0.0..labels.len() as f64).contains(&value)
            }
            _ => value.is_finite(),
        }
    }
}

/// Value of a parameter: a number, or the label of an enumeration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the parameter's unit.
    Number(f64),
    /// A label.
    Label(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Label(label) => label.fmt(f),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(label: &str) -> Self {
        Self::Label(label.into())
    }
}

/// Named values of the parameters of one call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coordinate {
    /// Parameter name to its value.
    pub values: BTreeMap<String, Value>,
}

impl Coordinate {
    /// A coordinate without parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the parameter `name` with `value` to the coordinate.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// The number of parameter `name`, if it has one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.values.get(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The label of parameter `name`, if it has one.
    pub fn label(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Value::Label(label)) => Some(label),
            _ => None,
        }
    }
}

/// `axis=x, q=4000`; "nowhere in particular" for a coordinate of no parameter.
impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self
            .values
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        f.write_str(if list.is_empty() {
            "nowhere in particular"
        } else {
            ""
        })?;
        f.write_str(&list.join(", "))
    }
}
