//! Type and cost of a node, from its stereotype and words.
//!
//! # Source
//! S. Pllana et al., "Towards an Environment for Performance Modeling": stereotypes and tagged
//! values, Figure 1; loops as `[L = 1,M]`, Figure 3.

use super::collect::{Collected, Subject};
use super::graph::{Guard, Wrapper};
use super::prose::share_of;
use mastermind_programs::expression::{Assignment, Binary, Expression, parse, parse_assignments};
use mastermind_programs::{Collective, CollectiveKind, ElementKind, Group, Rule};

/// Words that an element may have, as the TOML form calls them, each after those it is also known by.
const WORDS: [(&[&str], &str); 17] = [
    (&["cost", "time"], "cost"),
    (&["code"], "code"),
    (&["of", "activity", "behavior"], "of"),
    (&["count", "rep"], "count"),
    (&["variable"], "variable"),
    (&["condition"], "condition"),
    (&["threads", "numthreads"], "threads"),
    (&["lock"], "lock"),
    (&["to", "dest", "destination"], "to"),
    (&["from", "source"], "from"),
    (&["sender"], "sender"),
    (&["bytes", "size"], "bytes"),
    (&["tag"], "tag"),
    (&["root"], "root"),
    (&["group_first"], "group_first"),
    (&["group_size"], "group_size"),
    (&["group_stride"], "group_stride"),
];

/// Words of the paper's stereotypes that do not affect the time.
const SILENT: [&str; 2] = ["id", "type"];

/// Stereotypes by their names, letters and digits only.
const STEREOTYPES: [(&str, &[&str]); 22] = [
    ("action", &["action", "actionplus"]),
    ("activity", &["activity", "activityplus"]),
    ("send", &["send", "bsend", "blockingsend"]),
    ("isend", &["isend", "nbsend", "nonblockingsend"]),
    ("recv", &["recv", "brecv", "receive", "blockingreceive"]),
    ("irecv", &["irecv", "nbrecv", "nonblockingreceive"]),
    ("wait", &["wait", "waitall"]),
    ("waitany", &["waitany"]),
    ("broadcast", &["broadcast", "bcast"]),
    ("reduce", &["reduce"]),
    ("allreduce", &["allreduce"]),
    ("alltoall", &["alltoall"]),
    ("barrier", &["barrier"]),
    ("gather", &["gather"]),
    ("scatter", &["scatter"]),
    ("allgather", &["allgather"]),
    ("reducescatter", &["reducescatter"]),
    ("scan", &["scan"]),
    ("parallel", &["parallel", "paralleldo"]),
    ("critical", &["critical", "criticalsection"]),
    ("loop", &["loop"]),
    ("while", &["while"]),
];

/// Annotation of a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Annotation {
    /// The stereotype that gives its type, in the form of the TOML words.
    kind: Option<&'static str>,
    /// Word and text, in the order of the file.
    words: Vec<(&'static str, String)>,
}

/// Result for a node.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Element(ElementKind),
    /// It holds a flow of its own.
    Wrapper(Wrapper),
}

/// A word as the TOML form calls it, and its text, of a line `word = text` or `word: text`.
pub(crate) fn known_word(line: &str) -> Option<(&'static str, &str)> {
    let (word, _, text) = word_and_text(line)?;
    let plain = word.to_ascii_lowercase();
    let known = WORDS
        .iter()
        .find(|(names, _)| names.contains(&plain.as_str()));
    known.map(|(_, word)| (*word, text))
}

/// A stereotype as the TOML form calls it.
pub(crate) fn known_stereotype(name: &str) -> Option<&'static str> {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    let found = STEREOTYPES
        .iter()
        .find(|(_, names)| names.contains(&plain.as_str()));
    found.map(|(kind, _)| *kind)
}

