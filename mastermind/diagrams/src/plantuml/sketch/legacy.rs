//! The legacy syntax: arrows between activities that are named where they first appear.

use std::collections::BTreeMap;

use super::{Canvas, Tail, arrow_style, wrong};
use crate::diagram::Collected;
use crate::picture::{Colours, Shape, creole};
use crate::plantuml::legacy::parts::{Entity, arrow, entity};
use crate::plantuml::legacy::whole;
use crate::plantuml::lines::{Block, Line};
use crate::plantuml::text::after;

/// Draws a diagram.
pub(super) fn draw(block: &Block, out: &mut Collected) -> Canvas {
    let mut pencil = Pencil {
        canvas: Canvas::default(),
        known: BTreeMap::new(),
        from: None,
        decisions: Vec::new(),
        out,
    };
    let mut lines = block.lines.iter();
    while let Some(line) = lines.next() {
        let line = whole(line, &mut lines);
        if !pencil.canvas.note(&line, &mut lines, pencil.out) {
            pencil.line(&line);
        }
    }
    if !pencil.decisions.is_empty()
        && let Some(line) = block.lines.last()
    {
        wrong(line, "an if is not ended, expected endif", pencil.out);
    }
    pencil.canvas
}

struct Pencil<'a> {
    canvas: Canvas,
    known: BTreeMap<String, usize>,
    /// The source of an arrow without a begin.
    from: Option<usize>,
    /// Decisions that are open.
    decisions: Vec<usize>,
    out: &'a mut Collected,
}

impl Pencil<'_> {
    fn line(&mut self, line: &Line) {
        let text = line.text.as_str();
        let lower = text.to_ascii_lowercase();
        if text == "}" || lower == "end partition" {
            if self.canvas.frames.pop().is_none() {
                let reason = "no partition is open, expected none to be ended";
                wrong(line, reason, self.out);
            }
        } else if let Some(rest) = after(text, "partition") {
            let rest = rest.trim_end_matches('{').trim();
            let colour = rest.split_whitespace().find(|word| word.starts_with('#'));
            let title = rest.replace(colour.unwrap_or("\""), "");
            self.canvas
                .open_frame(title.replace('"', "").trim(), colour);
        } else if lower == "else" {
            match self.decisions.last() {
                Some(decision) => self.from = Some(*decision),
                None => wrong(line, "else without an if, expected one before it", self.out),
            }
        } else if matches!(lower.as_str(), "endif" | "end if") {
            if self.decisions.pop().is_none() {
                wrong(
                    line,
                    "endif without an if, expected one before it",
                    self.out,
                );
            }
        } else if let Some(rest) = after(text, "if").filter(|rest| rest.starts_with('"')) {
            let tail = self.from.map(|from| Tail::of(from, ""));
            self.decide(line, tail, rest);
        } else {
            self.link(line);
        }
    }

    /// `if "condition" then`, at the end of an arrow or not.
    fn decide(&mut self, line: &Line, tail: Option<Tail>, rest: &str) {
        let mut parts = rest.splitn(3, '"');
        let (Some(_), Some(condition), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
            let reason = "no condition in quotation marks, expected if \"condition\" then";
            wrong(line, reason, self.out);
            return;
        };
        let text = creole(condition);
        let node = self.canvas.node(text, Shape::Diamond, Colours::default());
        if let Some(tail) = tail {
            self.canvas.edge(tail, node);
        }
        self.decisions.push(node);
        self.from = Some(node);
        self.canvas.last = Some(node);
    }

    /// `"A" -->[label] "B"`.
    fn link(&mut self, line: &Line) {
        let text = line.text.as_str();
        let (first, rest) = match entity(text) {
            Some((entity, rest)) => (Some(entity), rest),
            None => (None, text),
        };
        let Some((label, target)) = arrow(rest) else {
            match first {
                Some(entity) if rest.trim().is_empty() => {
                    self.from = Some(self.node(&entity, true));
                }
                _ => {
                    let reason = "not understood, expected a line of an activity diagram in the legacy syntax";
                    wrong(line, reason, self.out);
                }
            }
            return;
        };
        let from = match &first {
            Some(entity) => Some(self.node(entity, true)),
            None => self.from,
        };
        let Some(from) = from else {
            let reason = "an arrow that leaves nothing, expected an activity before it";
            wrong(line, reason, self.out);
            return;
        };
        let mut tail = Tail::of(from, label.unwrap_or_default());
        // In `-[#blue]-> "B"`, the part in front of the tip.
        let style = rest.split_once('>').map_or("", |found| found.0);
        (tail.stroke, tail.colour) = arrow_style(style);
        if let Some(rest) = after(target, "if").filter(|rest| rest.starts_with('"')) {
            self.decide(line, Some(tail), rest);
            return;
        }
        let Some((entity, _)) = entity(target) else {
            let reason = "an arrow that leads to nothing, expected an activity after it";
            wrong(line, reason, self.out);
            return;
        };
        let to = self.node(&entity, false);
        self.canvas.edge(tail, to);
        self.from = Some(to);
    }

    /// The node of an entity, made if it is new.
    fn node(&mut self, entity: &Entity<'_>, leaves: bool) -> usize {
        let (key, text, shape) = match entity {
            Entity::Star if leaves => ("(*) begin".to_owned(), "", Shape::Initial),
            Entity::Star => ("(*) end".to_owned(), "", Shape::Final),
            Entity::Bar(name) => (format!("={name}"), "", Shape::Bar),
            Entity::Branch(name) => (format!("<>{name}"), "", Shape::Diamond),
            Entity::Named { code, text, .. } => {
                let branch = format!("<>{code}");
                let key = if self.known.contains_key(&branch) {
                    branch
                } else {
                    (*code).to_owned()
                };
                (key, *text, Shape::Rounded)
            }
        };
        let known = self.known.get(&key).copied();
        let node =
            known.unwrap_or_else(|| self.canvas.node(creole(text), shape, Colours::default()));
        self.known.insert(key, node);
        self.canvas.last = Some(node);
        node
    }
}
