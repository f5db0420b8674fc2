//! A fitted model and a set of models, as they are stored.
//!
//! A [`Model`] describes one method in one mode, that is, one combination of the enumeration parameters that matter.
//! It contains the shown formula, the alternatives that predictions average over, the standard deviation of a call,
//! and what was measured: range, number of calls, notes. A [`ModelSet`] is read from and written to JSON; reading it
//! back gives equal models, to the bit.
//!
//! ```text
//! { "models": [ { "method": "line", ..., "expression": "2 + 0.03 * n", ..., "range": { "n": [100, 1600] }, ... } ] }
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::error::{Error, list};
use crate::families::candidate::Alternative;
use crate::families::note::Note;
use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::metric::Metric;
use crate::samples::parameter::{Coordinate, Value};
use crate::select::carried::Carried;
use crate::select::layout::ListDocument;
use crate::solve::covariance::Covariance;

/// Bytes of JSON per write.
const PIECE_BYTES: usize = 1 << 16;

/// A fitted number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// What it multiplies: a parameter, or the constant.
    #[serde(default)]
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error; `None` if the samples do not determine it.
    pub std_error: Option<f64>,
    /// Unit of both.
    pub unit: String,
}

/// Degrees of freedom behind the two parts of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Freedom {
    /// Of the covariance of the coefficients.
    pub coefficients: f64,
    /// Of the standard deviation of one call.
    pub sigma: f64,
}

/// Calls that the machine delayed during the measurement: the formula excludes them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldUp {
    /// Their share of the calls, 0 to 1.
    pub share: f64,
    /// Their mean delay, seconds.
    pub mean_s: f64,
    /// The delay that half of them exceed, seconds: of a log-logistic distribution of shape 2.
    pub median_s: f64,
    /// Variance that they add to the time of any call, s².
    #[serde(default)]
    pub variance_s2: f64,
    /// Time of the clean call that the delays refer to, seconds, if they are proportional to it; `None` if they do
    /// not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_s: Option<f64>,
    /// Ratio of a delayed call's time to a clean one's, if it is the same for all: the machine has two speeds. `None`
    /// if delays differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slower: Option<f64>,
    /// Delays per call, independent of its time; `per_second` are those per second of clean call time, 1/s.
    #[serde(default)]
    pub per_call: f64,
    /// See `per_call`.
    #[serde(default)]
    pub per_second: f64,
}

impl HeldUp {
    /// The delays of a clean call that takes a time, seconds.
    pub(crate) fn at(self, time_s: f64) -> Self {
        let share = self.n_delays(time_s).min(1.0);
        let Some(of_s) = self.of_s else {
            return Self {
                share,
                variance_s2: self.variance_s2 * share / self.share,
                ..self
            };
        };
        let ratio = (time_s / of_s).max(0.0);
        Self {
            share,
            mean_s: self.mean_s * ratio,
            median_s: self.median_s * ratio,
            variance_s2: self.variance_s2 * ratio * ratio,
            of_s: Some(time_s),
            ..self
        }
    }

    /// Expected number of delays of a call with a clean time, seconds.
    pub fn n_delays(&self, time_s: f64) -> f64 {
        self.per_call + self.per_second * time_s.max(0.0)
    }

    /// Expected delay of a call with a clean time, both in seconds.
    pub fn expected_s(&self, time_s: f64) -> f64 {
        self.n_delays(time_s) * self.at(time_s).mean_s
    }

    /// The note that reports the delays.
    pub(crate) fn note(&self) -> Note {
        let percent = 100.0 * self.share;
        match self.slower {
            Some(slower) => Note::TwoSpeeds { percent, slower },
            None => Note::HeldUp {
                percent,
                mean_s: self.mean_s,
            },
        }
    }

    /// Upper end of the interval for a call with delays, from that of clean calls, all in seconds.
    pub(crate) fn upper_s(&self, upper_s: f64, time_s: f64, above: f64) -> f64 {
        let held_up = self.at(time_s);
        match self.slower {
            Some(slower) if held_up.share > above => slower * upper_s,
            Some(_) => upper_s,
            None => upper_s.max(time_s + held_up.delay_s(above)),
        }
    }

