//! The new syntax: commands in order, blocks in each other.
//!
//! Nodes have no names here: each command follows the one before. The reader therefore keeps loose
//! ends (`Tail`s of `flow`), which the next node is tied to, and a stack of open blocks (`Frame`s),
//! each of which keeps the ends of its finished branches. The end of a block joins them to the
//! present ones.
//!
//! ```text
//!                             loose ends                 frames
//! :a;                         a
//! if (x > 0) then (yes)       ◇ [x > 0]                  if
//!   :b;                       b                          if
//! else (no)                   ◇ [otherwise]              if, with the end b
//! endif                       b, ◇ [otherwise]
//! :c;                         c, tied to both
//! ```
//!
//! This file recognises commands, actions of several lines and groups; blocks are in `blocks`,
//! notes in `notes`. A group with a stereotype, such as `<<parallel>>`, becomes a graph of its own
//! in a node. Where an action or a condition ends is decided by functions that `sketch` and `scan`
//! use too, so that all three agree on what an element is.

mod blocks;
mod notes;

use super::flow::{Flow, Tail, blank, wrapper};
use super::lines::{Block, Line};
use super::text::{after, bracketed};
use crate::diagram::{
    Annotation, Collected, Graph, NodeKind, Sections, Subject, Wrapper, name_and_words,
};
use blocks::Frame;
pub(super) use blocks::after_any;
use mastermind_programs::Rule;

/// The graph of a diagram.
pub(super) fn graph(block: &Block, sections: &mut Sections, out: &mut Collected) -> Graph {
    let mut reader = Reader {
        flow: Flow::default(),
        frames: Vec::new(),
        sections,
        out,
    };
    let mut lines = block.lines.iter();
    while let Some(line) = lines.next() {
        let line = without_colour(line);
        if !reader.multi_line(&line, &mut lines) {
            reader.command(&whole(line, &mut lines));
        }
    }
    let last = block
        .lines
        .last()
        .map_or_else(|| "line 1".to_owned(), Line::at);
    // As in PlantUML, the diagram's end is that of an `if`.
    while let Some(Frame::If { at, .. }) = reader.frames.last() {
        let place = Subject { element: "if", at };
        let reason = "it is not ended: taken to end with the diagram";
        reader.out.warn(Rule::Ignored, place, reason);
        let number = block.lines.last().map_or(1, |line| line.number);
        let text = "endif".to_owned();
        reader.command(&Line { number, text });
    }
    while let Some(frame) = reader.frames.pop() {
        let reason = format!(
            "\"{}\" is not ended, expected {}",
            frame.word(),
            frame.end()
        );
        let at = frame.at().to_owned();
        let place = Subject {
            element: frame.word(),
            at: &at,
        };
        reader.out.find(Rule::Syntax, place, reason);
    }
    reader.flow.end(&last);
    reader.flow.finish(reader.out)
}

