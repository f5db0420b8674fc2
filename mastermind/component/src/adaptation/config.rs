//! What a run is adapted by, and what comes of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mastermind_composition::adapt::{AdaptSettings, Decision, Learned};
use mastermind_composition::{Alternatives, Assembly};

use super::dispatching::Dispatchers;

/// What is adapted, and where it is told.
#[derive(Debug, Clone)]
pub struct AdaptConfig {
    /// Where the rank's logs are while they are written, and its decisions.
    pub directory: PathBuf,
    /// This rank.
    pub rank: u32,
    /// Class of each instance as the run begins.
    pub assembly: Assembly,
    /// Classes that may take their places.
    pub alternatives: Alternatives,
    /// Dispatchers whose tables may change, each with the one that it begins with.
    pub dispatchers: Dispatchers,
    /// How careful it is.
    pub settings: AdaptSettings,
    /// Longest time that one step of the application may keep other ranks waiting.
    pub patience: Duration,
    /// What an earlier run has learned; the same on every rank.
    pub learned: Learned,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct AdaptOutcome {
    /// Steps that the application has reported.
    pub steps: u64,
    /// All decisions, in order.
    pub decisions: Vec<Decision>,
    /// Classes that could not be put in on this rank, with the reasons, and whatever else went wrong.
    pub warnings: Vec<String>,
    /// Processor seconds that following and deciding took on this rank.
    pub own_s: f64,
    /// The log of the decisions.
    pub log: PathBuf,
    /// Instances that may be swapped, and their classes now.
    pub classes: Assembly,
    /// Dispatchers, and by which table each would send calls from now on, without trials.
    pub tables: Dispatchers,
    /// Instances, each with a class that was never tried, since the run could not bear one of its calls.
    pub unborne: Vec<(String, String)>,
    /// What was learned, for the next run.
    pub learned: Learned,
}

/// The log of decisions of a rank.
pub fn decisions_file(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("decisions.{rank}.jsonl"))
}

/// Whether a file has the name of a log of decisions.
pub fn is_decisions_file(name: &str) -> bool {
    let rank = name.strip_prefix("decisions.");
    let rank = rank.and_then(|rest| rest.strip_suffix(".jsonl"));
    rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
}
