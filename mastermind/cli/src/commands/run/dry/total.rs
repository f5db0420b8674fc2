//! The time that a dry run predicts: each rank's own time, and the models' predictions for the calls that were left
//! out.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use mastermind_component::{DryRank, dry_ranks};
use mastermind_models::{Coordinate, LEVEL, Model, Total, Uncertainty, Value, predict_value_s};
use mastermind_records::Run;
use serde::Serialize;

use super::{DryMethod, PREDICTION};
use crate::commands::profile;
use crate::{beside_logs, output};

/// Prediction of a dry run.
#[derive(Debug, Serialize)]
pub struct Prediction {
    /// The whole run, seconds: the time of the slowest rank.
    pub total_s: f64,
    /// Ends of the interval, seconds; `None` if unknown.
    pub interval_s: Option<[f64; 2]>,
    /// Probability of the interval.
    pub level: f64,
    /// That rank's own part of it, seconds.
    pub own_s: f64,
    /// The predicted part of it, seconds.
    pub predicted_s: f64,
    /// The methods that were left out, over all ranks.
    pub methods: Vec<MethodRow>,
    /// Each rank.
    pub ranks: Vec<RankRow>,
    /// Notes on unknown parts.
    pub notes: Vec<String>,
}

/// A method that was left out.
#[derive(Debug, Default, Serialize)]
pub struct MethodRow {
    /// `INSTANCE.PORT.METHOD`.
    pub method: String,
    /// Calls on all ranks.
    pub calls: u64,
    /// Their predicted time, seconds.
    pub predicted_s: f64,
    /// Half the width of its interval, seconds; `None` if unknown.
    pub half_width_s: Option<f64>,
    /// Calls with a parameter outside of the measured range of its model.
    pub beyond_range: u64,
}

/// A rank.
#[derive(Debug, Serialize)]
pub struct RankRow {
    /// Its number.
    pub rank: u32,
    /// Its own time, seconds.
    pub own_s: f64,
    /// The part of it in MPI, seconds; `None` if it was not measured.
    pub mpi_s: Option<f64>,
    /// Predicted time of the calls that it left out, seconds.
    pub predicted_s: f64,
}

/// Predicts the time of a run from its records, writes it next to them, and prints it.
///
/// # Errors
/// The records cannot be read; a call has no model, or its model no value there.
pub fn predict_total(
    directory: &Path,
    methods: &[DryMethod],
    models: &mastermind_models::ModelSet,
) -> anyhow::Result<Prediction> {
    let run = Run::open(directory)?;
    profile::warn_of_missing_records(&run, "their times are not in the prediction");
    let prediction = Prediction::of(&run, methods, models)?;
    beside_logs::write(directory, PREDICTION, Some(&prediction))
        .with_context(|| format!("cannot write \"{PREDICTION}\""))?;
    prediction.print();
    Ok(prediction)
}

/// Predicted time of calls, method by method, with its uncertainty.
struct Sum<'m> {
    totals: BTreeMap<String, Vec<(&'m Model, Total<'m>)>>,
}

impl<'m> Sum<'m> {
    fn new() -> Self {
        Sum {
            totals: BTreeMap::new(),
        }
    }

    fn add(
        &mut self,
        name: &str,
        model: &'m Model,
        coordinate: &Coordinate,
        count: u64,
    ) -> anyhow::Result<()> {
        let of_method = self.totals.entry(name.to_owned()).or_default();
        let place = match of_method
            .iter()
            .position(|(known, _)| std::ptr::eq(*known, model))
        {
            Some(place) => place,
            None => {
                of_method.push((model, Total::new(model)));
                of_method.len() - 1
            }
        };
        Ok(of_method[place].1.add(coordinate, count as f64)?)
    }

    fn of<'s>(&'s self, name: Option<&'s str>) -> impl Iterator<Item = &'s Total<'m>> {
        let meant = self
            .totals
            .iter()
            .filter(move |(known, _)| name.is_none_or(|name| name == *known));
        meant.flat_map(|(_, totals)| totals.iter().map(|(_, total)| total))
    }

    /// Seconds, and half the width of the interval; `None` if unknown.
    fn time_s(&self, name: Option<&str>) -> (f64, Option<f64>) {
        let mut uncertainty = Uncertainty::default();
        let mut time_s = 0.0;
        for total in self.of(name) {
            time_s += total.time_s();
            uncertainty.merge(&total.uncertainty());
        }
        let half_width_s = uncertainty.half_width_s(LEVEL);
        (time_s, half_width_s.is_finite().then_some(half_width_s))
    }
}

