//! Estimates how far formulas drift from the time at sizes beyond those that they were fitted to.
//!
//! In: the points of a mode, and the formulas that predict. Out: the drift, the relative deviation of the time from
//! the prediction for each factor of e beyond the range.
//!
//! Weights of formulas give the probability of each if one of them is right. All may be wrong: a buffer, a cache or
//! another algorithm takes effect at some size, and the next one beyond the range. Other programs give a prior for
//! the size of such effects ([`PRIOR`]). The points correct it: the largest sizes are held out, and each formula
//! predicts them with coefficients from the smaller ones.
//!
//! The logarithm of a time left out is off by `e ~ N(0, v + γ² ln² d)` at `d` times the range of the others, where `v` is the variance by scatter
//! and by coefficients that the others leave unknown. What scatters, or is predicted vaguely, leaves γ as it was expected, and a law that
//! was kept over many sizes makes it small. A formula whose coefficients the others do not determine predicts nothing, and says nothing of γ:
//! `max(a, b x)` before its knee. Where a break was searched for, the ranges that had begun predict what came after it: something came in.
//! The drifts are weighed by Bayes for each formula, and by the weights of the formulas; the result is the one whose interval is that of all.
//!
//! # Source
//! R. D. Cook, S. Weisberg, *Residuals and Influence in Regression* (1982), for errors and variances of observations left out (recalled, not
//! looked up).

use statrs::distribution::{ContinuousCDF, Normal};

use crate::families::candidate::Candidate;
use crate::families::prior::AHEAD;
use crate::formula::family::Family;
use crate::formula::slopes::slopes;
use crate::formula::sum::{Formula, Term};
use crate::samples::points::Points;
use crate::solve::least_squares::solve;
use crate::solve::likelihood::ROUNDING;
use crate::solve::mixture::{Part, quantile};
use crate::solve::uncertainty::LEVEL;

/// Drifts and their prior probabilities, root mean square 0.1. Source: of seven such lists, on public series of 11
/// sources and 40 shapes of a generator of our own. Lists of the same mean square differ little; one of 0.14 widens
/// intervals after few sizes by a fifth.
const PRIOR: [(f64, f64); 6] = [
    (0.0, 0.3),
    (0.025, 0.25),
    (0.05, 0.2),
    (0.1, 0.15),
    (0.2, 0.07),
    (0.4, 0.03),
];

/// Sizes that a prediction starts from at least. Source: on the same, 3 and 4 made public series with a drift of their own hold less, since what
/// holds among the smallest sizes says little of the largest.
const LEAST_SIZES: usize = 5;

/// The largest sizes that are left out, one in so many, one after the other; and always the last one. Arbitrary: from the last size to the
/// upper half of them, each number twice the one before.
const LEFT_OUT: [usize; 4] = [16, 8, 4, 2];

/// Factor beyond the range from which on an error counts as drift rather than as an error of that size alone.
/// Arbitrary: below the factor of 2 between most measured sizes.
const LEAST_AHEAD: f64 = 1.3;

/// Largest error of a prediction, as the logarithm of a factor. Arbitrary: larger ones than a factor of ten say no more of the drift.
const MOST: f64 = std::f64::consts::LN_10;

/// Standard deviation of the logarithm of the time over the prediction, for each factor of e beyond the range, where the parameter that
/// varies is one; what was expected where the points say nothing of it.
pub(crate) fn drift(points: &Points, best: &Candidate) -> f64 {
    let param = match points.varying()[..] {
        [param] if points.range(param)[0] > 0.0 => Some(param),
        _ => None,
    };
    let weights = |family, formula| {
        let law = Law { family, formula };
        weights(&param.map_or_else(Vec::new, |param| seen(points, param, &law)))
    };
    if best.alternatives.is_empty() {
        return equivalent(weights(best.family, &best.formula));
    }
    let mut sum = [0.0; PRIOR.len()];
    for a in &best.alternatives {
        let pairs = sum.iter_mut().zip(weights(a.family, &a.formula));
        pairs.for_each(|(sum, of)| *sum += a.weight * of);
    }
    equivalent(sum)
}

/// Posterior probabilities of the drifts, from the errors seen from some sizes: one observation from each, however
/// many sizes lie ahead.
fn weights(seen: &[Vec<Miss>]) -> [f64; PRIOR.len()] {
    let ln_weights = PRIOR.map(|(gamma, probability)| {
        let ln_likelihoods = seen.iter().map(|ahead| ln_likelihood(ahead, gamma));
        probability.ln() + ln_likelihoods.sum::<f64>()
    });
    let most = ln_weights.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let weights = ln_weights.map(|ln_weight| (ln_weight - most).exp());
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// The single drift with the same interval of [`LEVEL`] as all drifts together.
fn equivalent(weights: [f64; PRIOR.len()]) -> f64 {
    let parts = PRIOR.iter().zip(weights).map(|((gamma, _), weight)| Part {
        weight,
        mean: 0.0,
        deviation: *gamma,
    });
    let (parts, upper) = (parts.collect::<Vec<_>>(), 0.5 + LEVEL / 2.0);
    (quantile(&parts, upper) / Normal::standard().inverse_cdf(upper)).max(0.0)
}

/// A larger size and its prediction by a law.
struct Miss {
    /// Logarithm of the factor beyond the range.
    ln_d: f64,
    /// Logarithm of the measured time over the predicted one.
    error: f64,
    /// Its variance where the time does not drift, > 0.
    variance: f64,
}

/// Mean log-likelihood of the errors at larger sizes under the drift `gamma`. It is a mean because these sizes share
/// an error.
fn ln_likelihood(ahead: &[Miss], gamma: f64) -> f64 {
    let of_size = |size: &Miss| {
        let variance = size.variance + (gamma * size.ln_d).powi(2);
        -0.5 * (variance.ln() + size.error * size.error / variance)
    };
    ahead.iter().map(of_size).sum::<f64>() / ahead.len() as f64
}

/// What is seen from each size that is looked ahead from, by a law.
fn seen(points: &Points, param: usize, law: &Law<'_>) -> Vec<Vec<Miss>> {
    let Some(variance) = law.variance(points) else {
        return Vec::new();
    };
    let values = points.values(param);
    let mut lefts = LEFT_OUT.map(|share| (values.len() / share).max(1)).to_vec();
    lefts.dedup();
    let ends = lefts.into_iter().filter_map(|n_left| {
        let kept = values.len().checked_sub(n_left)?;
        (kept >= LEAST_SIZES).then(|| values[kept - 1])
    });
    let from = |end| law.misses(points, &points.columns[param], end, variance);
    let ahead = ends.filter_map(from);
    ahead.filter(|misses| !misses.is_empty()).collect()
}

/// A formula that predicts.
struct Law<'a> {
    family: Family,
    formula: &'a Formula,
}

