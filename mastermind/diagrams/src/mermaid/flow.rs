//! A flowchart as a graph of the flow, or one for each subgraph that defines how it runs.
//!
//! A node is an action, a diamond with several links out a decision, a filled rectangle (`fork`) a fork or a join. A stadium or
//! circle without a cost is the begin where no link leads to it, and the end where none leaves. A subgraph is a partition; with a
//! stereotype in its title (`«loop» {count = 10}`) its nodes are the flow of that. Notes (`comment`, `brace`) and hidden links order nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::chart::{Chart, Label, Vertex};
use super::source::Source;
use crate::diagram::{
    Annotation, Collected, Graph, Guard, NodeKind, Part, Sections, Subject, Wrapper, answer,
    guard_of, name_and_words, not, prose,
};
use crate::picture::{Shape, Stroke, markdown, plain};
use mastermind_programs::expression::{Binary, Expression, parse};
use mastermind_programs::{ElementKind, Rule};

/// A subgraph.
struct Frame {
    name: String,
    at: String,
    /// How its flow runs, if its title defines it.
    wrapper: Option<Wrapper>,
}

/// The letters of a label, in its lines.
pub(super) fn letters(label: &Label) -> String {
    plain(&markdown(&label.text, label.is_markdown))
}

/// The name in a label; its stereotypes and words go into `annotation`.
///
/// A line of prose may begin with a word and a colon (`Source: file`); only a sign of equality makes it a word here.
fn named(text: &str, annotation: &mut Annotation, at: &str, out: &mut Collected) -> String {
    let mut one_line = String::new();
    for line in text.lines() {
        let is_word = line.contains('=') && Annotation::default().said(line);
        if !one_line.is_empty() {
            one_line.push(if is_word || line.trim_start().starts_with('{') {
                '\n'
            } else {
                ' '
            });
        }
        one_line.push_str(line);
    }
    name_and_words(&one_line, annotation, at, out)
}

/// The graph of a flowchart.
pub(super) fn graph(
    chart: &Chart,
    source: &Source,
    sections: &mut Sections,
    out: &mut Collected,
) -> Graph {
    let mut said = comments(chart, source, sections, out);
    let frames: Vec<Frame> = chart.groups.iter().map(|group| frame(group, out)).collect();
    let mut builder = Builder {
        chart,
        frames: &frames,
        flow: Vec::new(),
        ends: BTreeMap::new(),
        labelled: BTreeSet::new(),
        out,
    };
    builder.find_flow(sections, &mut said);
    builder.level(None, &mut said)
}

/// Reads comments: sections, and comments that begin with a node and have its words (`%% A {cost =
/// ms(1)}`).
fn comments(
    chart: &Chart,
    source: &Source,
    sections: &mut Sections,
    out: &mut Collected,
) -> BTreeMap<usize, Annotation> {
    let mut said: BTreeMap<usize, Annotation> = BTreeMap::new();
    let mut last = 0;
    for (number, text) in &source.comments {
        if *number != last + 1 {
            sections.begin();
        }
        last = *number;
        let at = format!("line {number}");
        let place = Subject {
            element: "comment",
            at: &at,
        };
        if text.is_empty() || sections.line(text, place, out) {
            continue;
        }
        let Some((id, words)) = text.split_once(|c: char| c.is_whitespace()) else {
            continue;
        };
        let words = words.trim_start();
        if words.starts_with(['{', '<'])
            && let Some(node) = chart.nodes.iter().position(|node| node.id == id)
        {
            name_and_words(words, said.entry(node).or_default(), &at, out);
        }
    }
    said
}

fn frame(group: &super::chart::Subgraph, out: &mut Collected) -> Frame {
    let at = format!("line {}", group.line);
    let mut annotation = Annotation::default();
    let text = letters(&group.title);
    let mut own = Collected::default();
    let name = named(&text, &mut annotation, &at, &mut own);
    let place = Subject {
        element: &name,
        at: &at,
    };
    let wrapper =
        annotation
            .is_wrapper()
            .then(|| match annotation.part(&name, "action", place, &mut own) {
                Part::Wrapper(wrapper) => wrapper,
                Part::Element(_) => Wrapper::Plain,
            });
    if wrapper.is_some() {
        out.findings.append(&mut own.findings);
        out.warnings.append(&mut own.warnings);
    }
    Frame { name, at, wrapper }
}

/// Whether a node is in a subgraph, or in one nested in it.
fn in_group(chart: &Chart, node: usize, group: usize) -> bool {
    let mut at = chart.nodes[node].group;
    while let Some(inner) = at {
        if inner == group {
            return true;
        }
        at = chart.groups[inner].parent;
    }
    false
}

