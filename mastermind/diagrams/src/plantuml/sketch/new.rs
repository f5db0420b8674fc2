//! The new syntax: commands in order, blocks in each other.
//!
//! The same lines as in `plantuml/new.rs`, read for a picture: conditions, labels and actions stay
//! text, and nothing is evaluated, so diagrams that are no program can be drawn. Like that reader,
//! the pencil keeps loose ends, which the next node is tied to, and a stack of open blocks. Shapes
//! and colours are noted on the way, and a wrong line is reported and passed over.
//!
//! ```text
//! line                      open blocks               loose ends
//! if (ready?) then (yes)    If, node ◇                ◇ "yes"
//!   :a;                                               a
//! else (no)                 If, node ◇, ends [a]      ◇ "no"
//!   :b;                                               b
//! endif                                               a, b: merged in a diamond
//! ```
//!
//! Places on the page are found by `picture`, not here.

use super::{Canvas, Tail, arrow_style, filled, wrong};
use crate::diagram::Collected;
use crate::picture::{Colours, PictureNode, Shape, Stroke, creole};
use crate::plantuml::lines::{Block, Line};
use crate::plantuml::new::{
    action_begin, after_any, connector_name, is_arrow, is_ended, is_sdl, listed, whole,
    without_colour,
};
use crate::plantuml::text::{after, bracketed};

/// Draws a diagram.
pub(super) fn draw(block: &Block, out: &mut Collected) -> Canvas {
    let mut pencil = Pencil {
        canvas: Canvas::default(),
        open: Vec::new(),
        labels: Vec::new(),
        out,
    };
    let mut lines = block.lines.iter();
    while let Some(line) = lines.next() {
        if pencil.canvas.note(line, &mut lines, pencil.out) {
            continue;
        }
        let plain = without_colour(line);
        if !pencil.action(&plain, &mut lines) {
            let colour = line.text.split_once(':').map(|(colour, _)| colour);
            let colours = filled(colour.filter(|_| plain.text != line.text));
            pencil.command(&whole(plain, &mut lines), &colours);
        }
    }
    // As in PlantUML, the diagram's end is that of an `if`.
    while let Some(open) = pencil.open.last()
        && matches!(open.kind, BlockKind::If { .. })
    {
        let (number, text) = (open.line.number, "endif".to_owned());
        pencil.command(&Line { number, text }, &Colours::default());
    }
    for open in std::mem::take(&mut pencil.open) {
        let (line, end) = (open.line, open.kind.end());
        wrong(
            &line,
            format!("it is not ended, expected {end}"),
            pencil.out,
        );
    }
    pencil.canvas
}

/// A block that is open.
struct OpenBlock {
    kind: BlockKind,
    line: Line,
    /// The ends of its finished branches, and of exits from it.
    ends: Vec<Tail>,
    /// The node that branches leave, or that a loop leads back to.
    node: usize,
    /// An action on the back edge of a loop.
    backward: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum BlockKind {
    If { has_else: bool },
    Switch,
    While,
    Repeat,
    Fork,
    Split,
    Frame,
}

impl BlockKind {
    fn end(self) -> &'static str {
        match self {
            Self::If { .. } => "endif",
            Self::Switch => "endswitch",
            Self::While => "endwhile",
            Self::Repeat => "repeat while",
            Self::Fork => "end fork",
            Self::Split => "end split",
            Self::Frame => "}",
        }
    }
}

struct Pencil<'a> {
    canvas: Canvas,
    open: Vec<OpenBlock>,
    /// Nodes of `label`, which `goto` leads to.
    labels: Vec<(String, usize)>,
    out: &'a mut Collected,
}

/// A label in brackets, or nothing.
fn in_brackets(text: &str) -> &str {
    bracketed(text).map_or("", |found| found.0)
}

/// The label in brackets behind one of some words.
fn label_after<'t>(text: &'t str, words: &[&str]) -> &'t str {
    after_any(text, words).map_or("", in_brackets)
}

/// The form of an action by its last letter, as SDL has them, or by the stereotype behind it.
fn shape_of(end: Option<char>, stereotype: &str) -> Shape {
    let name = stereotype.trim_start_matches("<<").trim_end_matches(">>");
    match (end, name) {
        (Some('|'), _) | (_, "procedure") => Shape::Subroutine,
        (Some('<'), _) | (_, "input") => Shape::Flag,
        (Some('>'), _) | (_, "output") => Shape::Stadium,
        (Some('/'), _) | (_, "load") => Shape::LeanRight,
        (Some('\\'), _) | (_, "save") => Shape::LeanLeft,
        (Some(']'), _) | (_, "task") => Shape::Rectangle,
        (Some('}'), _) | (_, "continuous") => Shape::Hexagon,
        _ => Shape::Rounded,
    }
}

