//! Checks whether a run agrees with the models: each run scores its own prediction.

use mastermind_models::{LEVEL, ModelSet, Note};

use crate::between_runs::BetweenRuns;
use crate::predicted::Predicted;
use crate::workload::{Call, Recorded};

/// Share of the total predicted time below which an instance is not scored.
const LEAST_SHARE: f64 = 0.01;

/// The type of seconds that models predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seconds {
    /// Processor time, which models of medians predict.
    Processor,
    /// Wall time, including waits for the processor, which models of means predict.
    Wall,
}

impl Seconds {
    /// The seconds that models predict: processor time where every model is one of medians.
    pub fn predicted_by(models: &ModelSet) -> Self {
        let is_of_median = |note: &Note| matches!(note, Note::Statistic { .. });
        let mut models = models.models.iter();
        match models.all(|model| model.notes.iter().any(is_of_median)) {
            true => Self::Processor,
            false => Self::Wall,
        }
    }
}

impl Recorded {
    /// Time of the calls, in these seconds.
    pub fn of(&self, seconds: Seconds) -> f64 {
        match seconds {
            Seconds::Processor => self.processor_s,
            Seconds::Wall => self.wall_s,
        }
    }

    /// Time of the calls without MPI, in these seconds.
    pub fn computation_of(&self, seconds: Seconds) -> f64 {
        match seconds {
            Seconds::Processor => self.computation_s,
            Seconds::Wall => self.wall_s - self.mpi_s,
        }
    }
}

/// Measured time of an instance's calls; None unless all of them went to `class`.
pub(crate) fn recorded_with(calls: &[&Call], class: &str) -> Option<Recorded> {
    let same = calls.iter().all(|call| call.class == class);
    let sum = |of: fn(&Call) -> f64| calls.iter().map(|call| of(call)).sum();
    same.then(|| Recorded {
        processor_s: sum(|call| call.processor_s),
        wall_s: sum(|call| call.measured_s),
        computation_s: sum(|call| call.computation_s),
        mpi_s: sum(|call| call.mpi_s),
    })
}

/// Whether the measured time of an instance lies outside the interval of a fresh run: its model is then out of date.
///
/// # Arguments
/// * `measured_s` - measured time of its calls in the run
/// * `whole_s` - predicted time of all instances
/// * `n_scored` - number of scored instances; the level is adjusted so that 5 % of runs report any of them by chance
pub(crate) fn is_stale(
    predicted: &Predicted,
    measured_s: f64,
    whole_s: f64,
    between_runs: &BetweenRuns,
    n_scored: usize,
) -> bool {
    if !between_runs.is_known()
        || !predicted.unknown.is_empty()
        || predicted.time_s < LEAST_SHARE * whole_s
    {
        return false;
    }
    let relative = predicted.uncertainty.variance_s2() / predicted.time_s.powi(2);
    let level = 1.0 - (1.0 - LEVEL) / n_scored.max(1) as f64;
    let [low, high] = between_runs.interval_s(predicted.time_s, relative, level);
    !(low..=high).contains(&measured_s)
}
