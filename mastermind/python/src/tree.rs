//! Times by call path.

use std::collections::BTreeMap;

use mastermind_component::names::Names;
use mastermind_records::{Log, Run};
use serde::Serialize;

/// Times of the calls of one path, over ranks and threads.
#[derive(Default, Serialize)]
pub(crate) struct Node {
    path: Vec<String>,
    calls: u64,
    wall_s: f64,
    own_s: f64,
    mpi_s: Option<f64>,
}

/// The times of a run by call path, callers before the called.
pub(crate) fn call_tree(run: &Run) -> Vec<Node> {
    let mut nodes = BTreeMap::<Vec<String>, Node>::new();
    for log in run.logs() {
        for times in log.path_times(true) {
            let path = path(log, times.call_path);
            let node = nodes.entry(path.clone()).or_insert_with(|| Node {
                path,
                ..Node::default()
            });
            node.calls += times.calls;
            node.wall_s += times.wall_ns as f64 * 1e-9;
            node.own_s += times.own.wall_ns as f64 * 1e-9;
            let mpi_s = times.mpi_ns.map(|ns| ns as f64 * 1e-9);
            node.mpi_s = match (node.mpi_s, mpi_s) {
                (Some(sum), Some(more)) => Some(sum + more),
                (sum, more) => sum.or(more),
            };
        }
    }
    nodes.into_values().collect()
}

/// Names of the methods from the outermost call to the one of this path.
fn path(log: &Log, call_path: u32) -> Vec<String> {
    let definitions = log.definitions();
    let paths = std::iter::successors(definitions.call_path(call_path), |path| {
        definitions.call_path(path.parent)
    });
    let names = paths.map(|path| match definitions.method(path.method) {
        Some(method) => Names::of_run(method).shown().to_owned(),
        None => "?".into(),
    });
    let mut names: Vec<_> = names.collect();
    names.reverse();
    names
}
