//! A cost formula: a constant and a sum of products of powers and logarithms of parameters.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An exponent: a fraction where it is one by nature, else a real number.
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
            // Debug keeps the point of "2.0", so that a real exponent is read as one again.
            Self::Real(value) => write!(f, "{value:?}"),
        }
    }
}

impl Serialize for Exponent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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

/// `param ^ exponent · log2(param) ^ log_exponent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Name of the parameter.
    pub param: String,
    /// Power of the parameter.
    pub exponent: Exponent,
    /// Power of its logarithm to base 2.
    #[serde(default)]
    pub log_exponent: u32,
}

impl Factor {
    fn evaluate(&self, x: f64) -> f64 {
        let power = match self.exponent {
            Exponent::Fraction(numerator, 1) => x.powi(numerator),
            exponent => x.powf(exponent.value()),
        };
        if self.log_exponent == 0 {
            power
        } else {
            power * x.log2().powi(self.log_exponent as i32)
        }
    }
}

/// A coefficient times a product of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Seconds a unit of the product.
    pub coefficient: f64,
    /// The factors.
    pub factors: Vec<Factor>,
}

impl Term {
    /// `coefficient · param`.
    pub fn linear(coefficient: f64, param: &str) -> Self {
        let exponent = Exponent::Fraction(1, 1);
        let factor = Factor {
            param: param.into(),
            exponent,
            log_exponent: 0,
        };
        Self {
            coefficient,
            factors: vec![factor],
        }
    }

    /// The product of the factors as text: `q^(3/2) * log2(q)^1`.
    pub(crate) fn product_text(&self) -> String {
        let one = Formula {
            constant: 0.0,
            terms: vec![Self {
                coefficient: 1.0,
                factors: self.factors.clone(),
            }],
        };
        one.to_string().trim_start_matches("1 * ").to_owned()
    }

    /// The product of the factors, without the coefficient.
    ///
    /// # Arguments
    /// * `number` - value of a parameter by its name
    ///
    /// # Errors
    /// The name of a parameter that `number` does not give.
    pub fn product(&self, number: impl Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        self.factors.iter().try_fold(1.0, |product, factor| {
            let x = number(&factor.param).ok_or(factor.param.as_str())?;
            Ok(product * factor.evaluate(x))
        })
    }
}

/// A constant and a sum of terms: the performance model normal form.
///
/// # Source
/// A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, SC '13, for the form (recalled, not looked up).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Formula {
    /// Seconds.
    pub constant: f64,
    /// The terms.
    pub terms: Vec<Term>,
}

impl Formula {
    /// The value, seconds; it may be negative, and it is not finite where a factor is not.
    ///
    /// # Arguments
    /// * `number` - value of a parameter by its name
    ///
    /// # Errors
    /// The name of a parameter that `number` does not give.
    pub fn evaluate(&self, number: impl Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        self.terms.iter().try_fold(self.constant, |sum, term| {
            Ok(sum + term.coefficient * term.product(&number)?)
        })
    }

    /// Whether parameter `name` is in it.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let factors = self.terms.iter().flat_map(|term| &term.factors);
        factors.into_iter().any(|factor| factor.param == name)
    }

    /// Whether every number in it is finite.
    pub(crate) fn is_finite(&self) -> bool {
        let exponents = |term: &Term| term.factors.iter().all(|f| f.exponent.value().is_finite());
        self.constant.is_finite()
            && self
                .terms
                .iter()
                .all(|term| term.coefficient.is_finite() && exponents(term))
    }
}

/// `2e-6 + 1e-9 * q^(3/2) * log2(q)^1`, six digits.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        if self.constant != 0.0 || self.terms.is_empty() {
            f.write_str(&short(self.constant))?;
            first = false;
        }
        for term in &self.terms {
            match (first, term.coefficient < 0.0) {
                (true, _) => f.write_str(&short(term.coefficient))?,
                (false, true) => write!(f, " - {}", short(-term.coefficient))?,
                (false, false) => write!(f, " + {}", short(term.coefficient))?,
            }
            term.factors
                .iter()
                .try_for_each(|factor| write_factor(f, factor))?;
            first = false;
        }
        Ok(())
    }
}

fn write_factor(f: &mut fmt::Formatter<'_>, factor: &Factor) -> fmt::Result {
    let Factor {
        param,
        exponent,
        log_exponent,
    } = factor;
    match exponent {
        Exponent::Fraction(0, _) => {}
        Exponent::Fraction(1, 1) => write!(f, " * {param}")?,
        Exponent::Real(value) => write!(f, " * {param}^({})", short(*value))?,
        Exponent::Fraction(..) => write!(f, " * {param}^({exponent})")?,
    }
    if *log_exponent > 0 {
        write!(f, " * log2({param})^{log_exponent}")
    } else {
        Ok(())
    }
}

/// A number to six digits, in the shorter of the plain and the scientific notation.
pub(crate) fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if plain.len() <= scientific.len() + 1 {
        plain
    } else {
        scientific
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula() -> Formula {
        let factor = Factor {
            param: "x".into(),
            exponent: Exponent::Fraction(3, 2),
            log_exponent: 1,
        };
        let real = Factor {
            param: "y".into(),
            exponent: Exponent::Real(-1.25),
            log_exponent: 0,
        };
        let terms = vec![
            Term {
                coefficient: 2e-6,
                factors: vec![factor],
            },
            Term {
                coefficient: -3.0,
                factors: vec![real],
            },
        ];
        Formula {
            constant: 0.5,
            terms,
        }
    }

    #[test]
    fn evaluates_and_prints() {
        let number = |name: &str| Some(if name == "x" { 4.0 } else { 1.0 });
        let value = formula().evaluate(number).unwrap();
        assert!((value - (0.5 + 2e-6 * 8.0 * 2.0 - 3.0)).abs() < 1e-15);
        assert_eq!(
            formula().to_string(),
            "0.5 + 2e-6 * x^(3/2) * log2(x)^1 - 3 * y^(-1.25)"
        );
        let lacking = formula();
        assert_eq!(
            lacking.evaluate(|name| (name == "x").then_some(1.0)),
            Err("y")
        );
    }

    #[test]
    fn exponents_are_text_in_json() {
        let json = serde_json::to_string(&formula()).unwrap();
        assert!(
            json.contains(r#"{"param":"x","exponent":"3/2","log_exponent":1}"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Formula>(&json).unwrap(), formula());
        let read = |text| serde_json::from_str::<Exponent>(text).ok();
        assert_eq!(read("2"), Some(Exponent::Fraction(2, 1)));
        assert_eq!(read("0.5"), Some(Exponent::Real(0.5)));
        assert_eq!(read("\"2.0\""), Some(Exponent::Real(2.0)));
        assert_eq!(
            (read("\"1/0\""), read("\"nan\""), read("\"x\"")),
            (None, None, None)
        );
    }
}
