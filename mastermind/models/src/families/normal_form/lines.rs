//! Candidate terms of one parameter among several, ranked on the points that differ in that parameter alone.
//!
//! With all other parameters fixed, a sum of products with one term for each parameter is `A + B · t(x)`, so a term can be ranked
//! without knowing the rest of the form. Where the time falls and rises again, as by divided work and its communication, no single term
//! follows a line, and pairs of terms are ranked too. If no points differ in one parameter alone, the effect of each other parameter is
//! approximated by a power of it.

use std::collections::{BTreeMap, BTreeSet};

use super::refine::{Observed, dot};
use super::screen::{Centred, DEPENDENT};

use super::terms::{Basis, N_TERMS};
use crate::solve::least_squares::solve;
use crate::solve::likelihood::UNEXPLAINED;

/// Distinct values that make a line of points worth fitting.
const LONG: usize = 3;

/// Terms whose deviance exceeds that of the best term by more than this are dropped.
const FAR: f64 = 24.0;

/// Points needed for each parameter to estimate its power.
const POINTS_EACH: usize = 4;

/// Terms of a parameter to combine with those of the others, each list best first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    /// Single terms.
    pub terms: Vec<usize>,
    /// Two terms together, if no single one follows the points.
    pub pairs: Vec<[usize; 2]>,
}

impl Candidates {
    /// Every term among them.
    pub fn all(&self) -> BTreeSet<usize> {
        let terms = self.terms.iter().chain(self.pairs.iter().flatten());
        terms.copied().collect()
    }
}

/// At most `n_kept` candidates of each number of terms.
///
/// # Arguments
/// * `columns` - values of the parameters, shape `[n_params][n_points]`
///
/// # Returns
/// `None` if no line of points distinguishes them.
pub(crate) fn candidates(
    param: usize,
    columns: &[&[f64]],
    basis: &Basis,
    observed: &Observed<'_>,
    n_kept: usize,
) -> Option<Candidates> {
    let lines = lines(param, columns);
    let spare: usize = lines.iter().map(|line| line.len() - 2).sum();
    if spare < 2 {
        return None;
    }
    let mut sums = [0.0; N_TERMS];
    for line in &lines {
        for term in basis.usable(param) {
            sums[term] += left_over(line, basis.column(param, term), observed);
        }
    }
    let mut order: Vec<usize> = basis.usable(param).collect();
    order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]));
    let within: f64 = observed
        .m2_s2
        .iter()
        .zip(&observed.scale_s)
        .map(|(m2, y)| m2 / (y * y))
        .sum();
    let least = sums[*order.first()?];
    // The spread of the calls, or the residual variance of the best term where that is larger.
    let freedom = observed.n_records - observed.n_points() as f64;
    let expected = if freedom > 0.0 { within / freedom } else { 0.0 };
    let left = least / spare as f64;
    let variance = expected.max(left).max(1e-20);
    order.retain(|&term| (sums[term] - least) / variance <= FAR);
    order.truncate(n_kept);
    let is_followed = freedom <= 0.0 || left <= UNEXPLAINED * expected;
    let pairs = match is_followed {
        true => Vec::new(),
        false => pairs(param, &lines, basis, observed, n_kept),
    };
    Some(Candidates {
        terms: order,
        pairs,
    })
}

/// The pairs of terms that leave least on lines with more points than their three coefficients.
///
/// On each line, the terms become unit columns orthogonal to the constant, so that a pair takes an inner product.
fn pairs(
    param: usize,
    lines: &[Vec<usize>],
    basis: &Basis,
    observed: &Observed<'_>,
    n_kept: usize,
) -> Vec<[usize; 2]> {
    let terms: Vec<usize> = basis.usable(param).collect();
    let n_terms = terms.len();
    let mut sums = vec![0.0; n_terms * n_terms];
    let mut long = lines.iter().filter(|line| line.len() > LONG).peekable();
    if long.peek().is_none() {
        return Vec::new();
    }
    for line in long {
        let of = |column: &[f64]| line.iter().map(|&i| column[i]).collect::<Vec<f64>>();
        let (count, scale_s) = (of(observed.count), of(&observed.scale_s));
        let centred = Centred::of(&of(observed.mean_s), &count, &scale_s);
        let unit = |&term: &usize| {
            let mut unit = of(basis.column(param, term));
            unit.resize(centred.y.len(), 0.0);
            centred.split(&mut unit);
            unit
        };
        let units: Vec<Vec<f64>> = terms.iter().map(unit).collect();
        let along: Vec<f64> = units.iter().map(|unit| dot(unit, &centred.y)).collect();
        let total = dot(&centred.y, &centred.y);
        for (i, first) in units.iter().enumerate() {
            for (j, second) in units.iter().enumerate().skip(i + 1) {
                let common = dot(first, second);
                let free = 1.0 - common * common;
                let rest = along[j] - common * along[i];
                sums[i * n_terms + j] += match free > DEPENDENT {
                    true => total - along[i] * along[i] - rest * rest / free,
                    false => f64::NAN,
                };
            }
        }
    }
    let all = (0..n_terms).flat_map(|i| (i + 1..n_terms).map(move |j| (i, j)));
    let all = all.map(|(i, j)| (sums[i * n_terms + j], [terms[i], terms[j]]));
    let mut found: Vec<(f64, [usize; 2])> = all.filter(|(sum, _)| !sum.is_nan()).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.truncate(n_kept);
    found.into_iter().map(|(_, pair)| pair).collect()
}

