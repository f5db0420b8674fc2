//! From samples to models: every hypothesis fitted, the simplest of the best shown.
//!
//! [`fit_with`] parts the samples of a method into modes, and `fit_mode` fits each: `families` gives the candidates with
//! their parameters, `choice` says which is shown and which are averaged with it, `sigma` how far calls lie from it.
//! Everything that a reader must know before believing a model is a [`Note`] of it: too few coordinates, a poor fit,
//! calls set aside, a few calls that hold most of the time. Where no formula follows the points the model is a constant,
//! and says so; of the families none is shown that is negative within the range. [`fit`] is the same without wishes;
//! `predict` goes on from a model.
//!
//! ```text
//! $ cat line.csv                                 2 s + 0.03 s n, once 1 % more and once 1 % less
//! n,seconds
//! 100,5.050000000
//! 100,4.950000000
//! ...
//! 1600,49.500000000
//! $ mastermind fit line.csv -o models.json
//! METHOD  MODE  TIME                R2  CV-SMAPE %  WEIGHT %  CALLS  RANGE          NOTES
//! line          2 + 0.03 * n s  1.0000        0.00        83     10  n 100 to 1600
//! ```

use std::collections::BTreeMap;

use crate::error::Error;
use crate::families::even::evenly_scattered;
use crate::families::hypothesis::{Hypothesis, term_name};
use crate::families::list::hypotheses;
use crate::formula::sum::Formula;
use crate::samples::metric::Metric;
use crate::select::calibration::interval_ratio;
use crate::select::choice::Field;
use crate::select::clean::{clean, times};
use crate::select::drift::drift;
use crate::solve::limits::Limits;

use crate::error::list;
use crate::families::candidate::{Alternative, Candidate};
use crate::families::curves::curves;
use crate::families::normal_form::{Found, MIN_POINTS, search};
use crate::families::note::Note;
use crate::families::searched::{left_out, searched};
use crate::families::written::UserFormula;
use crate::formula::family::Family;
use crate::samples::modes::{Modes, split};
use crate::samples::points::Points;
use crate::samples::sample::Samples;
use crate::samples::statistic::Statistic;
use crate::select::model::{Coefficient, Freedom, HeldUp, Model};
use crate::select::remarks::{
    beside_medians, follows_nothing, is_met, left_out_far, may_soar, poor, scattered, set_aside,
    uneven, zero,
};
use crate::select::sigma::{Deviation, sigma};
use crate::select::zeros;
use crate::solve::between_points::as_means;
use crate::solve::likelihood::{Counts, Distance};
use crate::solve::quality::{aicc, bic, r_squared, residual_sum, smape};
use crate::solve::uncertainty::LEVEL;

/// Maximum number of coordinates that are fitted without thinning.
const MAX_POINTS: usize = 4096;

/// Sizes that are few: three coefficients go through them.
const FEW_SIZES: usize = 3;

/// Options of a fit; the defaults restrict nothing.
#[derive(Debug, Clone, Default)]
pub struct FitOptions {
    /// The only family to try.
    pub family: Option<Family>,
    /// The formula to fit, in place of all families.
    pub formula: Option<UserFormula>,
    /// Numeric parameters that the time must not fall with, over the range.
    pub monotone: Vec<String>,
    /// What to do with enumeration parameters.
    pub modes: Modes,
}

/// Fits a model to each mode of a method, the family chosen.
///
/// A mode is one combination of the enumeration parameters that make a difference. In each, all
/// families are fitted to the mean time at each coordinate, weighted by its calls and their spread; of
/// those that are nowhere negative on the range the simplest is shown whose error on left-out
/// coordinates is within one standard error of the smallest, and predictions average over the credible
/// ones. With too few coordinates for validation, a line is fitted and [`Note::NotValidated`] reports it; with one
/// coordinate, a constant.
///
/// Calls far above the others at their coordinate are set aside, and [`Note::SetAside`] says how many;
/// their time is in the model's `total_ratio`, so that [`crate::Total`] over the samples is their total
/// time.
///
/// # Returns
/// One model a mode, in the order of the labels.
///
/// # Errors
/// [`Error::NoSamples`] if no call was taken.
pub fn fit(samples: &Samples) -> Result<Vec<Model>, Error> {
    fit_with(samples, &FitOptions::default())
}

