//! A file as diagrams, each as its significant lines.
//!
//! This is the first stage of reading PlantUML, for a program (`new`, `legacy`) and for a picture
//! (`sketch`). It removes comments, puts definitions of the preprocessor in, skips layout, and
//! splits the file at `@startuml` and `@enduml`. What is left are the lines that may matter for the
//! flow, with their numbers in the file for messages. Skipped lines are warned of, unless they are
//! comments.
//!
//! ```text
//! 1  @startuml Main
//! 2  ' a comment                    dropped
//! 3  !$n = "800"                    a definition
//! 4  skinparam monochrome true      layout: skipped, with a warning
//! 5  :send $n;                      Line { number: 5, text: ":send 800;" }
//! 6  @enduml
//! ```
//!
//! Notes and actions of several lines are recognised here already (`Inside`): a line in them may
//! begin with any word, and `hide` or `title` in a note is no layout. Their contents are understood
//! later, by `new` and `legacy`.

use super::new;
use super::text::after;
use crate::diagram::{Collected, Subject};
use mastermind_programs::Rule;

/// A diagram: its name, its title, and the lines up to `@enduml` that may matter for its flow.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) name: String,
    /// Lines of its title.
    pub(super) title: Vec<String>,
    pub(super) lines: Vec<Line>,
}

/// A line, without comments and the blanks around it; never blank.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: usize,
    pub(super) text: String,
}

impl Line {
    /// `line 12`.
    pub(super) fn at(&self) -> String {
        format!("line {}", self.number)
    }
}

/// Words that a line of layout begins with.
pub(super) const LAYOUT: [&str; 20] = [
    "title",
    "header",
    "footer",
    "caption",
    "skinparam",
    "hide",
    "show",
    "scale",
    "mainframe",
    "page",
    "sprite",
    "skin",
    "set",
    "left to right",
    "top to bottom",
    "right header",
    "left header",
    "center header",
    "right footer",
    "center footer",
];

/// Begin and end of blocks without effect on the flow.
pub(super) const LAYOUT_BLOCKS: [(&str, &str); 5] = [
    ("<style>", "</style>"),
    ("@pause", "@unpause"),
    ("title", END_OF_TITLE),
    ("header", "endheader"),
    ("footer", "endfooter"),
];

const END_OF_TITLE: &str = "end title";

/// Preprocessor lines that do not change the flow.
const HARMLESS: [&str; 4] = ["!theme", "!pragma", "!option", "!assume"];

/// Longest line after names are replaced, bytes, and most of such names: a file of few lines could make a line of any length.
const MAX_EXPANDED: usize = 1 << 14;
const MAX_DEFINITIONS: usize = 1000;

/// Text of several lines, each of which may begin with any word: a note, a legend, an action.
#[derive(Debug, Default)]
enum Inside {
    #[default]
    Nothing,
    /// Up to one of these.
    Note([&'static str; 2]),
    Action,
}

impl Inside {
    /// Whether a line is inside a block, its first line not counted.
    fn is_in(&mut self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        match self {
            Self::Note(ends) => {
                if ends.contains(&lower.as_str()) {
                    *self = Self::Nothing;
                }
                true
            }
            Self::Action => {
                if new::ends_action(text) {
                    *self = Self::Nothing;
                }
                true
            }
            Self::Nothing => {
                let note = after(text, "floating").unwrap_or(text);
                if after(text, "legend").is_some() {
                    *self = Self::Note(["end legend", "endlegend"]);
                } else if after(note, "note").is_some_and(|rest| !rest.contains([':', '"'])) {
                    *self = Self::Note(["end note", "endnote"]);
                } else if new::begins_action(text) {
                    *self = Self::Action;
                }
                false
            }
        }
    }
}

/// Names that the preprocessor puts a text in for: `!$name = "text"`, `!define NAME text`.
#[derive(Debug, Default)]
struct Definitions(Vec<(String, String)>);

impl Definitions {
    /// The line with the texts in it; nothing for a line that defines one.
    fn line(&mut self, text: String, number: usize, out: &mut Collected) -> Option<String> {
        let expanded = self.expand(text);
        let at = format!("line {number}");
        let place = Subject {
            element: "!",
            at: &at,
        };
        if expanded.len() > MAX_EXPANDED && !self.0.is_empty() || self.0.len() > MAX_DEFINITIONS {
            let reason = "names of the preprocessor make too long a text, expected at most 16384 bytes a line and 1000 names";
            out.find(Rule::TooLarge, place, reason);
            self.0.clear();
            return None;
        }
        match defined(expanded.trim()) {
            Some((name, value)) => {
                self.0.retain(|(known, _)| *known != name);
                self.0.push((name, value));
                None
            }
            None => Some(expanded),
        }
    }

    fn expand(&self, mut text: String) -> String {
        let is_definition = text.trim_start().starts_with('!');
        for (name, value) in &self.0 {
            let from = if is_definition {
                // The name that a definition gives a text is not substituted.
                text.find('=').unwrap_or(text.len())
            } else {
                0
            };
            // Definitions that contain others may double the text each time: beyond the limit it
            // grows no more, and `line` reports it.
            if text[from..].contains(name.as_str()) && text.len() <= MAX_EXPANDED {
                text = text[..from].to_owned() + &put_in(&text[from..], name, value);
            }
        }
        text
    }
}

/// The text with a value wherever a name occurs as a whole word.
fn put_in(text: &str, name: &str, value: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_word =
            // A name that begins with `$` may touch letters in front of it.
            !after.starts_with(is_part) && (name.starts_with('$') || !before.ends_with(is_part));
        made.push_str(before);
        made.push_str(if is_word { value } else { name });
        rest = after;
    }
    made + rest
}

/// The name and the text of a line that defines one.
fn defined(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix('!')?.trim_start();
    let (name, value) = match rest.strip_prefix("define ") {
        Some(rest) => rest.trim().split_once(' ')?,
        None => rest.strip_prefix('$').and(rest.split_once('='))?,
    };
    let name = name.trim().trim_end_matches('?').trim_end();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let value = value.trim().trim_matches('"');
    (!name.is_empty() && name.chars().all(is_name)).then(|| (name.to_owned(), value.to_owned()))
}

/// The diagrams of a file.
pub(super) fn blocks(text: &str, out: &mut Collected) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut comment = false;
    let mut layout: Option<&str> = None;
    let mut inside = Inside::default();
    let mut definitions = Definitions::default();
    let lines = text.trim_start_matches('\u{feff}').lines().zip(1..);
    for (text, number) in lines {
        let text = without_comments(text, &mut comment);
        let Some(text) = definitions.line(text, number, out) else {
            continue;
        };
        let text = text.trim();
        let line = Line {
            number,
            text: text.to_owned(),
        };
        if let Some(rest) = text.strip_prefix("@startuml") {
            blocks.extend(open.take());
            let name = rest.trim().trim_matches('"').to_owned();
            open = Some(Block {
                name,
                ..Block::default()
            });
            continue;
        }
        if text.starts_with("@enduml") {
            blocks.extend(open.take());
            (layout, inside) = (None, Inside::default());
            continue;
        }
        let Some(block) = &mut open else {
            if text.starts_with("@start") {
                other(&line, out);
            }
            continue;
        };
        if let Some(end) = layout {
            if text
                .replace(' ', "")
                .eq_ignore_ascii_case(&end.replace(' ', ""))
            {
                layout = None;
            } else if end == END_OF_TITLE {
                block.title.push(text.to_owned());
            }
        } else if inside.is_in(text) {
            if !text.is_empty() {
                block.lines.push(line);
            }
        } else if !text.is_empty() {
            block.title.extend(title(text).map(str::to_owned));
            match passed_over(&line, out) {
                Passed::No => block.lines.push(line),
                Passed::Line => {}
                Passed::UpTo(end) => layout = Some(end),
            }
        }
    }
    if let Some(block) = open {
        let at = format!("line {}", text.lines().count());
        let place = Subject {
            element: "file",
            at: &at,
        };
        out.find(
            Rule::Syntax,
            place,
            "no @enduml, expected the end of the diagram",
        );
        blocks.push(block);
    }
    blocks
}

