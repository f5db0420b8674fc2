//! Gaps in diagrams drawn for people: conditions in prose, several beginnings, unreachable nodes.
//!
//! A condition that is no expression gets a probability: the share in its label (`yes, 30 %`, MARTE's `prob`), else an
//! equal part of the rest. Each is a warning, so that nobody mistakes such a model for a calculated one.

use super::collect::{Collected, Subject};
use super::graph::{Edge, Graph, Guard, NodeKind, Wrapper};
use super::structure::Manners;
use super::{endless, implicit};
use mastermind_programs::expression::{Argument, Builtin, Expression};
use mastermind_programs::{CHANCE, ElementKind, Rule, System};

/// Changes a graph so that a flow can be found in it, and warns of assumptions.
///
/// # Arguments
/// * `manners` - how the form of the file is read
/// * `declares` - whether the file declares variables or functions: then a name in a condition that it does not know
///   is a mistake and no prose
pub(crate) fn settle(graph: &mut Graph, manners: Manners, declares: bool, out: &mut Collected) {
    for node in &mut graph.nodes {
        if let NodeKind::Group(_, inner) = &mut node.kind {
            settle(inner, manners, declares, out);
        }
    }
    begin_once(graph, manners, out);
    drop_unreachable(graph, out);
    if manners.leaves_out_nodes {
        implicit::complete(graph, !manners.parts_by_decision, out);
    }
    endless::end_loops(graph, out);
    for node in 0..graph.nodes.len() {
        if matches!(graph.nodes[node].kind, NodeKind::Decision { .. }) {
            decide(graph, node, declares, out);
        }
    }
}

/// Whether a graph assigns variables, or counts with them.
pub(crate) fn declares(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| match &node.kind {
        NodeKind::Element(ElementKind::Action { code, .. }) => !code.is_empty(),
        NodeKind::Group(wrapper, inner) => {
            matches!(
                wrapper,
                Wrapper::Loop {
                    variable: Some(_),
                    ..
                }
            ) || declares(inner)
        }
        _ => false,
    })
}

/// The share in a label: `yes, 30 %`, `[30%]`.
pub(crate) fn share_of(label: &str) -> Option<f64> {
    let before = label.split('%').next().filter(|_| label.contains('%'))?;
    let digits = before
        .trim_end()
        .rsplit(|c: char| !(c.is_ascii_digit() || c == '.'))
        .next()?;
    let percent: f64 = digits.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// UML: an activity with several initial nodes begins at all of them at once; one without any, wherever no edge leads to.
fn begin_once(graph: &mut Graph, manners: Manners, out: &mut Collected) {
    let is_initial = |i: &usize| graph.nodes[*i].kind == NodeKind::Initial;
    let mut initial: Vec<usize> = (0..graph.nodes.len()).filter(is_initial).collect();
    if initial.is_empty() && manners.leaves_out_nodes {
        let mut is_led_to = vec![false; graph.nodes.len()];
        for edge in &graph.edges {
            is_led_to[edge.to] = true;
        }
        let begins: Vec<usize> = (0..is_led_to.len())
            .filter(|node| !is_led_to[*node])
            .collect();
        if let [one] = begins[..] {
            let node = &graph.nodes[one];
            let place = Subject {
                element: &node.name,
                at: &node.at,
            };
            let reason = "the activity has no initial node and begins here, where no edge leads to";
            out.warn(Rule::InitialNode, place, reason);
        }
        for node in begins {
            let (name, at) = (graph.nodes[node].name.clone(), graph.nodes[node].at.clone());
            initial.push(graph.node(&name, at, NodeKind::Initial));
            graph.edge(graph.nodes.len() - 1, node);
        }
    }
    let first = match initial[..] {
        [first, _, ..] => first,
        _ => return,
    };
    let at = graph.nodes[first].at.clone();
    let place = Subject {
        element: &graph.nodes[first].name,
        at: &at,
    };
    let n = initial.len();
    let (kind, reason) = if manners.parts_by_decision && manners.leaves_out_nodes {
        let reason = format!(
            "{n} initial nodes whose ways no join brings together: one of them is taken, where UML begins at all"
        );
        (NodeKind::Decision { ordered: true }, reason)
    } else {
        let reason = format!("{n} initial nodes: the activity begins at all of them at once");
        (NodeKind::Fork, reason)
    };
    out.warn(Rule::InitialNode, place, reason);
    for node in &initial {
        graph.nodes[*node].kind = NodeKind::Merge;
    }
    let begin = graph.node("begin", at.clone(), NodeKind::Initial);
    let fork = graph.node("begin", at, kind);
    graph.edge(begin, fork);
    for node in initial {
        graph.edge(fork, node);
    }
}

/// Removes nodes that cannot be reached from the initial node, such as those behind `detach`.
fn drop_unreachable(graph: &mut Graph, out: &mut Collected) {
    let is_initial = |i: &usize| graph.nodes[*i].kind == NodeKind::Initial;
    let Some(initial) = (0..graph.nodes.len()).find(is_initial) else {
        return;
    };
    let mut leaves = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        leaves[edge.from].push(edge.to);
    }
    let mut reached = vec![false; graph.nodes.len()];
    let mut open = vec![initial];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node], true) {
            open.extend(&leaves[node]);
        }
    }
    if reached.iter().all(|reached| *reached) {
        return;
    }
    let mut places = vec![0; graph.nodes.len()];
    let mut kept = Vec::new();
    for (i, node) in std::mem::take(&mut graph.nodes).into_iter().enumerate() {
        places[i] = kept.len();
        if reached[i] {
            kept.push(node);
        } else if matches!(node.kind, NodeKind::Element(_) | NodeKind::Group(..)) {
            let place = Subject {
                element: &node.name,
                at: &node.at,
            };
            let reason = "no way leads to it from the initial node: it is left out";
            out.warn(Rule::UnreachableElement, place, reason);
        }
    }
    graph.nodes = kept;
    graph.edges.retain(|edge| reached[edge.from]);
    for edge in &mut graph.edges {
        (edge.from, edge.to) = (places[edge.from], places[edge.to]);
    }
}