/// As [`fit`], with the family given; only its parameters are chosen.
///
/// # Errors
/// [`Error::NoSamples`]; [`Error::TooFewPoints`] if a mode has fewer coordinates than the family
/// needs; [`Error::Unsuitable`] if the family is negative or not finite on a mode.
pub fn fit_family(samples: &Samples, family: Family) -> Result<Vec<Model>, Error> {
    let options = FitOptions {
        family: Some(family),
        ..FitOptions::default()
    };
    fit_with(samples, &options)
}

/// As [`fit`], as the user wishes.
///
/// # Errors
/// Those of [`fit_family`]; for a formula also [`Error::UnknownName`] and [`Error::NoParameter`];
/// [`Error::NoSuchParameter`] if a parameter to be monotone in is none of the method's numbers.
pub fn fit_with(samples: &Samples, options: &FitOptions) -> Result<Vec<Model>, Error> {
    let modes = split(samples, options.modes, MAX_POINTS);
    let Some(first) = modes.first() else {
        let (method, refused) = (samples.method.clone(), samples.n_refused);
        return Err(Error::NoSamples { method, refused });
    };
    let unknown = |name: &&String| !first.names.contains(name);
    if let Some(parameter) = options.monotone.iter().find(unknown) {
        return Err(Error::NoSuchParameter {
            method: samples.method.clone(),
            parameter: parameter.clone(),
            known: list(first.names.iter().cloned()),
        });
    }
    modes
        .iter()
        .map(|points| fit_mode(samples, points, options))
        .collect()
}

fn fit_mode(samples: &Samples, points: &Points, options: &FitOptions) -> Result<Model, Error> {
    let step = match samples.metric {
        Metric::Wall => zeros::step(points),
        _ => None,
    };
    let Some(step) = step.filter(|_| points.mean_s.iter().any(|s| *s > 0.0)) else {
        return fit_points(samples, points, options);
    };
    let mut above: Vec<usize> = Vec::new();
    loop {
        let telling = zeros::telling(points, step, &above);
        let mut model = fit_points(samples, &telling, options)?;
        let predicted_s = times(&model.formula, &model.alternatives, points);
        let is_above = |row: &usize| points.mean_s[*row] == 0.0 && predicted_s[*row] > step.least_s;
        let found: Vec<usize> = (0..points.len()).filter(is_above).collect();
        // Those that are a step were put there.
        if found.is_empty() || !above.is_empty() {
            let held_up = model.held_up.as_ref();
            model.total_ratio = total_ratio(&predicted_s, points, samples.statistic, held_up);
            model
                .notes
                .retain(|note| !matches!(note, Note::Zero { .. }));
            model.notes.extend(zero(samples, points));
            // Counted before weights by the clock's step replace the numbers of calls.
            if model.held_up.is_none() {
                let is_aside = |note: &Note| matches!(note, Note::SetAside { .. });
                model.notes.retain(|note| !is_aside(note));
                model.notes.extend(set_aside(points));
            }
            return Ok(model);
        }
        above = found;
    }
}

/// Fits a model to the points of a mode, without the calls that the machine delayed.
fn fit_points(samples: &Samples, points: &Points, options: &FitOptions) -> Result<Model, Error> {
    let limits = Limits {
        monotone: &options.monotone,
    };
    let weighed = match &options.formula {
        Some(formula) => {
            let fitted = formula.fit(points, &named(samples, points), &limits)?;
            let field = Field {
                points,
                found: None,
                others: fitted.into_iter().collect(),
                limits: &limits,
            };
            // A user's formula is fitted to all calls.
            Weighed {
                best: choose(field),
                notes: Vec::new(),
                means: None,
            }
        }
        None => weigh(points, options.family, &limits),
    };
    let may_be_held_up = samples.metric.is_time()
        && options.formula.is_none()
        && samples.statistic == Statistic::Clean;
    let found = weighed.best.as_ref().filter(|_| may_be_held_up);
    let weigh = |points: &Points| weigh(points, options.family, &limits);
    let Some(clean) = found.and_then(|best| clean(points, best, weigh)) else {
        return of_weighed(samples, points, options, weighed);
    };
    let mut model = of_weighed(samples, &clean.points, options, clean.weighed)?;
    let predicted_s = times(&model.formula, &model.alternatives, points);
    let held_up = Some(&clean.held_up);
    model.total_ratio = total_ratio(&predicted_s, points, samples.statistic, held_up);
    // What is left of the calls is all that the others would say.
    model
        .notes
        .retain(|note| !matches!(note, Note::SetAside { .. }));
    model.notes.insert(0, clean.held_up.note());
    model.held_up = Some(clean.held_up);
    Ok(model)
}

