//! The workload at settings that were not run, extrapolated from runs of several sizes.
//!
//! The calls of a method are sorted by size and cut into slots with equal numbers of calls, so that the first slot of a
//! small run corresponds to the first slot of a large one. The number of calls, and the mean of each parameter in each
//! slot, are then fitted as powers of the settings: `log y = a + Σ bᵢ log sᵢ`, by least squares over the runs.
//!
//! Patches with ghost cells, `(s + g)(s + h)`, do not follow a power. So where one setting varies, two alternatives
//! replace the power if they fit the runs better: a sum of 1, `s` and `s²` without negative parts, and a power that
//! levels off at some size or begins there. Beyond the largest setting, all forms are bounded by the slopes that the
//! runs show.
//!
//! Measured times do not follow a power either: the work in a volume and the work along its sides grow differently, so
//! a power underestimates large sizes. Sums `b sʲ + c sᵏ` are tried, with `k` the next whole number above the fitted
//! power and each whole `j` below it, and the best one is used if it fits the runs better than the power. For six
//! programs at twice their largest size, the power was up to 9 % off, the sum up to 5 %.
//!
//! Whatever the runs do not determine is an error, or is reported in the result.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::{Coordinate, Value};

use crate::error::Error;
use crate::workload::{Call, Recorded, Workload};

/// Number of slots that the calls of a method are cut into.
const SLOTS: usize = 32;

/// Relative difference up to which two settings count as varying together.
const TOGETHER: f64 = 0.02;

/// Largest relative residual of the power up to which no other form is tried.
const NO_POWER: f64 = 0.005;

/// Largest slope beyond the largest size, unless the runs show a steeper one. Source: the specification of the
/// composite model; a three-dimensional mesh has the cube of its side.
const STEEPEST: f64 = 3.0;

/// Another form replaces the power if its residual is below this share of the power's.
const NEARER: f64 = 0.5;

/// Numerical settings of a run by name: parameters of the assembly, `mesh.nx`, and `ranks`.
pub type Settings = BTreeMap<String, f64>;

/// The settings of a run, and its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct SizedRun {
    /// Its settings.
    pub settings: Settings,
    /// Its calls.
    pub workload: Workload,
    /// Number of processors that its ranks shared; None where the records do not contain it.
    pub processors: Option<u32>,
}

/// A workload extrapolated to settings that were not run.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledWorkload {
    /// Its calls.
    pub workload: Workload,
    /// The settings that it was scaled by; of those that vary together, the first one.
    pub by: Vec<String>,
    /// Largest relative residual of a run's number of calls from the fitted form.
    pub misfit: f64,
    /// Methods, `INSTANCE.PORT.METHOD`, that only some of the runs call; their calls are those of the nearest run.
    pub unscaled: Vec<String>,
}

/// Scales the workload of several runs of one assembly to other settings.
///
/// # Arguments
/// * `runs` - runs of the same classes; repetitions are averaged
/// * `wanted` - a value for each setting that varies among the runs, > 0; other settings are those of the runs
///
/// # Errors
/// [`Error::NotVaried`] for a setting that no run varies; [`Error::Together`] where settings that vary together in the
/// runs do not in `wanted`; [`Error::TooFewSizes`] with fewer sizes than the number of varying settings plus one.
pub fn scale_workload(runs: &[SizedRun], wanted: &Settings) -> Result<ScaledWorkload, Error> {
    let points = points(runs);
    let by = independent(&points, wanted)?;
    if points.len() < by.len() + 1 || points.is_empty() {
        return Err(Error::TooFewSizes {
            found: points.len(),
            expected: by.len() + 1,
        });
    }
    let row = |settings: &Settings| -> Vec<f64> {
        let logs = by.iter().map(|name| settings[name].ln());
        std::iter::once(1.0).chain(logs).collect()
    };
    let law = Law {
        rows: points.iter().map(|(settings, _)| row(settings)).collect(),
        at: row(wanted),
    };
    let mut scaled = ScaledWorkload {
        workload: Workload {
            metric: runs[0].workload.metric.clone(),
            calls: Vec::new(),
        },
        by,
        misfit: 0.0,
        unscaled: Vec::new(),
    };
    let groups: Vec<BTreeMap<Key, Group>> = points.iter().map(|(_, runs)| groups(runs)).collect();
    let keys: BTreeSet<&Key> = groups.iter().flat_map(BTreeMap::keys).collect();
    for key in keys {
        let everywhere: Option<Vec<&Group>> = groups.iter().map(|g| g.get(key)).collect();
        let group = everywhere.and_then(|groups| law.group(&groups, &mut scaled.misfit));
        let group = group.or_else(|| {
            let [instance, _, method] = &key.names;
            scaled.unscaled.push(format!("{instance}.{method}"));
            groups[law.nearest()].get(key).cloned()
        });
        if let Some(group) = group {
            scaled.workload.calls.extend(group.calls(key));
        }
    }
    scaled.unscaled.dedup();
    Ok(scaled)
}

