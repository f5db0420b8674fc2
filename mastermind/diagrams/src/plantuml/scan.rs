//! Positions of the elements of a file in its text, and their words.
//!
//! The reader drops the positions of texts when it makes a graph; the scan keeps them, and nothing else. An element has
//! all the lines that it covers, with its notes. Ranges are in bytes of the text.

use std::ops::Range;

use super::lines::{LAYOUT, LAYOUT_BLOCKS};
use super::new::{action_begin, is_ended, is_sdl};
use super::text::after;
use crate::diagram::{
    Annotation, Collected, known_stereotype, known_word, name_and_words, opening, parts,
};
use crate::edit::Section;

/// A diagram of the file.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) name: String,
    /// Where an element may be inserted into an empty flow, and a note before all elements.
    pub(super) begin: usize,
    pub(super) flow: Vec<Node>,
    /// Its lines.
    pub(super) span: Range<usize>,
}

/// An element.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) kind: String,
    pub(super) name: String,
    /// Position of its name, if it is in one piece and may be replaced.
    pub(super) name_at: Option<Range<usize>>,
    /// Its lines, with the notes at it.
    pub(super) span: Range<usize>,
    pub(super) lines: [usize; 2],
    pub(super) words: Vec<Said>,
    /// Where a tagged value may be added: in braces that are there, or behind all else.
    pub(super) add_at: Option<(usize, bool)>,
    pub(super) branches: Vec<Held>,
    /// Begin of its last line, if it has one that ends its branches.
    pub(super) close: Option<usize>,
}

/// A flow in an element.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) words: Vec<Said>,
    /// Where the line begins that opens it.
    pub(super) at: usize,
    pub(super) begin: usize,
    pub(super) flow: Vec<Node>,
}

/// A word and the position of its text.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) word: &'static str,
    pub(super) text: Range<usize>,
    pub(super) way: Way,
}

/// Notation of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// In braces: `{`, `}` and all between.
    Braces(Range<usize>),
    /// On lines of its own.
    Lines(Range<usize>),
    /// In the brackets of a command.
    Command,
}

/// A variable or a cost function.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) section: Section,
    pub(super) name: String,
    pub(super) value: Range<usize>,
    /// Its line.
    pub(super) line: Range<usize>,
}

/// Contents of a text.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) blocks: Vec<Scanned>,
    pub(super) entries: Vec<Entry>,
    /// The end of the last line of each section.
    pub(super) sections: Vec<(Section, usize)>,
}

/// A line of the file.
#[derive(Debug, Clone)]
struct RawLine {
    number: usize,
    /// With its line end.
    whole: Range<usize>,
    /// Without the blanks around it.
    plain: Range<usize>,
}

struct Scanner<'a> {
    text: &'a str,
    lines: Vec<RawLine>,
    at: usize,
    scan: Scan,
    /// Elements that hold the next one, the innermost last; each with the flow that is being filled.
    open: Vec<Node>,
    is_in_block: bool,
    /// Whether an element of the block was seen, or its start.
    is_begun: bool,
    /// Whether a note would belong to the element before.
    takes_note: bool,
}

