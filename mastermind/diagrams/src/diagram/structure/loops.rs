//! Loops of a graph, and the nodes where the paths from a node meet again.
//!
//! A diagram is a graph, a program consists of loops and branches. This file finds the two facts by
//! which `walk` turns the one into the other: which nodes form a loop, and where the branches of a
//! decision or fork end. Both are questions of dominators (a node dominates another if all paths to
//! it lead through the node). An edge back to a dominator closes a natural loop. With all edges
//! reversed, the immediate dominator of a node is the first node that all paths from it lead
//! through: there its branches meet.
//!
//! ```text
//!  start ─▶ A ─▶ B? ─▶ C          loop: header A, body {A, B, C}, closed by the edge C ─▶ A
//!           ▲    │     │          meetings in the whole graph: A ─▶ D (the loop counts as its header),
//!           └────┼─────┘                                       D ─▶ the end
//!                ▼                meetings in the loop: B ─▶ C, C ─▶ the end of a round
//!                D ─▶ stop
//! ```
//!
//! A region is the whole graph or the body of a loop. With inner loops as their headers, and edges
//! back to the own header leading to [`SINK`], every region is acyclic. Nothing here makes elements
//! of a program.

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use super::rules::Edges;
use crate::diagram::graph::Graph;

/// The whole graph, as a region: it is in no loop.
pub(super) const WHOLE: usize = usize::MAX;

/// A natural loop: its header, and the nodes from which the header is reached again without leaving
/// the loop.
pub(super) struct Loop {
    pub(super) header: usize,
    /// The enclosing loop, or [`WHOLE`].
    pub(super) parent: usize,
    /// Its nodes, including those of inner loops, ascending.
    pub(super) body: Vec<usize>,
}

/// The loops of a graph, inner ones in front of those around them, and the innermost loop of each
/// node.
pub(super) struct Loops {
    pub(super) all: Vec<Loop>,
    /// The innermost loop of each node, or [`WHOLE`].
    pub(super) of: Vec<usize>,
}

/// Reason why loops cannot be found.
pub(super) enum NoLoops {
    /// An edge goes back to this node, but not all paths to the edge lead through the node.
    Irreducible(usize),
    /// There are too many, or they are nested too deeply.
    TooMany,
}

/// Most loops of an activity.
const MAX_LOOPS: usize = 4000;

/// Maximum number of nodes of all loops together.
const LARGEST: usize = 4_000_000;

/// The sink of every region: the end of its paths.
pub(super) const SINK: usize = usize::MAX;

impl Loops {
    pub(super) fn of(graph: &Graph, edges: &Edges, initial: usize) -> Result<Self, NoLoops> {
        let dominators = dominators(graph.nodes.len(), initial, |node| {
            edges.out[node].iter().map(|e| graph.edges[*e].to).collect()
        });
        let mut latches: Vec<(usize, usize)> = Vec::new();
        for (from, to) in retreating(graph, edges, initial) {
            let mut above = dominators
                .dominators(NodeIndex::new(from))
                .into_iter()
                .flatten();
            if !above.any(|node| node.index() == to) {
                // Some path enters this loop behind its header, so it is no natural loop.
                return Err(NoLoops::Irreducible(to));
            }
            latches.push((to, from));
        }
        latches.sort_unstable();
        let mut all: Vec<Loop> = Vec::new();
        let mut nodes = 0;
        for group in latches.chunk_by(|a, b| a.0 == b.0) {
            let header = group[0].0;
            let body = body(graph, edges, header, group.iter().map(|latch| latch.1));
            let parent = WHOLE;
            nodes += body.len();
            all.push(Loop {
                header,
                parent,
                body,
            });
            if all.len() > MAX_LOOPS || nodes > LARGEST {
                return Err(NoLoops::TooMany);
            }
        }
        // Inner loops first: a loop is in the smallest one that has its header.
        all.sort_by_key(|one| one.body.len());
        for i in 0..all.len() {
            let inside = |j: &usize| all[*j].body.binary_search(&all[i].header).is_ok();
            all[i].parent = (i + 1..all.len()).find(inside).unwrap_or(WHOLE);
        }
        let mut of = vec![WHOLE; graph.nodes.len()];
        for (i, one) in all.iter().enumerate() {
            for node in &one.body {
                if of[*node] == WHOLE {
                    of[*node] = i;
                }
            }
        }
        Ok(Self { all, of })
    }

    /// Whether a node is in a region.
    pub(super) fn has(&self, region: usize, node: usize) -> bool {
        region == WHOLE || self.all[region].body.binary_search(&node).is_ok()
    }

    /// Deepest nesting of loops.
    pub(super) fn depth(&self) -> usize {
        let depth = |mut region: usize| {
            let mut depth = 0;
            while region != WHOLE {
                (depth, region) = (depth + 1, self.all[region].parent);
            }
            depth
        };
        (0..self.all.len()).map(depth).max().unwrap_or(0)
    }

