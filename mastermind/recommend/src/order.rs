//! All rules, and their recommendations in order.

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::rules::RULES;
use crate::saving::Saving;

/// Part of a run's time that an action must be expected to save to be recommended: three runs of each show no smaller
/// difference (`benches/recommend`, where measured intervals are 1 % of a run and more to either side).
pub(crate) const MIN_SHARE: f64 = 0.01;

/// Part of a run's time by which an action may slow it down at the bad end of its interval without a word.
const MAX_UNSAID_LOSS: f64 = 0.02;

/// Type of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Other classes in the assembly.
    Implementation,
    /// Newer code of a library.
    Library,
    /// Another value of a setting.
    Setting,
    /// Another number of ranks.
    Ranks,
    /// A processor for each rank.
    Processors,
    /// Work that is divided more evenly.
    Balance,
    /// Work of one rank that all wait for.
    SerialPart,
    /// Ranks that wait for each other in turns.
    Order,
    /// Fewer and larger messages.
    Messages,
    /// A method that takes longer than its model predicts.
    OffModel,
    /// Runs that provide more information.
    Measure,
}

/// An action, and its saving.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// Its type.
    pub kind: Kind,
    /// The action, as a sentence without its full stop.
    pub action: String,
    /// Its saving of the run's time; `None` if unknown.
    pub saving: Option<Saving>,
    /// The facts it is concluded from.
    pub evidence: Vec<String>,
    /// The change that it needs.
    pub change: Carried,
    /// Whether the run may become slower by more than 2 % at the bad end of the interval.
    pub may_slow_down: bool,
}

/// How an action is carried out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carried {
    /// Instances with other classes: pairs of instance and class.
    Replace(Vec<(String, String)>),
    /// A variable of the environment.
    Variable(String, String),
    /// A setting.
    Set(String, f64),
    /// More runs of the assembly, with an instance as each of two classes.
    Measure(String, [String; 2]),
    /// A change of the program by its author.
    Program,
}

impl Recommendation {
    /// An action that carries nothing out by itself, without evidence.
    pub(crate) fn new(kind: Kind, action: String, saving: Option<Saving>) -> Self {
        Self {
            kind,
            action,
            saving,
            evidence: Vec::new(),
            change: Carried::Program,
            may_slow_down: false,
        }
    }

    fn expected_s(&self) -> Option<f64> {
        self.saving.map(|saving| saving.expected_s())
    }
}

/// Recommended actions, the one with the largest expected saving first; those of unknown saving
/// last.
///
/// Actions with an expected saving below a hundredth of the run's time are left out.
pub fn recommend(facts: &Facts) -> Vec<Recommendation> {
    let mut all: Vec<Recommendation> = RULES.iter().flat_map(|rule| rule(facts)).collect();
    let least_s = MIN_SHARE * facts.elapsed_s;
    all.retain(|one| one.expected_s().is_none_or(|seconds| seconds >= least_s));
    for one in &mut all {
        let worst_s = one.saving.map_or(0.0, |saving| saving.interval_s[0]);
        one.may_slow_down = worst_s < -MAX_UNSAID_LOSS * facts.elapsed_s;
    }
    all.sort_by(|a, b| {
        let order = |one: &Recommendation| one.expected_s().unwrap_or(f64::NEG_INFINITY);
        order(b).total_cmp(&order(a))
    });
    all
}
