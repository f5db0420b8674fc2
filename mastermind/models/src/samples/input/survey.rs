//! Two passes over inputs: the first surveys their methods and parameters, the second reads their values.
//!
//! Samples of a method need its parameters and all labels of its enumerations before the first value, but labels may be spread over several
//! files. So every input is surveyed before any is read:
//!
//! ```text
//! look("a.csv")  sort: n integer, order {random}
//! look("b.csv")  sort: n integer, order {random, sorted}
//! read("a.csv"), read("b.csv")        values into one set, `order` as the index of its label
//! ```
//!
//! The first pass also sums the times of nested calls of exported records, so that the second can compute exclusive times.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::Read;

use foldhash::fast::RandomState;

use super::error::{InputError, Place, quoted};
use super::filling::Filling;
use super::table::rank_of;
use super::wanted::Wanted;
use super::{Cell, Format, Named, Row, rows};
use crate::samples::call_sink::CallSink;
use crate::samples::parameter::{Parameter, ParameterKind};

/// The contents of inputs: methods, their parameters, and the labels of enumerations.
///
/// All inputs are surveyed before the first is read, since labels of a method may occur in one input only.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    pub(super) methods: HashMap<String, Surveyed, RandomState>,
    /// Metric taken as the time, by input.
    chosen: HashMap<String, Option<String>>,
    /// Columns of tables that are not parameters.
    left_out: Vec<LeftOut>,
    /// Wall time of the calls made from a call, nanoseconds, by rank of an export and number of the call.
    inner_ns: HashMap<String, HashMap<u64, u64>>,
}

/// Parameters of a method.
#[derive(Debug, Clone)]
pub(super) struct Surveyed {
    pub(super) names: Vec<Named>,
    pub(super) kinds: Vec<Kind>,
    /// The first input with the method.
    input: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Only empty cells so far.
    Nothing,
    Integer,
    Real,
    Labels(BTreeSet<String>),
}

/// Values of an input that were not taken into the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct SetAside {
    /// The input.
    pub input: String,
    /// The method.
    pub method: String,
    /// The reason.
    pub why: Why,
    /// Number of values not taken.
    pub count: u64,
    /// Line of the first one, from 1; 0 if the format has no lines.
    pub line: u64,
    /// Number of all values of the method in this input.
    pub of: u64,
}

/// Columns of a table that are neither parameters nor the time, though they differ from line to line.
///
/// Lines that differ only in them are repetitions of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The input.
    pub input: String,
    /// Names of the columns.
    pub columns: Vec<String>,
}

/// Reason why values were set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// The time is missing, or not a number.
    NoTime,
    /// The time is infinite.
    Infinite,
    /// The time is below zero.
    Negative,
    /// A parameter is missing, infinite, or not a number.
    Parameter,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTime => "no time, or not a number",
            Self::Infinite => "an infinite time",
            Self::Negative => "a time below zero",
            Self::Parameter => "a parameter that is not there or not finite",
        })
    }
}

/// `3 of 40 values of "sort" in "sort.csv", from line 7: a time below zero`.
impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, of) = (self.count, self.of);
        write!(f, "{count} of {of} values of {}", quoted(&self.method))?;
        write!(
            f,
            " in \"{}\"{}: {}",
            self.input,
            Place::line(self.line),
            self.why
        )
    }
}

impl Survey {
    /// Surveys an input.
    ///
    /// # Arguments
    /// * `name` - name of the input in messages, and of a method without a name; for a file its path
    /// * `input` - the whole input
    ///
    /// # Errors
    /// [`InputError`].
    pub fn look(
        &mut self,
        name: &str,
        format: Format,
        input: impl Read,
        wanted: &Wanted,
    ) -> Result<(), InputError> {
        let mut metrics: BTreeSet<Option<String>> = BTreeSet::new();
        let mut last: Option<Option<String>> = None;
        let columns = rows(name, format, input, wanted, &mut |row| {
            if let Some(call) = row.call
                && let Some(parent) = call.parent_seq
            {
                let inner = self.inner_ns.entry(rank_of(name)).or_default();
                let sum = inner.entry(parent).or_default();
                *sum = sum.saturating_add(call.wall_ns);
            }
            // Consecutive rows mostly have the same metric, so a set look-up for each is avoided.
            if last.as_ref().map(Option::as_deref) != Some(row.metric) {
                let metric = row.metric.map(str::to_owned);
                metrics.insert(metric.clone());
                last = Some(metric);
            }
            self.see(name, row, wanted)
        })?;
        if !columns.is_empty() {
            let input = name.into();
            self.left_out.push(LeftOut { input, columns });
        }
        let chosen = choose(name, &metrics, wanted)?;
        self.chosen.insert(name.into(), chosen);
        Ok(())
    }