/// The form to show of a mode, if there is one, with the notes of the search.
pub(crate) struct Weighed {
    /// The form.
    pub best: Option<Candidate>,
    notes: Vec<Note>,
    /// The points as they were weighed, where not as they are.
    means: Option<Points>,
}

/// Weighs the forms of all families, or of one: again by the means alone where the calls of a point share what they are off by.
fn weigh(points: &Points, family: Option<Family>, limits: &Limits<'_>) -> Weighed {
    let (field, notes) = field(points, family, limits);
    let best = choose(field);
    let first = best.as_ref();
    let means = first.and_then(|best| as_means(points, &best.fitted_s, best.coefficients.len()));
    if let Some(means) = &means {
        let (field, notes) = self::field(means, family, limits);
        if let Some(best) = choose(field) {
            return Weighed {
                best: Some(best),
                notes,
                means: Some(means.clone()),
            };
        }
    }
    Weighed { best, notes, means }
}

/// The model of the form to show.
fn of_weighed(
    samples: &Samples,
    points: &Points,
    options: &FitOptions,
    weighed: Weighed,
) -> Result<Model, Error> {
    let limits = Limits {
        monotone: &options.monotone,
    };
    let Weighed {
        best: chosen,
        mut notes,
        means,
    } = weighed;
    let weighed = means.as_ref().unwrap_or(points);
    let is_free = options.formula.is_none() && options.family.is_none();
    let constant = || field(points, Some(Family::Constant), &limits).0.choose();
    let Some(mut best) = chosen.or_else(|| constant().filter(|_| is_free)) else {
        let family = match &options.formula {
            Some(_) => Family::Written,
            None => options.family.unwrap_or(Family::Constant),
        };
        return Err(nothing_fits(samples, points, family, &options.monotone));
    };
    if let Some(family @ Family::NormalForm) = options.family {
        best.family = family;
        best.alternatives.iter_mut().for_each(|a| a.family = family);
    }
    if is_free && follows_nothing(points, &best) {
        notes.push(Note::NoModel);
        // The constant keeps the other formulas as alternatives, as with few calls: no visible dependence on the
        // parameters is no proof of independence.
        if best.family != Family::Constant {
            let few = Counts::of(points).are_few();
            if let Some(mut constant) = constant() {
                if few {
                    constant.alternatives = constant_first(best.alternatives);
                    constant.predicted_s = best.predicted_s;
                }
                best = constant;
            }
        }
    }
    if best.left_out_s.is_none() {
        best.left_out_s = left_out(weighed, &limits, &best);
    }
    // Covariances that overflowed are unknown.
    let parts = best.alternatives.iter_mut().map(|a| &mut a.covariance);
    for covariance in parts.chain([&mut best.covariance]) {
        covariance.take_if(|covariance| !covariance.is_finite());
    }
    let needed = best.coefficients.len() + 1;
    let entangled = match &options.formula {
        // Unknowns may be indistinguishable because of active limits.
        Some(formula) if !best.held => formula.entangled(points, &best.coefficients)?,
        _ => None,
    };
    if let Some(unknown) = entangled {
        notes.push(Note::Entangled { unknown });
    } else if best.left_out_s.is_none() && points.len() > 1 {
        notes.push(Note::NotValidated {
            n_points: points.len(),
            needed,
        });
    }
    let n_points = points.len();
    let are_few = n_points <= FEW_SIZES && !points.varying().is_empty();
    let are_few = are_few && !notes.iter().any(Note::is_of_fit);
    notes.extend(are_few.then_some(Note::FewSizes { n_points }));
    notes.extend(
        points
            .shared
            .keys()
            .cloned()
            .map(|param| match options.modes {
                Modes::Together => Note::Together { param },
                _ => Note::Shared { param },
            }),
    );
    notes.extend(best.held.then_some(Note::Held));
    notes.extend(samples.statistic.is_one_call().then_some(Note::Statistic {
        statistic: samples.statistic,
    }));
    notes.extend(
        (points.len() < points.n_coordinates).then(|| Note::Thinned {
            n_points: points.n_coordinates,
            n_fitted: points.len(),
        }),
    );
    let apart = points.apart().into_iter();
    notes.extend(apart.map(|params| Note::Apart { params }));
    let is_told = notes
        .iter()
        .any(|note| matches!(note, Note::Entangled { .. } | Note::NoModel));
    let poor = poor(points, &best).filter(|_| !is_told);
    let is_mean = !is_told && poor.is_none() && !samples.statistic.is_one_call();
    notes.extend(poor);
    notes.extend(scattered(points, &best).filter(|_| !is_told));
    notes.extend(beside_medians(points, &best).filter(|_| is_mean));
    let is_said = notes.iter().any(Note::is_of_fit);
    notes.extend(left_out_far(points, &best).filter(|_| !is_said));
    notes.extend(may_soar(&best));
    // Blurred points count fewer calls than they have, which does not mean that calls were set aside.
    notes.extend(set_aside(points).filter(|_| points.blurred_below_s == 0.0));
    notes.extend(uneven(points));
    notes.extend(zero(samples, points));
    let drift = match &options.formula {
        // Formulas that meet all points, and users' formulas, get no drift.
        Some(_) => 0.0,
        None if is_met(points, &best) => 0.0,
        None => drift(weighed, &best),
    };
    Ok(Model {
        drift,
        ..model(samples, points, best, notes)
    })
}

