//! A flowchart as it is written: nodes, links, subgraphs, colours, and the comments between.
//!
//! `Parser` goes through the text statement by statement. A statement that is not understood is a finding, and reading
//! continues with the next line; so all mistakes of a file are reported.
//!
//! # Source
//! Mermaid, `packages/mermaid/src/diagrams/flowchart/parser/flow.jison` and `flowDb.ts`.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::links::{Written, around, whole};
use super::shapes::{bracketed, named};
use super::source::Source;
use crate::diagram::{Collected, Subject};
use crate::picture::{Colours, Direction, Shape};
use mastermind_programs::Rule;

/// Maximum number of nodes, links and subgraphs: `&` makes many links of few letters, and no chart
/// needs as many.
const MAX_PARTS: usize = 100_000;

/// Deepest nesting of subgraphs.
const MAX_DEPTH: usize = 32;

/// A flowchart.
#[derive(Debug, Default)]
pub(super) struct Chart {
    pub(super) direction: Direction,
    pub(super) nodes: Vec<Vertex>,
    pub(super) links: Vec<Link>,
    pub(super) groups: Vec<Subgraph>,
    pub(super) classes: BTreeMap<String, Colours>,
    /// Colours of links by their number; `None` is for all.
    pub(super) link_colours: BTreeMap<Option<usize>, String>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Vertex {
    pub(super) id: String,
    /// The text in its brackets, if it has any.
    pub(super) label: Option<Label>,
    pub(super) shape: Shape,
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) group: Option<usize>,
    pub(super) classes: Vec<String>,
    pub(super) colours: Colours,
}

/// A text, and whether it is Markdown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) is_markdown: bool,
}

/// A link between nodes, by their places in the list.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) written: Written,
    pub(super) label: Label,
    pub(super) line: usize,
}

/// A subgraph.
#[derive(Debug)]
pub(super) struct Subgraph {
    pub(super) id: String,
    pub(super) title: Label,
    pub(super) parent: Option<usize>,
    pub(super) line: usize,
}

impl Chart {
    /// Nodes that are ends of links and represent a subgraph of that name.
    pub(super) fn groups_as_ends(&self) -> BTreeMap<usize, usize> {
        let groups = self.groups.iter().enumerate();
        let groups: HashMap<&str, usize> = groups.map(|(i, group)| (&*group.id, i)).collect();
        let plain = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.label.is_none());
        plain
            .filter_map(|(i, node)| Some((i, *groups.get(&*node.id)?)))
            .collect()
    }
}

/// Reads the statements of a flowchart.
pub(super) fn chart(source: &Source, out: &mut Collected) -> Chart {
    let mut parser = Parser {
        text: &source.body,
        at: 0,
        source,
        chart: Chart {
            direction: source.direction,
            ..Chart::default()
        },
        ids: HashMap::new(),
        links: HashSet::new(),
        open: Vec::new(),
        out,
    };
    parser.statements();
    parser.chart
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    source: &'a Source,
    chart: Chart,
    ids: HashMap<String, usize>,
    /// Names of links.
    links: HashSet<&'a str>,
    /// Subgraphs that are open, the outermost first.
    open: Vec<usize>,
    out: &'a mut Collected,
}

