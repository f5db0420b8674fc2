//! How credible each fitted form is.

use super::refine::{Observed, Refined};
use super::terms::N_TERMS;

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
    let by_calls = ranked(fits, |fit| calls_deviance(fit, observed));
    let explained = by_calls
        .first()
        .is_some_and(|(_, best)| explains(best, observed));
    let ranked = if explained {
        by_calls
    } else {
        ranked(fits, |fit| means_deviance(fit, observed))
    };
    let least = ranked.first().map_or(0.0, |(deviance, _)| *deviance);
    let mut forms: Vec<Weighed> = ranked
        .into_iter()
        .take_while(|(deviance, _)| deviance - least <= INCREDIBLE)
        .take(N_AVERAGED)
        .map(|(deviance, fit)| Weighed {
            fit,
            weight: (0.5 * (least - deviance)).exp(),
        })
        .collect();
    let sum: f64 = forms.iter().map(|form| form.weight).sum();
    forms.iter_mut().for_each(|form| form.weight /= sum);
    Credible { forms, explained }
}

fn ranked(fits: &[Refined], deviance: impl Fn(&Refined) -> f64) -> Vec<(f64, Refined)> {
    let mut list: Vec<(f64, Refined)> = fits.iter().map(|fit| (deviance(fit), *fit)).collect();
    list.retain(|(deviance, _)| deviance.is_finite());
    list.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    list
}

/// Whether the spread of the calls explains how far the means lie from a fit.
fn explains(fit: &Refined, observed: &Observed<'_>) -> bool {
    let n_points = observed.n_points() as f64;
    let (between, within) = (n_points - fit.n as f64, observed.n_records - n_points);
    let rounding = ROUNDING * ROUNDING * observed.n_records;
    within > 0.0
        && between > 0.0
        && fit.within > rounding
        && fit.lack / between <= UNEXPLAINED * fit.within / within
}

fn calls_deviance(fit: &Refined, observed: &Observed<'_>) -> f64 {
    let n = observed.n_records;
    let variance = (fit.lack + fit.within) / n + ROUNDING * ROUNDING;
    if fit.n + 1 > observed.n_points() {
        return f64::INFINITY;
    }
    n * variance.ln() + 2.0 * fit.log_ratio + fit.n as f64 * n.ln() + 2.0 * odds_against(fit)
}

fn means_deviance(fit: &Refined, observed: &Observed<'_>) -> f64 {
    let (n, k) = (observed.n_points() as f64, fit.n as f64 + 1.0);
    if n < k + 2.0 {
        return f64::INFINITY;
    }
    let variance = fit.lack / observed.n_records + ROUNDING * ROUNDING;
    let akaike = 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0);
    let log_ratio = fit.log_ratio * n / observed.n_records;
    n * variance.ln() + 2.0 * log_ratio + akaike + 2.0 * odds_against(fit)
}

/// Minus the logarithm of the prior probability of a form and of the signs of its coefficients.
fn odds_against(fit: &Refined) -> f64 {
    let products = fit.form.products().len() as f64;
    let negative = fit.coefficients().iter().filter(|c| **c < 0.0).count() as f64;
    let orders: f64 = (1..=fit.form.products().len())
        .map(|n| (n as f64).ln())
        .sum();
    fit.form.n_choices() as f64 * (N_TERMS as f64).ln() - orders
        + (products - 1.0).max(0.0) * LN_TERM
        + negative * LN_NEGATIVE
}
