//! A scientist's formula in a text file: inputs, constants, and unknowns with bounds and units.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::expression::{self, Expression};
use mastermind_models::{Arithmetic, ArithmeticError};
use serde::Deserialize;

use crate::column_formula::{ColumnFormula, Names};
use crate::error::Error;
use crate::table::Table;

/// An unknown of a semi-empirical formula.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    /// Least value, finite.
    pub lower: f64,
    /// Greatest value, finite.
    pub upper: f64,
    /// Unit of the value; `1` of a pure number.
    #[serde(default = "pure")]
    pub unit: String,
    /// It belongs to the machine (latency, bandwidth, copy time): another platform has another value.
    #[serde(default)]
    pub machine: bool,
}

fn pure() -> String {
    "1".into()
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: String,
    observation: String,
    inputs: Vec<String>,
    formula: String,
    method: Option<String>,
    #[serde(default)]
    constants: BTreeMap<String, f64>,
    #[serde(default)]
    unknowns: BTreeMap<String, Unknown>,
}

/// A semi-empirical formula: its mechanistic part is the text, its empirical part the unknowns.
///
/// Unknowns are kept in the order of their names; every list of values in this crate has that order.
#[derive(Debug, Clone)]
pub struct Specification {
    /// Its name.
    pub name: String,
    /// Method of the models made of it.
    pub method: String,
    /// Column of the observed time, seconds.
    pub observation: String,
    /// Columns of the inputs.
    pub inputs: Vec<String>,
    /// The formula as written.
    pub formula: String,
    /// Fixed numbers by name.
    pub constants: BTreeMap<String, f64>,
    /// Numbers to be found, by name.
    pub unknowns: BTreeMap<String, Unknown>,
    arithmetic: Arithmetic,
    expression: Expression,
}

impl Specification {
    /// Reads a specification, and checks that every name means one thing.
    ///
    /// # Errors
    /// [`Error::Toml`], [`Error::Formula`], [`Error::UnknownName`], [`Error::TwoMeanings`], [`Error::Unused`],
    /// [`Error::NoInputs`], [`Error::Bounds`], [`Error::Constant`].
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let stored: Stored = toml::from_str(text)?;
        let wrong = |source: ArithmeticError| Error::Formula {
            name: stored.name.clone(),
            source,
        };
        let arithmetic = Arithmetic::parse(&stored.formula).map_err(wrong)?;
        let expression = expression::parse(&stored.formula).map_err(|e| wrong(e.into()))?;
        let specification = Self {
            method: stored.method.unwrap_or_else(|| stored.name.clone()),
            name: stored.name,
            observation: stored.observation,
            inputs: stored.inputs,
            formula: stored.formula,
            constants: stored.constants,
            unknowns: stored.unknowns,
            arithmetic,
            expression,
        };
        specification.check()?;
        Ok(specification)
    }

    fn check(&self) -> Result<(), Error> {
        let model = || self.name.clone();
        if self.inputs.is_empty() {
            return Err(Error::NoInputs { model: model() });
        }
        let mut known = BTreeSet::new();
        let declared = self.inputs.iter().chain(self.constants.keys());
        for name in declared.chain(self.unknowns.keys()) {
            if !known.insert(name.as_str()) {
                let name = name.clone();
                return Err(Error::TwoMeanings {
                    model: model(),
                    name,
                });
            }
        }
        let used = self.arithmetic.names();
        if let Some(name) = used.iter().find(|name| !known.contains(*name)) {
            return Err(Error::UnknownName {
                model: model(),
                name: (*name).into(),
                inputs: self.inputs.join(", "),
            });
        }
        let mut numbers = self.constants.keys().chain(self.unknowns.keys());
        if let Some(name) = numbers.find(|name| !used.contains(name.as_str())) {
            return Err(Error::Unused {
                model: model(),
                name: name.clone(),
            });
        }
        for (name, Unknown { lower, upper, .. }) in &self.unknowns {
            if !(lower.is_finite() && upper.is_finite() && lower < upper) {
                return Err(Error::Bounds {
                    name: name.clone(),
                    lower: *lower,
                    upper: *upper,
                });
            }
        }
        match self.constants.iter().find(|(_, value)| !value.is_finite()) {
            Some((name, value)) => Err(Error::Constant {
                name: name.clone(),
                value: *value,
            }),
            None => Ok(()),
        }
    }

    /// The parsed formula.
    pub fn arithmetic(&self) -> &Arithmetic {
        &self.arithmetic
    }

    /// The formula as a tree.
    pub(crate) fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Names of the unknowns in their order.
    pub fn unknown_names(&self) -> Vec<&str> {
        self.unknowns.keys().map(String::as_str).collect()
    }

    /// The formula over the points of a table.
    pub(crate) fn over(&self, table: &Table) -> Option<ColumnFormula> {
        self.bound(&self.expression, table)
    }

    /// Values of a formula of the inputs at the points of a table; not finite where it is
    /// undefined.
    pub(crate) fn evaluate_part(&self, part: &Expression, table: &Table) -> Vec<f64> {
        let mut out = Vec::new();
        match self.bound(part, table) {
            Some(formula) => formula.evaluate(&[], &mut out),
            None => out.resize(table.len(), f64::NAN),
        }
        out
    }

    fn bound(&self, expression: &Expression, table: &Table) -> Option<ColumnFormula> {
        let columns = self.inputs.iter().zip(&table.inputs);
        let inputs: Vec<(&str, &[f64])> = columns
            .map(|(name, values)| (name.as_str(), values.as_slice()))
            .collect();
        let constants = self.constants.iter();
        let constants: Vec<(&str, f64)> = constants.map(|(n, v)| (n.as_str(), *v)).collect();
        let names = Names {
            inputs: &inputs,
            constants: &constants,
            unknowns: &self.unknown_names(),
        };
        ColumnFormula::bind(expression, &names, table.len())
    }

    /// Values of the base at the points of a table, seconds; not finite where the formula is
    /// undefined.
    ///
    /// # Arguments
    /// * `unknowns` - values in the order of their names
    pub fn evaluate(&self, table: &Table, unknowns: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        match self.over(table) {
            Some(formula) => formula.evaluate(unknowns, &mut out),
            None => out.resize(table.len(), f64::NAN),
        }
        out
    }
}
