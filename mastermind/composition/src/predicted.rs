//! Predicted time of a set of calls by one class.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::{
    Coordinate, Error as ModelError, LEVEL, Model, ModelSet, Total, Uncertainty,
};

use crate::beyond::Beyond;
use crate::error::{Error, Lacking};
use crate::interaction::{RunTimes, SiteTime};
use crate::score::Seconds;
use crate::workload::{Call, Workload, model_name};

/// Time of all calls of an instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Predicted {
    /// Seconds.
    pub time_s: f64,
    /// The part of it that delays of interrupted calls cause.
    pub held_up_s: f64,
    /// Its uncertainty, without that of the calls of `unknown`.
    pub uncertainty: Uncertainty,
    /// Models without an estimate of the spread of calls, such as those of a method that was called once.
    pub unknown: BTreeSet<String>,
    /// Predicted time of their calls, seconds.
    pub unknown_s: f64,
    /// A call lies outside the measured range of its model.
    pub extrapolated: bool,
    /// A model was negative at a call, which counted as 0.
    pub clamped: bool,
    /// A bound replaced a formula outside the measured range.
    pub bounded: bool,
}

impl Predicted {
    /// Adds the time of further calls, predicted by other models.
    pub fn merge(&mut self, other: &Self) {
        self.time_s += other.time_s;
        self.held_up_s += other.held_up_s;
        self.uncertainty.merge(&other.uncertainty);
        self.unknown.extend(other.unknown.iter().cloned());
        self.unknown_s += other.unknown_s;
        self.extrapolated |= other.extrapolated;
        self.clamped |= other.clamped;
        self.bounded |= other.bounded;
    }

    /// Multiplies the time by a factor near 1; the relative uncertainty stays.
    pub fn scale(&mut self, factor: f64) {
        self.time_s *= factor;
        self.held_up_s *= factor;
        self.unknown_s *= factor;
    }

    /// 95 % interval of all calls, seconds, the lower end ≥ 0; the upper end is infinite where the spread of some is
    /// unknown.
    pub fn whole_interval_s(&self) -> [f64; 2] {
        match self.unknown.is_empty() {
            true => self.interval_s(),
            false => [0.0, f64::INFINITY],
        }
    }

    /// 95 % interval, seconds, the lower end ≥ 0; calls of unknown spread count exactly with their prediction.
    pub fn interval_s(&self) -> [f64; 2] {
        let half_s = self.uncertainty.half_width_s(LEVEL);
        [(self.time_s - half_s).max(0.0), self.time_s + half_s]
    }
}

/// Predicts the time of `calls`, each with its count, if `class` answers them.
///
/// `Σ count · T(coordinate)`, bounded outside the measured sizes (`beyond`). The uncertainty of the calls of one model
/// is that of [`Total`]; models are independent of one another.
///
/// # Errors
/// [`Error::Predict`] if a model has other parameters than the calls. Missing models are added to `lacking`, and their
/// calls are left out.
pub(crate) fn predict_calls<'c>(
    class: &str,
    calls: impl IntoIterator<Item = (&'c Call, f64)>,
    workload: &Workload,
    models: &ModelSet,
    lacking: &mut Vec<Lacking>,
) -> Result<Predicted, Error> {
    let mut total = Predicted::default();
    let mut totals: BTreeMap<(String, Vec<(String, String)>), Share<'_>> = BTreeMap::new();
    for (call, count) in calls {
        let name = model_name(class, &call.port_method);
        let model = match models.find(&name, workload.metric.clone(), &call.coordinate) {
            Ok(model) => model,
            Err(error) => {
                lacking.push(lack(class, call, &error));
                continue;
            }
        };
        let mode = model.mode.iter();
        let mode = mode.map(|(k, v)| (k.clone(), v.clone())).collect();
        let share = totals.entry((name, mode));
        let share = share.or_insert_with(|| Share::new(model));
        share
            .add(&call.coordinate, count)
            .map_err(|source| Error::Predict {
                instance: call.instance.clone(),
                class: class.into(),
                port_method: call.port_method.clone(),
                source: Box::new(source),
            })?;
    }
    for (
        (name, _),
        Share {
            total: share,
            beyond_s,
            extrapolated,
            bounded,
            ..
        },
    ) in &totals
    {
        total.time_s += share.time_s();
        total.held_up_s += share.held_up_s();
        let mut uncertainty = share.uncertainty();
        // All these calls share one formula, so their errors are fully correlated.
        uncertainty.add(beyond_s * beyond_s, f64::INFINITY);
        total.extrapolated |= extrapolated;
        total.bounded |= bounded;
        if uncertainty.variance_s2().is_finite() {
            total.uncertainty.merge(&uncertainty);
        } else {
            total.unknown.insert(name.clone());
            total.unknown_s += share.time_s();
        }
        total.clamped |= share.clamped();
    }
    Ok(total)
}