/// Groups the runs by their settings.
fn points(runs: &[SizedRun]) -> Vec<(Settings, Vec<&Workload>)> {
    let mut points: Vec<(Settings, Vec<&Workload>)> = Vec::new();
    for run in runs {
        match points
            .iter_mut()
            .find(|(settings, _)| *settings == run.settings)
        {
            Some((_, workloads)) => workloads.push(&run.workload),
            None => points.push((run.settings.clone(), vec![&run.workload])),
        }
    }
    points
}

/// The settings that vary among the points, without those that vary together with an earlier one.
fn independent(
    points: &[(Settings, Vec<&Workload>)],
    wanted: &Settings,
) -> Result<Vec<String>, Error> {
    let names: BTreeSet<&String> = points
        .iter()
        .flat_map(|(settings, _)| settings.keys())
        .chain(wanted.keys())
        .collect();
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        let values: Option<Vec<f64>> = points
            .iter()
            .map(|(settings, _)| settings.get(name).copied())
            .collect();
        let values = values.unwrap_or_default();
        let Some(&first) = values.first() else {
            return Err(Error::unknown_setting(name, wanted));
        };
        let Some(&value) = wanted.get(name) else {
            return Err(Error::unknown_setting(name, wanted));
        };
        if values.iter().all(|v| *v == first) {
            if value != first {
                return Err(Error::NotVaried {
                    setting: name.clone(),
                    wanted: value,
                    found: first,
                });
            }
            continue;
        }
        if values.iter().chain([&value]).any(|v| *v <= 0.0) {
            return Err(Error::unknown_setting(name, wanted));
        }
        let of = |other: &String| {
            points
                .iter()
                .map(|(settings, _)| settings[other])
                .collect::<Vec<_>>()
        };
        let same = kept
            .iter()
            .find_map(|other| Some((other, power(&of(other), &values)?)));
        match same {
            None => kept.push(name.clone()),
            Some((other, law)) => {
                let expected = law(wanted[other]);
                if (value / expected - 1.0).abs() > TOGETHER {
                    return Err(Error::Together {
                        setting: name.clone(),
                        other: other.clone(),
                        wanted: value,
                        expected,
                    });
                }
            }
        }
    }
    Ok(kept)
}

/// Fits `y` as a power of `x`; None if there are fewer than three points, or one is off by [`TOGETHER`] or more.
pub(crate) fn power(x: &[f64], y: &[f64]) -> Option<impl Fn(f64) -> f64 + use<>> {
    let law = Law {
        rows: x.iter().map(|x| vec![1.0, x.ln()]).collect(),
        at: vec![1.0, 0.0],
    };
    let coefficients = law.solve(&y.iter().map(|y| y.ln()).collect::<Vec<_>>())?;
    let at = move |x: f64| (coefficients[0] + coefficients[1] * x.ln()).exp();
    let fits = x
        .iter()
        .zip(y)
        .all(|(x, y)| (at(*x) / y - 1.0).abs() < TOGETHER);
    (fits && x.len() > 2).then_some(at)
}

/// Seconds at a size that was not run, extrapolated from the sizes of the runs.
///
/// # Arguments
/// * `sizes` - logarithms of distinct sizes; shape `[n_sizes]`
/// * `seconds` - > 0, shape `[n_sizes]`
/// * `wanted` - logarithm of the requested size
pub(crate) fn grow_seconds(sizes: &[f64], seconds: &[f64], wanted: f64) -> Option<f64> {
    let law = Law {
        rows: sizes.iter().map(|x| vec![1.0, *x]).collect(),
        at: vec![1.0, wanted],
    };
    law.time(seconds)
}

