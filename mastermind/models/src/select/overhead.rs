//! The overhead that a falling time may hide.
//!
//! In: the formulas that are averaged. Out: the same formulas, and for each one that falls up to the largest size its variants with an
//! overhead.
//!
//! No time falls to nothing. A parallel program has a serial part (Amdahl), and its processes communicate, which takes longer the more of
//! them there are. While the divided work dominates, such an overhead hides in the scatter, or in an exponent of -0.96 where -1 is
//! right. Beyond the range it dominates. So a formula that falls is taken as one of
//!
//! ```text
//! f(x)                    with probability 0.8
//! f'(x) + c g(x)          g one of 1, log x and x, each as likely; c g(xₙ) = φ f(xₙ) at the largest size xₙ, φ log-uniform
//! ```
//!
//! where `f'` is `f` fitted again with `c g` added. Each is weighed by its likelihood. An overhead only adds time, so the interval
//! reaches further above the formula than below it. With several parameters, or a family or formula that the user asked for, nothing is
//! added.
//!
//! # Source
//! G.M. Amdahl, AFIPS Conference Proceedings 30 (1967) 483, for the constant part; H. Jeffreys, *Theory of Probability* (1961), for a scale of
//! which nothing is known (both recalled, not looked up).

use crate::families::candidate::{Alternative, Candidate};
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Formula, Term};
use crate::samples::points::Points;
use crate::select::model::n_coefficients;
use crate::solve::covariance::Covariance;
use crate::solve::least_squares::solve;
use crate::solve::likelihood::{Counts, Distance};

/// Probability that a formula that falls hides no overhead. Chosen on falling times of our own, of four to eight sizes (the types of
/// `divided tuning` in `benches/extrap/kernels.py`): of 0.5, 0.7, 0.8 and 0.9 this one covers 95 %, and it leaves values and widths as they
/// are where the formula is right.
const NONE: f64 = 0.8;

/// Shares of the time at the largest size that stand for the half decades about them, from 0.2 % to 60 %. Less changes nothing at
/// [`AHEAD`](crate::families::prior::AHEAD) times the range, and with more the time does not fall any more.
const SHARES: [f64; 5] = [0.003, 0.01, 0.03, 0.1, 0.3];

/// Share of a formula's weight below which an overhead is left out: together they are far below the 2.5 % of an end of an interval.
const LEAST: f64 = 1e-3;

/// Weight below which a formula is left as it is. Arbitrary: it saves time.
const LIGHT: f64 = 0.02;

/// Passes of the fit with an overhead. The first is exact for a sum but for its weights; a third one changes no figure of the bench.
const PASSES: usize = 2;

/// Share of the largest size from which on a formula must fall. Arbitrary: it makes the slope there.
const BEFORE: f64 = 0.99;

/// Adds the overheads that the formulas of a candidate may hide; the candidate is unchanged unless one parameter varies and it falls with it.
pub(crate) fn with_overheads(points: &Points, mut candidate: Candidate) -> Candidate {
    let &[param] = points.varying().as_slice() else {
        return candidate;
    };
    if points.range(param)[0] <= 0.0 {
        return candidate;
    }
    let divided = Divided {
        points,
        name: &points.names[param],
        range: points.range(param),
        counts: Counts::of(points),
    };
    if candidate.alternatives.is_empty() {
        candidate.alternatives = vec![Alternative {
            weight: 1.0,
            family: candidate.family,
            formula: candidate.formula.clone(),
            covariance: candidate.covariance.clone(),
            overhead: false,
        }];
    }
    let mut overheads = Vec::new();
    for alternative in candidate
        .alternatives
        .iter_mut()
        .filter(|of| of.weight >= LIGHT)
    {
        let beside = divided.beside(alternative);
        let all = NONE + beside.iter().map(|(odds, _)| odds).sum::<f64>();
        let whole = alternative.weight;
        alternative.weight = whole * NONE / all;
        let parts = beside.into_iter().map(|(odds, part)| Alternative {
            weight: whole * odds / all,
            ..part
        });
        overheads.extend(parts.filter(|part| part.weight >= LEAST * whole));
    }
    candidate.alternatives.extend(overheads);
    if candidate.alternatives.len() < 2 {
        candidate.alternatives.clear();
    }
    candidate
}