    /// The node where the paths from each node of a region meet: [`SINK`] for its end. A loop in it
    /// counts as its header.
    pub(super) fn meetings(
        &self,
        graph: &Graph,
        edges: &Edges,
        region: usize,
    ) -> Vec<(usize, usize)> {
        let members: Vec<usize> = match region {
            WHOLE => (0..graph.nodes.len()).collect(),
            _ => self.all[region].body.clone(),
        };
        let members: Vec<usize> = members
            .into_iter()
            .filter(|node| self.stands_in(region, *node))
            .collect();
        let place = |node: usize| members.binary_search(&node).ok();
        let sink = members.len();
        // Reversed: a node's dominators there are the nodes that all its paths lead through here.
        let mut reversed = DiGraph::<(), ()>::with_capacity(members.len() + 1, members.len());
        for _ in 0..=sink {
            reversed.add_node(());
        }
        for (i, node) in members.iter().enumerate() {
            for target in self.targets(graph, edges, region, *node) {
                let to = if target == SINK {
                    Some(sink)
                } else {
                    place(target)
                };
                if let Some(to) = to {
                    reversed.add_edge(NodeIndex::new(to), NodeIndex::new(i), ());
                }
            }
        }
        let found = simple_fast(&reversed, NodeIndex::new(sink));
        let meeting = |i: usize| {
            let next = found.immediate_dominator(NodeIndex::new(i))?.index();
            Some((members[i], if next == sink { SINK } else { members[next] }))
        };
        (0..sink).filter_map(meeting).collect()
    }

    /// Whether a node is one of a region's own: no loop in it has it, unless as the header.
    fn stands_in(&self, region: usize, node: usize) -> bool {
        let of = self.of[node];
        of == region || (of != WHOLE && self.all[of].header == node && self.stands_at(region, of))
    }

    fn stands_at(&self, region: usize, inner: usize) -> bool {
        self.all[inner].parent == region
    }

    /// Where the edges of a node lead in a region, those out of the region left out.
    fn targets(&self, graph: &Graph, edges: &Edges, region: usize, node: usize) -> Vec<usize> {
        let inner = self.of[node];
        // An inner loop counts as one node, which its exits leave.
        let leaving: Vec<usize> = if inner == region {
            edges.out[node].iter().map(|e| graph.edges[*e].to).collect()
        } else {
            let body = &self.all[inner].body;
            let out = body.iter().flat_map(|node| &edges.out[*node]);
            let targets = out.map(|e| graph.edges[*e].to);
            targets
                .filter(|to| body.binary_search(to).is_err())
                .collect()
        };
        if edges.out[node].is_empty() {
            return vec![SINK];
        }
        // Back to the own header: the round ends, as the flow does at its end.
        let header = (region != WHOLE).then(|| self.all[region].header);
        leaving
            .into_iter()
            .filter(|to| self.has(region, *to))
            .map(|to| if Some(to) == header { SINK } else { to })
            .collect()
    }
}

fn dominators(
    n: usize,
    root: usize,
    targets: impl Fn(usize) -> Vec<usize>,
) -> Dominators<NodeIndex> {
    let mut graph = DiGraph::<(), ()>::with_capacity(n, n);
    for _ in 0..n {
        graph.add_node(());
    }
    for node in 0..n {
        for to in targets(node) {
            graph.add_edge(NodeIndex::new(node), NodeIndex::new(to), ());
        }
    }
    simple_fast(&graph, NodeIndex::new(root))
}

/// Edges to a node on the current depth-first path from the initial one.
fn retreating(graph: &Graph, edges: &Edges, initial: usize) -> Vec<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; graph.nodes.len()];
    let mut found = Vec::new();
    let mut way = vec![(initial, 0)];
    state[initial] = State::Open;
    while let Some((node, next)) = way.last_mut() {
        let Some(edge) = edges.out[*node].get(*next) else {
            state[*node] = State::Done;
            way.pop();
            continue;
        };
        *next += 1;
        let (from, to) = (*node, graph.edges[*edge].to);
        match state[to] {
            State::New => {
                state[to] = State::Open;
                way.push((to, 0));
            }
            State::Open => found.push((from, to)),
            State::Done => {}
        }
    }
    found
}

/// Nodes on a path from the header to one of its latches.
fn body(
    graph: &Graph,
    edges: &Edges,
    header: usize,
    latches: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let mut body = std::collections::BTreeSet::from([header]);
    let mut left: Vec<usize> = latches.collect();
    while let Some(node) = left.pop() {
        // Backwards from the latches; the header, which is in already, ends every path.
        if body.insert(node) {
            left.extend(edges.into[node].iter().map(|e| graph.edges[*e].from));
        }
    }
    body.into_iter().collect()
}
