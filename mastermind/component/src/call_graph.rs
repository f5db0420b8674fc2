//! The call graph of recorded runs.

use std::collections::HashMap;

use mastermind_composition::{CallGraph, OwnTime, VertexId};
use mastermind_records::definition::{MethodDefinition, TIMER_CLASS};
use mastermind_records::{ExclusiveTimes, Log, Run, Value};

use crate::samples::port_method;

/// Adds the calls of a run, over all its ranks and threads. Timers and recorded calls of MPI are no vertices: their
/// time belongs to the component that made them.
pub fn add_to_call_graph(graph: &mut CallGraph, run: &Run) {
    for log in run.logs() {
        let mut vertices = HashMap::new();
        let mut records = ExclusiveTimes::of_components(log);
        while let Some((record, own)) = records.next_record() {
            if !is_vertex(record.method) {
                continue;
            }
            let Some(vertex) = vertex(graph, log, record.call_path, &mut vertices) else {
                continue;
            };
            let time = OwnTime {
                compute_s: own.wall_ns.saturating_sub(own.mpi_ns) as f64 * 1e-9,
                mpi_s: own.mpi_ns as f64 * 1e-9,
            };
            let values = record.method.parameters.iter().zip(record.parameters());
            let numbers = values.filter_map(|(parameter, value)| match value {
                Value::Label(..) => None,
                number => Some((parameter.name.as_str(), number.as_f64())),
            });
            graph.add_call(vertex, time, numbers);
        }
    }
}

fn is_vertex(method: &MethodDefinition) -> bool {
    !method.is_mpi() && method.class != TIMER_CLASS
}

/// The vertex of a call path, below the vertex of the nearest enclosing call that has one.
fn vertex(
    graph: &mut CallGraph,
    log: &Log,
    call_path: u32,
    known: &mut HashMap<u32, Option<VertexId>>,
) -> Option<VertexId> {
    let definitions = log.definitions();
    let mut unknown = Vec::new();
    let mut at = call_path;
    // Parents have lower ids, so this ends.
    while !known.contains_key(&at) {
        let Some(path) = definitions.call_path(at) else {
            break;
        };
        unknown.push(at);
        at = path.parent;
    }
    let mut caller = known.get(&at).copied().flatten();
    for path in unknown.into_iter().rev() {
        if let Some(method) = definitions.method_of(path).filter(|m| is_vertex(m)) {
            caller = Some(graph.vertex(caller, &method.instance, &port_method(method)));
        }
        known.insert(path, caller);
    }
    known.get(&call_path).copied().flatten()
}
