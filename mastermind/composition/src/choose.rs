//! The best assembly for a workload.

use std::collections::BTreeMap;

use mastermind_models::ModelSet;
use num_bigint::BigUint;
use serde::Serialize;

use crate::error::{Error, Lacking};
use crate::predicted::{Predicted, predict_calls};
use crate::workload::{Alternatives, Assembly, Call, Workload};

/// The best assembly, and what the others would take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Number of assemblies that the alternatives allow, `∏ Cᵢ`, in decimal digits: exact.
    pub assemblies: String,
    /// Predictions that were needed to know the best of them: classes of instances, `Σ Cᵢ`.
    pub evaluated: usize,
    /// Class of each instance of the best assembly.
    pub best: Assembly,
    /// Predicted time of the recorded calls in the best assembly, seconds.
    pub predicted_s: f64,
    /// The same in the current assembly, seconds.
    pub current_s: f64,
    /// 95 % interval of `predicted_s`, seconds; its upper end infinite (`null` in JSON) where a
    /// model does not tell.
    pub interval_s: [f64; 2],
    /// What was left out of the search: nothing, since it is exact.
    pub pruned: Vec<String>,
    /// One row for each class of each instance that was called, instances ascending, the classes
    /// in the order of the alternatives.
    pub instances: Vec<Row>,
}

/// One class in the place of one instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The instance.
    pub instance: String,
    /// The class.
    pub class: String,
    /// The best assembly has this class there.
    pub chosen: bool,
    /// The current assembly has this class there.
    pub current: bool,
    /// Recorded calls of the instance.
    pub calls: u64,
    /// Predicted time of these calls by this class, seconds.
    pub predicted_s: f64,
    /// 95 % interval of `predicted_s`, seconds.
    pub interval_s: [f64; 2],
    /// Measured time, seconds, where all these calls were recorded with this class.
    pub measured_s: Option<f64>,
    /// A call lies outside the range that the class was measured in.
    pub extrapolated: bool,
    /// The class's model was negative at a call; a class without this flag is preferred.
    pub clamped: bool,
    /// There is no model, and `predicted_s` is what was measured: an instance without alternatives.
    pub measured_only: bool,
}

/// Chooses the class of each instance so that the predicted time of the workload is smallest.
///
/// The time of an assembly is `Σ count · T(class of the instance, coordinate)` over the recorded
/// calls. It is a sum over instances, each of its own class only, so the best class of each instance
/// by itself makes the best of all `∏ Cᵢ` assemblies: exact, nothing pruned. The current class of an
/// instance is one of its candidates, listed or not. Of equal ones the current, then the first
/// listed is taken.
///
/// # Arguments
/// * `workload` - recorded calls; instances without any do not count, and keep their class
/// * `alternatives` - classes for some instances of `current`; the others keep theirs
/// * `current` - the assembly as it stands
/// * `models` - a model for each candidate class, method and mode called
///
/// # Errors
/// [`Error::UnknownInstance`]; [`Error::Lacking`] with every model that is missing. An instance
/// without alternatives may lack its model if it was recorded with its current class: it then counts
/// as measured.
pub fn choose(
    workload: &Workload,
    alternatives: &Alternatives,
    current: &Assembly,
    models: &ModelSet,
) -> Result<Choice, Error> {
    let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &workload.calls {
        calls.entry(&call.instance).or_default().push(call);
    }
    for instance in alternatives
        .keys()
        .map(String::as_str)
        .chain(calls.keys().copied())
    {
        check_known(instance, current)?;
    }
    let mut lacking = Vec::new();
    let mut tally = Tally::default();
    let mut best = current.clone();
    for (instance, calls) in calls {
        let place = Place {
            instance,
            current: &current[instance],
            calls: &calls,
        };
        let classes = candidates(alternatives.get(instance), place.current);
        let rows = place.rows(&classes, workload, models, &mut lacking)?;
        if let Some(class) = tally.take(rows) {
            best.insert(instance.into(), class);
        }
    }
    if !lacking.is_empty() {
        lacking.sort();
        lacking.dedup();
        return Err(Error::Lacking(lacking));
    }
    let assemblies = count(alternatives, current).to_string();
    Ok(tally.choice(assemblies, best))
}

