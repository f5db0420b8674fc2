//! Recorded calls as a workload.

use std::collections::HashMap;

use mastermind_composition::{Call, Workload};
use mastermind_models::{Coordinate, Metric};
use mastermind_records::{ExclusiveTimes, Record, Run, Value};

use crate::samples::{is_of_component, port_method, value};

/// The calls of a run, those of one method, instance and coordinate together. Calls that failed are left out, timers, and
/// the calls of the program that started the run. A call's time in MPI is its own, so recorded calls of MPI are not in it
/// either.
pub fn workload(run: &Run, metric: Metric) -> Workload {
    let mut calls: Vec<Call> = Vec::new();
    let mut index: HashMap<(String, String, String, Vec<u64>), usize> = HashMap::new();
    for rank in run.ranks() {
        for (log, _) in run.logs_of(rank) {
            for (record, exclusive_ns) in ExclusiveTimes::of_components(log)
                .filter(|(record, _)| is_of_component(record) && !record.method.is_mpi())
            {
                let Some(seconds) = value(&record, exclusive_ns, &metric) else {
                    continue;
                };
                let call = new_call(&record);
                let words = record.values[..record.method.parameters.len()].to_vec();
                let key = (
                    call.instance.clone(),
                    call.class.clone(),
                    call.port_method.clone(),
                    words,
                );
                let at = *index.entry(key).or_insert(calls.len());
                if at == calls.len() {
                    calls.push(call);
                }
                calls[at].count += 1;
                calls[at].measured_s += seconds;
            }
        }
    }
    Workload { metric, calls }
}

fn new_call(record: &Record<'_>) -> Call {
    let mut coordinate = Coordinate::new();
    for (parameter, value) in record.method.parameters.iter().zip(record.parameters()) {
        coordinate = match value {
            Value::Label(_, Some(label)) => coordinate.with(&parameter.name, label),
            number => coordinate.with(&parameter.name, number.as_f64()),
        };
    }
    Call {
        instance: record.method.instance.clone(),
        class: record.method.class.clone(),
        port_method: port_method(record.method),
        coordinate,
        count: 0,
        measured_s: 0.0,
    }
}
