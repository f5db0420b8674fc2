//! How credible each fitted form is.

use super::refine::{Observed, Refined};
use super::terms::N_TERMS;
use crate::points::Points;
use crate::shown::Deviances;

/// Relative distance that counts as rounding.
const ROUNDING: f64 = 1e-10;

/// Ratio of the variance of the means about the best form to that within the points, each by its
/// degrees of freedom, above which the spread of the calls does not explain the distance.
const UNEXPLAINED: f64 = 4.0;

/// Prior odds against each term after the first, beside those of choosing it.
const LN_TERM: f64 = 1.0;

/// Prior odds against a term that makes a call cheaper, or a negative constant.
const LN_NEGATIVE: f64 = 4.0;

/// A form this many units of deviance behind the best is not averaged.
const INCREDIBLE: f64 = 14.0;

/// Forms that are averaged at most.
const N_AVERAGED: usize = 24;

/// A form and its share of the belief.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighed {
    /// The fit.
    pub fit: Refined,
    /// Posterior probability among the forms kept.
    pub weight: f64,
}

/// The credible forms, most credible first, and whether the spread of the calls explains how far
/// the means lie from the best.
#[derive(Debug)]
pub(crate) struct Credible {
    /// The forms; their weights add up to one.
    pub forms: Vec<Weighed>,
    /// The residual variance is that of the calls; otherwise it is that of the means.
    pub explained: bool,
}

/// Weighs forms by their profile likelihood, what they had to choose, and how many coefficients they
/// spend.
///
/// A call at point `i` is taken as normal with standard deviation `s · fᵢ`; `s` is profiled out. The
/// penalty is Schwarz's. Where the calls of a point agree far better among each other than with any
/// form (or there is one call a point) each mean is one observation, and the penalty is the corrected
/// Akaike's, which knows that there are few of them.
///
/// # Source
/// G. Schwarz, Ann. Statist. 6 (1978) 461; C.M. Hurvich, C.-L. Tsai, Biometrika 76 (1989) 297; weights
/// as in A.E. Raftery, Sociol. Methodol. 25 (1995) 111 (recalled, not looked up).
pub(crate) fn weigh(fits: &[Refined], observed: &Observed<'_>) -> Credible {
    let (n_points, n_records) = (observed.n_points(), observed.n_records);
    let by_calls = ranked(fits, |fit| {
        calls_deviance(&fit.distance, fit.n, n_points, n_records) + 2.0 * odds_against(fit)
    });
    let explained = by_calls
        .first()
        .is_some_and(|(_, best)| explains(&best.distance, best.n, n_points, n_records));
    let ranked = if explained {
        by_calls
    } else {
        ranked(fits, |fit| {
            means_deviance(&fit.distance, fit.n, n_points, n_records) + 2.0 * odds_against(fit)
        })
    };
    let least = ranked.first().map_or(0.0, |(deviance, _)| *deviance);
    let mut forms: Vec<Weighed> = ranked
        .into_iter()
        .take_while(|(deviance, _)| deviance - least <= INCREDIBLE)
        .take(N_AVERAGED)
        .map(|(deviance, fit)| Weighed {
            fit: *fit,
            weight: (0.5 * (least - deviance)).exp(),
        })
        .collect();
    let sum: f64 = forms.iter().map(|form| form.weight).sum();
    forms.iter_mut().for_each(|form| form.weight /= sum);
    Credible { forms, explained }
}

/// Fits by their deviance, the least first.
fn ranked(fits: &[Refined], deviance: impl Fn(&Refined) -> f64) -> Vec<(f64, &Refined)> {
    let mut list: Vec<(f64, &Refined)> = fits.iter().map(|fit| (deviance(fit), fit)).collect();
    list.retain(|(deviance, _)| deviance.is_finite());
    list.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    list
}

