//! A graph under construction: loose ends that the next node is tied to.

use std::collections::BTreeMap;

use crate::diagram::{Annotation, Collected, Graph, Guard, Node, NodeKind, Part, Subject, Wrapper};
use mastermind_programs::{ElementKind, Rule};

/// A loose end: an edge without a target yet.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    pub(super) from: usize,
    pub(super) guard: Option<Guard>,
}

/// A graph and its loose ends.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) graph: Graph,
    pub(super) tails: Vec<Tail>,
    /// The node that a note belongs to.
    pub(super) last: Option<usize>,
    /// Annotations of nodes so far.
    pub(super) annotations: BTreeMap<usize, Annotation>,
    labels: BTreeMap<String, usize>,
}

impl Flow {
    /// Adds a node that the loose ends lead to; it is the only loose end then.
    pub(super) fn then(&mut self, name: &str, at: &str, kind: NodeKind) -> usize {
        let needs_merge = !matches!(kind, NodeKind::Merge | NodeKind::Decision { .. });
        if kind != NodeKind::Initial {
            self.begin(at);
        }
        if needs_merge && self.tails.len() > 1 {
            self.merge(at);
        }
        let node = self.graph.node(name, at.to_owned(), kind);
        self.tie(node);
        self.tails = vec![Tail {
            from: node,
            guard: None,
        }];
        node
    }

    /// Without a `start` the first node begins.
    fn begin(&mut self, at: &str) {
        if self.graph.nodes.is_empty() {
            let from = self.graph.node("start", at.to_owned(), NodeKind::Initial);
            self.tails.push(Tail { from, guard: None });
        }
    }

    /// Ties the loose ends to a node.
    pub(super) fn tie(&mut self, node: usize) {
        for tail in std::mem::take(&mut self.tails) {
            self.graph.guarded(tail.from, node, tail.guard);
        }
    }

    /// Makes one loose end of several.
    pub(super) fn merge(&mut self, at: &str) {
        if self.tails.len() > 1 {
            let node = self.graph.node("merge", at.to_owned(), NodeKind::Merge);
            self.tie(node);
            self.tails = vec![Tail {
                from: node,
                guard: None,
            }];
        }
    }

    /// Lets the loose ends end.
    pub(super) fn end(&mut self, at: &str) {
        self.begin(at);
        if !self.tails.is_empty() {
            let node = self.graph.node("end", at.to_owned(), NodeKind::Final);
            self.tie(node);
        }
    }

    /// The node of a label or connector.
    pub(super) fn label(&mut self, name: &str, at: &str) -> usize {
        if let Some(node) = self.labels.get(name) {
            return *node;
        }
        let node = self.graph.node(name, at.to_owned(), NodeKind::Merge);
        self.labels.insert(name.to_owned(), node);
        node
    }

    /// Applies each node's annotation.
    pub(super) fn finish(mut self, out: &mut Collected) -> Graph {
        for (node, annotation) in std::mem::take(&mut self.annotations) {
            let node = &mut self.graph.nodes[node];
            annotate(node, annotation, out);
        }
        self.graph
    }
}

/// Applies an annotation to a node.
fn annotate(node: &mut Node, annotation: Annotation, out: &mut Collected) {
    let place = Subject {
        element: &node.name,
        at: &node.at,
    };
    if !matches!(node.kind, NodeKind::Element(_)) {
        if !annotation.is_empty() {
            out.find(
                Rule::Annotation,
                place,
                "it is no action, expected words at actions alone",
            );
        }
        return;
    }
    if annotation.is_empty() {
        out.warn(
            Rule::NoCost,
            place,
            "nothing says what it costs: no time is taken",
        );
    }
    match annotation.part(&node.name, "action", place, out) {
        Part::Element(kind) => node.kind = NodeKind::Element(kind),
        Part::Wrapper(_) => {
            out.find(
                Rule::Annotation,
                place,
                "it holds no flow, expected a partition of that stereotype",
            );
        }
    }
}

/// An action whose type is not known yet.
pub(super) fn blank() -> NodeKind {
    NodeKind::Element(ElementKind::Action {
        cost: None,
        code: Vec::new(),
    })
}

/// How a partition's flow runs, by its stereotype.
pub(super) fn wrapper(
    annotation: Annotation,
    name: &str,
    at: &str,
    out: &mut Collected,
) -> Wrapper {
    let place = Subject { element: name, at };
    if annotation.is_empty() {
        return Wrapper::Plain;
    }
    match annotation.part(name, "action", place, out) {
        Part::Wrapper(wrapper) => wrapper,
        Part::Element(_) => {
            let reason =
                "it holds a flow, expected «parallel», «critical», «loop», «while» or none";
            out.find(Rule::Annotation, place, reason);
            Wrapper::Plain
        }
    }
}
