//! Loops that nothing ends: servers, daemons, `repeat` without a condition.
//!
//! A simulation has to end, so one round of such a loop is simulated, with a warning: edges back to its begin lead to
//! the end of the activity instead. Loops in it keep their rounds.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::collect::{Collected, Subject};
use super::graph::{Graph, NodeKind};
use mastermind_programs::Rule;

/// Most loops that are opened: each takes a pass over the graph.
const MAX_LOOPS: usize = 100;

/// Ends each loop that has no exit after one round.
pub(super) fn end_loops(graph: &mut Graph, out: &mut Collected) {
    for _ in 0..MAX_LOOPS {
        let Some((begin, members)) = endless(graph) else {
            return;
        };
        let (name, at) = (
            graph.nodes[begin].name.clone(),
            graph.nodes[begin].at.clone(),
        );
        let place = Subject {
            element: &name,
            at: &at,
        };
        let reason = "the loop never ends: one round of it is simulated";
        out.warn(Rule::EndlessLoop, place, reason);
        let end = graph.node("end", at.clone(), NodeKind::Final);
        for edge in &mut graph.edges {
            if edge.to == begin && members.contains(&edge.from) {
                edge.to = end;
            }
        }
    }
}

/// The first loop without an exit: its entry, and its nodes.
fn endless(graph: &Graph) -> Option<(usize, Vec<usize>)> {
    let mut plain = DiGraph::<(), ()>::with_capacity(graph.nodes.len(), graph.edges.len());
    for _ in &graph.nodes {
        plain.add_node(());
    }
    for edge in &graph.edges {
        plain.add_edge(NodeIndex::new(edge.from), NodeIndex::new(edge.to), ());
    }
    let mut part = vec![0; graph.nodes.len()];
    let parts = kosaraju_scc(&plain);
    for (number, nodes) in parts.iter().enumerate() {
        for node in nodes {
            part[node.index()] = number;
        }
    }
    let mut has_edge = vec![false; parts.len()];
    let mut is_left = vec![false; parts.len()];
    for edge in &graph.edges {
        if part[edge.from] == part[edge.to] {
            has_edge[part[edge.from]] = true;
        } else {
            is_left[part[edge.from]] = true;
        }
    }
    let number = (0..parts.len()).find(|number| has_edge[*number] && !is_left[*number])?;
    let members: Vec<usize> = parts[number].iter().map(|node| node.index()).collect();
    let enters = |edge: &&super::graph::Edge| part[edge.to] == number && part[edge.from] != number;
    let entered = graph.edges.iter().find(enters).map(|edge| edge.to);
    let begin = entered.or_else(|| members.iter().min().copied())?;
    Some((begin, members))
}