impl Annotation {
    /// Whether the annotation is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.kind.is_none() && self.words.is_empty()
    }

    /// Whether the stereotype is one of those that contain a flow.
    pub(crate) fn is_wrapper(&self) -> bool {
        matches!(self.kind, Some("parallel" | "critical" | "loop" | "while"))
    }

    /// Takes a stereotype; whether it is known.
    pub(crate) fn stereotype(
        &mut self,
        name: &str,
        place: Subject<'_>,
        out: &mut Collected,
    ) -> bool {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let found = STEREOTYPES
            .iter()
            .find(|(_, names)| names.contains(&plain.as_str()));
        let Some((kind, _)) = found else {
            return false;
        };
        match self.kind {
            Some(had) if had != *kind => {
                let reason = format!("it is «{had}» and «{kind}», expected one of them");
                out.find(Rule::Annotation, place, reason);
            }
            _ => self.kind = Some(kind),
        }
        true
    }

    /// Takes a word and its text; whether the word is known.
    pub(crate) fn word(&mut self, word: &str, text: &str) -> bool {
        let plain = word.to_ascii_lowercase();
        if SILENT.contains(&plain.as_str()) {
            return true;
        }
        let known = WORDS
            .iter()
            .find(|(names, _)| names.contains(&plain.as_str()));
        if let Some((_, word)) = known {
            self.words.push((word, text.trim().to_owned()));
        }
        known.is_some()
    }

    /// Whether a line is `word = text` or `word: text` with a word that is known.
    pub(crate) fn knows(line: &str) -> bool {
        word_and_text(line).is_some_and(|(word, _, text)| Self::default().word(word, text))
    }

    /// Reads a line `word = text` or `word: text` of a note or comment. Another line, an unknown word, or a text that
    /// is no expression, is prose and gives `false`.
    pub(crate) fn said(&mut self, line: &str) -> bool {
        let Some((word, _, text)) = word_and_text(line) else {
            return false;
        };
        let is_text = ["of", "activity", "behavior", "variable", "lock"]
            .contains(&word.to_ascii_lowercase().as_str());
        let is_code = word.eq_ignore_ascii_case("code");
        let is_meant = match (is_text, is_code) {
            (true, _) => true,
            (_, true) => parse_assignments(text.trim_end_matches(';')).is_ok(),
            _ => SILENT.contains(&word.to_ascii_lowercase().as_str()) || parse(text).is_ok(),
        };
        is_meant && self.word(word, text)
    }

    /// Reads a tagged value `word = text` or `word: text`. Returns `false` for other text; an unknown word with `=` is
    /// a finding.
    pub(crate) fn line(&mut self, line: &str, place: Subject<'_>, out: &mut Collected) -> bool {
        let Some((word, sign, text)) = word_and_text(line) else {
            return false;
        };
        if !self.word(word, text) {
            if sign == ':' {
                return false;
            }
            let known: Vec<_> = WORDS
                .iter()
                .flat_map(|(names, _)| *names)
                .copied()
                .collect();
            let reason = format!(
                "\"{word}\" is no word, expected one of {}",
                known.join(", ")
            );
            out.find(Rule::Annotation, place, reason);
        }
        true
    }

    fn take(&mut self, word: &str) -> Vec<String> {
        let (taken, left) = std::mem::take(&mut self.words)
            .into_iter()
            .partition(|(known, _)| *known == word);
        self.words = left;
        let taken: Vec<(&str, String)> = taken;
        taken.into_iter().map(|(_, text)| text).collect()
    }

    fn text(&mut self, word: &str, place: Subject<'_>, out: &mut Collected) -> Option<String> {
        let mut texts = self.take(word);
        if texts.len() > 1 {
            let reason = format!("{} times {word}, expected it once", texts.len());
            out.find(Rule::Annotation, place, reason);
        }
        texts.pop()
    }

    fn expression(
        &mut self,
        word: &str,
        place: Subject<'_>,
        out: &mut Collected,
    ) -> Option<Expression> {
        let text = self.text(word, place, out)?;
        Some(expression(&text, place, out))
    }

    fn required(&mut self, word: &str, place: Subject<'_>, out: &mut Collected) -> Expression {
        self.expression(word, place, out).unwrap_or_else(|| {
            let reason = format!("no {word}, expected {word} = an expression");
            out.find(Rule::Annotation, place, reason);
            Expression::Number(0.0)
        })
    }

    fn code(&mut self, place: Subject<'_>, out: &mut Collected) -> Vec<Assignment> {
        let text = self.take("code").join(";");
        // A C programmer ends a block with a semicolon, and begins the next line with none.
        let parts: Vec<_> = text
            .split(';')
            .map(str::trim)
            .filter(|p| !p.is_empty())
            .collect();
        parse_assignments(&parts.join(";")).unwrap_or_else(|error| {
            out.find(Rule::Expression, place, error.to_string());
            Vec::new()
        })
    }

    fn collective(
        &mut self,
        kind: CollectiveKind,
        place: Subject<'_>,
        out: &mut Collected,
    ) -> Collective {
        let (zero, one) = (Expression::Number(0.0), Expression::Number(1.0));
        let first = self.expression("group_first", place, out);
        Collective {
            kind,
            root: match kind.has_root() {
                true => self.expression("root", place, out).unwrap_or(zero),
                false => zero,
            },
            bytes: match kind.has_bytes() {
                true => self.required("bytes", place, out),
                false => one.clone(),
            },
            group: first.map(|first| Group {
                first,
                size: self.required("group_size", place, out),
                stride: self.expression("group_stride", place, out).unwrap_or(one),
            }),
        }
    }

    /// Type of the node; `name` is its own, `default` its type without a stereotype.
    pub(crate) fn part(
        mut self,
        name: &str,
        default: &'static str,
        place: Subject<'_>,
        out: &mut Collected,
    ) -> Part {
        let kind = self.kind.unwrap_or(default);
        let zero = Expression::Number(0.0);
        let part = match kind {
            name if CollectiveKind::named(name).is_some() => {
                let kind = CollectiveKind::named(name).unwrap_or(CollectiveKind::Barrier);
                Part::Element(ElementKind::Collective(self.collective(kind, place, out)))
            }
            "activity" => {
                let activity = self.text("of", place, out);
                Part::Element(ElementKind::Activity {
                    activity: activity.unwrap_or_else(|| name.to_owned()),
                })
            }
            "send" | "isend" => Part::Element(ElementKind::Send {
                to: self.required("to", place, out),
                bytes: self.required("bytes", place, out),
                tag: self.expression("tag", place, out).unwrap_or(zero),
                blocking: kind == "send",
            }),
            "recv" | "irecv" => Part::Element(ElementKind::Receive {
                from: self.required("from", place, out),
                tag: self.expression("tag", place, out).unwrap_or(zero),
                blocking: kind == "recv",
                sender: match kind {
                    "recv" => self.text("sender", place, out),
                    _ => None,
                },
            }),
            "wait" => Part::Element(ElementKind::Wait),
            "waitany" => Part::Element(ElementKind::WaitAny {
                sender: self.text("sender", place, out),
            }),
            "parallel" => Part::Wrapper(Wrapper::Parallel {
                threads: self.required("threads", place, out),
            }),
            "critical" => {
                let lock = self.text("lock", place, out);
                Part::Wrapper(Wrapper::Critical {
                    lock: lock.unwrap_or_else(|| name.to_owned()),
                })
            }
            "loop" => Part::Wrapper(Wrapper::Loop {
                count: self.required("count", place, out),
                first: zero,
                variable: self.text("variable", place, out),
            }),
            "while" => Part::Wrapper(Wrapper::While {
                condition: self.required("condition", place, out),
            }),
            _ => Part::Element(ElementKind::Action {
                cost: self.expression("cost", place, out),
                code: self.code(place, out),
            }),
        };
        // Only actions may have code: the remaining words are findings.
        for (word, _) in &self.words {
            let reason =
                format!("\"{word}\" is no word of «{kind}», expected only words that it has");
            out.find(Rule::Annotation, place, reason);
        }
        part
    }
}

