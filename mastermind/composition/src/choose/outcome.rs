//! The result of a choice: [`Choice`], with its rows and comparisons.

use serde::Serialize;

use crate::between_runs::BetweenRuns;
use crate::error::Lacking;
use crate::interaction::Interaction;
use crate::optimise::Comparison;
use crate::ranks::RankEffects;
use crate::run_bounds::RunBounds;
use crate::unseen::UnseenPair;
use crate::workload::{Assembly, Recorded};

/// The best assembly, and the predicted times of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Number of assemblies that the alternatives allow, `∏ Cᵢ`, exact, in decimal digits.
    pub assemblies: String,
    /// Number of predictions that the search needed: classes over all instances, `Σ Cᵢ`.
    pub evaluated: usize,
    /// Class of each instance of the best assembly.
    pub best: Assembly,
    /// Predicted time of the recorded calls in the best assembly, seconds.
    pub predicted_s: f64,
    /// The part of `predicted_s` that delays of interrupted calls cause, assuming that they are as frequent and as long
    /// as when the models' calls were measured.
    pub held_up_s: f64,
    /// Predicted time of the recorded calls in the current assembly, seconds.
    pub current_s: f64,
    /// 95 % interval of the total of one fresh run, seconds; the calls of `spread_unknown` count with their prediction.
    /// None, two `null` in JSON, where the spread between runs is unknown: the calls of one run share its state, so
    /// their spread says little about the next run.
    #[serde(serialize_with = "ends")]
    pub interval_s: Option<[f64; 2]>,
    /// Models of the best assembly without an estimate of the spread of calls, such as those of a method that was
    /// called once.
    pub spread_unknown: Vec<String>,
    /// Predicted time of their calls, seconds.
    pub spread_unknown_s: f64,
    /// The spread between runs, where it is known.
    pub between_runs: Option<BetweenRuns>,
    /// The bounds that determine the interval, where enough runs are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_bounds: Option<RunBounds>,
    /// Sum of the interactions in the best assembly, seconds; negative where they save time. Part of `predicted_s`.
    pub together_s: f64,
    /// Classes that take longer, or shorter, next to certain classes of other instances.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// Instances whose calls depend on the classes of others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls_follow: Vec<CallsFollow>,
    /// Coupled instances whose classes in the best assembly no run shows together. They add nothing to `predicted_s`;
    /// their possible interaction widens `interval_s`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen_pairs: Vec<UnseenPair>,
    /// Standard deviation of the sum of their interactions, seconds.
    pub unseen_pairs_s: f64,
    /// Effect of the requested number of ranks on the time; None where the models already include it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_ranks: Option<OnRanks>,
    /// Measured time of the workload's calls.
    pub measured: Recorded,
    /// Instances that were left out of the search on request.
    pub pruned: Vec<String>,
    /// Bound on the time lost by leaving them out, seconds: part of `gap`.
    pub pruned_s: f64,
    /// No other allowed assembly is predicted to be faster. If false, `gap` bounds how much faster one might be.
    pub proved: bool,
    /// Bound on the share of its time by which the best assembly is slower than the optimum: 0 where it is proved
    /// optimal.
    pub gap: f64,
    /// The best assemblies, the fastest first, as many as requested.
    pub ranked: Vec<Ranked>,
    /// Comparison of the best assembly with the next one: whether runs distinguish them. None if there is no other one.
    pub doubt: Option<Doubt>,
    /// Comparison of the best assembly with the current one; None if the current one is the best.
    pub against_current: Option<Doubt>,
    /// Assemblies that no other one beats in both time and the requested attribute, the fastest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pareto: Vec<Ranked>,
    /// Classes that were not considered because they have no model; empty with `strict`, where they are an error.
    pub without_model: Vec<Lacking>,
    /// One row for each class of each called instance: instances ascending, classes in the order of the alternatives.
    pub instances: Vec<Row>,
}

/// Serialises the ends of an interval, or two `null`, so that readers always find two values.
fn ends<S: serde::Serializer>(ends: &Option<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    ends.map_or([f64::NAN; 2], |ends| ends)
        .serialize(serializer)
}

