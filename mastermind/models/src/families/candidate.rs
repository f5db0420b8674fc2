//! A fit of any family in the common terms of a model.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    #[serde(default = "normal_form", skip_serializing_if = "is_normal_form")]
    pub family: Family,
    /// Mean time of a call, seconds.
    #[serde(flatten)]
    pub formula: Formula,
    /// Covariance of its coefficients (of `ln T` for a power law or an exponential), shape `[n][n]`; `None` where
    /// unknown. Stored as its lower triangle where it is symmetric to the bit.
    #[serde(serialize_with = "triangle", deserialize_with = "square")]
    pub covariance: Option<Vec<Vec<f64>>>,
}

fn normal_form() -> Family {
    Family::NormalForm
}

fn is_normal_form(family: &Family) -> bool {
    *family == Family::NormalForm
}

/// The rows of a symmetric matrix up to the diagonal; of another the whole.
fn triangle<S: Serializer>(
    covariance: &Option<Vec<Vec<f64>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Some(rows) = covariance else {
        return serializer.serialize_none();
    };
    let is_square = rows.iter().all(|row| row.len() == rows.len());
    let mut below = (0..rows.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let is_symmetric =
        is_square && below.all(|(i, j)| rows[i][j].to_bits() == rows[j][i].to_bits());
    let end = |i: usize| if is_symmetric { i + 1 } else { rows[i].len() };
    serializer.collect_seq(rows.iter().enumerate().map(|(i, row)| &row[..end(i)]))
}

/// A matrix of which the lower triangle may be all that is stored.
fn square<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Vec<f64>>>, D::Error> {
    let mut covariance = Option::<Vec<Vec<f64>>>::deserialize(deserializer)?;
    if let Some(rows) = &mut covariance
        && rows.iter().enumerate().all(|(i, row)| row.len() == i + 1)
    {
        for i in 0..rows.len() {
            for j in i + 1..rows.len() {
                let mirrored = rows[j][i];
                rows[i].push(mirrored);
            }
        }
    }
    Ok(covariance)
}

/// A fitted formula and what goes with it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The form.
    pub family: Family,
    /// The formula.
    pub formula: Formula,
    /// Name and unit of each coefficient; `None` where they are the constant, if there is one, and the terms of the formula.
    pub names: Option<Vec<(String, String)>>,
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
    /// What they predict, seconds, shape `[n_points]`; empty where there are none.
    pub predicted_s: Vec<f64>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn alternative(covariance: Option<Vec<Vec<f64>>>) -> Alternative {
        Alternative {
            weight: 0.5,
            family: Family::NormalForm,
            formula: Formula::new(1.0, Vec::new()),
            covariance,
        }
    }

    #[test]
    fn a_symmetric_covariance_is_stored_once() {
        let third = 1.0_f64 / 3.0;
        let symmetric = vec![
            vec![4.0, third, 0.1],
            vec![third, 5.0, -2.0],
            vec![0.1, -2.0, 6.0],
        ];
        let mut skew = symmetric.clone();
        skew[0][1] = third.next_up();
        for (covariance, stored) in [
            (
                Some(symmetric),
                "[[4.0],[0.3333333333333333,5.0],[0.1,-2.0,6.0]]",
            ),
            (
                Some(skew),
                "[[4.0,0.33333333333333337,0.1],[0.3333333333333333,5.0,-2.0],[0.1,-2.0,6.0]]",
            ),
            (None, "null"),
        ] {
            let alternative = alternative(covariance);
            let text = serde_json::to_string(&alternative).unwrap();
            assert!(text.contains(&format!("\"covariance\":{stored}")), "{text}");
            assert!(!text.contains("family"), "{text}");
            assert_eq!(
                serde_json::from_str::<Alternative>(&text).unwrap(),
                alternative
            );
        }
    }

    #[test]
    fn a_covariance_stored_whole_is_read() {
        let text = r#"{"weight":0.5,"family":"normal-form","constant":1.0,"terms":[],"covariance":[[4.0,1.0],[1.0,5.0]]}"#;
        let expected = alternative(Some(vec![vec![4.0, 1.0], vec![1.0, 5.0]]));
        assert_eq!(serde_json::from_str::<Alternative>(text).unwrap(), expected);
    }
}
