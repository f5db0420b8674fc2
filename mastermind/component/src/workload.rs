//! Converts the recorded calls of a run to a workload for the choice of an assembly.
//!
//! Calls of the same method, instance and parameters are one [`Call`] with their number and time. Its processor time
//! is the number times the median, so that single calls which waited for the processor do not count. A group with too
//! few calls for a median is compared with the calls of about its size, at four size classes per doubling:
//!
//! ```text
//! flux.compute q=4000    20 calls    median 44 µs                        processor time 880 µs
//! flux.compute q=4100     1 call     400 µs, others of about its size take 45 µs: processor time 45 µs
//! ```

mod times;

use std::collections::HashMap;
use std::sync::Arc;

use mastermind_composition::{Call, Workload};
use mastermind_models::{Coordinate, Metric, Value as ModelValue};
use mastermind_records::definition::{
    MethodDefinition, ParameterDefinition, ParameterKind, TIMER_CLASS,
};
use mastermind_records::{ExclusiveTimes, Log, PathTimes, Record, Run, UnrecordedCalls, Value};

use self::times::Times;
use crate::samples::{is_of_component, port_method, value};

/// The calls of a run, grouped by method, instance and coordinate. Leaves out calls that failed, timers, and the calls
/// of the program that started the run. A call's time in MPI is its own, so recorded calls of MPI are left out too.
/// Calls without a record are represented by their size class, at the mean of its parameters.
pub fn workload(run: &Run, metric: Metric) -> Workload {
    let mut calls = Calls::default();
    for rank in run.ranks() {
        for (log, _) in run.logs_of(rank) {
            let shares = OwnShares::of(log);
            let mut records = ExclusiveTimes::of_components(log);
            while let Some((record, exclusive)) = records.next_record() {
                if !is_of_component(&record) || record.method.is_mpi() {
                    continue;
                }
                let own_ns = match log.lacks_calls_of(&record) {
                    true => shares.own_ns(record.call_path, record.wall_ns),
                    false => exclusive.wall_ns,
                };
                if let Some(seconds) = value(&record, own_ns, &metric) {
                    // Models of other metrics do not separate time in MPI.
                    let is_whole = metric == Metric::Wall && own_ns == exclusive.wall_ns;
                    let mpi_ns = if is_whole { exclusive.mpi_ns } else { 0 };
                    calls.add_record(&record, seconds, mpi_ns as f64 * 1e-9);
                }
            }
            for lost in log.unrecorded() {
                calls.add_unrecorded(log, lost, &shares, &metric);
            }
        }
    }
    Workload {
        metric,
        calls: calls.so_far(),
    }
}

/// For the calls of a path, the share of the wall time that is their own, and the share of their own time in MPI, where
/// some of the calls made from there have no record.
struct OwnShares(HashMap<u32, [f64; 2]>);

impl OwnShares {
    fn of(log: &Log) -> Self {
        let times = match log.unrecorded() {
            [] => Vec::new(),
            _ => log.path_times(true),
        };
        let shares = |path: &PathTimes| {
            let of = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
            [
                of(path.own.wall_ns, path.wall_ns),
                of(path.own.mpi_ns, path.own.wall_ns).min(1.0),
            ]
        };
        let times = times.iter();
        Self(times.map(|path| (path.call_path, shares(path))).collect())
    }

    fn own_ns(&self, call_path: u32, wall_ns: u64) -> u64 {
        let share = self.0.get(&call_path).map_or(1.0, |[own, _]| *own);
        (wall_ns as f64 * share) as u64
    }

    fn mpi_share(&self, call_path: u32) -> f64 {
        self.0.get(&call_path).map_or(0.0, |[_, mpi]| *mpi)
    }
}

/// Identifies a group of calls: instance, class, port and method, and the words of the parameters.
type Key = (String, String, String, Vec<u64>);

/// Size classes per doubling of the size, within which calls are of about one length.
const STEPS_A_DOUBLING: f64 = 4.0;

/// Multiple of the median of similar calls above which a call has waited for the processor.
const WAITED: f64 = 2.0;

#[derive(Default)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    index: HashMap<Key, usize>,
    /// A sample of the times of each group, and of the times without MPI.
    times: Vec<Times>,
    computing: Vec<Times>,
    /// The same for calls of about one size, for groups with too few calls; `about_of` has the index for each of
    /// `calls`.
    about: Vec<Times>,
    about_of: Vec<usize>,
    about_index: HashMap<String, usize>,
}

impl Calls {
    /// All calls so far, grouped by method, instance and coordinate.
    pub(crate) fn so_far(&self) -> Vec<Call> {
        let calls = self.calls.iter().enumerate().map(|(at, call)| {
            let about = &self.about[self.about_of[at]];
            let processor_s = processor_s(call, &self.times[at], about);
            Call {
                processor_s,
                computation_s: computation_s(call, processor_s, &self.computing[at]),
                ..call.clone()
            }
        });
        calls.collect()
    }

    /// Index of the group of calls of about one size that a call belongs to.
    fn about(&mut self, call: &Call) -> usize {
        let mut key = format!("{} {} {}", call.instance, call.class, call.port_method);
        for (name, value) in &call.coordinate.values {
            key += &match value {
                ModelValue::Label(label) => format!(" {name}={label}"),
                ModelValue::Number(x) if *x > 0.0 => {
                    format!(" {name}~{:.0}", STEPS_A_DOUBLING * x.log2())
                }
                ModelValue::Number(x) => format!(" {name}={x}"),
            };
        }
        let n_known = self.about.len();
        let about = *self.about_index.entry(key).or_insert(n_known);
        if about == n_known {
            self.about.push(Times::default());
        }
        about
    }

