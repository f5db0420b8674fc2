//! Exponents of a formula: fractions, or fitted numbers.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An exponent: a fraction if it was chosen as one, a real number if it was fitted.
///
/// In JSON it is text, `"3/2"`, `"1"` or `"1.1873"`; a bare number is read as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Exponent {
    /// `numerator / denominator`, the denominator > 0.
    Fraction(i32, u32),
    /// A fitted exponent.
    Real(f64),
}

impl Exponent {
    /// Its value.
    pub fn value(self) -> f64 {
        match self {
            Self::Fraction(numerator, denominator) => f64::from(numerator) / f64::from(denominator),
            Self::Real(value) => value,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        match (numerator.parse(), denominator.parse()) {
            (Ok(numerator), Ok(denominator)) if denominator > 0 => {
                Some(Self::Fraction(numerator, denominator))
            }
            _ => text
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
                .map(Self::Real),
        }
    }
}

impl fmt::Display for Exponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fraction(numerator, 1) => write!(f, "{numerator}"),
            Self::Fraction(numerator, denominator) => write!(f, "{numerator}/{denominator}"),
            // Debug keeps the point of "2.0", so that the text is read as a real exponent again.
            Self::Real(value) => write!(f, "{value:?}"),
        }
    }
}

impl Serialize for Exponent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            // A model has about a hundred of them, so the common case avoids the formatting machinery.
            Self::Fraction(numerator @ 0..=9, denominator @ 1..=9) => {
                let digit = |n: u32| b'0' + n as u8;
                let text = [digit(numerator as u32), b'/', digit(denominator)];
                let length = if denominator == 1 { 1 } else { 3 };
                let text = std::str::from_utf8(&text[..length]);
                serializer.serialize_str(text.map_err(serde::ser::Error::custom)?)
            }
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Exponent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExponentVisitor)
    }
}

struct ExponentVisitor;

impl Visitor<'_> for ExponentVisitor {
    type Value = Exponent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an exponent such as \"3/2\" or 1.5")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Exponent, E> {
        Exponent::parse(text)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Exponent, E> {
        Ok(Exponent::Real(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Exponent, E> {
        let numerator = i32::try_from(value).map_err(|_| E::custom("exponent out of range"))?;
        Ok(Exponent::Fraction(numerator, 1))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Exponent, E> {
        let numerator = i32::try_from(value).map_err(|_| E::custom("exponent out of range"))?;
        Ok(Exponent::Fraction(numerator, 1))
    }
}