    /// The delay that a share `above` of all calls exceeds, seconds, ≥ 0.
    fn delay_s(&self, above: f64) -> f64 {
        self.median_s * (self.share / above - 1.0).max(0.0).sqrt()
    }
}

/// The time of one call of a method in one mode, as a function of its numeric parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The method, `CLASS::PORT.METHOD`.
    pub method: String,
    /// What is modelled.
    pub metric: Metric,
    /// Values of the enumeration parameters it holds for: the mode.
    #[serde(rename = "where", default)]
    pub mode: BTreeMap<String, String>,
    /// Enumeration parameters that make no difference, and their labels: it holds for each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<String, Vec<String>>,
    /// The form.
    pub family: Family,
    /// Numeric parameters of the method, in the formula or not.
    pub params: Vec<String>,
    /// The formula as text, seconds.
    pub expression: String,
    /// Mean time of a call, seconds: `constant` and `terms`.
    #[serde(flatten)]
    pub formula: Formula,
    /// The fitted numbers: the constant where the family has one, then one for each term; of `ln T`
    /// for a power law or an exponential; the unknowns of a written formula in the order of their names.
    pub coefficients: Vec<Coefficient>,
    /// Covariance of `coefficients`; `None` if the samples do not determine it.
    #[serde(default)]
    pub covariance: Option<Covariance>,
    /// Error over the samples, per cent, 0 to 200, weighted by calls.
    pub smape: f64,
    /// Share of the variance between coordinates that is explained; `None` where there is none.
    pub r2: Option<f64>,
    /// The same, adjusted for the coefficients; `None` without a coordinate to spare.
    #[serde(default)]
    pub r2_adjusted: Option<f64>,
    /// Akaike's criterion, corrected for few coordinates; comparable within one method and mode.
    pub aicc: Option<f64>,
    /// Schwarz's criterion; comparable within one method and mode.
    #[serde(default)]
    pub bic: Option<f64>,
    /// As `smape`, with each coordinate predicted from the others; `None` without a spare one.
    pub cv_smape: Option<f64>,
    /// Smallest and largest value measured of each numeric parameter.
    pub range: BTreeMap<String, [f64; 2]>,
    /// Standard deviation of one call about the formula, seconds, within the range; beyond it, the deviation is the
    /// same share of the time as at the border. `None` if the samples do not determine it.
    pub sigma: Option<Formula>,
    /// Form of `sigma`.
    #[serde(default)]
    pub sigma_family: Option<Family>,
    /// Ratio of the interval's half-width to that of normal calls with `sigma`, so that it covers its level of
    /// held-out calls, or of few sizes as the shape of their scatter requires; 1 if there are too few calls.
    #[serde(default = "one")]
    pub interval_ratio: f64,
    /// Ratio of the time of all fitted calls, including those set aside but without delays, to their predicted time;
    /// totals of many calls are multiplied by it.
    #[serde(default = "one")]
    pub total_ratio: f64,
    /// Number of points that carry the information of one independent point, ≥ 1, since points that share a value of
    /// a parameter share an error. The covariances include it; intervals raise the weights of `alternatives` to the
    /// power of its inverse.
    #[serde(default = "one")]
    pub design_effect: f64,
    /// Standard deviation of the logarithm of the time over the prediction, for each factor of e beyond the range: what is expected,
    /// corrected by the errors at the largest sizes, predicted from smaller ones. 0 for a user's formula and one that meets all points.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: f64,
    /// Pairs of neighbouring measured values between which a formula breaks, by parameter; the exact position is
    /// unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gaps: BTreeMap<String, Vec<[f64; 2]>>,
    /// The delayed calls; `None` if plain scatter explains the calls as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_up: Option<HeldUp>,
    /// Degrees of freedom.
    #[serde(default)]
    pub freedom: Freedom,
    /// Formulas that predictions average over, the shown one first; empty if the shown formula is the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// Distinct coordinates fitted.
    #[serde(default)]
    pub n_points: usize,
    /// Calls fitted.
    #[serde(default)]
    pub n_records: u64,
    /// Calls of the method, all modes, that were refused as samples.
    #[serde(default)]
    pub n_refused: u64,
    /// Origin of the model, if it was carried over from another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
    /// Warnings and remarks about the fit.
    #[serde(default)]
    pub notes: Vec<Note>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn one() -> f64 {
    1.0
}