/// The form to show, of those within the limits.
fn choose(mut field: Field<'_>) -> Option<Candidate> {
    // What was fitted freely was looked at there.
    let is_fitted = |candidate: &Candidate| candidate.family != Family::Written && !candidate.held;
    let (limits, points) = (field.limits, field.points);
    field
        .others
        .retain(|candidate| is_fitted(candidate) || limits.hold(&candidate.formula, points));
    field.choose()
}

/// Fits of all families, or of one, and the parameters left out.
fn field<'a>(
    points: &'a Points,
    family: Option<Family>,
    limits: &'a Limits<'a>,
) -> (Field<'a>, Vec<Note>) {
    let asked = |candidate: Family| family.is_none_or(|family| candidate == family);
    let searched_only = [
        Family::NormalForm,
        Family::Stairs,
        Family::Regimes,
        Family::Curve,
    ];
    let (list, notes) = if family.is_some_and(|family| searched_only.contains(&family)) {
        (Vec::new(), Vec::new())
    } else {
        hypotheses(points)
    };
    let found = match asked(Family::NormalForm) {
        true => search(points),
        false => None,
    };
    let left_out = found.iter().flat_map(Found::left_out).cloned();
    let mut notes = notes;
    notes.extend(left_out.map(|param| Note::LeftOut { param }));
    let few = Counts::of(points).are_few();
    let covered = |hypothesis: &Hypothesis| {
        !few && found
            .as_ref()
            .is_some_and(|found| found.covers(&hypothesis.shape))
    };
    let walks = limits.walks(points, &[]);
    let mut others: Vec<Candidate> = list
        .iter()
        .filter(|hypothesis| asked(hypothesis.family) && !covered(hypothesis))
        .filter_map(|hypothesis| hypothesis.fit_on(&walks, points, limits))
        .collect();
    let explained = found.as_ref().is_some_and(Found::explains_well);
    if family.is_some() || !explained {
        let terms = found.as_ref().filter(|_| family.is_none());
        others.extend(searched(points, limits, asked, terms));
    }
    if let ([param], true) = (&points.varying()[..], asked(Family::Curve)) {
        let nearest = others
            .iter()
            .map(|form| Distance::new(points, &form.fitted_s).lack);
        let nearest = nearest.chain(found.as_ref().map(Found::nearest));
        let curves = curves(points, *param, nearest.fold(f64::INFINITY, f64::min));
        let fitted = curves
            .iter()
            .filter_map(|curve| curve.fit_on(&walks, points, limits));
        others.extend(
            fitted
                .filter(|candidate| !candidate.held)
                .collect::<Vec<_>>(),
        );
    }
    if family.is_none()
        && let Some(found) = found.as_ref().filter(|found| !found.explains())
    {
        others.extend(evenly_scattered(points, found, limits));
    }
    let field = Field {
        points,
        found,
        others,
        limits,
    };
    (field, notes)
}

