//! Converts the recorded calls of a run to samples for the fit.
//!
//! A sample is one call: the values of its parameters that are sizes or labels, and its value of the metric. The
//! calls are given to a [`CallSink`], so that they need not all fit into memory; each method is declared once, before
//! its first call.
//!
//! ```text
//! record   flux.compute of class EfmFlux, q = 4000, axis = 1; 52 µs, of which 8 µs in a callee
//! sample   EfmFlux::flux.compute   coordinate [4000, 1]   value 44e-6 (Metric::Wall)
//! ```

use std::collections::BTreeSet;

use mastermind_composition::model_name;
use mastermind_models::{CallSink, Metric, Parameter, ParameterKind};
use mastermind_records::definition::{self, MethodDefinition, ParameterDefinition, TIMER_CLASS};
use mastermind_records::{ExclusiveTimes, Record, Run, Series};
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
        let (mut coordinates, mut values) = (Vec::new(), Vec::new());
        if let Some(ns) = self.clock_step_ns {
            sink.clock_step(ns * 1e-9);
        }
        for (log, _) in self.run.logs_of(rank) {
            let mut methods = Methods::default();
            let mut times = ExclusiveTimes::of_components(log);
            while let Some(series) = times.next_series() {
                let is_left_out = self.is_dry && log.definitions().run.leaves_out(series.method());
                if series.failed() || is_left_out {
                    continue;
                }
                let method = methods.of(&series);
                let lacks_calls = is_own && !log.unrecorded().is_empty();
                if !method.has_model {
                    continue;
                }
                coordinates.clear();
                values.clear();
                if is_own && !lacks_calls && !series.may_share_records() {
                    values.extend(series.own_walls_ns().map(seconds));
                    method.add_coordinates(&series, &mut coordinates);
                } else {
                    for (record, own) in series.records_with_own() {
                        // Calls that share a record have no individual times.
                        if record.calls() != 1 || (lacks_calls && log.lacks_calls_of(&record)) {
                            continue;
                        }
                        let Some(value) = value(&record, own.wall_ns, metric) else {
                            continue;
                        };
                        values.push(value);
                        for (place, kind) in &method.sizes {
                            coordinates.push(size(record.values[*place], kind));
                        }
                    }
                }
                if !values.is_empty() {
                    let number = method.number(series.method(), sink)?;
                    sink.take_all(number, &coordinates, &values);
                }
            }
        }
        Ok(())
    }
}

/// The word of a parameter that is a size, as a number.
#[inline]
fn size(word: u64, kind: &definition::ParameterKind) -> f64 {
    match kind {
        definition::ParameterKind::Integer => word.cast_signed() as f64,
        definition::ParameterKind::Real => f64::from_bits(word),
        definition::ParameterKind::Enumeration => word as f64,
    }
}

/// Whether a call is a successful call of a component: not failed, and no timer.
pub(crate) fn is_of_component(record: &Record<'_>) -> bool {
    !record.failed && !is_timer(record)
}

fn is_timer(record: &Record<'_>) -> bool {
    record.method.class == TIMER_CLASS
}

/// Properties of the methods of one log, by call path.
#[derive(Default)]
struct Methods(Vec<Option<Method>>);

/// A method in the samples.
struct Method {
    /// False for timers and for parts of calls of MPI.
    has_model: bool,
    /// Its number in the sink, once it is declared.
    number: Option<usize>,
    /// Place and kind of each parameter that is a size.
    sizes: Vec<(usize, definition::ParameterKind)>,
}

impl Methods {
    #[inline]
    fn of(&mut self, series: &Series<'_, '_>) -> &mut Method {
        let path = series.call_path() as usize;
        if self.0.len() <= path {
            self.0.resize_with(path + 1, || None);
        }
        self.0[path].get_or_insert_with(|| Method::new(series.method()))
    }
}

impl Method {
    fn new(method: &MethodDefinition) -> Self {
        let parameters = method.parameters.iter().enumerate();
        let sizes = parameters.filter(|(_, parameter)| parameter.is_size());
        Self {
            has_model: method.class != TIMER_CLASS && !method.is_mpi_part(),
            number: None,
            sizes: sizes.map(|(place, size)| (place, size.kind)).collect(),
        }
    }

    /// Appends the coordinates of all records, shape `[n_records][n_sizes]`.
    #[inline]
    fn add_coordinates(&self, series: &Series<'_, '_>, coordinates: &mut Vec<f64>) {
        let begin = coordinates.len();
        match self.sizes.as_slice() {
            [] => {}
            [(place, kind)] => {
                coordinates.extend(series.parameter_words(*place).map(|word| size(word, kind)));
            }
            sizes => {
                let n_records = series.parameter_words(0).len();
                coordinates.resize(begin + n_records * sizes.len(), 0.0);
                for (column, (place, kind)) in sizes.iter().enumerate() {
                    let into = coordinates[begin + column..]
                        .iter_mut()
                        .step_by(sizes.len());
                    for (coordinate, word) in into.zip(series.parameter_words(*place)) {
                        *coordinate = size(word, kind);
                    }
                }
            }
        }
    }

    /// Its number in the samples; names are made once, not at every call.
    fn number(
        &mut self,
        method: &MethodDefinition,
        sink: &mut dyn CallSink,
    ) -> Result<usize, mastermind_models::Error> {
        if let Some(number) = self.number {
            return Ok(number);
        }
        let sizes = method.parameters.iter().filter(|p| p.is_size());
        let parameters: Vec<_> = sizes.map(parameter).collect();
        let number = sink.declare(&method_name(method), &parameters)?;
        self.number = Some(number);
        Ok(number)
    }
}

/// `CLASS::PORT.METHOD`.
pub fn method_name(method: &MethodDefinition) -> String {
    model_name(&method.class, &port_method(method))
}

pub(crate) fn port_method(method: &MethodDefinition) -> String {
    format!("{}.{}", method.port, method.method)
}

#[inline]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// The value of a metric, in seconds or in the unit of the counter; `None` where it was not measured. MPI time and
/// counters are of the whole call, including its callees.
pub(crate) fn value(record: &Record<'_>, exclusive_ns: u64, metric: &Metric) -> Option<f64> {
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