/// A method of an instance in one mode.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Instance, class, `PORT.METHOD`.
    names: [String; 3],
    /// Values of its enumeration parameters.
    labels: Vec<(String, String)>,
    /// Names of its numerical parameters.
    parameters: Vec<String>,
}

/// The calls of a method in one mode, cut into slots by size.
#[derive(Debug, Clone)]
struct Group {
    count: f64,
    measured: Recorded,
    /// Mean of each parameter in each slot.
    slots: Vec<Vec<f64>>,
}

impl Group {
    /// One call for each slot; the total number of calls is distributed over them.
    fn calls(&self, key: &Key) -> Vec<Call> {
        let n_slots = self.slots.len() as u64;
        let count = self.count.round().max(1.0) as u64;
        let [instance, class, port_method] = key.names.clone();
        let slot = |(at, means): (u64, &Vec<f64>)| {
            let mut coordinate = Coordinate::new();
            for (name, label) in &key.labels {
                coordinate = coordinate.with(name, label.as_str());
            }
            for (name, mean) in key.parameters.iter().zip(means) {
                coordinate = coordinate.with(name, *mean);
            }
            let count = count * (at + 1) / n_slots - count * at / n_slots;
            Call {
                instance: instance.clone(),
                class: class.clone(),
                port_method: port_method.clone(),
                coordinate,
                count,
                measured_s: self.measured.wall_s / n_slots as f64,
                processor_s: self.measured.processor_s / n_slots as f64,
                computation_s: self.measured.computation_s / n_slots as f64,
                mpi_s: self.measured.mpi_s / n_slots as f64,
            }
        };
        let calls = (0..n_slots).zip(&self.slots).map(slot);
        calls.filter(|call| call.count > 0).collect()
    }
}

/// The methods called by the runs at one point: calls are means over the runs, times are medians.
fn groups(runs: &[&Workload]) -> BTreeMap<Key, Group> {
    let mut calls: BTreeMap<Key, Vec<(Vec<f64>, f64)>> = BTreeMap::new();
    let mut measured: BTreeMap<Key, Vec<Recorded>> = BTreeMap::new();
    let share = 1.0 / runs.len() as f64;
    let numbered = runs.iter().enumerate();
    for (run, call) in numbered.flat_map(|(at, run)| run.calls.iter().map(move |call| (at, call))) {
        let mut key = Key {
            names: [
                call.instance.clone(),
                call.class.clone(),
                call.port_method.clone(),
            ],
            labels: Vec::new(),
            parameters: Vec::new(),
        };
        let mut values = Vec::new();
        for (name, value) in &call.coordinate.values {
            match value {
                Value::Number(number) => {
                    key.parameters.push(name.to_owned());
                    values.push(*number);
                }
                Value::Label(label) => key.labels.push((name.to_owned(), label.clone())),
            }
        }
        let sums = measured.entry(key.clone()).or_default();
        sums.resize(runs.len(), Recorded::default());
        let sum = &mut sums[run];
        sum.wall_s += call.measured_s;
        sum.processor_s += call.processor_s;
        sum.computation_s += call.computation_s;
        sum.mpi_s += call.mpi_s;
        calls
            .entry(key)
            .or_default()
            .push((values, call.count as f64 * share));
    }
    let grouped = calls.into_iter().map(|(key, calls)| {
        let group = cut(calls, middle(&measured[&key]));
        (key, group)
    });
    grouped.collect()
}

/// Median times of the runs, so that one disturbed run does not matter.
fn middle(runs: &[Recorded]) -> Recorded {
    let of = |part: fn(&Recorded) -> f64| {
        let mut seconds: Vec<f64> = runs.iter().map(part).collect();
        seconds.sort_by(f64::total_cmp);
        let n = seconds.len();
        0.5 * (seconds[(n - 1) / 2] + seconds[n / 2])
    };
    Recorded {
        wall_s: of(|run| run.wall_s),
        processor_s: of(|run| run.processor_s),
        computation_s: of(|run| run.computation_s),
        mpi_s: of(|run| run.mpi_s),
    }
}