/// The alternatives with a constant moved to the front; empty if no constant is credible.
fn constant_first(mut alternatives: Vec<Alternative>) -> Vec<Alternative> {
    let constant = |alternative: &Alternative| alternative.family == Family::Constant;
    match alternatives.iter().position(constant) {
        Some(place) => {
            alternatives[..=place].rotate_right(1);
            alternatives
        }
        None => Vec::new(),
    }
}

/// The method with its mode: `METHOD where axis=x`.
fn named(samples: &Samples, points: &Points) -> String {
    let labels = points.mode.iter().map(|(k, v)| format!("{k}={v}"));
    let labels: Vec<String> = labels.collect();
    match labels.as_slice() {
        [] => samples.method.clone(),
        labels => format!("{} where {}", samples.method, labels.join(", ")),
    }
}

fn nothing_fits(samples: &Samples, points: &Points, family: Family, monotone: &[String]) -> Error {
    let method = named(samples, points);
    let (n_points, needed) = (points.len(), needed(family));
    if n_points < needed {
        return Error::TooFewPoints {
            method,
            found: n_points,
            needed,
        };
    }
    let names: Vec<String> = monotone.iter().map(|name| format!("\"{name}\"")).collect();
    let limits = match names.as_slice() {
        [] => String::new(),
        names => format!(" and does not fall with {}", names.join(", ")),
    };
    Error::Unsuitable {
        method,
        family,
        limits,
        n_points,
    }
}

/// Least number of distinct coordinates for a family.
fn needed(family: Family) -> usize {
    match family {
        Family::Constant | Family::Written => 1,
        Family::Line | Family::Logarithm | Family::PowerLaw | Family::Exponential => 2,
        Family::Polynomial => 4,
        Family::NormalForm => MIN_POINTS,
        Family::Regimes | Family::Curve => 5,
        Family::Stairs => 6,
    }
}

fn model(samples: &Samples, points: &Points, best: Candidate, notes: Vec<Note>) -> Model {
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
    let deviation = (spare >= 1.0).then(|| match &best.sigma {
        Some(own) => Deviation {
            family: best.family,
            formula: own.clone(),
        },
        None => sigma(points, &best, spare),
    });
    let ratio = match (&deviation, &best.left_out_s) {
        (Some(deviation), Some(left_out_s)) => {
            let (fitted_s, sigma) = (&best.fitted_s, &deviation.formula);
            interval_ratio(points, fitted_s, left_out_s, sigma, spare, LEVEL)
        }
        _ => 1.0,
    };
    let others = best.alternatives.iter().map(|other| &other.formula);
    let gaps = gaps(points, others.chain([&best.formula]));
    let mut model = Model {
        method: samples.method.clone(),
        metric: samples.metric.clone(),
        mode: points.mode.clone(),
        shared: points.shared.clone(),
        family: best.family,
        params: points.names.clone(),
        expression: best.formula.to_string(),
        coefficients: coefficients(points, &best),
        smape: smape(y, f, w),
        r2,
        r2_adjusted: r2.filter(|_| n > k).map(adjust),
        aicc: aicc(residual_sum(y, f, w), n, k),
        bic: bic(residual_sum(y, f, w), n, k),
        cv_smape: best.cv_smape(points),
        formula: best.formula,
        covariance: best.covariance,
        range: ranges.collect(),
        sigma_family: deviation.as_ref().map(|deviation| deviation.family),
        sigma: deviation.map(|deviation| deviation.formula),
        interval_ratio: ratio,
        total_ratio: 1.0,
        design_effect: best.design_effect,
        drift: 0.0,
        gaps,
        held_up: None,
        freedom: Freedom {
            coefficients: best.freedom,
            sigma: spare.max(0.0),
        },
        alternatives: best.alternatives,
        n_points: points.n_coordinates,
        n_records: points.n_calls,
        n_refused: samples.n_refused,
        carried: None,
        notes,
    };
    let predicted_s = match model.alternatives.is_empty() {
        true => values(&model.formula, points),
        false => best.predicted_s,
    };
    model.total_ratio = total_ratio(&predicted_s, points, samples.statistic, None);
    model
}

