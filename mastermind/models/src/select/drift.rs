//! By how much formulas are off at sizes beyond those that they were fitted to.
//!
//! In: the points of a mode. Out: the share by which the time drifts from the prediction for each factor of e beyond the range.
//!
//! Weights of formulas say which is right if one of them is. None may be: a buffer, a cache, another algorithm comes in at some size, and the
//! next one comes beyond the range. How much that makes is known from other programs before anything is measured ([`PRIOR`]), and the
//! points themselves correct it: the largest sizes are left out, and predicted from the smaller ones as a user would.
//!
//! A prediction whose logarithm has the variance `v` by scatter and by what is not known of the formula is off by `e ~ N(0, v + γ² ln² d)` at
//! `d` times the range. Each range that predictions start from counts as one observation, however many sizes lie ahead, since these share
//! what they are off by. The result is the root of the mean of γ² by Bayes: what scatters, or is predicted vaguely, leaves it as it was
//! expected, and a law that was kept over many sizes makes it small.

use std::borrow::Cow;

use crate::families::candidate::{Alternative, Candidate};
use crate::families::prior::AHEAD;
use crate::formula::family::Family;
use crate::formula::slopes::slopes;
use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::select::fit::forms;
use crate::solve::covariance::Covariance;
use crate::solve::likelihood::ROUNDING;
use crate::solve::limits::Limits;
use crate::solve::mixture::{Part, middle};

/// Drifts and their probabilities before anything is known, root mean square 0.12. Source: of seven such lists, on public series of 11 sources and 40
/// shapes of a generator of our own; those of one mean square differ little, and one of 0.14 makes intervals after few sizes a tenth wider.
const PRIOR: [(f64, f64); 6] = [
    (0.0, 0.25),
    (0.025, 0.25),
    (0.05, 0.2),
    (0.1, 0.15),
    (0.2, 0.1),
    (0.4, 0.05),
];

/// Sizes that a prediction starts from at least. Arbitrary: predictions from four are so vague that they change nothing.
const LEAST_SIZES: usize = 5;

/// The largest sizes that are left out, one in so many, one after the other; and always the last one.
const LEFT_OUT: [usize; 4] = [16, 8, 4, 2];

/// Factor beyond the range from which on an error is a drift, and not what the size itself is off by. Arbitrary: below the factor of 2 between most
/// measured sizes.
const LEAST_AHEAD: f64 = 1.3;

/// Sizes that it is estimated from; of more, so many evenly.
const MAX_SIZES: usize = 128;

/// Logarithm of the factor that a prediction counts as off by at most.
const MOST: f64 = std::f64::consts::LN_10;

/// Standard deviation of the logarithm of the time over the prediction, for each factor of e beyond the range, where the parameter that
/// varies is one; what was expected where the points say nothing of it.
///
/// # Arguments
/// * `family` - the only family to try
pub(crate) fn drift(points: &Points, family: Option<Family>, limits: &Limits<'_>) -> f64 {
    let seen = match points.varying()[..] {
        [param] if points.range(param)[0] > 0.0 => seen(points, param, family, limits),
        _ => Vec::new(),
    };
    let ln_weight = |(gamma, probability): (f64, f64)| {
        let ln_likelihoods = seen.iter().map(|ahead| ln_likelihood(ahead, gamma));
        probability.ln() + ln_likelihoods.sum::<f64>()
    };
    let ln_weights = PRIOR.map(ln_weight);
    let most = ln_weights.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let weights = ln_weights.map(|ln_weight| (ln_weight - most).exp());
    let pairs = PRIOR.iter().zip(weights);
    let square: f64 = pairs
        .map(|((gamma, _), weight)| weight * gamma * gamma)
        .sum();
    (square / weights.iter().sum::<f64>()).sqrt()
}