struct Reader<'a> {
    flow: Flow,
    frames: Vec<Frame>,
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

    fn pass_over(&mut self, line: &Line, reason: &str) {
        let shown: String = line.text.chars().take(60).collect();
        let at = line.at();
        let place = Subject {
            element: &shown,
            at: &at,
        };
        self.out.warn(Rule::Ignored, place, reason);
    }

    /// Texts of several lines that are no commands: actions, notes, legends.
    fn multi_line<'l>(&mut self, line: &Line, lines: &mut impl Iterator<Item = &'l Line>) -> bool {
        self.note(line, lines) || self.action(line, lines)
    }

    fn action<'l>(&mut self, line: &Line, lines: &mut impl Iterator<Item = &'l Line>) -> bool {
        let Some(first) = action_begin(&line.text) else {
            return false;
        };
        let mut text = first.to_owned();
        let mut semicolon = text.rfind(';');
        let mut is_complete = is_ended(&text, semicolon) || is_sdl(&text);
        while !is_complete {
            let Some(next) = lines.next() else {
                self.wrong(line, "the action is not ended, expected ; at its end");
                return true;
            };
            text.push('\n');
            // In a long text only the new line is searched.
            semicolon = next.text.rfind(';').map(|at| text.len() + at).or(semicolon);
            text.push_str(&next.text);
            is_complete = is_ended(&text, semicolon)
                || next.text.ends_with(['|', ']', '}', '<']) && is_sdl(&next.text);
        }
        self.add_action(&without_end(&text), &line.at());
        true
    }

    fn add_action(&mut self, text: &str, at: &str) {
        let mut annotation = Annotation::default();
        let name = name_and_words(text, &mut annotation, at, self.out);
        let node = self.flow.then(&name, at, blank());
        self.flow.last = Some(node);
        self.flow.annotations.insert(node, annotation);
    }

    fn command(&mut self, line: &Line) {
        let text = line.text.trim_end_matches(';').trim();
        let at = line.at();
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "start" => {
                if self.flow.graph.nodes.is_empty() {
                    self.flow.then("start", &at, NodeKind::Initial);
                } else {
                    self.flow.tails.clear();
                    let from = self.flow.graph.node("start", at, NodeKind::Initial);
                    self.flow.tails.push(Tail { from, guard: None });
                }
            }
            "stop" | "end" => self.flow.end(&at),
            "detach" | "kill" => self.detach(&at),
            "break" => self.leave_loop(line),
            _ if self.block(line, text) => {}
            _ => self.other(line, text, &at),
        }
    }

    fn other(&mut self, line: &Line, text: &str, at: &str) {
        if let Some(name) = after(text, "label") {
            let node = self.flow.label(name, at);
            self.flow.merge(at);
            self.flow.tie(node);
            self.flow.tails = vec![Tail {
                from: node,
                guard: None,
            }];
        } else if let Some(name) = after(text, "goto") {
            let node = self.flow.label(name, at);
            self.flow.tie(node);
        } else if let Some(name) = connector_name(text) {
            self.connector(name, at);
        } else if let Some(action) = listed(text) {
            self.add_action(action, at);
        } else if is_arrow(text) {
            if text.trim_end_matches('>').contains('>') || !text.ends_with('>') {
                self.pass_over(line, "the text of an arrow");
            }
        } else if text.starts_with('|') && text.len() > 1 && text.ends_with('|')
            || text.starts_with('|') && text.matches('|').count() >= 2
        {
            self.pass_over(line, "a swimlane: it says who, not how long");
        } else if lower_is_colour(text) {
            self.pass_over(line, "layout");
        } else {
            self.wrong(
                line,
                "not understood, expected a line of an activity diagram in the new syntax",
            );
        }
    }

    /// A small circle: the flow continues at its other half.
    fn connector(&mut self, name: &str, at: &str) {
        let node = self.flow.label(&format!("({name})"), at);
        self.flow.tie(node);
        self.flow.last = None;
        self.flow.tails = vec![Tail {
            from: node,
            guard: None,
        }];
    }

    fn detach(&mut self, at: &str) {
        // `detach` behind a connector ends its picture, not the flow, which goes on at its other
        // half.
        let connector = match self.flow.tails.as_slice() {
            [tail] => {
                let node = &self.flow.graph.nodes[tail.from];
                node.kind == NodeKind::Merge && node.name.starts_with('(')
            }
            _ => false,
        };
        if connector {
            self.flow.tails.clear();
        } else {
            self.flow.end(at);
        }
    }

    /// `partition`, `group` and the like; whether the line is one.
    fn open_group(&mut self, line: &Line, text: &str) -> bool {
        let words = ["partition", "group", "package", "rectangle", "card"];
        let Some((word, rest)) = words.iter().find_map(|w| Some((*w, after(text, w)?))) else {
            return false;
        };
        let is_closed = word == "group" && !rest.ends_with('{');
        let Some(rest) = rest.strip_suffix('{').or(is_closed.then_some(rest)) else {
            self.wrong(line, format!("no {{ after {word}, expected it"));
            return true;
        };
        let mut text = rest.trim().to_owned();
        if text.starts_with('#')
            && let Some((_, name)) = text.split_once(' ')
        {
            text = name.to_owned();
        }
        let text = text.replace('"', "");
        let mut annotation = Annotation::default();
        let name = name_and_words(&text, &mut annotation, &line.at(), self.out);
        // A group with a type is a flow of its own; all others only frame what is in them.
        let outer = annotation
            .is_wrapper()
            .then(|| std::mem::take(&mut self.flow));
        self.frames.push(Frame::Group {
            at: line.at(),
            name,
            annotation,
            outer,
        });
        self.flow.last = None;
        true
    }

    fn close_group(&mut self, name: &str, annotation: Annotation, outer: Option<Flow>, at: &str) {
        let wrapper = wrapper(annotation, name, at, self.out);
        let Some(outer) = outer else {
            return;
        };
        self.wrap(outer, name, wrapper, at);
    }

    /// Makes the present flow a group in an outer one.
    fn wrap(&mut self, outer: Flow, name: &str, wrapper: Wrapper, at: &str) {
        let mut inner = std::mem::replace(&mut self.flow, outer);
        inner.end(at);
        let graph = inner.finish(self.out);
        self.flow.then(name, at, NodeKind::Group(wrapper, graph));
        self.flow.last = None;
    }
}

