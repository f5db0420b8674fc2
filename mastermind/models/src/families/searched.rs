//! Formulas whose form contains numbers found by search: regimes with their breaks, curves with their scale, and stairs with their width.
//!
//! A least-squares fit cannot find a break or a width, so each search proposes good ones and returns hypotheses that are linear in the
//! remaining coefficients; the price of the searched numbers is in `prior`. The prediction of a held-out point repeats the search without
//! it, since a break found with the point depends on its time.
//!
//! ```text
//! T |        ┌──
//!   |    ┌───┘        stairs a + b · ceil(x / s): the width s is searched, a and b are fitted
//!   | ───┘
//!   +------------ x
//! ```

use rayon::prelude::*;

use crate::families::candidate::Candidate;
use crate::families::curves::curves;
use crate::families::hypothesis::{Hypothesis, Shape};
use crate::families::normal_form::Found;
use crate::families::regimes::{LastTerm, Sorted, last_factors, regimes, weights};
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Formula, Term};
use crate::samples::points::Points;
use crate::solve::limits::Limits;

/// Folds of the cross-validation; with at most twice as many points, each point is a fold.
const FOLDS: usize = 10;

/// Distinct values that a staircase needs.
const MIN_STAIR_VALUES: usize = 6;

/// Most steps up to a jump.
const MAX_STEPS: usize = 64;

/// Number of jumps from which widths are derived.
const MAX_JUMPS: usize = 3;

/// Widths tried for each number of steps up to a jump.
const WIDTHS: usize = 6;

/// Relative difference below which sums of squares count as equal.
const EQUAL: f64 = 1e-9;

/// Hypotheses of the requested searched families in each varying parameter.
///
/// # Arguments
/// * `found` - the normal forms; the last regime of a single parameter may have one of their terms, and only a line without them
pub(crate) fn searched(
    points: &Points,
    limits: &Limits<'_>,
    asked: impl Fn(Family) -> bool,
    found: Option<&Found<'_>>,
) -> Vec<Candidate> {
    let families = [Family::Regimes, Family::Stairs];
    let families: Vec<Family> = families
        .into_iter()
        .filter(|&family| asked(family))
        .collect();
    let mut list = Vec::new();
    let varying = points.varying();
    for &param in &varying {
        let last = match (found, varying.len()) {
            (Some(found), 1) => found.terms_of(param),
            _ => Vec::new(),
        };
        for &family in &families {
            let found = search(points, family, param, &last);
            list.extend(
                found
                    .iter()
                    .filter_map(|hypothesis| hypothesis.fit(points, limits)),
            );
        }
    }
    list
}

/// The hypotheses of one family in one parameter, which differ in `n_searched` or terms.
fn search(points: &Points, family: Family, param: usize, last: &[LastTerm<'_>]) -> Vec<Hypothesis> {
    match family {
        Family::Regimes => regimes(points, param, last),
        Family::Curve => curves(points, param, f64::INFINITY),
        _ => stairs(points, param).into_iter().collect(),
    }
}

/// The time of each point predicted by a search without its fold, NaN if that search finds no such form.
///
/// # Returns
/// `None` if the family of the candidate is not searched.
pub(crate) fn left_out(
    points: &Points,
    limits: &Limits<'_>,
    candidate: &Candidate,
) -> Option<Vec<f64>> {
    if ![Family::Regimes, Family::Stairs, Family::Curve].contains(&candidate.family) {
        return None;
    }
    let params = candidate.formula.params();
    let param = points
        .names
        .iter()
        .position(|name| params.contains(name.as_str()))?;
    let n_searched = candidate.n_free - candidate.coefficients.len();
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points.columns[param][a].total_cmp(&points.columns[param][b]));
    let n_folds = if points.len() <= 2 * FOLDS {
        points.len()
    } else {
        FOLDS
    };
    let factors_of = |terms: &[Term]| match candidate.family {
        Family::Regimes => terms.iter().map(|term| term.factors.clone()).collect(),
        _ => Vec::new(),
    };
    let terms = &candidate.formula.terms;
    let factors = factors_of(terms);
    let last_factors = last_factors(terms).filter(|_| !factors.is_empty());
    // The time of each point of a fold, in the order of the parameter.
    let of_fold = |fold: usize| -> Option<Vec<f64>> {
        let inside = |rank: usize| rank % n_folds == fold;
        let rows = (0..order.len()).filter(|&rank| !inside(rank));
        let rest = points.subset(&rows.map(|rank| order[rank]).collect::<Vec<_>>());
        let last = last_factors.cloned().and_then(|factors| {
            let column = rest.column(&Term::new(1.0, factors.clone()))?.into();
            Some(LastTerm { factors, column })
        });
        let list = search(&rest, candidate.family, param, last.as_slice());
        let is_like = |hypothesis: &&Hypothesis| {
            let Shape::Sum { terms, .. } = &hypothesis.shape else {
                return false;
            };
            let is_like = match candidate.family {
                Family::Curve => is_same_curve(terms, &candidate.formula.terms),
                _ => factors_of(terms) == factors,
            };
            hypothesis.n_searched == n_searched && is_like
        };
        let like = list.iter().find(is_like);
        let found = like.and_then(|hypothesis| hypothesis.fit(&rest, limits))?;
        let ranks = (0..order.len()).filter(|&rank| inside(rank));
        Some(
            ranks
                .map(|rank| value(&found.formula, points, order[rank]))
                .collect(),
        )
    };
    let folds: Vec<_> = (0..n_folds).into_par_iter().map(of_fold).collect();
    let mut left_out_s = vec![f64::NAN; points.len()];
    for (fold, times_s) in folds.into_iter().enumerate() {
        let of_fold = order.iter().skip(fold).step_by(n_folds);
        for (row, time_s) in of_fold.zip(times_s.into_iter().flatten()) {
            left_out_s[*row] = time_s;
        }
    }
    Some(left_out_s)
}