/// A link of the flow, by nodes.
struct Step {
    from: usize,
    to: usize,
    label: String,
}

struct Builder<'a> {
    chart: &'a Chart,
    frames: &'a [Frame],
    /// The links of the flow.
    flow: Vec<Step>,
    /// Number of links that enter a node and leave it.
    ends: BTreeMap<usize, [usize; 2]>,
    /// Nodes that a link with a text leaves.
    labelled: BTreeSet<usize>,
    out: &'a mut Collected,
}

impl Builder<'_> {
    /// Finds which nodes and links are of the flow.
    fn find_flow(&mut self, sections: &mut Sections, said: &mut BTreeMap<usize, Annotation>) {
        let chart = self.chart;
        let is_note: Vec<bool> = chart.nodes.iter().map(|n| n.shape == Shape::Note).collect();
        for (i, node) in chart.nodes.iter().enumerate().filter(|(i, _)| is_note[*i]) {
            self.note(node, i, sections, said);
        }
        let groups = chart.groups_as_ends();
        let links: Vec<_> = chart
            .links
            .iter()
            .filter(|link| link.written.stroke != Stroke::Hidden)
            .filter(|link| !is_note[link.from] && !is_note[link.to])
            .collect();
        // Of a subgraph that is run once, the nodes that nothing in it leads to, or leaves.
        let mut borders: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let border = |group: usize, side: usize| -> Vec<usize> {
            let inside: BTreeSet<usize> = (0..chart.nodes.len())
                .filter(|node| {
                    in_group(chart, *node, group) && !groups.contains_key(node) && !is_note[*node]
                })
                .collect();
            let mut bound = BTreeSet::new();
            for link in &links {
                let (here, there) = match side {
                    0 => (link.to, link.from),
                    _ => (link.from, link.to),
                };
                if inside.contains(&there) && here != there {
                    bound.insert(here);
                }
            }
            let found: Vec<usize> = inside.difference(&bound).copied().collect();
            match (found.is_empty(), inside.first()) {
                (true, Some(first)) => vec![*first],
                _ => found,
            }
        };
        let mut flow = Vec::new();
        for link in &links {
            let mut ends = |node: usize, side: usize| match groups.get(&node) {
                Some(group) => {
                    let known = borders.entry((*group, side));
                    known.or_insert_with(|| border(*group, side)).clone()
                }
                None => vec![node],
            };
            let (leaves, comes) = (ends(link.from, 1), ends(link.to, 0));
            for from in leaves {
                for to in comes.iter().copied() {
                    let label = letters(&link.label);
                    flow.push(Step { from, to, label });
                }
            }
            if link.written.tips == [true, true] {
                let at = format!("line {}", link.line);
                let place = Subject {
                    element: &chart.nodes[link.from].id,
                    at: &at,
                };
                let reason = "a link with tips at both ends: taken as the way from the first node to the second";
                self.out.warn(Rule::Ignored, place, reason);
            }
        }
        let mut ends: BTreeMap<usize, [usize; 2]> = (0..chart.nodes.len())
            .filter(|node| !groups.contains_key(node) && !is_note[*node])
            .map(|node| (node, [0, 0]))
            .collect();
        for step in &flow {
            ends.entry(step.to).or_default()[0] += 1;
            ends.entry(step.from).or_default()[1] += 1;
        }
        // A text that nothing leads to is a remark.
        ends.retain(|node, degree| chart.nodes[*node].shape != Shape::Text || *degree != [0, 0]);
        let labelled = flow.iter().filter(|step| !step.label.is_empty());
        self.labelled = labelled.map(|step| step.from).collect();
        (self.flow, self.ends) = (flow, ends);
    }

    /// A note: its sections, and words about the node that a link ties it to.
    fn note(
        &mut self,
        note: &Vertex,
        index: usize,
        sections: &mut Sections,
        said: &mut BTreeMap<usize, Annotation>,
    ) {
        let at = format!("line {}", note.line);
        let place = Subject {
            element: "note",
            at: &at,
        };
        let of_it = |link: &&super::chart::Link| link.from == index || link.to == index;
        let about = self
            .chart
            .links
            .iter()
            .find(of_it)
            .map(|link| link.from + link.to - index);
        let text = note.label.as_ref().map(letters).unwrap_or_default();
        sections.begin();
        for line in text.lines() {
            if !sections.line(line, place, self.out)
                && let Some(node) = about
                && line.contains(['=', '<'])
            {
                let annotation = said.entry(node).or_default();
                let stereotype = line
                    .trim()
                    .strip_prefix("<<")
                    .and_then(|line| line.strip_suffix(">>"));
                match stereotype {
                    Some(name) => annotation.stereotype(name, place, self.out),
                    None => annotation.said(line),
                };
            }
        }
    }

    /// The innermost subgraph with a flow of its own that contains a node, below `level`; the node itself at that
    /// level.
    fn wrapper_below(&self, node: usize, level: Option<usize>) -> Option<Option<usize>> {
        let mut below = None;
        let mut at = self.chart.nodes[node].group;
        loop {
            if at == level {
                return Some(below);
            }
            let group = at?;
            if self.frames[group].wrapper.is_some() {
                below = Some(group);
            }
            at = self.chart.groups[group].parent;
        }
    }

    /// The graph of the whole, or of a subgraph whose title defines how it runs.
    fn level(&mut self, level: Option<usize>, said: &mut BTreeMap<usize, Annotation>) -> Graph {
        let mut graph = Graph::default();
        // Where links come to, and leave, by node.
        let mut into: BTreeMap<usize, usize> = BTreeMap::new();
        let mut from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut wrapped: BTreeMap<usize, usize> = BTreeMap::new();
        let nodes: Vec<usize> = self.ends.keys().copied().collect();
        for node in nodes {
            match self.wrapper_below(node, level) {
                None => {}
                Some(None) => {
                    let (first, last) = self.node(node, &mut graph, said);
                    into.insert(node, first);
                    from.insert(node, last);
                }
                Some(Some(group)) => {
                    let known = wrapped.get(&group).copied();
                    let index = known.unwrap_or_else(|| self.group(group, &mut graph, said));
                    wrapped.insert(group, index);
                    into.insert(node, index);
                    from.insert(node, index);
                }
            }
        }
        self.links(level, &mut graph, &into, &from);
        answer_otherwise(&mut graph);
        graph
    }

    fn group(
        &mut self,
        group: usize,
        graph: &mut Graph,
        said: &mut BTreeMap<usize, Annotation>,
    ) -> usize {
        let frame = &self.frames[group];
        let inner = self.level(Some(group), said);
        let wrapper = frame.wrapper.clone().unwrap_or(Wrapper::Plain);
        graph.node(
            &frame.name,
            frame.at.clone(),
            NodeKind::Group(wrapper, inner),
        )
    }

    fn links(
        &mut self,
        level: Option<usize>,
        graph: &mut Graph,
        into: &BTreeMap<usize, usize>,
        from: &BTreeMap<usize, usize>,
    ) {
        let mut known = BTreeSet::new();
        let mut begins = BTreeSet::new();
        let mut end = None;
        for step in &self.flow {
            match (from.get(&step.from), into.get(&step.to)) {
                (Some(a), Some(b)) => {
                    let is_group = matches!(graph.nodes[*a].kind, NodeKind::Group(..));
                    let in_group = a == b && is_group;
                    // Links that leave one subgraph for the same node are one.
                    if !in_group && (!is_group || known.insert((*a, *b))) {
                        let guard = guard(&graph.nodes[*a].name, &step.label)
                            .filter(|_| matches!(graph.nodes[*a].kind, NodeKind::Decision { .. }));
                        graph.guarded(*a, *b, guard);
                    }
                }
                (Some(a), None) => {
                    let at = graph.nodes[*a].at.clone();
                    let end = *end.get_or_insert_with(|| graph.node("end", at, NodeKind::Final));
                    let guard = guard(&graph.nodes[*a].name, &step.label)
                        .filter(|_| matches!(graph.nodes[*a].kind, NodeKind::Decision { .. }));
                    graph.guarded(*a, end, guard);
                }
                (None, Some(b)) => {
                    begins.insert(*b);
                }
                (None, None) => {}
            }
        }
        begin(graph, level.is_some().then_some(&begins));
    }

    /// Adds a node of the chart: its entry and its exit for links.
    fn node(
        &mut self,
        index: usize,
        graph: &mut Graph,
        said: &mut BTreeMap<usize, Annotation>,
    ) -> (usize, usize) {
        let vertex = &self.chart.nodes[index];
        let at = format!("line {}", vertex.line);
        let mut annotation = said.remove(&index).unwrap_or_default();
        let text = vertex
            .label
            .as_ref()
            .map_or_else(|| vertex.id.clone(), letters);
        let mut name = named(&text, &mut annotation, &at, self.out);
        if name.is_empty() {
            name.clone_from(&vertex.id);
        }
        let [n_in, n_out] = self.ends.get(&index).copied().unwrap_or_default();
        let is_labelled = self.labelled.contains(&index);
        let is_diamond = vertex.shape == Shape::Diamond;
        let is_silent = annotation.is_empty();
        let is_end = matches!(
            vertex.shape,
            Shape::Stadium | Shape::Circle | Shape::DoubleCircle | Shape::Initial | Shape::Final
        );
        let decision = NodeKind::Decision { ordered: true };
        let kind = match vertex.shape {
            Shape::Bar if n_out > 1 => NodeKind::Fork,
            Shape::Bar if n_in > 1 => NodeKind::Join,
            Shape::Bar => NodeKind::Merge,
            Shape::Diamond if is_silent && n_out > 1 => decision.clone(),
            Shape::Diamond if is_silent => NodeKind::Merge,
            Shape::Initial | Shape::Final if is_silent && n_in > 0 && n_out > 0 => NodeKind::Merge,
            _ if is_end && is_silent && n_in == 0 && n_out == 1 => NodeKind::Initial,
            _ if is_end && is_silent && n_out == 0 => NodeKind::Final,
            _ => self.element(&name, &at, annotation),
        };
        let node = graph.node(&name, at.clone(), kind.clone());
        let decides = (is_labelled || is_diamond) && n_out > 1;
        if decides && kind != decision && kind != NodeKind::Fork {
            let last = graph.node(&name, at, decision);
            graph.edge(node, last);
            return (node, last);
        }
        (node, node)
    }

    fn element(&mut self, name: &str, at: &str, annotation: Annotation) -> NodeKind {
        let place = Subject { element: name, at };
        if annotation.is_empty() {
            let reason = "nothing says what it costs: no time is taken";
            self.out.warn(Rule::NoCost, place, reason);
        }
        match annotation.part(name, "action", place, self.out) {
            Part::Element(kind) => NodeKind::Element(kind),
            Part::Wrapper(_) => {
                let reason = "it holds no flow, expected a subgraph of that stereotype";
                self.out.find(Rule::Annotation, place, reason);
                NodeKind::Element(ElementKind::Wait)
            }
        }
    }
}

