//! Our own TOML and JSON form of a model.
//!
//! ```toml
//! [model]
//! name = "ring"
//! main = "Main"
//!
//! [globals]
//! rounds = 3
//!
//! [functions]
//! work = { parameters = ["n"], value = "us(2) * n" }
//!
//! [activities.Main]
//! flow = [
//!     { loop = "rounds", count = "rounds", variable = "i", body = [
//!         { action = "compute", cost = "work(i + 1)" },
//!         { send = "right", to = "(process + 1) % processes", bytes = 1000 },
//!         { recv = "left", from = "(process - 1) % processes" },
//!     ] },
//! ]
//! ```
//!
//! `ranks = 4` under `[model]` declares that costs and partners come from a run recorded on 4 ranks: the model is
//! simulated with no other number.
//!
//! An element is a table whose first word gives its type and names it. Its other words:
//!
//! | word | others |
//! |---|---|
//! | `action` | `cost`, `code` |
//! | `activity` | `of` (the same name where it is left out) |
//! | `decision` | `branches`, each with `guard` (none: otherwise) and `body` |
//! | `loop` | `count`, `variable`, `body` |
//! | `while` | `condition`, `body` |
//! | `parallel` | `threads`, `body` |
//! | `critical` | `lock` (the same name where it is left out), `body` |
//! | `send`, `isend` | `to`, `bytes`, `tag` (0) |
//! | `recv` | `from`, `tag` (0), `sender` |
//! | `irecv` | `from`, `tag` (0) |
//! | `broadcast`, `reduce`, `gather`, `scatter` | `root` (0), `bytes` |
//! | `allreduce`, `alltoall`, `allgather`, `reducescatter`, `scan` | `bytes` |
//! | `barrier`, `wait` | |
//! | `waitany` | `sender` |
//!
//! `sender` names a variable that gets the rank from which the message came. `waitany` waits for the next of the
//! `irecv` to be complete, in the order of their completion; if none is left, it continues, and `sender` is `none`.
//!
//! `bytes` is the size of the whole in `broadcast`, `reduce`, `allreduce` and `scan`, else that of one process's part.
//! A collective may be one of a group of processes: `group_first`, `group_size` and `group_stride` (1) define it, as
//! each of them sees it: `group_first = "process - process % 4", group_size = 4` are rows of four. The root is a number
//! in the group.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;

use crate::expression::{CostFunction, Expression, SyntaxError, parse, parse_assignments};
use crate::model::{
    Activity, Branch, Collective, CollectiveKind, Element, ElementKind, Group, KnownRanks, Model,
    Variable,
};

/// Longest model in TOML or JSON, bytes.
pub const LONGEST_MODEL_BYTES: usize = 16 << 20;

/// Words that give the type of an element.
const WORDS: [&str; 23] = [
    "action",
    "activity",
    "decision",
    "loop",
    "while",
    "parallel",
    "critical",
    "send",
    "isend",
    "recv",
    "irecv",
    "wait",
    "waitany",
    "broadcast",
    "reduce",
    "allreduce",
    "alltoall",
    "barrier",
    "gather",
    "scatter",
    "allgather",
    "reducescatter",
    "scan",
];

