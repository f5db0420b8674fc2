//! A cost formula: a constant and a sum of products of functions of one parameter each, or a formula that a user wrote.
//!
//! A [`Formula`] has [`Term`]s, a term has a coefficient and [`Factor`]s, and a factor is a function of one parameter. A term may have a
//! [`Regime`], outside of which it is 0; piecewise formulas consist of such terms.
//!
//! ```text
//! 2e-6 + 1e-9 * q^(3/2) * log2(q)^1       constant 2e-6; one term with coefficient 1e-9 and one factor
//! 1e-9 * q where q < 4096; …              a term with a regime
//! ```

use std::collections::BTreeSet;
use std::fmt;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::formula::exponent::Exponent;
use crate::formula::written::Written;

/// `u ^ exponent · log2(u) ^ log_exponent · exp(rate · u)`, where `u` is the parameter; with a `step`, the number of steps begun,
/// `ceil(param / step)`; or with a `half`, the share of a limit, `param / (param + half)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Name of the parameter.
    pub param: CompactString,
    /// Power of the parameter.
    pub exponent: Exponent,
    /// Power of its logarithm to base 2.
    #[serde(default, skip_serializing_if = "is_none")]
    pub log_exponent: u32,
    /// Rate of exponential growth, for each unit of the parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Width of a step, > 0, unit of the parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Value at which half of a limit is reached, > 0, unit of the parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<f64>,
}

/// Whether there is no power of the logarithm.
fn is_none(log_exponent: &u32) -> bool {
    *log_exponent == 0
}

impl Factor {
    /// `param ^ exponent · log2(param) ^ log_exponent`.
    pub fn new(param: &str, exponent: Exponent, log_exponent: u32) -> Self {
        Self {
            param: param.into(),
            exponent,
            log_exponent,
            rate: None,
            step: None,
            half: None,
        }
    }

    /// `exp(rate · param)`.
    pub fn exponential(param: &str, rate: f64) -> Self {
        Self {
            rate: Some(rate),
            ..Self::new(param, Exponent::Fraction(0, 1), 0)
        }
    }

    /// `ceil(param / step)`.
    pub fn steps(param: &str, step: f64) -> Self {
        Self {
            step: Some(step),
            ..Self::new(param, Exponent::Fraction(1, 1), 0)
        }
    }

    /// `param / (param + half)`.
    pub fn saturating(param: &str, half: f64) -> Self {
        Self {
            half: Some(half),
            ..Self::new(param, Exponent::Fraction(1, 1), 0)
        }
    }

    pub(crate) fn evaluate(&self, x: f64) -> f64 {
        let x = match (self.step, self.half) {
            (Some(step), _) => (x / step).ceil(),
            (_, Some(half)) => x / (x + half),
            _ => x,
        };
        let power = match self.exponent {
            Exponent::Fraction(numerator, 1) => x.powi(numerator),
            exponent => x.powf(exponent.value()),
        };
        let grown = self.rate.map_or(power, |rate| power * (rate * x).exp());
        if self.log_exponent == 0 {
            grown
        } else {
            grown * x.log2().powi(self.log_exponent as i32)
        }
    }

    fn is_finite(&self) -> bool {
        self.exponent.value().is_finite()
            && self.rate.is_none_or(f64::is_finite)
            && [self.step, self.half]
                .iter()
                .flatten()
                .all(|width| width.is_finite() && *width > 0.0)
    }
}

/// Range in which a term applies: the parameter is at least `from` and below `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// Name of the parameter.
    pub param: CompactString,
    /// Inclusive lower end; `None` if unbounded.
    pub from: Option<f64>,
    /// Exclusive upper end; `None` if unbounded.
    pub to: Option<f64>,
}

impl Regime {
    /// Whether `x` is in it.
    pub fn contains(&self, x: f64) -> bool {
        self.from.is_none_or(|from| x >= from) && self.to.is_none_or(|to| x < to)
    }
}

/// `q < 4096`, `4096 <= q < 1e6`.
impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let param = &self.param;
        match (self.from, self.to) {
            (None, None) => write!(f, "any {param}"),
            (Some(from), None) => write!(f, "{param} >= {}", short(from)),
            (None, Some(to)) => write!(f, "{param} < {}", short(to)),
            (Some(from), Some(to)) => write!(f, "{} <= {param} < {}", short(from), short(to)),
        }
    }
}

