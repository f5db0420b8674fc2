//! Parameters and properties in a form that every language has: `cca.Services` passes them to C, C++ and Fortran.

use cca_abi::ROption;

use crate::{
    Bounds, ErrorCode, ParameterDescription, ParameterValue, PortError, RSlice, RStr, RString,
    RVec, StableAbi, TypeValue,
};

/// Type of a [`PlainValue`]; a number, since C may pass any.
pub mod plain_kind {
    /// No value: the property is not there.
    pub const NONE: u32 = 0;
    /// True, if `integer` is not 0.
    pub const BOOL: u32 = 1;
    /// A whole number, `integer`.
    pub const INTEGER: u32 = 2;
    /// A real number, `real`.
    pub const REAL: u32 = 3;
    /// A text, `text`.
    pub const TEXT: u32 = 4;
}

/// A parameter's or a property's value; `cca_value` of `cca.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct PlainValue<'a> {
    /// One of [`plain_kind`]; which of the others it is.
    pub kind: u32,
    /// Of a whole number, or of true and false.
    pub integer: i64,
    /// Of a real number.
    pub real: f64,
    /// Of a text.
    pub text: RStr<'a>,
}

/// A parameter being declared; `cca_parameter` of `cca.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct PlainParameter<'a> {
    /// Its name, such as `end_time`.
    pub key: RStr<'a>,
    /// The value it has by default; its type is the parameter's.
    pub default: PlainValue<'a>,
    /// Whether there are bounds; not 0 if so.
    pub has_bounds: u32,
    /// Smallest value allowed.
    pub lower: f64,
    /// Largest value allowed.
    pub upper: f64,
    /// The allowed texts; any text if there are none.
    pub choices: RSlice<'a, RStr<'a>>,
    /// Unit; may be empty.
    pub unit: RStr<'a>,
    /// Description, one line; may be empty.
    pub help: RStr<'a>,
}

impl PlainValue<'_> {
    /// No value.
    pub const NONE: PlainValue<'static> = PlainValue {
        kind: plain_kind::NONE,
        integer: 0,
        real: 0.0,
        text: RStr::from_str(""),
    };
}

/// A text that came across the border, if it is one.
///
/// # Errors
/// `BadParameter`: C passed something else.
fn text<'a>(what: &str, text: &RStr<'a>) -> Result<&'a str, PortError> {
    cca_abi::checked_text(text).ok_or_else(|| {
        let message = format!("cannot read {what}: no text, expected a pointer to UTF-8");
        PortError::new(ErrorCode::BadParameter, message)
    })
}

fn bad_kind(kind: u32) -> PortError {
    let message =
        format!("cannot read value: kind {kind}, expected 1 to 4 (CCA_BOOL to CCA_TEXT_VALUE)");
    PortError::new(ErrorCode::BadParameter, message)
}

impl TryFrom<PlainValue<'_>> for ParameterValue {
    type Error = PortError;

    fn try_from(value: PlainValue<'_>) -> Result<Self, PortError> {
        Ok(match value.kind {
            plain_kind::BOOL => ParameterValue::Bool(value.integer != 0),
            plain_kind::INTEGER => ParameterValue::Integer(value.integer),
            plain_kind::REAL => ParameterValue::Real(value.real),
            plain_kind::TEXT => ParameterValue::Text(text("value", &value.text)?.into()),
            kind => return Err(bad_kind(kind)),
        })
    }
}

impl TryFrom<PlainValue<'_>> for TypeValue {
    type Error = PortError;

    fn try_from(value: PlainValue<'_>) -> Result<Self, PortError> {
        Ok(match ParameterValue::try_from(value)? {
            ParameterValue::Bool(value) => TypeValue::Bool(value),
            ParameterValue::Integer(value) => TypeValue::Long(value),
            ParameterValue::Real(value) => TypeValue::Double(value),
            ParameterValue::Text(value) => TypeValue::String(value),
        })
    }
}

/// A value whose text the caller keeps.
pub struct KeptValue {
    kind: u32,
    integer: i64,
    real: f64,
    text: RString,
}

impl KeptValue {
    fn new(kind: u32, integer: i64, real: f64, text: &str) -> Self {
        KeptValue {
            kind,
            integer,
            real,
            text: text.into(),
        }
    }

    /// The value, its text kept by `keep`.
    pub fn plain(&self, keep: impl FnOnce(&str) -> RStr<'static>) -> PlainValue<'static> {
        PlainValue {
            kind: self.kind,
            integer: self.integer,
            real: self.real,
            text: keep(&self.text),
        }
    }
}

impl From<&ParameterValue> for KeptValue {
    fn from(value: &ParameterValue) -> Self {
        match value {
            ParameterValue::Bool(value) => Self::new(plain_kind::BOOL, (*value).into(), 0.0, ""),
            ParameterValue::Integer(value) => Self::new(plain_kind::INTEGER, *value, 0.0, ""),
            ParameterValue::Real(value) => Self::new(plain_kind::REAL, 0, *value, ""),
            ParameterValue::Text(value) => Self::new(plain_kind::TEXT, 0, 0.0, value),
        }
    }
}

impl TryFrom<&TypeValue> for KeptValue {
    type Error = PortError;

    fn try_from(value: &TypeValue) -> Result<Self, PortError> {
        Ok(match value {
            TypeValue::Bool(value) => Self::new(plain_kind::BOOL, (*value).into(), 0.0, ""),
            TypeValue::Int(value) => Self::new(plain_kind::INTEGER, (*value).into(), 0.0, ""),
            TypeValue::Long(value) => Self::new(plain_kind::INTEGER, *value, 0.0, ""),
            TypeValue::Float(value) => Self::new(plain_kind::REAL, 0, (*value).into(), ""),
            TypeValue::Double(value) => Self::new(plain_kind::REAL, 0, *value, ""),
            TypeValue::String(value) => Self::new(plain_kind::TEXT, 0, 0.0, value),
            other => {
                let message = format!(
                    "cannot read property: {}, expected bool, int, long, float, double or string",
                    other.kind()
                );
                return Err(PortError::new(ErrorCode::BadProperties, message));
            }
        })
    }
}

impl TryFrom<PlainParameter<'_>> for ParameterDescription {
    type Error = PortError;

    fn try_from(parameter: PlainParameter<'_>) -> Result<Self, PortError> {
        let key = text("name of parameter", &parameter.key)?;
        // C leaves a null pointer with length 0, which must not become a slice.
        let choices = match parameter.choices.len() {
            0 => &[],
            _ => parameter.choices.as_slice(),
        };
        let choices = choices
            .iter()
            .map(|choice| text("choice", choice).map(RString::from));
        let (lower, upper) = (parameter.lower, parameter.upper);
        Ok(ParameterDescription {
            key: key.into(),
            default: parameter.default.try_into()?,
            bounds: match parameter.has_bounds {
                0 => ROption::RNone,
                _ => ROption::RSome(Bounds { lower, upper }),
            },
            choices: choices.collect::<Result<RVec<_>, _>>()?,
            unit: text("unit", &parameter.unit)?.into(),
            help: text("help", &parameter.help)?.into(),
            prompt: RString::new(),
            group: RString::new(),
        })
    }
}
