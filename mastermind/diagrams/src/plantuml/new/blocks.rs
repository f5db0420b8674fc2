//! `if`, `switch`, `while`, `repeat`, `fork`, `split` and groups.
//!
//! `Reader::block` takes a line that opens, continues or closes a block, and returns whether this is one; `new.rs` has
//! all other lines. An open block is a [`Frame`]: the node that it began with, and the loose ends of its finished
//! branches. A closing line must match the innermost block; it leaves the flow with the ends that the next line is
//! connected to (`Flow`, in `plantuml/flow.rs`). Nothing is nested here: the graph is flat, except for groups and
//! counted loops, and `diagram/structure` finds its loops and branches again, as in drawn diagrams.
//!
//! ```text
//! 6  while (n < 3) is (yes)      decision "n < 3" ── n < 3 ──► work ──┐
//! 7    :work;                         ▲     │                         │
//! 8  endwhile (no)                    └─────│─────────────────────────┘
//! 9  :last;                                 └── otherwise ──► last
//!
//! endif in line 8                syntax: "endif" of "line 8": no if is open, expected endwhile
//! no line 8                      syntax: "while" of "line 6": "while" is not ended, expected endwhile
//! ```

use super::super::flow::{Flow, Tail};
use super::super::lines::Line;
use super::super::text::{after, bracketed};
use super::Reader;
use crate::diagram::{Annotation, Guard, NodeKind, Wrapper, answer, guard_of, prose, share_of};
use mastermind_programs::expression::{Binary, Expression, parse};

/// A block that is open.
#[derive(Debug)]
pub(super) enum Frame {
    If {
        at: String,
        decision: usize,
        ends: Vec<Tail>,
        has_else: bool,
    },
    Switch {
        at: String,
        decision: usize,
        subject: String,
        ends: Vec<Tail>,
    },
    While {
        at: String,
        decision: usize,
        exit: Option<Guard>,
        breaks: Vec<Tail>,
    },
    /// `while (i = 1, 10)`.
    Counted {
        at: String,
        name: String,
        wrapper: Wrapper,
        outer: Flow,
    },
    Repeat {
        at: String,
        head: usize,
        breaks: Vec<Tail>,
        /// First and last node of the elements that run before the next round.
        backward: Option<(usize, usize)>,
    },
    Fork {
        at: String,
        fork: usize,
        word: &'static str,
        ends: Vec<Tail>,
    },
    Group {
        at: String,
        name: String,
        annotation: Annotation,
        outer: Option<Flow>,
    },
}

impl Frame {
    pub(super) fn at(&self) -> &str {
        match self {
            Self::If { at, .. }
            | Self::Switch { at, .. }
            | Self::While { at, .. }
            | Self::Counted { at, .. }
            | Self::Repeat { at, .. }
            | Self::Fork { at, .. }
            | Self::Group { at, .. } => at,
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::If { .. } => "if",
            Self::Switch { .. } => "switch",
            Self::While { .. } | Self::Counted { .. } => "while",
            Self::Repeat { .. } => "repeat",
            Self::Fork { word, .. } => word,
            Self::Group { .. } => "partition",
        }
    }

    pub(super) fn end(&self) -> &'static str {
        match self {
            Self::If { .. } => "endif",
            Self::Switch { .. } => "endswitch",
            Self::While { .. } | Self::Counted { .. } => "endwhile",
            Self::Repeat { .. } => "repeat while",
            Self::Fork { word: "split", .. } => "end split",
            Self::Fork { .. } => "end fork",
            Self::Group { .. } => "}",
        }
    }
}

/// A text after one of some words.
pub(in crate::plantuml) fn after_any<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| after(text, word))
}