/// Assigns probabilities to the outgoing edges of a decision whose guards are prose.
fn decide(graph: &mut Graph, node: usize, declares: bool, out: &mut Collected) {
    let of_node = |edge: &Edge| edge.from == node;
    let edges: Vec<usize> = (0..graph.edges.len())
        .filter(|i| of_node(&graph.edges[*i]))
        .collect();
    say_nothing(graph, &edges, declares);
    let mut prose: Vec<(usize, String, Option<f64>)> = Vec::new();
    let (mut n_otherwise, mut n_given, mut given) = (0, 0, 0.0);
    for edge in &edges {
        match &graph.edges[*edge].guard {
            Some(Guard::Prose { text, share }) => prose.push((*edge, text.clone(), *share)),
            Some(Guard::When(condition)) if !declares && names_unknown(condition) => {
                prose.push((*edge, condition.to_string(), None));
            }
            Some(Guard::WhenOrShare(condition, share)) => {
                let (condition, share) = (condition.clone(), *share);
                if !declares && names_unknown(&condition) {
                    prose.push((*edge, condition.to_string(), Some(share)));
                } else {
                    graph.edges[*edge].guard = Some(Guard::When(condition));
                }
            }
            Some(Guard::When(_)) => {}
            Some(Guard::OtherwiseShare(share)) => {
                given += share;
                n_otherwise += 1;
                n_given += 1;
                graph.edges[*edge].guard = Some(Guard::Otherwise);
            }
            Some(Guard::Otherwise) | None => n_otherwise += 1,
        }
    }
    if prose.is_empty() {
        return;
    }
    given += prose.iter().filter_map(|(.., share)| *share).sum::<f64>();
    let open = prose.iter().filter(|(.., share)| share.is_none()).count() + n_otherwise - n_given;
    let each = (1.0 - given).max(0.0) / open.max(1) as f64;
    let all_prose = prose.len() + n_otherwise == edges.len();
    let n = prose.len();
    let mut left = 1.0_f64;
    for (i, (edge, text, share)) in prose.into_iter().enumerate() {
        let share = share.unwrap_or(each);
        // The probability given that the earlier conditions did not hold.
        let probability = if left > 0.0 {
            (share / left).min(1.0)
        } else {
            0.0
        };
        left -= share;
        let is_last = i + 1 == n && n_otherwise == 0 && all_prose;
        graph.edges[edge].guard = Some(if is_last {
            Guard::Otherwise
        } else {
            let arguments = vec![Expression::Number(probability)];
            Guard::When(Expression::Call(CHANCE.to_owned(), arguments))
        });
        let at = &graph.nodes[node].at;
        let element = if text.is_empty() {
            &graph.nodes[node].name
        } else {
            &text
        };
        let reason = format!(
            "no condition that can be evaluated: taken with probability {share:.3}, by all processes alike; \
             write an expression, or a share as in \"yes, 30 %\""
        );
        out.warn(Rule::Prose, Subject { element, at }, reason);
    }
}

/// Several edges without a guard, and none with a condition, are alternatives without further information.
fn say_nothing(graph: &mut Graph, edges: &[usize], declares: bool) {
    let guard = |edge: &usize| graph.edges[*edge].guard.as_ref();
    let n_bare = edges.iter().filter(|edge| guard(edge).is_none()).count();
    let has_condition = edges.iter().any(|edge| match guard(edge) {
        Some(Guard::When(condition)) => declares || !names_unknown(condition),
        Some(Guard::Otherwise) => true,
        _ => false,
    });
    if n_bare < 2 || has_condition {
        return;
    }
    for edge in edges {
        let (text, share) = (String::new(), None);
        let guard = &mut graph.edges[*edge].guard;
        guard.get_or_insert(Guard::Prose { text, share });
    }
}

/// Whether a condition has a name that no model defines by itself.
fn names_unknown(condition: &Expression) -> bool {
    let all = |parts: &[Expression]| parts.iter().any(names_unknown);
    match condition {
        Expression::Number(_) | Expression::Truth(_) => false,
        Expression::Name(name) => !System::knows(name),
        Expression::Unary(_, x) => names_unknown(x),
        Expression::Binary(_, a, b) => names_unknown(a) || names_unknown(b),
        Expression::Choice(parts) => all(&parts[..]),
        Expression::Call(name, arguments) => {
            (name != CHANCE && Builtin::named(name).is_none()) || all(arguments)
        }
        Expression::Fitted(_, arguments) => arguments.iter().any(|(_, argument)| match argument {
            Argument::Value(value) => names_unknown(value),
            Argument::Label(_) => false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::share_of;

    #[test]
    fn a_label_may_say_a_share() {
        for (label, share) in [
            ("yes, 30 %", Some(0.3)),
            ("[12.5%]", Some(0.125)),
            ("yes", None),
            ("30", None),
            ("%", None),
            ("120 %", None),
        ] {
            assert_eq!(share_of(label), share, "{label}");
        }
    }
}
