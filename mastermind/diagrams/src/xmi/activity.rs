//! An activity's nodes and edges.
//!
//! `Reader::activity` takes the element of an activity and returns its graph; groups in it are graphs of their own
//! (`Reader::container`). An edge must lead from a node to a node of the same activity or group; else it is a finding
//! with its line. A flow of objects orders two actions only if no other edge leads to the second; buffers and
//! parameters order nothing. The words of notes and stereotypes come from `annotations`, an element's type, identifier
//! and line from `document`; `diagram/structure` makes a flow of the graph.
//!
//! ```text
//! <node xmi:type="uml:InitialNode" xmi:id="i"/>
//! <node xmi:type="uml:OpaqueAction" xmi:id="s" name="sort">
//!     <outputValue xmi:type="uml:OutputPin" xmi:id="p"/></node>           i ──► sort ──► write
//! <node xmi:type="uml:OpaqueAction" xmi:id="w" name="write">
//!     <inputValue xmi:type="uml:InputPin" xmi:id="q"/></node>
//! <edge xmi:type="uml:ControlFlow" source="i" target="s"/>
//! <edge xmi:type="uml:ObjectFlow" xmi:id="o" source="p" target="q"/>
//!
//! with target="z"     dangling-edge: "o" of "line 8": its target "z" is no node beside it, expected one of the same activity or group
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};

use roxmltree::Node;

use super::annotations::{Annotations, Said};
use super::document::{Document, LocalName, references, text, value};
use crate::diagram::{
    Collected, Graph, Guard, NodeKind, Part, Sections, Subject, Wrapper, guard_of,
};
use mastermind_programs::expression::{CostFunction, Expression, parse, parse_assignments};
use mastermind_programs::{Rule, Variable};

/// Tags of a container's nodes, and of its edges.
pub(super) const NODES: [&str; 5] = [
    "node",
    "ownedNode",
    "structuredNode",
    "containedNode",
    "executableNode",
];
pub(super) const EDGES: [&str; 3] = ["edge", "ownedEdge", "containedEdge"];

/// Nodes that hold objects, and pins: they order nothing by themselves.
pub(super) const OBJECTS: [&str; 5] = [
    "ActivityParameterNode",
    "CentralBufferNode",
    "DataStoreNode",
    "ExpansionNode",
    "ObjectNode",
];

/// Deepest nesting of structured nodes.
const DEEPEST: usize = 32;

pub(super) struct Reader<'r, 'a, 'input> {
    document: &'r Document<'a, 'input>,
    annotations: &'r Annotations<'a>,
    /// Names of activities by their identifiers.
    names: &'r BTreeMap<&'a str, String>,
}

/// Target of an identifier: a node of the graph, or a pin of one.
#[derive(Clone, Copy)]
enum End {
    Node(usize),
    Pin(usize),
    Object,
}

/// Edges by the element of the activity or group that they belong to.
type EdgesByContainer<'a, 'input> = HashMap<roxmltree::NodeId, Vec<Node<'a, 'input>>>;

/// A container's graph under construction.
#[derive(Default)]
struct Level<'a> {
    graph: Graph,
    ends: HashMap<&'a str, End>,
}

impl<'r, 'a, 'input> Reader<'r, 'a, 'input> {
    pub(super) fn new(
        document: &'r Document<'a, 'input>,
        annotations: &'r Annotations<'a>,
        names: &'r BTreeMap<&'a str, String>,
    ) -> Self {
        Self {
            document,
            annotations,
            names,
        }
    }

    /// The graph of an activity and its variables.
    pub(super) fn activity(
        &self,
        node: Node<'a, 'input>,
        out: &mut Collected,
    ) -> (Graph, Vec<Variable>) {
        let mut seen = HashSet::new();
        let edges = self.edges_by_container(node);
        let graph = self.container(node, (&edges, &mut seen), 0, out);
        let variables = node
            .children()
            .filter(|child| child.has_tag_name_local("variable"));
        let locals = variables.filter_map(|variable| {
            let name = variable.attribute("name")?.to_owned();
            let value = Expression::Number(0.0);
            Some(Variable { name, value })
        });
        (graph, locals.collect())
    }