impl Law<'_> {
    /// Relative variance of a call, from the residuals of the formula at all points; `None` if the formula is not
    /// above 0 at all of them.
    fn variance(&self, points: &Points) -> Option<f64> {
        let mut squares = 0.0;
        for i in 0..points.len() {
            let time_s = time_s(self.formula, points, i).filter(|s| *s > 0.0)?;
            squares += points.count[i] * (points.mean_s[i] / time_s - 1.0).powi(2);
        }
        let n = slopes(self.family, self.formula, |name| points.number(0, name)).ok()?;
        Some(squares / points.len().saturating_sub(n.len()).max(1) as f64)
    }

    /// Errors at the sizes above `end`, predicted with the coefficients of the sizes up to it; `None` if those do not
    /// determine the coefficients.
    ///
    /// # Arguments
    /// * `column` - the size of each point, shape `[n_points]`
    /// * `of_call` - relative variance of a call
    fn misses(&self, points: &Points, column: &[f64], end: f64, of_call: f64) -> Option<Vec<Miss>> {
        let formula = self.begun(end);
        let slopes = |i: usize| slopes(self.family, &formula, |name| points.number(i, name)).ok();
        let inner = || (0..points.len()).filter(|&i| column[i] <= end);
        let times_s: Option<Vec<f64>> = inner().map(|i| time_s(&formula, points, i)).collect();
        let (times_s, rows): (_, Option<Vec<_>>) = (times_s?, inner().map(slopes).collect());
        let rows = rows?;
        let of_coefficient = |j: usize| rows.iter().map(|row| row[j]).collect();
        let columns: Vec<Vec<f64>> = (0..rows.first()?.len()).map(of_coefficient).collect();
        let pairs = || inner().zip(&times_s);
        let rest: Vec<f64> = pairs().map(|(i, s)| points.mean_s[i] - s).collect();
        let weights: Vec<f64> = pairs().map(|(i, s)| points.count[i] / (s * s)).collect();
        let solved = solve(&columns, &rest, &weights).ok()?;
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let is_ahead = |&i: &usize| (LEAST_AHEAD..=AHEAD).contains(&(column[i] / end));
        let miss = |i: usize| {
            let (time_s, slopes) = (time_s(&formula, points, i)?, slopes(i)?);
            let by = product(&slopes, &solved.coefficients) / time_s;
            let by = match self.family {
                Family::PowerLaw | Family::Exponential => by,
                _ => by.ln_1p(),
            };
            let error = (points.mean_s[i] / time_s).ln() - by;
            let covariance = solved.unscaled_covariance.iter();
            let covariance: Vec<f64> = covariance.map(|row| product(row, &slopes)).collect();
            let of_coefficients = product(&slopes, &covariance) / (time_s * time_s);
            let variance = of_call * (points.count[i].recip() + of_coefficients);
            variance.is_finite().then(|| Miss {
                ln_d: (column[i] / end).ln(),
                error: match error.is_finite() {
                    true => error.clamp(-MOST, MOST),
                    false => MOST,
                },
                variance: variance.max(ROUNDING * ROUNDING),
            })
        };
        Some(
            (0..points.len())
                .filter(is_ahead)
                .filter_map(miss)
                .collect(),
        )
    }

    /// The formula as it is known up to a size: without ranges that begin later, but for the larger or the lesser of two costs, which is
    /// one law, whose range is not searched for.
    fn begun(&self, end: f64) -> Formula {
        let mut formula = self.formula.clone();
        if self.family != Family::Regimes || formula.terms.len() <= 2 {
            return formula;
        }
        let from = |term: &Term| term.regime.as_ref()?.from;
        formula
            .terms
            .retain(|term| from(term).is_none_or(|from| from <= end));
        for regime in formula.terms.iter_mut().flat_map(|term| &mut term.regime) {
            regime.to = regime.to.filter(|to| *to <= end);
        }
        formula
    }
}

/// The time of a formula at a point, seconds, where it is finite.
fn time_s(formula: &Formula, points: &Points, i: usize) -> Option<f64> {
    let time_s = formula.evaluate(|name| points.number(i, name)).ok();
    time_s.filter(|s| s.is_finite())
}
