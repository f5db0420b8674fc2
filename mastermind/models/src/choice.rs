//! Which formula is shown, and which are averaged with it.

use crate::model::Family;
use crate::normal_form::{Distance, deviances};
use crate::points::Points;
use crate::shown::{Alternative, Deviances, Shown};

/// A more complex formula must have at most this share of the error of one that is as complex.
const BETTER: f64 = 0.99;

/// Difference of deviances that is none.
const NO_GAIN: f64 = 2.0;

/// Difference of deviances from which on a formula is not shown beside a likelier one as good: a hundredth as likely.
const UNLIKELY: f64 = 9.2;

/// The same beside one about as simple: a twentieth as likely.
const LESS_LIKELY: f64 = 6.0;

/// How many free numbers more make a formula no less simple than another.
const AS_SIMPLE: usize = 1;

/// Per cent; errors below it are rounding.
const NO_ERROR: f64 = 1e-9;

/// Formulas less credible than this are not averaged.
const INCREDIBLE: f64 = 1e-3;

/// Formulas that are averaged at most.
const N_AVERAGED: usize = 24;

/// The simplest formula whose error on left-out points is within one standard error of the smallest, or
/// that is as likely as the one with the smallest; but none that is far less likely than another of these, the
/// less so where that is about as simple, since predictions would go by the other.
///
/// The error of a point is its symmetric relative one; the standard error is that of the mean
/// difference over the points. Among equally complex formulas, the one with the smallest error, the
/// earlier of equals. Where none but the constant could be validated, the first that is no constant.
///
/// # Source
/// L. Breiman, J. Friedman, R. Olshen, C. Stone, *Classification and Regression Trees* (1984), section
/// 3.4.3, for the rule (recalled, not looked up).
pub(crate) fn choose(points: &Points, candidates: &[Shown]) -> Option<usize> {
    let shaped = |c: &Shown| c.family != Family::Constant;
    let errors: Vec<Option<Vec<f64>>> = candidates.iter().map(|c| errors(points, c)).collect();
    let validated = |i: usize| errors[i].is_some();
    if !(0..candidates.len()).any(|i| validated(i) && shaped(&candidates[i])) {
        let first = candidates.iter().position(shaped);
        return first.or(if candidates.is_empty() { None } else { Some(0) });
    }
    let mean = |i: usize| errors[i].as_deref().map_or(f64::INFINITY, average);
    let best = (0..candidates.len()).min_by(|&a, &b| mean(a).total_cmp(&mean(b)))?;
    let (deviances, by_calls) = weighed(points, candidates);
    let deviance = |i: usize| deviances[i].of(by_calls);
    let near = |&i: &usize| match (&errors[i], &errors[best]) {
        (Some(ours), Some(least)) => {
            i == best
                || within_one_standard_error(ours, least)
                || deviance(best).is_finite() && deviance(i) <= deviance(best) + NO_GAIN
        }
        _ => false,
    };
    let mut near: Vec<usize> = (0..candidates.len()).filter(near).collect();
    let keep_likely = |near: &mut Vec<usize>, within: f64| {
        let deviances = near.iter().map(|&i| deviance(i));
        let likeliest = deviances.fold(f64::INFINITY, f64::min);
        near.retain(|&i| !likeliest.is_finite() || deviance(i) <= likeliest + within);
    };
    let simplest = |near: &[usize]| near.iter().map(|&i| candidates[i].n_free).min();
    keep_likely(&mut near, UNLIKELY);
    let about = simplest(&near)? + AS_SIMPLE;
    near.retain(|&i| candidates[i].n_free <= about);
    keep_likely(&mut near, LESS_LIKELY);
    let least = simplest(&near)?;
    near.retain(|&i| candidates[i].n_free == least);
    near.into_iter().reduce(|a, b| {
        if mean(b) < BETTER * mean(a) - NO_ERROR {
            b
        } else {
            a
        }
    })
}