/// Statements for the appearance of an element, or for a click on it.
const APPEARANCE: [&str; 8] = [
    "style",
    "classDef",
    "class",
    "linkStyle",
    "click",
    "accTitle",
    "accDescr",
    "direction",
];

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_skipped).len();
    }

    fn line(&self) -> usize {
        self.source.line_of(self.at)
    }

    fn wrong(&mut self, from: usize, rule: Rule, reason: &str) {
        let text = self.text[from..].lines().next().unwrap_or_default().trim();
        let element: String = text.chars().take(60).collect();
        let at = format!("line {}", self.source.line_of(from));
        let place = Subject {
            element: &element,
            at: &at,
        };
        self.out.find(rule, place, reason);
    }

    fn statements(&mut self) {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest().is_empty() {
                break;
            }
            let from = self.at;
            let parts = self.chart.nodes.len() + self.chart.links.len() + self.chart.groups.len();
            if parts > MAX_PARTS {
                let reason = "too many nodes and links, expected at most 100000";
                self.wrong(from, Rule::TooLarge, reason);
                return;
            }
            if let Err(reason) = self.statement() {
                self.wrong(from, Rule::Syntax, &reason);
                self.skip(|c| c != '\n');
            }
        }
        if let Some(group) = self.open.last() {
            let group = &self.chart.groups[*group];
            let at = format!("line {}", group.line);
            let place = Subject {
                element: "subgraph",
                at: &at,
            };
            let reason = format!("subgraph \"{}\" is not ended, expected end", group.id);
            self.out.find(Rule::Syntax, place, reason);
        }
    }

    /// The rest of a statement; semicolons between quotes do not end it.
    fn rest_of_statement(&mut self) -> &'a str {
        let rest = self.rest();
        let mut quoted = false;
        let ends = |(at, letter): &(usize, char)| {
            quoted ^= *letter == '"';
            // A quoted text may go over to the next line, which then has its end.
            let goes_on = || {
                rest[at + 1..]
                    .lines()
                    .next()
                    .is_some_and(|next| next.contains('"'))
            };
            match letter {
                '\n' => !quoted || !goes_on(),
                ';' => !quoted,
                _ => false,
            }
        };
        let end = rest.char_indices().find(ends);
        let end = end.map_or(rest.len(), |(at, _)| at);
        self.at += end;
        rest[..end].trim()
    }

    /// A word that the statement begins with and that ends there.
    fn keyword(&mut self, word: &str) -> bool {
        let is_it = self.rest().strip_prefix(word).is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == ';')
        });
        if is_it {
            self.at += word.len();
        }
        is_it
    }

    fn statement(&mut self) -> Result<(), String> {
        if self.keyword("subgraph") {
            return self.subgraph();
        }
        if self.keyword("end") {
            return match self.open.pop() {
                Some(_) => Ok(()),
                None => Err("no subgraph is open, expected subgraph before it".to_owned()),
            };
        }
        if self.rest().starts_with("accDescr") && self.rest()[8..].trim_start().starts_with('{') {
            self.skip(|c| c != '}');
            self.skip(|c| c == '}');
            return Ok(());
        }
        let word = APPEARANCE.iter().find(|word| {
            let after = self.rest().strip_prefix(**word);
            after.is_some_and(|rest| {
                rest.starts_with([' ', '\t']) || (word.starts_with("acc") && rest.starts_with(':'))
            })
        });
        if let Some(word) = word {
            self.at += word.len();
            let said = self.rest_of_statement();
            self.look(word, said);
            return Ok(());
        }
        if self.link_data()? {
            return Ok(());
        }
        self.chain()
    }

    /// `e1@{ animate: true }` of a link with the name `e1`, which says how it moves on a screen; whether it is that.
    fn link_data(&mut self) -> Result<bool, String> {
        let name = identifier(self.rest());
        let data = self.rest()[name.len()..].strip_prefix("@{");
        let Some(data) = data.filter(|_| self.links.contains(name)) else {
            return Ok(false);
        };
        let Some((_, length)) = shape_data(data) else {
            return Err(format!(
                "the data of link \"{name}\" are not ended, expected }}"
            ));
        };
        self.at += name.len() + 2 + length;
        Ok(true)
    }

    fn look(&mut self, word: &str, said: &str) {
        let said = said.trim_end_matches(';').trim();
        let (names, rest) = said
            .split_once(|c: char| c.is_whitespace())
            .unwrap_or((said, ""));
        let names = names.split(',').map(str::trim).filter(|n| !n.is_empty());
        match word {
            "style" => {
                for name in names {
                    if let Some(node) = self.ids.get(name) {
                        colours(rest, &mut self.chart.nodes[*node].colours);
                    }
                }
            }
            "classDef" => {
                for name in names {
                    let known = self.chart.classes.entry(name.to_owned()).or_default();
                    colours(rest, known);
                }
            }
            "class" => {
                for name in names {
                    if let Some(node) = self.ids.get(name) {
                        let class = rest.trim().to_owned();
                        self.chart.nodes[*node].classes.push(class);
                    }
                }
            }
            "linkStyle" => {
                let mut found = Colours::default();
                colours(rest, &mut found);
                if let Some(colour) = found.stroke {
                    for name in names {
                        let number = name.parse().ok();
                        if number.is_some() || name == "default" {
                            self.chart.link_colours.insert(number, colour.clone());
                        }
                    }
                }
            }
            "direction" if self.open.is_empty() => {
                self.chart.direction = super::source::direction(said).unwrap_or_default();
            }
            _ => {}
        }
    }

    fn subgraph(&mut self) -> Result<(), String> {
        let line = self.line();
        let said = self.rest_of_statement();
        let n = self.chart.groups.len() + 1;
        let begin = said.find(['[', '"']).filter(|at| {
            // `subgraph id[title]`, `subgraph "title"`; else the text is both.
            said.as_bytes()[*at] == b'[' || *at == 0
        });
        let (id, title) = match begin {
            Some(at) => {
                let id = said[..at].trim();
                let title = said[at..].trim().trim_start_matches('[');
                (id, title.trim_end_matches(']').trim())
            }
            None => (said, said),
        };
        let title = label(title);
        let id = match (id, title.text.as_str()) {
            ("", "") => format!("subgraph {n}"),
            ("", title) => title.to_owned(),
            (id, _) => id.to_owned(),
        };
        if self.open.len() >= MAX_DEPTH {
            return Err(format!(
                "subgraphs nested deeper than {MAX_DEPTH}, expected at most so deep"
            ));
        }
        let parent = self.open.last().copied();
        self.open.push(self.chart.groups.len());
        self.chart.groups.push(Subgraph {
            id,
            title,
            parent,
            line,
        });
        Ok(())
    }

    /// `A & B --> C -->|text| D`.
    fn chain(&mut self) -> Result<(), String> {
        let mut from = self.nodes()?;
        loop {
            let before = self.at;
            self.skip(|c| c == ' ' || c == '\t' || c == '\r');
            if self.rest().is_empty() || self.rest().starts_with([';', '\n']) {
                // A link may begin the next line.
                self.skip(char::is_whitespace);
                let goes_on = self.rest().starts_with(['-', '=', '<', '~', '.'])
                    && (whole(self.rest()).is_some() || around(self.rest()).is_some());
                if !goes_on {
                    self.at = before;
                    return Ok(());
                }
            }
            let Some((written, label, line)) = self.link()? else {
                return Err(
                    "not understood, expected a link such as --> or the end of the line".to_owned(),
                );
            };
            self.skip(char::is_whitespace);
            let to = self.nodes()?;
            if from.len().saturating_mul(to.len()) > MAX_PARTS {
                return Err(format!(
                    "more than {MAX_PARTS} links, expected at most so many"
                ));
            }
            for from in &from {
                for to in &to {
                    let (from, to, label) = (*from, *to, label.clone());
                    self.chart.links.push(Link {
                        from,
                        to,
                        written,
                        label,
                        line,
                    });
                }
            }
            from = to;
        }
    }

    /// A link and its text, with its own name in front: `e1@-->`.
    fn link(&mut self) -> Result<Option<(Written, Label, usize)>, String> {
        let line = self.line();
        let name = identifier(self.rest());
        if let Some(behind) = self.rest()[name.len()..].strip_prefix('@')
            && !name.is_empty()
            && !behind.starts_with(['{', '"'])
        {
            self.links.insert(name);
            self.at += name.len() + 1;
        }
        let rest = self.rest();
        if let Some((written, length)) = whole(rest) {
            self.at += length;
            self.skip(|c| c == ' ' || c == '\t');
            let mut said = Label::default();
            if let Some(inside) = self.rest().strip_prefix('|') {
                let mut quoted = false;
                let end = inside.find(|c| {
                    quoted ^= c == '"';
                    c == '|' && !quoted
                });
                let Some(end) = end else {
                    return Err("the text of the link is not ended, expected |".to_owned());
                };
                said = label(inside[..end].trim());
                self.at += end + 2;
            }
            return Ok(Some((written, said, line)));
        }
        let Some((written, said, length)) = around(rest) else {
            return Ok(None);
        };
        self.at += length;
        Ok(Some((written, label(said), line)))
    }

    /// `A & B`.
    fn nodes(&mut self) -> Result<Vec<usize>, String> {
        let mut nodes = vec![self.node()?];
        loop {
            let before = self.at;
            self.skip(char::is_whitespace);
            if !self.rest().starts_with('&') {
                self.at = before;
                return Ok(nodes);
            }
            self.at += 1;
            self.skip(char::is_whitespace);
            nodes.push(self.node()?);
        }
    }

    /// `A[text]:::class@{ shape: … }`.
    fn node(&mut self) -> Result<usize, String> {
        let line = self.line();
        let id = identifier(self.rest());
        if id.is_empty() {
            return Err("not understood, expected a node".to_owned());
        }
        self.at += id.len();
        let index = self.mention(id, line);
        loop {
            let rest = self.rest();
            if let Some(found) = bracketed(rest) {
                let (shape, inside, length) = found.map_err(|close| {
                    format!("the text of node \"{id}\" is not ended, expected {close}")
                })?;
                let node = &mut self.chart.nodes[index];
                (node.shape, node.label, node.line) = (shape, Some(label(inside)), line);
                self.at += length;
            } else if let Some(rest) = rest.strip_prefix(":::") {
                let class = identifier(rest);
                let node = &mut self.chart.nodes[index];
                node.classes.extend(class.split(',').map(str::to_owned));
                self.at += 3 + class.len();
            } else if let Some(rest) = rest.strip_prefix("@{") {
                let Some((data, length)) = shape_data(rest) else {
                    return Err(format!(
                        "the data of node \"{id}\" are not ended, expected }}"
                    ));
                };
                self.shape(index, &data);
                self.at += 2 + length;
            } else {
                return Ok(index);
            }
        }
    }

    fn shape(&mut self, node: usize, data: &[(String, String)]) {
        let node = &mut self.chart.nodes[node];
        for (key, value) in data {
            match key.as_str() {
                "shape" => node.shape = named(value),
                "label" => node.label = Some(label(value)),
                _ => {}
            }
        }
    }

    /// The node of that identifier, which is made if it does not exist; it belongs to the innermost subgraph that names
    /// it.
    fn mention(&mut self, id: &str, line: usize) -> usize {
        let group = self.open.last().copied();
        if let Some(index) = self.ids.get(id) {
            let node = &mut self.chart.nodes[*index];
            let is_inside = node.group.is_none_or(|known| self.open.contains(&known));
            if group.is_some() && is_inside {
                node.group = group;
            }
            return *index;
        }
        let index = self.chart.nodes.len();
        self.ids.insert(id.to_owned(), index);
        self.chart.nodes.push(Vertex {
            id: id.to_owned(),
            label: None,
            shape: Shape::Rectangle,
            line,
            group,
            classes: Vec::new(),
            colours: Colours::default(),
        });
        index
    }
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let goes_on = match letter {
            '-' => !matches!(next, Some('>' | '-' | '.') | None),
            '=' => !matches!(next, Some('=') | None),
            ':' => !text[at..].starts_with(":::"),
            '&' | ';' | '"' | '@' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '~' => {
                false
            }
            letter => !letter.is_whitespace(),
        };
        if !goes_on {
            return &text[..at];
        }
    }
    text
}

