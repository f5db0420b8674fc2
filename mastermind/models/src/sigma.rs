//! How far one call lies from its model: the standard deviation as a function of its own.

use crate::formula::{Formula, Term};
use crate::least_squares::solve;
use crate::points::Points;
use crate::shown::Shown;

/// Standard deviation of one call about the model: a line in the model's parameters, to be taken as
/// 0 where it is negative.
///
/// At each point the root of the mean squared distance of its calls to the model; the line through
/// these is scaled so that its squares add up to theirs.
///
/// # Arguments
/// * `spare` - calls less coefficients, > 0
pub(crate) fn sigma(points: &Points, best: &Shown, spare: f64) -> Formula {
    let squares = mean_squares(points, best);
    let sum = total(&squares, &points.count);
    line(points, best, &squares, sum * points.n_records() / spare).unwrap_or_else(|| Formula {
        constant: (sum / spare).sqrt(),
        terms: Vec::new(),
    })
}

/// Mean squared distance of the calls to the model, s², shape `[n_points]`.
fn mean_squares(points: &Points, best: &Shown) -> Vec<f64> {
    let square = |i: usize| {
        let distance = points.mean_s[i] - best.fitted_s[i];
        points.m2_s2[i] / points.count[i] + distance * distance
    };
    (0..points.len()).map(square).collect()
}

/// The line through the roots of `squares`, scaled so that the sum of its squares over all calls is
/// `wanted`; `None` where there is no such line.
fn line(points: &Points, best: &Shown, squares: &[f64], wanted: f64) -> Option<Formula> {
    let roots: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
    let used = |&param: &usize| best.formula.uses(&points.names[param]);
    let params: Vec<usize> = points.varying().into_iter().filter(used).collect();
    let mut design = vec![vec![1.0; points.len()]];
    design.extend(params.iter().map(|&param| points.columns[param].clone()));
    let solution = solve(&design, &roots, &points.count).ok()?;
    let pairs = roots.iter().zip(&solution.residuals);
    let values: Vec<f64> = pairs.map(|(root, r)| (root - r).max(0.0).powi(2)).collect();
    let scale = (wanted / total(&values, &points.count)).sqrt();
    let slopes = params.iter().zip(&solution.coefficients[1..]);
    let terms = slopes.map(|(&param, slope)| Term::linear(slope * scale, &points.names[param]));
    scale.is_finite().then(|| Formula {
        constant: solution.coefficients[0] * scale,
        terms: terms.collect(),
    })
}

/// Sum of `values`, each as often as `count` says.
fn total(values: &[f64], count: &[f64]) -> f64 {
    values.iter().zip(count).map(|(value, n)| value * n).sum()
}
