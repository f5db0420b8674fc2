//! Forks, joins, decisions and merges that a UML activity leaves out.
//!
//! UML lets several edges leave an action (it offers a token to each of them: a fork) and several enter one (it waits
//! for all of them: a join). People also draw both when they mean a decision or a merge, and such an activity would
//! wait for ever. So edges with guards that leave an action are a decision, and edges that enter from alternatives, or
//! from behind (a loop), are a merge. Each is a warning.
//!
//! Dominators show whether a fork or a decision split the paths that come together, and which edges go back.
//!
//! # Source
//! OMG, "Unified Modeling Language 2.5.1", clause 15.2.3.

use std::collections::HashSet;

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use super::collect::{Collected, Subject};
use super::graph::{Graph, NodeKind};
use mastermind_programs::Rule;

/// Adds the nodes that the activity leaves out. The activity has one initial node, and paths to all
/// others.
///
/// # Arguments
/// * `forks` - several edges that leave an action are a fork, as in UML; else alternatives
pub(super) fn complete(graph: &mut Graph, forks: bool, out: &mut Collected) {
    begin_alone(graph, out);
    part_ways(graph, forks, out);
    let is_initial = |i: &usize| graph.nodes[*i].kind == NodeKind::Initial;
    if let Some(initial) = (0..graph.nodes.len()).find(is_initial) {
        bring_together(graph, initial, out);
    }
}

fn warn(graph: &Graph, node: usize, rule: Rule, reason: String, out: &mut Collected) {
    let node = &graph.nodes[node];
    let place = Subject {
        element: &node.name,
        at: &node.at,
    };
    out.warn(rule, place, reason);
}

/// UML has no edge into an initial node: nothing begins anew.
fn begin_alone(graph: &mut Graph, out: &mut Collected) {
    let is_initial = |node: usize| graph.nodes[node].kind == NodeKind::Initial;
    let (wrong, right): (Vec<_>, Vec<_>) = std::mem::take(&mut graph.edges)
        .into_iter()
        .partition(|edge| is_initial(edge.to));
    graph.edges = right;
    for edge in wrong {
        let reason = "an edge comes into the initial node: it is left out".to_owned();
        warn(graph, edge.to, Rule::DanglingEdge, reason, out);
    }
}

/// Several edges leave a node that is neither a decision nor a fork.
fn part_ways(graph: &mut Graph, forks: bool, out: &mut Collected) {
    let mut leaving = vec![Vec::new(); graph.nodes.len()];
    for (i, edge) in graph.edges.iter().enumerate() {
        leaving[edge.from].push(i);
    }
    for (node, edges) in leaving.into_iter().enumerate() {
        let parts = !matches!(
            graph.nodes[node].kind,
            NodeKind::Decision { .. } | NodeKind::Fork | NodeKind::Final
        );
        if !parts || edges.len() < 2 {
            continue;
        }
        let n = edges.len();
        let (name, at) = (graph.nodes[node].name.clone(), graph.nodes[node].at.clone());
        let (kind, reason) = if edges.iter().any(|edge| graph.edges[*edge].guard.is_some()) {
            let reason = format!(
                "{n} edges with guards leave it: one of them is taken, as behind a decision"
            );
            (NodeKind::Decision { ordered: false }, reason)
        } else if !forks {
            let reason = format!(
                "{n} edges leave it that no join brings together: one of them is taken, as behind a decision, where UML takes all"
            );
            (NodeKind::Decision { ordered: true }, reason)
        } else {
            let reason =
                format!("{n} edges leave it: all of them are taken at once, as behind a fork");
            (NodeKind::Fork, reason)
        };
        warn(graph, node, Rule::MissingDecision, reason, out);
        let new = graph.node(&format!("behind {name}"), at, kind);
        for edge in edges {
            graph.edges[edge].from = new;
        }
        graph.edge(node, new);
    }
}

/// Several edges come into a node that is neither a merge nor a join.
fn bring_together(graph: &mut Graph, initial: usize, out: &mut Collected) {
    let n_nodes = graph.nodes.len();
    let mut coming = vec![Vec::new(); n_nodes];
    for (i, edge) in graph.edges.iter().enumerate() {
        coming[edge.to].push(i);
    }
    let single = |kind: &NodeKind| {
        matches!(
            kind,
            NodeKind::Element(_) | NodeKind::Group(..) | NodeKind::Fork
        )
    };
    if (0..n_nodes).all(|node| coming[node].len() < 2 || !single(&graph.nodes[node].kind)) {
        return;
    }
    let dominators = dominators(graph, initial);
    for (node, edges) in coming.into_iter().enumerate() {
        if edges.len() < 2 || !single(&graph.nodes[node].kind) {
            continue;
        }
        let (back, forward): (Vec<usize>, Vec<usize>) = edges
            .iter()
            .partition(|edge| leads_over(&dominators, graph.edges[**edge].from, node));
        let n = edges.len();
        let above = dominators.immediate_dominator(NodeIndex::new(node));
        let parted_by_fork =
            above.is_some_and(|above| graph.nodes[above.index()].kind == NodeKind::Fork);
        let mut sources = forward;
        if sources.len() > 1 && parted_by_fork {
            let reason = format!(
                "{n} edges come in: it waits for those that a fork parted, as behind a join"
            );
            warn(graph, node, Rule::MissingMerge, reason, out);
            let join = put_before(graph, node, &sources, NodeKind::Join);
            sources = vec![join];
        } else {
            let reason = format!(
                "{n} edges come in, of which one is taken: it begins at each, as behind a merge, where UML waits for all of them"
            );
            warn(graph, node, Rule::MissingMerge, reason, out);
        }
        sources.extend(back);
        if sources.len() > 1 {
            put_before(graph, node, &sources, NodeKind::Merge);
        }
    }
}

/// Leads these edges to a new node, and that to `node`; the edge between them.
fn put_before(graph: &mut Graph, node: usize, edges: &[usize], kind: NodeKind) -> usize {
    let (name, at) = (graph.nodes[node].name.clone(), graph.nodes[node].at.clone());
    let new = graph.node(&format!("before {name}"), at, kind);
    for edge in edges {
        graph.edges[*edge].to = new;
    }
    graph.edge(new, node);
    graph.edges.len() - 1
}

fn dominators(graph: &Graph, initial: usize) -> Dominators<NodeIndex> {
    let mut plain = DiGraph::<(), ()>::with_capacity(graph.nodes.len(), graph.edges.len());
    for _ in &graph.nodes {
        plain.add_node(());
    }
    let mut seen = HashSet::new();
    for edge in &graph.edges {
        if seen.insert((edge.from, edge.to)) {
            plain.add_edge(NodeIndex::new(edge.from), NodeIndex::new(edge.to), ());
        }
    }
    simple_fast(&plain, NodeIndex::new(initial))
}

/// Whether all paths to `from` lead through `node`.
fn leads_over(dominators: &Dominators<NodeIndex>, from: usize, node: usize) -> bool {
    let mut above = dominators
        .dominators(NodeIndex::new(from))
        .into_iter()
        .flatten();
    above.any(|above| above.index() == node)
}