/// A coefficient times a product of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Seconds a unit of the product.
    pub coefficient: f64,
    /// The factors; none for a constant.
    pub factors: SmallVec<[Factor; 1]>,
    /// Range in which the term applies; `None` if it applies everywhere.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
}

impl Term {
    /// A coefficient times a product that applies everywhere.
    pub fn new(coefficient: f64, factors: impl IntoIterator<Item = Factor>) -> Self {
        Self {
            coefficient,
            factors: factors.into_iter().collect(),
            regime: None,
        }
    }

    /// `coefficient · param`.
    pub fn linear(coefficient: f64, param: &str) -> Self {
        Self::new(
            coefficient,
            vec![Factor::new(param, Exponent::Fraction(1, 1), 0)],
        )
    }

    /// The product of the factors as text: `q^(3/2) * log2(q)^1`; `1` if there are none.
    pub(crate) fn product_text(&self) -> String {
        let one = Formula {
            terms: vec![Self::new(1.0, self.factors.clone())],
            ..Formula::default()
        };
        one.to_string().trim_start_matches("1 * ").to_owned()
    }

    /// The product of the factors, without the coefficient; 0 outside its regime.
    ///
    /// # Arguments
    /// * `number` - value of a parameter by its name
    ///
    /// # Errors
    /// The name of a parameter without a value in `number`.
    pub fn product(&self, number: impl Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        if let Some(regime) = &self.regime
            && !regime.contains(number(&regime.param).ok_or(regime.param.as_str())?)
        {
            return Ok(0.0);
        }
        self.factors.iter().try_fold(1.0, |product, factor| {
            let x = number(&factor.param).ok_or(factor.param.as_str())?;
            Ok(product * factor.evaluate(x))
        })
    }

    fn params(&self) -> impl Iterator<Item = &str> {
        let factors = self.factors.iter().map(|factor| factor.param.as_str());
        factors.chain(self.regime.iter().map(|regime| regime.param.as_str()))
    }

    fn is_finite(&self) -> bool {
        let ends = |regime: &Regime| {
            let mut ends = regime.from.iter().chain(&regime.to);
            ends.all(|end| end.is_finite())
        };
        self.coefficient.is_finite()
            && self.factors.iter().all(Factor::is_finite)
            && self.regime.iter().all(ends)
    }
}

/// A constant and a sum of terms: the performance model normal form and related forms; or a formula that a user wrote, with its numbers.
///
/// # Source
/// A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, SC '13, for the form (recalled, not looked up).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Formula {
    /// Seconds.
    pub constant: f64,
    /// The terms.
    pub terms: Vec<Term>,
    /// The formula that a user wrote; the value of the whole is the sum of it, the constant and the terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
}

impl Formula {
    /// A constant and terms.
    pub fn new(constant: f64, terms: Vec<Term>) -> Self {
        Self {
            constant,
            terms,
            written: None,
        }
    }

    /// The value, seconds; it may be negative, and it is not finite if a factor is not.
    ///
    /// # Arguments
    /// * `number` - value of a parameter by its name
    ///
    /// # Errors
    /// The name of a parameter without a value in `number`.
    pub fn evaluate(&self, number: impl Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        let start = match &self.written {
            Some(written) => self.constant + written.evaluate(&number)?,
            None => self.constant,
        };
        self.terms.iter().try_fold(start, |sum, term| {
            Ok(sum + term.coefficient * term.product(&number)?)
        })
    }

    /// Names of the parameters in it.
    pub fn params(&self) -> BTreeSet<&str> {
        let written = self.written.iter().flat_map(Written::params);
        self.terms
            .iter()
            .flat_map(Term::params)
            .chain(written)
            .collect()
    }