/// A command without the label of the arrow that leads to it, `(no) elseif (x)` or `(in) backward :action;`, and without a colour.
fn bare(text: &str) -> &str {
    let after_label = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let command = after_label.map(|(_, rest)| rest.trim_start());
    let is_labelled = |rest: &&str| {
        after_any(rest, &["elseif", "else if"]).is_some() || rest.starts_with("backward")
    };
    let text = command.filter(is_labelled).unwrap_or(text);
    // A colour: `fork <<#red>>`.
    match text.split_once("<<") {
        Some((fork, colour)) if colour.ends_with(">>") && after(fork.trim(), "fork").is_some() => {
            fork.trim_end()
        }
        _ => text,
    }
}

impl Reader<'_> {
    /// A line that opens, continues or closes a block; returns whether it is one.
    pub(super) fn block(&mut self, line: &Line, text: &str) -> bool {
        let text = bare(text);
        if text == "}" || after_any(text, &["end group", "endgroup", "end partition"]).is_some() {
            self.close(line, "partition");
        } else if let Some(rest) = after_any(text, &["elseif", "else if"]) {
            self.else_if(line, rest);
        } else if let Some(rest) = after(text, "if").filter(|rest| rest.starts_with('(')) {
            self.open_if(line, rest);
        } else if after(text, "else").is_some() {
            self.open_else(line, text);
        } else if after_any(text, &["endif", "end if"]).is_some() {
            self.close(line, "if");
        } else if let Some(rest) = after(text, "switch") {
            self.open_switch(line, rest);
        } else if let Some(rest) = after(text, "case") {
            self.case(line, rest);
        } else if after_any(text, &["endswitch", "end switch"]).is_some() {
            self.close(line, "switch");
        } else if after_any(text, &["endwhile", "end while"]).is_some() {
            self.close(line, "while");
        } else if let Some(rest) = after(text, "while").filter(|rest| rest.starts_with('(')) {
            self.open_while(line, rest);
        } else if let Some(rest) = after_any(text, &["repeat while", "repeatwhile"]) {
            self.close_repeat(line, rest);
        } else if let Some(rest) = after(text, "repeat") {
            self.open_repeat(line, rest);
        } else if let Some(rest) = text.strip_prefix("backward") {
            self.backward(line, rest.trim());
        } else if after_any(
            text,
            &["fork again", "forkagain", "split again", "splitagain"],
        )
        .is_some()
        {
            self.fork_again(line);
        } else if text.eq_ignore_ascii_case("fork") {
            self.open_fork(line, "fork");
        } else if text.eq_ignore_ascii_case("split") {
            self.open_fork(line, "split");
        } else if let Some(rest) = after_any(text, &["end fork", "endfork", "fork end"]) {
            if rest.is_empty() || rest.replace(' ', "").eq_ignore_ascii_case("{and}") {
                self.close(line, "fork");
            } else {
                self.wrong(
                    line,
                    "a join that does not wait for all, expected none or {and}",
                );
            }
        } else if after_any(text, &["end merge", "endmerge"]).is_some() {
            self.wrong(line, "ways of a fork that go on apart, expected end fork");
        } else if after_any(text, &["end split", "endsplit"]).is_some() {
            self.close(line, "split");
        } else {
            return self.open_group(line, text);
        }
        true
    }

    fn open_if(&mut self, line: &Line, rest: &str) {
        let at = line.at();
        let Some((name, guard)) = self.condition(line, rest) else {
            return;
        };
        let decision = self
            .flow
            .then(&name, &at, NodeKind::Decision { ordered: true });
        self.flow.last = None;
        self.flow.tails = vec![Tail {
            from: decision,
            guard,
        }];
        self.frames.push(Frame::If {
            at,
            decision,
            ends: Vec::new(),
            has_else: false,
        });
    }

    fn else_if(&mut self, line: &Line, rest: &str) {
        let condition = self.condition(line, rest);
        let Some((_, guard)) = condition else {
            return;
        };
        match self.frames.last_mut() {
            Some(Frame::If {
                decision,
                ends,
                has_else: false,
                ..
            }) => {
                ends.append(&mut self.flow.tails);
                let from = *decision;
                self.flow.tails = vec![Tail { from, guard }];
                self.flow.last = None;
            }
            _ => self.wrong(line, "elseif without an if, expected one before it"),
        }
    }

    fn open_else(&mut self, line: &Line, text: &str) {
        let label = after(text, "else").and_then(bracketed);
        let share = label.and_then(|(label, _)| share_of(label));
        match self.frames.last_mut() {
            Some(Frame::If {
                decision,
                ends,
                has_else,
                ..
            }) if !*has_else => {
                *has_else = true;
                ends.append(&mut self.flow.tails);
                let guard = share.map_or(Guard::Otherwise, Guard::OtherwiseShare);
                let (from, guard) = (*decision, Some(guard));
                self.flow.tails = vec![Tail { from, guard }];
                self.flow.last = None;
            }
            _ => self.wrong(line, "else without an if, expected one before it"),
        }
    }

    /// `(condition) then (label)`, `(subject) is (value) then`: its name and guard.
    fn condition(&mut self, line: &Line, rest: &str) -> Option<(String, Option<Guard>)> {
        let Some((condition, rest)) = bracketed(rest) else {
            self.wrong(
                line,
                "no condition in brackets, expected if (condition) then (label)",
            );
            return None;
        };
        let compared = after(rest, "is").or_else(|| after(rest, "equals"));
        let value = compared.and_then(bracketed);
        let guard = if let Some((value, _)) = value {
            compare(condition, value)
        } else {
            let label = after(rest, "then")
                .and_then(bracketed)
                .map_or("", |found| found.0);
            answer(condition, label)
        };
        Some((condition.to_owned(), guard))
    }

    fn open_switch(&mut self, line: &Line, rest: &str) {
        let Some((subject, _)) = bracketed(rest) else {
            self.wrong(line, "no subject in brackets, expected switch (expression)");
            return;
        };
        let at = line.at();
        let kind = NodeKind::Decision { ordered: true };
        let decision = self.flow.then(subject, &at, kind);
        self.flow.tails.clear();
        self.flow.last = None;
        self.frames.push(Frame::Switch {
            at,
            decision,
            subject: subject.to_owned(),
            ends: Vec::new(),
        });
    }

    fn case(&mut self, line: &Line, rest: &str) {
        let Some((value, _)) = bracketed(rest) else {
            self.wrong(line, "no value in brackets, expected case (value)");
            return;
        };
        let Some(Frame::Switch {
            decision,
            subject,
            ends,
            ..
        }) = self.frames.last_mut()
        else {
            self.wrong(line, "case without a switch, expected one before it");
            return;
        };
        ends.append(&mut self.flow.tails);
        let lower = value.to_ascii_lowercase();
        let guard = if matches!(lower.as_str(), "else" | "default" | "otherwise") {
            Some(Guard::Otherwise)
        } else {
            compare(subject, value)
        };
        let from = *decision;
        self.flow.tails = vec![Tail { from, guard }];
        self.flow.last = None;
    }

    fn open_while(&mut self, line: &Line, rest: &str) {
        let at = line.at();
        let Some((condition, rest)) = bracketed(rest) else {
            self.wrong(line, "no condition in brackets, expected while (condition)");
            return;
        };
        if let Some(wrapper) = counted(condition) {
            let outer = std::mem::take(&mut self.flow);
            let name = condition.to_owned();
            self.frames.push(Frame::Counted {
                at,
                name,
                wrapper,
                outer,
            });
            return;
        }
        let label = after(rest, "is")
            .and_then(bracketed)
            .map_or("", |found| found.0);
        let guard = answer(condition, label);
        let kind = NodeKind::Decision { ordered: true };
        let decision = self.flow.then(condition, &at, kind);
        self.flow.last = None;
        self.flow.tails = vec![Tail {
            from: decision,
            guard,
        }];
        self.frames.push(Frame::While {
            at,
            decision,
            exit: Some(Guard::Otherwise),
            breaks: Vec::new(),
        });
    }

    fn open_repeat(&mut self, line: &Line, rest: &str) {
        let at = line.at();
        let head = self.flow.then("repeat", &at, NodeKind::Merge);
        self.flow.last = None;
        self.frames.push(Frame::Repeat {
            at: at.clone(),
            head,
            breaks: Vec::new(),
            backward: None,
        });
        if let Some(action) = rest.strip_prefix(':') {
            self.add_action(action, &at);
        }
    }

    fn backward(&mut self, line: &Line, rest: &str) {
        let at = line.at();
        let Some(action) = rest.strip_prefix(':') else {
            self.wrong(line, "no action after backward, expected backward :action;");
            return;
        };
        // The label of the arrow that leads on.
        let action = match action.rsplit_once(';') {
            Some((action, label)) if label.trim_start().starts_with('(') => action,
            _ => action,
        };
        match self.frames.last() {
            Some(Frame::Repeat { backward: None, .. }) => {
                let tails = std::mem::take(&mut self.flow.tails);
                self.add_action(action, &at);
                let node = self.flow.last.unwrap_or(0);
                self.flow.tails = tails;
                if let Some(Frame::Repeat { backward, .. }) = self.frames.last_mut() {
                    *backward = Some((node, node));
                }
            }
            Some(Frame::While { .. } | Frame::Counted { .. }) => self.add_action(action, &at),
            _ => self.wrong(line, "backward without a loop, expected repeat before it"),
        }
    }

    fn close_repeat(&mut self, line: &Line, rest: &str) {
        let at = line.at();
        let Some(Frame::Repeat {
            head,
            breaks,
            backward,
            ..
        }) = self
            .frames
            .pop_if(|frame| matches!(frame, Frame::Repeat { .. }))
        else {
            self.wrong(
                line,
                "repeat while without a repeat, expected one before it",
            );
            return;
        };
        let (condition, rest) = bracketed(rest).unwrap_or(("", rest));
        let label = after(rest, "is")
            .and_then(bracketed)
            .map_or("", |found| found.0);
        let (guard, exit) = if condition.is_empty() {
            (None, None)
        } else {
            let guard = answer(condition, label);
            (guard, Some(Guard::Otherwise))
        };
        let kind = NodeKind::Decision { ordered: true };
        let decision = self.flow.then(condition, &at, kind);
        let (first, last) = backward.unwrap_or((head, head));
        self.flow.graph.guarded(decision, first, guard);
        if first != head {
            self.flow.graph.edge(last, head);
        }
        self.flow.tails.clear();
        if let Some(exit) = exit {
            let guard = Some(exit);
            self.flow.tails.push(Tail {
                from: decision,
                guard,
            });
        }
        self.flow.tails.extend(breaks);
        self.flow.last = None;
    }

    /// `break`: on behind the innermost loop.
    pub(super) fn leave_loop(&mut self, line: &Line) {
        let is_loop = |frame: &&mut Frame| {
            matches!(
                frame,
                Frame::While { .. } | Frame::Repeat { .. } | Frame::Counted { .. }
            )
        };
        match self.frames.iter_mut().rev().find(is_loop) {
            Some(Frame::While { breaks, .. } | Frame::Repeat { breaks, .. }) => {
                breaks.append(&mut self.flow.tails);
            }
            Some(_) => self.wrong(line, "break in a loop that counts, expected a condition"),
            None => self.wrong(line, "break without a loop, expected one around it"),
        }
    }

    fn open_fork(&mut self, line: &Line, word: &'static str) {
        let at = line.at();
        let fork = self.flow.then(word, &at, NodeKind::Fork);
        self.flow.last = None;
        self.frames.push(Frame::Fork {
            at,
            fork,
            word,
            ends: Vec::new(),
        });
    }

    fn fork_again(&mut self, line: &Line) {
        self.flow.merge(&line.at());
        match self.frames.last_mut() {
            Some(Frame::Fork { fork, ends, .. }) => {
                ends.append(&mut self.flow.tails);
                let from = *fork;
                self.flow.tails = vec![Tail { from, guard: None }];
                self.flow.last = None;
            }
            _ => self.wrong(
                line,
                "again without a fork or split, expected one before it",
            ),
        }
    }

    /// Ends the innermost block, which must be of that word.
    fn close(&mut self, line: &Line, word: &'static str) {
        let at = line.at();
        let fits = |frame: &mut Frame| frame.word() == word && word != "repeat";
        let Some(frame) = self.frames.pop_if(fits) else {
            let open = self.frames.last().map_or("nothing", |frame| frame.end());
            self.wrong(line, format!("no {word} is open, expected {open}"));
            return;
        };
        self.flow.last = None;
        match frame {
            Frame::If {
                decision,
                ends,
                has_else,
                ..
            } => {
                if !has_else {
                    let guard = Some(Guard::Otherwise);
                    let from = decision;
                    self.flow.tails.push(Tail { from, guard });
                }
                self.flow.tails.extend(ends);
            }
            Frame::Switch { ends, .. } => self.flow.tails.extend(ends),
            Frame::While {
                decision,
                exit,
                breaks,
                ..
            } => {
                self.flow.tie(decision);
                self.flow.tails = vec![Tail {
                    from: decision,
                    guard: exit,
                }];
                self.flow.tails.extend(breaks);
            }
            Frame::Counted {
                name,
                wrapper,
                outer,
                at,
            } => self.wrap(outer, &name, wrapper, &at),
            Frame::Fork { word, ends, .. } => {
                self.flow.merge(&at);
                self.flow.tails.extend(ends);
                if !self.flow.tails.is_empty() {
                    let join = self.flow.graph.node(word, at, NodeKind::Join);
                    self.flow.tie(join);
                    let guard = None;
                    self.flow.tails = vec![Tail { from: join, guard }];
                }
            }
            Frame::Group {
                at,
                name,
                annotation,
                outer,
            } => self.close_group(&name, annotation, outer, &at),
            Frame::Repeat { .. } => {}
        }
    }
}