/// A text without its quotes, and whether it is Markdown: ``"`text`"``.
fn label(text: &str) -> Label {
    let text = text.trim();
    let inside = text
        .strip_prefix('"')
        .map(|inside| inside.strip_suffix('"').unwrap_or(inside));
    let quoted = inside.unwrap_or(text);
    let markdown = quoted
        .strip_prefix('`')
        .and_then(|text| text.strip_suffix('`'))
        .filter(|_| inside.is_some());
    Label {
        text: markdown.unwrap_or(quoted).trim().to_owned(),
        is_markdown: markdown.is_some(),
    }
}

/// The keys and values of `@{ key: value, key: "value" }` behind its brace, and the length up to behind the brace that ends it.
fn shape_data(text: &str) -> Option<(Vec<(String, String)>, usize)> {
    let mut quoted = false;
    let ends = |letter: char| {
        quoted ^= letter == '"';
        letter == '}' && !quoted
    };
    let end = text.find(ends)?;
    let inside = &text[..end];
    let mut quoted = false;
    let parts = inside.split(|letter: char| {
        quoted ^= letter == '"';
        !quoted && matches!(letter, ',' | '\n')
    });
    let pairs = parts.filter_map(|part| {
        let (key, value) = part.split_once(':')?;
        let value = value.trim().trim_matches(['"', '\'']).to_owned();
        Some((key.trim().to_owned(), value))
    });
    Some((pairs.collect(), end + 1))
}

/// Takes the colours of `fill:#f9f,stroke:#333,color:#fff`.
fn colours(said: &str, colours: &mut Colours) {
    for part in said.split([',', ';']) {
        let Some((key, value)) = part.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_end_matches("!important").trim();
        let value = Some(value.to_owned()).filter(|value| !value.is_empty());
        match key.trim() {
            "fill" | "background" => colours.fill = value,
            "stroke" => colours.stroke = value,
            "color" => colours.text = value,
            _ => {}
        }
    }
}
