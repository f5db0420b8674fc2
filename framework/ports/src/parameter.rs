//! The port through which a component's parameters are set and shown.

use std::fmt;

use crate::{PortError, RStr, RString, RVec, StableAbi, TypeMap, port};
use cca_abi::ROption;

/// A parameter's value.
#[repr(u8)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub enum ParameterValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A real number, never NaN.
    Real(f64),
    /// A text; one of the choices if there are any.
    Text(RString),
}

impl ParameterValue {
    /// Name of the value's type.
    pub fn kind(&self) -> &'static str {
        match self {
            ParameterValue::Bool(_) => "true or false",
            ParameterValue::Integer(_) => "integer",
            ParameterValue::Real(_) => "number",
            ParameterValue::Text(_) => "text",
        }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Bool(value) => value.fmt(f),
            ParameterValue::Integer(value) => value.fmt(f),
            ParameterValue::Real(value) => real(*value, f),
            ParameterValue::Text(value) => write!(f, "{:?}", value.as_str()),
        }
    }
}

/// Writes a number out, unless that takes many digits.
fn real(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value == 0.0 || !value.is_finite() || (1e-4..1e16).contains(&value.abs()) {
        write!(f, "{value}")
    } else {
        write!(f, "{value:e}")
    }
}

/// The closed interval of values that a parameter may have, in its unit.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Bounds {
    /// Smallest value allowed.
    pub lower: f64,
    /// Largest value allowed.
    pub upper: f64,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        real(self.lower, f)?;
        f.write_str(" to ")?;
        real(self.upper, f)
    }
}

/// Everything about a parameter but its value.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
pub struct ParameterDescription {
    /// Name, such as `end_time`.
    pub key: RString,
    /// The value it has by default.
    pub default: ParameterValue,
    /// Bounds of a number.
    pub bounds: ROption<Bounds>,
    /// The texts allowed; any if empty.
    pub choices: RVec<RString>,
    /// Unit, empty if it has none.
    pub unit: RString,
    /// Description, one line.
    pub help: RString,
    /// Prompt that asks a user for a value; empty if the help is enough.
    pub prompt: RString,
    /// The group it is shown in; empty if it is in none.
    pub group: RString,
}

/// `gov.cca.ports.BasicParameterPort` and `ParameterPort`.
///
/// | CCA | here |
/// |---|---|
/// | `readConfigurationMap`, `writeConfigurationMap`, `readConfigurationKeys` | the same in snake case; the keys are those of `descriptions` |
/// | `getTitle`, `getGroupNames`, `getGroupTitle`, `getGroupKeys` | `title`; a description's `group` |
/// | `getKeys`, `getHelp`, `getPrompt`, `hasDefault`, `getDefault…`, `getBounds…`, `getChoices…` | one `descriptions` |
/// | `get…`, `set…` (one for each of 16 types) | `value`, `set_value` |
///
/// Numbers are `i64` and `f64`; there are no complex parameters and no arrays.
#[port(name = "cca.Parameter", version = "1.1")]
pub trait ParameterPort {
    /// All parameters, in the order they were added.
    ///
    /// # Errors
    /// None of its own.
    fn descriptions(&self) -> Result<RVec<ParameterDescription>, PortError>;

    /// The value of a parameter.
    ///
    /// # Errors
    /// `BadParameter`: no parameter has that name.
    fn value(&self, key: RStr<'_>) -> Result<ParameterValue, PortError>;

    /// Sets a parameter. An integer is converted where a real number is expected.
    ///
    /// # Errors
    /// `BadParameter`: unknown, of another type, out of bounds, not a number, or not among the
    /// choices.
    fn set_value(&self, key: RStr<'_>, value: ParameterValue) -> Result<(), PortError>;

    /// Title of the parameters, a few words; may be empty.
    ///
    /// # Errors
    /// None of its own.
    fn title(&self) -> Result<RString, PortError>;

    /// All values: `bool`, `long`, `double` and `string` properties.
    ///
    /// # Errors
    /// None of its own.
    fn read_configuration_map(&self) -> Result<TypeMap, PortError>;

    /// Sets every parameter that the map has a property for.
    ///
    /// # Errors
    /// As [`ParameterPort::set_value`], for the first property that is refused; those before it are then set.
    fn write_configuration_map(&self, map: TypeMap) -> Result<(), PortError>;
}

/// `gov.cca.ports.ParameterSetListener` and `ParameterGetListener`: listener that a component in C, C++ or Fortran
/// passes for its own parameters (`add_parameter_listener` of `cca.Services`). Rust components use
/// [`ParameterSet::on_set`] and [`ParameterSet::on_get`].
///
/// [`ParameterSet::on_set`]: crate::ParameterSet::on_set
/// [`ParameterSet::on_get`]: crate::ParameterSet::on_get
#[port(name = "cca.ParameterListener", version = "1.0")]
pub trait ParameterListenerPort {
    /// Called after a parameter was set, by any component or by the framework
    /// (`updatedParameterValue`).
    ///
    /// # Errors
    /// Ignored: the value is set already.
    fn updated_parameter_value(&self, port: RStr<'_>, key: RStr<'_>) -> Result<(), PortError>;

    /// The parameters are about to be described; some may be added before (`updateParameterPort`).
    ///
    /// # Errors
    /// Ignored: the present parameters are described.
    fn update_parameter_port(&self, port: RStr<'_>) -> Result<(), PortError>;
}