/// Terms of a parameter to combine with those of the others, for points in no order; best first.
///
/// Fits `Πⱼ xⱼ^aⱼ` to the logarithms and divides out the powers of the other parameters; the quotient is treated as
/// `A + B · t(x)`. This is rough, so no term is dropped for a large deviance.
///
/// # Arguments
/// * `columns` - values of the parameters, shape `[n_params][n_points]`
///
/// # Returns
/// `None` if the points are too few, or the parameters are collinear.
pub(crate) fn scattered(
    param: usize,
    columns: &[&[f64]],
    basis: &Basis,
    observed: &Observed<'_>,
    n_kept: usize,
) -> Option<Candidates> {
    let n_points = observed.n_points();
    if n_points < POINTS_EACH * columns.len() {
        return None;
    }
    let logarithms = columns
        .iter()
        .map(|column| column.iter().map(|x| x.ln()).collect());
    let mut design = vec![vec![1.0; n_points]];
    design.extend(logarithms);
    let response: Vec<f64> = observed.scale_s.iter().map(|y| y.ln()).collect();
    let powers = solve(&design, &response, observed.count).ok()?.coefficients;
    let others = (0..n_points).map(|i| {
        let others = (0..columns.len()).filter(|&other| other != param);
        let sum: f64 = others
            .map(|other| powers[other + 1] * design[other + 1][i])
            .sum();
        sum.exp()
    });
    let others: Vec<f64> = others.collect();
    let rest: Vec<f64> = observed
        .scale_s
        .iter()
        .zip(&others)
        .map(|(y, o)| y / o)
        .collect();
    let all: Vec<usize> = (0..n_points).collect();
    let left = |term: usize| {
        squares(
            &all,
            basis.column(param, term),
            &rest,
            observed.count,
            &rest,
        )
    };
    let mut order: Vec<(f64, usize)> = basis.usable(param).map(|term| (left(term), term)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order.truncate(n_kept);
    Some(Candidates {
        terms: order.into_iter().map(|(_, term)| term).collect(),
        pairs: Vec::new(),
    })
}

/// Groups of at least [`LONG`] points that differ in `param` only.
fn lines(param: usize, columns: &[&[f64]]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for i in 0..columns[param].len() {
        let others = (0..columns.len()).filter(|&other| other != param);
        let key = others.map(|other| columns[other][i].to_bits()).collect();
        groups.entry(key).or_default().push(i);
    }
    groups
        .into_values()
        .filter(|line| line.len() >= LONG)
        .collect()
}

/// Weighted residual sum of squares of `A + B · t` on a line of points.
fn left_over(line: &[usize], term: &[f64], observed: &Observed<'_>) -> f64 {
    squares(
        line,
        term,
        observed.mean_s,
        observed.count,
        &observed.scale_s,
    )
}

/// Residual sum of squares of `A + B · t` fitted to `y` at some points, weighted by `count / scale²`.
fn squares(at: &[usize], term: &[f64], y: &[f64], count: &[f64], scale: &[f64]) -> f64 {
    let weight = |i: usize| count[i] / (scale[i] * scale[i]);
    let (mut sum, mut sum_t, mut sum_y) = (0.0, 0.0, 0.0);
    for &i in at {
        let w = weight(i);
        sum += w;
        sum_t += w * term[i];
        sum_y += w * y[i];
    }
    let (mean_t, mean_y) = (sum_t / sum, sum_y / sum);
    let off = |i: usize| (term[i] - mean_t, y[i] - mean_y);
    let (mut squared, mut along) = (0.0, 0.0);
    for &i in at {
        let (t, y) = off(i);
        squared += weight(i) * t * t;
        along += weight(i) * t * y;
    }
    let slope = if squared > 0.0 { along / squared } else { 0.0 };
    let left = at.iter().map(|&i| {
        let (t, y) = off(i);
        weight(i) * (y - slope * t).powi(2)
    });
    left.sum()
}