/// The guard in a label of a link: if the decision's text is a condition, `yes` and `no` answer it.
fn guard(condition: &str, label: &str) -> Option<Guard> {
    let label = label.replace('\n', " ");
    if label.is_empty() {
        return None;
    }
    let lower = label.to_ascii_lowercase();
    let word = lower
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    if matches!(word, "yes" | "no" | "true" | "false" | "y" | "n") || label.starts_with('[') {
        return answer(condition, &label);
    }
    match (
        guard_of(&label, None),
        parse(condition.trim_end_matches('?')),
    ) {
        // One of several values.
        (Some(Guard::When(value @ Expression::Number(_))), Ok(subject)) => {
            let (subject, value) = (Box::new(subject), Box::new(value));
            Some(Guard::When(Expression::Binary(
                Binary::Equal,
                subject,
                value,
            )))
        }
        (Some(Guard::When(Expression::Number(_))), Err(_)) => Some(prose(&label, &label)),
        (guard, _) => guard,
    }
}

/// Of two edges whose conditions are each other's negation, the second becomes `Otherwise`.
fn answer_otherwise(graph: &mut Graph) {
    let mut leaving = vec![Vec::new(); graph.nodes.len()];
    for (i, edge) in graph.edges.iter().enumerate() {
        leaving[edge.from].push(i);
    }
    for edges in leaving {
        let [a, b] = edges[..] else {
            continue;
        };
        if let (Some(Guard::When(first)), Some(Guard::When(second))) =
            (&graph.edges[a].guard, &graph.edges[b].guard)
        {
            if *second == not(first.clone()) {
                graph.edges[b].guard = Some(Guard::Otherwise);
            } else if *first == not(second.clone()) {
                graph.edges[a].guard = Some(Guard::Otherwise);
            }
        }
    }
}

/// Adds an initial node in front of the nodes where links enter, or of the first node if all nodes have an incoming
/// edge: a chart that is a ring begins with its first line.
///
/// # Arguments
/// * `begins` - of a subgraph, where links come into it
fn begin(graph: &mut Graph, begins: Option<&BTreeSet<usize>>) {
    let mut is_led_to = vec![false; graph.nodes.len()];
    for edge in &graph.edges {
        is_led_to[edge.to] = true;
    }
    let begins_alone = |graph: &Graph| {
        (0..is_led_to.len())
            .any(|node| !is_led_to[node] && graph.nodes[node].kind != NodeKind::Final)
    };
    let from: Vec<usize> = match begins {
        Some(begins) if !begins.is_empty() => begins.iter().copied().collect(),
        _ if graph.nodes.is_empty() || begins_alone(graph) => return,
        _ => vec![0],
    };
    let (name, at) = (
        graph.nodes[from[0]].name.clone(),
        graph.nodes[from[0]].at.clone(),
    );
    for node in from {
        let initial = graph.node(&name, at.clone(), NodeKind::Initial);
        graph.edge(initial, node);
    }
}
