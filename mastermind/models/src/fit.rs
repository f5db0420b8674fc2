//! From samples to models: every hypothesis fitted, the best by cross-validation kept.

use crate::error::Error;
use crate::formula::{Exponent, Factor, Formula, Term};
use crate::hypothesis::{Candidate, Hypothesis, hypotheses};
use crate::model::{Coefficient, Family, Freedom, Model, Note};
use crate::points::{Points, split_by_mode};
use crate::quality::{aicc, r_squared, residual_sum, smape};
use crate::sample::Samples;
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
/// formula where there is no clear difference. With too few coordinates to tell, a line is taken and
/// [`Note::NotValidated`] says so; with one coordinate, a constant.
///
/// Means are not trimmed: time lost to preemption is part of the total that a model of the run has
/// to give back, and `Σ count · T` over the samples is their total time in every family. What spikes
/// do to the spread is in `sigma`.
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
    let Some(best) = select(candidates.collect()) else {
        return Err(nothing_fits(
            samples,
            points,
            family.unwrap_or(Family::Constant),
        ));
    };
    let needed = best.coefficients.len() + 1;
    if best.cv_smape.is_none() && points.len() > 1 {
        notes.push(Note::NotValidated {
            n_points: points.len(),
            needed,
        });
    }
    Ok(model(samples, points, &best, notes))
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
    if n_points < 2 {
        return Error::TooFewPoints {
            method,
            found: n_points,
            needed: 2,
        };
    }
    Error::Unsuitable {
        method,
        family,
        n_points,
    }
}

fn model(samples: &Samples, points: &Points, best: &Candidate, notes: Vec<Note>) -> Model {
    let (y, f, w) = (&points.mean_s, &best.fitted_s, &points.count);
    let formula = formula(points, best);
    let (n, k) = (points.len(), best.coefficients.len());
    let r2 = r_squared(y, f, w);
    let adjust = |r2: f64| 1.0 - (1.0 - r2) * (n as f64 - 1.0) / (n - k) as f64;
    let ranges = points
        .names
        .iter()
        .enumerate()
        .map(|(i, name)| (name.clone(), points.range(i)));
    let spare = points.n_records() - k as f64;
    Model {
        method: samples.method.clone(),
        metric: samples.metric,
        mode: points.mode.clone(),
        family: best.hypothesis.family,
        params: points.names.clone(),
        expression: formula.to_string(),
        formula,
        coefficients: coefficients(points, best),
        covariance: best.covariance.clone(),
        smape: smape(y, f, w),
        r2,
        r2_adjusted: r2.filter(|_| n > k).map(adjust),
        aicc: aicc(residual_sum(y, f, w), n, k),
        cv_smape: best.cv_smape,
        range: ranges.collect(),
        sigma: (spare >= 1.0).then(|| sigma(points, best, spare)),
        freedom: Freedom {
            coefficients: best.freedom,
            sigma: spare.max(0.0),
        },
        n_points: n,
        n_records: points.n_records() as u64,
        n_refused: samples.n_refused,
        notes,
    }
}

fn formula(points: &Points, best: &Candidate) -> Formula {
    let (intercept, slopes) = (best.coefficients[0], &best.coefficients[1..]);
    let named = best
        .hypothesis
        .params
        .iter()
        .map(|&param| &points.names[param])
        .zip(slopes);
    match best.hypothesis.family {
        Family::Constant | Family::Line => Formula {
            constant: intercept,
            terms: named
                .map(|(name, &slope)| Term::linear(slope, name))
                .collect(),
        },
        Family::PowerLaw => {
            let factors = named.map(|(name, &slope)| Factor {
                param: name.clone(),
                exponent: Exponent::Real(slope),
                log_exponent: 0,
            });
            let term = Term {
                coefficient: intercept.exp(),
                factors: factors.collect(),
            };
            Formula {
                constant: 0.0,
                terms: vec![term],
            }
        }
    }
}

/// The fitted numbers with their standard errors; of `ln T = b + Σ a ln x` for a power law.
fn coefficients(points: &Points, best: &Candidate) -> Vec<Coefficient> {
    let power_law = best.hypothesis.family == Family::PowerLaw;
    let name = |j: usize| match (j, power_law) {
        (0, false) => ("constant".to_owned(), "s".to_owned()),
        (0, true) => ("ln factor".to_owned(), "ln s".to_owned()),
        _ => {
            let param = best.hypothesis.params[j - 1];
            let unit = match points.units[param].as_str() {
                _ if power_law => "1".to_owned(),
                "" => "s".to_owned(),
                unit => format!("s/{unit}"),
            };
            (points.names[param].clone(), unit)
        }
    };
    let coefficient = |(j, &value): (usize, &f64)| {
        let (name, unit) = name(j);
        let std_error = best
            .covariance
            .as_ref()
            .map(|covariance| covariance[j][j].sqrt());
        Coefficient {
            name,
            value,
            std_error,
            unit,
        }
    };
    best.coefficients
        .iter()
        .enumerate()
        .map(coefficient)
        .collect()
}