/// Offset of a part of a text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Contents of a text.
pub(super) fn scan(text: &str) -> Scan {
    let mut at = 0;
    let mut lines = Vec::new();
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let plain = line.trim();
        let begin = at + offset(line, plain);
        lines.push(RawLine {
            number,
            whole: at..at + line.len(),
            plain: begin..begin + plain.len(),
        });
        at += line.len();
    }
    let mut scanner = Scanner {
        text,
        lines,
        at: 0,
        scan: Scan::default(),
        open: Vec::new(),
        is_in_block: false,
        is_begun: false,
        takes_note: false,
    };
    while let Some(line) = scanner.next() {
        scanner.line(&line);
    }
    scanner.close_all();
    scanner.scan
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Option<RawLine> {
        let line = self.lines.get(self.at).cloned();
        self.at += 1;
        line
    }

    fn of(&self, range: &Range<usize>) -> &'a str {
        &self.text[range.clone()]
    }

    /// Skips lines up to one that satisfies a test.
    fn pass(&mut self, ends: impl Fn(&str) -> bool) -> Option<RawLine> {
        loop {
            let line = self.next()?;
            if ends(self.of(&line.plain)) {
                return Some(line);
            }
        }
    }

    fn flow(&mut self) -> &mut Vec<Node> {
        if let Some(node) = self.open.last_mut() {
            if node.branches.is_empty() {
                node.branches.push(Held::default());
            }
            let last = node.branches.len() - 1;
            return &mut node.branches[last].flow;
        }
        if self.scan.blocks.is_empty() {
            self.scan.blocks.push(Scanned::default());
        }
        let last = self.scan.blocks.len() - 1;
        &mut self.scan.blocks[last].flow
    }

    fn close_all(&mut self) {
        while let Some(node) = self.open.pop() {
            self.flow().push(node);
        }
    }

    fn line(&mut self, line: &RawLine) {
        let text = self.of(&line.plain);
        if text.is_empty() || text.starts_with('\'') {
            return;
        }
        if text.starts_with("/'") {
            if !text.contains("'/") {
                self.pass(|text| text.contains("'/"));
            }
            return;
        }
        if let Some(name) = after(text, "@startuml") {
            self.close_all();
            (self.is_in_block, self.is_begun, self.takes_note) = (true, false, false);
            let name = name.trim_matches(['"', '(', ')']).to_owned();
            self.scan.blocks.push(Scanned {
                name,
                begin: line.whole.end,
                flow: Vec::new(),
                span: line.whole.clone(),
            });
        } else if after(text, "@enduml").is_some() {
            self.close_all();
            if let Some(block) = self.scan.blocks.last_mut() {
                block.span.end = line.whole.end;
            }
            self.is_in_block = false;
        } else if self.is_in_block && !self.layout(line, text) && !self.note(line, text) {
            self.takes_note = false;
            self.element(line, text);
        }
    }

    /// A place for elements before all others, while none was seen.
    fn begin_after(&mut self, end: usize) {
        if !self.is_begun
            && let Some(block) = self.scan.blocks.last_mut()
        {
            block.begin = end;
        }
    }

    fn layout(&mut self, line: &RawLine, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let mut end = line.whole.end;
        if let Some((_, last)) = LAYOUT_BLOCKS.iter().find(|(begin, _)| lower == *begin) {
            let plain = |text: &str| text.replace(' ', "").to_ascii_lowercase();
            let found = self.pass(|text| plain(text) == plain(last));
            end = found.map_or(end, |line| line.whole.end);
        } else if lower.starts_with("skinparam") && lower.ends_with('{') {
            end = self
                .pass(|text| text == "}")
                .map_or(end, |line| line.whole.end);
        } else {
            let says = |word: &&str| {
                lower
                    .strip_prefix(*word)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
            };
            if !lower.starts_with('!') && !LAYOUT.iter().any(says) {
                return false;
            }
        }
        self.begin_after(end);
        true
    }

    /// A note or legend: its declarations, and its words for the element before it.
    fn note(&mut self, line: &RawLine, text: &str) -> bool {
        let floating = after(text, "floating");
        let legend = after(text, "legend");
        let Some(rest) = after(floating.unwrap_or(text), "note").or(legend) else {
            return false;
        };
        let mut inside = Vec::new();
        let mut span = line.whole.clone();
        let mut last = line.number;
        let on_line = legend.is_none().then(|| rest.split_once(':')).flatten();
        if let Some((_, said)) = on_line {
            let begin = offset(self.text, said);
            inside.push((line.number, span.clone(), begin..begin + said.len()));
        } else {
            let ends = ["end note", "endnote", "end legend", "endlegend"];
            while let Some(next) = self.next() {
                (span.end, last) = (next.whole.end, next.number);
                if ends.contains(&self.of(&next.plain).to_ascii_lowercase().as_str()) {
                    break;
                }
                inside.push((next.number, next.whole.clone(), next.plain.clone()));
            }
        }
        let is_alone = inside.len() == 1;
        let mut section = None;
        let mut words = Vec::new();
        for (_, whole, plain) in inside {
            let text = self.of(&plain).trim();
            match text.to_ascii_lowercase().replace(' ', "").as_str() {
                "<<globals>>" | "«globals»" => section = Some(Some(Section::Globals)),
                "<<functions>>" | "«functions»" => section = Some(Some(Section::Functions)),
                "<<locals>>" | "«locals»" => section = Some(None),
                _ if section.is_some() => {
                    let Some(Some(section)) = section else {
                        continue;
                    };
                    self.declared(section, text, whole.clone());
                    self.scan.sections.push((section, whole.end));
                    continue;
                }
                _ => {
                    if let Some((word, said)) = known_word(text) {
                        let begin = offset(self.text, said);
                        let lines = if is_alone { span.clone() } else { whole };
                        words.push(Said {
                            word,
                            text: begin..begin + said.len(),
                            way: Way::Lines(lines),
                        });
                    }
                    continue;
                }
            }
            if let Some(Some(section)) = section {
                self.scan.sections.push((section, whole.end));
            }
        }
        if floating.is_none() && legend.is_none() && self.takes_note {
            if let Some(node) = self.flow().last_mut() {
                node.span.end = span.end;
                node.lines[1] = last;
                node.words.extend(words);
            }
        } else {
            self.begin_after(span.end);
        }
        true
    }

    fn declared(&mut self, section: Section, text: &'a str, line: Range<usize>) {
        let text = text.trim_end_matches(';').trim_end();
        let (left, value) = match text.split_once('=') {
            Some((left, value)) => (left.trim_end(), value.trim()),
            None => (text, &text[text.len()..]),
        };
        // A type may precede a name.
        let name = match left.split_once('(') {
            Some((name, rest)) => format!(
                "{}({rest}",
                name.split_whitespace().last().unwrap_or_default()
            ),
            None => left
                .split_whitespace()
                .last()
                .unwrap_or_default()
                .to_owned(),
        };
        if !name.is_empty() {
            let begin = offset(self.text, value);
            self.scan.entries.push(Entry {
                section,
                name,
                value: begin..begin + value.len(),
                line,
            });
        }
    }

    fn element(&mut self, line: &RawLine, text: &'a str) {
        let is_start = text.eq_ignore_ascii_case("start");
        if is_start {
            self.begin_after(line.whole.end);
            self.is_begun = true;
            return;
        }
        self.is_begun = true;
        // The colour or the label of an arrow before a command.
        let command = text
            .strip_prefix('#')
            .and_then(|rest| rest.split_once(':'))
            .map_or(text, |(_, rest)| rest.trim_start());
        let command = if action_begin(text).is_some() && !is_block(command) {
            text
        } else {
            command
        };
        let command = match command
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
        {
            Some((_, rest)) if is_block(rest.trim_start()) => rest.trim_start(),
            _ => command,
        };
        if let Some(first) = action_begin(command) {
            self.action(line, first);
        } else {
            self.block(line, command);
        }
    }

    fn action(&mut self, line: &RawLine, first: &'a str) {
        let begin = offset(self.text, first);
        let mut action = first.to_owned();
        let mut last = line.clone();
        while !(is_ended(&action, action.rfind(';')) || is_sdl(&action)) {
            let Some(next) = self.next() else {
                break;
            };
            action.push('\n');
            action.push_str(self.of(&next.plain));
            last = next;
        }
        // The sign that ends it, and a stereotype behind that.
        let ending = self.of(&(last.plain.start.max(begin)..last.plain.end));
        let semicolon = ending.rfind(';').filter(|at| {
            let rest = ending[at + 1..].trim();
            rest.is_empty() || rest.starts_with("<<")
        });
        let sign =
            semicolon.unwrap_or_else(|| ending.char_indices().next_back().map_or(0, |(at, _)| at));
        let end = offset(self.text, ending) + sign;
        let mut node = self.annotated(begin..end, "action");
        if let Some(tail) = self.text.get(end + 1..last.plain.end)
            && let Some(kind) = tail
                .trim()
                .strip_prefix("<<")
                .and_then(|tail| known_stereotype(tail.trim_end_matches(">>")))
        {
            kind.clone_into(&mut node.kind);
        }
        node.span = line.whole.start..last.whole.end;
        node.lines = [line.number, last.number];
        self.flow().push(node);
        self.takes_note = true;
    }

    /// The name, stereotype and tagged values in a range.
    fn annotated(&self, range: Range<usize>, default: &str) -> Node {
        let text = self.of(&range);
        let name = name_and_words(
            text,
            &mut Annotation::default(),
            "",
            &mut Collected::default(),
        );
        let found = (!name.is_empty()).then(|| text.find(&name)).flatten();
        let name_at = found.map(|at| range.start + at..range.start + at + name.len());
        let mut node = Node {
            kind: default.to_owned(),
            name,
            name_at,
            ..Node::default()
        };
        let mut add_at = (
            range.start + text.trim_end().trim_end_matches('"').len(),
            false,
        );
        let mut rest = text;
        while let Some(at) = opening(rest) {
            let is_stereotype = rest[at..].starts_with("<<");
            let (close, width) = if is_stereotype { (">>", 2) } else { ("}", 1) };
            let Some(length) = rest[at + width..].find(close) else {
                break;
            };
            let inside = &rest[at + width..at + width + length];
            let begin = offset(self.text, inside);
            let braces = begin - width..begin + inside.len() + width;
            if is_stereotype {
                if let Some(kind) = known_stereotype(inside) {
                    kind.clone_into(&mut node.kind);
                }
            } else {
                let words = parts(inside).into_iter().filter_map(known_word);
                let words: Vec<_> = words
                    .map(|(word, said)| {
                        let begin = offset(self.text, said);
                        Said {
                            word,
                            text: begin..begin + said.len(),
                            way: Way::Braces(braces.clone()),
                        }
                    })
                    .collect();
                if inside.contains('=') || !words.is_empty() {
                    add_at = (braces.end - 1, true);
                }
                node.words.extend(words);
            }
            rest = &rest[at + width + length + close.len()..];
        }
        // Words on lines of their own, in an action of several lines.
        if !text.contains("\\n") {
            for line in text.split('\n') {
                let plain = line.trim();
                if !plain.starts_with(['{', '<'])
                    && let Some((word, said)) = known_word(plain)
                {
                    let begin = offset(self.text, said);
                    let whole = offset(self.text, line);
                    let end = (whole + line.len() + 1).min(range.end);
                    let way = Way::Lines(whole..end);
                    node.words.push(Said {
                        word,
                        text: begin..begin + said.len(),
                        way,
                    });
                }
            }
        }
        node.add_at = Some(add_at);
        node
    }

    fn block(&mut self, line: &RawLine, command: &'a str) {
        let any = |words: &[&str]| words.iter().find_map(|word| after(command, word));
        if command == "}" || any(&["end group", "endgroup", "end partition"]).is_some() {
            self.close(line);
        } else if let Some(rest) = any(&["elseif", "else if"]) {
            let words = self.condition(rest, "guard");
            self.next_branch(line, words);
        } else if let Some(rest) = after(command, "if").filter(|rest| rest.starts_with('(')) {
            let words = self.condition(rest, "guard");
            self.begin(line, "decision", words, Vec::new());
        } else if let Some(rest) = after(command, "else") {
            let label = self.bracket(rest).map(|text| Said {
                word: "label",
                text,
                way: Way::Command,
            });
            self.next_branch(line, label.into_iter().collect());
        } else if let Some(rest) = after(command, "switch") {
            let condition = self.bracket(rest).map(|text| Said {
                word: "condition",
                text,
                way: Way::Command,
            });
            self.begin(line, "switch", Vec::new(), condition.into_iter().collect());
        } else if let Some(rest) = after(command, "case") {
            let guard = self.bracket(rest).map(|text| Said {
                word: "guard",
                text,
                way: Way::Command,
            });
            let guard: Vec<_> = guard.into_iter().collect();
            match self.open.last_mut() {
                // The flow before the first case does not count.
                Some(node)
                    if node.kind == "switch"
                        && node.branches.len() == 1
                        && node.branches[0].flow.is_empty()
                        && node.branches[0].words.is_empty() =>
                {
                    node.branches[0] = Held {
                        words: guard,
                        at: line.whole.start,
                        begin: line.whole.end,
                        flow: Vec::new(),
                    };
                }
                _ => self.next_branch(line, guard),
            }
        } else if any(&["repeat while", "repeatwhile"]).is_some() {
            let rest = any(&["repeat while", "repeatwhile"]).unwrap_or_default();
            let words = self.condition(rest, "condition");
            if let Some(node) = self.open.last_mut() {
                node.name = words
                    .first()
                    .map_or_else(String::new, |said| self.text[said.text.clone()].to_owned());
                node.words = words;
            }
            self.close(line);
        } else if any(&["repeat"]).is_some() {
            self.begin(line, "repeat", Vec::new(), Vec::new());
        } else if any(&[
            "endif",
            "end if",
            "endswitch",
            "end switch",
            "endwhile",
            "end while",
        ])
        .is_some()
            || any(&[
                "end fork",
                "endfork",
                "fork end",
                "end merge",
                "endmerge",
                "end split",
                "endsplit",
            ])
            .is_some()
        {
            self.close(line);
        } else if let Some(rest) = after(command, "while").filter(|rest| rest.starts_with('(')) {
            let words = self.condition(rest, "condition");
            let is_counted = words
                .first()
                .is_some_and(|said| is_counted(&self.text[said.text.clone()]));
            self.begin(
                line,
                if is_counted { "loop" } else { "while" },
                Vec::new(),
                words,
            );
        } else if any(&["fork again", "forkagain", "split again", "splitagain"]).is_some() {
            self.next_branch(line, Vec::new());
        } else if any(&["fork", "split"]).is_some() {
            self.begin(line, "fork", Vec::new(), Vec::new());
        } else if let Some(rest) = any(&["partition", "group", "package", "rectangle", "card"]) {
            let inside = rest.strip_suffix('{').unwrap_or(rest).trim_end();
            let inside = inside.strip_prefix('"').unwrap_or(inside);
            let inside = inside.strip_suffix('"').unwrap_or(inside);
            let begin = offset(self.text, inside);
            let mut node = self.annotated(begin..begin + inside.len(), "group");
            if let Some(at) = &node.name_at {
                let plain = self.of(at).trim_end_matches('"');
                let end = at.start + plain.len();
                (node.name, node.name_at) = (plain.to_owned(), Some(at.start..end));
            }
            self.begin(line, "group", Vec::new(), Vec::new());
            if let Some(open) = self.open.last_mut() {
                (open.kind, open.name, open.name_at) = (node.kind, node.name, node.name_at);
                (open.words, open.add_at) = (node.words, node.add_at);
            }
        }
    }

    /// The text in the brackets that a text begins with, over several lines too.
    fn bracket(&self, rest: &'a str) -> Option<Range<usize>> {
        let begin = offset(self.text, rest);
        let mut depth = 0_usize;
        for (at, letter) in self.text[begin..].char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        let inside = &self.text[begin + 1..begin + at];
                        let plain = inside.trim();
                        let from = begin + 1 + offset(inside, plain);
                        return Some(from..from + plain.len());
                    }
                }
                _ if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The condition of a command, and the label behind it.
    fn condition(&self, rest: &'a str, word: &'static str) -> Vec<Said> {
        let Some(text) = self.bracket(rest) else {
            return Vec::new();
        };
        let mut words = vec![Said {
            word,
            text: text.clone(),
            way: Way::Command,
        }];
        let line_end = self.text[text.end..]
            .find('\n')
            .map_or(self.text.len(), |at| text.end + at);
        let behind = self.text[text.end..line_end]
            .trim_start()
            .trim_start_matches(')')
            .trim_start();
        let label = ["then", "is", "equals"]
            .iter()
            .find_map(|word| after(behind, word));
        if let Some(text) = label.and_then(|rest| self.bracket(rest)) {
            words.push(Said {
                word: "label",
                text,
                way: Way::Command,
            });
        }
        words
    }

    fn begin(&mut self, line: &RawLine, kind: &str, branch: Vec<Said>, words: Vec<Said>) {
        let named = words
            .first()
            .or(branch.first())
            .map(|said| self.text[said.text.clone()].to_owned());
        let begin = self.after_condition(line, branch.first().or(words.first()));
        self.open.push(Node {
            kind: kind.to_owned(),
            name: named.unwrap_or_default(),
            span: line.whole.clone(),
            lines: [line.number; 2],
            words,
            branches: vec![Held {
                words: branch,
                at: line.whole.start,
                begin,
                flow: Vec::new(),
            }],
            ..Node::default()
        });
    }

    /// The end of the line in which a command ends; the lines that its condition goes over are passed.
    fn after_condition(&mut self, line: &RawLine, condition: Option<&Said>) -> usize {
        let mut end = line.whole.end;
        while condition.is_some_and(|said| said.text.end >= end) {
            let Some(next) = self.next() else {
                break;
            };
            end = next.whole.end;
        }
        end
    }

    fn next_branch(&mut self, line: &RawLine, words: Vec<Said>) {
        let begin = self.after_condition(line, words.first());
        if let Some(node) = self.open.last_mut() {
            node.branches.push(Held {
                words,
                at: line.whole.start,
                begin,
                flow: Vec::new(),
            });
        }
    }

    fn close(&mut self, line: &RawLine) {
        if let Some(mut node) = self.open.pop() {
            node.span.end = line.whole.end;
            node.lines[1] = line.number;
            node.close = Some(line.whole.start);
            self.flow().push(node);
        }
    }
}

/// Whether a command opens or continues a block.
fn is_block(command: &str) -> bool {
    let words = [
        "if",
        "elseif",
        "else if",
        "while",
        "repeat while",
        "switch",
        "case",
        "fork",
        "split",
    ];
    words.iter().any(|word| after(command, word).is_some())
}

/// Whether a condition counts: `i = 1, 10`.
fn is_counted(condition: &str) -> bool {
    let counted = condition
        .split_once('=')
        .filter(|(_, rest)| !rest.starts_with('='));
    counted.is_some_and(|(name, rest)| {
        let name = name.trim();
        parts(rest).len() == 2
            && !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}
