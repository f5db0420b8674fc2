//! A fit of any family in the common terms of a model.

use serde::{Deserialize, Serialize};

use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::solve::quality::smape;

/// A formula that may be the right one, with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Probability among the alternatives of the model.
    pub weight: f64,
    /// The form.
    #[serde(default = "normal_form")]
    pub family: Family,
    /// Mean time of a call, seconds.
    #[serde(flatten)]
    pub formula: Formula,
    /// Covariance of its coefficients (of `ln T` for a power law or an exponential); `None` where
    /// unknown.
    pub covariance: Option<Vec<Vec<f64>>>,
}

fn normal_form() -> Family {
    Family::NormalForm
}

/// A fitted formula and what goes with it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The form.
    pub family: Family,
    /// The formula.
    pub formula: Formula,
    /// Name and unit of each coefficient.
    pub names: Vec<(String, String)>,
    /// The coefficients as fitted.
    pub coefficients: Vec<f64>,
    /// Numbers found from the points: the coefficients, and what the form was searched for.
    pub n_free: usize,
    /// Covariance of the coefficients.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// Degrees of freedom behind it.
    pub freedom: f64,
    /// Fitted time, seconds, shape `[n_points]`.
    pub fitted_s: Vec<f64>,
    /// Time of each point predicted from the others, NaN where they do not tell; `None` with no point
    /// to spare.
    pub left_out_s: Option<Vec<f64>>,
    /// The spread where the family brings its own.
    pub sigma: Option<Formula>,
    /// What predictions average over, the shown formula first; empty where it stands alone.
    pub alternatives: Vec<Alternative>,
    /// Minus the logarithm of the prior probability of its form.
    pub odds_against: f64,
    /// By how much the points say less than as many independent ones; 1 until it is known, see [`crate::solve::design_effect`].
    pub design_effect: f64,
    /// The free fit was negative or fell where it must not: this one is the nearest that does not.
    pub held: bool,
}

impl Candidate {
    /// SMAPE of each point predicted from the others, per cent.
    pub fn cv_smape(&self, points: &Points) -> Option<f64> {
        let left_out = self.left_out_s.as_ref()?;
        Some(smape(&points.mean_s, left_out, &points.count))
    }
}
