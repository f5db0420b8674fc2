//! A formula that a user wrote, with the fitted values of its unknowns.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::formula::arithmetic::{Arithmetic, ArithmeticError};
use crate::formula::sum::short;

/// Arithmetic over parameters and unknowns, and the values of the unknowns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Written {
    text: String,
    expression: Arithmetic,
    values: BTreeMap<String, f64>,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    text: String,
    values: BTreeMap<String, f64>,
}

impl TryFrom<Stored> for Written {
    type Error = ArithmeticError;

    fn try_from(stored: Stored) -> Result<Self, ArithmeticError> {
        Ok(Self {
            expression: Arithmetic::parse(&stored.text)?,
            text: stored.text,
            values: stored.values,
        })
    }
}

impl From<Written> for Stored {
    fn from(written: Written) -> Self {
        Self {
            text: written.text,
            values: written.values,
        }
    }
}

impl Written {
    /// Reads a text, with the values of its unknowns.
    ///
    /// # Errors
    /// [`ArithmeticError`] if the text is not arithmetic.
    pub fn new(text: &str, values: BTreeMap<String, f64>) -> Result<Self, ArithmeticError> {
        let text = text.to_owned();
        Self::try_from(Stored { text, values })
    }

    /// The text as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The expression read from the text.
    pub fn expression(&self) -> &Arithmetic {
        &self.expression
    }

    /// Value of each unknown.
    pub fn values(&self) -> &BTreeMap<String, f64> {
        &self.values
    }

    /// The names that are not unknowns.
    pub fn params(&self) -> Vec<&str> {
        let names = self.expression.names().into_iter();
        names
            .filter(|name| !self.values.contains_key(*name))
            .collect()
    }

    /// The value; not finite if a function has no value.
    ///
    /// # Errors
    /// The name of a parameter that `number` does not give.
    pub fn evaluate(&self, number: &dyn Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        let known = |name: &str| self.values.get(name).copied().or_else(|| number(name));
        self.expression.evaluate(&known)
    }

    /// Derivatives of the value by the unknowns in the order of their names, shape `[n_unknowns]`.
    ///
    /// # Errors
    /// The name of a parameter that `number` does not give.
    pub fn gradient(&self, number: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>, &str> {
        let known = |name: &str| self.values.get(name).copied().or_else(|| number(name));
        let unknowns: Vec<&str> = self.values.keys().map(String::as_str).collect();
        Ok(self.expression.gradient(&known, &unknowns)?.1)
    }

    /// The formula times a finite number above 0, which is written before the text.
    pub(crate) fn scaled(&self, scale: f64) -> Self {
        let text = format!("{scale:e} * ({})", self.text);
        // A valid formula in brackets is a valid formula.
        Self::new(&text, self.values.clone()).unwrap_or_else(|_| self.clone())
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.values.values().all(|value| value.is_finite())
    }
}

/// `a * x^b where a = 2e-6, b = 1.5`.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for (i, (name, value)) in self.values.iter().enumerate() {
            let before = if i == 0 { " where" } else { "," };
            write!(f, "{before} {name} = {}", short(*value))?;
        }
        Ok(())
    }
}
