//! By how much formulas were off at sizes beyond those that they were fitted to.
//!
//! In: the points of a mode. Out: the share by which the time drifts from the prediction for each factor of e beyond the range.
//!
//! Weights of formulas say which is right if one of them is. Where the spread of the calls does not explain what they leave, none is: a
//! buffer, a cache, another algorithm comes in at some size, and the next one comes beyond the range. How much that makes is told from the
//! points themselves: the largest sizes are left out, and predicted from the smaller ones as a user would.

use crate::families::candidate::Candidate;
use crate::families::prior::AHEAD;
use crate::samples::points::Points;
use crate::select::fit::forms;
use crate::solve::likelihood::FEW;
use crate::solve::limits::Limits;
use crate::solve::mixture::{Part, middle};

/// Numbers of the largest sizes that are left out, one after the other.
const LEFT_OUT: [usize; 4] = [1, 2, 4, 8];

/// Logarithm of the factor that a prediction counts as off by at most.
const MOST: f64 = std::f64::consts::LN_10;

/// Standard deviation of the logarithm of the time over the prediction, for each factor of e beyond the range of the one parameter that varies;
/// 0 where the points do not tell.
pub(crate) fn drift(points: &Points, limits: &Limits<'_>) -> f64 {
    let &[param] = points.varying().as_slice() else {
        return 0.0;
    };
    let values = points.values(param);
    if values[0] <= 0.0 {
        return 0.0;
    }
    let column = &points.columns[param];
    let (mut off, mut far) = (0.0, 0.0);
    for n_left in LEFT_OUT {
        if values.len() < FEW + n_left || 2 * n_left > values.len() {
            break;
        }
        let end = values[values.len() - n_left - 1];
        let (inner, outer): (Vec<usize>, Vec<usize>) =
            (0..points.len()).partition(|&i| column[i] <= end);
        let rest = points.subset(&inner);
        let Some(best) = forms(&rest, limits) else {
            continue;
        };
        let scatter = scatter(&rest, &best);
        for i in outer {
            let distance = (column[i] / end).ln();
            if column[i] > AHEAD * end && n_left > 1 && far > 0.0 {
                continue;
            }
            let error = (points.mean_s[i] / predicted(&best, points, i)).ln();
            let error = if error.is_finite() {
                error.clamp(-MOST, MOST)
            } else {
                MOST
            };
            off += error * error - scatter;
            far += distance * distance;
        }
    }
    if far > 0.0 {
        (off / far).max(0.0).sqrt()
    } else {
        0.0
    }
}

/// Mean square of the logarithms of what a fit leaves, of the upper half of the points.
fn scatter(points: &Points, best: &Candidate) -> f64 {
    let half = points.len() / 2;
    let pairs = points.mean_s.iter().zip(&best.fitted_s).skip(half);
    let squares = pairs.map(|(y, f)| (y / f).ln().powi(2));
    let squares: Vec<f64> = squares.filter(|square| square.is_finite()).collect();
    squares.iter().sum::<f64>() / squares.len().max(1) as f64
}

/// What the forms together predict at a point.
fn predicted(best: &Candidate, points: &Points, i: usize) -> f64 {
    let number = |name: &str| points.number(i, name);
    let value =
        |formula: &crate::formula::sum::Formula| formula.evaluate(number).unwrap_or(f64::NAN);
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