impl Model {
    /// Weight of the shown formula among those that predictions average over, 0 to 1; 1 if it is the only one.
    pub fn weight(&self) -> f64 {
        self.alternatives.first().map_or(1.0, |first| first.weight)
    }

    /// Mean time of a call with a predicted clean time, seconds, ≥ 0: includes delayed calls and calls that were set
    /// aside, at their measured share. Totals over calls sum this value.
    pub fn mean_s(&self, predicted_s: f64) -> f64 {
        self.total_ratio * predicted_s + self.delays_s(predicted_s)
    }

    /// The part of the mean that delays take, seconds.
    pub(crate) fn delays_s(&self, predicted_s: f64) -> f64 {
        let of = |held_up: &HeldUp| held_up.expected_s(predicted_s);
        self.held_up.as_ref().map_or(0.0, of)
    }

    /// Whether the labels of `coordinate` are those of this model's mode.
    pub fn matches(&self, coordinate: &Coordinate) -> bool {
        let mut told = self.mode.iter();
        let mut shared = self.shared.iter();
        told.all(|(name, label)| coordinate.label(name) == Some(label))
            && shared.all(|(name, labels)| match coordinate.values.get(name) {
                Some(Value::Label(label)) => labels.contains(label),
                Some(Value::Number(_)) => false,
                None => true,
            })
    }

    /// The labels that the model applies to: `axis=x, level=0|1`.
    pub(crate) fn labels(&self) -> String {
        let told = self
            .mode
            .iter()
            .map(|(name, label)| format!("{name}={label}"));
        let shared = self.shared.iter();
        let shared = shared.map(|(name, labels)| format!("{name}={}", labels.join("|")));
        list(told.chain(shared))
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |found: String, expected: &str| {
            let expected = expected.to_owned();
            Err(Error::Inconsistent {
                method: self.method.clone(),
                found,
                expected,
            })
        };
        let n = self.coefficients.len();
        let wanted = n_coefficients(self.family, &self.formula);
        if n != wanted {
            return wrong(format!("{n} coefficients"), &format!("{wanted}"));
        }
        if !(self.total_ratio.is_finite() && self.total_ratio > 0.0) {
            return wrong(
                format!("a ratio of totals of {}", self.total_ratio),
                "one above 0",
            );
        }
        if !(self.interval_ratio.is_finite() && self.interval_ratio > 0.0) {
            return wrong(
                format!("a ratio of intervals of {}", self.interval_ratio),
                "one above 0",
            );
        }
        let deviation = self.carried.as_ref().and_then(|of| of.deviation);
        if deviation.is_some_and(|of| !(of.is_finite() && of >= 0.0)) {
            return wrong("a deviation that is not finite".into(), "one of 0 or more");
        }
        if !self.formula.is_finite() || !self.sigma.iter().all(Formula::is_finite) {
            return wrong("a number that is not finite".into(), "finite ones");
        }
        if !self.covariance.iter().all(|c| c.size() == n) {
            return wrong(
                "a covariance of another size".into(),
                &format!("{n} by {n}"),
            );
        }
        for alternative in &self.alternatives {
            let n = n_coefficients(alternative.family, &alternative.formula);
            if !alternative.formula.is_finite() || !(0.0..=1.0).contains(&alternative.weight) {
                return wrong("an alternative that is not finite".into(), "finite ones");
            }
            if !alternative.covariance.iter().all(|c| c.size() == n) {
                return wrong(
                    "an alternative's covariance of another size".into(),
                    &format!("{n} by {n}"),
                );
            }
        }
        match self.range.iter().find(|(_, [low, high])| low > high) {
            Some((name, _)) => wrong(format!("an empty range of \"{name}\""), "low, then high"),
            None => Ok(()),
        }
    }
}

/// Number of coefficients of a formula of a family.
pub(crate) fn n_coefficients(family: Family, formula: &Formula) -> usize {
    match family {
        Family::PowerLaw | Family::Exponential => {
            1 + formula.terms.first().map_or(0, |term| term.factors.len())
        }
        Family::Regimes | Family::Curve => formula.terms.len(),
        Family::Written => formula.written.as_ref().map_or(0, |w| w.values().len()),
        _ => 1 + formula.terms.len(),
    }
}

/// Models of any number of methods.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelSet {
    /// The models.
    pub models: Vec<Model>,
}

