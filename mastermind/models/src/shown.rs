//! A fit of any family in the common terms of a model.

use serde::{Deserialize, Serialize};

use crate::formula::{Exponent, Factor, Formula, Term};
use crate::hypothesis::Candidate;
use crate::model::Family;
use crate::points::Points;
use crate::quality::smape;

/// A formula that may be the right one, with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Probability among the alternatives of the model.
    pub weight: f64,
    /// Mean time of a call, seconds.
    #[serde(flatten)]
    pub formula: Formula,
    /// Covariance of the constant and the coefficients of the terms; `None` where unknown.
    pub covariance: Option<Vec<Vec<f64>>>,
}

/// The formula to show and what goes with it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// The form.
    pub family: Family,
    /// The formula.
    pub formula: Formula,
    /// Name and unit of each coefficient.
    pub names: Vec<(String, String)>,
    /// The coefficients as fitted.
    pub coefficients: Vec<f64>,
    /// Their covariance.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// Degrees of freedom behind it.
    pub freedom: f64,
    /// Fitted time, seconds, shape `[n_points]`.
    pub fitted_s: Vec<f64>,
    /// Time of each point predicted from the others; `None` with no point to spare.
    pub left_out_s: Option<Vec<f64>>,
    /// The spread where the family brings its own.
    pub sigma: Option<Formula>,
    /// What predictions average over, the shown formula first; empty where it stands alone.
    pub alternatives: Vec<Alternative>,
}

impl Shown {
    /// The fit of a constant, line or power law.
    pub fn classic(points: &Points, best: &Candidate) -> Self {
        Self {
            family: best.hypothesis.family,
            formula: formula(points, best),
            names: names(points, best),
            coefficients: best.coefficients.clone(),
            covariance: best.covariance.clone(),
            freedom: best.freedom,
            fitted_s: best.fitted_s.clone(),
            left_out_s: best.left_out_s.clone(),
            sigma: None,
            alternatives: Vec::new(),
        }
    }

    /// SMAPE of each point predicted from the others, per cent.
    pub fn cv_smape(&self, points: &Points) -> Option<f64> {
        let left_out = self.left_out_s.as_ref()?;
        Some(smape(&points.mean_s, left_out, &points.count))
    }
}

fn formula(points: &Points, best: &Candidate) -> Formula {
    let (intercept, slopes) = (best.coefficients[0], &best.coefficients[1..]);
    let named = best
        .hypothesis
        .params
        .iter()
        .map(|&param| &points.names[param])
        .zip(slopes);
    if best.hypothesis.family != Family::PowerLaw {
        let terms = named.map(|(name, &slope)| Term::linear(slope, name));
        return Formula {
            constant: intercept,
            terms: terms.collect(),
        };
    }
    let factors = named.map(|(name, &slope)| Factor {
        param: name.clone(),
        exponent: Exponent::Real(slope),
        log_exponent: 0,
    });
    let term = Term {
        coefficient: intercept.exp(),
        factors: factors.collect(),
    };
    Formula {
        constant: 0.0,
        terms: vec![term],
    }
}

/// Name and unit of the fitted numbers; of `ln T = b + Σ a ln x` for a power law.
fn names(points: &Points, best: &Candidate) -> Vec<(String, String)> {
    let power_law = best.hypothesis.family == Family::PowerLaw;
    let first = if power_law {
        ("ln factor".to_owned(), "ln s".to_owned())
    } else {
        ("constant".to_owned(), "s".to_owned())
    };
    let others = best.hypothesis.params.iter().map(|&param| {
        let unit = match points.units[param].as_str() {
            _ if power_law => "1".to_owned(),
            "" => "s".to_owned(),
            unit => format!("s/{unit}"),
        };
        (points.names[param].clone(), unit)
    });
    [first].into_iter().chain(others).collect()
}