/// `word = text` or `word: text`; `word == text` is prose.
pub(crate) fn word_and_text(line: &str) -> Option<(&str, char, &str)> {
    let line = line.trim();
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let sign = rest
        .chars()
        .next()
        .filter(|sign| matches!(sign, '=' | ':'))?;
    let text = &rest[1..];
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (is_name && !text.starts_with(['=', '/'])).then(|| (word, sign, text.trim()))
}

/// An expression, or a finding and a 1.
pub(crate) fn expression(text: &str, place: Subject<'_>, out: &mut Collected) -> Expression {
    parse(text).unwrap_or_else(|error| {
        out.find(Rule::Expression, place, error.to_string());
        Expression::Number(1.0)
    })
}

/// The guard in `text`: `else`, an expression or prose, in brackets or not; none for blank text.
///
/// # Arguments
/// * `condition` - the condition that `yes`, `true`, `no` and `false` answer, if there is one
pub(crate) fn guard_of(text: &str, condition: Option<&Expression>) -> Option<Guard> {
    let text = text.trim();
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text)
        .trim();
    let word = inside.to_ascii_lowercase();
    match (word.as_str(), condition) {
        ("", _) => None,
        ("else" | "otherwise", _) => Some(Guard::Otherwise),
        ("yes" | "true" | "y", Some(condition)) => Some(Guard::When(condition.clone())),
        ("no" | "false" | "n", Some(condition)) => Some(Guard::When(not(condition.clone()))),
        _ => Some(parse(inside).map_or_else(|_| prose(inside, inside), Guard::When)),
    }
}

