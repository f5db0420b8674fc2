//! Predicts the time of a call that was not measured, with an interval.
//!
//! A model consists of one formula, or of several credible formulas with weights. The predicted time is the value of
//! the formula, or the median of the formulas by weight. The interval is for a single new call and is built in steps:
//!
//! ```text
//! normal distributions        scatter of a call (`sigma`) and uncertainty of the coefficients, one per formula
//!   -> quantiles              of their mixture by weight: formulas that disagree widen the interval
//!   -> drift                  beyond the measured range: errors that formulas made at held-out sizes
//!   -> carried                on another machine: uncertainty of the factor between the machines
//!   -> parameter not varied   x measured at one value only: from 1/x to x³
//!   -> delays                 calls that the machine delayed: upper end only
//! ```
//!
//! Example: `T = 2e-6 + 1e-9 q`, measured for `q` from 1000 to 8000. At `q = 6000` the value is 8e-6 s and the
//! interval is as wide as calls scatter; at `q = 80000` the factor of 10 beyond the range adds drift, and
//! `extrapolated` is set.

use serde::Serialize;

use crate::error::Error;
use crate::error::list;
use crate::families::candidate::Alternative;
use crate::families::note::Note;
use crate::formula::slopes::slopes;
use crate::formula::sum::Formula;
use crate::samples::parameter::{Coordinate, Value};
use crate::select::model::{HeldUp, Model};
use crate::solve::covariance::Covariance;
use crate::solve::likelihood::ROUNDING;
use crate::solve::mixture::{Part, middle, quantile};
use crate::solve::uncertainty::{LEVEL, Uncertainty, student_quantile};

/// Quantile of the normal distribution at the upper end of the interval.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Relative difference of two values up to which they are equal, but for rounding or what no user would notice.
const SAME: f64 = 1e-6;

/// The factor beyond which a prediction contradicts the shown formula, however wide the interval is.
const FAR: f64 = 10.0;

/// A predicted time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// Time of a call that the machine did not delay, seconds, ≥ 0.
    pub value_s: f64,
    /// Mean time of a call, as a summand of the total of many calls: includes delayed calls and calls that were set
    /// aside, at their measured share; seconds, ≥ 0.
    pub mean_s: f64,
    /// Lower end of the interval for one call, seconds, ≥ 0.
    pub lower_s: f64,
    /// Upper end, seconds; infinite (`null` in JSON) where the samples do not determine it.
    pub upper_s: f64,
    /// Probability of the interval, [`LEVEL`].
    pub level: f64,
    /// A parameter lies outside the measured range.
    pub extrapolated: bool,
    /// The formula was negative there and 0 was put in its place: do not rely on it.
    pub clamped: bool,
    /// The value of the shown formula alone, seconds; it may be negative.
    pub shown_s: f64,
    /// Lower end of the interval of the shown formula alone, seconds, ≥ 0.
    pub shown_lower_s: f64,
    /// Upper end.
    pub shown_upper_s: f64,
    /// The value lies outside that interval, or differs from the value of the shown formula by more than a factor of
    /// ten: the formulas that predictions average over contradict the shown one.
    pub contradicts: bool,
    /// The calls that the machine delayed during the measurement; they affect the upper end only. `None` where no
    /// call was delayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_up: Option<HeldUp>,
}

/// Predicts the time of one call.
///
/// The interval is for a single new call: it combines the model's `sigma` at the coordinate, times its
/// `interval_ratio`, with the uncertainty of the coefficients (to first order for a power law). A model with
/// alternatives predicts their median by weight and the quantiles of their mixture, without the alternatives in
/// parameters that the coordinate lacks.
///
/// # Arguments
/// * `coordinate` - every parameter of the formula; others of the method may be left out
///
/// # Errors
/// [`Error::MissingParameter`], [`Error::UnknownParameter`], [`Error::NoMode`] if the coordinate is
/// not one of this model; [`Error::NotFinite`] if the formula has no value there.
pub fn predict(model: &Model, coordinate: &Coordinate) -> Result<Prediction, Error> {
    predict_with(model, coordinate, quantile)
}

