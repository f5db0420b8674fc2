//! Configuration and outcome of an adapted run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mastermind_composition::adapt::{AdaptSettings, Decision, Learned};
use mastermind_composition::{Alternatives, Assembly};

use super::dispatching::Dispatchers;

/// Configuration of an adapted run.
#[derive(Debug, Clone)]
pub struct AdaptConfig {
    /// Directory of the rank's logs while they are written, and of its decisions.
    pub directory: PathBuf,
    /// This rank.
    pub rank: u32,
    /// Class of each instance at the start of the run.
    pub assembly: Assembly,
    /// Classes that may take their places.
    pub alternatives: Alternatives,
    /// Dispatchers whose tables may change, each with its initial table.
    pub dispatchers: Dispatchers,
    /// Bounds on the cost of trials.
    pub settings: AdaptSettings,
    /// Longest time that one step of the application may keep other ranks waiting.
    pub patience: Duration,
    /// Estimates of an earlier run; the same on every rank.
    pub learned: Learned,
}

/// Outcome of an adapted run.
#[derive(Debug, Clone, Default)]
pub struct AdaptOutcome {
    /// Number of steps that the application has reported.
    pub steps: u64,
    /// All decisions, in order.
    pub decisions: Vec<Decision>,
    /// Classes that could not be put in on this rank, with the reasons, and other problems.
    pub warnings: Vec<String>,
    /// Processor seconds of watching the steps, following the records, deciding and swapping on this rank.
    pub own_s: f64,
    /// The log of the decisions.
    pub log: PathBuf,
    /// Instances that may be swapped, and their classes now.
    pub classes: Assembly,
    /// Dispatchers with the tables by which each should send calls from now on, without trials.
    pub tables: Dispatchers,
    /// Instances, each with a class that was never tried because the budget did not cover one of its calls.
    pub unborne: Vec<(String, String)>,
    /// Estimates for the next run.
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
