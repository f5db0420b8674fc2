//! By how much formulas are off at sizes beyond those that they were fitted to.
//!
//! In: the points of a mode. Out: the share by which the time drifts from the prediction for each factor of e beyond the range.
//!
//! Weights of formulas say which is right if one of them is. None may be: a buffer, a cache, another algorithm comes in at some size, and the
//! next one comes beyond the range. How much that makes is known from other programs before anything is measured ([`EXPECTED`]), and the
//! points themselves correct it: the largest sizes are left out, and predicted from the smaller ones as a user would. What the uncertainty of
//! those predictions explains is no drift.
//!
//! `γ² = (w p γ₀² + Σ γⱼ²) / (w + n)` over the `n` sizes from which it is looked ahead, `γⱼ²` being the mean of `(eⱼ² − σ² − mⱼ²) / ln² d`:
//! the mean of a variance whose prior is worth `w` observations, where `p` is the probability that the time drifts at all, as often as not
//! before anything is measured. A law that was kept to within a per mille over all sizes is one; what scatters by as much as the drift that is
//! expected says little of it.

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

/// Drift that is expected before anything is known. Source: of 0.05, 0.1 and 0.15, with a [`WORTH`] of 1 and of 3, on 40 shapes of a generator of
/// our own: at four times the largest size 91, 93 and 94 % of the calls were inside, with half-widths 0, 11 and 26 % larger than without.
pub(crate) const EXPECTED: f64 = 0.1;

/// Sizes looked ahead from that the expectation is worth. Source: as above; 3 made no difference.
const WORTH: f64 = 1.0;

/// Sizes that a law must be fitted to for it to be one that could drift: a line has one of them to spare twice.
const LEAST_SIZES: usize = 4;

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
/// varies is one; [`EXPECTED`] where the points say nothing of it.
///
/// # Arguments
/// * `family` - the only family to try
pub(crate) fn drift(points: &Points, family: Option<Family>, limits: &Limits<'_>) -> f64 {
    let seen = match points.varying()[..] {
        [param] if points.range(param)[0] > 0.0 => seen(points, param, family, limits),
        _ => Vec::new(),
    };
    let against: f64 = seen.iter().map(|from| from.ln_against).sum();
    let expected = WORTH * EXPECTED * EXPECTED / (1.0 + against.exp());
    let sum = expected + seen.iter().map(|from| from.square).sum::<f64>();
    (sum / (WORTH + seen.len() as f64)).sqrt()
}

/// What is seen ahead of a size.
struct Ahead {
    /// Mean square of the drift.
    square: f64,
    /// Logarithm of how much likelier it is without a drift than with the one that is expected, on average over the sizes ahead.
    ln_against: f64,
}

/// What is seen from each size that is looked ahead from.
fn seen(points: &Points, param: usize, family: Option<Family>, limits: &Limits<'_>) -> Vec<Ahead> {
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

/// How far the sizes above `end` lie from what those up to it predict.
fn from(
    points: &Points,
    param: usize,
    end: f64,
    family: Option<Family>,
    limits: &Limits<'_>,
) -> Option<Ahead> {
    let column = &points.columns[param];
    let (inner, outer): (Vec<usize>, Vec<usize>) =
        (0..points.len()).partition(|&i| column[i] <= end);
    let rest = points.subset(&inner);
    let best = forms(&rest, family, limits)?;
    let scatter = scatter(&rest, &best, param);
    let is_ahead = |&i: &usize| (LEAST_AHEAD..=AHEAD).contains(&(column[i] / end));
    let (mut ahead, mut n) = (
        Ahead {
            square: 0.0,
            ln_against: 0.0,
        },
        0.0,
    );
    for i in outer.into_iter().filter(is_ahead) {
        let (predicted_s, of_forms) = predicted(&best, points, i);
        let error = (points.mean_s[i] / predicted_s).ln();
        let error = match error.is_finite() {
            true => error.clamp(-MOST, MOST),
            false => MOST,
        };
        let (variance, ln_d) = (scatter + of_forms, (column[i] / end).ln());
        ahead.square += (error * error - variance).max(0.0) / (ln_d * ln_d);
        let known = variance.max(ROUNDING * ROUNDING);
        let drifted = known + (EXPECTED * ln_d).powi(2);
        ahead.ln_against += 0.5 * (drifted / known).ln();
        ahead.ln_against -= 0.5 * error * error * (known.recip() - drifted.recip());
        n += 1.0;
    }
    (n > 0.0).then(|| Ahead {
        square: ahead.square / n,
        ln_against: ahead.ln_against / n,
    })
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
