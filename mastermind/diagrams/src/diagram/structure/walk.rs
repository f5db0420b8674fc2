//! Along the edges of a graph, element by element.
//!
//! [`structured`] takes the graph of an activity, uses `rules` to check it and find its begin, and `loops` to find its
//! loops and the nodes where paths meet, and returns nested elements and the variables that they need. `Walk::sequence`
//! goes from a node to the node where its paths meet: a decision becomes branches, a fork a parallel region, a loop
//! with one exit at its begin a `while`, any other one a `while` over a variable that each exit sets to false. Elements
//! behind such an exit, within the loop, run only while the variable holds. A graph that has no such form is a finding
//! with its position, or goes to `dispatch`, which runs it node by node.
//!
//! ```text
//! while (true) is (yes)              again_1 = true
//!   :work {code = n = n + 1};        while again_1 {
//!   if (n >= 3) then (yes)               if true { } else { again_1 = false }
//!     break                              if again_1 {
//!   endif                                    n = n + 1; work
//!   :rest;                                   if n >= 3 { again_1 = false }
//! endwhile                                   if again_1 { rest }
//! :last;                                 }
//!                                    }
//!                                    last
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::loops::{Loops, NoLoops, SINK, WHOLE};
use super::rules::{self, Edges};
use super::{Manners, Structured, dispatch};
use crate::diagram::collect::{Collected, Subject};
use crate::diagram::graph::{Graph, Guard, NodeKind, Wrapper};
use crate::diagram::words::not;
use mastermind_programs::expression::{Assignment, Binary, Expression};
use mastermind_programs::{Branch, Element, ElementKind, Finding, Rule, Variable};

/// Most nodes of an activity.
const LARGEST: usize = 200_000;

/// Deepest nesting of decisions, loops, forks and groups.
const DEEPEST: usize = 64;

/// Names of the variables that decide about another round of a loop.
#[derive(Debug, Default)]
pub(super) struct Names {
    n: usize,
    depth: usize,
    /// Forks and regions around the current node.
    regions: usize,
    locals: Vec<Variable>,
}

impl Names {
    fn again(&mut self) -> String {
        self.variable("again", Expression::Truth(false))
    }

    /// A new variable, whose name begins with `begin`.
    pub(super) fn variable(&mut self, begin: &str, value: Expression) -> String {
        self.n += 1;
        let name = format!("{begin}_{}", self.n);
        self.locals.push(Variable {
            name: name.clone(),
            value,
        });
        name
    }
}

pub(super) fn structured(
    graph: &Graph,
    manners: Manners,
    place: &str,
    names: &mut Names,
    out: &mut Collected,
) -> Structured {
    let flow = flow(graph, manners, place, names, out).unwrap_or_default();
    let locals = if names.depth == 0 {
        std::mem::take(&mut names.locals)
    } else {
        Vec::new()
    };
    Structured { flow, locals }
}

