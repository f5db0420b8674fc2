//! Recorded calls as a workload.

use std::collections::HashMap;
use std::sync::Arc;

use mastermind_composition::{Call, Workload};
use mastermind_models::{Coordinate, Metric};
use mastermind_records::definition::{
    MethodDefinition, ParameterDefinition, ParameterKind, TIMER_CLASS,
};
use mastermind_records::{ExclusiveTimes, Log, PathTimes, Record, Run, UnrecordedCalls, Value};

use crate::samples::{is_of_component, port_method, value};

/// The calls of a run, those of one method, instance and coordinate together. Calls that failed are left out, timers, and
/// the calls of the program that started the run. A call's time in MPI is its own, so recorded calls of MPI are not in it
/// either. Calls that have no record are those of their class of size, at the mean of its parameters.
pub fn workload(run: &Run, metric: Metric) -> Workload {
    let mut calls = Calls::default();
    for rank in run.ranks() {
        for (log, _) in run.logs_of(rank) {
            let shares = OwnShares::of(log);
            for (record, exclusive_ns) in ExclusiveTimes::of_components(log)
                .filter(|(record, _)| is_of_component(record) && !record.method.is_mpi())
            {
                let own_ns = match log.lacks_calls_of(&record) {
                    true => shares.own_ns(record.call_path, record.wall_ns),
                    false => exclusive_ns,
                };
                if let Some(seconds) = value(&record, own_ns, &metric) {
                    let words = record.values[..record.method.parameters.len()].to_vec();
                    calls.add(record.method, words, 1, seconds, || coordinate(&record));
                }
            }
            for lost in log.unrecorded() {
                calls.add_unrecorded(log, lost, &shares, &metric);
            }
        }
    }
    Workload {
        metric,
        calls: calls.calls,
    }
}

/// What share of the wall time of a path's calls is their own, where some of the calls made from there have no record.
struct OwnShares(HashMap<u32, f64>);

impl OwnShares {
    fn of(log: &Log) -> Self {
        let times = match log.unrecorded() {
            [] => Vec::new(),
            _ => log.path_times(true),
        };
        let share = |path: &PathTimes| path.own.wall_ns as f64 / path.wall_ns.max(1) as f64;
        Self(
            times
                .iter()
                .map(|path| (path.call_path, share(path)))
                .collect(),
        )
    }

    fn own_ns(&self, call_path: u32, wall_ns: u64) -> u64 {
        let share = self.0.get(&call_path).copied().unwrap_or(1.0);
        (wall_ns as f64 * share) as u64
    }
}

/// What tells calls apart: instance, class, port and method, and the words of the parameters.
type Key = (String, String, String, Vec<u64>);

#[derive(Default)]
struct Calls {
    calls: Vec<Call>,
    index: HashMap<Key, usize>,
}

impl Calls {
    fn add(
        &mut self,
        method: &MethodDefinition,
        words: Vec<u64>,
        count: u64,
        seconds: f64,
        coordinate: impl FnOnce() -> Coordinate,
    ) {
        let port_method = port_method(method);
        let (instance, class) = (method.instance.clone(), method.class.clone());
        let key = (instance.clone(), class.clone(), port_method.clone(), words);
        let at = *self.index.entry(key).or_insert(self.calls.len());
        if at == self.calls.len() {
            self.calls.push(Call {
                instance,
                class,
                port_method,
                coordinate: coordinate(),
                count: 0,
                measured_s: 0.0,
            });
        }
        self.calls[at].count += count;
        self.calls[at].measured_s += seconds;
    }

    /// Adds calls of one class of size; those of unknown size cannot be predicted.
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
            _ => None,
        };
        let Some(ns) = ns else { return };
        let words = method.parameters.iter().zip(means);
        let words = words.map(|(parameter, mean)| word(parameter, *mean));
        self.add(
            method,
            words.collect(),
            lost.calls,
            ns as f64 * 1e-9,
            || coordinate_of_means(method, means),
        );
    }
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

pub(crate) fn coordinate(record: &Record<'_>) -> Coordinate {
    let mut coordinate = Coordinate::new();
    for (parameter, value) in record.method.parameters.iter().zip(record.parameters()) {
        coordinate = match value {
            Value::Label(_, Some(label)) => coordinate.with(&parameter.name, label),
            number => coordinate.with(&parameter.name, number.as_f64()),
        };
    }
    coordinate
}
