//! A file of Mermaid reduced to its statements: without front matter, directives, comments, and the line with the
//! diagram type.

use crate::diagram::{Collected, Subject};
use crate::picture::Direction;
use mastermind_programs::Rule;

/// The rest of a file.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The statements, with as many lines in front of each of them as in the file.
    pub(super) body: String,
    /// Where each line of the body begins.
    begins: Vec<usize>,
    pub(super) title: Option<String>,
    pub(super) direction: Direction,
    /// Comments with their lines.
    pub(super) comments: Vec<(usize, String)>,
}

/// Other types of diagrams, by their first word.
const OTHERS: [(&str, &str); 28] = [
    ("sequenceDiagram", "a sequence diagram"),
    ("classDiagram", "a class diagram"),
    ("stateDiagram", "a state diagram"),
    ("erDiagram", "an entity relationship diagram"),
    ("gantt", "a Gantt chart"),
    ("pie", "a pie chart"),
    ("journey", "a user journey"),
    ("gitGraph", "a git graph"),
    ("mindmap", "a mind map"),
    ("timeline", "a timeline"),
    ("quadrantChart", "a quadrant chart"),
    ("requirementDiagram", "a requirement diagram"),
    ("requirement", "a requirement diagram"),
    ("C4", "a C4 diagram"),
    ("sankey", "a Sankey diagram"),
    ("xychart", "an XY chart"),
    ("block", "a block diagram"),
    ("packet", "a packet diagram"),
    ("kanban", "a Kanban board"),
    ("architecture", "an architecture diagram"),
    ("zenuml", "a ZenUML diagram"),
    ("radar", "a radar chart"),
    ("treemap", "a treemap"),
    ("treeView", "a tree view"),
    ("venn", "a Venn diagram"),
    ("ishikawa", "an Ishikawa diagram"),
    ("wardley", "a Wardley map"),
    ("info", "a note of the version"),
];

/// The direction of that name.
pub(super) fn direction(name: &str) -> Option<Direction> {
    Some(match name {
        "TB" | "TD" | "v" => Direction::Down,
        "BT" | "^" => Direction::Up,
        "LR" | "BR" | ">" => Direction::Right,
        "RL" | "<" => Direction::Left,
        _ => return None,
    })
}

impl Source {
    /// Reads a file; a diagram of another type is a finding.
    pub(super) fn of(text: &str, out: &mut Collected) -> Self {
        let mut source = Self::default();
        let text = text.trim_start_matches('\u{feff}');
        let text = source.without_front_matter(text);
        let text = without_directives(&text);
        let mut body = String::with_capacity(text.len());
        for (line, number) in text.lines().zip(1..) {
            let comment = line.trim_start().strip_prefix("%%");
            match comment {
                Some(comment) => source.comments.push((number, comment.trim().to_owned())),
                // A file may hold its diagram as Markdown does.
                None if line.trim_start().starts_with("```") => {}
                None => body.push_str(line),
            }
            body.push('\n');
        }
        source.body = body;
        let ends = source.body.bytes().enumerate();
        let begins = ends.filter_map(|(at, byte)| (byte == b'\n').then_some(at + 1));
        source.begins = std::iter::once(0).chain(begins).collect();
        source.header(out);
        source
    }

    /// The line of a place in the body, from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= at)
    }

    /// Takes `---`, lines of YAML and `---` at the begin out; the title is kept.
    fn without_front_matter(&mut self, text: &str) -> String {
        let mut lines = text.lines();
        let blank = lines
            .by_ref()
            .take_while(|line| line.trim().is_empty())
            .count();
        let mut all = text.lines().skip(blank);
        if all.next().map(str::trim) != Some("---") {
            return text.to_owned();
        }
        let mut n_lines = blank + 1;
        for line in all {
            n_lines += 1;
            if line.trim() == "---" {
                let body: Vec<_> = text.lines().skip(n_lines).collect();
                return "\n".repeat(n_lines) + &body.join("\n");
            }
            if let Some(title) = line.trim_start().strip_prefix("title:") {
                let title = title.trim().trim_matches(['"', '\'']);
                self.title = Some(title.to_owned()).filter(|title| !title.is_empty());
            }
        }
        text.to_owned()
    }

    /// Takes `flowchart TD` out of the body.
    fn header(&mut self, out: &mut Collected) {
        let trimmed = self.body.trim_start();
        let begin = self.body.len() - trimmed.len();
        let end = trimmed.find(|c: char| c.is_whitespace() || matches!(c, ';' | ':' | '{'));
        let word = &trimmed[..end.unwrap_or(trimmed.len())];
        if !matches!(word, "graph" | "flowchart" | "flowchart-elk") {
            let other = OTHERS.iter().find(|(begin, _)| word.starts_with(begin));
            let reason = match (other, word) {
                (Some((_, kind)), _) => format!("it is {kind}, expected a flowchart"),
                (None, "") => "there is nothing in it, expected graph or flowchart".to_owned(),
                (None, _) => "no flowchart, expected graph or flowchart at its begin".to_owned(),
            };
            let at = format!("line {}", self.line_of(begin));
            let shown: String = word.chars().take(60).collect();
            let place = Subject {
                element: if shown.is_empty() { "file" } else { &shown },
                at: &at,
            };
            out.find(Rule::Syntax, place, reason);
            self.body.clear();
            return;
        }
        let behind = begin + word.len();
        let after = self.body[behind..].trim_start_matches([' ', '\t']);
        let from = self.body.len() - after.len();
        let end = after.find(|c: char| c.is_whitespace() || c == ';');
        let name = &after[..end.unwrap_or(after.len())];
        let end = match direction(name) {
            Some(direction) => {
                self.direction = direction;
                from + name.len()
            }
            None => behind,
        };
        // The removed text becomes blanks, so that lines and positions stay.
        let blank: String = self.body[..end]
            .chars()
            .map(|c| {
                if c == '\n' {
                    "\n".to_owned()
                } else {
                    " ".repeat(c.len_utf8())
                }
            })
            .collect();
        self.body.replace_range(..end, &blank);
    }
}

/// Takes `%%{init: …}%%` out; its lines stay, empty.
fn without_directives(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("%%{") {
        let Some(end) = rest[begin..].find("}%%") else {
            break;
        };
        kept.push_str(&rest[..begin]);
        let inside = &rest[begin..begin + end];
        kept.push_str(&"\n".repeat(inside.matches('\n').count()));
        rest = &rest[begin + end + 3..];
    }
    kept.push_str(rest);
    kept
}
