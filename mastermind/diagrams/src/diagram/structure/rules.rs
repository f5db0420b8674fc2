//! Requirements on a graph for a flow to be found in it.

use super::Manners;
use crate::diagram::collect::{Collected, Subject};
use crate::diagram::graph::{Graph, Guard, Node, NodeKind};
use crate::diagram::guards::{Defect, defect};
use mastermind_programs::Rule;

/// Edges by the node that they leave and the node that they come to.
pub(super) struct Edges {
    pub(super) out: Vec<Vec<usize>>,
    pub(super) into: Vec<Vec<usize>>,
}

impl Edges {
    pub(super) fn of(graph: &Graph) -> Self {
        let mut edges = Self {
            out: vec![Vec::new(); graph.nodes.len()],
            into: vec![Vec::new(); graph.nodes.len()],
        };
        for (i, edge) in graph.edges.iter().enumerate() {
            edges.out[edge.from].push(i);
            edges.into[edge.to].push(i);
        }
        edges
    }
}

/// The node that the graph begins with, if it obeys the rules.
pub(super) fn begin(
    graph: &Graph,
    edges: &Edges,
    manners: Manners,
    place: &str,
    out: &mut Collected,
) -> Option<usize> {
    let before = out.findings.len();
    let initial = initial(graph, edges, place, out)?;
    for (i, node) in graph.nodes.iter().enumerate() {
        degrees(graph, edges, i, node, manners, out);
        if matches!(node.kind, NodeKind::Decision { .. }) {
            guards(graph, &edges.out[i], node, out);
        }
    }
    reach(graph, edges, initial, out);
    (out.findings.len() == before).then_some(initial)
}

fn at(node: &Node) -> Subject<'_> {
    Subject {
        element: &node.name,
        at: &node.at,
    }
}

fn initial(graph: &Graph, edges: &Edges, place: &str, out: &mut Collected) -> Option<usize> {
    let is_initial = |i: &usize| graph.nodes[*i].kind == NodeKind::Initial;
    let mut found: Vec<usize> = (0..graph.nodes.len()).filter(is_initial).collect();
    if found.is_empty() {
        // UML: a node without an incoming edge starts with the activity.
        found = (0..graph.nodes.len())
            .filter(|i| edges.into[*i].is_empty() && !is_initial(i))
            .collect();
        if let [one] = found[..] {
            let reason = "the activity has no initial node and begins here, where no edge leads to";
            out.warn(Rule::InitialNode, at(&graph.nodes[one]), reason);
        }
    }
    if let [one] = found[..] {
        return Some(one);
    }
    let reason = match found.len() {
        0 => "no initial node, expected 1".to_owned(),
        n => {
            let shown: Vec<_> = found
                .iter()
                .take(5)
                .map(|i| graph.nodes[*i].at.as_str())
                .collect();
            format!("{n} nodes to begin with ({}), expected 1", shown.join(", "))
        }
    };
    let element = found
        .first()
        .map_or(place, |i| graph.nodes[*i].name.as_str());
    out.find(Rule::InitialNode, Subject { element, at: place }, reason);
    None
}