/// Whether two lists of terms are the same curve, up to its scale.
fn is_same_curve(ours: &[Term], theirs: &[Term]) -> bool {
    let kinds = |terms: &[Term]| {
        let factors = terms.iter().flat_map(|term| &term.factors);
        let kind = factors.map(|f| (f.exponent, f.rate.map(|r| r > 0.0), f.half.is_some()));
        (terms.len(), kind.collect::<Vec<_>>())
    };
    kinds(ours) == kinds(theirs)
}

fn value(formula: &Formula, points: &Points, i: usize) -> f64 {
    formula
        .evaluate(|name| points.number(i, name))
        .unwrap_or(f64::NAN)
}

/// Weighted residual sum of squares of the best line; infinite if `x` does not vary.
fn line_squares(x: &[f64], y: &[f64], w: &[f64]) -> f64 {
    let n = x.len();
    let (mut sum, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
    for i in 0..n {
        sum += w[i];
        sum_x += w[i] * x[i];
        sum_y += w[i] * y[i];
    }
    let (mean_x, mean_y) = (sum_x / sum, sum_y / sum);
    let (mut xx, mut xy) = (0.0, 0.0);
    for i in 0..n {
        let off = x[i] - mean_x;
        xx += w[i] * off * off;
        xy += w[i] * off * (y[i] - mean_y);
    }
    if xx <= 0.0 {
        return f64::INFINITY;
    }
    let slope = xy / xx;
    let rest = |i: usize| y[i] - mean_y - slope * (x[i] - mean_x);
    (0..n).map(|i| w[i] * rest(i) * rest(i)).sum()
}

/// The best `a + b · ceil(x / s)` among the widths that put a step where the time jumps.
fn stairs(points: &Points, param: usize) -> Option<Hypothesis> {
    let values = points.values(param);
    if values.len() < MIN_STAIR_VALUES || values[0] <= 0.0 {
        return None;
    }
    let mut best: Option<(f64, f64)> = None;
    let total = spread(points);
    let sorted = Sorted::new(points, param);
    let mut steps = vec![0.0; points.len()];
    for width in widths(points, param, &values) {
        let pairs = steps.iter_mut().zip(&sorted.x);
        pairs.for_each(|(steps, x)| *steps = (x / width).ceil());
        let left = line_squares(&steps, &sorted.y, &sorted.weights);
        if !left.is_finite() {
            continue;
        }
        let better = best.is_none_or(|(least, chosen)| {
            let tie = (left - least).abs() <= EQUAL * total;
            left < least - EQUAL * total || tie && roundness(width) > roundness(chosen)
        });
        if better {
            best = Some((left, width));
        }
    }
    let (_, width) = best?;
    if values[values.len() / 2] > MAX_STEPS as f64 * width {
        // So many steps cannot be distinguished from a line.
        return None;
    }
    let term = Term::new(1.0, vec![Factor::steps(&points.names[param], width)]);
    Some(Hypothesis {
        n_searched: 1,
        ..Hypothesis::sum(Family::Stairs, vec![term])
    })
}

/// Widths to try: those that put the end of a step between two values where the time jumps most.
fn widths(points: &Points, param: usize, values: &[f64]) -> Vec<f64> {
    let mean = |value: f64| {
        let rows = (0..points.len()).filter(|&i| points.columns[param][i] == value);
        let (sum, n) = rows.fold((0.0, 0.0), |(sum, n), i| (sum + points.mean_s[i], n + 1.0));
        sum / n
    };
    let means: Vec<f64> = values.iter().map(|&value| mean(value)).collect();
    let mut jumps: Vec<usize> = (1..values.len()).collect();
    // The steepest rise, not the largest: between values far apart lie many steps.
    let rise = |&i: &usize| (means[i] - means[i - 1]) / (values[i] - values[i - 1]);
    jumps.sort_by(|a, b| rise(b).total_cmp(&rise(a)));
    let mut widths = Vec::new();
    for &jump in jumps.iter().take(MAX_JUMPS) {
        for n_steps in 1..=MAX_STEPS {
            let (low, high) = (
                values[jump - 1] / n_steps as f64,
                values[jump] / n_steps as f64,
            );
            widths.extend(round_numbers(low, high));
        }
    }
    widths.sort_by(f64::total_cmp);
    widths.dedup();
    widths
}

/// The roundest numbers in `low..high`, at most [`WIDTHS`]: multiples of the largest power of two that has a multiple there, then of
/// half that power.
fn round_numbers(low: f64, high: f64) -> Vec<f64> {
    let mut found = Vec::new();
    let mut unit = (high - low).log2().ceil().exp2() * 2.0;
    for _ in 0..4 {
        let first = (low / unit).ceil();
        let multiples = (0..WIDTHS).map(|k| (first + k as f64) * unit);
        found.extend(multiples.filter(|&x| x > 0.0 && x < high));
        if found.len() >= WIDTHS {
            break;
        }
        unit *= 0.5;
    }
    found.truncate(WIDTHS);
    found
}

/// Number of times that a width can be halved and stay whole; negative for fractions.
fn roundness(width: f64) -> i32 {
    let mantissa = width.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let exponent = (width.to_bits() >> 52 & 0x7ff) as i32 - 1075;
    exponent + mantissa.trailing_zeros() as i32
}

/// Weighted sum of squares of the times themselves.
fn spread(points: &Points) -> f64 {
    let pairs = points.mean_s.iter().zip(weights(points));
    pairs.map(|(y, w)| w * y * y).sum()
}
