//! What a number of ranks, and a size of the problem, add to the times that models predict: ranks wait for one another and for the
//! processor, and share memory and caches; the caches and the branch predictors of a processor serve a small problem better.
//!
//! A model tells the time of a call by its parameters, not how many ranks made such calls at once, nor in which problem; fitted to
//! runs of several of them it tells the middle, and how times differ among the calls of one run is taken for how they grow from run
//! to run. So what the runs with the wanted number of ranks took is looked at in two parts:
//!
//! * computing, which takes processor time. What the instances of each run took of it is compared with what the models tell for the
//!   very calls of that run. Where runs of three sizes tell it, what they took is scaled to the wanted size as their calls are, and
//!   compared with what the models tell there;
//! * MPI, in which ranks wait for one another, since one has less to compute: what all instances of a run spend there is a part of
//!   what they compute, or a power of the size times that where runs tell one. It is processor time as long as each rank has a processor, since MPI waits busily; where ranks share processors it
//!   is time in which others compute.
//!
//! How long ranks wait for one another follows from no run with another number of ranks: without such a run nothing is predicted.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::Error;
use crate::predicted::predict_calls;
use crate::scaling::{Settings, SizedRun, power, scale_workload};
use crate::score::{Seconds, recorded_with};
use crate::workload::{Call, Recorded, Workload};

/// The setting that is the number of ranks.
pub const RANKS: &str = "ranks";

/// By how much a ratio may leave the range of those that were seen, where it is told for a size that was not run.
const BEYOND_RANGE: f64 = 1.5;

/// Fewest sizes that tell a power.
const LEAST_SIZES: usize = 3;

/// What a number of ranks, and a size, make of the times of a run.
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
    /// Whether it is the size of the problem alone that makes times differ from what the models tell.
    pub fn is_of_size(&self) -> bool {
        self.ranks == 1 && self.mpi.is_none()
    }

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
/// None where all runs had the wanted number of ranks, spend nothing in MPI, and are of fewer than three sizes, since the models are
/// then of it.
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
    let settings: Vec<&Settings> = same.iter().map(|run| &run.settings).collect();
    let sizes = sizes(&settings, wanted);
    let is_of_sizes = sizes.as_ref().is_some_and(Sizes::tell_a_power);
    if run.len() == 1 && !is_of_sizes && same.iter().map(in_mpi_s).all(|s| s <= 0.0) {
        return Ok(None);
    }
    let taken = Taken::by(&same, models, seconds)?;
    let enough = sizes.as_ref().filter(|sizes| sizes.tell_a_power());
    let grown = match enough {
        Some(_) => Taken::grown(&same, wanted, models, seconds)?,
        None => Taken::default(),
    };
    let computing = taken.computed.iter().filter_map(|(instance, of_runs)| {
        // An instance that some runs do not call is not told by the others.
        let is_whole = of_runs.len() == same.len() && of_runs.iter().all(|c| c.seconds > 0.0);
        let grown = grown.computed.get(instance).map(|grown| grown[0].ratio());
        let grown = grown.filter(|ratio| *ratio > 0.0);
        is_whole.then(|| (instance.clone(), computing(enough, of_runs, grown)))
    });
    Ok(Some(RankEffects {
        ranks: ranks as u32,
        processors: same.iter().filter_map(|run| run.processors).min(),
        computing: computing.collect(),
        mpi: mpi_time(sizes.as_ref(), &taken, grown.computed_s.first().copied()),
    }))
}

/// What an instance computed in a run, and what the models tell of it, seconds.
struct Computed {
    seconds: f64,
    predicted_s: f64,
}

impl Computed {
    fn ratio(&self) -> f64 {
        self.seconds / self.predicted_s
    }
}

/// What runs took of the instances that have models.
#[derive(Default)]
struct Taken {
    /// By instance, for each run that called it.
    computed: BTreeMap<String, Vec<Computed>>,
    /// Computing of all instances in each run, seconds.
    computed_s: Vec<f64>,
    /// Time of all instances in MPI in each run, seconds.
    mpi_s: Vec<f64>,
    /// Time in MPI by instance in all runs, seconds.
    in_mpi: BTreeMap<String, f64>,
}

impl Taken {
    fn by(runs: &[&SizedRun], models: &ModelSet, seconds: Seconds) -> Result<Self, Error> {
        let mut taken = Taken::default();
        for run in runs {
            taken.add(&run.workload, models, seconds)?;
        }
        Ok(taken)
    }

    /// What a run of the wanted size would take, as the runs grow.
    fn grown(
        runs: &[&SizedRun],
        wanted: &Settings,
        models: &ModelSet,
        seconds: Seconds,
    ) -> Result<Self, Error> {
        let runs: Vec<SizedRun> = runs.iter().map(|run| (*run).clone()).collect();
        let mut taken = Taken::default();
        taken.add(&scale_workload(&runs, wanted)?.workload, models, seconds)?;
        Ok(taken)
    }