fn check_known(instance: &str, current: &Assembly) -> Result<(), Error> {
    if current.contains_key(instance) {
        return Ok(());
    }
    let known = current
        .keys()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    Err(Error::UnknownInstance {
        instance: instance.into(),
        known,
    })
}

/// The classes listed, each once, the current one among them.
fn candidates<'a>(listed: Option<&'a Vec<String>>, current: &'a str) -> Vec<&'a str> {
    let mut classes: Vec<&str> = Vec::new();
    for class in listed
        .into_iter()
        .flatten()
        .map(String::as_str)
        .chain([current])
    {
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes
}

/// `∏ Cᵢ` over all instances that have alternatives, called or not.
fn count(alternatives: &Alternatives, current: &Assembly) -> BigUint {
    let sizes = alternatives.iter().map(|(instance, listed)| {
        BigUint::from(candidates(Some(listed), &current[instance]).len())
    });
    sizes.product()
}

/// An instance that was called.
struct Place<'a> {
    instance: &'a str,
    current: &'a str,
    calls: &'a [&'a Call],
}

impl Place<'_> {
    /// A row and its prediction for each candidate class.
    fn rows(
        &self,
        classes: &[&str],
        workload: &Workload,
        models: &ModelSet,
        lacking: &mut Vec<Lacking>,
    ) -> Result<Vec<(Row, Predicted)>, Error> {
        let row = |&class: &&str| {
            let mut missing = Vec::new();
            let mut predicted = predict_calls(class, self.calls, workload, models, &mut missing)?;
            let measured_s = self.measured_s(class);
            let fixed = classes.len() == 1 && !missing.is_empty();
            match measured_s.filter(|_| fixed) {
                Some(time_s) => {
                    predicted = Predicted {
                        time_s,
                        ..Predicted::default()
                    }
                }
                None => lacking.append(&mut missing),
            }
            let measured_only = fixed && measured_s.is_some();
            Ok((self.row(class, measured_only, &predicted), predicted))
        };
        classes.iter().map(row).collect()
    }

    fn row(&self, class: &str, measured_only: bool, predicted: &Predicted) -> Row {
        Row {
            instance: self.instance.into(),
            class: class.into(),
            chosen: false,
            current: class == self.current,
            calls: self.calls.iter().map(|call| call.count).sum(),
            predicted_s: predicted.time_s,
            interval_s: predicted.interval_s(),
            measured_s: self.measured_s(class),
            extrapolated: predicted.extrapolated,
            clamped: predicted.clamped,
            measured_only,
        }
    }

    /// Time of the calls if all of them went to `class`, seconds.
    fn measured_s(&self, class: &str) -> Option<f64> {
        let same = self.calls.iter().all(|call| call.class == class);
        same.then(|| self.calls.iter().map(|call| call.measured_s).sum())
    }
}

/// The instances settled so far.
#[derive(Default)]
struct Tally {
    best: Predicted,
    current_s: f64,
    rows: Vec<Row>,
}

impl Tally {
    /// Settles an instance by its rows; returns the class chosen.
    fn take(&mut self, mut rows: Vec<(Row, Predicted)>) -> Option<String> {
        // A clamped time is no time; then the smallest, then the current class.
        let rank = |(row, _): &(Row, Predicted)| (row.clamped, row.predicted_s, !row.current);
        let order = |a: &(bool, f64, bool), b: &(bool, f64, bool)| {
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        };
        let (best, predicted) = rows
            .iter_mut()
            .min_by(|a, b| order(&rank(a), &rank(b)))
            .map(|(row, p)| (row, *p))?;
        best.chosen = true;
        let class = best.class.clone();
        self.best.merge(&predicted);
        for (row, _) in rows {
            self.current_s += if row.current { row.predicted_s } else { 0.0 };
            self.rows.push(row);
        }
        Some(class)
    }

    fn choice(self, assemblies: String, best: Assembly) -> Choice {
        Choice {
            assemblies,
            evaluated: self.rows.len(),
            best,
            predicted_s: self.best.time_s,
            current_s: self.current_s,
            interval_s: self.best.interval_s(),
            pruned: Vec::new(),
            instances: self.rows,
        }
    }
}
