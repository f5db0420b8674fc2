//! Calls of each instance by the classes of the instances that decide them.
//!
//! A class may change how often, or with which parameters, another instance is called: a checksum reads what a
//! compressor writes. So the calls of an instance belong to a combination of classes, not to a single run. For each
//! instance, this module finds the smallest set `N` of at most two instances whose classes explain how its calls differ
//! between runs of one workload. The features of a run are the logarithms of the number of calls and of the sum of each
//! parameter, and the share of each label. With `SS(N)` the sum of squares about the means of runs of equal classes,
//! `ν` its degrees of freedom, and `v = SS / ν`:
//!
//! ```text
//! N explains the calls  where no other set M has 4 v(M) < v(N) and F = v(N) / v(M) beyond chance
//! π(calls | classes of N) = mean number of each call over the runs with these classes
//! ```
//!
//! Among equal sets, the nearest in the assembly is used: the callers of the instance, then the instances that its
//! callers also call, then the others. If no two runs have the same classes (`ν = 0`), the spread of the workload's
//! other instances replaces `v`.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::Value;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::scaling::{Settings, SizedRun, scale_workload};
use crate::workload::{Assembly, Call, Workload};

/// Factor by which a set's variance may exceed that of another set. Source: a study of synthetic assemblies of six
/// sites with random calls: the variances of two sets that explain equally much differed by less than a factor of 3.
const TOLERATED: f64 = 4.0;

/// Probability of choosing a larger set for an instance by chance.
const LEVEL: f64 = 0.01;

/// Variance below which features count as equal, since sums are rounded.
const ROUNDING: f64 = 1e-18;

/// A run of the workload.
#[derive(Debug, Clone, Copy)]
pub struct PatternRun<'a> {
    /// Class of each instance.
    pub classes: &'a Assembly,
    /// Its calls.
    pub workload: &'a Workload,
    /// Its settings.
    pub settings: &'a Settings,
}

/// A recorded call, and the mean number of it in a run. The seconds in the call are also means over runs.
pub(crate) type WeightedCall = (Call, f64);

/// The calls of an instance by the classes of other instances.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallPattern {
    /// Instances whose classes decide the calls: none, one or two.
    pub neighbours: Vec<String>,
    /// Calls by the classes of these.
    calls: BTreeMap<Vec<String>, MeanCalls>,
    /// Relative variance of a run's calls among runs of equal classes: of the number of calls or of a parameter's sum,
    /// the larger one.
    variance: f64,
}

/// The mean calls of a run, and the number of runs.
#[derive(Debug, Clone, Default, PartialEq)]
struct MeanCalls {
    calls: Vec<WeightedCall>,
    n_runs: usize,
}

/// The call patterns of all instances that runs show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallPatterns {
    of: BTreeMap<String, CallPattern>,
    n_runs: usize,
}

