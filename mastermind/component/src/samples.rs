//! Recorded calls as samples.

use mastermind_composition::model_name;
use mastermind_models::{Metric, Parameter, ParameterKind, SampleSet};
use mastermind_records::definition::{self, MethodDefinition, ParameterDefinition, TIMER_CLASS};
use mastermind_records::{ExclusiveTimes, Record, Run};

/// Adds the calls of a run to `set`, by method (`CLASS::PORT.METHOD`) and parameters. Calls that failed are left out,
/// and timers.
///
/// Wall time is exclusive: a model is of the component itself, and the composition adds those that it calls.
///
/// # Errors
/// A method that was added before with other parameters.
pub fn samples(
    run: &Run,
    set: &mut SampleSet,
    metric: Metric,
) -> Result<(), mastermind_models::Error> {
    let mut coordinate = Vec::new();
    for rank in run.ranks() {
        for (log, _) in run.logs_of(rank) {
            for (record, exclusive_ns) in
                ExclusiveTimes::of_components(log).filter(|(record, _)| is_of_component(record))
            {
                let Some(ns) = time_ns(&record, exclusive_ns, metric) else {
                    continue;
                };
                let sizes = record.method.parameters.iter().filter(|p| p.is_size());
                let parameters: Vec<_> = sizes.map(parameter).collect();
                let method = set.declare(&method_name(record.method), &parameters)?;
                coordinate.clear();
                let values = record.method.parameters.iter().zip(record.parameters());
                let values = values.filter(|(definition, _)| definition.is_size());
                coordinate.extend(values.map(|(_, value)| value.as_f64()));
                // Refused ones are counted by the set.
                let _ = set.push(method, &coordinate, ns as f64 * 1e-9);
            }
        }
    }
    Ok(())
}

/// Whether a call was one of a component that did its work: it did not fail, and it is no timer.
pub(crate) fn is_of_component(record: &Record<'_>) -> bool {
    !record.failed && record.method.class != TIMER_CLASS
}

/// `CLASS::PORT.METHOD`.
pub fn method_name(method: &MethodDefinition) -> String {
    model_name(&method.class, &port_method(method))
}

pub(crate) fn port_method(method: &MethodDefinition) -> String {
    format!("{}.{}", method.port, method.method)
}

/// The time that a metric is about; `None` where it was not measured. MPI time is that of the whole call.
pub(crate) fn time_ns(record: &Record<'_>, exclusive_ns: u64, metric: Metric) -> Option<u64> {
    match metric {
        Metric::Wall => Some(exclusive_ns),
        Metric::Mpi => record.mpi_ns,
        Metric::Compute => record.compute_ns(),
        _ => None,
    }
}

fn parameter(definition: &ParameterDefinition) -> Parameter {
    Parameter {
        name: definition.name.clone(),
        unit: definition.unit.clone(),
        kind: match definition.kind {
            definition::ParameterKind::Integer => ParameterKind::Integer,
            definition::ParameterKind::Real => ParameterKind::Real,
            definition::ParameterKind::Enumeration => {
                ParameterKind::Enumeration(definition.labels.clone())
            }
        },
    }
}