    fn container(
        &self,
        owner: Node<'a, 'input>,
        (edges, seen): (&EdgesByContainer<'a, 'input>, &mut HashSet<&'a str>),
        depth: usize,
        out: &mut Collected,
    ) -> Graph {
        let mut level = Level::default();
        // Flows into or out of a group order nothing inside.
        for pin in owner.children().filter(|child| self.is_pin(*child)) {
            if let Some(id) = self.document.id(pin) {
                level.ends.insert(id, End::Object);
            }
        }
        let mut members = Vec::new();
        self.members(owner, depth, &mut members);
        for child in members {
            let tag = child.tag_name().name();
            let Some(id) = self.document.id(child) else {
                continue;
            };
            let is_node = NODES.contains(&tag);
            // Tools write some of them twice, as a node and in a group.
            if is_node && !seen.insert(id) {
                continue;
            }
            if is_node {
                self.node(child, id, &mut level, (edges, &mut *seen), depth, out);
            }
        }
        let mut objects = Vec::new();
        for edge in edges.get(&owner.id()).into_iter().flatten() {
            self.edge(*edge, &mut level, &mut objects, out);
        }
        self.object_flows(&mut level, &objects, out);
        level.graph
    }

    /// The edges of an activity, each with the innermost container that has both of its ends, whichever the file has it in.
    fn edges_by_container(&self, activity: Node<'a, 'input>) -> EdgesByContainer<'a, 'input> {
        let is_edge = |node: &Node<'a, 'input>| {
            let tag = node.tag_name().name();
            node.is_element()
                && (EDGES.contains(&tag) || matches!(tag, "ControlFlow" | "ObjectFlow"))
        };
        let mut containers: HashMap<&'a str, Vec<roxmltree::NodeId>> = HashMap::new();
        for element in activity.descendants().filter(|node| !is_edge(node)) {
            if let Some(id) = self.document.id(element) {
                let above = element
                    .ancestors()
                    .skip(1)
                    .filter(|above| self.is_container(*above));
                let above = above.take(DEEPEST + 1).map(|above| above.id());
                containers.entry(id).or_insert_with(|| above.collect());
            }
        }
        let mut seen = HashSet::new();
        let mut found = EdgesByContainer::new();
        for edge in activity.descendants().filter(is_edge) {
            // Tools write some of them twice, as an edge and in a group.
            let id = self.document.id(edge);
            if !id.is_some_and(|id| seen.insert(id)) {
                continue;
            }
            let own = edge
                .ancestors()
                .skip(1)
                .find(|above| self.is_container(*above));
            let ends = ["source", "target"].map(|role| {
                let ids = references(edge, role);
                ids.first().and_then(|id| containers.get(id))
            });
            let common = match ends {
                [Some(from), Some(to)] => from.iter().copied().find(|one| to.contains(one)),
                _ => None,
            };
            if let Some(container) = common.or(own.map(|own| own.id())) {
                found.entry(container).or_default().push(edge);
            }
        }
        found
    }

    /// Whether an element has nodes and edges of its own: an activity or a structured node.
    fn is_container(&self, element: Node<'a, 'input>) -> bool {
        matches!(
            self.document.kind(element),
            "Activity"
                | "StructuredActivityNode"
                | "structuredNode"
                | "LoopNode"
                | "ExpansionRegion"
        )
    }

    /// The elements of a container, those in its partitions and interruptible regions among them.
    fn members(&self, owner: Node<'a, 'input>, depth: usize, members: &mut Vec<Node<'a, 'input>>) {
        for child in owner.children().filter(Node::is_element) {
            let says_who = ["ActivityPartition", "InterruptibleActivityRegion"]
                .contains(&self.document.kind(child));
            if says_who && depth < DEEPEST {
                self.members(child, depth + 1, members);
            } else {
                members.push(child);
            }
        }
    }

    fn node(
        &self,
        node: Node<'a, 'input>,
        id: &'a str,
        level: &mut Level<'a>,
        (edges, seen): (&EdgesByContainer<'a, 'input>, &mut HashSet<&'a str>),
        depth: usize,
        out: &mut Collected,
    ) {
        let kind = match self.document.kind(node) {
            // Without a type it has the default type of such a child.
            "structuredNode" => "StructuredActivityNode",
            kind => kind,
        };
        if OBJECTS.contains(&kind) {
            level.ends.insert(id, End::Object);
            return;
        }
        let at = self.document.at(node);
        let name = self.document.name(node);
        let name = name.unwrap_or_else(|| format!("{kind} of {at}"));
        let place = Subject {
            element: &name,
            at: &at,
        };
        let kind = match kind {
            "InitialNode" => NodeKind::Initial,
            "ActivityFinalNode" | "FlowFinalNode" => NodeKind::Final,
            "DecisionNode" => NodeKind::Decision { ordered: false },
            "MergeNode" => NodeKind::Merge,
            "ForkNode" => NodeKind::Fork,
            "JoinNode" => NodeKind::Join,
            "StructuredActivityNode" | "LoopNode" | "ExpansionRegion" if depth < DEEPEST => {
                let inner = self.container(node, (edges, seen), depth + 1, out);
                self.group(node, kind, inner, place, out)
            }
            "StructuredActivityNode" | "LoopNode" | "ExpansionRegion" => {
                let reason = format!("nested deeper than {DEEPEST}, expected at most so deep");
                out.find(Rule::Unstructured, place, reason);
                return;
            }
            kind if kind == "Action" || kind.ends_with("Action") => {
                self.action(node, kind, place, out)
            }
            other => {
                let reason = format!("a {other}, expected an action or a node of the flow");
                out.find(Rule::Syntax, place, reason);
                return;
            }
        };
        let index = level.graph.node(&name, at, kind);
        level.ends.insert(id, End::Node(index));
        if matches!(level.graph.nodes[index].kind, NodeKind::Group(..)) {
            // An edge may lead to a node in the group, or leave one: from outside it leads to the group.
            for inner in node
                .descendants()
                .filter(|inner| NODES.contains(&inner.tag_name().name()))
            {
                if let Some(id) = self.document.id(inner) {
                    level.ends.insert(id, End::Node(index));
                }
            }
        }
        for inner in node.descendants().filter(|inner| self.is_pin(*inner)) {
            if let Some(id) = self.document.id(inner) {
                level.ends.insert(id, End::Pin(index));
            }
        }
    }

    /// Whether an element is a pin. Without a type it has the default type of such a child, and of those only
    /// pins have edges.
    fn is_pin(&self, element: Node<'a, 'input>) -> bool {
        let tag = element.tag_name().name();
        let kind = self.document.kind(element);
        let has_edges = || {
            let all = ["incoming", "outgoing"].map(|role| references(element, role));
            all.iter().any(|edges| !edges.is_empty())
        };
        element.is_element()
            && (kind.ends_with("Pin") || (kind == tag && !NODES.contains(&tag) && has_edges()))
    }

    fn action(
        &self,
        node: Node<'a, 'input>,
        kind: &str,
        place: Subject<'_>,
        out: &mut Collected,
    ) -> NodeKind {
        let Said {
            mut annotation,
            has_demand,
            rounds,
            ..
        } = self.annotations.said(self.document.id(node));
        let target = references(node, "behavior");
        let called = target.first().and_then(|id| self.names.get(id));
        let default = match (&called, has_demand) {
            (Some(name), false) => {
                annotation.word("of", name);
                "activity"
            }
            (Some(_), true) => {
                out.warn(
                    Rule::Ignored,
                    place,
                    "the activity that it calls: its own hostDemand is taken",
                );
                "action"
            }
            (None, _) => "action",
        };
        if kind == "CallBehaviorAction" && target.is_empty() && text(node, "behavior").is_none() {
            let foreign = node
                .children()
                .any(|child| child.has_tag_name_local("behavior"));
            if foreign {
                out.warn(
                    Rule::Ignored,
                    place,
                    "it calls a behaviour of another file, which is not read",
                );
            }
        }
        let code = (called.is_none()).then(|| text(node, "body")).flatten();
        if let Some(code) = code {
            let parts: Vec<_> = code
                .split([';', '\n'])
                .map(str::trim)
                .filter(|p| !p.is_empty())
                .collect();
            let code = parts.join(";");
            if code.is_empty() {
                // Tools write an empty body for an action without one.
            } else if parse_assignments(&code).is_ok() {
                annotation.word("code", &code);
            } else {
                out.warn(
                    Rule::Ignored,
                    place,
                    "its body, which is no list of assignments",
                );
            }
        }
        if annotation.is_empty() {
            out.warn(
                Rule::NoCost,
                place,
                "nothing says what it costs: no time is taken",
            );
        }
        let kind = match annotation.part(place.element, default, place, out) {
            Part::Element(kind) => NodeKind::Element(kind),
            Part::Wrapper(_) => {
                let reason = "it holds no flow, expected a structured node of that stereotype";
                out.find(Rule::Annotation, place, reason);
                NodeKind::Merge
            }
        };
        match rounds {
            Some(rounds) => repeated(kind, &rounds, place, out),
            None => kind,
        }
    }

    fn group(
        &self,
        node: Node<'a, 'input>,
        kind: &str,
        inner: Graph,
        place: Subject<'_>,
        out: &mut Collected,
    ) -> NodeKind {
        let said = self.annotations.said(self.document.id(node));
        let wrapper = if said.annotation.is_empty() {
            if kind == "LoopNode" && said.rounds.is_none() {
                let reason = "a loop node without «loop» or «while», expected count or condition";
                out.find(Rule::Annotation, place, reason);
            }
            Wrapper::Plain
        } else {
            let default = if kind == "LoopNode" { "loop" } else { "action" };
            match said.annotation.part(place.element, default, place, out) {
                Part::Wrapper(wrapper) => wrapper,
                Part::Element(kind) => {
                    // The group has a cost of its own: its contents are detail, and do not run.
                    out.warn(
                        Rule::Ignored,
                        place,
                        "the flow inside: what is said of the whole is taken",
                    );
                    return NodeKind::Element(kind);
                }
            }
        };
        let kind = NodeKind::Group(wrapper, inner);
        match said.rounds {
            Some(rounds) => repeated(kind, &rounds, place, out),
            None => kind,
        }
    }

    fn edge(
        &self,
        edge: Node<'a, 'input>,
        level: &mut Level<'a>,
        objects: &mut Vec<(usize, usize, String)>,
        out: &mut Collected,
    ) {
        let at = self.document.at(edge);
        let id = self.document.id(edge).unwrap_or("edge");
        let name = self.document.name(edge).unwrap_or_else(|| id.to_owned());
        let place = Subject {
            element: &name,
            at: &at,
        };
        let mut ends = ["source", "target"].map(|role| {
            let ids = references(edge, role);
            let [id] = ids[..] else {
                let reason = format!("{} nodes are its {role}, expected 1", ids.len());
                out.find(Rule::DanglingEdge, place, reason);
                return None;
            };
            let found = level.ends.get(id).copied();
            if found.is_none() {
                let reason = format!("its {role} \"{id}\" is no node beside it, expected one of the same activity or group");
                out.find(Rule::DanglingEdge, place, reason);
            }
            found
        });
        let (Some(from), Some(to)) = (ends[0].take(), ends[1].take()) else {
            return;
        };
        match (from, to) {
            (End::Node(from), End::Node(to)) => {
                let guard = self.guard_or_share(edge, level, (from, to));
                level.graph.guarded(from, to, guard);
            }
            (End::Pin(from) | End::Node(from), End::Pin(to) | End::Node(to)) => {
                let control = [from, to].map(|node| {
                    !matches!(
                        level.graph.nodes[node].kind,
                        NodeKind::Element(_) | NodeKind::Group(..)
                    )
                });
                if control[0] || control[1] {
                    let guard = self.guard_or_share(edge, level, (from, to));
                    level.graph.guarded(from, to, guard);
                } else {
                    objects.push((from, to, at.clone()));
                }
            }
            _ => out.warn(
                Rule::Ignored,
                place,
                "a flow of objects to or from a buffer or parameter",
            ),
        }
    }

    /// Flows of objects order nodes that no control flow orders.
    fn object_flows(
        &self,
        level: &mut Level<'a>,
        objects: &[(usize, usize, String)],
        out: &mut Collected,
    ) {
        let mut ordered: HashSet<usize> = level.graph.edges.iter().map(|edge| edge.to).collect();
        for (from, to, at) in objects {
            let place = Subject {
                element: &level.graph.nodes[*to].name,
                at,
            };
            if ordered.insert(*to) && from != to {
                level.graph.edge(*from, *to);
            } else {
                out.warn(
                    Rule::Ignored,
                    place,
                    "a flow of objects to what another edge leads to",
                );
            }
        }
    }

    /// The guard of an edge. If it leaves a decision and has no guard that can be evaluated, MARTE's `prob` at it, or
    /// at the step behind it, gives its share.
    fn guard_or_share(
        &self,
        edge: Node<'a, 'input>,
        level: &Level<'a>,
        (from, _): (usize, usize),
    ) -> Option<Guard> {
        let is_decision = matches!(level.graph.nodes[from].kind, NodeKind::Decision { .. });
        let source = references(edge, "source");
        let compares = source.first().is_some_and(|id| self.document.compares(id));
        let guard = match self.guard(edge) {
            // Where the input has this value, which nothing here computes.
            Some(Guard::When(Expression::Truth(false))) if is_decision && compares => {
                Some(Guard::Prose {
                    text: "false".to_owned(),
                    share: None,
                })
            }
            guard => guard,
        };
        if !is_decision || matches!(guard, Some(Guard::When(_) | Guard::Otherwise)) {
            return guard;
        }
        let target = references(edge, "target");
        let ids = [self.document.id(edge), target.first().copied()];
        let said = ids
            .into_iter()
            .find_map(|id| self.annotations.said(id).share);
        match (guard, said) {
            (Some(Guard::Prose { text, share }), said) => Some(Guard::Prose {
                text,
                share: said.or(share),
            }),
            (None, Some(share)) => Some(Guard::Prose {
                text: String::new(),
                share: Some(share),
            }),
            (guard, _) => guard,
        }
    }

    fn guard(&self, edge: Node<'_, '_>) -> Option<Guard> {
        let guard = edge
            .children()
            .find(|child| child.has_tag_name_local("guard"));
        let Some(guard) = guard else {
            // Some tools keep it in the name.
            let name = self.document.name(edge).unwrap_or_default();
            return name
                .starts_with('[')
                .then(|| guard_of(&name, None))
                .flatten();
        };
        let said = value(guard).unwrap_or_default();
        let is_literal = guard
            .attributes()
            .any(|one| one.value().ends_with("LiteralBoolean"));
        match (is_literal, said.trim()) {
            // Texts that mean "no guard".
            (true, "true") => None,
            (true, _) => Some(Guard::When(Expression::Truth(false))),
            (false, "") => guard_of(guard.attribute("name").unwrap_or_default(), None),
            (false, "true") => None,
            (false, text) => guard_of(text, None),
        }
    }
}

/// An element or group, some rounds of it.
fn repeated(kind: NodeKind, rounds: &str, place: Subject<'_>, out: &mut Collected) -> NodeKind {
    let count = parse(rounds).unwrap_or_else(|error| {
        out.find(Rule::Expression, place, error.to_string());
        Expression::Number(1.0)
    });
    let mut graph = Graph::default();
    let begin = graph.node("begin", place.at.to_owned(), NodeKind::Initial);
    let it = graph.node(place.element, place.at.to_owned(), kind);
    let end = graph.node("end", place.at.to_owned(), NodeKind::Final);
    graph.edge(begin, it);
    graph.edge(it, end);
    let wrapper = Wrapper::Loop {
        count,
        first: Expression::Number(0.0),
        variable: None,
    };
    NodeKind::Group(wrapper, graph)
}

/// Globals: attributes with a default value, of the main activity and of the class that owns it.
pub(super) fn globals(
    document: &Document<'_, '_>,
    main: Node<'_, '_>,
    sections: &mut Sections,
    out: &mut Collected,
) {
    let owners = std::iter::once(main).chain(main.parent());
    for owner in owners {
        for attribute in owner
            .children()
            .filter(|c| c.has_tag_name_local("ownedAttribute"))
        {
            let default = attribute
                .children()
                .find(|c| c.has_tag_name_local("defaultValue"));
            let (Some(name), Some(default)) = (attribute.attribute("name"), default) else {
                continue;
            };
            let at = document.at(attribute);
            let place = Subject {
                element: name,
                at: &at,
            };
            // A missing value in a literal is zero.
            let text = value(default).unwrap_or_else(|| "0".into());
            match parse(&text) {
                Ok(value) => sections.globals.push(Variable {
                    name: name.to_owned(),
                    value,
                }),
                Err(_) => out.warn(
                    Rule::Ignored,
                    place,
                    "an attribute whose value is no expression",
                ),
            }
        }
    }
}

/// Cost functions: function behaviours with a body.
pub(super) fn functions(document: &Document<'_, '_>, sections: &mut Sections, out: &mut Collected) {
    for node in document.elements() {
        if document.kind(node) != "FunctionBehavior" {
            continue;
        }
        let (Some(name), Some(body)) = (node.attribute("name"), text(node, "body")) else {
            continue;
        };
        let at = document.at(node);
        let place = Subject {
            element: name,
            at: &at,
        };
        let body = body
            .trim()
            .trim_start_matches("return ")
            .trim_end_matches(';');
        let parameters = node.children().filter(|child| {
            child.has_tag_name_local("ownedParameter")
                && child.attribute("direction") != Some("return")
        });
        let parameters = parameters.filter_map(|child| child.attribute("name"));
        match parse(body) {
            Ok(value) => {
                let parameters = parameters.map(str::to_owned).collect();
                let function = CostFunction { parameters, value };
                if sections
                    .functions
                    .insert(name.to_owned(), function)
                    .is_some()
                {
                    out.find(
                        Rule::Annotation,
                        place,
                        "the cost function is there twice, expected once",
                    );
                }
            }
            Err(error) => out.warn(
                Rule::Ignored,
                place,
                format!("its body, so that it is no cost function: {error}"),
            ),
        }
    }
}