/// The calls of one model.
struct Share<'a> {
    model: &'a Model,
    total: Total<'a>,
    /// Standard deviation of the calls outside the measured range, seconds.
    beyond_s: f64,
    extrapolated: bool,
    bounded: bool,
}

impl<'a> Share<'a> {
    fn new(model: &'a Model) -> Self {
        Self {
            model,
            total: Total::new(model),
            beyond_s: 0.0,
            extrapolated: false,
            bounded: false,
        }
    }

    fn add(&mut self, coordinate: &Coordinate, count: f64) -> Result<(), ModelError> {
        if self.model.covers(coordinate) {
            return self.total.add(coordinate, count);
        }
        let beyond = Beyond::of(self.model, coordinate)?;
        self.extrapolated = true;
        self.bounded |= beyond.bounded;
        self.beyond_s += count * beyond.deviation_s;
        self.total.add(&beyond.nearest, count * beyond.calls)
    }
}

/// Predicted computing time of a run, each call with the class that answered it, seconds. Calls without a model count
/// with their measured time.
///
/// # Arguments
/// * `seconds` - which seconds the models predict
///
/// # Errors
/// [`Error::Predict`] if a model has other parameters than the calls.
pub fn predict_recorded_s(
    workload: &Workload,
    models: &ModelSet,
    seconds: Seconds,
) -> Result<f64, Error> {
    let mut sum_s = 0.0;
    for call in &workload.calls {
        let mut lacking = Vec::new();
        let predicted = predict_calls(
            &call.class,
            [call.counted()],
            workload,
            models,
            &mut lacking,
        )?;
        sum_s += match lacking.is_empty() {
            true => predicted.time_s,
            false => call.recorded().computation_of(seconds),
        };
    }
    Ok(sum_s)
}

/// For each instance of a run, the measured time divided by the model's prediction for the run's own calls, so that
/// their number and parameters cancel. Instances without a model are left out.
///
/// # Errors
/// [`Error::Predict`] if a model has other parameters than the calls.
pub fn times_over_predicted(workload: &Workload, models: &ModelSet) -> Result<RunTimes, Error> {
    let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in workload.calls.iter().filter(|call| call.count > 0) {
        calls.entry(&call.instance).or_default().push(call);
    }
    let seconds = Seconds::predicted_by(models);
    let mut times = RunTimes::new();
    for (instance, calls) in calls {
        let class = &calls[0].class;
        let mut lacking = Vec::new();
        let counted = calls.iter().map(|call| call.counted());
        let predicted = predict_calls(class, counted, workload, models, &mut lacking)?;
        let taken_s: f64 = calls.iter().map(|call| call.recorded().of(seconds)).sum();
        if lacking.is_empty() && predicted.time_s > 0.0 {
            let time = SiteTime {
                class: class.clone(),
                ratio: taken_s / predicted.time_s,
            };
            times.insert(instance.to_owned(), time);
        }
    }
    Ok(times)
}

fn lack(class: &str, call: &Call, error: &ModelError) -> Lacking {
    Lacking {
        instance: call.instance.clone(),
        class: class.into(),
        port_method: call.port_method.clone(),
        mode: match error {
            ModelError::NoMode { found, .. } => found.clone(),
            _ => String::new(),
        },
    }
}