/// Most lines of a condition, or of the text of an arrow.
const MAX_LINES: usize = 50;

/// Words that a command with a condition begins with.
const CONDITIONAL: [&str; 7] = [
    "if",
    "elseif",
    "else if",
    "else",
    "while",
    "repeat while",
    "switch",
];

/// The name of a connector, `(A)`: one or two letters.
pub(super) fn connector_name(text: &str) -> Option<&str> {
    let (name, rest) = bracketed(text)?;
    (rest.is_empty() && (1..=2).contains(&name.chars().count())).then_some(name)
}

/// A line without the colour in front of a command: `#lightgreen:if (ready?) then (yes)`.
pub(super) fn without_colour(line: &Line) -> Line {
    let after_colour = line
        .text
        .strip_prefix('#')
        .and_then(|rest| rest.split_once(':'))
        .filter(|(colour, _)| colour.chars().all(|c| c.is_ascii_alphanumeric()))
        .map(|(_, rest)| rest.trim_start());
    let is_command = |rest: &&str| {
        let is_connector = connector_name(rest).is_some();
        let mut conditions = CONDITIONAL.iter().filter_map(|word| after(rest, word));
        is_connector || conditions.any(|rest| rest.starts_with('(')) && !rest.ends_with(';')
    };
    match after_colour.filter(is_command) {
        Some(rest) => Line {
            number: line.number,
            text: rest.to_owned(),
        },
        None => line.clone(),
    }
}

/// A command with the lines that its condition, or the text of its arrow, goes over.
pub(super) fn whole(mut line: Line, lines: &mut std::slice::Iter<'_, Line>) -> Line {
    let conditions = || {
        CONDITIONAL
            .iter()
            .filter_map(|word| after(&line.text, word))
    };
    // A condition goes on until its brackets are closed.
    let n_more = if conditions().any(|rest| rest.starts_with('(')) {
        let mut open = brackets(&line.text);
        let ahead = lines.clone().take(MAX_LINES);
        ahead
            .take_while(|next| {
                let was_open = open > 0;
                open += brackets(&next.text);
                was_open
            })
            .count()
    } else {
        arrow_lines(&line.text, lines.clone())
    };
    for next in lines.take(n_more) {
        line.text.push(' ');
        line.text.push_str(&next.text);
    }
    line
}

