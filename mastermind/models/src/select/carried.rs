//! A model carried over from one machine to another: a factor, and the origin of that factor.
//!
//! In: a model and a factor. Out: the model for the other machine, with its origin. [`carry`](crate::carry)
//! determines the factor.

use serde::{Deserialize, Serialize};

use crate::formula::family::Family;
use crate::select::model::{HeldUp, Model};

/// A machine, as named where a model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NamedMachine {
    /// Its machine file.
    pub file: String,
    /// Its processor.
    pub processor: String,
}

/// Origin of the factor of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// Calls of the method on the other machine, whose factor is far from the common one.
    OwnCalls,
    /// Calls on the other machine; those of the method agree with the common factor.
    CommonFactor,
    /// Other methods of the class, all of which have factors of their own.
    Class,
    /// Calls of other methods on the other machine.
    OtherMethods,
    /// Measurements of the two processors.
    Processors,
    /// Nothing: libraries run other code there, and no call was measured.
    Nothing,
}

impl KnownBy {
    /// The text in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnCalls => "own calls",
            Self::CommonFactor => "common factor",
            Self::Class => "class",
            Self::OtherMethods => "other methods",
            Self::Processors => "processors",
            Self::Nothing => "nothing",
        }
    }
}

/// Origin of a model that was carried over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The machine it was fitted on.
    pub from: NamedMachine,
    /// The machine it is for.
    pub to: NamedMachine,
    /// Time on the other machine over time on the first.
    pub factor: f64,
    /// Origin of the factor.
    pub known_by: KnownBy,
    /// Standard deviation of the logarithm of a time predicted with the factor; `None` if nothing bounds it.
    pub deviation: Option<f64>,
    /// Number of sizes of the method that were measured on the other machine.
    pub n_points: usize,
}

/// Whether the coefficients of a family are seconds: those of a power law and an exponential are of `ln T`, those of a written formula are the
/// user's.
fn are_seconds(family: Family) -> bool {
    !matches!(
        family,
        Family::PowerLaw | Family::Exponential | Family::Written
    )
}

impl Model {
    /// The same model for a machine on which every call takes `factor` times as long.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        if are_seconds(self.family) {
            for coefficient in &mut self.coefficients {
                coefficient.value *= factor;
                coefficient.std_error = coefficient.std_error.map(|error| error * factor);
            }
            self.covariance
                .iter_mut()
                .for_each(|c| c.widen(factor * factor));
        } else if self.family != Family::Written
            && let Some(first) = self.coefficients.first_mut()
        {
            first.value += factor.ln();
        }
        for of in &mut self.alternatives {
            of.formula = of.formula.scaled(factor);
            if are_seconds(of.family) {
                of.covariance
                    .iter_mut()
                    .for_each(|c| c.widen(factor * factor));
            }
        }
        self.formula = self.formula.scaled(factor);
        self.expression = self.formula.to_string();
        self.sigma = self.sigma.map(|sigma| sigma.scaled(factor));
        self.held_up = self.held_up.map(|held_up| held_up.times(factor));
        self
    }
}

impl HeldUp {
    /// Delays on a machine where they and the calls take `factor` times as long; they are as frequent per call.
    fn times(self, factor: f64) -> Self {
        Self {
            mean_s: self.mean_s * factor,
            median_s: self.median_s * factor,
            variance_s2: self.variance_s2 * factor * factor,
            of_s: self.of_s.map(|of_s| of_s * factor),
            per_second: self.per_second / factor,
            ..self
        }
    }
}
