//! From samples to models: every hypothesis fitted, the best by cross-validation kept.

use crate::error::Error;
use crate::formula::Factor;
use crate::hypothesis::{Candidate, Hypothesis, hypotheses};
use crate::model::{Coefficient, Family, Freedom, Model, Note};
use crate::normal_form::{MIN_POINTS, search};
use crate::points::{Points, split_by_mode};
use crate::quality::{aicc, r_squared, residual_sum, smape};
use crate::sample::Samples;
use crate::shown::Shown;
use crate::sigma::sigma;

/// A more complex formula must have at most this share of the error of a simpler one.
const BETTER: f64 = 0.99;

/// Per cent; errors below it are rounding.
const NO_ERROR: f64 = 1e-9;

/// Fits a model to each mode of a method, the family chosen by cross-validation.
///
/// A mode is one combination of the enumeration parameters. In each, a constant, lines and power
/// laws over the varying numeric parameters are fitted to the mean time at each coordinate, weighted
/// by its calls; the smallest error of each coordinate predicted from the others wins, the simpler
/// formula where there is no clear difference. The most credible normal form (terms `x^i log2(x)^j` of up
/// to three parameters and their products) takes its place where it predicts left-out coordinates better
/// by more than one standard error. With too few coordinates to tell, a line is taken and
/// [`Note::NotValidated`] says so; with one coordinate, a constant.
///
/// Means are not trimmed: time lost to preemption is part of the total that a model of the run has
/// to give back, and `Σ count · T` over the samples is their total time for constants, lines and power
/// laws. A normal form weighs calls by their relative spread and keeps the total to within it only. What
/// spikes do to the spread is in `sigma`.
///
/// # Returns
/// One model a mode, in the order of the labels.
///
/// # Errors
/// [`Error::NoSamples`] if no call was taken.
pub fn fit(samples: &Samples) -> Result<Vec<Model>, Error> {
    fit_modes(samples, None)
}

/// As [`fit`], with the family given; only its parameters are chosen.
///
/// # Errors
/// [`Error::NoSamples`]; [`Error::TooFewPoints`] if a mode has fewer than two coordinates and the
/// family is not the constant; [`Error::Unsuitable`] if the family is not positive on a mode.
pub fn fit_family(samples: &Samples, family: Family) -> Result<Vec<Model>, Error> {
    fit_modes(samples, Some(family))
}

fn fit_modes(samples: &Samples, family: Option<Family>) -> Result<Vec<Model>, Error> {
    let modes = split_by_mode(samples);
    if modes.is_empty() {
        let (method, refused) = (samples.method.clone(), samples.n_refused);
        return Err(Error::NoSamples { method, refused });
    }
    modes
        .iter()
        .map(|points| fit_mode(samples, points, family))
        .collect()
}

fn fit_mode(samples: &Samples, points: &Points, family: Option<Family>) -> Result<Model, Error> {
    let (list, mut notes) = hypotheses(points);
    let asked = |hypothesis: &&Hypothesis| family.is_none_or(|family| hypothesis.family == family);
    let candidates = list
        .iter()
        .filter(asked)
        .filter_map(|hypothesis| hypothesis.fit(points));
    let classic = select(candidates.collect()).map(|best| Shown::classic(points, &best));
    let normal = match family {
        None | Some(Family::NormalForm) => search(points),
        Some(_) => None,
    };
    let Some(best) = simpler(points, classic, normal) else {
        let family = family.unwrap_or(Family::Constant);
        return Err(nothing_fits(samples, points, family));
    };
    let needed = best.coefficients.len() + 1;
    if best.left_out_s.is_none() && points.len() > 1 {
        notes.push(Note::NotValidated {
            n_points: points.len(),
            needed,
        });
    }
    Ok(model(samples, points, &best, notes))
}