/// Cuts calls, sorted by their parameters together, into slots of equal numbers of calls.
fn cut(mut calls: Vec<(Vec<f64>, f64)>, measured: Recorded) -> Group {
    let size = |values: &[f64]| values.iter().map(|v| v.abs().ln_1p()).sum::<f64>();
    calls.sort_by(|a, b| size(&a.0).total_cmp(&size(&b.0)));
    let count: f64 = calls.iter().map(|(_, n)| n).sum();
    let n_parameters = calls.first().map_or(0, |(values, _)| values.len());
    let n_slots = if n_parameters == 0 { 1 } else { SLOTS };
    let width = count / n_slots as f64;
    let mut slots = vec![vec![0.0; n_parameters]; n_slots];
    let (mut slot, mut room) = (0, width);
    for (values, mut n) in calls {
        while n > 0.0 {
            let part = n.min(room);
            let sums = slots[slot].iter_mut().zip(&values);
            sums.for_each(|(sum, value)| *sum += part / width * value);
            n -= part;
            room -= part;
            // The last slot gets the remainder that rounding leaves.
            if room <= 1e-9 * width {
                if slot + 1 == n_slots {
                    break;
                }
                slot += 1;
                room = width;
            }
        }
    }
    Group {
        count,
        measured,
        slots,
    }
}

/// A least-squares fit over the points, and the settings to evaluate it at.
struct Law {
    /// For each point: 1, and the logarithms of the settings.
    rows: Vec<Vec<f64>>,
    /// The same for the requested settings.
    at: Vec<f64>,
}

impl Law {
    /// A group at the requested settings; None where a count or a parameter cannot be fitted.
    fn group(&self, groups: &[&Group], misfit: &mut f64) -> Option<Group> {
        let counts: Vec<f64> = groups.iter().map(|g| g.count).collect();
        let (count, off) = self.value(&counts)?;
        *misfit = misfit.max(off);
        let measured = |of: fn(&Recorded) -> f64| {
            let values: Vec<f64> = groups.iter().map(|g| of(&g.measured)).collect();
            self.time(&values).unwrap_or(0.0)
        };
        let n_parameters = groups[0].slots.first().map_or(0, Vec::len);
        let parameters: Option<Vec<Vec<f64>>> = (0..n_parameters)
            .map(|parameter| self.parameter(groups, parameter))
            .collect();
        let parameters = parameters?;
        let slots = (0..groups[0].slots.len())
            .map(|slot| parameters.iter().map(|of_slots| of_slots[slot]).collect());
        Some(Group {
            count,
            measured: Recorded {
                wall_s: measured(|m| m.wall_s),
                processor_s: measured(|m| m.processor_s),
                computation_s: measured(|m| m.computation_s),
                mpi_s: measured(|m| m.mpi_s),
            },
            slots: slots.collect(),
        })
    }

    /// A parameter in each slot at the requested settings. Sizes of single patches are rounded, their sum is not. So
    /// each slot is scaled by itself, and then one factor adjusts all slots to the mean over all calls.
    fn parameter(&self, groups: &[&Group], parameter: usize) -> Option<Vec<f64>> {
        let n_slots = groups[0].slots.len();
        let mean = |slots: &[Vec<f64>]| {
            slots.iter().map(|slot| slot[parameter]).sum::<f64>() / slots.len() as f64
        };
        let of_slot = |slot: usize| {
            let values: Vec<f64> = groups.iter().map(|g| g.slots[slot][parameter]).collect();
            Some(self.value(&values)?.0)
        };
        let mut slots = (0..n_slots).map(of_slot).collect::<Option<Vec<f64>>>()?;
        let means: Vec<f64> = groups.iter().map(|g| mean(&g.slots)).collect();
        let (whole, found) = (
            self.value(&means)?.0,
            slots.iter().sum::<f64>() / n_slots as f64,
        );
        if whole > 0.0 && found > 0.0 {
            slots.iter_mut().for_each(|slot| *slot *= whole / found);
        }
        Some(slots)
    }