/// [`predict`] for sums over many calls. It skips the quantiles of the mixture of formulas, which take nearly all of
/// the time: the ends of that interval are arbitrary finite numbers where the true ends are finite.
///
/// # Errors
/// Those of [`predict`].
pub(crate) fn predict_summand(model: &Model, coordinate: &Coordinate) -> Result<Prediction, Error> {
    predict_with(model, coordinate, |parts, _| {
        parts.first().map_or(0.0, |part| part.mean)
    })
}

/// The value of [`predict`], without its interval: seconds, ≥ 0.
///
/// # Errors
/// Those of [`predict`].
pub fn predict_value_s(model: &Model, coordinate: &Coordinate) -> Result<f64, Error> {
    Ok(predict_summand(model, coordinate)?.value_s)
}

/// # Arguments
/// * `end` - returns an end of the interval of a mixture of formulas, at a probability
fn predict_with(
    model: &Model,
    coordinate: &Coordinate,
    end: impl Fn(&[Part], f64) -> f64,
) -> Result<Prediction, Error> {
    check_names(model, coordinate)?;
    let (shown_s, [shown_lower_s, shown_upper_s]) = alone(model, coordinate, &end)?;
    let (value_s, [lower_s, upper_s]) = if model.alternatives.is_empty() {
        (shown_s, [shown_lower_s, shown_upper_s])
    } else {
        averaged(model, coordinate, &end)?
    };
    let drifted = |value_s, interval| drifted(model, coordinate, value_s, interval);
    let [lower_s, upper_s] = drifted(value_s, [lower_s, upper_s]);
    let [shown_lower_s, shown_upper_s] = drifted(shown_s, [shown_lower_s, shown_upper_s]);
    let [lower_s, upper_s] = unvaried(model, coordinate, [lower_s, upper_s]);
    // A formula that is negative at the coordinate has no information about the time, so the interval has no upper
    // end.
    let is_unknown = model
        .carried
        .as_ref()
        .is_some_and(|of| of.deviation.is_none());
    let lower_s = if is_unknown { 0.0 } else { lower_s };
    let upper_s = match value_s < 0.0 || is_unknown || is_apart(model, coordinate) {
        true => f64::INFINITY,
        false => upper_s,
    };
    let delayed_s = |upper_s: f64, value_s: f64| match &model.held_up {
        Some(held_up) => held_up.upper_s(upper_s, value_s, 0.5 - LEVEL / 2.0),
        None => upper_s,
    };
    let is_inside = (shown_lower_s..=shown_upper_s).contains(&value_s);
    let is_near = (value_s / shown_s - 1.0).abs() < SAME;
    let is_far = value_s > FAR * shown_s || FAR * value_s < shown_s;
    Ok(Prediction {
        value_s: value_s.max(0.0),
        mean_s: model.mean_s(value_s.max(0.0)),
        lower_s: lower_s.max(0.0),
        upper_s: delayed_s(upper_s, value_s).max(0.0),
        level: LEVEL,
        extrapolated: !model.covers(coordinate),
        clamped: value_s < 0.0,
        shown_s,
        shown_lower_s: shown_lower_s.max(0.0),
        shown_upper_s: delayed_s(shown_upper_s, shown_s).max(0.0),
        contradicts: value_s != shown_s && !is_near && (!is_inside || is_far),
        held_up: model.held_up.map(|held_up| held_up.at(value_s)),
    })
}

/// Widens an interval, on the logarithmic scale, by the drift of formulas beyond the range that they were fitted on
/// and by the uncertainty of the factor of another machine.
fn drifted(model: &Model, coordinate: &Coordinate, value_s: f64, interval: [f64; 2]) -> [f64; 2] {
    let [lower_s, upper_s] = interval;
    let of_machine = model.carried.as_ref().and_then(|of| of.deviation);
    let beyond = model.drift * model.drifted(coordinate);
    let drift = NORMAL * beyond.hypot(of_machine.unwrap_or(0.0));
    if drift == 0.0 || value_s <= 0.0 {
        return interval;
    }
    let factor = |ratio: f64| ratio.max(1.0).ln().hypot(drift).exp();
    [
        value_s / factor(value_s / lower_s.max(0.0)),
        value_s * factor(upper_s / value_s),
    ]
}

