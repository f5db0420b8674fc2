//! Simulates a dry run: each rank computes for the predicted time of the calls that it left out, so that a late rank
//! delays others.

use std::collections::HashMap;
use std::path::Path;

use mastermind_component::{coordinate, method_name};
use mastermind_models::{Metric, ModelSet, predict_value_s};
use mastermind_records::{Log, Record, Run};
use mastermind_replay::{Delay, RecordedRank, is_communication};

use crate::commands::profile;
use crate::recorded_run::RecordedRun;

/// The calls that were added to a dry run.
pub struct Added {
    /// Calls that were left out, of all ranks.
    pub calls: u64,
    /// Number of them outside of the measured range of their models.
    pub beyond_range: u64,
    /// Their time, seconds.
    pub seconds: f64,
}

impl RecordedRun {
    /// Lets the ranks of a dry run compute for the time of the calls that they left out.
    ///
    /// # Errors
    /// The records can no longer be read; a call has no model, or its model no value there.
    pub fn add_dry_calls(&mut self, records: &Path, models: &ModelSet) -> anyhow::Result<Added> {
        let run: Run = profile::open(records)?;
        let mut prices = Prices {
            models,
            known: HashMap::new(),
            added: Added {
                calls: 0,
                beyond_range: 0,
                seconds: 0.0,
            },
        };
        for (rank, recorded) in (0..).zip(&mut self.ranks) {
            let mut threads = Vec::new();
            for (log, _) in run.logs_of(rank) {
                // As for threads: those without calls of MPI are left out.
                threads.extend(delays(log, &mut prices)?);
            }
            recorded.delay(&threads);
        }
        self.elapsed_ns = self.ranks.iter().map(RecordedRank::elapsed_ns).collect();
        self.unpriced.clear();
        Ok(prices.added)
    }
}

/// Times of calls, by the name of the method and their parameters.
struct Prices<'m> {
    models: &'m ModelSet,
    known: HashMap<(String, Vec<u64>), (u64, bool)>,
    added: Added,
}

impl Prices<'_> {
    /// Nanoseconds of a call.
    fn of(&mut self, record: &Record<'_>) -> anyhow::Result<u64> {
        let method = method_name(record.method);
        let words = record.values.iter().take(record.method.parameters.len());
        let key = (method, words.copied().collect());
        let (ns, is_beyond) = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let at = coordinate(record);
                let find = |metric: Metric| self.models.find(&key.0, metric, &at);
                let model = match find(Metric::Inclusive) {
                    Ok(model) => model,
                    Err(_) => find(Metric::Wall)?,
                };
                let seconds = model.mean_s(predict_value_s(model, &at)?);
                let price = ((seconds * 1e9).round() as u64, !model.covers(&at));
                self.known.insert(key, price);
                price
            }
        };
        self.added.calls += 1;
        self.added.beyond_range += u64::from(is_beyond);
        self.added.seconds += ns as f64 * 1e-9;
        Ok(ns)
    }
}

/// The calls that a thread left out; `None` for a thread without calls of MPI that are replayed.
fn delays(log: &Log, prices: &mut Prices<'_>) -> anyhow::Result<Option<Vec<Delay>>> {
    let run = &log.definitions().run;
    let (mut delays, mut has_mpi) = (Vec::new(), false);
    let mut is_dry = HashMap::new();
    for record in log.records() {
        if record.method.is_mpi() {
            has_mpi |= !record.failed && is_communication(&record.method.method);
            continue;
        }
        let left_out = is_dry.entry(record.method.id);
        if *left_out.or_insert_with(|| run.leaves_out(record.method)) {
            delays.push(Delay {
                at_ns: record.start_ns,
                length_ns: prices.of(&record)?,
            });
        }
    }
    delays.sort_by_key(|delay| delay.at_ns);
    Ok(has_mpi.then_some(delays))
}