impl CallPatterns {
    /// Estimates the call patterns from runs.
    ///
    /// # Arguments
    /// * `runs` - runs with any classes; only runs of equal settings are compared
    /// * `connections` - pairs of caller and callee
    pub fn of(runs: &[PatternRun<'_>], connections: &BTreeSet<[String; 2]>) -> Self {
        let calls = runs.iter().flat_map(|run| &run.workload.calls);
        let instances: BTreeSet<&str> = calls.map(|call| call.instance.as_str()).collect();
        let with_choice = with_choice(runs);
        let features: BTreeMap<&str, Features> = instances
            .iter()
            .map(|instance| (*instance, Features::of(runs, instance)))
            .collect();
        let common = common_variance(runs, &features, &with_choice);
        let of = features.iter().map(|(instance, features)| {
            let near = nearest_first(instance, &with_choice, connections);
            let neighbours = explaining(runs, features, &near, common);
            let variance = features.largest_variance(runs, &neighbours);
            let pattern = CallPattern::of(runs, instance, neighbours, variance);
            ((*instance).to_owned(), pattern)
        });
        Self {
            of: of.collect(),
            n_runs: runs.len(),
        }
    }

    /// The patterns at settings that were not run, extrapolated for each combination of classes. A combination with too
    /// few runs grows from its nearest settings like the other combinations together.
    ///
    /// # Arguments
    /// * `runs` - runs with any classes and settings
    /// * `connections` - pairs of caller and callee
    /// * `wanted` - a value for each setting
    pub fn scaled(
        runs: &[PatternRun<'_>],
        connections: &BTreeSet<[String; 2]>,
        wanted: &Settings,
    ) -> Self {
        let mut patterns = Self::of(runs, connections);
        for (instance, pattern) in &mut patterns.of {
            let combinations = groups(runs, &pattern.neighbours);
            let sized = combinations.iter().map(|(classes, runs)| {
                let of_instance = runs.iter().map(|run| run.of(instance));
                (classes, of_instance.collect::<Vec<SizedRun>>())
            });
            let sized: Vec<_> = sized.collect();
            let at = |settings: &Settings| -> Vec<Option<Workload>> {
                let scaled = sized.iter().map(|(_, runs)| scale_workload(runs, settings));
                scaled
                    .map(|scaled| scaled.ok().map(|scaled| scaled.workload))
                    .collect()
            };
            let grown = at(wanted);
            let mut calls = BTreeMap::new();
            for ((classes, runs), known) in combinations.iter().zip(&grown) {
                let calls_of = match known {
                    Some(workload) => weighted(workload),
                    None => {
                        let away = |run: &&&PatternRun<'_>| distance(run.settings, wanted);
                        let nearest = runs.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
                        let Some(nearest) = nearest else { continue };
                        let growth = Growth::of(instance, &at(nearest.settings), &grown);
                        let Some(growth) = growth else { continue };
                        let alike = runs.iter().filter(|run| run.settings == nearest.settings);
                        let alike: Vec<&Workload> = alike.map(|run| run.workload).collect();
                        growth.apply(mean_calls(&alike, instance))
                    }
                };
                let mean = MeanCalls {
                    calls: calls_of,
                    n_runs: runs.len(),
                };
                calls.insert(classes.clone(), mean);
            }
            pattern.calls = calls;
        }
        patterns
    }

    /// The pattern of an instance; None where no run calls it.
    pub fn get(&self, instance: &str) -> Option<&CallPattern> {
        self.of.get(instance)
    }

    /// Whether there are no runs, so that no instance has a pattern.
    pub fn is_empty(&self) -> bool {
        self.n_runs == 0
    }

    /// Instances whose calls depend on the classes of others, and those others.
    pub fn explained(&self) -> impl Iterator<Item = (&str, &[String])> {
        let explained = self.of.iter().filter(|(_, p)| !p.neighbours.is_empty());
        explained.map(|(instance, p)| (instance.as_str(), p.neighbours.as_slice()))
    }
}

impl CallPattern {
    fn of(runs: &[PatternRun<'_>], instance: &str, neighbours: Vec<String>, variance: f64) -> Self {
        let calls = groups(runs, &neighbours).into_iter();
        let calls = calls.map(|(classes, runs)| {
            let n_runs = runs.len();
            let runs: Vec<&Workload> = runs.iter().map(|run| run.workload).collect();
            let calls = mean_calls(&runs, instance);
            (classes, MeanCalls { calls, n_runs })
        });
        Self {
            calls: calls.collect(),
            neighbours,
            variance,
        }
    }

    /// The mean calls of a run with these classes of [`Self::neighbours`], in their order. If no run shows them, the
    /// calls of the combination that shares most of them, the nearest instance first.
    pub(crate) fn calls(&self, classes: &[&str]) -> &[WeightedCall] {
        let nearest = self.nearest(classes);
        nearest.map_or(&[], |mean| &mean.calls)
    }

    /// Relative variance of the mean calls with these classes, since the sizes that runs draw vary.
    pub(crate) fn mean_variance(&self, classes: &[&str]) -> f64 {
        let nearest = self.nearest(classes);
        nearest.map_or(0.0, |mean| self.variance / mean.n_runs as f64)
    }

    fn nearest(&self, classes: &[&str]) -> Option<&MeanCalls> {
        let shared = |known: &Vec<String>| {
            let same = known.iter().zip(classes).map(|(a, b)| a == b);
            let same: Vec<bool> = same.collect();
            (same.iter().filter(|same| **same).count(), same)
        };
        let nearest = self.calls.iter().max_by_key(|(known, _)| shared(known));
        nearest.map(|(_, mean)| mean)
    }

    /// Whether a run shows these classes.
    pub(crate) fn is_seen(&self, classes: &[&str]) -> bool {
        let mut known = self.calls.keys();
        known.any(|known| known.iter().zip(classes).all(|(a, b)| a == b))
    }
}

/// Instances that have several classes among the runs.
fn with_choice<'r>(runs: &[PatternRun<'r>]) -> Vec<&'r str> {
    let mut classes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (instance, class) in runs.iter().flat_map(|run| run.classes) {
        classes.entry(instance).or_default().insert(class);
    }
    let several = classes.into_iter().filter(|(_, classes)| classes.len() > 1);
    several.map(|(instance, _)| instance).collect()
}

