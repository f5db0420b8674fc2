//! Which formula is shown, and which are averaged with it.
//!
//! In: the normal forms and the candidates of all other families, fitted. Out: the likeliest, and with it those that
//! predictions average over. All are weighed on one scale (`solve::likelihood`, `families::prior`).

use crate::families::candidate::{Alternative, Candidate};
use crate::families::hypothesis::Hypothesis;
use crate::families::normal_form::Found;
use crate::families::paths::Paths;
use crate::families::prior;
use crate::families::searched::left_out;
use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::solve::design_effect::design_effect;
use crate::solve::likelihood::{Counts, Distance, INCREDIBLE, are_explained};
use crate::solve::limits::Limits;
use crate::solve::mixture::{Part, middle};

/// A simpler formula must have at most this share of the error of one that is as complex.
const BETTER: f64 = 0.99;

/// Per cent; errors below it are rounding.
const NO_ERROR: f64 = 1e-9;

/// Formulas that are averaged at most.
const N_AVERAGED: usize = 100;

/// Parts of a unit of deviance that are distinguished.
const PER_UNIT: f64 = 1e3;

/// A plain formula that is this many units of deviance less likely than another, a factor of 20, is not shown.
const UNLIKELY: f64 = 6.0;

/// Where a form is among those that are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An index into the normal forms.
    Found(usize),
    /// An index into the other candidates.
    Other(usize),
}

/// Deviance of a form, −2 ln of its likelihood and its prior, with its parts.
#[derive(Debug, Clone, Copy)]
struct Scored {
    place: Place,
    /// Each call an observation.
    by_calls: f64,
    distance: Distance,
    n_coefficients: usize,
    odds_against: f64,
}

impl Scored {
    /// The deviance with each mean an observation.
    fn by_means(&self, counts: Counts) -> f64 {
        self.distance.by_means(self.n_coefficients, counts) + 2.0 * self.odds_against
    }
}

/// The forms of a mode, all fitted.
pub(crate) struct Field<'a> {
    /// The points of the mode.
    pub points: &'a Points,
    /// Its normal forms.
    pub found: Option<Found<'a>>,
    /// All others.
    pub others: Vec<Candidate>,
    /// Limits of the fits.
    pub limits: &'a Limits<'a>,
}