/// An instance whose calls depend on the classes of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallsFollow {
    /// The called instance.
    pub instance: String,
    /// The instances whose classes decide how often it is called, and with which parameters.
    pub from: Vec<String>,
    /// Whether a run shows their classes in the best assembly; otherwise the calls of the nearest classes are used.
    pub seen: bool,
}

/// A total on a number of ranks, split into computing and MPI. Computing takes processor time; MPI time counts in full
/// only where no other rank waits for the processor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnRanks {
    /// Effects estimated from the runs with that number of ranks.
    #[serde(flatten)]
    pub effects: RankEffects,
    /// Computing time of all ranks in the best assembly, seconds.
    pub computation_s: f64,
    /// 95 % interval of the computing time in one fresh run, seconds.
    #[serde(serialize_with = "ends")]
    pub computation_interval_s: Option<[f64; 2]>,
    /// Time of all ranks in MPI, seconds; the total is this plus `computation_s`.
    pub mpi_s: f64,
}

impl OnRanks {
    /// The 95 % interval of the total, from the intervals `p ± d` of its parts: half-widths combine as `√Σ d²`.
    ///
    /// # Source
    /// Zou and Donner, Statistics in Medicine 27, 2008, Eq. (8): limits of a sum from the limits of independent parts.
    pub(crate) fn interval_s(&self) -> Option<[f64; 2]> {
        let computation = self.computation_interval_s?;
        let mpi = match &self.effects.mpi {
            Some(mpi) => mpi.interval_s?.map(|end| end * self.mpi_s / mpi.seconds),
            None => [0.0; 2],
        };
        let whole_s = self.computation_s + self.mpi_s;
        let off = |end: usize| (computation[end] - self.computation_s).hypot(mpi[end] - self.mpi_s);
        Some([(whole_s - off(0)).max(0.0), whole_s + off(1)])
    }
}

/// One of the best assemblies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Class of each instance with alternatives.
    pub assembly: Assembly,
    /// Predicted time, seconds.
    pub predicted_s: f64,
    /// The sum of the requested attribute over its instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<f64>,
}

/// The certainty that the best assembly is faster than another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubt {
    /// The difference and the expected loss; its `deviation` and `regret` are infinite (`null` in JSON) where no runs
    /// show the spread.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Whether the difference is significant at 95 %, and at least 1 % of the time of the instances that differ.
    pub told_apart: bool,
    /// Whether runs show the spread.
    pub spread_known: bool,
    /// Standard deviation of the difference from the models alone, without the spread between runs, seconds.
    pub models_deviation: f64,
    /// The instance and its two classes for which further runs, one with each class, reduce the uncertainty most.
    pub run: Option<(String, [String; 2])>,
}

/// One candidate class of one instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The instance.
    pub instance: String,
    /// The class.
    pub class: String,
    /// The best assembly uses this class.
    pub chosen: bool,
    /// The current assembly uses this class.
    pub current: bool,
    /// Number of recorded calls of the instance.
    pub calls: u64,
    /// Predicted time of these calls with this class, seconds.
    pub predicted_s: f64,
    /// The part of `predicted_s` that delays of interrupted calls cause.
    pub held_up_s: f64,
    /// 95 % interval of `predicted_s`, seconds.
    pub interval_s: [f64; 2],
    /// Measured time, seconds, where all these calls were recorded with this class.
    pub measured_s: Option<f64>,
    /// A call lies outside the measured range of the class.
    pub extrapolated: bool,
    /// The model was negative at a call; classes without this flag are preferred.
    pub clamped: bool,
    /// Outside the measured sizes the formula decreases, or grows faster than the measured times, so a bound replaced
    /// it.
    pub bounded: bool,
    /// There is no model, and `predicted_s` is the measured time: an instance without alternatives.
    pub measured_only: bool,
    /// The model is out of date: the measured time lies outside the predicted interval of a fresh run.
    pub stale: bool,
}

impl Choice {
    /// The delays that are part of the predicted time, in words; `None` if the models contain no interrupted calls.
    pub fn held_up_line(&self) -> Option<String> {
        let percent = 100.0 * self.held_up_s / self.predicted_s;
        (self.held_up_s > 0.0).then(|| {
            format!(
                "{:.4} s of the best one, {percent:.1} %, are delays of calls that the machine held up, as often as when the models' calls \
                 were measured",
                self.held_up_s
            )
        })
    }
}