fn degrees(
    graph: &Graph,
    edges: &Edges,
    i: usize,
    node: &Node,
    manners: Manners,
    out: &mut Collected,
) {
    let (n_in, n_out) = (edges.into[i].len(), edges.out[i].len());
    let single = matches!(
        node.kind,
        NodeKind::Element(_) | NodeKind::Group(..) | NodeKind::Fork
    );
    if single && n_in > 1 && !manners.merges_by_itself {
        let reason = format!(
            "{n_in} edges come in and it waits for all of them, expected 1; put a merge before it"
        );
        out.find(Rule::MissingMerge, at(node), reason);
    }
    if !matches!(node.kind, NodeKind::Decision { .. } | NodeKind::Fork) && n_out > 1 {
        let reason =
            format!("{n_out} edges leave it, expected 1; put a decision or a fork after it");
        out.find(Rule::MissingDecision, at(node), reason);
    }
    match node.kind {
        NodeKind::Initial if n_in > 0 => {
            out.find(
                Rule::DanglingEdge,
                at(node),
                "an edge comes into the initial node",
            );
        }
        NodeKind::Final if n_out > 0 => {
            out.find(Rule::DanglingEdge, at(node), "an edge leaves a final node");
        }
        NodeKind::Final => {}
        NodeKind::Decision { .. } if n_out == 0 && manners.leaves_out_nodes => {
            let reason = "no edge leaves it, the flow ends here";
            out.warn(Rule::NoWayOn, at(node), reason);
        }
        NodeKind::Decision { .. } | NodeKind::Fork if n_out == 0 => {
            out.find(
                Rule::DanglingEdge,
                at(node),
                "no edge leaves it, expected at least 1",
            );
        }
        _ if n_out == 0 => {
            out.warn(
                Rule::NoWayOn,
                at(node),
                "no edge leaves it, the flow ends here",
            );
        }
        _ => {}
    }
    let guarded = edges.out[i].iter().any(|e| graph.edges[*e].guard.is_some());
    if guarded && !matches!(node.kind, NodeKind::Decision { .. }) {
        let reason = "a guard stands on an edge that leaves no decision, expected none";
        out.find(Rule::MissingDecision, at(node), reason);
    }
}

fn guards(graph: &Graph, edges: &[usize], node: &Node, out: &mut Collected) {
    let mut conditions = Vec::new();
    let mut unguarded = 0;
    for edge in edges {
        match &graph.edges[*edge].guard {
            Some(Guard::When(condition)) => conditions.push(condition),
            _ => unguarded += 1,
        }
    }
    if unguarded > 1 {
        let reason = format!("{unguarded} edges leave it without a guard, expected at most 1");
        out.find(Rule::OverlappingGuards, at(node), reason);
        return;
    }
    let NodeKind::Decision { ordered } = node.kind else {
        return;
    };
    match defect(&conditions, unguarded == 1) {
        Some(Defect::Gap(values)) if !conditions.is_empty() => {
            let reason = format!("no guard holds for {values}, expected one or an edge [else]");
            out.find(Rule::GuardGap, at(node), reason);
        }
        Some(Defect::Overlap(a, b, values)) if !ordered => {
            let (a, b) = (conditions[a], conditions[b]);
            let reason = format!("[{a}] and [{b}] both hold for {values}, expected one of them");
            out.find(Rule::OverlappingGuards, at(node), reason);
        }
        _ => {}
    }
}

/// Every node is on a path from the initial node, and on one to an end.
fn reach(graph: &Graph, edges: &Edges, initial: usize, out: &mut Collected) {
    let forward = spread(graph, &edges.out, vec![initial], |edge| edge.1);
    let ends = (0..graph.nodes.len()).filter(|i| edges.out[*i].is_empty());
    let backward = spread(graph, &edges.into, ends.collect(), |edge| edge.0);
    for (i, node) in graph.nodes.iter().enumerate() {
        if !forward[i] {
            let reason = "no way leads to it from the initial node";
            out.find(Rule::UnreachableElement, at(node), reason);
        } else if !backward[i] {
            let reason = "no way leads on from it to an end: the loop never ends";
            out.find(Rule::EndlessLoop, at(node), reason);
        }
    }
}

fn spread(
    graph: &Graph,
    edges: &[Vec<usize>],
    mut left: Vec<usize>,
    next: fn((usize, usize)) -> usize,
) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    while let Some(node) = left.pop() {
        if std::mem::replace(&mut reached[node], true) {
            continue;
        }
        left.extend(edges[node].iter().map(|e| {
            let edge = &graph.edges[*e];
            next((edge.from, edge.to))
        }));
    }
    reached
}