impl Pencil<'_> {
    /// An action, which may go over several lines; whether the line begins one.
    fn action<'l>(&mut self, line: &Line, lines: &mut impl Iterator<Item = &'l Line>) -> bool {
        let Some(first) = action_begin(&line.text) else {
            return false;
        };
        let colour = line.text.strip_suffix(first).unwrap_or_default();
        let colours = filled(Some(colour.trim_end_matches(':')));
        let mut text = first.to_owned();
        let mut semicolon = text.rfind(';');
        while !(is_ended(&text, semicolon) || is_sdl(&text)) {
            let Some(next) = lines.next() else {
                wrong(
                    line,
                    "the action is not ended, expected ; at its end",
                    self.out,
                );
                return true;
            };
            text.push('\n');
            semicolon = next.text.rfind(';').map(|at| text.len() + at).or(semicolon);
            text.push_str(&next.text);
        }
        self.add_action(&text, colours);
        true
    }

    /// Adds an action, whose text still has the sign at its end.
    fn add_action(&mut self, text: &str, colours: Colours) -> usize {
        let text = text.trim_end();
        let semicolon = text.rfind(';');
        if is_ended(text, semicolon)
            && let Some(at) = semicolon
        {
            let stereotype = text[at + 1..].trim();
            let colours = match stereotype.trim_start_matches("<<").trim_end_matches(">>") {
                colour if colour.starts_with('#') => filled(Some(colour)),
                _ => colours,
            };
            let shape = shape_of(None, stereotype);
            return self.canvas.then(creole(&text[..at]), shape, colours);
        }
        let end = text.chars().next_back().filter(|_| is_sdl(text));
        let inside = text.strip_suffix(|_: char| end.is_some()).unwrap_or(text);
        let shape = shape_of(end, "");
        self.canvas.then(creole(inside), shape, colours)
    }

    fn command(&mut self, line: &Line, colours: &Colours) {
        let text = line.text.trim_end_matches(';').trim();
        let canvas = &mut self.canvas;
        match text.to_ascii_lowercase().as_str() {
            "start" => {
                canvas.tails.clear();
                canvas.then(Vec::new(), Shape::Initial, colours.clone());
            }
            word @ ("stop" | "end") => {
                let shape = match word {
                    "stop" => Shape::Final,
                    _ => Shape::FlowFinal,
                };
                canvas.then(Vec::new(), shape, colours.clone());
                canvas.tails.clear();
            }
            "detach" | "kill" => canvas.tails.clear(),
            "break" => self.leave_loop(line),
            _ if self.branch(line, text, colours) || self.frame(line, text) => {}
            _ => self.other(line, text),
        }
    }

    /// A line that opens, continues or closes a block of branches; returns whether it is one.
    fn branch(&mut self, line: &Line, text: &str, colours: &Colours) -> bool {
        // The label of the arrow that leads to it: `(no) elseif (x) then`, `(in) backward :action;`.
        let labelled = bracketed(text).filter(|(_, rest)| {
            after_any(rest, &["elseif", "else if"]).is_some() || rest.starts_with("backward")
        });
        let (label, text) = labelled.unwrap_or(("", text));
        if let Some(rest) = after_any(text, &["elseif", "else if"]) {
            self.else_if(line, label, rest, colours);
        } else if let Some(rest) = after(text, "if").filter(|rest| rest.starts_with('(')) {
            let kind = BlockKind::If { has_else: false };
            self.decide(line, kind, rest, colours);
        } else if let Some(rest) = after(text, "else") {
            self.go_on(line, BlockKind::If { has_else: false }, in_brackets(rest));
        } else if after_any(text, &["endif", "end if"]).is_some() {
            self.close(line, |kind| matches!(kind, BlockKind::If { .. }), text);
        } else if let Some(rest) = after(text, "switch") {
            self.decide(line, BlockKind::Switch, rest, colours);
        } else if let Some(rest) = after(text, "case") {
            self.go_on(line, BlockKind::Switch, in_brackets(rest));
        } else if after_any(text, &["endswitch", "end switch"]).is_some() {
            self.close(line, |kind| kind == BlockKind::Switch, text);
        } else if let Some(rest) = after_any(text, &["endwhile", "end while"]) {
            self.close(line, |kind| kind == BlockKind::While, rest);
        } else if let Some(rest) = after(text, "while").filter(|rest| rest.starts_with('(')) {
            self.decide(line, BlockKind::While, rest, colours);
        } else if let Some(rest) = after_any(text, &["repeat while", "repeatwhile"]) {
            self.close_repeat(line, rest);
        } else if let Some(rest) = after(text, "repeat") {
            self.open_repeat(line, rest, colours);
        } else if let Some(rest) = text.strip_prefix("backward") {
            self.backward(line, rest.trim());
        } else {
            return self.fork(line, text);
        }
        true
    }

    /// `fork`, `fork again`, `end fork` and the same for `split`; returns whether the line is one.
    fn fork(&mut self, line: &Line, text: &str) -> bool {
        let text = text.split_once("<<").map_or(text, |(text, _)| text).trim();
        let again = ["fork again", "forkagain", "split again", "splitagain"];
        let ends = ["end fork", "endfork", "fork end", "end split", "endsplit"];
        if after_any(text, &again).is_some() {
            let kind = match after_any(text, &again[..2]) {
                Some(_) => BlockKind::Fork,
                None => BlockKind::Split,
            };
            self.go_on(line, kind, "");
        } else if let Some(rest) = after_any(text, &ends) {
            self.close(
                line,
                |kind| matches!(kind, BlockKind::Fork | BlockKind::Split),
                rest,
            );
        } else if after_any(text, &["end merge", "endmerge"]).is_some() {
            self.close(line, |kind| kind == BlockKind::Fork, "merge");
        } else if after_any(text, &["fork", "split"]) == Some("") {
            let node = self.canvas.then(Vec::new(), Shape::Bar, Colours::default());
            let kind = match after(text, "fork") {
                Some(_) => BlockKind::Fork,
                None => BlockKind::Split,
            };
            self.open(kind, line, node);
        } else {
            return false;
        }
        true
    }

    fn open(&mut self, kind: BlockKind, line: &Line, node: usize) {
        self.canvas.last = None;
        self.open.push(OpenBlock {
            kind,
            line: line.clone(),
            ends: Vec::new(),
            node,
            backward: None,
        });
    }

    /// A diamond with the condition of a block that begins; its first branch has the label of `is (label)` or `then
    /// (label)`.
    fn decide(&mut self, line: &Line, kind: BlockKind, rest: &str, colours: &Colours) {
        let Some((condition, rest)) = bracketed(rest) else {
            wrong(
                line,
                "no condition in brackets, expected one: if (condition) then (label)",
                self.out,
            );
            return;
        };
        let node = self
            .canvas
            .then(creole(condition), Shape::Diamond, colours.clone());
        if kind == BlockKind::Switch {
            self.canvas.tails.clear();
        } else {
            self.canvas.tails = vec![Tail::of(node, first_label(rest))];
        }
        self.open(kind, line, node);
    }

    /// A further condition, evaluated if the one before does not hold.
    fn else_if(&mut self, line: &Line, label: &str, rest: &str, colours: &Colours) {
        let found = bracketed(rest);
        let (Some((condition, rest)), true) =
            (found, self.is_in(BlockKind::If { has_else: false }))
        else {
            wrong(
                line,
                "elseif without an if or a condition in brackets, expected both",
                self.out,
            );
            return;
        };
        self.go_on(line, BlockKind::If { has_else: false }, label);
        let node = self
            .canvas
            .then(creole(condition), Shape::Diamond, colours.clone());
        self.canvas.tails = vec![Tail::of(node, first_label(rest))];
        self.canvas.last = None;
        if let Some(OpenBlock { kind, node: at, .. }) = self.open.last_mut() {
            (*kind, *at) = (BlockKind::If { has_else: false }, node);
        }
    }

    fn is_in(&self, kind: BlockKind) -> bool {
        self.open.last().is_some_and(|open| open.kind == kind)
    }

    /// The next branch of the innermost block, which must be of that type.
    fn go_on(&mut self, line: &Line, kind: BlockKind, label: &str) {
        if !self.is_in(kind) {
            let reason = "a branch of a block that is not open, expected one around it";
            wrong(line, reason, self.out);
            return;
        }
        if let Some(open) = self.open.last_mut() {
            open.ends.append(&mut self.canvas.tails);
            self.canvas.tails = vec![Tail::of(open.node, label)];
            if kind == (BlockKind::If { has_else: false }) {
                open.kind = BlockKind::If { has_else: true };
            }
        }
        self.canvas.last = None;
    }

    /// Ends the innermost block, if the line ends blocks of its type.
    fn close(&mut self, line: &Line, fits: impl Fn(BlockKind) -> bool, rest: &str) {
        let Some(mut open) = self.open.pop_if(|open| fits(open.kind)) else {
            let end = self.open.last().map_or("nothing", |open| open.kind.end());
            wrong(
                line,
                format!("no such block is open, expected {end}"),
                self.out,
            );
            return;
        };
        let canvas = &mut self.canvas;
        match open.kind {
            BlockKind::If { has_else } => {
                if !has_else {
                    canvas.tails.push(Tail::of(open.node, ""));
                }
                open.ends.append(&mut canvas.tails);
                canvas.tails = open.ends;
                canvas.merge();
            }
            BlockKind::Switch => {
                open.ends.append(&mut canvas.tails);
                canvas.tails = open.ends;
                canvas.merge();
            }
            BlockKind::While => {
                // The last action leads back to the condition, and the flow goes on from there.
                canvas.tie(open.node);
                canvas.tails = vec![Tail::of(open.node, in_brackets(rest))];
                canvas.tails.append(&mut open.ends);
            }
            BlockKind::Fork | BlockKind::Split => {
                open.ends.append(&mut canvas.tails);
                canvas.tails = open.ends;
                if rest == "merge" {
                    canvas.merge();
                } else if !canvas.tails.is_empty() {
                    // The join has the text of `{or}` and the like.
                    let bar = canvas.then(Vec::new(), Shape::Bar, Colours::default());
                    canvas.picture.nodes[bar].text = creole(rest.trim());
                }
            }
            BlockKind::Repeat | BlockKind::Frame => {}
        }
        self.canvas.last = None;
    }

    fn open_repeat(&mut self, line: &Line, rest: &str, colours: &Colours) {
        let node = match rest.split_once(':').filter(|(colour, _)| {
            colour.is_empty() || colour.starts_with('#') && !colour.contains(' ')
        }) {
            Some((colour, action)) => self.add_action(&format!("{action};"), filled(Some(colour))),
            None => self
                .canvas
                .then(Vec::new(), Shape::Diamond, colours.clone()),
        };
        self.open(BlockKind::Repeat, line, node);
    }

    /// An action on the back edge of a loop.
    fn backward(&mut self, line: &Line, rest: &str) {
        let action = rest.strip_prefix(':');
        let (Some(action), Some(kind)) = (action, self.open.last().map(|open| open.kind)) else {
            let reason = "backward without a loop or an action, expected backward :action; in one";
            wrong(line, reason, self.out);
            return;
        };
        // The label of the arrow that leads on.
        let (action, label) = match action.rsplit_once(';') {
            Some((action, label)) => (action, in_brackets(label)),
            None => (action, ""),
        };
        let action = format!("{action};");
        match kind {
            BlockKind::While => {
                let node = self.add_action(&action, Colours::default());
                self.canvas.tails = vec![Tail::of(node, label)];
            }
            BlockKind::Repeat => {
                // The action is on the way back, not behind the loop's body: the loose ends stay as
                // they are.
                let tails = std::mem::take(&mut self.canvas.tails);
                let node = self.add_action(&action, Colours::default());
                self.canvas.tails = tails;
                if let Some(open) = self.open.last_mut() {
                    open.backward = Some(node);
                    let head = open.node;
                    self.canvas.edge(Tail::of(node, label), head);
                }
            }
            _ => wrong(
                line,
                "backward outside of a loop, expected one around it",
                self.out,
            ),
        }
    }

    /// `repeat while (condition) is (label) not (label)`.
    fn close_repeat(&mut self, line: &Line, rest: &str) {
        let Some(mut open) = self.open.pop_if(|open| open.kind == BlockKind::Repeat) else {
            wrong(
                line,
                "repeat while without a repeat, expected one before it",
                self.out,
            );
            return;
        };
        let canvas = &mut self.canvas;
        let (condition, rest) = bracketed(rest).unwrap_or(("", rest));
        let node = canvas.then(creole(condition), Shape::Diamond, Colours::default());
        let (is, rest) = match after_any(rest, &["is", "equals"]) {
            Some(rest) => bracketed(rest).unwrap_or(("", rest)),
            None => ("", rest),
        };
        canvas.edge(Tail::of(node, is), open.backward.unwrap_or(open.node));
        canvas.tails = vec![Tail::of(node, label_after(rest, &["not"]))];
        canvas.tails.append(&mut open.ends);
        if condition.is_empty() {
            // Only `break` leaves it.
            canvas.tails.remove(0);
        }
        canvas.last = None;
    }

    /// `break`: on behind the innermost loop.
    fn leave_loop(&mut self, line: &Line) {
        let is_loop =
            |open: &&mut OpenBlock| matches!(open.kind, BlockKind::While | BlockKind::Repeat);
        match self.open.iter_mut().rev().find(is_loop) {
            Some(open) => open.ends.append(&mut self.canvas.tails),
            None => wrong(
                line,
                "break without a loop, expected one around it",
                self.out,
            ),
        }
    }

    /// `partition`, `group` and the like, and their ends; whether the line is one.
    fn frame(&mut self, line: &Line, text: &str) -> bool {
        let ends = ["end group", "endgroup", "end partition"];
        if text == "}" || after_any(text, &ends).is_some() {
            match self.open.pop_if(|open| open.kind == BlockKind::Frame) {
                Some(_) => {
                    self.canvas.frames.pop();
                    self.canvas.last = None;
                }
                None => wrong(
                    line,
                    "no partition is open, expected none to be ended",
                    self.out,
                ),
            }
            return true;
        }
        let words = ["partition", "group", "package", "rectangle", "card"];
        let Some(rest) = after_any(text, &words) else {
            return false;
        };
        let rest = rest.trim_end_matches('{').trim();
        let is_colour = |word: &&str| word.starts_with('#');
        let colour = rest.split_whitespace().find(is_colour);
        let title = match colour {
            Some(colour) => rest.replacen(colour, "", 1),
            None => rest.to_owned(),
        };
        self.canvas
            .open_frame(title.replace('"', "").trim(), colour);
        self.open(BlockKind::Frame, line, 0);
        true
    }

    fn other(&mut self, line: &Line, text: &str) {
        let canvas = &mut self.canvas;
        if let Some(name) = after_any(text, &["label", "goto"]) {
            let known = self.labels.iter().find(|(known, _)| known == name);
            let node = known.map(|(_, node)| *node).unwrap_or_else(|| {
                let node = canvas.node(Vec::new(), Shape::Diamond, Colours::default());
                self.labels.push((name.to_owned(), node));
                node
            });
            canvas.tie(node);
            if after(text, "label").is_some() {
                canvas.tails = vec![Tail::of(node, "")];
            }
        } else if let Some(name) = connector_name(text) {
            self.connector(name);
        } else if let Some(action) = listed(text) {
            self.add_action(&format!("{action};"), Colours::default());
        } else if is_arrow(text) {
            self.style_edges(text);
        } else if text.starts_with('|') && text.matches('|').count() >= 2 {
            self.lane(text);
        } else if !text.starts_with('#') {
            let reason = "not understood, expected a line of an activity diagram in the new syntax";
            wrong(line, reason, self.out);
        }
    }

    /// A circle with a letter. If the flow continues at one, an invisible edge keeps it below the other with that
    /// letter.
    fn connector(&mut self, name: &str) {
        let canvas = &mut self.canvas;
        let text = creole(name);
        let goes_on = canvas.tails.is_empty();
        let is_other = |node: &PictureNode| node.shape == Shape::Circle && node.text == text;
        let other = canvas.picture.nodes.iter().position(is_other);
        let node = canvas.then(text, Shape::Circle, Colours::default());
        if let Some(from) = other.filter(|_| goes_on) {
            let stroke = Stroke::Hidden;
            let tail = Tail::of(from, "");
            canvas.edge(Tail { stroke, ..tail }, node);
        }
    }

    /// `-[#blue,dashed]-> label`: how the edges are drawn that lead to the next node.
    fn style_edges(&mut self, text: &str) {
        let Some((arrow, label)) = text.split_once('>') else {
            return;
        };
        let (stroke, colour) = arrow_style(arrow);
        for tail in &mut self.canvas.tails {
            tail.label.extend(creole(label.trim()));
            (tail.stroke, tail.colour) = (stroke, colour.clone());
        }
    }

    /// `|name|`, `|#colour|name|`, `|#colour|name|title|`.
    fn lane(&mut self, text: &str) {
        let mut parts = text.trim_matches('|').split('|').map(str::trim).peekable();
        let colour = parts.next_if(|part| part.starts_with('#'));
        let name = parts.next().unwrap_or_default();
        let rest: Vec<_> = parts.collect();
        let title = if rest.is_empty() {
            name.to_owned()
        } else {
            rest.join("|")
        };
        self.canvas.enter_lane(name, &title, colour);
    }
}

/// The label of the branch that is taken if a condition holds.
fn first_label(rest: &str) -> &str {
    if let Some(rest) = after_any(rest, &["is", "equals"]) {
        return in_brackets(rest);
    }
    label_after(rest, &["then"])
}
