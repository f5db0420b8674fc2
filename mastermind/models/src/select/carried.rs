//! A model of one machine made one of another: its times by a factor, and how that is known.
//!
//! In: a model and a factor. Out: the model of the other machine, with where it is from. What the factor is says
//! [`carry`](crate::carry).

use serde::{Deserialize, Serialize};

use crate::formula::family::Family;
use crate::select::model::{HeldUp, Model};

/// A machine, as it is named where a model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NamedMachine {
    /// Its machine file.
    pub file: String,
    /// Its processor.
    pub processor: String,
}

/// How the factor of a model is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// Calls of the method on the other machine, which the common factor is too far from.
    OwnCalls,
    /// Calls on the other machine: those of the method agree with the common factor.
    CommonFactor,
    /// Other methods of the class, of which all have a factor of their own.
    Class,
    /// Calls of other methods on the other machine.
    OtherMethods,
    /// What was measured of the two processors.
    Processors,
    /// Nothing: libraries run other code there, and no call was measured.
    Nothing,
}

impl KnownBy {
    /// As it is shown in tables.
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

/// Where a model that was not fitted on its machine is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Where it was fitted.
    pub from: NamedMachine,
    /// Where it is for.
    pub to: NamedMachine,
    /// Time there by time here.
    pub factor: f64,
    /// How the factor is known.
    pub known_by: KnownBy,
    /// Standard deviation of the logarithm of a time there, by the factor; `None` where nothing bounds it.
    pub deviation: Option<f64>,
    /// Sizes of the method that were measured there.
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
    /// The same model of a machine on which every call takes `factor` times as long.
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
    /// Delays of a machine on which they, and the calls, take `factor` times as long: as many a call.
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