/// `variable = first, last`, as a Fortran loop has it: the variable runs from `first` to `last`.
///
/// # Source
/// S. Pllana et al., "Towards an Environment for Performance Modeling", Figure 3(b).
fn counted(text: &str) -> Option<Wrapper> {
    let (variable, range) = text.split_once('=')?;
    let variable = variable.trim();
    let is_name = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && variable
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
    let comma = top_comma(range)?;
    let first = parse(range[..comma].trim()).ok()?;
    let last = parse(range[comma + 1..].trim()).ok()?;
    let difference = Expression::Binary(Binary::Subtract, Box::new(last), Box::new(first.clone()));
    let one = Box::new(Expression::Number(1.0));
    let count = Expression::Binary(Binary::Add, Box::new(difference), one);
    let zero = Box::new(Expression::Number(0.0));
    is_name.then(|| Wrapper::Loop {
        count: Expression::Call("max".into(), vec![count, *zero]),
        first,
        variable: Some(variable.to_owned()),
    })
}

fn top_comma(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    text.char_indices().find_map(|(i, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return Some(i),
            _ => {}
        }
        None
    })
}

/// The guard `subject == value`.
fn compare(subject: &str, value: &str) -> Option<Guard> {
    let lower = value.trim().to_ascii_lowercase();
    if value.trim().starts_with('[') {
        return guard_of(value, None);
    }
    if matches!(lower.as_str(), "yes" | "true" | "no" | "false") {
        return answer(subject, value);
    }
    match (parse(subject.trim_end_matches('?')), parse(value)) {
        (Ok(subject), Ok(value)) => Some(Guard::When(Expression::Binary(
            Binary::Equal,
            Box::new(subject),
            Box::new(value),
        ))),
        _ => Some(prose(&format!("{subject} is {value}"), value)),
    }
}