fn flow(
    graph: &Graph,
    manners: Manners,
    place: &str,
    names: &mut Names,
    out: &mut Collected,
) -> Option<Vec<Element>> {
    let whole = Subject {
        element: place,
        at: place,
    };
    if graph.nodes.is_empty() {
        return Some(Vec::new());
    }
    if graph.nodes.len() > LARGEST {
        let reason = format!("{} nodes, expected at most {LARGEST}", graph.nodes.len());
        out.find(Rule::TooLarge, whole, reason);
        return None;
    }
    let edges = Edges::of(graph);
    let initial = rules::begin(graph, &edges, manners, place, out)?;
    let loops = match Loops::of(graph, &edges, initial) {
        Ok(loops) => loops,
        Err(NoLoops::Irreducible(node)) => {
            let node = &graph.nodes[node];
            let place = Subject {
                element: &node.name,
                at: &node.at,
            };
            if dispatch::fits(graph) {
                let reason = "a loop leads back to it that can also be entered elsewhere: it is run node by node";
                out.warn(Rule::Unstructured, place, reason);
                return Some(dispatch::flow(
                    graph,
                    &edges,
                    manners,
                    initial,
                    (names, out),
                ));
            }
            let reason =
                "a loop leads back to it that can also be entered elsewhere, expected one way in";
            out.find(Rule::Unstructured, place, reason);
            return None;
        }
        Err(NoLoops::TooMany) => {
            out.find(
                Rule::TooLarge,
                whole,
                "too many loops, expected at most 4000",
            );
            return None;
        }
    };
    if loops.depth() > DEEPEST {
        let reason = format!(
            "loops in loops {} deep, expected at most {DEEPEST}",
            loops.depth()
        );
        out.find(Rule::Unstructured, whole, reason);
        return None;
    }
    let mut walk = Walk {
        graph,
        edges: &edges,
        loops: &loops,
        meetings: BTreeMap::new(),
        again: BTreeMap::new(),
        manners,
        place,
        left: graph.nodes.len() * 8 + 1000,
        names,
        out,
        failed: false,
    };
    let way = walk.sequence(initial, SINK, WHOLE);
    if !walk.failed {
        return Some(way.flow);
    }
    // A graph that regions of threads cannot express can still run one node after the other.
    let is_fork = |finding: &Finding| finding.rule == Rule::ForkWithoutJoin;
    if !manners.leaves_out_nodes || !out.findings.last().is_some_and(is_fork) {
        return None;
    }
    let flow = dispatch::line_up(graph, &edges, manners, (names, out))?;
    out.findings.pop();
    let reason = "ways part and meet otherwise than in pairs of a fork and a join: what they lead over is done one after the other";
    out.warn(Rule::ForkWithoutJoin, whole, reason);
    Some(flow)
}

struct Walk<'a> {
    graph: &'a Graph,
    edges: &'a Edges,
    loops: &'a Loops,
    /// Nodes where paths meet, by region.
    meetings: BTreeMap<usize, Vec<(usize, usize)>>,
    /// The variable of each loop that needs one.
    again: BTreeMap<usize, String>,
    manners: Manners,
    place: &'a str,
    /// Remaining steps: nodes behind several exits are duplicated.
    left: usize,
    names: &'a mut Names,
    out: &'a mut Collected,
    failed: bool,
}

/// A part of the flow, and the loops that are left somewhere in it.
#[derive(Default)]
struct Way {
    flow: Vec<Element>,
    exits: BTreeSet<usize>,
}

impl Way {
    fn one(name: &str, kind: ElementKind) -> Self {
        let name = name.to_owned();
        Self {
            flow: vec![Element { name, kind }],
            exits: BTreeSet::new(),
        }
    }

    fn add(&mut self, other: Self) {
        self.flow.extend(other.flow);
        self.exits.extend(other.exits);
    }
}

