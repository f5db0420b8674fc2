//! What a number of ranks adds to the times that models predict: ranks wait for one another and for the processor, and share
//! memory and caches.
//!
//! A model tells the time of a call by its parameters, not how many ranks made such calls at once; fitted to runs of several
//! numbers of ranks it tells the middle of them. So what the runs with the wanted number took is looked at in two parts:
//!
//! * computing, which takes processor time. What the instances of each run took of it is compared with what the models tell for the
//!   very calls of that run; the ratio is a power of the other settings where those vary;
//! * MPI, in which ranks wait for one another. What all instances of a run spend there is a power of the other settings by
//!   itself. It is processor time as long as each rank has a processor, since MPI waits busily; where ranks share processors it
//!   is time in which others compute.
//!
//! How long ranks wait for one another follows from no run with another number of ranks: without such a run nothing is predicted.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::Error;
use crate::predicted::predict_calls;
use crate::scaling::{Settings, SizedRun};
use crate::score::{Seconds, recorded_with};
use crate::workload::{Call, Recorded, Workload};

/// The setting that is the number of ranks.
pub const RANKS: &str = "ranks";

/// By how much a ratio may leave the range of those that were seen, where it is told for a size that was not run.
const BEYOND_RANGE: f64 = 1.5;

/// Part of what the models tell that a run must have taken beyond it, so that this is no spread of runs.
const LEAST_BEYOND: f64 = 0.05;

/// Fewest sizes that tell a power.
const LEAST_SIZES: usize = 3;

/// What a number of ranks makes of the times of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankEffects {
    /// The number.
    pub ranks: u32,
    /// Processors that the runs with it had, where they tell: ranks that are more of them than that wait for one.
    pub processors: Option<u32>,
    /// Computing of each instance.
    pub computing: BTreeMap<String, RankEffect>,
    /// Time in MPI of all of these, if they spend any.
    pub mpi: Option<MpiTime>,
}

impl RankEffects {
    /// Whether ranks share processors, so that their time in MPI is no processor time.
    pub fn is_oversubscribed(&self) -> bool {
        self.processors.is_some_and(|there| self.ranks > there)
    }

    /// Seconds that an instance spends in MPI.
    pub(crate) fn mpi_s(&self, instance: &str) -> f64 {
        let mpi = self.mpi.as_ref();
        mpi.map_or(0.0, |mpi| {
            mpi.seconds * mpi.shares.get(instance).copied().unwrap_or(0.0)
        })
    }
}

/// What the ranks make of an instance's computing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankEffect {
    /// What it takes, over what the models tell.
    pub ratio: f64,
    /// Standard error of the ratio's logarithm, by how far runs are off the power that it was told by.
    pub deviation: f64,
    /// Runs that tell it.
    pub runs: usize,
}

impl RankEffect {
    /// Seconds to add to what the models tell.
    ///
    /// What is beyond the models is added whichever class answers the calls, since it is no work of the class; where they
    /// take less than the models tell, they do so in proportion.
    ///
    /// # Arguments
    /// * `current_s` - what the models tell of the class that was run
    /// * `class_s` - of the class that is asked for
    pub fn added_s(&self, current_s: f64, class_s: f64) -> f64 {
        let of = if self.ratio > 1.0 { current_s } else { class_s };
        (self.ratio - 1.0) * of
    }
}

/// What the ranks of a run spend in MPI, together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MpiTime {
    /// In one run, seconds.
    pub seconds: f64,
    /// Ends of the interval that one fresh run is in with a probability of 95 %, seconds; none where too few runs tell it.
    pub interval_s: Option<[f64; 2]>,
    /// Runs that tell it.
    pub runs: usize,
    /// What part of it each instance spends.
    pub shares: BTreeMap<String, f64>,
}

