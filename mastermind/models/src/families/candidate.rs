//! A fit of any family in the common terms of a model.

use serde::{Deserialize, Serialize};

use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::solve::covariance::Covariance;
use crate::solve::quality::smape;

/// A formula that may be the right one, with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Probability among the alternatives of the model.
    pub weight: f64,
    /// The form.
    #[serde(default = "normal_form", skip_serializing_if = "is_normal_form")]
    pub family: Family,
    /// Mean time of a call, seconds.
    #[serde(flatten)]
    pub formula: Formula,
    /// Covariance of its coefficients (of `ln T` for a power law or an exponential); `None` where unknown.
    pub covariance: Option<Covariance>,
}

fn normal_form() -> Family {
    Family::NormalForm
}

fn is_normal_form(family: &Family) -> bool {
    *family == Family::NormalForm
}

/// A fitted formula with its coefficients, uncertainty and prior.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The form.
    pub family: Family,
    /// The formula.
    pub formula: Formula,
    /// Name and unit of each coefficient; `None` if the coefficients are the formula's constant (if any) and terms, in that order.
    pub names: Option<Vec<(String, String)>>,
    /// The coefficients as fitted.
    pub coefficients: Vec<f64>,
    /// Numbers estimated from the points: the coefficients, and the breaks or steps found by search.
    pub n_free: usize,
    /// Covariance of the coefficients.
    pub covariance: Option<Covariance>,
    /// Degrees of freedom of the covariance.
    pub freedom: f64,
    /// Fitted time, seconds, shape `[n_points]`.
    pub fitted_s: Vec<f64>,
    /// Time of each point predicted from the others, NaN where the others do not determine it; `None` with no point to spare.
    pub left_out_s: Option<Vec<f64>>,
    /// The spread as a formula, if the family models it.
    pub sigma: Option<Formula>,
    /// The alternatives that predictions average over, the shown formula first; empty if there is only the shown formula.
    pub alternatives: Vec<Alternative>,
    /// Averaged prediction of the alternatives, seconds, shape `[n_points]`; empty if there are none.
    pub predicted_s: Vec<f64>,
    /// Minus the logarithm of the prior probability of its form.
    pub odds_against: f64,
    /// Design effect: the number of points over the number of independent points with the same information; 1 until it is
    /// estimated, see [`crate::solve::design_effect`].
    pub design_effect: f64,
    /// Whether the fit assumed the same scatter in seconds at every size, instead of a scatter proportional to the time.
    pub is_even: bool,
    /// Whether the free fit broke a limit (negative, or falling where it must not) and this is the nearest fit within the limits.
    pub held: bool,
}

impl Candidate {
    /// SMAPE of each point predicted from the others, per cent.
    pub fn cv_smape(&self, points: &Points) -> Option<f64> {
        let left_out = self.left_out_s.as_ref()?;
        Some(smape(&points.mean_s, left_out, &points.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_form_is_stored_without_its_family() {
        let alternative = Alternative {
            weight: 0.5,
            family: Family::NormalForm,
            formula: Formula::new(1.0, Vec::new()),
            covariance: Some(Covariance::new(1, |_, _| 4.0)),
        };
        let text = serde_json::to_string(&alternative).unwrap();
        let expected = r#"{"weight":0.5,"constant":1.0,"terms":[],"covariance":[[4.0]]}"#;
        assert_eq!(text, expected);
        let read = |text: &str| serde_json::from_str::<Alternative>(text).unwrap();
        assert_eq!(read(&text), alternative);
        let told = expected.replace("\"constant\"", "\"family\":\"normal-form\",\"constant\"");
        assert_eq!(read(&told), alternative);
    }
}