impl Field<'_> {
    /// The form to show, with those that predictions average over; `None` where there is none.
    ///
    /// The shown form is the likeliest. Under six points of one call each, where likelihoods say little, it is
    /// the simplest among constant, line, logarithm and power law within one standard error of the best on left-out
    /// points.
    pub fn choose(mut self) -> Option<Candidate> {
        self.price();
        let counts = Counts::of(self.points);
        let scored = self.scored(counts);
        let forms = (scored.iter()).map(|s| (s.by_calls, &s.distance, s.n_coefficients));
        let explained = are_explained(forms, counts);
        let deviance = |s: &Scored| match explained {
            true => s.by_calls,
            false => s.by_means(counts),
        };
        // Among forms that are equally likely up to rounding, the earlier one wins: a normal form, and the shorter.
        let deviances: Vec<f64> = scored.iter().map(deviance).collect();
        let rounded = |i: usize| (deviances[i] * PER_UNIT).round() as i64;
        let finite = (0..scored.len()).filter(|&i| deviances[i].is_finite());
        let mut order: Vec<(i64, usize)> = finite.map(|i| (rounded(i), i)).collect();
        order.sort_unstable();
        let mut ranked: Vec<(f64, Place)> = order
            .iter()
            .map(|&(_, i)| (deviances[i], scored[i].place))
            .collect();
        if !explained {
            self.drop_chance(&mut ranked);
        }
        self.show_plain(&mut ranked);
        let met = ranked
            .first()
            .is_some_and(|&(_, place)| self.is_met(place, counts));
        if counts.are_few() && !met || ranked.is_empty() {
            return self.simplest(&ranked);
        }
        let effect = match explained {
            true => 1.0,
            false => self.design_effect(ranked[0].1),
        };
        self.likeliest(ranked, explained, effect)
    }

    /// By how much the points say less than as many independent ones, by what a form leaves of them.
    fn design_effect(&mut self, place: Place) -> f64 {
        if self.points.varying().len() < 2 {
            return 1.0;
        }
        let fitted_s = match place {
            Place::Other(i) => Some(self.others[i].fitted_s.clone()),
            Place::Found(i) => {
                let candidate = self.found.as_mut().and_then(|f| f.candidate(i, false));
                candidate.map(|candidate| candidate.fitted_s)
            }
        };
        fitted_s.map_or(1.0, |fitted_s| design_effect(self.points, &fitted_s))
    }

    /// Removes the forms with searched breaks or steps, unless they are nearer, on average, to points that were held
    /// out of the search than the likeliest other form.
    ///
    /// If the scatter of the calls does not explain the distances, some points are far off, and a few breaks would
    /// follow them.
    fn drop_chance(&mut self, ranked: &mut Vec<(f64, Place)>) {
        let is_searched = |candidate: &Candidate| candidate.n_free > candidate.coefficients.len();
        let searched = |place: Place| match place {
            Place::Other(i) => Some(i).filter(|&i| is_searched(&self.others[i])),
            Place::Found(_) => None,
        };
        // Lines that meet are no baseline for breaks: wherever the break is, they come near it.
        let is_whole = |place: Place| match place {
            Place::Other(i) => {
                self.others[i].family != Family::Regimes && searched(place).is_none()
            }
            Place::Found(_) => true,
        };
        let Some(&(least, plain)) = ranked.iter().find(|(_, place)| is_whole(*place)) else {
            return;
        };
        // All that may be left in front of it, or be averaged with it.
        let credible = ranked
            .iter()
            .filter(|(deviance, _)| deviance - least <= INCREDIBLE);
        let credible: Vec<usize> = credible.filter_map(|(_, place)| searched(*place)).collect();
        if credible.is_empty() {
            return;
        }
        let plain = self.shown(plain, false);
        let Some(plain) = plain.and_then(|candidate| errors(self.points, &candidate)) else {
            return;
        };
        for i in credible {
            let candidate = &mut self.others[i];
            candidate.left_out_s = left_out(self.points, self.limits, candidate);
            let is_nearer = |own: Vec<f64>| average(&own) < average(&plain);
            if !errors(self.points, candidate).is_some_and(is_nearer) {
                ranked.retain(|(_, place)| *place != Place::Other(i));
            }
        }
    }

    /// Puts the likeliest form without a searched break or step before one with a break that is not much likelier: if
    /// a formula and a plateau at the last size are about equally likely, the plateau remains an alternative only.
    fn show_plain(&self, ranked: &mut [(f64, Place)]) {
        let is_searched = |place: Place| match place {
            Place::Other(i) => self.others[i].n_free > self.others[i].coefficients.len(),
            Place::Found(_) => false,
        };
        let Some(&(least, _)) = ranked.first() else {
            return;
        };
        let plain = ranked.iter().position(|(_, place)| !is_searched(*place));
        if let Some(plain) = plain.filter(|&plain| ranked[plain].0 - least <= UNLIKELY) {
            ranked[..=plain].rotate_right(1);
        }
    }

    /// Deviances of the forms other than normal forms.
    fn price(&mut self) {
        let paths = Paths::new(self.points);
        for candidate in &mut self.others {
            candidate.odds_against = prior::of_candidate(candidate, self.points, &paths);
        }
    }

    fn scored(&self, counts: Counts) -> Vec<Scored> {
        let n_found = self.found.as_ref().map_or(0, Found::len);
        let mut list = Vec::with_capacity(n_found + self.others.len());
        if let Some(found) = &self.found {
            // Of few points the plain families are among the others.
            let twice = |&i: &usize| counts.are_few() && found.family(i) != Family::NormalForm;
            list.extend((0..found.len()).filter(|i| !twice(i)).map(|i| {
                let (&distance, n_coefficients) = found.distance(i);
                Scored {
                    place: Place::Found(i),
                    by_calls: found.by_calls(i),
                    distance,
                    n_coefficients,
                    odds_against: found.odds_against(i),
                }
            }));
        }
        list.extend(self.others.iter().enumerate().map(|(i, candidate)| {
            let distance = match candidate.is_even {
                true => Distance::even(self.points, &candidate.fitted_s),
                false => Distance::new(self.points, &candidate.fitted_s),
            };
            let n_coefficients = candidate.coefficients.len();
            let odds_against = candidate.odds_against;
            // The spread of the calls, where it explains the distance, says how it goes with the time.
            let by_calls = match candidate.is_even {
                true => f64::INFINITY,
                false => distance.by_calls(n_coefficients, counts) + 2.0 * odds_against,
            };
            Scored {
                place: Place::Other(i),
                by_calls,
                distance,
                n_coefficients,
                odds_against,
            }
        }));
        list
    }

    /// The likeliest form within the limits, and the credible ones.
    ///
    /// With points that say less than independent ones the coefficients are known less well, and forms are credible that are
    /// further behind. The weights stay those of the likelihood, which is what predicts; an interval takes the effect from the
    /// model.
    fn likeliest(
        mut self,
        ranked: Vec<(f64, Place)>,
        explained: bool,
        effect: f64,
    ) -> Option<Candidate> {
        let (mut parts, mut fitted_s) = (Vec::new(), Vec::new());
        let mut best: Option<(f64, Candidate)> = None;
        let mut first_beyond = None;
        let walks = self.limits.walks(self.points, &[]);
        for (deviance, place) in ranked {
            let least = best.as_ref().map(|(least, _)| *least);
            let incredible = |least: f64| deviance - least > effect * INCREDIBLE;
            if least.is_some_and(incredible) || parts.len() == N_AVERAGED {
                break;
            }
            let weight = (0.5 * (least.unwrap_or(deviance) - deviance)).exp();
            let n_before = fitted_s.len();
            let Some(part) = self.alternative(place, weight, explained, &mut fitted_s) else {
                continue;
            };
            let holds = |formula: &Formula| self.limits.hold_on(&walks, formula, self.points);
            if self.may_break(place) && !holds(&part.formula) {
                first_beyond = first_beyond.or(Some(part.formula));
                fitted_s.truncate(n_before);
                continue;
            }
            if best.is_none() {
                // A form may be nowhere near a fit before its passes end: one call that took a thousand times as long.
                let Some(shown) = self.shown(place, explained) else {
                    fitted_s.truncate(n_before);
                    continue;
                };
                best = Some((deviance, shown));
            }
            parts.push(part);
        }
        let Some((_, mut candidate)) = best else {
            let hypothesis = Hypothesis::sum(Family::NormalForm, first_beyond?.terms);
            return hypothesis.fit(self.points, self.limits);
        };
        let covariances = parts.iter_mut().map(|part| &mut part.covariance);
        for covariance in covariances.chain([&mut candidate.covariance]).flatten() {
            covariance.widen(effect);
        }
        candidate.design_effect = effect;
        (candidate.alternatives, candidate.predicted_s) = normalised(parts, &fitted_s);
        Some(candidate)
    }

    /// Whether a form goes through all points with one to spare.
    fn is_met(&self, place: Place, counts: Counts) -> bool {
        let (distance, n) = match place {
            Place::Found(i) => match &self.found {
                Some(found) => {
                    let (distance, n) = found.distance(i);
                    (*distance, n)
                }
                None => return false,
            },
            Place::Other(i) => {
                let candidate = &self.others[i];
                let n = candidate.coefficients.len();
                (Distance::new(self.points, &candidate.fitted_s), n)
            }
        };
        n + 1 < counts.n_points && distance.is_met(counts)
    }

    /// Whether a form may be negative on the range, or fall with a parameter where it must not.
    fn may_break(&self, place: Place) -> bool {
        match place {
            Place::Found(i) => {
                let negative = self
                    .found
                    .as_ref()
                    .is_some_and(|found| found.has_negative(i));
                negative || !self.limits.monotone.is_empty()
            }
            Place::Other(_) => false,
        }
    }

    /// Converts a form to an alternative; its fitted times are appended to `fitted_s`.
    fn alternative(
        &mut self,
        place: Place,
        weight: f64,
        explained: bool,
        fitted_s: &mut Vec<f64>,
    ) -> Option<Alternative> {
        match place {
            Place::Found(i) => {
                let found = self.found.as_mut()?;
                let (alternative, fitted) = found.alternative(i, weight, explained)?;
                fitted_s.extend_from_slice(fitted);
                Some(alternative)
            }
            Place::Other(i) => {
                let candidate = &self.others[i];
                fitted_s.extend_from_slice(&candidate.fitted_s);
                Some(Alternative {
                    weight,
                    family: candidate.family,
                    formula: candidate.formula.clone(),
                    covariance: candidate.covariance.clone(),
                })
            }
        }
    }

    /// Converts a form to the shown one; `None` if its fit does not converge.
    fn shown(&mut self, place: Place, explained: bool) -> Option<Candidate> {
        match place {
            Place::Found(i) => self.found.as_mut()?.candidate(i, explained),
            Place::Other(i) => Some(self.others[i].clone()),
        }
    }

    /// The simplest of the plain families within one standard error of the best, with the credible forms as
    /// alternatives.
    fn simplest(mut self, ranked: &[(f64, Place)]) -> Option<Candidate> {
        let plain = |c: &Candidate| {
            let plain = [
                Family::Constant,
                Family::Line,
                Family::Logarithm,
                Family::PowerLaw,
            ];
            plain.contains(&c.family)
        };
        let mut some: Vec<usize> = (0..self.others.len())
            .filter(|&i| plain(&self.others[i]))
            .collect();
        if some.is_empty() {
            some = (0..self.others.len()).collect();
        }
        let candidates: Vec<&Candidate> = some.iter().map(|&i| &self.others[i]).collect();
        let shown = match one_standard_error(self.points, &candidates) {
            Some(chosen) => some[chosen],
            None => return self.likeliest(ranked.to_vec(), false, 1.0),
        };
        let mut candidate = self.others[shown].clone();
        let deviance = |place: Place| ranked.iter().find(|(_, other)| *other == place);
        let Some(&(own, _)) = deviance(Place::Other(shown)) else {
            return Some(candidate);
        };
        if own - ranked[0].0 > UNLIKELY {
            return self.likeliest(ranked.to_vec(), false, 1.0);
        }
        let weigh = |deviance: f64| (0.5 * (own - deviance)).exp();
        let (mut fitted_s, walks) = (Vec::new(), self.limits.walks(self.points, &[]));
        let mut parts = vec![self.alternative(Place::Other(shown), 1.0, false, &mut fitted_s)?];
        for &(deviance, place) in ranked.iter().take(N_AVERAGED) {
            if place == Place::Other(shown) || deviance - ranked[0].0 > INCREDIBLE {
                continue;
            }
            let (weight, n_before) = (weigh(deviance), fitted_s.len());
            let Some(part) = self.alternative(place, weight, false, &mut fitted_s) else {
                continue;
            };
            let holds = |formula: &Formula| self.limits.hold_on(&walks, formula, self.points);
            match !self.may_break(place) || holds(&part.formula) {
                true => parts.push(part),
                false => fitted_s.truncate(n_before),
            }
        }
        (candidate.alternatives, candidate.predicted_s) = normalised(parts, &fitted_s);
        Some(candidate)
    }
}

