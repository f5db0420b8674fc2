//! The legacy syntax: edges between activities that are named where they first appear.
//!
//! A diagram in this syntax is a list of arrows. Nodes have no lines of their own: a name or code
//! denotes the same node wherever it appears, an arrow without a begin leaves the target of the
//! last one, and `(*)` is the initial node where an arrow leaves it and the final node where one
//! ends.
//!
//! ```text
//! (*) --> "read"              initial ─▶ read
//! if "ready?" then            read ─▶ ◇ ready?
//!   -->[yes] "go"             ◇ ─yes─▶ go
//! else
//!   -->[no] (*)               ◇ ─no──▶ final
//! endif
//! ```
//!
//! What some parts mean depends on arrows that come later, and is decided at the end, by counting
//! them: labels of several arrows that leave one activity are its guards (`labels_as_guards`), and
//! a bar with several arrows out of it is a fork, with several into it a join (`bars_as_nodes`).
//! Structure is not looked for here: the result is a graph, as for XMI.

pub(super) mod parts;

use std::collections::BTreeMap;

use super::flow::Flow;
use super::lines::{Block, Line};
use super::text::after;
use crate::diagram::{
    Annotation, Collected, Edge, Graph, Guard, NodeKind, Sections, Subject, guard_of,
    name_and_words, prose,
};
use mastermind_programs::Rule;
use mastermind_programs::expression::{Expression, parse};
use parts::{Entity, arrow, entity};

/// Whether a diagram is in the legacy syntax: an arrow leaves or reaches `(*)`, and no line is one of the new syntax.
pub(super) fn is_legacy(block: &Block) -> bool {
    let is_new = |line: &Line| line.text == "start" || line.text.starts_with(':');
    let begins = |line: &Line| line.text.starts_with("(*") || line.text.contains("> (*");
    !block.lines.iter().any(is_new) && block.lines.iter().any(begins)
}

/// The graph of a diagram.
pub(super) fn graph(block: &Block, sections: &mut Sections, out: &mut Collected) -> Graph {
    let mut reader = Reader {
        flow: Flow::default(),
        known: BTreeMap::new(),
        bars: BTreeMap::new(),
        last: None,
        branches: Vec::new(),
        conditions: BTreeMap::new(),
        labels: Vec::new(),
        partitions: 0,
        sections,
        out,
    };
    let mut lines = block.lines.iter();
    while let Some(line) = lines.next() {
        let line = whole(line, &mut lines);
        if !reader.note(&line, &mut lines) {
            reader.line(&line);
        }
    }
    for (_, at) in std::mem::take(&mut reader.branches) {
        let place = Subject {
            element: "if",
            at: &at,
        };
        reader
            .out
            .find(Rule::Syntax, place, "\"if\" is not ended, expected endif");
    }
    reader.labels_as_guards();
    reader.bars_as_nodes();
    reader.flow.finish(reader.out)
}

/// The line with those after it up to the quotation mark that ends a name.
pub(super) fn whole<'l>(line: &Line, lines: &mut impl Iterator<Item = &'l Line>) -> Line {
    let mut whole = line.clone();
    while whole.text.matches('"').count() % 2 == 1 {
        let Some(next) = lines.next() else {
            break;
        };
        whole.text.push_str("\\n");
        whole.text.push_str(&next.text);
    }
    whole
}

struct Reader<'a> {
    flow: Flow,
    known: BTreeMap<String, usize>,
    /// Nodes that are bars, with their name.
    bars: BTreeMap<usize, String>,
    /// The source of an arrow without a begin.
    last: Option<usize>,
    /// Open decisions, and their lines.
    branches: Vec<(usize, String)>,
    /// The conditions that `true` and `false` answer.
    conditions: BTreeMap<usize, Expression>,
    /// Edges with a label that leave no decision, with the label and its line.
    labels: Vec<(usize, String, String)>,
    partitions: usize,
    sections: &'a mut Sections,
    out: &'a mut Collected,
}