/// Widens an interval for a parameter that was measured at a single value only. How the time depends on that
/// parameter is unknown: the interval covers everything from inversely proportional to cubic growth, the extremes of
/// the searched forms.
fn unvaried(model: &Model, coordinate: &Coordinate, interval: [f64; 2]) -> [f64; 2] {
    let [mut lower_s, mut upper_s] = interval;
    for (name, &[low, high]) in &model.range {
        let Some(x) = coordinate.number(name).filter(|&x| low == high && x != low) else {
            continue;
        };
        let factor = x / low;
        if !(factor > 0.0 && factor.is_finite()) {
            return [0.0, f64::INFINITY];
        }
        let (falls, rises) = (factor.recip(), factor.powi(3));
        lower_s *= falls.min(rises);
        upper_s *= falls.max(rises);
    }
    [lower_s, upper_s]
}

/// Whether two parameters that were never varied together both differ from their usual values. Their interaction is
/// unknown: a product term that is lost in the noise along either axis may dominate the time there.
fn is_apart(model: &Model, coordinate: &Coordinate) -> bool {
    let beside =
        |(name, usual): &(String, f64)| coordinate.number(name).is_some_and(|x| x != *usual);
    model.notes.iter().any(|note| match note {
        Note::Apart { params } => params.iter().all(beside),
        _ => false,
    })
}

/// Two variants of a formula whose break lies somewhere between two measured values that enclose the coordinate: one
/// breaks below the coordinate and one above, each with its probability. The position of the break is uniform in the
/// logarithm of the parameter.
fn sides(model: &Model, formula: &Formula, coordinate: &Coordinate) -> Option<[(f64, Formula); 2]> {
    let breaks = |param: &str, [low, high]: [f64; 2]| {
        let regimes = formula.terms.iter().filter_map(|term| term.regime.as_ref());
        let starts = regimes.filter(|regime| regime.param == param);
        let mut starts = starts.filter_map(|regime| regime.from);
        starts.any(|at| low < at && at < high)
    };
    let gaps = model.gaps.iter();
    let mut gaps = gaps.flat_map(|(param, list)| list.iter().map(move |gap| (param, *gap)));
    let (param, [low, high], x) = gaps.find_map(|(param, gap)| {
        let x = coordinate.number(param)?;
        (gap[0] < x && x < gap[1] && breaks(param, gap)).then_some((param, gap, x))
    })?;
    let share = match low > 0.0 {
        true => (x / low).ln() / (high / low).ln(),
        false => (x - low) / (high - low),
    };
    let moved = |to: f64| {
        let mut formula = formula.clone();
        let regimes = formula
            .terms
            .iter_mut()
            .filter_map(|term| term.regime.as_mut());
        for regime in regimes.filter(|regime| regime.param == param.as_str()) {
            let ends = regime.from.iter_mut().chain(&mut regime.to);
            ends.filter(|at| low < **at && **at < high)
                .for_each(|at| *at = to);
        }
        formula
    };
    Some([(share, moved(low)), (1.0 - share, moved(high))])
}

/// Value and interval of a model that is one formula.
fn alone(
    model: &Model,
    coordinate: &Coordinate,
    end: &impl Fn(&[Part], f64) -> f64,
) -> Result<(f64, [f64; 2]), Error> {
    let value_s = model.value_s(coordinate)?;
    let half_width_s = |formula: &Formula, value_s: f64| -> Result<f64, Error> {
        let mut uncertainty = Uncertainty::default();
        let deviation_s = call_deviation_s(model, coordinate, value_s)?;
        uncertainty.add(deviation_s * deviation_s, model.freedom.sigma);
        let gradient = slopes(model.family, formula, |name| coordinate.number(name));
        let gradient = gradient.map_err(|name| missing(model, name))?;
        uncertainty.merge(&model.coefficient_uncertainty(&gradient));
        Ok(uncertainty.half_width_s(LEVEL))
    };
    let Some(sides) = sides(model, &model.formula, coordinate) else {
        let (half_s, mean_s) = (half_width_s(&model.formula, value_s)?, value_s.max(0.0));
        return Ok((value_s, [mean_s - half_s, mean_s + half_s]));
    };
    let mut parts = Vec::with_capacity(sides.len());
    for (weight, formula) in sides {
        let mean = evaluate(model, &formula, coordinate)?;
        parts.push(Part {
            weight,
            mean,
            deviation: half_width_s(&formula, mean)? / NORMAL,
        });
    }
    Ok((value_s, interval(&parts, end)))
}