    /// Adds a recorded call.
    ///
    /// # Arguments
    /// * `mpi_s` - the part of its own seconds in MPI
    pub(crate) fn add_record(&mut self, record: &Record<'_>, seconds: f64, mpi_s: f64) {
        let words = record.values[..record.method.parameters.len()].to_vec();
        let times = (seconds, mpi_s);
        self.add(record.method, words, 1, times, || coordinate(record));
    }

    fn add(
        &mut self,
        method: &MethodDefinition,
        words: Vec<u64>,
        count: u64,
        (seconds, mpi_s): (f64, f64),
        coordinate: impl FnOnce() -> Coordinate,
    ) {
        let port_method = port_method(method);
        let (instance, class) = (method.instance.clone(), method.class.clone());
        let key = (instance.clone(), class.clone(), port_method.clone(), words);
        let at = *self.index.entry(key).or_insert(self.calls.len());
        if at == self.calls.len() {
            let call = Call {
                instance,
                class,
                port_method,
                coordinate: coordinate(),
                count: 0,
                measured_s: 0.0,
                processor_s: 0.0,
                computation_s: 0.0,
                mpi_s: 0.0,
            };
            let about = self.about(&call);
            self.about_of.push(about);
            self.calls.push(call);
            self.times.push(Times::default());
            self.computing.push(Times::default());
        }
        if count == 1 {
            self.times[at].take(seconds);
            self.computing[at].take(seconds - mpi_s);
            self.about[self.about_of[at]].take(seconds);
        }
        self.calls[at].count += count;
        self.calls[at].measured_s += seconds;
        self.calls[at].mpi_s += mpi_s;
    }

    /// Adds calls of one size class; those of unknown size cannot be predicted.
    fn add_unrecorded(
        &mut self,
        log: &Log,
        lost: &UnrecordedCalls,
        shares: &OwnShares,
        metric: &Metric,
    ) {
        let method = log.definitions().method_of(lost.call_path);
        let is_meant = |method: &&Arc<MethodDefinition>| {
            !lost.failed && !method.is_mpi() && method.class != TIMER_CLASS
        };
        let (Some(method), Some(means)) = (method.filter(is_meant), &lost.means) else {
            return;
        };
        let wall_ns = log.time().length_ns(lost.wall_ticks);
        let mpi_ns = lost.mpi_ticks.map(|ticks| log.time().length_ns(ticks));
        let ns = match metric {
            Metric::Wall => Some(shares.own_ns(lost.call_path, wall_ns)),
            Metric::Mpi => mpi_ns,
            Metric::Compute => mpi_ns.map(|mpi_ns| wall_ns.saturating_sub(mpi_ns)),
            Metric::Inclusive => Some(wall_ns),
            _ => None,
        };
        let Some(ns) = ns else { return };
        let words = method.parameters.iter().zip(means);
        let words = words.map(|(parameter, mean)| word(parameter, *mean));
        let mpi_share = match metric {
            Metric::Wall => shares.mpi_share(lost.call_path),
            _ => 0.0,
        };
        let seconds = ns as f64 * 1e-9;
        self.add(
            method,
            words.collect(),
            lost.calls,
            (seconds, mpi_share * seconds),
            || coordinate_of_means(method, means),
        );
    }
}

/// Processor time of calls: their number times the median of one. With too few calls for that, the recorded time,
/// unless it is far longer than that of others of about their size.
fn processor_s(call: &Call, times: &Times, about: &Times) -> f64 {
    let count = call.count as f64;
    if let Some(median_s) = times.median_s() {
        return count * median_s;
    }
    match about.median_s() {
        Some(median_s) if call.measured_s > WAITED * count * median_s => count * median_s,
        _ => call.measured_s,
    }
}

/// The processor time of calls outside MPI: their number times the median of one without MPI. With too few calls for
/// that, the recorded time.
fn computation_s(call: &Call, processor_s: f64, computing: &Times) -> f64 {
    if call.mpi_s <= 0.0 {
        return processor_s;
    }
    let recorded_s = (call.measured_s - call.mpi_s).max(0.0);
    let median_s = computing.median_s();
    median_s.map_or(recorded_s.min(processor_s), |s| {
        call.count as f64 * s.max(0.0)
    })
}

/// The word of a parameter of this value.
fn word(parameter: &ParameterDefinition, value: f64) -> u64 {
    match parameter.kind {
        ParameterKind::Integer if value.fract() == 0.0 => (value as i64).cast_unsigned(),
        ParameterKind::Enumeration => value as u64,
        _ => value.to_bits(),
    }
}

fn coordinate_of_means(method: &MethodDefinition, means: &[f64]) -> Coordinate {
    let parameters = method.parameters.iter().zip(means);
    parameters.fold(Coordinate::new(), |coordinate, (parameter, mean)| {
        let label = parameter.labels.get(*mean as usize);
        match label.filter(|_| parameter.kind == ParameterKind::Enumeration) {
            Some(label) => coordinate.with(&parameter.name, label.as_str()),
            None => coordinate.with(&parameter.name, *mean),
        }
    })
}

/// The parameters of a call by their names.
pub fn coordinate(record: &Record<'_>) -> Coordinate {
    let mut coordinate = Coordinate::new();
    for (parameter, value) in record.method.parameters.iter().zip(record.parameters()) {
        coordinate = match value {
            Value::Label(_, Some(label)) => coordinate.with(&parameter.name, label),
            number => coordinate.with(&parameter.name, number.as_f64()),
        };
    }
    coordinate
}