/// What a number of ranks makes of the times of a run.
///
/// # Arguments
/// * `runs` - of the same classes; what they took is compared with what the models tell
/// * `wanted` - with the number of ranks
/// * `seconds` - which of them the models tell
///
/// # Returns
/// None where all runs had the wanted number of ranks and spend nothing in MPI, since the models are then of it.
///
/// # Errors
/// [`Error::RanksNotRun`]: no run had that number.
pub fn rank_effects(
    runs: &[SizedRun],
    wanted: &Settings,
    models: &ModelSet,
    seconds: Seconds,
) -> Result<Option<RankEffects>, Error> {
    let ranks_of = |settings: &Settings| settings.get(RANKS).copied().unwrap_or(1.0);
    let ranks = ranks_of(wanted);
    let run: BTreeSet<u64> = runs.iter().map(|r| ranks_of(&r.settings) as u64).collect();
    let same = runs.iter().filter(|r| ranks_of(&r.settings) == ranks);
    let same: Vec<&SizedRun> = same.collect();
    if same.is_empty() {
        return Err(Error::RanksNotRun {
            wanted: ranks as u64,
            found: run.into_iter().collect(),
        });
    }
    let in_mpi_s = |run: &&SizedRun| run.workload.recorded().mpi_s;
    if run.len() == 1 && same.iter().map(in_mpi_s).all(|s| s <= 0.0) {
        return Ok(None);
    }
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut in_mpi: BTreeMap<String, f64> = BTreeMap::new();
    let mut totals = Vec::new();
    for run in &same {
        let mut total_s = 0.0;
        for (instance, recorded, predicted_s) in recorded_beside(&run.workload, models)? {
            total_s += recorded.mpi_s;
            *in_mpi.entry(instance.clone()).or_default() += recorded.mpi_s;
            let ratio = recorded.computation_of(seconds) / predicted_s;
            ratios.entry(instance).or_default().push(ratio);
        }
        totals.push(total_s);
    }
    let settings: Vec<&Settings> = same.iter().map(|run| &run.settings).collect();
    let computing = ratios.into_iter().filter_map(|(instance, ratios)| {
        // An instance that some runs do not call is not told by the others.
        let is_whole = ratios.len() == settings.len() && ratios.iter().all(|r| *r > 0.0);
        is_whole.then(|| (instance, computing(&settings, &ratios, wanted)))
    });
    Ok(Some(RankEffects {
        ranks: ranks as u32,
        processors: same.iter().filter_map(|run| run.processors).min(),
        computing: computing.collect(),
        mpi: mpi_time(&settings, &totals, in_mpi, wanted),
    }))
}

/// What each instance took in a run, and seconds that the models tell of it.
fn recorded_beside(
    workload: &Workload,
    models: &ModelSet,
) -> Result<Vec<(String, Recorded, f64)>, Error> {
    let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &workload.calls {
        calls.entry(&call.instance).or_default().push(call);
    }
    let mut beside = Vec::new();
    for (instance, calls) in calls {
        let class = &calls[0].class;
        let mut lacking = Vec::new();
        let predicted = predict_calls(class, &calls, workload, models, &mut lacking)?;
        let recorded = recorded_with(&calls, class);
        let known = recorded.filter(|_| predicted.time_s > 0.0 && lacking.is_empty());
        if let Some(recorded) = known {
            beside.push((instance.to_owned(), recorded, predicted.time_s));
        }
    }
    Ok(beside)
}

/// The ratio at the wanted settings, by the runs of the wanted number of ranks.
fn computing(settings: &[&Settings], ratios: &[f64], wanted: &Settings) -> RankEffect {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let (lowest, highest) = logs.iter().fold((f64::MAX, f64::MIN), |(low, high), ln| {
        (low.min(*ln), high.max(*ln))
    });
    let sizes = sizes(settings, wanted).filter(|sizes| sizes.n_distinct() >= LEAST_SIZES);
    // What is beyond the models is a power of the size where all runs have some, else the ratio is.
    let shift = match ratios.iter().all(|ratio| ratio - 1.0 >= LEAST_BEYOND) {
        true if sizes.is_some() => 1.0,
        _ => 0.0,
    };
    let shifted: Vec<f64> = ratios.iter().map(|ratio| (ratio - shift).ln()).collect();
    let line = Line::through(sizes.as_ref(), &shifted);
    let told = (line.at.exp() + shift).ln();
    let beyond = BEYOND_RANGE.ln();
    // A deviation of what is beyond is one of the ratio by that part.
    let part = (told.exp() - shift) / told.exp();
    RankEffect {
        ratio: told.clamp(lowest - beyond, highest + beyond).exp(),
        // The further it is from what was seen, the less is known of it.
        deviation: (part * line.error).hypot(told - told.clamp(lowest, highest)),
        runs: ratios.len(),
    }
}