/// Standard deviation of one call for the interval, seconds. Where all calls agree with the formula it is the
/// rounding error, since the same call computed in another order gives another number.
fn call_deviation_s(model: &Model, coordinate: &Coordinate, value_s: f64) -> Result<f64, Error> {
    let deviation_s = model.interval_ratio * model.deviation_s(coordinate)?;
    Ok(deviation_s.max(ROUNDING * value_s.abs()))
}

/// Value and interval of a model that averages over formulas: the median of their predictions and the quantiles of
/// their mixture.
///
/// Each part's Student's t distribution is approximated by the normal distribution with the same 95 % interval. The
/// weights are tempered: raised to the power of one over the model's `design_effect`. The search covers only some of
/// the formulas in several parameters, so outside the range of `m` parameters the formulas' spread about their mean
/// is added again, `m - 1` times.
///
/// # Source
/// J.A. Hoeting, D. Madigan, A.E. Raftery, C.T. Volinsky, Statist. Sci. 14 (1999) 382 (recalled, not
/// looked up).
fn averaged(
    model: &Model,
    coordinate: &Coordinate,
    end: &impl Fn(&[Part], f64) -> f64,
) -> Result<(f64, [f64; 2]), Error> {
    let shown_s = model.value_s(coordinate)?;
    let relative = call_deviation_s(model, coordinate, shown_s)? / shown_s;
    let heavier = |freedom: f64| student_quantile(0.5 + LEVEL / 2.0, freedom.max(1.0)) / NORMAL;
    let (of_call, of_mean) = (
        heavier(model.freedom.sigma),
        heavier(model.freedom.coefficients),
    );
    let mut parts = Vec::with_capacity(model.alternatives.len());
    let mut means = Vec::with_capacity(model.alternatives.len());
    for alternative in &model.alternatives {
        // The coordinate has every parameter of the shown formula; alternatives may use parameters that it lacks.
        let Ok(mean) = model.alternative_s(alternative, coordinate) else {
            continue;
        };
        means.push(Part {
            weight: alternative.weight,
            mean,
            deviation: 0.0,
        });
        let mut push = |share: f64, formula: &Formula| -> Result<(), Error> {
            let mean = evaluate(model, formula, coordinate)?;
            let gradient = slopes(alternative.family, formula, |name| coordinate.number(name));
            let gradient = gradient.map_err(|name| missing(model, name))?;
            let variance = variance(alternative.covariance.as_ref(), &gradient);
            let call = relative * mean * of_call;
            parts.push(Part {
                weight: share * alternative.weight,
                mean,
                deviation: (call * call + variance * of_mean * of_mean).sqrt(),
            });
            Ok(())
        };
        match sides(model, &alternative.formula, coordinate) {
            Some(sides) => sides
                .iter()
                .try_for_each(|(share, side)| push(*share, side))?,
            None => push(1.0, &alternative.formula)?,
        }
    }
    let value_s = middle(&mut means);
    temper(&mut parts, model.design_effect);
    spread(&mut parts, model.n_beyond(coordinate));
    Ok((value_s, interval(&parts, end)))
}

/// The interval of a mixture, without an upper end where a deviation is not known.
fn interval(parts: &[Part], end: &impl Fn(&[Part], f64) -> f64) -> [f64; 2] {
    if !parts.iter().all(|part| part.deviation.is_finite()) {
        return [0.0, f64::INFINITY];
    }
    let tail = 0.5 - LEVEL / 2.0;
    [end(parts, tail), end(parts, 1.0 - tail)]
}

/// Raises the weights to the power of `1 / temperature` and makes them add up to one.
fn temper(parts: &mut [Part], temperature: f64) {
    let power = temperature.recip();
    parts
        .iter_mut()
        .for_each(|part| part.weight = part.weight.powf(power));
    let sum: f64 = parts.iter().map(|part| part.weight).sum();
    parts.iter_mut().for_each(|part| part.weight /= sum);
}

