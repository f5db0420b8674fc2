//! An activity as nodes and edges.

use mastermind_programs::ElementKind;
use mastermind_programs::expression::Expression;

/// The nodes and edges of an activity, or of a group in one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Where the file has it.
    pub(crate) at: String,
    pub(crate) kind: NodeKind,
}

/// Type of a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeKind {
    Initial,
    /// The end of the activity, or of one path through it.
    Final,
    Element(ElementKind),
    /// A flow of its own, run by its wrapper.
    Group(Wrapper, Graph),
    /// `ordered`: the first guard that holds is taken; else exactly one may hold.
    Decision {
        ordered: bool,
    },
    Merge,
    Fork,
    Join,
}

/// How a group's flow is run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wrapper {
    /// Once.
    Plain,
    Parallel {
        threads: Expression,
    },
    Critical {
        lock: String,
    },
    /// `first`: initial value of the variable.
    Loop {
        count: Expression,
        first: Expression,
        variable: Option<String>,
    },
    While {
        condition: Expression,
    },
}

/// An edge between two nodes, by their index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) guard: Option<Guard>,
}

/// When an edge that leaves a decision is taken.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Guard {
    When(Expression),
    /// The condition, and a probability for the case that the condition names values that the file
    /// does not define.
    WhenOrShare(Expression, f64),
    /// If no other is.
    Otherwise,
    /// If no other is, with this probability.
    OtherwiseShare(f64),
    /// If a condition in prose holds; with probability `share`, if its label gives one. Once a graph is
    /// [settled](super::settle), it has neither these nor shares.
    Prose {
        text: String,
        share: Option<f64>,
    },
}

impl Graph {
    /// Adds a node and gives its index.
    pub(crate) fn node(&mut self, name: &str, at: String, kind: NodeKind) -> usize {
        let name = name.to_owned();
        self.nodes.push(Node { name, at, kind });
        self.nodes.len() - 1
    }

    /// Adds an edge without a guard.
    pub(crate) fn edge(&mut self, from: usize, to: usize) {
        self.guarded(from, to, None);
    }

    /// Adds an edge.
    pub(crate) fn guarded(&mut self, from: usize, to: usize, guard: Option<Guard>) {
        self.edges.push(Edge { from, to, guard });
    }
}