/// The guard of a branch: the condition, its negation if the label is `no`, or the label if it is a
/// guard itself.
pub(crate) fn answer(condition: &str, label: &str) -> Option<Guard> {
    let label = label.trim();
    if label.starts_with('[') {
        return guard_of(label, None);
    }
    let parsed = parse(condition.trim_end_matches('?'));
    match (parsed, parse(label)) {
        (Ok(condition), _) => {
            let lower = label.to_ascii_lowercase();
            let end = lower.find(|c: char| c.is_ascii_digit() || ",;(".contains(c));
            let answer = lower[..end.unwrap_or(lower.len())].trim();
            let word = if matches!(answer, "no" | "false" | "n") {
                "no"
            } else {
                "yes"
            };
            match (guard_of(word, Some(&condition)), share_of(label)) {
                // A word may be a question or a variable: the file must decide.
                (Some(Guard::When(condition)), Some(share)) => {
                    Some(Guard::WhenOrShare(condition, share))
                }
                (guard, _) => guard,
            }
        }
        // A question in prose, and a comparison as the answer.
        (Err(_), Ok(answer @ Expression::Binary(..))) => Some(Guard::When(answer)),
        (Err(_), _) if condition.is_empty() => Some(prose(label, label)),
        (Err(_), _) => Some(prose(condition, label)),
    }
}

/// A guard in prose, whose label may give its share.
pub(crate) fn prose(text: &str, label: &str) -> Guard {
    Guard::Prose {
        text: text.to_owned(),
        share: share_of(label),
    }
}

/// The negation of `condition`.
pub(crate) fn not(condition: Expression) -> Expression {
    let turned = |operator| match operator {
        Binary::Equal => Some(Binary::Unequal),
        Binary::Unequal => Some(Binary::Equal),
        _ => None,
    };
    match condition {
        Expression::Binary(operator, a, b) if turned(operator).is_some() => {
            Expression::Binary(turned(operator).unwrap_or(operator), a, b)
        }
        other => Expression::Unary(mastermind_programs::expression::Unary::Not, Box::new(other)),
    }
}