impl Walk<'_> {
    fn fail(&mut self, rule: Rule, node: usize, reason: &str) {
        if !self.failed {
            let node = &self.graph.nodes[node];
            let place = Subject {
                element: &node.name,
                at: &node.at,
            };
            self.out.find(rule, place, reason);
        }
        self.failed = true;
    }

    fn meeting(&mut self, region: usize, node: usize) -> usize {
        let (graph, edges, loops) = (self.graph, self.edges, self.loops);
        let known = self
            .meetings
            .entry(region)
            .or_insert_with(|| loops.meetings(graph, edges, region));
        let found = known.binary_search_by_key(&node, |(node, _)| *node);
        found.map_or(SINK, |i| known[i].1)
    }

    /// The flow from a node of a region up to another one, which is not in it.
    fn sequence(&mut self, from: usize, until: usize, region: usize) -> Way {
        let mut way = Way::default();
        let mut node = from;
        self.names.depth += 1;
        while node != until && node != SINK && !self.failed {
            if self.left == 0 || self.names.depth > DEEPEST {
                let reason = if self.left == 0 {
                    "ways that part here meet nowhere and come to the same nodes too often; let them meet in a merge"
                } else {
                    "nested deeper than 64, expected at most so deep"
                };
                self.fail(Rule::Unstructured, node, reason);
                break;
            }
            self.left -= 1;
            let inner = self.loops.of[node];
            let (step, next) = if inner == region {
                self.step(node, region)
            } else {
                (self.round(inner), self.meeting(region, node))
            };
            let leaves = step.exits.contains(&region);
            way.add(step);
            node = next;
            if leaves {
                let rest = self.sequence(next, until, region);
                way.exits.extend(rest.exits);
                self.still(region, rest.flow, &mut way);
                break;
            }
        }
        self.names.depth -= 1;
        way
    }

    /// Adds elements that run only if no loop was left before.
    fn still(&mut self, region: usize, flow: Vec<Element>, way: &mut Way) {
        if flow.is_empty() {
            return;
        }
        let guard = self.again.get(&region).cloned().map(Expression::Name);
        let name = format!(
            "in {}",
            self.graph.nodes[self.loops.all[region].header].name
        );
        let branches = vec![
            Branch { guard, flow },
            Branch {
                guard: None,
                flow: Vec::new(),
            },
        ];
        way.add(Way::one(&name, ElementKind::Decision { branches }));
    }

    /// One node, and the one after it.
    fn step(&mut self, node: usize, region: usize) -> (Way, usize) {
        let graph = self.graph;
        let it = &graph.nodes[node];
        match &it.kind {
            NodeKind::Element(kind) => (Way::one(&it.name, kind.clone()), self.next(node, region)),
            NodeKind::Group(wrapper, inner) => {
                let way = self.group(&it.name, wrapper, inner);
                (way, self.next(node, region))
            }
            NodeKind::Decision { ordered } => self.decision(node, *ordered, region),
            NodeKind::Fork => self.fork(node, region),
            NodeKind::Join if self.edges.into[node].len() > 1 => {
                self.fail(
                    Rule::ForkWithoutJoin,
                    node,
                    "it joins ways that no fork before it parts",
                );
                (Way::default(), SINK)
            }
            NodeKind::Initial | NodeKind::Final | NodeKind::Merge | NodeKind::Join => {
                (Way::default(), self.next(node, region))
            }
        }
    }

    /// The node behind one with a single edge.
    fn next(&self, node: usize, region: usize) -> usize {
        let Some(edge) = self.edges.out[node].first() else {
            return SINK;
        };
        let to = self.graph.edges[*edge].to;
        let back = region != WHOLE && self.loops.all[region].header == to;
        if back { SINK } else { to }
    }

    fn group(&mut self, name: &str, wrapper: &Wrapper, inner: &Graph) -> Way {
        let place = format!("{}/{name}", self.place);
        let is_region = matches!(wrapper, Wrapper::Parallel { .. });
        let flow = if self.names.depth < DEEPEST {
            self.names.regions += usize::from(is_region);
            let flow = structured(inner, self.manners, &place, self.names, self.out).flow;
            self.names.regions -= usize::from(is_region);
            flow
        } else {
            let at = Subject {
                element: name,
                at: self.place,
            };
            self.out.find(
                Rule::Unstructured,
                at,
                "nested deeper than 64, expected at most so deep",
            );
            Vec::new()
        };
        let kind = match wrapper.clone() {
            Wrapper::Plain => {
                return Way {
                    flow,
                    exits: BTreeSet::new(),
                };
            }
            Wrapper::Parallel { threads } => ElementKind::Parallel { threads, flow },
            Wrapper::Critical { lock } => ElementKind::Critical { lock, flow },
            Wrapper::Loop {
                count,
                first,
                variable,
            } => self.counted(count, first, variable, flow),
            Wrapper::While { condition } => ElementKind::While { condition, flow },
        };
        Way::one(name, kind)
    }

    /// A loop whose variable begins elsewhere than at 0: ours counts from there.
    fn counted(
        &mut self,
        count: Expression,
        first: Expression,
        variable: Option<String>,
        flow: Vec<Element>,
    ) -> ElementKind {
        let (Some(name), true) = (&variable, first != Expression::Number(0.0)) else {
            return ElementKind::Loop {
                count,
                variable,
                flow,
            };
        };
        self.names.n += 1;
        let round = format!("round_{}", self.names.n);
        let is_new = self.names.locals.iter().all(|known| known.name != *name);
        if is_new {
            let (name, value) = (name.clone(), Expression::Number(0.0));
            self.names.locals.push(Variable { name, value });
        }
        let from = Box::new(first);
        let value =
            Expression::Binary(Binary::Add, from, Box::new(Expression::Name(round.clone())));
        let mut all = assign(name, value).flow;
        all.extend(flow);
        ElementKind::Loop {
            count,
            variable: Some(round),
            flow: all,
        }
    }

    /// The elements behind an edge, up to the node where paths meet.
    fn branch(&mut self, to: usize, meet: usize, region: usize) -> Way {
        if region != WHOLE && to == self.loops.all[region].header {
            Way::default()
        } else if self.loops.has(region, to) {
            self.sequence(to, meet, region)
        } else {
            self.leave(to, region)
        }
    }

    /// Leaves a loop to a node, and continues to where the flow continues behind the loop.
    fn leave(&mut self, to: usize, region: usize) -> Way {
        let Some(again) = self.again.get(&region).cloned() else {
            let header = self.loops.all[region].header;
            self.fail(
                Rule::Unstructured,
                header,
                "the loop is left in a way that none of ours is",
            );
            return Way::default();
        };
        let mut way = assign(&again, Expression::Truth(false));
        way.exits.insert(region);
        let one = &self.loops.all[region];
        let (parent, header) = (one.parent, one.header);
        let goes_on = parent != WHOLE && to == self.loops.all[parent].header;
        if goes_on {
            return way;
        }
        let rest = if self.loops.has(parent, to) {
            let follow = self.meeting(parent, header);
            self.sequence(to, follow, parent)
        } else {
            self.leave(to, parent)
        };
        way.add(rest);
        way
    }

    fn decision(&mut self, node: usize, ordered: bool, region: usize) -> (Way, usize) {
        let (graph, edges) = (self.graph, self.edges);
        let meet = self.meeting(region, node);
        let mut way = Way::default();
        let mut branches = Vec::new();
        let mut otherwise = None;
        for edge in &edges.out[node] {
            let edge = &graph.edges[*edge];
            let branch = self.branch(edge.to, meet, region);
            way.exits.extend(branch.exits);
            let flow = branch.flow;
            match &edge.guard {
                Some(Guard::When(guard)) => branches.push(Branch {
                    guard: Some(guard.clone()),
                    flow,
                }),
                _ => otherwise = Some(flow),
            }
        }
        if let Some(flow) = otherwise {
            branches.push(Branch { guard: None, flow });
        } else if !ordered && let Some(last) = branches.last_mut() {
            // The rules require that exactly one guard holds: the last one need not be evaluated.
            last.guard = last.guard.take().filter(|_| edges.out[node].len() == 1);
        }
        let name = &graph.nodes[node].name;
        match branches.as_mut_slice() {
            [Branch { guard: None, flow }] => way.flow = std::mem::take(flow),
            all if all.iter().all(|branch| branch.flow.is_empty()) => {}
            _ => way.add(Way::one(name, ElementKind::Decision { branches })),
        }
        (way, meet)
    }

    fn fork(&mut self, node: usize, region: usize) -> (Way, usize) {
        let (graph, edges) = (self.graph, self.edges);
        let meet = self.meeting(region, node);
        let is_join = meet != SINK && graph.nodes[meet].kind == NodeKind::Join;
        let n = edges.out[node].len();
        if !is_join && n > 1 && !(meet == SINK && region == WHOLE) {
            self.fail(
                Rule::ForkWithoutJoin,
                node,
                "the ways that it parts meet in no join",
            );
            return (Way::default(), SINK);
        }
        let mut branches = Vec::new();
        let is_inner = n > 1 && self.names.regions > 0;
        self.names.regions += usize::from(n > 1);
        for (i, edge) in edges.out[node].iter().enumerate() {
            let way = self.branch(graph.edges[*edge].to, meet, region);
            if !way.exits.is_empty() {
                self.fail(
                    Rule::ForkWithoutJoin,
                    node,
                    "one of the ways that it parts leaves a loop",
                );
            }
            let thread = Expression::Name("thread".into());
            let index = Expression::Number(i as f64);
            let guard = Expression::Binary(Binary::Equal, Box::new(thread), Box::new(index));
            branches.push(Branch {
                guard: (i + 1 < n).then_some(guard),
                flow: way.flow,
            });
        }
        self.names.regions -= usize::from(n > 1);
        let next = if is_join && n > 1 {
            self.next(meet, region)
        } else {
            meet
        };
        let name = &graph.nodes[node].name;
        if is_inner {
            let at = &graph.nodes[node].at;
            let reason = "a fork on the way of another one: a thread has no threads of its own, its ways are taken one after the other";
            self.out
                .warn(Rule::Ignored, Subject { element: name, at }, reason);
            let flow = branches
                .into_iter()
                .flat_map(|branch| branch.flow)
                .collect();
            let exits = BTreeSet::new();
            return (Way { flow, exits }, next);
        }
        if let [only] = branches.as_mut_slice() {
            let flow = std::mem::take(&mut only.flow);
            let exits = BTreeSet::new();
            return (Way { flow, exits }, next);
        }
        let threads = Expression::Number(n as f64);
        let flow = Way::one("branch", ElementKind::Decision { branches }).flow;
        (
            Way::one(name, ElementKind::Parallel { threads, flow }),
            next,
        )
    }

    /// A loop.
    fn round(&mut self, region: usize) -> Way {
        let header = self.loops.all[region].header;
        let name = self.graph.nodes[header].name.clone();
        if let Some((condition, to, decision)) = self.test_first(region) {
            let body = self.branch(to, SINK, region);
            let name = &self.graph.nodes[decision].name;
            let flow = body.flow;
            let mut way = Way::one(name, ElementKind::While { condition, flow });
            way.exits = body.exits;
            return way;
        }
        let again = self.names.again();
        self.again.insert(region, again.clone());
        let body = self.sequence(header, SINK, region);
        let mut way = assign(&again, Expression::Truth(true));
        way.add(Way::one(
            &name,
            ElementKind::While {
                condition: Expression::Name(again),
                flow: body.flow,
            },
        ));
        way.exits = body.exits;
        way.exits.remove(&region);
        way
    }

    /// For a loop whose only exit is at its begin: the condition to continue, the next node, and
    /// the decision that has it.
    fn test_first(&self, region: usize) -> Option<(Expression, usize, usize)> {
        let one = &self.loops.all[region];
        let leaving = one.body.iter().flat_map(|node| {
            let out = self.edges.out[*node].iter();
            out.map(|e| &self.graph.edges[*e])
        });
        let mut leaving = leaving.filter(|edge| !self.loops.has(region, edge.to));
        let (exit, None) = (leaving.next()?, leaving.next()) else {
            return None;
        };
        let mut node = one.header;
        let mut steps = 0;
        while self.graph.nodes[node].kind == NodeKind::Merge && steps < one.body.len() {
            node = self.next(node, region);
            if node == SINK || self.loops.of[node] != region {
                return None;
            }
            steps += 1;
        }
        let NodeKind::Decision { .. } = self.graph.nodes[node].kind else {
            return None;
        };
        let [a, b] = self.edges.out[node][..] else {
            return None;
        };
        if exit.from != node || !self.loops.has(one.parent, exit.to) {
            return None;
        }
        let (a, b) = (&self.graph.edges[a], &self.graph.edges[b]);
        let stay = if std::ptr::eq(a, exit) { b } else { a };
        let condition = match (&stay.guard, &exit.guard) {
            (Some(Guard::When(stay)), Some(Guard::Otherwise) | None) => stay.clone(),
            (Some(Guard::Otherwise) | None, Some(Guard::When(exit))) => not(exit.clone()),
            _ => return None,
        };
        Some((condition, stay.to, node))
    }
}

fn assign(name: &str, value: Expression) -> Way {
    Way {
        flow: vec![assignment(name, value)],
        exits: BTreeSet::new(),
    }
}

/// An element without time that gives a variable a value.
pub(super) fn assignment(name: &str, value: Expression) -> Element {
    let code = vec![Assignment {
        name: name.to_owned(),
        value,
    }];
    Element {
        name: name.to_owned(),
        kind: ElementKind::Action { cost: None, code },
    }
}