/// For each break that lies between measured values, the two values that enclose it.
fn gaps<'f>(
    points: &Points,
    formulas: impl Iterator<Item = &'f Formula>,
) -> BTreeMap<String, Vec<[f64; 2]>> {
    let mut gaps: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    let terms = formulas.flat_map(|formula| &formula.terms);
    for regime in terms.filter_map(|term| term.regime.as_ref()) {
        let known = points.names.iter().position(|name| *name == regime.param);
        let (Some(at), Some(param)) = (regime.from, known) else {
            continue;
        };
        let values = points.values(param);
        let above = values.partition_point(|value| *value < at);
        if above > 0 && values.get(above).is_some_and(|value| *value > at) {
            let (gap, gaps) = ([values[above - 1], values[above]], &mut gaps);
            let list = gaps.entry(regime.param.to_string()).or_default();
            if !list.contains(&gap) {
                list.push(gap);
            }
        }
    }
    gaps
}

/// Values of a formula at the points; NaN where it has none.
fn values(formula: &Formula, points: &Points) -> Vec<f64> {
    let value = |i: usize| formula.evaluate(|name| points.number(i, name));
    let values = (0..points.len()).map(value);
    values.map(|value| value.unwrap_or(f64::NAN)).collect()
}

/// Ratio of the time of all calls to their predicted time; 1 if that is undefined. With medians, the measured total
/// is the number of calls times the median, without the excess of disturbed calls. Delays are counted separately.
fn total_ratio(
    predicted_s: &[f64],
    points: &Points,
    statistic: Statistic,
    held_up: Option<&HeldUp>,
) -> f64 {
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        let pairs = predicted_s.iter().zip(&points.all);
        pairs
            .map(|(time_s, all)| all.count as f64 * of(time_s.max(0.0)))
            .sum()
    };
    let delays_s = held_up.map_or(0.0, |held_up| sum(&|time_s| held_up.expected_s(time_s)));
    let predicted_s = sum(&|time_s| time_s);
    let total_s: f64 = match statistic {
        Statistic::Clean | Statistic::Mean => {
            points.all.iter().map(|summary| summary.total_s()).sum()
        }
        Statistic::Median | Statistic::Minimum => {
            let pairs = points.mean_s.iter().zip(&points.all);
            pairs.map(|(time_s, all)| time_s * all.count as f64).sum()
        }
    };
    let ratio = (total_s - delays_s) / predicted_s;
    if ratio.is_finite() && ratio > 0.0 {
        ratio
    } else {
        1.0
    }
}

/// The fitted numbers with their standard errors.
fn coefficients(points: &Points, best: &Candidate) -> Vec<Coefficient> {
    let terms = &best.formula.terms;
    let of_sum = || {
        let constant = (best.coefficients.len() > terms.len())
            .then(|| ("constant".to_owned(), points.per("")));
        constant
            .into_iter()
            .chain(terms.iter().map(|term| term_name(term, points)))
            .collect()
    };
    let names: Vec<(String, String)> = best.names.clone().unwrap_or_else(of_sum);
    let coefficient =
        |(j, ((name, unit), &value)): (usize, (&(String, String), &f64))| Coefficient {
            name: name.clone(),
            value,
            std_error: best
                .covariance
                .as_ref()
                .map(|covariance| covariance.at(j, j).sqrt()),
            unit: unit.clone(),
        };
    names
        .iter()
        .zip(&best.coefficients)
        .enumerate()
        .map(coefficient)
        .collect()
}