/// Points of one parameter, with which work is divided.
struct Divided<'a> {
    points: &'a Points,
    name: &'a str,
    range: [f64; 2],
    counts: Counts,
}

impl Divided<'_> {
    /// The variants of a formula with an overhead, and the odds of each.
    fn beside(&self, alternative: &Alternative) -> Vec<(f64, Alternative)> {
        let Some(last_s) = self.falls_to(&alternative.formula) else {
            return Vec::new();
        };
        let Some(alone) = self.fitted_s(&alternative.formula) else {
            return Vec::new();
        };
        let n = n_coefficients(alternative.family, &alternative.formula);
        let deviance = |fitted_s: &[f64]| {
            let distance = Distance::new(self.points, fitted_s);
            match Distance::new(self.points, &alone).is_explained(n, self.counts) {
                true => distance.by_calls(n, self.counts),
                false => distance.by_means(n, self.counts),
            }
        };
        let least = deviance(&alone);
        if !least.is_finite() {
            return Vec::new();
        }
        let kinds = self.kinds(&alternative.formula);
        let prior = (1.0 - NONE) / (kinds.len() * SHARES.len()) as f64;
        let mut found = Vec::new();
        for kind in &kinds {
            for share in SHARES {
                let of_one = self.value(&Formula::new(0.0, vec![kind.clone()]), self.range[1]);
                let coefficient = of_one.map(|of_one| share * last_s / of_one);
                let fit = coefficient.and_then(|c| self.fit(alternative, kind, c));
                let Some((part, fitted_s)) = fit else {
                    continue;
                };
                let odds = prior * (0.5 * (least - deviance(&fitted_s))).exp();
                if odds.is_finite() {
                    found.push((odds, part));
                }
            }
        }
        found
    }

    /// The time at the largest size of a formula that falls up to there; `None` of any other, and of one with regimes or steps.
    fn falls_to(&self, formula: &Formula) -> Option<f64> {
        let is_whole = |term: &Term| term.regime.is_none() && term.factors.iter().all(is_smooth);
        if formula.written.is_some() || !formula.terms.iter().all(is_whole) {
            return None;
        }
        let [low, high] = self.range;
        let [first, before, last] = [low, BEFORE * high, high].map(|x| self.value(formula, x));
        let (first, before, last) = (first?, before?, last?);
        (last > 0.0 && last < before && last < first).then_some(last)
    }

    /// The functions that an overhead may be proportional to: those that the formula has no term of.
    fn kinds(&self, formula: &Formula) -> Vec<Term> {
        let factor = |exponent, logarithm| {
            Factor::new(self.name, Exponent::Fraction(exponent, 1), logarithm)
        };
        let mut kinds = Vec::new();
        if formula.constant == 0.0 {
            kinds.push(Term::new(1.0, Vec::new()));
        }
        // A logarithm of sizes below 1 is below 0, which no overhead is.
        if self.range[0] >= 1.0 {
            kinds.push(Term::new(1.0, vec![factor(0, 1)]));
        }
        kinds.push(Term::new(1.0, vec![factor(1, 0)]));
        kinds.retain(|kind| {
            formula
                .terms
                .iter()
                .all(|term| term.factors != kind.factors)
        });
        kinds
    }

    /// A formula fitted together with an overhead, by Gauss and Newton from where it is alone, and its times at the points.
    fn fit(
        &self,
        alternative: &Alternative,
        kind: &Term,
        coefficient: f64,
    ) -> Option<(Alternative, Vec<f64>)> {
        let overhead = Term {
            coefficient,
            ..kind.clone()
        };
        let mut base = alternative.formula.clone();
        let mut covariance = None;
        for _ in 0..PASSES {
            let fitted_s = self.fitted_s(&with(&base, &overhead))?;
            let pairs = fitted_s.iter().zip(&self.points.count);
            let weights: Vec<f64> = pairs.map(|(f, n)| n / (f * f)).collect();
            let rest: Vec<f64> = (self.points.mean_s.iter().zip(&fitted_s))
                .map(|(y, f)| y - f)
                .collect();
            let solved = solve(&self.columns(alternative.family, &base)?, &rest, &weights).ok()?;
            step(&mut base, alternative.family, &solved.coefficients);
            let squares: f64 = (solved.residuals.iter().zip(&weights))
                .map(|(r, w)| w * r * r)
                .sum();
            let spare = (self.points.len() as f64 - solved.coefficients.len() as f64).max(1.0);
            let unscaled = &solved.unscaled_covariance;
            // The coefficient of the overhead, the last one, is given: it adds no variance.
            let size = n_coefficients(alternative.family, &with(&base, &overhead));
            covariance = Some(Covariance::new(size, |i, j| {
                let cell = unscaled.get(i).and_then(|row| row.get(j));
                cell.map_or(0.0, |cell| cell * squares / spare)
            }));
        }
        let formula = with(&base, &overhead);
        let fitted_s = self.fitted_s(&formula)?;
        let part = Alternative {
            weight: 0.0,
            family: alternative.family,
            formula,
            covariance,
            overhead: true,
        };
        Some((part, fitted_s))
    }

    /// Derivatives of a formula by its coefficients at the points, as `slopes` has them, shape `[n_coefficients][n_points]`.
    fn columns(&self, family: Family, formula: &Formula) -> Option<Vec<Vec<f64>>> {
        let mut columns = Vec::with_capacity(formula.terms.len() + 1);
        match family {
            Family::PowerLaw | Family::Exponential => {
                let term = formula.terms.first()?;
                let level = self.points.column(term)?;
                let level: Vec<f64> = level.iter().map(|x| term.coefficient * x).collect();
                let param = self
                    .points
                    .names
                    .iter()
                    .position(|name| name == self.name)?;
                let pairs = level.iter().zip(&self.points.columns[param]);
                let power = pairs.map(|(f, x)| match family {
                    Family::PowerLaw => f * x.ln(),
                    _ => f * x,
                });
                let power = power.collect();
                columns.extend([level, power]);
            }
            _ => {
                columns.push(vec![1.0; self.points.len()]);
                for term in &formula.terms {
                    columns.push(self.points.column(term)?);
                }
            }
        }
        let are_finite = columns.iter().flatten().all(|x| x.is_finite());
        are_finite.then_some(columns)
    }

    /// Times at the points, all above 0.
    fn fitted_s(&self, formula: &Formula) -> Option<Vec<f64>> {
        let time_s = |i| formula.evaluate(|name| self.points.number(i, name)).ok();
        let fitted_s: Option<Vec<f64>> = (0..self.points.len()).map(time_s).collect();
        fitted_s.filter(|times| times.iter().all(|s| *s > 0.0 && s.is_finite()))
    }

    fn value(&self, formula: &Formula, x: f64) -> Option<f64> {
        let number = |name: &str| (name == self.name).then_some(x);
        formula
            .evaluate(number)
            .ok()
            .filter(|value| value.is_finite())
    }
}

fn is_smooth(factor: &Factor) -> bool {
    factor.step.is_none()
}

/// A formula and an overhead, which is its constant or its last term.
fn with(formula: &Formula, overhead: &Term) -> Formula {
    let mut formula = formula.clone();
    match overhead.factors.is_empty() {
        true => formula.constant += overhead.coefficient,
        false => formula.terms.push(overhead.clone()),
    }
    formula
}

/// Adds to the coefficients of a formula.
fn step(formula: &mut Formula, family: Family, by: &[f64]) {
    match (family, by, formula.terms.first_mut()) {
        (Family::PowerLaw | Family::Exponential, [level, power], Some(term)) => {
            term.coefficient *= level.exp();
            for factor in &mut term.factors {
                match factor.rate.as_mut() {
                    Some(rate) => *rate += power,
                    None => factor.exponent = Exponent::Real(factor.exponent.value() + power),
                }
            }
        }
        (_, [constant, others @ ..], _) => {
            formula.constant += constant;
            let pairs = formula.terms.iter_mut().zip(others);
            pairs.for_each(|(term, by)| term.coefficient += by);
        }
        _ => {}
    }
}
