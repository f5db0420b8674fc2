//! What a number of ranks adds to the times that models predict: ranks wait for one another and for the processor, and share
//! memory and caches.
//!
//! A model tells the time of a call by its parameters, not how many ranks made such calls at once; fitted to runs of several
//! numbers of ranks it tells the middle of them. So what the instances of each run took is compared with what the models tell for
//! the very calls of that run. The ratio at the wanted number of ranks is that of the runs which had it, a power of the other
//! settings where those vary, and it is applied to the workload of the wanted settings. How long ranks wait for one another
//! follows from no run with another number of ranks: without such a run nothing is predicted.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;
use serde::Serialize;

use crate::error::Error;
use crate::predicted::predict_calls;
use crate::scaling::{Law, Settings, SizedRun};
use crate::score::{Seconds, recorded_with};
use crate::workload::{Call, Workload};

/// The setting that is the number of ranks.
pub const RANKS: &str = "ranks";

/// By how much a ratio may leave the range of those that were seen, where it is told for a size that was not run.
const BEYOND_RANGE: f64 = 1.5;

/// Part of what the models tell that a run must have taken beyond it, so that this is no spread of runs.
const LEAST_BEYOND: f64 = 0.05;

/// What the ranks make of an instance's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankEffect {
    /// What it takes, over what the models tell.
    pub ratio: f64,
    /// Standard deviation of the ratio's logarithm: how far runs are off the power that it was told by.
    pub deviation: f64,
    /// Runs that tell it.
    pub runs: usize,
}

impl RankEffect {
    /// Seconds to add to what the models tell.
    ///
    /// What calls wait is added whichever class answers them, since the ranks that they wait for are the same; where they take less
    /// than the models tell, they do so in proportion.
    ///
    /// # Arguments
    /// * `current_s` - what the models tell of the class that was run
    /// * `class_s` - of the class that is asked for
    pub fn added_s(&self, current_s: f64, class_s: f64) -> f64 {
        let of = if self.ratio > 1.0 { current_s } else { class_s };
        (self.ratio - 1.0) * of
    }
}

/// What the number of ranks makes of the time of each instance.
///
/// # Arguments
/// * `runs` - of the same classes; what they took is compared with what the models tell
/// * `wanted` - with the number of ranks
/// * `seconds` - which of them the models tell
///
/// # Returns
/// By instance; empty where all runs had the wanted number of ranks, since the models are then of it.
///
/// # Errors
/// [`Error::RanksNotRun`]: no run had that number.
pub fn rank_effects(
    runs: &[SizedRun],
    wanted: &Settings,
    models: &ModelSet,
    seconds: Seconds,
) -> Result<BTreeMap<String, RankEffect>, Error> {
    let ranks_of = |settings: &Settings| settings.get(RANKS).copied().unwrap_or(1.0);
    let ranks = ranks_of(wanted);
    let run: BTreeSet<u64> = runs.iter().map(|r| ranks_of(&r.settings) as u64).collect();
    if run.len() == 1 && run.contains(&(ranks as u64)) {
        return Ok(BTreeMap::new());
    }
    let same = runs.iter().filter(|r| ranks_of(&r.settings) == ranks);
    let same: Vec<&SizedRun> = same.collect();
    if same.is_empty() {
        return Err(Error::RanksNotRun {
            wanted: ranks as u64,
            found: run.into_iter().collect(),
        });
    }
    let mut ratios: BTreeMap<String, Vec<(&Settings, f64)>> = BTreeMap::new();
    for run in same {
        for (instance, ratio) in ratios_of(&run.workload, models, seconds)? {
            let of_instance = ratios.entry(instance).or_default();
            of_instance.push((&run.settings, ratio));
        }
    }
    let effects = ratios.into_iter();
    Ok(effects
        .map(|(instance, ratios)| (instance, effect(&ratios, wanted)))
        .collect())
}

/// What each instance took over what the models tell, in one run.
fn ratios_of(
    workload: &Workload,
    models: &ModelSet,
    seconds: Seconds,
) -> Result<Vec<(String, f64)>, Error> {
    let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &workload.calls {
        calls.entry(&call.instance).or_default().push(call);
    }
    let mut ratios = Vec::new();
    for (instance, calls) in calls {
        let class = &calls[0].class;
        let mut lacking = Vec::new();
        let predicted = predict_calls(class, &calls, workload, models, &mut lacking)?;
        let recorded = recorded_with(&calls, class).map(|recorded| recorded.of(seconds));
        let recorded = recorded.filter(|s| *s > 0.0 && predicted.time_s > 0.0);
        if let Some(recorded_s) = recorded.filter(|_| lacking.is_empty()) {
            ratios.push((instance.to_owned(), recorded_s / predicted.time_s));
        }
    }
    Ok(ratios)
}

/// The ratio at the wanted settings, by the runs of the wanted number of ranks.
fn effect(ratios: &[(&Settings, f64)], wanted: &Settings) -> RankEffect {
    let logs: Vec<f64> = ratios.iter().map(|(_, ratio)| ratio.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let (lowest, highest) = logs.iter().fold((mean, mean), |(low, high), ln| {
        (low.min(*ln), high.max(*ln))
    });
    let told = by_size(ratios, wanted).map(f64::ln).unwrap_or(mean);
    let beyond = BEYOND_RANGE.ln();
    let squares: f64 = logs.iter().map(|ln| (ln - mean).powi(2)).sum();
    let spread = (squares / (logs.len().max(2) - 1) as f64).sqrt();
    RankEffect {
        ratio: told.clamp(lowest - beyond, highest + beyond).exp(),
        // The further it is from what was seen, the less is known of it.
        deviation: spread.hypot(told - told.clamp(lowest, highest)),
        runs: ratios.len(),
    }
}

/// The ratio by the one size that it goes with: what is beyond the models is a power of it where all runs have some, else the ratio
/// is. None where there are fewer than three sizes.
fn by_size(ratios: &[(&Settings, f64)], wanted: &Settings) -> Option<f64> {
    let varies = |name: &&String| {
        let first = ratios.first().and_then(|(settings, _)| settings.get(*name));
        let mut all = ratios.iter().map(|(settings, _)| settings.get(*name));
        all.any(|value| value != first)
    };
    // Settings that vary together, such as both sides of a mesh, are one size.
    let name = wanted.keys().find(varies)?;
    let size = |settings: &Settings| settings.get(name).copied().filter(|x| *x > 0.0);
    let sizes: Option<Vec<f64>> = ratios.iter().map(|(settings, _)| size(settings)).collect();
    let sizes = sizes?;
    let distinct: BTreeSet<u64> = sizes.iter().map(|x| x.to_bits()).collect();
    if distinct.len() < 3 {
        return None;
    }
    let law = Law {
        rows: sizes.iter().map(|x| vec![1.0, x.ln()]).collect(),
        at: vec![1.0, size(wanted)?.ln()],
    };
    let values = ratios.iter().map(|(_, ratio)| *ratio);
    let beyond: Vec<f64> = values.clone().map(|ratio| ratio - 1.0).collect();
    match beyond.iter().all(|beyond| *beyond >= LEAST_BEYOND) {
        true => law.power(&beyond).map(|beyond| 1.0 + beyond),
        false => law.power(&values.collect::<Vec<_>>()),
    }
}