    /// Whether every number in it is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.constant.is_finite()
            && self.terms.iter().all(Term::is_finite)
            && self.written.iter().all(Written::is_finite)
    }

    /// The formula times `scale`.
    pub(crate) fn scaled(&self, scale: f64) -> Self {
        let term = |term: &Term| Term {
            coefficient: term.coefficient * scale,
            ..term.clone()
        };
        Self {
            written: self.written.as_ref().map(|written| written.scaled(scale)),
            ..Self::new(self.constant * scale, self.terms.iter().map(term).collect())
        }
    }

    /// Writes the parts of a sum, with `+` and `-` between them.
    fn write_sum(&self, f: &mut fmt::Formatter<'_>, terms: &[Term]) -> fmt::Result {
        for (i, term) in terms.iter().enumerate() {
            match (i == 0, term.coefficient < 0.0) {
                (true, _) => f.write_str(&short(term.coefficient))?,
                (false, true) => write!(f, " - {}", short(-term.coefficient))?,
                (false, false) => write!(f, " + {}", short(term.coefficient))?,
            }
            let mut factors = term.factors.iter();
            factors.try_for_each(|factor| write_factor(f, factor))?;
        }
        Ok(())
    }
}

/// `2e-6 + 1e-9 * q^(3/2) * log2(q)^1`, six digits; `1e-9 * q where q < 4096; …` by regime.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = &self.written {
            return written.fmt(f);
        }
        let constant = Term::new(self.constant, Vec::new());
        let shown = self.constant != 0.0 || self.terms.is_empty();
        let all: Vec<Term> = shown
            .then_some(constant)
            .into_iter()
            .chain(self.terms.iter().cloned())
            .collect();
        let regimes = all.chunk_by(|a, b| a.regime == b.regime);
        for (i, terms) in regimes.enumerate() {
            f.write_str(if i > 0 { "; " } else { "" })?;
            self.write_sum(f, terms)?;
            if let Some(regime) = &terms[0].regime {
                write!(f, " where {regime}")?;
            }
        }
        Ok(())
    }
}

fn write_factor(f: &mut fmt::Formatter<'_>, factor: &Factor) -> fmt::Result {
    let param = &factor.param;
    let param = match (factor.step, factor.half) {
        (Some(step), _) => format!("ceil({param} / {})", short(step)),
        (_, Some(half)) => format!("({param} / ({param} + {}))", short(half)),
        _ => param.to_string(),
    };
    match factor.exponent {
        Exponent::Fraction(0, _) => {}
        Exponent::Fraction(1, 1) => write!(f, " * {param}")?,
        Exponent::Real(value) => write!(f, " * {param}^({})", short(value))?,
        Exponent::Fraction(..) => write!(f, " * {param}^({})", factor.exponent)?,
    }
    if let Some(rate) = factor.rate {
        write!(f, " * exp({} * {param})", short(rate))?;
    }
    if factor.log_exponent > 0 {
        write!(f, " * log2({param})^{}", factor.log_exponent)
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
        let factor = Factor::new("x", Exponent::Fraction(3, 2), 1);
        let real = Factor::new("y", Exponent::Real(-1.25), 0);
        let terms = vec![Term::new(2e-6, vec![factor]), Term::new(-3.0, vec![real])];
        Formula::new(0.5, terms)
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
    fn steps_rates_and_regimes() {
        let regime = |from, to| Regime {
            param: "x".into(),
            from,
            to,
        };
        let mut low = Term::new(2.0, vec![Factor::steps("x", 64.0)]);
        low.regime = Some(regime(None, Some(100.0)));
        let mut high = Term::new(3.0, vec![Factor::exponential("x", 0.5)]);
        high.regime = Some(regime(Some(100.0), None));
        let formula = Formula::new(0.0, vec![low, high]);
        assert_eq!(formula.evaluate(|_| Some(65.0)), Ok(4.0));
        assert_eq!(formula.evaluate(|_| Some(100.0)), Ok(3.0 * 50_f64.exp()));
        assert_eq!(
            formula.to_string(),
            "2 * ceil(x / 64) where x < 100; 3 * exp(0.5 * x) where x >= 100"
        );
        let json = serde_json::to_string(&formula).unwrap();
        assert_eq!(serde_json::from_str::<Formula>(&json).unwrap(), formula);
        assert!(
            !Formula::new(0.0, vec![Term::new(1.0, vec![Factor::steps("x", 0.0)])]).is_finite()
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