/// Adds the standard deviation of the part means about their common mean to each part, once for each parameter
/// outside its range except the first.
fn spread(parts: &mut [Part], n_beyond: usize) {
    let times = n_beyond.saturating_sub(1) as f64;
    if times == 0.0 {
        return;
    }
    let mean: f64 = parts.iter().map(|part| part.weight * part.mean).sum();
    let squares = parts
        .iter()
        .map(|part| part.weight * (part.mean - mean).powi(2));
    let deviation = times * squares.sum::<f64>().sqrt();
    parts
        .iter_mut()
        .for_each(|part| part.deviation = part.deviation.hypot(deviation));
}

/// `gᵀ C g`, infinite without `C`.
fn variance(covariance: Option<&Covariance>, gradient: &[f64]) -> f64 {
    covariance.map_or(f64::INFINITY, |covariance| covariance.variance(gradient))
}

impl Model {
    /// Value of the formula, seconds; it may be negative.
    fn value_s(&self, coordinate: &Coordinate) -> Result<f64, Error> {
        let value = evaluate(self, &self.formula, coordinate)?;
        if value.is_finite() {
            return Ok(value);
        }
        let (method, coordinate) = (self.method.clone(), coordinate.to_string());
        Err(Error::NotFinite {
            method,
            value,
            coordinate,
        })
    }

    /// Value of an alternative, seconds; it may be negative.
    pub fn alternative_s(
        &self,
        alternative: &Alternative,
        coordinate: &Coordinate,
    ) -> Result<f64, Error> {
        evaluate(self, &alternative.formula, coordinate)
    }

    /// Standard deviation of one call about the formula, seconds, ≥ 0; infinite where unknown.
    ///
    /// Outside the measured range it is the same share of the time as at the nearest point inside.
    ///
    /// # Errors
    /// [`Error::MissingParameter`].
    pub fn deviation_s(&self, coordinate: &Coordinate) -> Result<f64, Error> {
        let Some(sigma) = &self.sigma else {
            return Ok(f64::INFINITY);
        };
        if self.covers(coordinate) {
            return Ok(evaluate(self, sigma, coordinate)?.max(0.0));
        }
        let nearest = self.nearest(coordinate);
        let deviation_s = evaluate(self, sigma, &nearest)?.max(0.0);
        let here_s = evaluate(self, &self.formula, coordinate)?.max(0.0);
        let there_s = evaluate(self, &self.formula, &nearest)?;
        let grown = here_s / there_s;
        Ok(if there_s > 0.0 && grown.is_finite() {
            deviation_s * grown
        } else {
            deviation_s
        })
    }

