//! A formula that a user wrote: its names are either parameters or unknowns to be fitted.
//!
//! A name is an unknown unless it is a parameter. A misspelt parameter is an error: a name that differs from an unused parameter by one
//! letter or by case, or an unknown that the points do not distinguish from the others while a varying parameter is missing from
//! the formula. Bounds, also open ones, declare a name as an unknown.

pub(crate) mod fit;
pub(crate) mod within;

use std::collections::BTreeMap;

use crate::error::Error;
use crate::error::list;
use crate::families::candidate::Candidate;
use crate::families::written::fit::Problem;
use crate::formula::arithmetic::Arithmetic;
use crate::samples::parameter::{Parameter, ParameterKind};
use crate::samples::points::Points;
use crate::solve::limits::Limits;

/// Shortest name that is compared with others letter by letter: any two shorter names differ by one letter.
const COMPARED: usize = 2;

/// An unknown of a written formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unknown {
    /// Least value; `-∞` without a bound.
    pub lower: f64,
    /// Greatest value; `∞` without a bound.
    pub upper: f64,
    /// Start value of the search; `None` lets the search choose.
    pub start: Option<f64>,
}

impl Default for Unknown {
    fn default() -> Self {
        Self {
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            start: None,
        }
    }
}

impl Unknown {
    /// An unknown within bounds.
    pub fn within(lower: f64, upper: f64) -> Self {
        Self {
            lower,
            upper,
            start: None,
        }
    }
}

/// A formula over the numeric parameters of a method and unknown numbers, seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct UserFormula {
    text: String,
    expression: Arithmetic,
    unknowns: BTreeMap<String, Unknown>,
    /// Whether an unknown has no bounds, so that it is an unknown only because it is in the formula.
    has_guessed: bool,
}

impl UserFormula {
    /// Reads a formula.
    ///
    /// # Arguments
    /// * `unknowns` - name and bounds of each number to be found
    ///
    /// # Errors
    /// [`Error::Formula`] if the text is no arithmetic, [`Error::UnusedUnknown`] if an unknown is not
    /// in it or its bounds are empty.
    pub fn parse(text: &str, unknowns: BTreeMap<String, Unknown>) -> Result<Self, Error> {
        let expression = Arithmetic::parse(text)?;
        let names = expression.names();
        let idle = |(name, u): &(&String, &Unknown)| {
            // Also true of a bound that is not a number.
            !names.contains(name.as_str())
                || u.lower.partial_cmp(&u.upper).is_none_or(|o| o.is_ge())
        };
        if let Some((name, unknown)) = unknowns.iter().find(idle) {
            return Err(Error::UnusedUnknown {
                name: name.clone(),
                lower: unknown.lower,
                upper: unknown.upper,
                text: text.into(),
            });
        }
        Ok(Self {
            text: text.into(),
            expression,
            unknowns,
            has_guessed: false,
        })
    }

    /// Reads a formula over parameters in which every other name is an unknown.
    ///
    /// A misspelt parameter would silently become an unknown, so two cases are refused. The first is a name without bounds that differs
    /// from an unused numeric parameter only by case or by one letter (one more, one less, another, or two exchanged, in names of two
    /// letters or more). The second is a fit ([`Error::NoParameter`]) whose unknowns the points do not distinguish while a varying
    /// parameter is missing from the formula. Bounds, also open ones, declare a name as an unknown.
    ///
    /// # Arguments
    /// * `parameters` - of the method
    /// * `bounds` - of some of the numbers to be found
    ///
    /// # Errors
    /// Those of [`UserFormula::parse`]; [`Error::Misspelt`]; [`Error::LabelsInFormula`]; [`Error::BoundsOfParameter`].
    pub fn over(
        text: &str,
        parameters: &[Parameter],
        bounds: BTreeMap<String, Unknown>,
    ) -> Result<Self, Error> {
        let mut formula = Self::parse(text, bounds)?;
        let (labelled, numeric): (Vec<&Parameter>, Vec<&Parameter>) = parameters
            .iter()
            .partition(|p| matches!(p.kind, ParameterKind::Enumeration(_)));
        let numeric: Vec<&str> = numeric.iter().map(|p| p.name.as_str()).collect();
        if let Some(name) = numeric.iter().find(|n| formula.unknowns.contains_key(**n)) {
            return Err(Error::BoundsOfParameter {
                name: (*name).into(),
                text: text.into(),
            });
        }
        let names = formula.expression.names();
        let unused: Vec<&str> = numeric
            .iter()
            .copied()
            .filter(|n| !names.contains(n))
            .collect();
        let known = || list(numeric.iter().map(|name| (*name).to_owned()));
        let mut guessed = BTreeMap::new();
        for name in names {
            if numeric.contains(&name) || formula.unknowns.contains_key(name) {
                continue;
            }
            if labelled.iter().any(|p| p.name == name) {
                return Err(Error::LabelsInFormula {
                    name: name.into(),
                    text: text.into(),
                    known: known(),
                });
            }
            if let Some(meant) = unused.iter().find(|unused| is_nearly(name, unused)) {
                return Err(Error::Misspelt {
                    name: name.into(),
                    text: text.into(),
                    meant: (*meant).into(),
                    known: known(),
                });
            }
            guessed.insert(name.to_owned(), Unknown::default());
        }
        formula.has_guessed = !guessed.is_empty();
        formula.unknowns.append(&mut guessed);
        Ok(formula)
    }