    /// Columns that were left out of the surveyed inputs.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Passes the values of a surveyed input to `sink`.
    ///
    /// Calls with an empty, negative or non-finite time, or with a non-finite parameter, are not taken. Wall times of an exported table are
    /// made exclusive: the times of nested calls of the same rank in all surveyed inputs are subtracted.
    ///
    /// # Returns
    /// The values not taken.
    ///
    /// # Errors
    /// [`InputError`], also if the input differs from the surveyed one.
    pub fn read(
        &self,
        name: &str,
        format: Format,
        input: impl Read,
        wanted: &Wanted,
        sink: &mut impl CallSink,
    ) -> Result<Vec<SetAside>, InputError> {
        let inner_ns = self.inner_ns.get(&rank_of(name));
        let mut filling = Filling::new(self, name, sink, inner_ns);
        let chosen = self.chosen.get(name).cloned().unwrap_or_default();
        rows(name, format, input, wanted, &mut |row| {
            if row.metric == chosen.as_deref() {
                filling.take(row)
            } else {
                Ok(())
            }
        })?;
        Ok(filling.set_aside())
    }

    /// Surveys a row, which must have the same parameters as the earlier rows of its method, in any order.
    fn see(&mut self, name: &str, row: &Row<'_>, wanted: &Wanted) -> Result<(), InputError> {
        let Some(known) = self.methods.get_mut(row.method) else {
            if let Some(twice) = duplicate(row.names) {
                let found = format!("parameter {} twice", quoted(twice));
                return Err(InputError::content(
                    name,
                    Place::line(row.line),
                    found,
                    "each once",
                ));
            }
            let surveyed = Surveyed {
                names: row.names.to_vec(),
                kinds: vec![Kind::Nothing; row.names.len()],
                input: name.into(),
            };
            self.methods.insert(row.method.into(), surveyed);
            return self.see(name, row, wanted);
        };
        for (at, (named, cell)) in row.names.iter().zip(row.cells).enumerate() {
            let Some(place) = known.place(at, named) else {
                return Err(known.differ(name, row));
            };
            let as_label = match cell {
                Cell::Number(number) if wanted.labels.contains(&named.name) => {
                    Some(number.to_string())
                }
                _ => None,
            };
            let seen = match &as_label {
                Some(label) => known.kinds[place].see(&Cell::Label(label)),
                None if is_abbreviated(cell) && !wanted.labels.contains(&named.name) => Err(
                    "a number written out, as 4000 for 4k; name it among the labels if it is one",
                ),
                None => known.kinds[place].see(cell),
            };
            seen.map_err(|expected| {
                let place = Place::line(row.line);
                let value = match cell {
                    Cell::Label(label) => quoted(label),
                    Cell::Number(number) => number.to_string(),
                    Cell::Empty => "nothing".into(),
                };
                let found = format!("{value} for parameter {}", quoted(&named.name));
                InputError::content(name, place, found, expected)
            })?;
        }
        if row.names.len() == known.names.len() {
            Ok(())
        } else {
            Err(known.differ(name, row))
        }
    }
}

fn duplicate(names: &[Named]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    let names = names.iter().map(|named| named.name.as_str());
    names.into_iter().find(|name| !seen.insert(*name))
}

/// The metric to take: the one with the wanted name, else the only one.
fn choose(
    name: &str,
    metrics: &BTreeSet<Option<String>>,
    wanted: &Wanted,
) -> Result<Option<String>, InputError> {
    let called = |metric: &&Option<String>| match metric {
        Some(metric) => wanted.is_time(metric),
        // A metric without a name is the time.
        None => wanted.time.is_none() && wanted.metric == crate::Metric::Wall,
    };
    let only = match &wanted.time {
        None if metrics.len() == 1 && wanted.metric.is_time() => metrics.first(),
        _ => None,
    };
    // For a table the column was chosen already.
    let is_table = metrics.len() == 1 && metrics.contains(&None);
    let found = metrics.iter().find(called).or(only);
    match found {
        Some(metric) => Ok(metric.clone()),
        None if is_table => Ok(None),
        None => {
            let found = metrics.iter().flatten().map(|metric| quoted(metric));
            Err(InputError::NoMetric {
                input: name.into(),
                found: found.collect::<Vec<_>>().join(", "),
                expected: quoted(wanted.looked_for()),
            })
        }
    }
}