/// Error of each left-out point, per cent, 0 to 200.
fn errors(points: &Points, shown: &Shown) -> Option<Vec<f64>> {
    let left_out = shown.left_out_s.as_ref()?;
    let error = |(&y, &f): (&f64, &f64)| {
        if y == f {
            return 0.0;
        }
        let ratio = (f - y).abs() / (f.abs() + y.abs());
        200.0 * if ratio.is_nan() { 1.0 } else { ratio }
    };
    Some(points.mean_s.iter().zip(left_out).map(error).collect())
}

fn within_one_standard_error(ours: &[f64], least: &[f64]) -> bool {
    let gains: Vec<f64> = ours.iter().zip(least).map(|(a, b)| a - b).collect();
    let (n, mean) = (gains.len() as f64, average(&gains));
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    mean <= (squares / (n * (n - 1.0))).sqrt() + NO_ERROR
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What predictions average over: the credible among all candidates, the shown one first; none where
/// it stands alone.
///
/// Candidates are weighed by how likely they make the measured means and by their complexity. The
/// normal form comes with its own alternatives, which share its weight.
pub(crate) fn credible(points: &Points, candidates: &[Shown], shown: usize) -> Vec<Alternative> {
    let (weighed, by_calls) = weighed(points, candidates);
    let deviance = |d: &Deviances| d.of(by_calls);
    let smallest = weighed.iter().map(deviance).fold(f64::INFINITY, f64::min);
    // Where there are too few points to weigh the shown one, its rivals are weighed no better.
    if !deviance(&weighed[shown]).is_finite() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let weight = (0.5 * (smallest - deviance(&weighed[i]))).exp();
        if candidate.alternatives.is_empty() {
            let alternative = Alternative {
                weight,
                family: candidate.family,
                formula: candidate.formula.clone(),
                covariance: candidate.covariance.clone(),
            };
            parts.push((i == shown, alternative));
            continue;
        }
        // The shown one holds the largest share of its own; the others add to it.
        let first = candidate.alternatives[0].weight;
        for (j, alternative) in candidate.alternatives.iter().enumerate() {
            let weight = weight * alternative.weight / first;
            let alternative = Alternative {
                weight,
                ..alternative.clone()
            };
            parts.push((i == shown && j == 0, alternative));
        }
    }
    kept(parts)
}

/// The deviances of all, and whether those of the calls are to be compared: the spread of the calls
/// explains the distance of the likeliest.
fn weighed(points: &Points, candidates: &[Shown]) -> (Vec<Deviances>, bool) {
    let weighed: Vec<Deviances> = candidates.iter().map(|c| of(points, c)).collect();
    let likeliest = weighed.iter().min_by(|a, b| a.calls.total_cmp(&b.calls));
    let explained = likeliest.is_some_and(|d| d.explained);
    (weighed, explained)
}

/// The credible parts, normalised, the shown one first and never left out.
fn kept(mut parts: Vec<(bool, Alternative)>) -> Vec<Alternative> {
    let sum: f64 = parts.iter().map(|(_, part)| part.weight).sum();
    parts.retain(|(shown, part)| *shown || part.weight >= INCREDIBLE * sum);
    let order = |(shown, part): &(bool, Alternative)| (!*shown, -part.weight);
    parts.sort_by(|a, b| {
        let (a, b) = (order(a), order(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    parts.truncate(N_AVERAGED);
    let sum: f64 = parts.iter().map(|(_, part)| part.weight).sum();
    parts.iter_mut().for_each(|(_, part)| part.weight /= sum);
    if parts.len() < 2 {
        return Vec::new();
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

fn of(points: &Points, candidate: &Shown) -> Deviances {
    candidate.deviances.unwrap_or_else(|| {
        let distance = Distance::new(points, &candidate.fitted_s);
        // A polynomial has its degree, a searched form its places to choose from.
        let odds_against = candidate.n_free.saturating_sub(2) as f64;
        deviances(&distance, candidate.n_free, points, odds_against)
    })
}