/// Brackets that open less those that close.
fn brackets(text: &str) -> i64 {
    text.matches('(').count() as i64 - text.matches(')').count() as i64
}

/// How many lines more the text of an arrow goes over: up to its semicolon, if that comes before the next command.
fn arrow_lines(text: &str, ahead: std::slice::Iter<'_, Line>) -> usize {
    let said = is_arrow(text).then(|| text.split_once('>')).flatten();
    if said.is_none_or(|(_, said)| said.trim().is_empty() || said.trim_end().ends_with(';')) {
        return 0;
    }
    let is_command = |text: &str| {
        let words = [
            "if",
            "else",
            "elseif",
            "endif",
            "end",
            "endwhile",
            "while",
            "repeat",
            "switch",
            "case",
            "fork",
            "split",
            "stop",
            "start",
            "detach",
            "kill",
            "note",
            "partition",
            "group",
        ];
        text.starts_with([':', '-', '|', '#', '(', '}'])
            || words.iter().any(|word| after(text, word).is_some())
    };
    for (i, next) in ahead.take(MAX_LINES).enumerate() {
        if is_command(&next.text) {
            break;
        }
        if next.text.ends_with(';') {
            return i + 1;
        }
    }
    0
}

/// The text of an action after its colon, and after a colour before that.
pub(super) fn action_begin(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(':') {
        return Some(rest);
    }
    let (colour, rest) = text.strip_prefix('#')?.split_once(':')?;
    let is_colour = colour
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "#;.-/\\|".contains(c));
    is_colour.then_some(rest)
}

/// Whether an action's text has its end, given where its last semicolon is.
pub(super) fn is_ended(text: &str, semicolon: Option<usize>) -> bool {
    let rest = semicolon.map(|at| text[at + 1..].trim());
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with("<<") && rest.ends_with(">>")))
}

/// Whether a line begins an action that continues in the next one.
pub(super) fn begins_action(line: &str) -> bool {
    action_begin(line).is_some_and(|text| !is_ended(text, text.rfind(';')) && !is_sdl(text))
}

/// Whether a line ends an action.
pub(super) fn ends_action(line: &str) -> bool {
    is_ended(line, line.rfind(';')) || line.ends_with(['|', ']', '}', '<']) && is_sdl(line)
}

/// Whether the sign of an SDL shape ends an action of one line.
pub(super) fn is_sdl(text: &str) -> bool {
    let text = text.trim_end();
    match text.chars().next_back() {
        Some('|' | '/' | '\\') => true,
        Some('<') => !text.ends_with("<<"),
        Some('>') => !text.ends_with(">>"),
        Some('}') => !text.contains('{'),
        Some(']') => !text.contains('['),
        _ => false,
    }
}

/// The action of a list: `- action`, `* action`, `** one of its parts`.
pub(super) fn listed(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix('-') {
        Some(rest) => rest,
        None => text.strip_prefix('*')?.trim_start_matches('*'),
    };
    rest.strip_prefix(' ').map(str::trim)
}

/// The text of an action without the sign at its end.
fn without_end(text: &str) -> String {
    let text = text.trim_end();
    if let Some(begin) = text.rfind(";") {
        let (action, rest) = (&text[..begin], text[begin + 1..].trim());
        if rest.is_empty() || rest.starts_with("<<") {
            return format!("{action} {rest}");
        }
    }
    let mut letters = text.chars();
    letters.next_back();
    letters.as_str().to_owned()
}

/// `->`, `-->`, `-[#blue]->`, and a text after it.
pub(super) fn is_arrow(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('-') else {
        return false;
    };
    rest.find('>').is_some_and(|end| {
        let body = &rest[..end];
        body.is_empty() || body.ends_with('-') && (body.len() == 1 || body.contains('['))
    })
}

fn lower_is_colour(text: &str) -> bool {
    text.starts_with('#') && text[1..].chars().all(|c| c.is_ascii_alphanumeric())
}
