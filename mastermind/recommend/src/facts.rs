//! Facts about a run and about possible savings of its time. All times are seconds; `None`, or an empty list, means
//! unknown.

use crate::efficiency::Efficiency;

/// Part of the computation that a replay may lack without a note. Arbitrary: the error of its losses is at most that
/// part.
const MAX_LACKING: f64 = 0.1;

/// Facts about a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// How long its slowest rank took.
    pub elapsed_s: f64,
    /// Predictions for other classes in its assembly.
    pub choice: Option<ChoiceFacts>,
    /// Libraries that have newer code than the one that they ran.
    pub libraries: Vec<LibraryFacts>,
    /// Activity of its ranks.
    pub parallel: Option<ParallelFacts>,
    /// Settings that may be chosen freely, and predictions for other values of them.
    pub settings: Vec<SettingFacts>,
    /// Methods whose times differ from their models.
    pub off_models: Vec<OffModelFacts>,
}

impl Facts {
    /// How well the run uses its ranks, by their sums; the parts of messages and waiting, by a replay that contains all
    /// of their computation. `None` for one rank.
    pub fn efficiency(&self) -> Option<Efficiency> {
        let parallel = self.parallel.as_ref()?;
        let whole = parallel
            .replay
            .as_ref()
            .filter(|_| parallel.lacking().is_none());
        match whole {
            Some(replay) => {
                Efficiency::of(self.elapsed_s, &replay.computing_s, Some(replay.free_s))
            }
            None => Efficiency::of(self.elapsed_s, &parallel.computing_s(), None),
        }
    }
}

impl ParallelFacts {
    /// Computation of each rank, by its sums.
    pub(crate) fn computing_s(&self) -> Vec<f64> {
        self.ranks.iter().map(|rank| rank.computing_s).collect()
    }

    /// The part of the ranks' time outside of MPI that is not computation in the replay, if that is more than
    /// [`MAX_LACKING`]: a program's work between calls that poll counts as waiting there, and with processor time its
    /// waiting for a processor.
    pub fn lacking(&self) -> Option<f64> {
        let replayed_s: f64 = self.replay.as_ref()?.computing_s.iter().sum();
        let all_s: f64 = self.computing_s().iter().sum();
        let lacking = 1.0 - replayed_s / all_s;
        (lacking > MAX_LACKING).then_some(lacking)
    }
}

/// Another class for an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The instance.
    pub instance: String,
    /// Its class in the run.
    pub from: String,
    /// The other one.
    pub to: String,
}

/// The best assembly, by models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChoiceFacts {
    /// Its replacements of the present classes; empty if the present assembly is the best.
    pub changes: Vec<Change>,
    /// Predicted time of the present assembly.
    pub current_s: f64,
    /// Predicted time of the best one.
    pub best_s: f64,
    /// Interval of their difference, including the scatter of runs; `None` if no runs show that.
    pub saved_interval_s: Option<[f64; 2]>,
    /// Standard deviation of the difference by the models alone.
    pub models_deviation_s: f64,
    /// How many assemblies there are.
    pub assemblies: String,
    /// A question that more runs would answer.
    pub open: Option<OpenQuestion>,
}

/// Two assemblies that runs do not distinguish.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    /// The instance and its two classes for which more runs are the most informative.
    pub run: (String, [String; 2]),
    /// Expected cost of choosing now compared with knowing which is better; `None` if no runs show how much they
    /// differ.
    pub regret_s: Option<f64>,
}

/// A library that has newer code.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryFacts {
    /// Its name and the code that it runs.
    pub running: String,
    /// The variable of the environment that has it run the newer one, and its value.
    pub change: (String, String),
    /// Its speed-up, least and most; `None` if it was not measured.
    pub gain: Option<[f64; 2]>,
    /// Time of recorded calls of the library.
    pub recorded_s: Option<f64>,
}

/// Activity of the ranks of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelFacts {
    /// Each rank.
    pub ranks: Vec<RankFacts>,
    /// Processors that the ranks of a host may use.
    pub processors: Option<u32>,
    /// Most ranks on a host.
    pub ranks_of_host: u32,
    /// Results of a replay of the run.
    pub replay: Option<ReplayFacts>,
    /// Small messages that could be one.
    pub messages: Option<MessageFacts>,
    /// Where most of the waiting is.
    pub waiting: Option<WaitFacts>,
}

/// Activity of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankFacts {
    /// Rank.
    pub rank: u32,
    /// Time outside of MPI.
    pub computing_s: f64,
    /// Time in MPI.
    pub mpi_s: f64,
    /// How long it ran on a processor.
    pub running_s: Option<f64>,
    /// How long it was ready to run and waited for a processor.
    pub waiting_s: Option<f64>,
    /// The method in which it computed most beyond the mean of the ranks, and those seconds.
    pub most_extra: Option<(String, f64)>,
}

/// The run once more, by simulation of its recorded calls, where messages take no time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayFacts {
    /// How long it takes.
    pub free_s: f64,
    /// Of each rank's computation between two messages, the parts in which no other rank computed, by rank.
    pub alone_s: Vec<f64>,
    /// Computation of each rank, by rank.
    pub computing_s: Vec<f64>,
}

/// Messages that follow each other without anything in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageFacts {
    /// Messages of all ranks.
    pub messages: u64,
    /// How many there would be if those that follow each other to one rank were one.
    pub merged: u64,
    /// Their mean size, bytes.
    pub mean_bytes: f64,
    /// Savings of fewer messages on the rank with the largest saving: expected, least and most.
    pub saved_s: [f64; 3],
}

/// Calls of MPI that wait longest.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitFacts {
    /// The function, and its call site if that is known.
    pub call: String,
    /// Time of its calls on the rank where they took longest.
    pub seconds: f64,
    /// That rank.
    pub rank: u32,
}

/// A setting that may be chosen freely.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingFacts {
    /// Its name; `ranks` for the number of ranks.
    pub name: String,
    /// Its value in the run.
    pub now: f64,
    /// The value of least predicted time.
    pub best: f64,
    /// Predicted time of a run with the value now, and its interval.
    pub now_s: (f64, [f64; 2]),
    /// The same with the best value.
    pub best_s: (f64, [f64; 2]),
    /// Runs that this is known from.
    pub runs: usize,
    /// Whether a run had the best value.
    pub was_run: bool,
}

/// A method that took longer than its model predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct OffModelFacts {
    /// The method.
    pub method: String,
    /// Its calls.
    pub calls: u64,
    /// Their measured time.
    pub measured_s: f64,
    /// Their predicted time, and its interval.
    pub predicted_s: (f64, [f64; 2]),
}