/// The other instances with several classes, the nearest to an instance first.
fn nearest_first<'r>(
    instance: &str,
    with_choice: &[&'r str],
    connections: &BTreeSet<[String; 2]>,
) -> Vec<&'r str> {
    let callers_of = |callee: &str| -> BTreeSet<&str> {
        let to = connections
            .iter()
            .filter(|[_, provider]| provider == callee);
        to.map(|[user, _]| user.as_str()).collect()
    };
    let callers = callers_of(instance);
    let distance = |other: &str| {
        if callers.contains(other) {
            return 0;
        }
        let share = callers_of(other);
        if !share.is_disjoint(&callers) {
            return 1;
        }
        2
    };
    let others = with_choice.iter().filter(|other| **other != instance);
    let mut others: Vec<&str> = others.copied().collect();
    others.sort_by_key(|other| distance(other));
    others
}

/// Features that describe the calls of an instance in each run, shape `[n_runs][n_features]`.
struct Features(Vec<Vec<f64>>);

impl Features {
    fn of(runs: &[PatternRun<'_>], instance: &str) -> Self {
        let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut labels: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        for (at, run) in runs.iter().enumerate() {
            let calls = run.workload.calls.iter();
            for call in calls.filter(|call| call.instance == instance && call.count > 0) {
                let count = call.count as f64;
                let mut add = |name: &str, value: f64| {
                    let column = columns.entry(format!("{} {name}", call.port_method));
                    column.or_insert_with(|| vec![0.0; runs.len()])[at] += value;
                };
                add("", count);
                let mut mode = String::new();
                for (name, value) in &call.coordinate.values {
                    match value {
                        Value::Number(x) => add(name, count * x.abs()),
                        Value::Label(label) => mode += &format!(" {name}={label}"),
                    }
                }
                let column = labels.entry((call.port_method.clone(), mode));
                column.or_insert_with(|| vec![0.0; runs.len()])[at] += count;
            }
        }
        let mut rows = vec![Vec::new(); runs.len()];
        for ((method, _), counts) in &labels {
            let all = &columns[&format!("{method} ")];
            for ((row, count), all) in rows.iter_mut().zip(counts).zip(all) {
                row.push(if *all > 0.0 { count / all } else { 0.0 });
            }
        }
        for values in columns.values() {
            // A run without such calls counts as half the smallest positive value.
            let positive = values.iter().copied().filter(|value| *value > 0.0);
            let least = positive.fold(f64::INFINITY, f64::min);
            for (row, value) in rows.iter_mut().zip(values) {
                row.push(match least.is_finite() {
                    true => value.max(0.5 * least).ln(),
                    false => 0.0,
                });
            }
        }
        Self(rows)
    }

    /// Sum of squares about the means of runs with equal classes at some instances, over all features, and degrees of
    /// freedom.
    fn within(&self, runs: &[PatternRun<'_>], neighbours: &[String]) -> Variance {
        let (squares, freedom) = self.squares(runs, neighbours);
        let squares = squares.iter().sum();
        Variance { squares, freedom }
    }

    /// The largest variance of a feature among runs with equal classes at some instances.
    fn largest_variance(&self, runs: &[PatternRun<'_>], neighbours: &[String]) -> f64 {
        let (squares, freedom) = self.squares(runs, neighbours);
        let largest = squares.into_iter().fold(0.0, f64::max);
        largest / freedom.max(1.0)
    }

    /// Sum of squares of each feature about the means of runs with equal classes at some instances, and degrees of
    /// freedom.
    fn squares(&self, runs: &[PatternRun<'_>], neighbours: &[String]) -> (Vec<f64>, f64) {
        let mut groups: BTreeMap<(Vec<String>, String), Vec<&Vec<f64>>> = BTreeMap::new();
        for (run, row) in runs.iter().zip(&self.0) {
            if let Some(classes) = classes_of(run, neighbours) {
                let settings = format!("{:?}", run.settings);
                groups.entry((classes, settings)).or_default().push(row);
            }
        }
        let mut squares = vec![0.0; self.0.first().map_or(0, Vec::len)];
        let mut freedom = 0.0;
        for rows in groups.values() {
            let n = rows.len() as f64;
            freedom += n - 1.0;
            for (feature, squares) in squares.iter_mut().enumerate() {
                let mean = rows.iter().map(|row| row[feature]).sum::<f64>() / n;
                let off = rows.iter().map(|row| (row[feature] - mean).powi(2));
                *squares += off.sum::<f64>();
            }
        }
        (squares, freedom)
    }
}

/// Sum of squares of a variance, and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct Variance {
    squares: f64,
    freedom: f64,
}

impl Variance {
    /// This variance, or `common` if it has no degree of freedom.
    fn or(self, common: Self) -> Self {
        if self.freedom > 0.0 { self } else { common }
    }

    fn value(self) -> f64 {
        (self.squares / self.freedom.max(1.0)).max(ROUNDING)
    }

    /// Whether another variance is smaller by more than the tolerated factor, and significantly.
    fn is_beyond(self, other: Self, level: f64) -> bool {
        let ratio = self.value() / other.value();
        if ratio <= TOLERATED || self.freedom <= 0.0 || other.freedom <= 0.0 {
            return false;
        }
        let fisher = FisherSnedecor::new(self.freedom, other.freedom);
        fisher.is_ok_and(|fisher| 1.0 - fisher.cdf(ratio) < level)
    }
}

impl PatternRun<'_> {
    /// The calls of an instance in this run, whatever its class.
    fn of(&self, instance: &str) -> SizedRun {
        let own = self.workload.calls.iter();
        let own = own.filter(|call| call.instance == instance).cloned();
        let calls = own.map(|call| Call {
            class: String::new(),
            ..call
        });
        SizedRun {
            settings: self.settings.clone(),
            workload: Workload {
                metric: self.workload.metric.clone(),
                calls: calls.collect(),
            },
            processors: None,
        }
    }
}

/// Growth of the calls of an instance between two workloads: of their number and the mean of each parameter, by method.
struct Growth(BTreeMap<String, (f64, BTreeMap<String, f64>)>);

impl Growth {
    /// # Arguments
    /// * `from`, `to` - workloads for several combinations of classes; None where one is unknown
    ///
    /// # Returns
    /// None where no combination is known in both.
    fn of(instance: &str, from: &[Option<Workload>], to: &[Option<Workload>]) -> Option<Self> {
        let pairs = from.iter().zip(to);
        let known = pairs.filter_map(|(from, to)| from.as_ref().zip(to.as_ref()));
        let known: Vec<_> = known.collect();
        let sums = |workloads: &mut dyn Iterator<Item = &Workload>| {
            let mut sums: BTreeMap<String, (f64, BTreeMap<String, f64>)> = BTreeMap::new();
            let calls = workloads.flat_map(|workload| &workload.calls);
            for call in calls.filter(|call| call.instance == instance) {
                let count = call.count as f64;
                let sum = sums.entry(call.port_method.clone()).or_default();
                sum.0 += count;
                for (name, value) in &call.coordinate.values {
                    if let Value::Number(x) = value {
                        *sum.1.entry(name.to_owned()).or_default() += count * x;
                    }
                }
            }
            sums
        };
        let (from, to) = (
            sums(&mut known.iter().map(|(from, _)| *from)),
            sums(&mut known.iter().map(|(_, to)| *to)),
        );
        let growth = from.into_iter().filter_map(|(method, (count, sums))| {
            let (grown, grown_sums) = to.get(&method)?;
            let ratio = grown / count;
            let of = |(name, sum): (String, f64)| {
                let grown = grown_sums.get(&name).copied().unwrap_or(sum);
                let mean = grown / sum / ratio;
                (name, if mean.is_finite() { mean } else { 1.0 })
            };
            Some((method, (ratio, sums.into_iter().map(of).collect())))
        });
        (!known.is_empty()).then(|| Self(growth.collect()))
    }

    fn apply(&self, mut calls: Vec<WeightedCall>) -> Vec<WeightedCall> {
        for (call, count) in &mut calls {
            let Some((ratio, means)) = self.0.get(&call.port_method) else {
                continue;
            };
            *count *= ratio;
            for (name, value) in &mut call.coordinate.values {
                if let (Value::Number(x), Some(mean)) = (value, means.get(name)) {
                    *x *= mean;
                }
            }
        }
        calls
    }
}

/// The calls of a workload, weighted as those of a mean run.
fn weighted(workload: &Workload) -> Vec<WeightedCall> {
    let calls = workload.calls.iter();
    calls
        .map(|call| (call.clone(), call.count as f64))
        .collect()
}

/// Squared distance of two settings, in e-folds.
fn distance(settings: &Settings, wanted: &Settings) -> f64 {
    let ratios = settings.iter().filter_map(|(name, value)| {
        let ratio = value / wanted.get(name)?;
        Some(ratio.ln().powi(2))
    });
    let squares = ratios.filter(|square| square.is_finite());
    squares.sum::<f64>()
}

/// Groups runs by their classes at some instances.
fn groups<'r>(
    runs: &'r [PatternRun<'r>],
    instances: &[String],
) -> BTreeMap<Vec<String>, Vec<&'r PatternRun<'r>>> {
    let mut groups: BTreeMap<Vec<String>, Vec<&PatternRun<'_>>> = BTreeMap::new();
    for run in runs {
        if let Some(classes) = classes_of(run, instances) {
            groups.entry(classes).or_default().push(run);
        }
    }
    groups
}