/// Time in MPI at the wanted settings.
fn mpi_time(
    settings: &[&Settings],
    totals_s: &[f64],
    in_mpi: BTreeMap<String, f64>,
    wanted: &Settings,
) -> Option<MpiTime> {
    let whole: f64 = in_mpi.values().sum();
    if totals_s.iter().any(|s| *s <= 0.0) || whole <= 0.0 {
        return None;
    }
    let logs: Vec<f64> = totals_s.iter().map(|s| s.ln()).collect();
    let line = Line::through(sizes(settings, wanted).as_ref(), &logs);
    let half = line.half_width(mastermind_models::LEVEL);
    let shares = in_mpi.into_iter();
    Some(MpiTime {
        seconds: line.at.exp(),
        interval_s: half.map(|half| [(line.at - half).exp(), (line.at + half).exp()]),
        runs: totals_s.len(),
        shares: shares.map(|(name, s)| (name, s / whole)).collect(),
    })
}

/// Logarithms of the one size that varies among runs, or is wanted to be another.
struct Sizes {
    of_runs: Vec<f64>,
    wanted: f64,
}

impl Sizes {
    fn n_distinct(&self) -> usize {
        let distinct: BTreeSet<u64> = self.of_runs.iter().map(|x| x.to_bits()).collect();
        distinct.len()
    }
}

/// The size of each run; None where all are alike, or not numbers above 0.
fn sizes(settings: &[&Settings], wanted: &Settings) -> Option<Sizes> {
    let varies = |name: &&String| {
        let first = settings.first().and_then(|settings| settings.get(*name));
        let mut all = settings.iter().map(|settings| settings.get(*name));
        all.any(|value| value != first)
    };
    // Settings that vary together, such as both sides of a mesh, are one size.
    let name = wanted.keys().find(varies)?;
    let ln = |settings: &Settings| settings.get(name).filter(|x| **x > 0.0).map(|x| x.ln());
    let of_runs: Option<Vec<f64>> = settings.iter().map(|settings| ln(settings)).collect();
    Some(Sizes {
        of_runs: of_runs?,
        wanted: ln(wanted)?,
    })
}

/// A line through logarithms, at what is wanted: the mean where there are no two sizes.
struct Line {
    at: f64,
    /// Standard error of that.
    error: f64,
    /// Standard deviation of the runs about the line; 0 where there are as few as coefficients.
    spread: f64,
    freedom: usize,
}

impl Line {
    /// # Arguments
    /// * `logs` - one for each run, at least one
    fn through(sizes: Option<&Sizes>, logs: &[f64]) -> Self {
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let (centre, slope, spread) = match sizes.filter(|sizes| sizes.n_distinct() > 1) {
            Some(sizes) => {
                let centre = sizes.of_runs.iter().sum::<f64>() / n;
                let apart = sizes.of_runs.iter().map(|x| x - centre);
                let spread: f64 = apart.clone().map(|x| x * x).sum();
                let along: f64 = apart.zip(logs).map(|(x, y)| x * (y - mean)).sum();
                (centre, along / spread, spread)
            }
            None => (0.0, 0.0, f64::INFINITY),
        };
        let place = |run: usize| sizes.map_or(0.0, |sizes| sizes.of_runs[run]);
        let off = logs.iter().enumerate();
        let off = off.map(|(run, y)| y - mean - slope * (place(run) - centre));
        let n_coefficients = if spread.is_finite() { 2 } else { 1 };
        let freedom = logs.len().saturating_sub(n_coefficients);
        let variance = off.map(|off| off * off).sum::<f64>() / freedom.max(1) as f64;
        let away = sizes.map_or(0.0, |sizes| sizes.wanted) - centre;
        Line {
            at: mean + slope * away,
            error: (variance * (1.0 / n + away * away / spread)).sqrt(),
            spread: variance.sqrt(),
            freedom,
        }
    }

    /// Half of the interval of one more, in logarithms; None where no run is left to tell it.
    fn half_width(&self, level: f64) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.freedom as f64).ok()?;
        Some(student.inverse_cdf(0.5 + 0.5 * level) * self.spread.hypot(self.error))
    }
}