impl Prediction {
    /// Adds the times up.
    ///
    /// # Errors
    /// A call has no model, or its model no value there.
    pub fn of(
        run: &Run,
        methods: &[DryMethod],
        models: &mastermind_models::ModelSet,
    ) -> anyhow::Result<Self> {
        let ranks = dry_ranks(run);
        let mut all = Sum::new();
        let mut rows: BTreeMap<String, MethodRow> = methods
            .iter()
            .map(|method| {
                let row = MethodRow {
                    method: method.name(),
                    ..MethodRow::default()
                };
                (method.name(), row)
            })
            .collect();
        let mut rank_rows = Vec::new();
        let mut longest: Option<(f64, f64, Option<f64>)> = None;
        for rank in &ranks {
            let mut of_rank = Sum::new();
            for calls in &rank.calls {
                let known = methods.iter().find(|method| method.name() == calls.name);
                let Some(method) = known else { continue };
                let coordinate = &calls.coordinate;
                let model = models.find(&method.model, method.metric.clone(), coordinate)?;
                of_rank.add(&calls.name, model, coordinate, calls.count)?;
                all.add(&calls.name, model, coordinate, calls.count)?;
                if let Some(row) = rows.get_mut(&calls.name) {
                    row.calls += calls.count;
                    row.beyond_range += if model.covers(coordinate) {
                        0
                    } else {
                        calls.count
                    };
                }
            }
            let (predicted_s, half_width_s) = of_rank.time_s(None);
            let own_s = rank.own_ns as f64 * 1e-9;
            if longest.is_none_or(|(own, predicted, _)| own_s + predicted_s > own + predicted) {
                longest = Some((own_s, predicted_s, half_width_s));
            }
            rank_rows.push(RankRow {
                rank: rank.rank,
                own_s,
                mpi_s: rank.mpi_ns.map(|ns| ns as f64 * 1e-9),
                predicted_s,
            });
        }
        for row in rows.values_mut() {
            (row.predicted_s, row.half_width_s) = all.time_s(Some(&row.method));
        }
        let (own_s, predicted_s, half_width_s) = longest.unwrap_or((0.0, 0.0, Some(0.0)));
        let total_s = own_s + predicted_s;
        Ok(Prediction {
            total_s,
            interval_s: half_width_s.map(|half| [(total_s - half).max(own_s), total_s + half]),
            level: LEVEL,
            own_s,
            predicted_s,
            methods: rows.into_values().collect(),
            notes: notes(&ranks),
            ranks: rank_rows,
        })
    }

    /// Prints it.
    fn print(&self) {
        let seconds = |value: f64| format!("{value:.4}");
        let rows = self.methods.iter().map(|row| {
            vec![
                row.calls.to_string(),
                seconds(row.predicted_s),
                row.half_width_s.map_or_else(|| "?".into(), seconds),
                row.beyond_range.to_string(),
                row.method.clone(),
            ]
        });
        output::line(output::table(
            &["CALLS", "PREDICTED s", "± s", "BEYOND RANGE", "LEFT OUT"],
            &[0, 1, 2, 3],
            rows,
        ));
        let interval = match self.interval_s {
            Some([low, high]) => format!(
                " ({} to {} in {:.0} % of cases)",
                seconds(low),
                seconds(high),
                100.0 * self.level
            ),
            None => ", how far off is not known".into(),
        };
        let of_rank = match self.ranks.len() {
            0 | 1 => String::new(),
            n => format!(" of the rank of {n} that takes longest"),
        };
        output::line(format!(
            "predicted: {} s{interval}{of_rank}, of which {} s are its own and {} s the models'",
            seconds(self.total_s),
            seconds(self.own_s),
            seconds(self.predicted_s)
        ));
        let beyond: u64 = self.methods.iter().map(|row| row.beyond_range).sum();
        if beyond > 0 {
            let all: u64 = self.methods.iter().map(|row| row.calls).sum();
            output::complain!(
                "warning: {beyond} of {all} calls are outside of what their models were measured with"
            );
        }
        for method in self.methods.iter().filter(|row| row.calls == 0) {
            output::complain!("warning: {} was never called", method.method);
        }
        for note in &self.notes {
            output::complain!("warning: {note}");
        }
    }
}

/// Notes on unknown parts of the total.
fn notes(ranks: &[DryRank]) -> Vec<String> {
    let mut notes = Vec::new();
    if ranks.len() > 1 {
        notes.push(
            "ranks waited for each other as in the dry run: that a rank whose calls take longer holds up others is not in the prediction; \
             with --mpi-events, mastermind simulate RECORDS --models MODELS --machine M.toml has it"
                .into(),
        );
    }
    if ranks.iter().any(|rank| rank.n_threads > 1) {
        notes.push(
            "several threads of a rank called methods that were left out: the prediction has these calls one after the other".into(),
        );
    }
    notes
}

/// The approximate total time of the calls that a model was fitted to, seconds: as many calls in the middle of its
/// range.
pub fn typical_total_s(model: &Model) -> f64 {
    let labels = model.mode.iter();
    let coordinate = labels.fold(Coordinate::new(), |at, (name, label)| {
        at.with(name, label.as_str())
    });
    let shared = model
        .shared
        .iter()
        .filter_map(|(name, labels)| Some((name, labels.first()?)));
    let coordinate = shared.fold(coordinate, |at, (name, label)| {
        at.with(name, label.as_str())
    });
    let ranges = model.range.iter();
    let middle = ranges.fold(coordinate, |at, (name, [low, high])| {
        at.with(name, Value::Number(0.5 * (low + high)))
    });
    let of_call = predict_value_s(model, &middle).unwrap_or(0.0);
    model.n_records as f64 * of_call
}