/// The classes of a run at some instances; None where it lacks one of them.
fn classes_of(run: &PatternRun<'_>, instances: &[String]) -> Option<Vec<String>> {
    let classes = instances.iter().map(|at| run.classes.get(at).cloned());
    classes.collect()
}

/// The spread of calls that no class affects: over the instances of a workload, the lower median of the smallest
/// variances with at most one neighbour.
fn common_variance(
    runs: &[PatternRun<'_>],
    features: &BTreeMap<&str, Features>,
    with_choice: &[&str],
) -> Variance {
    let mut least: Vec<Variance> = Vec::new();
    for features in features.values() {
        let alone = std::iter::once(Vec::new());
        let sets = alone.chain(with_choice.iter().map(|one| vec![(*one).to_owned()]));
        let variances = sets.map(|set| features.within(runs, &set));
        let known = variances.filter(|variance| variance.freedom > 0.0);
        least.extend(known.min_by(|a, b| a.value().total_cmp(&b.value())));
    }
    least.sort_by(|a, b| a.value().total_cmp(&b.value()));
    let none = Variance {
        squares: 0.0,
        freedom: 0.0,
    };
    least
        .get(least.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(none)
}

/// The smallest set of instances whose classes explain the calls.
fn explaining(
    runs: &[PatternRun<'_>],
    features: &Features,
    near: &[&str],
    common: Variance,
) -> Vec<String> {
    let one = near.iter().map(|one| vec![(*one).to_owned()]);
    let two = near.iter().enumerate().flat_map(|(at, first)| {
        let others = near[at + 1..].iter();
        others.map(move |second| vec![(*first).to_owned(), (*second).to_owned()])
    });
    let sets: Vec<Vec<String>> = std::iter::once(Vec::new()).chain(one).chain(two).collect();
    let level = LEVEL / sets.len() as f64;
    let variances: Vec<Variance> = sets
        .iter()
        .map(|set| features.within(runs, set))
        .zip(&sets)
        // A pair of neighbours without two runs of equal classes fits perfectly, but explains nothing.
        .map(|(variance, set)| match set.len() {
            2 if variance.freedom <= 0.0 => Variance {
                squares: f64::INFINITY,
                freedom: 0.0,
            },
            _ => variance.or(common),
        })
        .collect();
    let explains = |at: &usize| {
        let own = variances[*at];
        own.squares.is_finite() && !variances.iter().any(|other| own.is_beyond(*other, level))
    };
    let sizes = (0..=2).find_map(|size| {
        let of_size = (0..sets.len()).filter(|at| sets[*at].len() == size);
        let good: Vec<usize> = of_size.filter(explains).collect();
        // The nearest of these sets whose variance is within the tolerated factor of the least one.
        let least = good.iter().copied();
        let least = least.min_by(|a, b| variances[*a].value().total_cmp(&variances[*b].value()))?;
        let limit = TOLERATED * variances[least].value();
        good.into_iter().find(|at| variances[*at].value() <= limit)
    });
    sizes.map_or_else(Vec::new, |at| sets[at].clone())
}

/// The mean calls of an instance over runs, with calls of equal parameters merged.
fn mean_calls(runs: &[&Workload], instance: &str) -> Vec<WeightedCall> {
    let share = 1.0 / runs.len() as f64;
    let mut index: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut mean: Vec<WeightedCall> = Vec::new();
    let calls = runs.iter().flat_map(|run| &run.calls);
    for call in calls.filter(|call| call.instance == instance) {
        let coordinate = format!("{:?}", call.coordinate.values);
        let key = (call.port_method.clone(), call.class.clone(), coordinate);
        let at = *index.entry(key).or_insert(mean.len());
        if at == mean.len() {
            let mut new = call.clone();
            (new.count, new.measured_s, new.processor_s) = (0, 0.0, 0.0);
            (new.computation_s, new.mpi_s) = (0.0, 0.0);
            mean.push((new, 0.0));
        }
        let (sum, count) = &mut mean[at];
        *count += share * call.count as f64;
        sum.count += call.count;
        sum.measured_s += share * call.measured_s;
        sum.processor_s += share * call.processor_s;
        sum.computation_s += share * call.computation_s;
        sum.mpi_s += share * call.mpi_s;
    }
    mean
}