/// The alternatives with weights that add up to one, and what they predict together; none where the shown one stands alone.
///
/// # Arguments
/// * `fitted_s` - fitted times of each, shape `[n_parts][n_points]`
fn normalised(mut parts: Vec<Alternative>, fitted_s: &[f64]) -> (Vec<Alternative>, Vec<f64>) {
    if parts.len() < 2 {
        return (Vec::new(), Vec::new());
    }
    let sum: f64 = parts.iter().map(|part| part.weight).sum();
    parts.iter_mut().for_each(|part| part.weight /= sum);
    let n_points = fitted_s.len() / parts.len();
    let mut values = Vec::with_capacity(parts.len());
    let predicted = (0..n_points).map(|i| {
        let pairs = parts.iter().zip(fitted_s[i..].iter().step_by(n_points));
        values.clear();
        values.extend(pairs.map(|(part, fitted_s)| Part {
            weight: part.weight,
            mean: *fitted_s,
            deviation: 0.0,
        }));
        middle(&mut values)
    });
    let predicted_s = predicted.collect();
    (parts, predicted_s)
}

/// The simplest formula whose error on left-out points is within one standard error of the smallest.
///
/// The error of a point is its symmetric relative one; the standard error is that of the mean
/// difference over the points. Among equally complex formulas, the one with the smallest error, the
/// earlier of equals. Where none but the constant could be validated, the first that is no constant.
///
/// # Source
/// L. Breiman, J. Friedman, R. Olshen, C. Stone, *Classification and Regression Trees* (1984), section
/// 3.4.3, for the rule (recalled, not looked up).
fn one_standard_error(points: &Points, candidates: &[&Candidate]) -> Option<usize> {
    let shaped = |c: &&Candidate| c.family != Family::Constant;
    let errors: Vec<Option<Vec<f64>>> = candidates.iter().map(|c| errors(points, c)).collect();
    let validated = |i: usize| errors[i].is_some();
    if !(0..candidates.len()).any(|i| validated(i) && shaped(&candidates[i])) {
        let first = candidates.iter().position(shaped);
        return first.or(if candidates.is_empty() { None } else { Some(0) });
    }
    let mean = |i: usize| errors[i].as_deref().map_or(f64::INFINITY, average);
    let best = (0..candidates.len()).min_by(|&a, &b| mean(a).total_cmp(&mean(b)))?;
    let near = |&i: &usize| match (&errors[i], &errors[best]) {
        (Some(ours), Some(least)) => i == best || within_one_standard_error(ours, least),
        _ => false,
    };
    let mut near: Vec<usize> = (0..candidates.len()).filter(near).collect();
    let least = near.iter().map(|&i| candidates[i].n_free).min()?;
    near.retain(|&i| candidates[i].n_free == least);
    near.into_iter().reduce(|a, b| {
        if mean(b) < BETTER * mean(a) - NO_ERROR {
            b
        } else {
            a
        }
    })
}

/// Error of each left-out point, per cent, 0 to 200.
fn errors(points: &Points, shown: &Candidate) -> Option<Vec<f64>> {
    let left_out = shown.left_out_s.as_ref()?;
    let error = |(&y, &f): (&f64, &f64)| {
        if y == f {
            return 0.0;
        }
        let ratio = (f - y).abs() / (f.abs() + y.abs());
        200.0 * if ratio.is_nan() { 1.0 } else { ratio }
    };
    Some(points.mean_s.iter().zip(left_out).map(error).collect())
}

fn within_one_standard_error(ours: &[f64], least: &[f64]) -> bool {
    let gains: Vec<f64> = ours.iter().zip(least).map(|(a, b)| a - b).collect();
    let (n, mean) = (gains.len() as f64, average(&gains));
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    mean <= (squares / (n * (n - 1.0))).sqrt() + NO_ERROR
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