impl ModelSet {
    /// The same models without alternatives: predictions use the shown formulas only.
    #[must_use]
    pub fn shown_alone(mut self) -> Self {
        self.models
            .iter_mut()
            .for_each(|model| model.alternatives.clear());
        self
    }

    /// Reads the text that [`ModelSet::to_json`] writes.
    ///
    /// # Errors
    /// [`Error::Json`] if it is not of that form, [`Error::Inconsistent`] if a model contradicts
    /// itself.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let set: Self = serde_json::from_str(text)?;
        set.models.iter().try_for_each(Model::check)?;
        Ok(set)
    }

    /// The models as JSON; reading it back gives equal models, to the bit.
    ///
    /// # Errors
    /// [`Error::Json`] if a name cannot be written, which does not happen for text.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut document = ListDocument::new("models")?;
        let mut models = self.models.iter();
        models.try_for_each(|model| document.push(model))?;
        let text = String::from_utf8(document.finish()?);
        let custom = <serde_json::Error as serde::ser::Error>::custom;
        Ok(text.map_err(custom)?)
    }

    /// The model of `method` and `metric` for the mode that `coordinate` names.
    ///
    /// # Errors
    /// [`Error::NoModel`] if the method has none for the metric, [`Error::NoMode`] if it has none
    /// for the mode, [`Error::NoLabel`] if the coordinate names no mode where there are several.
    pub fn find(
        &self,
        method: &str,
        metric: Metric,
        coordinate: &Coordinate,
    ) -> Result<&Model, Error> {
        let named = |model: &&Model| model.method == method && model.metric == metric;
        let models: Vec<&Model> = self.models.iter().filter(named).collect();
        if models.is_empty() {
            return Err(self.no_model(method, metric));
        }
        let found = models.iter().find(|model| model.matches(coordinate));
        found.copied().ok_or_else(|| no_mode(&models, coordinate))
    }

    fn no_model(&self, method: &str, metric: Metric) -> Error {
        let of_metric = self.models.iter().filter(|model| model.metric == metric);
        let known: BTreeSet<String> = of_metric.map(|model| model.method.clone()).collect();
        Error::NoModel {
            method: method.into(),
            metric,
            known: list(known.into_iter()),
        }
    }
}

/// Writes what [`ModelSet::to_json`] returns, and a line end, one model at a time, so that no set is needed in
/// memory.
pub struct ModelWriter {
    document: ListDocument,
    out: Box<dyn Write + Send>,
}

impl ModelWriter {
    /// A document without a model.
    ///
    /// # Errors
    /// As [`ModelSet::to_json`].
    pub fn new(out: Box<dyn Write + Send>) -> Result<Self, Error> {
        let document = ListDocument::new("models")?;
        Ok(Self { document, out })
    }

    /// Adds a model.
    ///
    /// # Errors
    /// [`Error::Json`], also if `out` cannot be written.
    pub fn push(&mut self, model: &Model) -> Result<(), Error> {
        self.document.push(model)?;
        let text = self.document.text();
        if text.len() >= PIECE_BYTES {
            self.out.write_all(text).map_err(serde_json::Error::io)?;
            text.clear();
        }
        Ok(())
    }

    /// Ends the document.
    ///
    /// # Errors
    /// As [`ModelWriter::push`].
    pub fn finish(mut self) -> Result<(), Error> {
        let mut rest = self.document.finish()?;
        rest.push(b'\n');
        let written = self.out.write_all(&rest).and_then(|()| self.out.flush());
        Ok(written.map_err(serde_json::Error::io)?)
    }
}

/// The error for a method that has models, but none for the mode of `coordinate`.
fn no_mode(models: &[&Model], coordinate: &Coordinate) -> Error {
    let known: Vec<String> = models.iter().map(|model| model.labels()).collect();
    let labels = coordinate.values.iter();
    let labels = labels.filter(|(name, _)| coordinate.label(name).is_some());
    let labels: Vec<String> = labels
        .map(|(name, label)| format!("{name}={label}"))
        .collect();
    let (method, known) = (models[0].method.clone(), known.join(" or "));
    if labels.is_empty() {
        return Error::NoLabel { method, known };
    }
    Error::NoMode {
        method,
        found: list(labels.into_iter()),
        known,
    }
}