impl Surveyed {
    /// Position of a parameter; its position in the row is tried first.
    fn place(&self, at: usize, named: &Named) -> Option<usize> {
        if self.names.get(at) == Some(named) {
            return Some(at);
        }
        self.names.iter().position(|known| known == named)
    }

    fn differ(&self, name: &str, row: &Row<'_>) -> InputError {
        InputError::ParametersDiffer {
            input: name.into(),
            place: Place::line(row.line),
            method: row.method.into(),
            found: list(row.names).into(),
            expected: list(&self.names).into(),
            before: self.input.as_str().into(),
        }
    }

    /// The parameters for the samples; parameters without any value are left out.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let pairs = self.names.iter().zip(&self.kinds);
        let parameter = |(named, kind): (&Named, &Kind)| {
            let kind = match kind {
                Kind::Nothing => return None,
                Kind::Integer => ParameterKind::Integer,
                Kind::Real => ParameterKind::Real,
                Kind::Labels(labels) => {
                    ParameterKind::Enumeration(labels.iter().cloned().collect())
                }
            };
            Some(Parameter {
                name: named.name.clone(),
                unit: named.unit.clone(),
                kind,
            })
        };
        pairs.filter_map(parameter).collect()
    }
}

fn list(names: &[Named]) -> String {
    let names = names
        .iter()
        .map(|Named { name, unit }| match unit.as_str() {
            "" => name.clone(),
            unit => format!("{name} ({unit})"),
        });
    names.collect::<Vec<_>>().join(", ")
}

/// Whether a text is a number in an unsupported form: followed by a factor or a unit (`4k`, `1 GB`, `10 ms`), or with commas.
fn is_abbreviated(cell: &Cell<'_>) -> bool {
    let Cell::Label(text) = cell else {
        return false;
    };
    const FACTORS: [&str; 26] = [
        "k", "m", "g", "t", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "ki", "mi", "gi",
        "s", "ms", "us", "µs", "μs", "ns", "bytes", "hz", "khz", "mhz", "ghz",
    ];
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
    let behind = text[digits.len()..].trim().to_ascii_lowercase();
    let is_number = digits.replace(',', "").parse::<f64>().is_ok();
    is_number && (digits.contains(',') && behind.is_empty() || FACTORS.contains(&behind.as_str()))
}

impl Kind {
    /// Updates the type with a value.
    ///
    /// # Errors
    /// A description of the expected value, since numbers and labels do not mix.
    fn see(&mut self, cell: &Cell<'_>) -> Result<(), &'static str> {
        match (&mut *self, cell) {
            (_, Cell::Empty) => {}
            (Self::Nothing, Cell::Number(number)) => *self = Self::of(*number),
            (Self::Nothing, Cell::Label(label)) => {
                *self = Self::Labels([(*label).to_owned()].into_iter().collect());
            }
            (Self::Integer, Cell::Number(number)) => *self = Self::of(*number),
            (Self::Real, Cell::Number(_)) => {}
            (Self::Labels(labels), Cell::Label(label)) => {
                if !labels.contains(*label) {
                    labels.insert((*label).to_owned());
                }
            }
            (Self::Integer | Self::Real, Cell::Label(_)) => {
                return Err(
                    "a number as in the lines before; name it among the labels if it is one",
                );
            }
            (Self::Labels(_), Cell::Number(_)) => {
                return Err(
                    "a label as in the lines before; name it among the labels if it is one",
                );
            }
        }
        Ok(())
    }

    fn of(number: f64) -> Self {
        if number.fract() == 0.0 {
            Self::Integer
        } else {
            Self::Real
        }
    }

    /// The value as a number of a coordinate; `None` if there is no valid value.
    pub(super) fn value(&self, cell: &Cell<'_>) -> Option<f64> {
        let index = |labels: &BTreeSet<String>, label: &str| {
            let place = labels.iter().position(|known| known == label);
            place.map(|place| place as f64)
        };
        match (self, cell) {
            (Self::Labels(labels), Cell::Label(label)) => index(labels, label),
            (Self::Labels(labels), Cell::Number(number)) => index(labels, &number.to_string()),
            (_, Cell::Number(number)) => Some(*number).filter(|number| number.is_finite()),
            _ => None,
        }
    }
}
