//! Inputs that scale the time trivially, as the number of time steps does: found in the formula, and kept only where
//! the data bear it out.
//!
//! Taking such a factor out is the largest single help to the search: points that differ in it alone become
//! repetitions, and trees need not rediscover it in every term.

use crate::specification::Specification;
use crate::table::Table;

/// Largest mean deviation of the observed exponent that is put down to noise.
const TOLERANCE: f64 = 0.12;

/// An input whose power is a factor of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// Place of the input.
    pub input: usize,
    /// Its power.
    pub power: f64,
}

/// Finds the scalings of a formula that the data bear out.
///
/// A candidate is an input for which the formula is homogeneous for all values of its unknowns; it is kept if pairs
/// of points that differ only in it, or without such pairs a regression of the formula's residuals, show the same
/// power.
pub fn find(specification: &Specification, train: &Table, base: &[f64]) -> Vec<Scaling> {
    let candidates = (0..train.inputs.len()).filter_map(|input| {
        let power = homogeneous(specification, train, input)?;
        Some(Scaling { input, power })
    });
    candidates
        .filter(|scaling| is_borne_out(train, base, *scaling))
        .collect()
}

/// The factor `Π x^p` at each point of a table.
pub fn factor(scalings: &[Scaling], table: &Table) -> Vec<f64> {
    let at = |i: usize| {
        let powers = scalings
            .iter()
            .map(|s| table.inputs[s.input][i].powf(s.power));
        powers.product()
    };
    (0..table.len()).map(at).collect()
}

/// The power of an input in the formula, if the same power other than 0 holds at all points.
fn homogeneous(specification: &Specification, train: &Table, input: usize) -> Option<f64> {
    let values = &train.inputs[input];
    let varies = values.iter().any(|x| *x != values[0]);
    if !varies || values.iter().any(|x| *x <= 0.0) {
        return None;
    }
    let mut doubled = train.clone();
    doubled.inputs[input].iter_mut().for_each(|x| *x *= 2.0);
    let mut power: Option<f64> = None;
    for share in [0.2, 0.5, 0.9] {
        let unknowns = specification.unknowns.values();
        let unknowns: Vec<f64> = unknowns
            .map(|u| match u.lower > 0.0 {
                true => u.lower * (u.upper / u.lower).powf(share),
                false => u.lower + share * (u.upper - u.lower),
            })
            .collect();
        let before = specification.evaluate(train, &unknowns);
        let after = specification.evaluate(&doubled, &unknowns);
        for (a, b) in before.iter().zip(&after) {
            let here = (b / a).log2();
            let is_same = power.is_none_or(|p| (p - here).abs() < 1e-9);
            if !(here.is_finite() && here.abs() > 1e-9 && is_same) {
                return None;
            }
            power = Some(power.unwrap_or(here));
        }
    }
    power
}

fn is_borne_out(train: &Table, base: &[f64], scaling: Scaling) -> bool {
    let values = &train.inputs[scaling.input];
    let mut deviations = Vec::new();
    let pairs = (0..train.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    for (i, j) in pairs {
        let mut others = train.inputs.iter().enumerate();
        let is_alone =
            others.all(|(input, column)| input == scaling.input || column[i] == column[j]);
        let [y, z] = [train.observed[i], train.observed[j]];
        if is_alone && values[i] != values[j] && y > 0.0 && z > 0.0 {
            deviations.push((y / z).ln() / (values[i] / values[j]).ln() - scaling.power);
        }
    }
    if deviations.is_empty() {
        return slope_left(train, base, scaling.input).is_some_and(|slope| slope.abs() < TOLERANCE);
    }
    let n = deviations.len() as f64;
    let mean = deviations.iter().sum::<f64>() / n;
    let variance = deviations.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let error = (variance / n).sqrt();
    mean.abs() < TOLERANCE.max(2.0 * error)
}

/// Slope of `ln(y / base)` over `ln x` of an input, together with those of the other inputs, by least squares; `None`
/// if the points do not determine it.
fn slope_left(train: &Table, base: &[f64], input: usize) -> Option<f64> {
    let is_positive = |column: &&Vec<f64>| column.iter().all(|x| *x > 0.0);
    let varies = |column: &&Vec<f64>| column.iter().any(|x| *x != column[0]);
    let others = train.inputs.iter().enumerate();
    let others = others.filter(|(place, _)| *place != input).map(|(_, c)| c);
    let others: Vec<&Vec<f64>> = others.filter(is_positive).filter(varies).collect();
    let (n, columns) = (train.len(), others.len() + 2);
    if n <= columns {
        return None;
    }
    let design = nalgebra::DMatrix::from_fn(n, columns, |i, j| match j {
        0 => 1.0,
        1 => train.inputs[input][i].ln(),
        _ => others[j - 2][i].ln(),
    });
    let left = nalgebra::DVector::from_fn(n, |i, _| (train.observed[i] / base[i]).ln());
    let solution = design.svd(true, true).solve(&left, 1e-10).ok()?;
    Some(solution[1]).filter(|slope| slope.is_finite())
}
