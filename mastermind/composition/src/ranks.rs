//! Effects of the number of ranks, and of the problem size, on the times that models predict.
//!
//! Ranks wait for one another and for the processor, and share memory and caches; small problems profit from a
//! processor's caches and branch predictors.
//!
//! A model predicts the time of a call from its parameters; it does not know how many ranks made such calls at once, or
//! in which problem. Fitted to runs with several rank counts and sizes, it predicts an average, and it extrapolates
//! from run to run by the growth it saw among the calls within runs. So the measured times of the runs with the
//! requested number of ranks are analysed in two parts:
//!
//! * computing, which takes processor time. The computing time of each instance is compared with the model's prediction
//!   for the run's own calls, whatever the classes of the run. If runs cover three sizes, the time of an instance is
//!   extrapolated to the requested size and compared with the prediction there. Beyond the largest size, the error of
//!   the extrapolation is estimated by predicting the largest size from the smaller ones;
//! * MPI, in which ranks with less to compute wait for others. The MPI time of all instances of a run is a share of
//!   their computing time, which may be a power of the size where the runs show one. It is processor time as long as
//!   each rank has a processor, since MPI waits busily; where ranks share processors, others compute during that
//!   time.
//!
//! Runs with other rank counts do not show how long ranks wait for one another, so a rank count without a run is an
//! error.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::Error;
use crate::interaction::median;
use crate::predicted::predict_calls;
use crate::scaling::{Settings, SizedRun, grow_seconds, power, scale_workload};
use crate::score::{Seconds, recorded_with};
use crate::workload::{Call, Recorded, Workload};

/// The setting with the number of ranks.
pub const RANKS: &str = "ranks";

/// Fewest sizes from which a power is estimated.
const LEAST_SIZES: usize = 3;

/// Effects of a number of ranks, and of the problem size, on the times of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankEffects {
    /// The number of ranks.
    pub ranks: u32,
    /// Number of processors of the runs with that many ranks, where known; with more ranks than processors, ranks wait
    /// for one.
    pub processors: Option<u32>,
    /// Effect on the computing time of each instance.
    pub computing: BTreeMap<String, RankEffect>,
    /// Classes of each instance that the runs show.
    #[serde(skip)]
    pub classes: BTreeMap<String, BTreeSet<String>>,
    /// Time in MPI of all of these; None if they spend none.
    pub mpi: Option<MpiTime>,
}

impl RankEffects {
    /// Whether only the size of the problem makes times differ from the models.
    pub fn is_of_size(&self) -> bool {
        self.ranks == 1 && self.mpi.is_none()
    }

    /// Whether ranks share processors, so that their time in MPI is not processor time.
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

/// Effect of the ranks on an instance's computing time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankEffect {
    /// Computing time divided by the models' prediction.
    pub ratio: f64,
    /// Standard error of the ratio's logarithm: from the residuals of the runs about a power of the size and, beyond
    /// the largest size, from the error of predicting that size from the smaller ones, in proportion to the distance.
    pub deviation: f64,
    /// Number of runs used.
    pub runs: usize,
}

impl RankEffect {
    /// Seconds to add to the prediction.
    ///
    /// Time in excess of the models is added in full to every class, since the class does not cause it; a saving is
    /// applied in proportion to the class's time.
    ///
    /// # Arguments
    /// * `run_s` - mean prediction for the classes that were run, seconds
    /// * `class_s` - prediction for the requested class, seconds
    pub fn added_s(&self, run_s: f64, class_s: f64) -> f64 {
        let of = if self.ratio > 1.0 { run_s } else { class_s };
        (self.ratio - 1.0) * of
    }
}

/// Total time of a run's ranks in MPI.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MpiTime {
    /// In one run, seconds.
    pub seconds: f64,
    /// The 95 % interval of one fresh run, seconds; None where there are too few runs.
    pub interval_s: Option<[f64; 2]>,
    /// Number of runs used.
    pub runs: usize,
    /// Share of each instance.
    pub shares: BTreeMap<String, f64>,
}