    /// A quantity at the requested settings, and the largest relative residual of a point.
    fn value(&self, values: &[f64]) -> Option<(f64, f64)> {
        if values.iter().all(|v| *v == values[0]) {
            return Some((values[0], 0.0));
        }
        if values.iter().any(|v| *v <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let coefficients = self.solve(&logs)?;
        let told = |row: &[f64]| {
            row.iter()
                .zip(&coefficients)
                .map(|(x, b)| x * b)
                .sum::<f64>()
        };
        let off = self
            .rows
            .iter()
            .zip(&logs)
            .map(|(row, log)| (told(row) - log).abs().exp_m1());
        let off = off.fold(0.0, f64::max);
        let sum = self.sum_of_powers([0, 1, 2], values);
        let others = sum.into_iter().chain(self.with_knee(values));
        let others = others.filter(|(_, distance)| off > NO_POWER && *distance < NEARER * off);
        let nearest = others.min_by(|a, b| a.1.total_cmp(&b.1));
        let (value, off) = nearest.unwrap_or_else(|| (told(&self.at).exp(), off));
        Some((self.bounded(value, values), off))
    }

    /// Logarithms of the one varying setting and of the values, ascending, averaged over equal settings; empty where
    /// several settings vary.
    fn by_setting(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = match self.at.len() {
            2 => {
                let rows = self.rows.iter().zip(values);
                rows.map(|(row, value)| (row[1], value.ln())).collect()
            }
            _ => Vec::new(),
        };
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let same = points.chunk_by(|a, b| a.0 == b.0);
        let mean = |same: &[(f64, f64)]| {
            let sum: f64 = same.iter().map(|(_, log)| log).sum();
            (same[0].0, sum / same.len() as f64)
        };
        same.map(mean).collect()
    }

    /// A quantity that is a power up to a size and constant above it, or constant and then a power, and the largest
    /// relative residual of a point. At least two points must lie on the constant part.
    fn with_knee(&self, values: &[f64]) -> Option<(f64, f64)> {
        let points = self.by_setting(values);
        let wanted = *self.at.get(1)?;
        let n = points.len();
        let splits = (2..n).flat_map(|k| [(n - k, true), (k, false)]);
        let knees = splits.filter_map(|(at, is_level_above)| {
            let (below, above) = points.split_at(at);
            let (level, power) = match is_level_above {
                true => (above, below),
                false => (below, above),
            };
            // A power through a single point is drawn to the knee.
            let knee = if is_level_above {
                above[0]
            } else {
                below[at - 1]
            };
            let ends = match (power, is_level_above) {
                ([one], true) => [*one, knee],
                ([one], false) => [knee, *one],
                _ => [power[0], power[power.len() - 1]],
            };
            let mean = level.iter().map(|(_, log)| log).sum::<f64>() / level.len() as f64;
            let slope = (ends[1].1 - ends[0].1) / (ends[1].0 - ends[0].0);
            let power_at = |x: f64| ends[0].1 + slope * (x - ends[0].0);
            let in_level = level.iter().map(|(_, log)| (log - mean).abs());
            let in_power = power.iter().map(|(x, log)| (log - power_at(*x)).abs());
            let off = in_level.chain(in_power).fold(0.0, f64::max).exp_m1();
            let is_level = match is_level_above {
                true => wanted >= knee.0,
                false => wanted <= knee.0,
            };
            let log = if is_level { mean } else { power_at(wanted) };
            log.is_finite().then(|| (log.exp(), off))
        });
        knees.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Bounds a value beyond the largest size. The lower bound is the value at that size, or follows the least slope
    /// seen if that is negative. The upper bound follows the steepest slope seen plus twice its last increase, up to
    /// the cube.
    fn bounded(&self, value: f64, values: &[f64]) -> f64 {
        let points = self.by_setting(values);
        let ([.., last], Some(wanted)) = (&points[..], self.at.get(1)) else {
            return value;
        };
        let slopes = points.windows(2);
        let slopes: Vec<f64> = slopes
            .map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
            .collect();
        let away = wanted - last.0;
        if away <= 0.0 || slopes.is_empty() {
            return value;
        }
        let least = slopes.iter().copied().fold(0.0, f64::min);
        let largest = slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let increase = match slopes[..] {
            [.., before, last] => (last - before).max(0.0),
            _ => 0.0,
        };
        let most = (largest + 2.0 * increase).min(largest.max(STEEPEST));
        let at = |slope: f64| (last.1 + slope * away).exp();
        // An exact power lies on a bound, so the tolerance absorbs rounding.
        let [low, high] = [at(least) * (1.0 - TOGETHER), at(most) * (1.0 + TOGETHER)];
        value.max(low).min(high)
    }

    /// Seconds at the requested settings: the power, or the best sum of two powers, one of them above the fitted power.
    fn time(&self, seconds: &[f64]) -> Option<f64> {
        let (told, off) = self.value(seconds)?;
        let logs: Vec<f64> = seconds.iter().map(|s| s.ln()).collect();
        let power = self
            .solve(&logs)?
            .get(1)
            .map_or(-1.0, |power| power.floor());
        let above = power as i32 + 1;
        // With only two sizes, every sum would fit.
        let sums = (0..above).filter(|_| self.rows.len() > 2);
        let sums = sums.filter_map(|below| self.sum_of_powers([below, above], seconds));
        let sum = sums.min_by(|a, b| a.1.total_cmp(&b.1));
        let nearer = sum.filter(|(_, distance)| *distance < off);
        Some(nearer.map_or(told, |(sum, _)| self.bounded(sum, seconds)))
    }

    /// A sum of powers of the one varying setting by least squares of relative residuals, and the largest residual;
    /// None where a part would be negative, or there are fewer distinct values than powers.
    fn sum_of_powers<const N: usize>(
        &self,
        powers: [i32; N],
        values: &[f64],
    ) -> Option<(f64, f64)> {
        let [_, at] = self.at[..] else { return None };
        // In units of the requested setting, so that the parts have similar magnitudes.
        let scaled = |row: &Vec<f64>| (row[1] - at).exp();
        let rows = self.rows.iter().zip(values);
        let sum = Law {
            rows: rows
                .map(|(row, y)| powers.map(|power| scaled(row).powi(power) / y).to_vec())
                .collect(),
            at: vec![1.0; N],
        };
        let parts = sum.solve(&vec![1.0; values.len()])?;
        let whole: f64 = parts.iter().sum();
        let is_growing = parts.iter().all(|part| *part >= -1e-9 * whole) && whole > 0.0;
        let told = |row: &Vec<f64>| row.iter().zip(&parts).map(|(x, b)| x * b).sum::<f64>();
        let off = sum.rows.iter().map(|row| (told(row) - 1.0).abs());
        is_growing.then(|| (whole, off.fold(0.0, f64::max)))
    }

    /// The point nearest to the requested settings.
    fn nearest(&self) -> usize {
        let distance = |row: &Vec<f64>| {
            let parts = row.iter().zip(&self.at).map(|(a, b)| (a - b).powi(2));
            parts.sum::<f64>()
        };
        let points = self.rows.iter().map(distance).enumerate();
        points
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |(at, _)| at)
    }

    /// Solves the normal equations by elimination with pivoting; None where they are singular.
    fn solve(&self, values: &[f64]) -> Option<Vec<f64>> {
        let n = self.at.len();
        let sum = |f: &dyn Fn(usize) -> f64| (0..self.rows.len()).map(f).sum::<f64>();
        let mut matrix: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut row: Vec<f64> = (0..n)
                    .map(|j| sum(&|p| self.rows[p][i] * self.rows[p][j]))
                    .collect();
                row.push(sum(&|p| self.rows[p][i] * values[p]));
                row
            })
            .collect();
        let scale = matrix
            .iter()
            .flatten()
            .fold(0.0, |a: f64, b| a.max(b.abs()));
        for column in 0..n {
            let pivot = (column..n)
                .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
            matrix.swap(column, pivot);
            if matrix[column][column].abs() <= 1e-10 * scale {
                return None;
            }
            let (before, rest) = matrix.split_at_mut(column + 1);
            for row in rest {
                let factor = row[column] / before[column][column];
                row.iter_mut()
                    .zip(&before[column])
                    .for_each(|(x, p)| *x -= factor * p);
            }
        }
        let mut solution = vec![0.0; n];
        for row in (0..n).rev() {
            let known = (row + 1..n)
                .map(|j| matrix[row][j] * solution[j])
                .sum::<f64>();
            solution[row] = (matrix[row][n] - known) / matrix[row][row];
        }
        Some(solution)
    }
}
