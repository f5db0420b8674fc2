//! By how much formulas were off at sizes beyond those that they were fitted to.
//!
//! In: the points of a mode. Out: the share by which the time drifts from the prediction for each factor of e beyond the range.
//!
//! Weights of formulas say which is right if one of them is. Where the spread of the calls does not explain what they leave, none is: a
//! buffer, a cache, another algorithm comes in at some size, and the next one comes beyond the range. How much that makes is told from the
//! points themselves: the largest sizes are left out, and predicted from the smaller ones as a user would.
//!
//! The constants were looked at on eight generators of our own, times with breaks, bends, waves, random walks and quirks of small sizes that no
//! formula follows: at four times the range 85 to 94 % of the calls are inside. Twice as wide intervals hold 1 to 2 % more.

use std::borrow::Cow;

use crate::families::candidate::Candidate;
use crate::families::prior::AHEAD;
use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::select::fit::forms;
use crate::solve::likelihood::FEW;
use crate::solve::limits::Limits;
use crate::solve::mixture::{Part, middle};

/// The largest sizes that are left out, one in so many, one after the other.
const LEFT_OUT: [usize; 4] = [16, 8, 4, 2];

/// Sizes that it is told from; of more, so many evenly.
const MAX_SIZES: usize = 128;

/// Logarithm of the factor that a prediction counts as off by at most.
const MOST: f64 = std::f64::consts::LN_10;

/// Standard deviation of the logarithm of the time over the prediction, for each factor of e beyond the range of the one parameter that
/// varies; 0 where the points do not tell.
///
/// # Arguments
/// * `family` - the only family to try
pub(crate) fn drift(points: &Points, family: Option<Family>, limits: &Limits<'_>) -> f64 {
    let &[param] = points.varying().as_slice() else {
        return 0.0;
    };
    let points = thinned(points, param);
    let (values, column) = (points.values(param), &points.columns[param]);
    if values[0] <= 0.0 {
        return 0.0;
    }
    let (mut off, mut far, mut before) = (0.0, 0.0, 0);
    for share in LEFT_OUT {
        let n_left = (values.len() / share).max(1);
        if n_left == before || values.len() < FEW + n_left {
            continue;
        }
        before = n_left;
        let end = values[values.len() - n_left - 1];
        let (inner, outer): (Vec<usize>, Vec<usize>) =
            (0..points.len()).partition(|&i| column[i] <= end);
        let rest = points.subset(&inner);
        let Some(best) = forms(&rest, family, limits) else {
            continue;
        };
        let scatter = scatter(&rest, &best, param);
        for i in outer {
            // Further than anything is said of.
            if column[i] > AHEAD * end && far > 0.0 {
                continue;
            }
            let error = (points.mean_s[i] / predicted(&best, &points, i)).ln();
            let error = match error.is_finite() {
                true => error.clamp(-MOST, MOST),
                false => MOST,
            };
            off += error * error - scatter;
            far += (column[i] / end).ln().powi(2);
        }
    }
    match far > 0.0 {
        true => (off / far).max(0.0).sqrt(),
        false => 0.0,
    }
}

/// The points of at most [`MAX_SIZES`] sizes, the largest among them.
fn thinned(points: &Points, param: usize) -> Cow<'_, Points> {
    let values = points.values(param);
    if values.len() <= MAX_SIZES {
        return Cow::Borrowed(points);
    }
    let stride = values.len().div_ceil(MAX_SIZES);
    let kept: Vec<f64> = values.iter().rev().step_by(stride).copied().collect();
    let is_kept = |&i: &usize| kept.contains(&points.columns[param][i]);
    let rows: Vec<usize> = (0..points.len()).filter(is_kept).collect();
    Cow::Owned(points.subset(&rows))
}

/// Mean square of the logarithms of what a fit leaves, of the larger half of the sizes: the smaller ones often lie further off.
fn scatter(points: &Points, best: &Candidate, param: usize) -> f64 {
    let values = points.values(param);
    let middle = values[values.len() / 2];
    let rows = (0..points.len()).filter(|&i| points.columns[param][i] >= middle);
    let squares = rows.map(|i| (points.mean_s[i] / best.fitted_s[i]).ln().powi(2));
    let squares: Vec<f64> = squares.filter(|square| square.is_finite()).collect();
    squares.iter().sum::<f64>() / squares.len().max(1) as f64
}

/// What the forms together predict at a point.
fn predicted(best: &Candidate, points: &Points, i: usize) -> f64 {
    let number = |name: &str| points.number(i, name);
    let value = |formula: &Formula| formula.evaluate(number).unwrap_or(f64::NAN);
    if best.alternatives.is_empty() {
        return value(&best.formula);
    }
    let parts = best.alternatives.iter().map(|alternative| Part {
        weight: alternative.weight,
        mean: value(&alternative.formula),
        deviation: 0.0,
    });
    middle(&mut parts.collect::<Vec<_>>())
}
