//! Terms of one parameter among several, told from the points that differ in it alone.
//!
//! With all other parameters held, a sum of products of one term a parameter is `A + B · t(x)`: the
//! term can be judged without knowing the rest of the form.

use std::collections::BTreeMap;

use super::refine::Observed;
use super::screen::dot;
use super::terms::{Basis, N_TERMS};

/// Distinct values that make a line of points worth fitting.
const LONG: usize = 3;

/// A term this many units of deviance behind the best is not tried further.
const FAR: f64 = 24.0;

/// Terms of a parameter to combine with those of the others, best first, at most `n_kept`.
///
/// # Arguments
/// * `columns` - values of the parameters, shape `[n_params][n_points]`
///
/// # Returns
/// `None` if no line of points tells them apart.
pub(crate) fn candidates(
    param: usize,
    columns: &[&[f64]],
    basis: &Basis,
    observed: &Observed<'_>,
    n_kept: usize,
) -> Option<Vec<usize>> {
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
    // The spread of the calls, unless the best term lies further off than that explains.
    let freedom = observed.n_records - observed.n_points() as f64;
    let expected = if freedom > 0.0 { within / freedom } else { 0.0 };
    let variance = expected.max(least / spare as f64).max(1e-20);
    order.retain(|&term| (sums[term] - least) / variance <= FAR);
    order.truncate(n_kept);
    Some(order)
}

/// Points that differ in `param` alone, where there are enough of them.
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

/// Weighted sum of squares that `A + B · t` leaves on a line of points.
fn left_over(line: &[usize], term: &[f64], observed: &Observed<'_>) -> f64 {
    let root = |i: usize| observed.count[i].sqrt() / observed.scale_s[i];
    let mut ones: Vec<f64> = line.iter().map(|&i| root(i)).collect();
    let mut x: Vec<f64> = line.iter().map(|&i| term[i] * root(i)).collect();
    let mut y: Vec<f64> = line.iter().map(|&i| observed.mean_s[i] * root(i)).collect();
    let length = dot(&ones, &ones).sqrt();
    ones.iter_mut().for_each(|one| *one /= length);
    for v in [&mut x, &mut y] {
        let along = dot(&ones, v);
        v.iter_mut()
            .zip(&ones)
            .for_each(|(v, one)| *v -= along * one);
    }
    let squared = dot(&x, &x);
    let slope = if squared > 0.0 {
        dot(&x, &y) / squared
    } else {
        0.0
    };
    y.iter().zip(&x).map(|(y, x)| (y - slope * x).powi(2)).sum()
}