/// How far the means lie from fitted times, and the calls from their means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distance {
    /// `Σ nᵢ ((ȳᵢ − fᵢ) / fᵢ)²`.
    pub lack: f64,
    /// `Σ m2ᵢ / fᵢ²`.
    pub within: f64,
    /// `Σ nᵢ ln(fᵢ / ȳᵢ)`.
    pub log_ratio: f64,
}

impl Distance {
    /// Of fitted times, shape `[n_points]`; those not positive are infinitely far.
    pub fn new(points: &Points, fitted_s: &[f64]) -> Self {
        let mut distance = Self {
            lack: 0.0,
            within: 0.0,
            log_ratio: 0.0,
        };
        let smallest = 1e-6 * points.largest_s();
        for (i, &f) in fitted_s.iter().enumerate() {
            let (n, y) = (points.count[i], points.mean_s[i]);
            let off = if f > 0.0 { y / f - 1.0 } else { f64::INFINITY };
            distance.lack += n * off * off;
            distance.within += points.m2_s2[i] / (f * f);
            distance.log_ratio -= n * (y.max(smallest) / f).ln();
        }
        distance
    }
}

/// The deviances of a fit with `n` coefficients under relative noise, and whether the spread of the
/// calls explains its distance.
///
/// # Arguments
/// * `odds_against` - minus the logarithm of the prior probability of the form
pub(crate) fn deviances(
    distance: &Distance,
    n: usize,
    points: &Points,
    odds_against: f64,
) -> Deviances {
    let (n_points, n_records) = (points.len(), points.n_records());
    Deviances {
        calls: finite(calls_deviance(distance, n, n_points, n_records) + 2.0 * odds_against),
        means: finite(means_deviance(distance, n, n_points, n_records) + 2.0 * odds_against),
        explained: explains(distance, n, n_points, n_records),
    }
}

fn finite(deviance: f64) -> f64 {
    if deviance.is_nan() {
        f64::INFINITY
    } else {
        deviance
    }
}

/// Whether the spread of the calls explains how far the means lie from a fit.
fn explains(fit: &Distance, n: usize, n_points: usize, n_records: f64) -> bool {
    let n_points = n_points as f64;
    let (between, within) = (n_points - n as f64, n_records - n_points);
    let rounding = ROUNDING * ROUNDING * n_records;
    within > 0.0
        && between > 0.0
        && fit.within > rounding
        && fit.lack / between <= UNEXPLAINED * fit.within / within
}

fn calls_deviance(fit: &Distance, n: usize, n_points: usize, n_records: f64) -> f64 {
    let variance = (fit.lack + fit.within) / n_records + ROUNDING * ROUNDING;
    if n + 1 > n_points {
        return f64::INFINITY;
    }
    n_records * variance.ln() + 2.0 * fit.log_ratio + n as f64 * n_records.ln()
}

fn means_deviance(fit: &Distance, n: usize, n_points: usize, n_records: f64) -> f64 {
    let (m, k) = (n_points as f64, n as f64 + 1.0);
    if m < k + 2.0 {
        return f64::INFINITY;
    }
    let variance = fit.lack / n_records + ROUNDING * ROUNDING;
    let akaike = 2.0 * k + 2.0 * k * (k + 1.0) / (m - k - 1.0);
    m * variance.ln() + 2.0 * fit.log_ratio * m / n_records + akaike
}

/// Minus the logarithm of the prior probability of a form and of the signs of its coefficients.
pub(crate) fn odds_against(fit: &Refined) -> f64 {
    let products = fit.form.products().len() as f64;
    let negative = fit.coefficients().iter().filter(|c| **c < 0.0).count() as f64;
    let orders: f64 = (1..=fit.form.products().len())
        .map(|n| (n as f64).ln())
        .sum();
    fit.form.n_choices() as f64 * (N_TERMS as f64).ln() - orders
        + (products - 1.0).max(0.0) * LN_TERM
        + negative * LN_NEGATIVE
}