/// Mean of the logarithms of the likelihood of what sizes ahead are off by, if the time drifts by `gamma`.
fn ln_likelihood(ahead: &[Ahead], gamma: f64) -> f64 {
    let of_size = |size: &Ahead| {
        let variance = size.variance + (gamma * size.ln_d).powi(2);
        -0.5 * (variance.ln() + size.error * size.error / variance)
    };
    ahead.iter().map(of_size).sum::<f64>() / ahead.len() as f64
}

/// A size beyond those that a prediction starts from.
struct Ahead {
    /// Logarithm of the factor beyond.
    ln_d: f64,
    /// Logarithm of the measured time over the predicted one.
    error: f64,
    /// Its variance where the time does not drift, > 0.
    variance: f64,
}

/// What is seen from each size that is looked ahead from.
fn seen(
    points: &Points,
    param: usize,
    family: Option<Family>,
    limits: &Limits<'_>,
) -> Vec<Vec<Ahead>> {
    let points = thinned(points, param);
    let values = points.values(param);
    let mut lefts: Vec<usize> = LEFT_OUT
        .iter()
        .map(|share| (values.len() / share).max(1))
        .collect();
    lefts.dedup();
    let ends = lefts.into_iter().filter_map(|n_left| {
        let kept = values.len().checked_sub(n_left)?;
        (kept >= LEAST_SIZES).then(|| values[kept - 1])
    });
    ends.filter_map(|end| from(&points, param, end, family, limits))
        .collect()
}

/// How far the sizes above `end` lie from what those up to it predict; `None` where none is far enough.
fn from(
    points: &Points,
    param: usize,
    end: f64,
    family: Option<Family>,
    limits: &Limits<'_>,
) -> Option<Vec<Ahead>> {
    let column = &points.columns[param];
    let (inner, outer): (Vec<usize>, Vec<usize>) =
        (0..points.len()).partition(|&i| column[i] <= end);
    let is_ahead = |&i: &usize| (LEAST_AHEAD..=AHEAD).contains(&(column[i] / end));
    let outer: Vec<usize> = outer.into_iter().filter(is_ahead).collect();
    if outer.is_empty() {
        return None;
    }
    let rest = points.subset(&inner);
    let best = forms(&rest, family, limits)?;
    let scatter = scatter(&rest, &best, param);
    let ahead = outer.into_iter().map(|i| {
        let (predicted_s, of_forms) = predicted(&best, points, i);
        let error = (points.mean_s[i] / predicted_s).ln();
        Ahead {
            ln_d: (column[i] / end).ln(),
            error: match error.is_finite() {
                true => error.clamp(-MOST, MOST),
                false => MOST,
            },
            variance: (scatter + of_forms).max(ROUNDING * ROUNDING),
        }
    });
    Some(ahead.collect())
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

/// What the forms together predict at a point, seconds, and the variance of its logarithm by their coefficients and by how far they lie apart.
fn predicted(best: &Candidate, points: &Points, i: usize) -> (f64, f64) {
    let part = |weight: f64, family: Family, formula: &Formula, covariance: Option<&Covariance>| {
        let mean = formula.evaluate(|name| points.number(i, name));
        let mean = mean.unwrap_or(f64::NAN);
        let gradient = slopes(family, formula, |name| points.number(i, name)).unwrap_or_default();
        let variance = covariance.map_or(0.0, |covariance| covariance.variance(&gradient));
        Part {
            weight,
            mean,
            deviation: variance.sqrt() / mean,
        }
    };
    let alone = || part(1.0, best.family, &best.formula, best.covariance.as_ref());
    let of = |a: &Alternative| part(a.weight, a.family, &a.formula, a.covariance.as_ref());
    let mut parts: Vec<Part> = best.alternatives.iter().map(of).collect();
    if parts.is_empty() {
        parts.push(alone());
    }
    let middle = middle(&mut parts);
    let variances = parts.iter().map(|part| {
        let apart = (part.mean / middle).ln().clamp(-MOST, MOST);
        let variance = part.weight * (apart * apart + part.deviation * part.deviation);
        if variance.is_finite() { variance } else { 0.0 }
    });
    (middle, variances.sum())
}