impl Reader<'_> {
    fn wrong(&mut self, line: &Line, reason: impl Into<String>) {
        let shown: String = line.text.chars().take(60).collect();
        let at = line.at();
        let place = Subject {
            element: &shown,
            at: &at,
        };
        self.out.find(Rule::Syntax, place, reason);
    }

    fn line(&mut self, line: &Line) {
        let text = line.text.as_str();
        let lower = text.to_ascii_lowercase();
        if text == "}" || lower == "end partition" {
            if self.partitions == 0 {
                self.wrong(line, "no partition is open, expected none to be ended");
            }
            self.partitions = self.partitions.saturating_sub(1);
        } else if after(text, "partition").is_some() {
            self.partitions += 1;
        } else if lower == "else" {
            match self.branches.last() {
                Some((decision, _)) => self.last = Some(*decision),
                None => self.wrong(line, "else without an if, expected one before it"),
            }
        } else if matches!(lower.as_str(), "endif" | "end if") {
            if self.branches.pop().is_none() {
                self.wrong(line, "endif without an if, expected one before it");
            }
        } else if let Some(rest) = after(text, "if").filter(|rest| rest.starts_with('"')) {
            self.open(line, self.last, None, rest);
        } else {
            self.link(line);
        }
    }

    /// `if "condition" then`, at the end of an arrow or not.
    fn open(&mut self, line: &Line, from: Option<usize>, label: Option<&str>, rest: &str) {
        let found = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let Some((condition, rest)) = found else {
            self.wrong(
                line,
                "no condition in quotation marks, expected if \"condition\" then",
            );
            return;
        };
        let rest = match after(rest.trim_start(), "as") {
            Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
            None => rest.trim_start(),
        };
        if !rest.trim().is_empty() && !rest.trim().eq_ignore_ascii_case("then") {
            self.wrong(line, "not understood, expected if \"condition\" then");
        }
        let kind = NodeKind::Decision { ordered: true };
        let decision = self.flow.graph.node(condition, line.at(), kind);
        if let Ok(condition) = parse(condition.trim_end_matches('?')) {
            self.conditions.insert(decision, condition);
        }
        if let Some(from) = from {
            self.tie(line, from, decision, label);
        }
        self.branches.push((decision, line.at()));
        self.last = Some(decision);
    }

    /// `"A" -->[guard] "B"`.
    fn link(&mut self, line: &Line) {
        let text = line.text.as_str();
        let (first, rest) = match entity(text) {
            Some((entity, rest)) => (Some(entity), rest),
            None => (None, text),
        };
        let Some((label, rest)) = arrow(rest) else {
            match first {
                // A name alone: the next line continues from it.
                Some(entity) if rest.trim().is_empty() => {
                    self.last = self.node(line, &entity, true);
                }
                _ => self.wrong(
                    line,
                    "not understood, expected a line of an activity diagram in the legacy syntax",
                ),
            }
            return;
        };
        let from = match &first {
            Some(entity) => self.node(line, entity, true),
            None => self.last,
        };
        let Some(from) = from else {
            self.wrong(
                line,
                "an arrow that leaves nothing, expected an activity before it",
            );
            return;
        };
        if let Some(rest) = after(rest, "if").filter(|rest| rest.starts_with('"')) {
            self.open(line, Some(from), label, rest);
            return;
        }
        let Some((target, rest)) = entity(rest) else {
            self.wrong(
                line,
                "an arrow that leads to nothing, expected an activity after it",
            );
            return;
        };
        let rest = rest.trim();
        if !rest.is_empty() && after(rest, "in").is_none() && !rest.starts_with('#') {
            self.wrong(
                line,
                format!("\"{rest}\" after the activity, expected nothing"),
            );
        }
        let Some(to) = self.node(line, &target, false) else {
            return;
        };
        self.tie(line, from, to, label);
        self.last = Some(to);
    }

    fn tie(&mut self, line: &Line, from: usize, to: usize, label: Option<&str>) {
        let label = label.unwrap_or_default();
        let is_decision = matches!(self.flow.graph.nodes[from].kind, NodeKind::Decision { .. });
        let guard = match is_decision {
            true => self.guard(from, label),
            false => None,
        };
        if !is_decision && !label.is_empty() {
            let edge = self.flow.graph.edges.len();
            self.labels.push((edge, label.to_owned(), line.at()));
        }
        self.flow.graph.guarded(from, to, guard);
    }

    /// The labels of several arrows that leave an activity decide which is taken, like those of a
    /// decision.
    fn labels_as_guards(&mut self) {
        for (edge, label, at) in std::mem::take(&mut self.labels) {
            let graph = &mut self.flow.graph;
            let from = graph.edges[edge].from;
            let n_out = graph.edges.iter().filter(|edge| edge.from == from).count();
            if n_out > 1 && !self.bars.contains_key(&from) {
                graph.edges[edge].guard = guard_of(&label, None);
                continue;
            }
            let place = Subject {
                element: &graph.nodes[from].name,
                at: &at,
            };
            let reason = "the text of an arrow that leaves no decision";
            self.out.warn(Rule::Ignored, place, reason);
        }
    }

    fn guard(&self, from: usize, label: &str) -> Option<Guard> {
        let condition = self.conditions.get(&from);
        // Only the first arrow that leaves a decision is judged by its condition; a later one
        // without an expression is taken otherwise.
        let is_first = self
            .flow
            .graph
            .edges
            .iter()
            .all(|edge: &Edge| edge.from != from);
        let lower = label.trim().to_ascii_lowercase();
        let words = [
            "",
            "yes",
            "true",
            "y",
            "no",
            "false",
            "n",
            "else",
            "otherwise",
        ];
        if words.contains(&lower.as_str()) {
            return match (condition, is_first) {
                (Some(condition), true) => {
                    let word = if label.is_empty() { "yes" } else { label };
                    guard_of(word, Some(condition))
                }
                (None, true) => {
                    let name = &self.flow.graph.nodes[from].name;
                    Some(prose(name, label))
                }
                (_, false) => Some(Guard::Otherwise),
            };
        }
        match (parse(label), condition, is_first) {
            (Ok(guard), ..) => Some(Guard::When(guard)),
            // A label in prose, of a condition with a meaning.
            (Err(_), Some(condition), true) => Some(Guard::When(condition.clone())),
            (Err(_), Some(_), false) => Some(Guard::Otherwise),
            (Err(_), None, _) => Some(prose(label, label)),
        }
    }

    /// The node of an entity, made if it is new.
    fn node(&mut self, line: &Line, entity: &Entity<'_>, leaves: bool) -> Option<usize> {
        let at = line.at();
        let (key, name) = match entity {
            Entity::Star if leaves => ("(*) begin".to_owned(), "start"),
            Entity::Star => ("(*) end".to_owned(), "end"),
            Entity::Bar(name) => (format!("={name}"), *name),
            Entity::Branch(name) => (format!("<>{name}"), *name),
            Entity::Named { code, .. } => {
                let is_branch = self.known.contains_key(&format!("<>{code}"));
                let prefix = if is_branch { "<>" } else { "" };
                (format!("{prefix}{code}"), *code)
            }
        };
        let known = self.known.get(&key).copied();
        let node = known.unwrap_or_else(|| {
            let kind = match entity {
                Entity::Star if leaves => NodeKind::Initial,
                Entity::Star => NodeKind::Final,
                Entity::Bar(_) => NodeKind::Merge,
                Entity::Branch(_) => NodeKind::Decision { ordered: false },
                Entity::Named { .. } => super::flow::blank(),
            };
            self.flow.graph.node(name, at.clone(), kind)
        });
        self.known.insert(key, node);
        match entity {
            Entity::Bar(name) => {
                self.bars.insert(node, (*name).to_owned());
            }
            Entity::Named {
                text, stereotype, ..
            } => self.said(node, text, stereotype, &at),
            _ => {}
        }
        Some(node)
    }

    /// Reads an activity's name and stereotype.
    fn said(&mut self, node: usize, text: &str, stereotype: &str, at: &str) {
        if !matches!(self.flow.graph.nodes[node].kind, NodeKind::Element(_)) {
            return;
        }
        let is_new = !self.flow.annotations.contains_key(&node);
        let annotation = self.flow.annotations.entry(node).or_default();
        if is_new {
            let name = name_and_words(text, annotation, at, self.out);
            self.flow.graph.nodes[node].name = name;
        }
        let mut more = Annotation::default();
        name_and_words(stereotype, &mut more, at, self.out);
        if !more.is_empty() {
            name_and_words(stereotype, annotation, at, self.out);
        }
    }

    fn note<'l>(&mut self, line: &Line, lines: &mut impl Iterator<Item = &'l Line>) -> bool {
        let floating = after(&line.text, "floating");
        let rest = after(floating.unwrap_or(&line.text), "note");
        let legend = after(&line.text, "legend");
        let Some(rest) = rest.or(legend) else {
            return false;
        };
        let mut inside = Vec::new();
        if let (Some((_, text)), None) = (rest.split_once(':'), legend) {
            inside.push(Line {
                number: line.number,
                text: text.trim().to_owned(),
            });
        } else {
            let end = if legend.is_some() {
                "endlegend"
            } else {
                "endnote"
            };
            loop {
                let Some(next) = lines.next() else {
                    self.wrong(line, "it is not ended, expected end note");
                    return true;
                };
                if next.text.replace(' ', "").eq_ignore_ascii_case(end) {
                    break;
                }
                inside.push(next.clone());
            }
        }
        self.sections.begin();
        let mut prose = false;
        for part in &inside {
            let at = part.at();
            let place = Subject {
                element: "note",
                at: &at,
            };
            if self.sections.line(&part.text, place, self.out) {
                continue;
            }
            let node = self.last.filter(|_| floating.is_none() && legend.is_none());
            let taken = node.is_some_and(|node| {
                let annotation = self.flow.annotations.entry(node).or_default();
                annotation.said(&part.text)
            });
            prose |= !taken;
        }
        if prose {
            let at = line.at();
            let place = Subject {
                element: "note",
                at: &at,
            };
            self.out.warn(Rule::Ignored, place, "the text of a note");
        }
        true
    }

    /// A bar forks, joins, or both, depending on its edges. If none forks, there is nothing to join, and bars merge the
    /// branches of decisions.
    fn bars_as_nodes(&mut self) {
        let graph = &mut self.flow.graph;
        let leaves = |bar: &usize| graph.edges.iter().filter(|edge| edge.from == *bar).count() > 1;
        let parts = self.bars.keys().any(leaves);
        for (bar, name) in &self.bars {
            let n_in = graph.edges.iter().filter(|edge| edge.to == *bar).count();
            let n_out = graph.edges.iter().filter(|edge| edge.from == *bar).count();
            if n_in > 1 && !parts {
                let place = Subject {
                    element: name,
                    at: &graph.nodes[*bar].at,
                };
                let reason = "a bar at which ways of decisions meet: no bar parts them";
                self.out.warn(Rule::MissingMerge, place, reason);
            }
            graph.nodes[*bar].kind = match (n_in > 1 && parts, n_out > 1) {
                (true, true) => {
                    let at = graph.nodes[*bar].at.clone();
                    // Several in and several out: a join, and a fork behind it.
                    let fork = graph.node(name, at, NodeKind::Fork);
                    let leaving = graph.edges.iter_mut().filter(|edge| edge.from == *bar);
                    leaving.for_each(|edge| edge.from = fork);
                    graph.edge(*bar, fork);
                    NodeKind::Join
                }
                (true, false) => NodeKind::Join,
                (false, true) => NodeKind::Fork,
                (false, false) => NodeKind::Merge,
            };
        }
    }
}
