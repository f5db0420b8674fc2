//! A graph with loops that have several entries, run node by node: a variable selects the next node.
//!
//! ```text
//! next = 0
//! while (next >= 0) {
//!     if (next == 0) { a; next = 1 }
//!     elseif (next == 1) { if (guard) { next = 0 } else { next = -1 } }
//! }
//! ```
//!
//! This form represents any graph in which one node runs at a time; graphs without such loops get a flow that reads like
//! the diagram. Where forks and joins are not in pairs, and nothing is decided or repeated, the nodes are put into one
//! sequence ([`line_up`]).

use super::rules::Edges;
use super::walk::{Names, assignment, structured};
use super::{Manners, Structured};
use crate::diagram::collect::Collected;
use crate::diagram::graph::{Edge, Graph, Guard, Node, NodeKind, Wrapper};
use mastermind_programs::expression::{Binary, Expression};
use mastermind_programs::{Branch, Element, ElementKind};

/// Maximum number of nodes: the next one is found by comparing with one after the other.
const MAX_NODES: usize = 2000;

/// Whether a graph has only nodes that can run one at a time.
pub(super) fn fits(graph: &Graph) -> bool {
    let is_single = |kind: &NodeKind| !matches!(kind, NodeKind::Fork | NodeKind::Join);
    graph.nodes.len() <= MAX_NODES && graph.nodes.iter().all(|node| is_single(&node.kind))
}

/// The flow of such a graph.
pub(super) fn flow(
    graph: &Graph,
    edges: &Edges,
    manners: Manners,
    initial: usize,
    (names, out): (&mut Names, &mut Collected),
) -> Vec<Element> {
    let next = names.variable("next", Expression::Number(0.0));
    let number = |node: usize| Expression::Number(node as f64);
    let compare = |operator, value| {
        let name = Box::new(Expression::Name(next.clone()));
        Expression::Binary(operator, name, Box::new(value))
    };
    let mut branches = Vec::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        let mut flow: Vec<Element> = own(node, manners, (names, out)).into_iter().collect();
        let out_edges: Vec<&Edge> = edges.out[i]
            .iter()
            .map(|edge| &graph.edges[*edge])
            .collect();
        flow.push(chosen(&next, &node.name, &out_edges));
        branches.push(Branch {
            guard: Some(compare(Binary::Equal, number(i))),
            flow,
        });
    }
    if let Some(last) = branches.last_mut() {
        last.guard = None;
    }
    let decision = Element {
        name: "node".into(),
        kind: ElementKind::Decision { branches },
    };
    let rounds = ElementKind::While {
        condition: compare(Binary::AtLeast, Expression::Number(0.0)),
        flow: vec![decision],
    };
    let all = Element {
        name: "nodes".into(),
        kind: rounds,
    };
    vec![assignment(&next, number(initial)), all]
}

/// The nodes of a graph without decisions and loops, each behind all that lead to it.
pub(super) fn line_up(
    graph: &Graph,
    edges: &Edges,
    manners: Manners,
    (names, out): (&mut Names, &mut Collected),
) -> Option<Vec<Element>> {
    let decides = |node: &Node| matches!(node.kind, NodeKind::Decision { .. });
    if graph.nodes.iter().any(decides) {
        return None;
    }
    let mut waits: Vec<usize> = edges.into.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..waits.len()).filter(|node| waits[*node] == 0).collect();
    let (mut flow, mut n_done) = (Vec::new(), 0);
    while let Some(node) = ready.pop() {
        n_done += 1;
        flow.extend(own(&graph.nodes[node], manners, (names, out)));
        for edge in &edges.out[node] {
            let to = graph.edges[*edge].to;
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    (n_done == graph.nodes.len()).then_some(flow)
}

/// The element of the node itself.
fn own(
    node: &Node,
    manners: Manners,
    (names, out): (&mut Names, &mut Collected),
) -> Option<Element> {
    match &node.kind {
        NodeKind::Element(kind) => Some(Element {
            name: node.name.clone(),
            kind: kind.clone(),
        }),
        NodeKind::Group(wrapper, inner) => {
            let Structured { flow, .. } = structured(inner, manners, &node.at, names, out);
            Some(wrapped(&node.name, wrapper, flow))
        }
        _ => None,
    }
}

/// Selects the next node: none behind the last one.
fn chosen(next: &str, name: &str, edges: &[&Edge]) -> Element {
    let end = Expression::Unary(
        mastermind_programs::expression::Unary::Minus,
        Box::new(Expression::Number(1.0)),
    );
    let [first, _, ..] = edges else {
        let to = edges.first();
        let to = to.map_or(end, |edge| Expression::Number(edge.to as f64));
        return assignment(next, to);
    };
    let mut branches = Vec::new();
    let mut otherwise = first;
    for edge in edges {
        let flow = vec![assignment(next, Expression::Number(edge.to as f64))];
        match &edge.guard {
            Some(Guard::When(guard)) => branches.push(Branch {
                guard: Some(guard.clone()),
                flow,
            }),
            _ => otherwise = edge,
        }
    }
    if branches.len() < edges.len() {
        let flow = vec![assignment(next, Expression::Number(otherwise.to as f64))];
        branches.push(Branch { guard: None, flow });
    } else if let Some(last) = branches.last_mut() {
        // The rules require that exactly one guard holds.
        last.guard = None;
    }
    Element {
        name: name.to_owned(),
        kind: ElementKind::Decision { branches },
    }
}

fn wrapped(name: &str, wrapper: &Wrapper, flow: Vec<Element>) -> Element {
    let kind = match wrapper.clone() {
        Wrapper::Parallel { threads } => ElementKind::Parallel { threads, flow },
        Wrapper::Critical { lock } => ElementKind::Critical { lock, flow },
        Wrapper::While { condition } => ElementKind::While { condition, flow },
        Wrapper::Loop {
            count, variable, ..
        } => ElementKind::Loop {
            count,
            variable,
            flow,
        },
        Wrapper::Plain => ElementKind::Loop {
            count: Expression::Number(1.0),
            variable: None,
            flow,
        },
    };
    Element {
        name: name.to_owned(),
        kind,
    }
}