    fn add(
        &mut self,
        workload: &Workload,
        models: &ModelSet,
        seconds: Seconds,
    ) -> Result<(), Error> {
        let (mut computed_s, mut mpi_s) = (0.0, 0.0);
        for (instance, recorded, predicted_s) in recorded_beside(workload, models)? {
            let computed = Computed {
                seconds: recorded.computation_of(seconds),
                predicted_s,
            };
            computed_s += computed.seconds;
            mpi_s += recorded.mpi_s;
            *self.in_mpi.entry(instance.clone()).or_default() += recorded.mpi_s;
            self.computed.entry(instance).or_default().push(computed);
        }
        self.computed_s.push(computed_s);
        self.mpi_s.push(mpi_s);
        Ok(())
    }
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
        let counted = calls.iter().map(|call| call.counted());
        let predicted = predict_calls(class, counted, workload, models, &mut lacking)?;
        let recorded = recorded_with(&calls, class);
        let known = recorded.filter(|_| predicted.time_s > 0.0 && lacking.is_empty());
        if let Some(recorded) = known {
            beside.push((instance.to_owned(), recorded, predicted.time_s));
        }
    }
    Ok(beside)
}

/// The ratio at the wanted settings, by the runs of the wanted number of ranks.
///
/// # Arguments
/// * `of_runs` - what each run took
/// * `grown` - the ratio of what the runs' own growth tells and of what the models tell at the wanted size
fn computing(sizes: Option<&Sizes>, of_runs: &[Computed], grown: Option<f64>) -> RankEffect {
    let seen: Vec<f64> = of_runs.iter().map(|run| run.ratio().ln()).collect();
    let lowest = seen.iter().copied().fold(f64::MAX, f64::min);
    let highest = seen.iter().copied().fold(f64::MIN, f64::max);
    let (told, error) = match (sizes, grown) {
        (Some(_), Some(ratio)) => {
            let logs: Vec<f64> = of_runs.iter().map(|run| run.seconds.ln()).collect();
            (ratio.ln(), Line::through(sizes, &logs).error)
        }
        _ => {
            let mean = Line::through(None, &seen);
            (mean.at, mean.error)
        }
    };
    let beyond = BEYOND_RANGE.ln();
    RankEffect {
        ratio: told.clamp(lowest - beyond, highest + beyond).exp(),
        // The further it is from what was seen, the less is known of it.
        deviation: error.hypot(told - told.clamp(lowest, highest)),
        runs: of_runs.len(),
    }
}

/// Time in MPI at the wanted settings: in proportion to what ranks compute, or by a power of the size where runs tell that the
/// proportion has one.
///
/// # Arguments
/// * `grown_s` - what is computed at the wanted size; None where no power tells it
fn mpi_time(sizes: Option<&Sizes>, taken: &Taken, grown_s: Option<f64>) -> Option<MpiTime> {
    let whole: f64 = taken.in_mpi.values().sum();
    let mut all = taken.mpi_s.iter().chain(&taken.computed_s);
    if all.any(|s| *s <= 0.0) || whole <= 0.0 {
        return None;
    }
    let computed: Vec<f64> = taken.computed_s.iter().map(|s| s.ln()).collect();
    let beside = taken.mpi_s.iter().zip(&computed);
    let beside: Vec<f64> = beside.map(|(s, computed)| s.ln() - computed).collect();
    let mut line = Line::through(sizes, &beside);
    if line.is_level() {
        line = Line::through(None, &beside);
    }
    let computed = Line::through(sizes, &computed);
    let at = line.at + grown_s.map_or(computed.at, f64::ln);
    let half = line.half_width(mastermind_models::LEVEL);
    let half = half.map(|half| half.hypot(computed.error));
    let shares = taken.in_mpi.iter();
    Some(MpiTime {
        seconds: at.exp(),
        interval_s: half.map(|half| [(at - half).exp(), (at + half).exp()]),
        runs: taken.mpi_s.len(),
        shares: shares.map(|(name, s)| (name.clone(), s / whole)).collect(),
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

    fn tell_a_power(&self) -> bool {
        self.n_distinct() >= LEAST_SIZES
    }
}

/// The size of each run; None where all are alike, not numbers above 0, or several settings vary each by itself.
fn sizes(settings: &[&Settings], wanted: &Settings) -> Option<Sizes> {
    let varies = |name: &&String| {
        let first = settings.first().and_then(|settings| settings.get(*name));
        let mut all = settings.iter().map(|settings| settings.get(*name));
        all.any(|value| value != first)
    };
    let varying: Vec<&String> = wanted.keys().filter(varies).collect();
    let of = |name: &String| -> Option<Vec<f64>> {
        let all = settings.iter().map(|settings| settings.get(name).copied());
        all.map(|x| x.filter(|x| *x > 0.0)).collect()
    };
    // Settings that vary together, such as both sides of a mesh, are one size.
    let (name, others) = varying.split_first()?;
    let size = of(name)?;
    let go_together = |other: &&String| of(other).is_some_and(|y| power(&size, &y).is_some());
    if !others.iter().all(go_together) {
        return None;
    }
    Some(Sizes {
        of_runs: size.iter().map(|x| x.ln()).collect(),
        wanted: wanted.get(*name).filter(|x| **x > 0.0)?.ln(),
    })
}

/// A line through logarithms, at what is wanted: the mean where there are no two sizes.
struct Line {
    at: f64,
    /// Standard error of that.
    error: f64,
    slope: f64,
    slope_error: f64,
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
            slope,
            slope_error: (variance / spread).sqrt(),
            spread: variance.sqrt(),
            freedom,
        }
    }

    /// Whether runs that tell a slope tell it to be none.
    fn is_level(&self) -> bool {
        self.freedom > 0 && self.slope.abs() < 2.0 * self.slope_error
    }

    /// Half of the interval of one more, in logarithms; None where no run is left to tell it.
    fn half_width(&self, level: f64) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.freedom as f64).ok()?;
        Some(student.inverse_cdf(0.5 + 0.5 * level) * self.spread.hypot(self.error))
    }
}