/// Estimates the effects of a number of ranks on the times of a run.
///
/// # Arguments
/// * `runs` - runs with any classes; their measured times are compared with the models' predictions for their own calls
/// * `wanted` - the requested settings, including the number of ranks
/// * `seconds` - which seconds the models predict
///
/// # Returns
/// None where no correction is needed: all runs have the requested number of ranks, spend no time in MPI, and cover
/// fewer than three sizes, so the models already include the effects.
///
/// # Errors
/// [`Error::RanksNotRun`] if no run has that number of ranks.
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
    let taken = same.iter().map(|run| Taken::by(run, models, seconds));
    let taken: Vec<Taken> = taken.collect::<Result<_, _>>()?;
    let reference = match sizes.as_ref().filter(|sizes| sizes.tell_a_power()) {
        Some(sizes) => Reference::of(&same, sizes, wanted, models)?,
        None => None,
    };
    let instances: BTreeSet<&String> = taken.iter().flat_map(|t| t.computed.keys()).collect();
    let (mut computing, mut grown_s) = (BTreeMap::new(), 0.0);
    for instance in instances {
        let of_runs = taken.iter().map(|taken| taken.computed.get(instance));
        // An instance that some runs do not call is left out.
        let of_runs: Option<Vec<Computed>> = of_runs.map(|computed| computed.copied()).collect();
        let Some(of_runs) = of_runs.filter(|all| all.iter().all(|c| c.seconds > 0.0)) else {
            continue;
        };
        let grown = reference.as_ref().zip(sizes.as_ref());
        let grown = grown.and_then(|(of, sizes)| of.grown(instance, sizes, &taken, &of_runs));
        grown_s += grown.map_or(0.0, |grown| grown.seconds);
        computing.insert(instance.clone(), effect(&of_runs, grown));
    }
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in same.iter().flat_map(|run| &run.workload.calls) {
        let of_instance = classes.entry(call.instance.clone()).or_default();
        of_instance.insert(call.class.clone());
    }
    Ok(Some(RankEffects {
        ranks: ranks as u32,
        processors: same.iter().filter_map(|run| run.processors).min(),
        computing,
        classes,
        mpi: mpi_time(sizes.as_ref(), &taken, Some(grown_s).filter(|s| *s > 0.0)),
    }))
}

/// Computing time of an instance in a run, and the models' prediction of it, seconds.
#[derive(Clone, Copy)]
struct Computed {
    seconds: f64,
    predicted_s: f64,
}

impl Computed {
    fn ln_ratio(&self) -> f64 {
        (self.seconds / self.predicted_s).ln()
    }
}

/// The class of each instance.
type Classes<'r> = BTreeSet<(&'r str, &'r str)>;

/// Times of the instances with models in a run.
struct Taken<'r> {
    classes: Classes<'r>,
    /// By instance.
    computed: BTreeMap<String, Computed>,
    /// Time in MPI by instance, seconds.
    in_mpi: BTreeMap<String, f64>,
}

impl<'r> Taken<'r> {
    fn by(run: &'r SizedRun, models: &ModelSet, seconds: Seconds) -> Result<Self, Error> {
        let mut taken = Taken {
            classes: classes(run),
            computed: BTreeMap::new(),
            in_mpi: BTreeMap::new(),
        };
        for (instance, recorded, predicted_s) in recorded_beside(&run.workload, models)? {
            let computed = Computed {
                seconds: recorded.computation_of(seconds),
                predicted_s,
            };
            taken.in_mpi.insert(instance.clone(), recorded.mpi_s);
            taken.computed.insert(instance, computed);
        }
        Ok(taken)
    }

    /// Computing of all instances, seconds.
    fn computed_s(&self) -> f64 {
        self.computed
            .values()
            .map(|computed| computed.seconds)
            .sum()
    }

    /// Time of all instances in MPI, seconds.
    fn mpi_s(&self) -> f64 {
        self.in_mpi.values().sum()
    }
}

fn classes(run: &SizedRun) -> Classes<'_> {
    let calls = run.workload.calls.iter();
    calls
        .map(|call| (call.instance.as_str(), call.class.as_str()))
        .collect()
}

/// Predictions for the assemblies that were run at the most sizes. Each run's ratio belongs to one size; multiplied by
/// the mean prediction of these assemblies at that size, the ratios of all runs become comparable seconds that grow
/// with the size.
struct Reference<'r> {
    /// Logarithms of the sizes, ascending.
    sizes: Vec<f64>,
    assemblies: BTreeSet<Classes<'r>>,
    /// Mean logarithm of the seconds of each instance at the wanted size.
    wanted: BTreeMap<String, f64>,
}