    /// Logarithm of the factor beyond the measured range. With several parameters, the root of the sum of squares,
    /// since drift along one parameter does not depend on drift along another.
    fn drifted(&self, coordinate: &Coordinate) -> f64 {
        let squares = self.factors_beyond(coordinate).map(|d| d.ln().powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// The factor beyond the range of each parameter, ≥ 1.
    fn factors_beyond(&self, coordinate: &Coordinate) -> impl Iterator<Item = f64> {
        let beyond = |(name, [low, high]): (&String, &[f64; 2])| {
            let x = coordinate.number(name).unwrap_or(*low);
            let far = if *low > 0.0 && x > 0.0 {
                (x / high).max(low / x)
            } else {
                1.0 + (x - high).max(low - x) / (high - low)
            };
            // NaN or infinite if the parameter was measured at one value only.
            if far.is_finite() { far.max(1.0) } else { 1.0 }
        };
        self.range.iter().map(beyond)
    }

    /// Parameters that lie outside the measured range.
    fn n_beyond(&self, coordinate: &Coordinate) -> usize {
        let beyond = |(name, [low, high]): &(&String, &[f64; 2])| {
            let x = coordinate.number(name);
            x.is_some_and(|x| !(*low..=*high).contains(&x))
        };
        self.range.iter().filter(beyond).count()
    }

    /// The nearest coordinate in the measured range.
    fn nearest(&self, coordinate: &Coordinate) -> Coordinate {
        let mut nearest = coordinate.clone();
        for (name, value) in &mut nearest.values {
            if let (Value::Number(x), Some([low, high])) = (value, self.range.get(name)) {
                *x = x.max(*low).min(*high);
            }
        }
        nearest
    }

    /// Derivatives of the time by each of `coefficients`, shape `[n_coefficients]`.
    ///
    /// The sum of the gradients of several calls is the gradient of their total time.
    ///
    /// # Errors
    /// [`Error::MissingParameter`].
    pub fn gradient(&self, coordinate: &Coordinate) -> Result<Vec<f64>, Error> {
        slopes(self.family, &self.formula, |name| coordinate.number(name))
            .map_err(|name| missing(self, name))
    }

    /// Uncertainty that the coefficients bring into a time.
    ///
    /// # Arguments
    /// * `gradient` - of that time by the coefficients, shape `[n_coefficients]`
    pub fn coefficient_uncertainty(&self, gradient: &[f64]) -> Uncertainty {
        let variance = variance(self.covariance.as_ref(), gradient);
        let mut uncertainty = Uncertainty::default();
        uncertainty.add(variance, self.freedom.coefficients);
        uncertainty
    }

    /// Whether every parameter given lies in the measured range.
    pub fn covers(&self, coordinate: &Coordinate) -> bool {
        let inside = |(name, [low, high]): (&String, &[f64; 2])| {
            coordinate
                .number(name)
                .is_none_or(|x| (*low..=*high).contains(&x))
        };
        self.range.iter().all(inside)
    }
}

fn evaluate(model: &Model, formula: &Formula, coordinate: &Coordinate) -> Result<f64, Error> {
    formula
        .evaluate(|name| coordinate.number(name))
        .map_err(|name| missing(model, name))
}

fn missing(model: &Model, parameter: &str) -> Error {
    Error::MissingParameter {
        method: model.method.clone(),
        parameter: parameter.into(),
    }
}

/// Checks that every name of the coordinate is a parameter of the model and that its labels select the model's mode.
fn check_names(model: &Model, coordinate: &Coordinate) -> Result<(), Error> {
    let known = |name: &String| {
        model.params.contains(name)
            || model.mode.contains_key(name)
            || model.shared.contains_key(name)
    };
    if let Some(parameter) = coordinate.values.keys().find(|name| !known(name)) {
        return Err(Error::UnknownParameter {
            method: model.method.clone(),
            parameter: parameter.clone(),
            known: list(
                model
                    .params
                    .iter()
                    .chain(model.mode.keys())
                    .chain(model.shared.keys())
                    .cloned(),
            ),
        });
    }
    if model.matches(coordinate) {
        return Ok(());
    }
    Err(Error::NoMode {
        method: model.method.clone(),
        found: coordinate.to_string(),
        known: model.labels(),
    })
}

/// Evaluates a model many times, as a simulation does: the value of [`predict`] without its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    parts: Vec<(f64, Formula)>,
}

impl Predictor {
    /// The predictor of a model, without the alternatives in parameters that are not `given`, as in [`predict`].
    pub fn new(model: &Model, given: impl Fn(&str) -> bool) -> Self {
        let known = |formula: &Formula| formula.params().into_iter().all(&given);
        let alternatives = model.alternatives.iter().filter(|a| known(&a.formula));
        let mut parts: Vec<(f64, Formula)> = alternatives
            .map(|alternative| (alternative.weight, alternative.formula.clone()))
            .collect();
        if parts.is_empty() {
            parts.push((1.0, model.formula.clone()));
        }
        Self { parts }
    }

    /// The value, seconds; it may be negative.
    ///
    /// # Errors
    /// The name of a parameter that has no number.
    pub fn evaluate(&self, number: impl Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        if let [(_, formula)] = self.parts.as_slice() {
            return formula.evaluate(number);
        }
        let part = |(weight, formula): &'_ (f64, Formula)| {
            let mean = formula.evaluate(&number).unwrap_or(f64::NAN);
            Part {
                weight: *weight,
                mean,
                deviation: 0.0,
            }
        };
        Ok(middle(&mut self.parts.iter().map(part).collect::<Vec<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_say_less_make_formulas_more_alike() {
        let part = |weight| Part {
            weight,
            mean: 1.0,
            deviation: 1.0,
        };
        let mut parts = [0.9, 0.1].map(part);
        temper(&mut parts, 2.0);
        assert!(
            (parts[0].weight - 0.75).abs() < 1e-12,
            "{}",
            parts[0].weight
        );
    }
}