/// A model that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no TOML of this form.
    #[error("cannot read model: no TOML of a model's form")]
    Toml(#[from] Box<toml::de::Error>),
    /// It is no JSON of this form.
    #[error("cannot read model: no JSON of a model's form")]
    Json(#[from] serde_json::Error),
    /// It is longer than any model may be.
    #[error("cannot read model: {found} bytes, expected at most {most}")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The bound.
        most: usize,
    },
    /// An element is not made as it must be.
    #[error("cannot read element \"{element}\" of \"{place}\": {found}, expected {expected}")]
    Element {
        /// The element.
        element: String,
        /// The activity, and the enclosing elements.
        place: String,
        /// The text found.
        found: String,
        /// The expected text.
        expected: String,
    },
    /// An expression cannot be read.
    #[error("cannot read {what} of \"{place}\"")]
    Expression {
        /// Which one.
        what: String,
        /// The element, variable or function.
        place: String,
        /// The problem with it.
        source: Box<SyntaxError>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    model: Head,
    #[serde(default)]
    globals: BTreeMap<String, Raw>,
    #[serde(default)]
    functions: BTreeMap<String, RawFunction>,
    activities: BTreeMap<String, RawActivity>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    name: String,
    main: String,
    ranks: Option<RawRanks>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawRanks {
    OfRun(NonZeroU32),
    OfRuns(RanksOfRuns),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RanksOfRuns {
    recorded: Vec<NonZeroU32>,
    most: Option<NonZeroU32>,
    #[serde(default)]
    powers_of_two: bool,
}

impl RawRanks {
    /// # Errors
    /// The recorded numbers do not increase, or there are none.
    fn checked(self) -> Result<KnownRanks, ReadError> {
        let runs = match self {
            Self::OfRun(ranks) => return Ok(KnownRanks::of_run(ranks.get())),
            Self::OfRuns(runs) => runs,
        };
        let ranks = KnownRanks {
            recorded: runs.recorded.iter().map(|ranks| ranks.get()).collect(),
            most: runs.most.map(NonZeroU32::get),
            powers_of_two: runs.powers_of_two,
        };
        let rises = ranks.recorded.windows(2).all(|pair| pair[0] < pair[1]);
        match rises
            && !ranks.recorded.is_empty()
            && ranks.most.is_none_or(|most| most >= ranks.largest())
        {
            true => Ok(ranks),
            false => Err(ReadError::Element {
                element: "ranks".into(),
                place: "model".into(),
                found: format!("recorded {:?}, most {:?}", ranks.recorded, ranks.most),
                expected: "rising numbers of ranks, and no less than the last of them as the most"
                    .into(),
            }),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawFunction {
    Plain(Raw),
    Full {
        #[serde(default)]
        parameters: Vec<String>,
        value: Raw,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawActivity {
    #[serde(default)]
    locals: BTreeMap<String, Raw>,
    flow: Vec<RawElement>,
}

type RawElement = BTreeMap<String, Raw>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Raw {
    Truth(bool),
    Number(f64),
    Text(String),
    Elements(Vec<RawElement>),
}

impl Raw {
    fn text(&self) -> Option<String> {
        match self {
            Self::Truth(truth) => Some(truth.to_string()),
            Self::Number(number) => Some(format!("{number:?}")),
            Self::Text(text) => Some(text.clone()),
            Self::Elements(_) => None,
        }
    }
}

/// Reads the TOML form.
///
/// # Errors
/// Every [`ReadError`] but [`ReadError::Json`].
pub fn read_toml(text: &str) -> Result<Model, ReadError> {
    bounded(text)?;
    let document = toml::from_str(text).map_err(Box::new)?;
    model(document)
}

/// Reads the JSON form: the same tables.
///
/// # Errors
/// Every [`ReadError`] but [`ReadError::Toml`].
pub fn read_json(text: &str) -> Result<Model, ReadError> {
    bounded(text)?;
    model(serde_json::from_str(text)?)
}

fn bounded(text: &str) -> Result<(), ReadError> {
    let (found, most) = (text.len(), LONGEST_MODEL_BYTES);
    if found > most {
        return Err(ReadError::TooLong { found, most });
    }
    Ok(())
}

fn model(document: Document) -> Result<Model, ReadError> {
    let functions = document.functions.into_iter().map(|(name, raw)| {
        let (parameters, value) = match raw {
            RawFunction::Plain(value) => (Vec::new(), value),
            RawFunction::Full { parameters, value } => (parameters, value),
        };
        let value = expression("the value", &name, &value)?;
        Ok((name, CostFunction { parameters, value }))
    });
    let activities = document.activities.into_iter().map(|(name, raw)| {
        let activity = Activity {
            locals: variables(&raw.locals)?,
            flow: flow(raw.flow, &name)?,
        };
        Ok((name, activity))
    });
    Ok(Model {
        name: document.model.name,
        main: document.model.main,
        ranks: document.model.ranks.map(RawRanks::checked).transpose()?,
        globals: variables(&document.globals)?,
        functions: functions.collect::<Result<_, ReadError>>()?,
        activities: activities.collect::<Result<_, ReadError>>()?,
    })
}

fn variables(raw: &BTreeMap<String, Raw>) -> Result<Vec<Variable>, ReadError> {
    let one = |(name, value): (&String, &Raw)| {
        let value = expression("the value", name, value)?;
        let name = name.clone();
        Ok(Variable { name, value })
    };
    raw.iter().map(one).collect()
}

fn expression(what: &str, place: &str, raw: &Raw) -> Result<Expression, ReadError> {
    let Some(text) = raw.text() else {
        return Err(ReadError::Element {
            element: what.into(),
            place: place.into(),
            found: "a list".into(),
            expected: "an expression".into(),
        });
    };
    parse(&text).map_err(|source| ReadError::Expression {
        what: what.into(),
        place: place.into(),
        source: Box::new(source),
    })
}

fn flow(raw: Vec<RawElement>, place: &str) -> Result<Vec<Element>, ReadError> {
    raw.into_iter().map(|raw| element(raw, place)).collect()
}

/// The words of an element that are still to be read.
struct Words<'a> {
    raw: RawElement,
    name: String,
    place: &'a str,
}

impl Words<'_> {
    fn wrong(&self, found: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError::Element {
            element: self.name.clone(),
            place: self.place.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    fn optional(&mut self, word: &str) -> Result<Option<Expression>, ReadError> {
        let place = format!("{}/{}", self.place, self.name);
        let raw = self.raw.remove(word);
        raw.map(|raw| expression(word, &place, &raw)).transpose()
    }

    fn required(&mut self, word: &str) -> Result<Expression, ReadError> {
        let found = self.optional(word)?;
        found.ok_or_else(|| self.wrong(format!("no {word}"), format!("{word} = an expression")))
    }

    fn or_zero(&mut self, word: &str) -> Result<Expression, ReadError> {
        Ok(self.optional(word)?.unwrap_or(Expression::Number(0.0)))
    }

    fn name(&mut self, word: &str) -> Result<Option<String>, ReadError> {
        match self.raw.remove(word) {
            None => Ok(None),
            Some(Raw::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(format!("a {word} that is no text"), "a name")),
        }
    }

    fn elements(&mut self, word: &str) -> Result<Vec<RawElement>, ReadError> {
        match self.raw.remove(word) {
            Some(Raw::Elements(elements)) => Ok(elements),
            _ => Err(self.wrong(format!("no {word}"), format!("{word} = a list of tables"))),
        }
    }

    fn body(&mut self) -> Result<Vec<Element>, ReadError> {
        let place = format!("{}/{}", self.place, self.name);
        flow(self.elements("body")?, &place)
    }

    fn branches(&mut self) -> Result<Vec<Branch>, ReadError> {
        let place = format!("{}/{}", self.place, self.name);
        let one = |(raw, i): (RawElement, usize)| {
            let mut words = Words {
                raw,
                name: format!("branch {i}"),
                place: &place,
            };
            let guard = words.optional("guard")?;
            let flow = words.body()?;
            words.done()?;
            Ok(Branch { guard, flow })
        };
        self.elements("branches")?
            .into_iter()
            .zip(1..)
            .map(one)
            .collect()
    }

    fn done(&self) -> Result<(), ReadError> {
        match self.raw.keys().next() {
            None => Ok(()),
            Some(word) => Err(self.wrong(format!("\"{word}\""), "only words that it has")),
        }
    }
}

fn element(mut raw: RawElement, place: &str) -> Result<Element, ReadError> {
    let mut known: Vec<_> = WORDS
        .iter()
        .filter(|word| raw.contains_key(**word))
        .collect();
    let (Some(word), None) = (known.pop(), known.pop()) else {
        let words: Vec<_> = raw.keys().map(String::as_str).collect();
        return Err(ReadError::Element {
            element: words.join(", "),
            place: place.into(),
            found: "no word or several that say what it is".into(),
            expected: format!("one of {}", WORDS.join(", ")),
        });
    };
    let name = raw.remove(*word).and_then(|name| name.text());
    let mut words = Words {
        raw,
        name: name.unwrap_or_default(),
        place,
    };
    if words.name.is_empty() {
        return Err(words.wrong(format!("{word} without a name"), "text"));
    }
    let kind = kind(word, &mut words)?;
    words.done()?;
    let name = words.name;
    Ok(Element { name, kind })
}

fn kind(word: &str, words: &mut Words<'_>) -> Result<ElementKind, ReadError> {
    Ok(match word {
        "action" => ElementKind::Action {
            cost: words.optional("cost")?,
            code: code(words)?,
        },
        "activity" => ElementKind::Activity {
            activity: words.name("of")?.unwrap_or_else(|| words.name.clone()),
        },
        "decision" => ElementKind::Decision {
            branches: words.branches()?,
        },
        "loop" => ElementKind::Loop {
            count: words.required("count")?,
            variable: words.name("variable")?,
            flow: words.body()?,
        },
        "while" => ElementKind::While {
            condition: words.required("condition")?,
            flow: words.body()?,
        },
        "parallel" => ElementKind::Parallel {
            threads: words.required("threads")?,
            flow: words.body()?,
        },
        "critical" => ElementKind::Critical {
            lock: words.name("lock")?.unwrap_or_else(|| words.name.clone()),
            flow: words.body()?,
        },
        "send" | "isend" => ElementKind::Send {
            to: words.required("to")?,
            bytes: words.required("bytes")?,
            tag: words.or_zero("tag")?,
            blocking: word == "send",
        },
        "recv" | "irecv" => ElementKind::Receive {
            from: words.required("from")?,
            tag: words.or_zero("tag")?,
            blocking: word == "recv",
            sender: match word {
                "recv" => words.name("sender")?,
                _ => None,
            },
        },
        "wait" => ElementKind::Wait,
        "waitany" => ElementKind::WaitAny {
            sender: words.name("sender")?,
        },
        other => ElementKind::Collective(collective(other, words)?),
    })
}

fn collective(word: &str, words: &mut Words<'_>) -> Result<Collective, ReadError> {
    let kind = CollectiveKind::named(word).unwrap_or(CollectiveKind::Barrier);
    let one = Expression::Number(1.0);
    let group = match words.optional("group_first")? {
        Some(first) => Some(Group {
            first,
            size: words.required("group_size")?,
            stride: words.optional("group_stride")?.unwrap_or(one.clone()),
        }),
        None => None,
    };
    Ok(Collective {
        kind,
        root: match kind.has_root() {
            true => words.or_zero("root")?,
            false => Expression::Number(0.0),
        },
        bytes: match kind.has_bytes() {
            true => words.required("bytes")?,
            false => one,
        },
        group,
    })
}

fn code(words: &mut Words<'_>) -> Result<Vec<crate::expression::Assignment>, ReadError> {
    let text = words.name("code")?.unwrap_or_default();
    parse_assignments(&text).map_err(|source| ReadError::Expression {
        what: "code".into(),
        place: format!("{}/{}", words.place, words.name),
        source: Box::new(source),
    })
}
