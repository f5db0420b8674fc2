//! Recorded calls as samples.

use std::collections::BTreeSet;

use mastermind_composition::model_name;
use mastermind_models::{CallSink, Metric, Parameter, ParameterKind};
use mastermind_records::definition::{self, MethodDefinition, ParameterDefinition, TIMER_CLASS};
use mastermind_records::{ExclusiveTimes, Record, Run};
use serde::{Deserialize, Serialize};

/// Gives the calls of a run to `sink`, by method (`CLASS::PORT.METHOD`) and parameters. Leaves out calls that failed,
/// timers, and consecutive polls of MPI that found nothing.
///
/// Wall time is exclusive: a model describes the component itself, and the composition adds the components that it
/// calls. Also left out are calls without a record, calls whose own time is unknown because calls made from them have
/// no record, and calls of methods that a dry run omits.
///
/// # Errors
/// A method was added before with other parameters.
pub fn samples(
    run: &Run,
    // Not generic: the loop over all records is compiled here, with this crate's optimisation, and not in the calling
    // crate.
    sink: &mut dyn CallSink,
    metric: &Metric,
) -> Result<(), mastermind_models::Error> {
    let calls = CallsOfRun::new(run, metric);
    for rank in run.ranks() {
        calls.of_rank(rank, sink)?;
    }
    Ok(())
}

/// The calls of a run as samples, rank by rank.
pub struct CallsOfRun<'r> {
    run: &'r Run,
    metric: &'r Metric,
    is_dry: bool,
    clock_step_ns: Option<f64>,
}

impl<'r> CallsOfRun<'r> {
    /// Reads the facts about the whole run.
    pub fn new(run: &'r Run, metric: &'r Metric) -> Self {
        Self {
            run,
            metric,
            is_dry: !run.dry_methods().is_empty(),
            clock_step_ns: run.clock_step_ns(),
        }
    }

    /// Gives the calls of a rank to `sink`, as [`samples`] does for all ranks.
    ///
    /// # Errors
    /// A method was added before with other parameters.
    pub fn of_rank(
        &self,
        rank: u32,
        sink: &mut dyn CallSink,
    ) -> Result<(), mastermind_models::Error> {
        let metric = self.metric;
        let is_own = *metric == Metric::Wall;
        let mut coordinate = Vec::new();
        if let Some(ns) = self.clock_step_ns {
            sink.clock_step(ns * 1e-9);
        }
        for (log, _) in self.run.logs_of(rank) {
            let mut numbers = Numbers::default();
            let mut records = ExclusiveTimes::of_components(log);
            // The adaptors of an iterator would move each record several times.
            while let Some((record, own)) = records.next_record() {
                // Calls that share a record have no individual times.
                let is_one = record.calls() == 1;
                if record.failed || !is_one || (is_own && log.lacks_calls_of(&record)) {
                    continue;
                }
                if self.is_dry && log.definitions().run.leaves_out(record.method) {
                    continue;
                }
                let Some(value) = value(&record, own.wall_ns, metric) else {
                    continue;
                };
                let Some(method) = numbers.of(&record, sink)? else {
                    continue;
                };
                coordinate.clear();
                let values = record.method.parameters.iter().zip(record.parameters());
                let values = values.filter(|(definition, _)| definition.is_size());
                coordinate.extend(values.map(|(_, value)| value.as_f64()));
                // Refused ones are counted by the sink.
                let _ = sink.take(method, &coordinate, value);
            }
        }
        Ok(())
    }
}

/// Whether a call is a successful call of a component: not failed, and no timer.
pub(crate) fn is_of_component(record: &Record<'_>) -> bool {
    !record.failed && !is_timer(record)
}

fn is_timer(record: &Record<'_>) -> bool {
    record.method.class == TIMER_CLASS
}

/// Numbers of the methods of one log by call path, so that names are made once and not at every call. `Some(None)` for
/// timers and for parts of calls of MPI, which have no models.
#[derive(Default)]
struct Numbers(Vec<Option<Option<usize>>>);

impl Numbers {
    #[inline]
    fn of(
        &mut self,
        record: &Record<'_>,
        sink: &mut dyn CallSink,
    ) -> Result<Option<usize>, mastermind_models::Error> {
        match self.0.get(record.call_path as usize) {
            Some(&Some(known)) => Ok(known),
            _ => self.declare(record, sink),
        }
    }

    #[cold]
    fn declare(
        &mut self,
        record: &Record<'_>,
        sink: &mut dyn CallSink,
    ) -> Result<Option<usize>, mastermind_models::Error> {
        let path = record.call_path as usize;
        if self.0.len() <= path {
            self.0.resize(path + 1, None);
        }
        if is_timer(record) || record.method.is_mpi_part() {
            self.0[path] = Some(None);
            return Ok(None);
        }
        let sizes = record.method.parameters.iter().filter(|p| p.is_size());
        let parameters: Vec<_> = sizes.map(parameter).collect();
        let number = sink.declare(&method_name(record.method), &parameters)?;
        self.0[path] = Some(Some(number));
        Ok(Some(number))
    }
}

/// `CLASS::PORT.METHOD`.
pub fn method_name(method: &MethodDefinition) -> String {
    model_name(&method.class, &port_method(method))
}

pub(crate) fn port_method(method: &MethodDefinition) -> String {
    format!("{}.{}", method.port, method.method)
}

/// The value of a metric, in seconds or in the unit of the counter; `None` where it was not measured. MPI time and
/// counters are of the whole call, including its callees.
pub(crate) fn value(record: &Record<'_>, exclusive_ns: u64, metric: &Metric) -> Option<f64> {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    match metric {
        Metric::Wall => Some(seconds(exclusive_ns)),
        Metric::Mpi => record.mpi_ns.map(seconds),
        Metric::Compute => record.compute_ns().map(seconds),
        Metric::Inclusive => Some(seconds(record.wall_ns)),
        Metric::Counter { name, .. } => {
            let counters = &record.method.counters;
            let place = counters.iter().position(|counter| counter.name == *name)?;
            record.counters().nth(place)?.map(|value| value as f64)
        }
        _ => None,
    }
}

/// The metric of a counter with the unit from the run; unchanged if it is a time or has a unit.
///
/// # Errors
/// Why no method of the run has it: the counters that the run has instead, or why it could not be read.
pub fn counted(run: &Run, metric: &Metric) -> Result<Metric, NotCounted> {
    let Metric::Counter { name, .. } = metric else {
        return Ok(metric.clone());
    };
    let definitions = run.logs().iter().map(|log| log.definitions());
    let counters =
        definitions.flat_map(|definitions| definitions.methods().flat_map(|m| &m.counters));
    let mut not_counted = NotCounted::default();
    for counter in counters {
        match &counter.unavailable {
            None if counter.name == *name => {
                return Ok(Metric::Counter {
                    name: name.clone(),
                    unit: counter.unit.clone(),
                });
            }
            None => {
                not_counted.known.insert(counter.name.clone());
            }
            Some(why) if counter.name == *name => not_counted.why = Some(why.clone()),
            Some(_) => {}
        }
    }
    Err(not_counted)
}

/// Why a run has no values of a counter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCounted {
    /// Counters that it has.
    pub known: BTreeSet<String>,
    /// Why this one could not be read.
    pub why: Option<String>,
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
