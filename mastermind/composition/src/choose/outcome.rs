//! What a choice tells.

use serde::Serialize;

use crate::between_runs::BetweenRuns;
use crate::error::Lacking;
use crate::interaction::Interaction;
use crate::optimise::Comparison;
use crate::ranks::RankEffects;
use crate::run_bounds::RunBounds;
use crate::unseen::UnseenPair;
use crate::workload::{Assembly, Recorded};

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
    /// The part of `predicted_s` that is delays of calls that the machine held up, as often and as long as when the models' calls were
    /// measured.
    pub held_up_s: f64,
    /// Predicted time of the recorded calls in the current assembly, seconds.
    pub current_s: f64,
    /// Ends of the 95 % interval of the total of one fresh run, seconds, in which the calls of `spread_unknown` take what is
    /// predicted. None, two `null` in JSON, where the spread between runs is unknown: the calls of one run share its state, so
    /// that their own spread says little of the next run.
    #[serde(serialize_with = "ends")]
    pub interval_s: Option<[f64; 2]>,
    /// Models of the best assembly that do not tell how much calls spread, such as those of a method that was called once.
    pub spread_unknown: Vec<String>,
    /// Predicted seconds of their calls.
    pub spread_unknown_s: f64,
    /// The spread between runs, where it is known.
    pub between_runs: Option<BetweenRuns>,
    /// What the interval is taken from, where enough runs are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_bounds: Option<RunBounds>,
    /// Seconds that instances of the best assembly take beyond what each does by itself: below 0 where they save some. Part of
    /// `predicted_s`.
    pub together_s: f64,
    /// Which classes take longer, or less long, beside which.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// Instances whose calls follow from the classes of others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls_follow: Vec<CallsFollow>,
    /// Joined instances whose classes in the best assembly no run shows side by side: they count with nothing in `predicted_s`, and
    /// with what such a pair may cost in `interval_s`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen_pairs: Vec<UnseenPair>,
    /// Standard deviation of the seconds that these may cost.
    pub unseen_pairs_s: f64,
    /// What the wanted number of ranks makes of the time, where the models are not of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_ranks: Option<OnRanks>,
    /// What the calls of the workload took when they were recorded.
    pub measured: Recorded,
    /// Instances that were left out of the search, since that was asked for.
    pub pruned: Vec<String>,
    /// By how much the best assembly may be slower for it, seconds: part of `gap`.
    pub pruned_s: f64,
    /// No other allowed assembly is predicted to be faster; else `gap` says by how much one might be.
    pub proved: bool,
    /// By what part of its time the best assembly may be slower than the fastest one: 0 where that is proved.
    pub gap: f64,
    /// The best assemblies, the fastest first, as many as were asked for.
    pub ranked: Vec<Ranked>,
    /// The best assembly compared with the next one: whether runs distinguish them. None without another one.
    pub doubt: Option<Doubt>,
    /// How sure it is that it is better than the current one; none where that is the best.
    pub against_current: Option<Doubt>,
    /// Every assembly that no other one beats in both time and the attribute asked for, the fastest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pareto: Vec<Ranked>,
    /// Classes that could not be chosen, since there is no model of them: empty where that is refused.
    pub without_model: Vec<Lacking>,
    /// One row for each class of each instance that was called, instances ascending, the classes
    /// in the order of the alternatives.
    pub instances: Vec<Row>,
}

/// The ends of an interval, or two `null`: a reader finds two values in any case.
fn ends<S: serde::Serializer>(ends: &Option<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    ends.map_or([f64::NAN; 2], |ends| ends)
        .serialize(serializer)
}

/// An instance whose calls follow from the classes of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallsFollow {
    /// The instance that is called.
    pub instance: String,
    /// Those whose classes decide how often, and with which parameters.
    pub from: Vec<String>,
    /// Whether a run shows these with the classes of the best assembly; else the calls are those with the nearest classes.
    pub seen: bool,
}

/// A total on a number of ranks, in its parts: computing takes processor time, MPI does where no other rank waits for the
/// processor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnRanks {
    /// What the runs with that many ranks tell.
    #[serde(flatten)]
    pub effects: RankEffects,
    /// Seconds that all ranks compute, in the best assembly.
    pub computation_s: f64,
    /// Ends of its 95 % interval for one fresh run, seconds.
    #[serde(serialize_with = "ends")]
    pub computation_interval_s: Option<[f64; 2]>,
    /// Seconds that all ranks are in MPI: with those of `computation_s` the total.
    pub mpi_s: f64,
}

impl OnRanks {
    /// Ends of the 95 % interval of the total, of those of its parts `p ± d`: each as far off as `√Σ d²`.
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

/// An assembly among the best.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Class of each instance that has alternatives.
    pub assembly: Assembly,
    /// Its predicted time, seconds.
    pub predicted_s: f64,
    /// The sum of the attribute asked for over its instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<f64>,
}

/// How sure it is that the best assembly is better than the next one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubt {
    /// The difference and what is risked; its `deviation` and `regret` infinite (`null` in JSON) where no runs show how much they
    /// differ.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Whether the difference is beyond doubt at 95 %, and at least 1 % of the time of the instances that differ.
    pub told_apart: bool,
    /// Whether runs show how much they differ.
    pub spread_known: bool,
    /// Standard deviation of the difference by the models alone, without what runs differ by, seconds.
    pub models_deviation: f64,
    /// The instance and the two classes of which a run with each, side by side, would tell most.
    pub run: Option<(String, [String; 2])>,
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
    /// The part of `predicted_s` that is delays of calls that the machine held up.
    pub held_up_s: f64,
    /// 95 % interval of `predicted_s`, seconds.
    pub interval_s: [f64; 2],
    /// Measured time, seconds, where all these calls were recorded with this class.
    pub measured_s: Option<f64>,
    /// A call lies outside the range that the class was measured in.
    pub extrapolated: bool,
    /// The class's model was negative at a call; a class without this flag is preferred.
    pub clamped: bool,
    /// Outside the measured sizes the class's formula falls, or grows faster than it was seen to: the bound was taken.
    pub bounded: bool,
    /// There is no model, and `predicted_s` is what was measured: an instance without alternatives.
    pub measured_only: bool,
    /// The calls took another time than a fresh run of what the model was fitted to would: it is out of date.
    pub stale: bool,
}

impl Choice {
    /// The delays that are part of the predicted time, in words; `None` where the models know of no calls that were held up.
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