/// The classic fit unless the normal form predicts left-out points better by more than one standard
/// error of the difference; also where both are the same formula.
fn simpler(points: &Points, classic: Option<Shown>, normal: Option<Shown>) -> Option<Shown> {
    let (Some(simple), Some(other)) = (&classic, &normal) else {
        return classic.or(normal);
    };
    let factors = |shown: &Shown| -> Vec<Vec<Factor>> {
        let terms = shown.formula.terms.iter();
        terms.map(|term| term.factors.clone()).collect()
    };
    if factors(simple) == factors(other) {
        return classic;
    }
    let (Some(a), Some(b)) = (&simple.left_out_s, &other.left_out_s) else {
        return classic;
    };
    let error = |y: f64, f: f64| 200.0 * (f - y).abs() / (f.abs() + y.abs()).max(f64::MIN_POSITIVE);
    let gains: Vec<f64> = (0..points.len())
        .map(|i| error(points.mean_s[i], a[i]) - error(points.mean_s[i], b[i]))
        .collect();
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    let standard_error = (squares / (n * (n - 1.0))).sqrt();
    if mean > standard_error + NO_ERROR {
        normal
    } else {
        classic
    }
}

/// The candidate with the smallest cross-validated error, the earlier of equals; the first that is
/// no constant where none but the constant could be validated.
fn select(candidates: Vec<Candidate>) -> Option<Candidate> {
    let validated = |c: &Candidate| c.cv_smape.is_some();
    let shaped = |c: &Candidate| c.hypothesis.family != Family::Constant;
    if !candidates.iter().any(|c| validated(c) && shaped(c)) {
        let first = candidates.iter().position(shaped).unwrap_or(0);
        return candidates.into_iter().nth(first);
    }
    candidates
        .into_iter()
        .filter(validated)
        .reduce(|best, next| {
            let error = |c: &Candidate| c.cv_smape.unwrap_or(f64::INFINITY);
            if error(&next) < BETTER * error(&best) - NO_ERROR {
                next
            } else {
                best
            }
        })
}

fn nothing_fits(samples: &Samples, points: &Points, family: Family) -> Error {
    let labels: Vec<String> = points
        .mode
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    let mode = if labels.is_empty() {
        String::new()
    } else {
        format!(" where {}", labels.join(", "))
    };
    let method = format!("{}{mode}", samples.method);
    let n_points = points.len();
    let needed = if family == Family::NormalForm {
        MIN_POINTS
    } else {
        2
    };
    if n_points < needed {
        return Error::TooFewPoints {
            method,
            found: n_points,
            needed,
        };
    }
    Error::Unsuitable {
        method,
        family,
        n_points,
    }
}

fn model(samples: &Samples, points: &Points, best: &Shown, notes: Vec<Note>) -> Model {
    let (y, f, w) = (&points.mean_s, &best.fitted_s, &points.count);
    let (n, k) = (points.len(), best.coefficients.len());
    let r2 = r_squared(y, f, w);
    let adjust = |r2: f64| 1.0 - (1.0 - r2) * (n as f64 - 1.0) / (n - k) as f64;
    let ranges = points
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| (name.clone(), points.range(i)));
    let spare = points.n_records() - k as f64;
    let spread = || {
        best.sigma
            .clone()
            .unwrap_or_else(|| sigma(points, best, spare))
    };
    Model {
        method: samples.method.clone(),
        metric: samples.metric,
        mode: points.mode.clone(),
        family: best.family,
        params: points.names.clone(),
        expression: best.formula.to_string(),
        formula: best.formula.clone(),
        coefficients: coefficients(best),
        covariance: best.covariance.clone(),
        smape: smape(y, f, w),
        r2,
        r2_adjusted: r2.filter(|_| n > k).map(adjust),
        aicc: aicc(residual_sum(y, f, w), n, k),
        cv_smape: best.cv_smape(points),
        range: ranges.collect(),
        sigma: (spare >= 1.0).then(spread),
        freedom: Freedom {
            coefficients: best.freedom,
            sigma: spare.max(0.0),
        },
        alternatives: best.alternatives.clone(),
        n_points: n,
        n_records: points.n_records() as u64,
        n_refused: samples.n_refused,
        notes,
    }
}

/// The fitted numbers with their standard errors.
fn coefficients(best: &Shown) -> Vec<Coefficient> {
    let coefficient =
        |(j, ((name, unit), &value)): (usize, (&(String, String), &f64))| Coefficient {
            name: name.clone(),
            value,
            std_error: best
                .covariance
                .as_ref()
                .map(|covariance| covariance[j][j].sqrt()),
            unit: unit.clone(),
        };
    best.names
        .iter()
        .zip(&best.coefficients)
        .enumerate()
        .map(coefficient)
        .collect()
}