/// The text of a title of one line.
fn title(text: &str) -> Option<&str> {
    let rest = after(text, "title")?;
    Some(rest.trim_start_matches(':').trim()).filter(|rest| !rest.is_empty())
}

fn other(line: &Line, out: &mut Collected) {
    let at = line.at();
    let place = Subject {
        element: &line.text,
        at: &at,
    };
    out.find(
        Rule::Syntax,
        place,
        "no activity diagram, expected @startuml",
    );
}

enum Passed {
    No,
    Line,
    UpTo(&'static str),
}

/// Whether a line has no effect on the flow.
fn passed_over(line: &Line, out: &mut Collected) -> Passed {
    let lower = line.text.to_ascii_lowercase();
    let at = line.at();
    let first = lower.split_whitespace().next().unwrap_or_default();
    let place = Subject {
        element: first,
        at: &at,
    };
    if lower.starts_with('!') {
        if HARMLESS.iter().any(|word| lower.starts_with(word)) {
            out.warn(
                Rule::Ignored,
                place,
                "a line of the preprocessor that changes no flow",
            );
        } else if lower.starts_with("!include") {
            out.warn(
                Rule::Ignored,
                place,
                "the lines of another file: they are not read",
            );
        } else {
            let reason = "a line of the preprocessor, expected its output (plantuml -preproc)";
            out.find(Rule::Syntax, place, reason);
        }
        return Passed::Line;
    }
    for (begin, end) in LAYOUT_BLOCKS {
        if lower == begin {
            out.warn(Rule::Ignored, place, "layout");
            return Passed::UpTo(end);
        }
    }
    if (lower.starts_with("skinparam") || lower.starts_with("sprite ")) && lower.ends_with('{') {
        out.warn(Rule::Ignored, place, "layout");
        return Passed::UpTo("}");
    }
    let is_layout = LAYOUT.iter().any(|word| {
        lower
            .strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
    });
    if is_layout {
        out.warn(Rule::Ignored, place, "layout");
        return Passed::Line;
    }
    Passed::No
}

/// The line without a comment `' …` at its begin, and without `/' … '/`.
fn without_comments(text: &str, inside: &mut bool) -> String {
    let mut kept = String::new();
    let mut rest = text;
    loop {
        if *inside {
            let Some(end) = rest.find("'/") else {
                return kept;
            };
            (*inside, rest) = (false, &rest[end + 2..]);
        }
        if kept.trim().is_empty() && rest.trim_start().starts_with('\'') {
            return kept;
        }
        let Some(begin) = rest.find("/'") else {
            kept.push_str(rest);
            return kept;
        };
        kept.push_str(&rest[..begin]);
        (*inside, rest) = (true, &rest[begin + 2..]);
    }
}