/// Time of an instance extrapolated to a size that was not run.
#[derive(Clone, Copy)]
struct Grown {
    seconds: f64,
    predicted_s: f64,
    /// Standard deviation of the logarithm of `seconds`.
    deviation: f64,
}

impl<'r> Reference<'r> {
    /// None where no assembly was run at three sizes.
    fn of(
        runs: &[&'r SizedRun],
        sizes: &Sizes,
        wanted: &Settings,
        models: &ModelSet,
    ) -> Result<Option<Self>, Error> {
        let mut by_assembly: BTreeMap<Classes<'r>, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
        for (at, run) in runs.iter().enumerate() {
            let of_assembly = by_assembly.entry(classes(run)).or_default();
            let of_size = of_assembly.entry(sizes.of_runs[at].to_bits()).or_default();
            of_size.push(at);
        }
        let most = by_assembly.values().max_by_key(|at_sizes| at_sizes.len());
        let of_sizes: BTreeSet<u64> = most.into_iter().flat_map(|at| at.keys().copied()).collect();
        if of_sizes.len() < LEAST_SIZES {
            return Ok(None);
        }
        by_assembly.retain(|_, at_sizes| at_sizes.keys().eq(&of_sizes));
        let mut logs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for at_sizes in by_assembly.values() {
            let own: Vec<SizedRun> = at_sizes
                .values()
                .flatten()
                .map(|at| runs[*at].clone())
                .collect();
            let scaled = scale_workload(&own, wanted)?;
            for (instance, _, predicted_s) in recorded_beside(&scaled.workload, models)? {
                logs.entry(instance).or_default().push(predicted_s.ln());
            }
        }
        let n_assemblies = by_assembly.len();
        let of_all = logs
            .into_iter()
            .filter(|(_, logs)| logs.len() == n_assemblies);
        let mut sizes: Vec<f64> = of_sizes.into_iter().map(f64::from_bits).collect();
        sizes.sort_by(f64::total_cmp);
        Ok(Some(Self {
            sizes,
            assemblies: by_assembly.into_keys().collect(),
            wanted: of_all.map(|(name, logs)| (name, mean(&logs))).collect(),
        }))
    }

    /// Time of an instance at the requested size, extrapolated from the sizes of the runs.
    ///
    /// # Arguments
    /// * `of_runs` - computing time of the instance in each run
    fn grown(
        &self,
        instance: &str,
        sizes: &Sizes,
        taken: &[Taken<'r>],
        of_runs: &[Computed],
    ) -> Option<Grown> {
        let predicted_s = self.wanted.get(instance)?.exp();
        let mut runs: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, size) in sizes.of_runs.iter().enumerate() {
            runs.entry(size.to_bits()).or_default().push(at);
        }
        let (mut seconds, mut of_logs, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for size in &self.sizes {
            let runs = &runs[&size.to_bits()];
            let mut predicted = BTreeMap::<&Classes<'_>, Vec<f64>>::new();
            for at in runs {
                let classes = &taken[*at].classes;
                if self.assemblies.contains(classes) {
                    let of_assembly = predicted.entry(classes).or_default();
                    of_assembly.push(of_runs[*at].predicted_s.ln());
                }
            }
            let means: Vec<f64> = predicted.values().map(|logs| mean(logs)).collect();
            let predicted = mean(&means);
            let own = runs.iter().map(|at| of_runs[*at].ln_ratio() + predicted);
            let own: Vec<f64> = own.collect();
            of_logs.resize(of_logs.len() + own.len(), *size);
            logs.extend(&own);
            // The median, so that one disturbed run does not matter.
            seconds.push(median(own).exp());
        }
        let of_logs = Sizes {
            of_runs: of_logs,
            wanted: sizes.wanted,
        };
        let error = Line::through(Some(&of_logs), &logs).error;
        Some(Grown {
            seconds: grow_seconds(&self.sizes, &seconds, sizes.wanted)?,
            predicted_s,
            deviation: error.hypot(self.drift(&seconds, sizes.wanted)),
        })
    }

    /// Standard deviation of the logarithm of the seconds beyond the largest size: the error of predicting that size
    /// from the smaller ones, in proportion to the distance.
    fn drift(&self, seconds: &[f64], wanted: f64) -> f64 {
        let ([smaller @ .., before, last], [known @ .., last_s]) = (&self.sizes[..], seconds)
        else {
            return 0.0;
        };
        let smaller = [smaller, &[*before]].concat();
        let predicted = grow_seconds(&smaller, known, *last);
        let off = predicted.map_or(0.0, |predicted_s| (last_s / predicted_s).ln().abs());
        off * (wanted - last).max(0.0) / (last - before)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Measured time of each instance in a run, and the models' prediction of it, seconds.
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

/// The ratio at the requested settings, from the runs with the requested number of ranks.
///
/// # Arguments
/// * `of_runs` - computing time and prediction of each run
/// * `grown` - extrapolated time at the requested size; None where the runs do not show its growth
fn effect(of_runs: &[Computed], grown: Option<Grown>) -> RankEffect {
    let (ln_ratio, deviation) = match grown {
        Some(grown) => ((grown.seconds / grown.predicted_s).ln(), grown.deviation),
        None => {
            let ratios: Vec<f64> = of_runs.iter().map(Computed::ln_ratio).collect();
            let mean = Line::through(None, &ratios);
            (mean.at, mean.error)
        }
    };
    RankEffect {
        ratio: ln_ratio.exp(),
        deviation,
        runs: of_runs.len(),
    }
}

/// Time in MPI at the requested settings: a constant share of the computing time, or a share that is a power of the
/// size where the runs show one.
///
/// # Arguments
/// * `grown_s` - computing time at the requested size, seconds; None where it cannot be extrapolated
fn mpi_time(sizes: Option<&Sizes>, taken: &[Taken<'_>], grown_s: Option<f64>) -> Option<MpiTime> {
    let is_there = |taken: &Taken<'_>| taken.mpi_s() > 0.0 && taken.computed_s() > 0.0;
    if !taken.iter().all(is_there) {
        return None;
    }
    let computed: Vec<f64> = taken.iter().map(|run| run.computed_s().ln()).collect();
    let beside = taken.iter().zip(&computed);
    let beside: Vec<f64> = beside
        .map(|(run, computed)| run.mpi_s().ln() - computed)
        .collect();
    let mut line = Line::through(sizes, &beside);
    if line.is_level() {
        line = Line::through(None, &beside);
    }
    let computed = Line::through(sizes, &computed);
    let at = line.at + grown_s.map_or(computed.at, f64::ln);
    let half = line.half_width(mastermind_models::LEVEL);
    let half = half.map(|half| half.hypot(computed.error));
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let whole: f64 = taken.iter().map(Taken::mpi_s).sum();
    for (instance, seconds) in taken.iter().flat_map(|run| &run.in_mpi) {
        *shares.entry(instance.clone()).or_default() += seconds / whole;
    }
    Some(MpiTime {
        seconds: at.exp(),
        interval_s: half.map(|half| [(at - half).exp(), (at + half).exp()]),
        runs: taken.len(),
        shares,
    })
}

/// Logarithms of the one size that varies among the runs, or between the runs and the request.
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

/// The size of each run; None where all are equal, where one is not a number above 0, or where several settings vary
/// independently.
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

/// A fitted line through logarithms, evaluated at the requested size; the mean where there is only one size.
struct Line {
    at: f64,
    /// Standard error of that value.
    error: f64,
    slope: f64,
    slope_error: f64,
    /// Standard deviation of the runs about the line; 0 where there are no more runs than coefficients.
    spread: f64,
    freedom: usize,
}

impl Line {
    /// * `logs` - one value for each run, at least one
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

    /// Whether the runs determine a slope and it does not differ significantly from 0.
    fn is_level(&self) -> bool {
        self.freedom > 0 && self.slope.abs() < 2.0 * self.slope_error
    }

    /// Half-width of the interval of one further run, in logarithms; None without a degree of freedom.
    fn half_width(&self, level: f64) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.freedom as f64).ok()?;
        Some(student.inverse_cdf(0.5 + 0.5 * level) * self.spread.hypot(self.error))
    }
}
