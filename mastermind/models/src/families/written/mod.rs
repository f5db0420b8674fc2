//! A formula that a user wrote: which of its names are parameters, and which are numbers to be found.
//!
//! A name is an unknown unless it is a parameter, or looks like one: like an unused one but for a letter or its case, or as many unknowns as
//! the points do not tell apart while a parameter that varies is not in the formula. Bounds, also open ones, say that a name is meant.

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

/// Shortest name that is compared with others letter by letter: of shorter ones every two are alike.
const COMPARED: usize = 2;

/// An unknown of a written formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unknown {
    /// Least value; `-∞` without a bound.
    pub lower: f64,
    /// Greatest value; `∞` without a bound.
    pub upper: f64,
    /// Where the search begins; `None` leaves it open.
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
    /// Nothing but the formula says of one of the unknowns that it is one.
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

    /// Reads a formula over parameters in which every other name is a number to be found.
    ///
    /// So a misspelt parameter would be an unknown like another. A name without bounds is therefore refused
    /// that is that of a numeric parameter which the formula does not use but for one letter (one more, less,
    /// another, or two exchanged, in names of two letters and more) or for upper and lower case; and a fit is
    /// refused ([`Error::NoParameter`]) whose unknowns the points do not tell apart while a parameter that
    /// varies is not in it. Bounds, also open ones, say that a name is meant.
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

    /// As the user wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What the text says.
    pub(crate) fn expression(&self) -> &Arithmetic {
        &self.expression
    }

    /// The numbers to be found.
    pub(crate) fn unknowns(&self) -> &BTreeMap<String, Unknown> {
        &self.unknowns
    }

    /// Fits the unknowns; within the limits where the free fit breaks them.
    ///
    /// # Returns
    /// `None` if no start leads to finite times within the limits, but for times that are all 0.
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

    /// The first unknown that the points do not tell from the others, at these values of the unknowns.
    ///
    /// # Errors
    /// [`Error::NoParameter`] where that is likely a misspelt parameter's.
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

/// Whether a name is another but for one letter, or for upper and lower case.
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