    /// The text as the user wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The expression read from the text.
    pub(crate) fn expression(&self) -> &Arithmetic {
        &self.expression
    }

    /// The unknowns, with their bounds.
    pub(crate) fn unknowns(&self) -> &BTreeMap<String, Unknown> {
        &self.unknowns
    }

    /// Fits the unknowns; within the limits if the free fit breaks them.
    ///
    /// # Returns
    /// `None` if no start leads to finite times within the limits that are not all 0.
    ///
    /// # Errors
    /// [`Error::UnknownName`] if a name is neither a parameter nor an unknown; [`Error::TooFewPoints`].
    pub(crate) fn fit(
        &self,
        points: &Points,
        method: &str,
        limits: &Limits<'_>,
    ) -> Result<Option<Candidate>, Error> {
        let known = |name: &&str| {
            self.unknowns.contains_key(*name) || points.names.iter().any(|known| known == name)
        };
        let mut names = self.expression.names().into_iter();
        if let Some(name) = names.find(|name| !known(name)) {
            return Err(Error::UnknownName {
                name: name.into(),
                text: self.text.clone(),
                known: list(points.names.iter().cloned()),
            });
        }
        if points.len() < self.unknowns.len() {
            return Err(Error::TooFewPoints {
                method: method.into(),
                found: points.len(),
                needed: self.unknowns.len(),
            });
        }
        Ok(Problem::new(self, points).fit(limits))
    }

    /// The first unknown that the points do not distinguish from the others, at these values of the unknowns.
    ///
    /// # Errors
    /// [`Error::NoParameter`] if a misspelt parameter is the likely cause.
    pub(crate) fn entangled(
        &self,
        points: &Points,
        values: &[f64],
    ) -> Result<Option<String>, Error> {
        let problem = Problem::new(self, points);
        let Some(unknown) = problem.entangled(values) else {
            return Ok(None);
        };
        let names = self.expression.names();
        let varying = points.varying().into_iter().map(|i| &points.names[i]);
        let unused: Vec<String> = varying
            .filter(|n| !names.contains(n.as_str()))
            .cloned()
            .collect();
        if !self.has_guessed || unused.is_empty() {
            return Ok(Some(unknown.into()));
        }
        let others = self.unknowns.keys().filter(|other| *other != unknown);
        Err(Error::NoParameter {
            unknown: unknown.into(),
            others: list(others.cloned()),
            text: self.text.clone(),
            unused: list(unused.into_iter()),
        })
    }
}

/// Whether two names differ by one letter only, or only by case.
fn is_nearly(name: &str, other: &str) -> bool {
    let (name, other) = (name.to_lowercase(), other.to_lowercase());
    let compared = |text: &str| text.chars().count() >= COMPARED;
    name == other || compared(&name) && compared(&other) && strsim::osa_distance(&name, &other) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_nearly_the_same() {
        for (name, other) in [
            ("Q", "q"),
            ("nz", "ny"),
            ("oder", "order"),
            ("roder", "order"),
        ] {
            assert!(is_nearly(name, other), "{name} {other}");
        }
        for (name, other) in [("a", "n"), ("a", "n2"), ("n0", "n"), ("cost", "size")] {
            assert!(!is_nearly(name, other), "{name} {other}");
        }
    }
}
