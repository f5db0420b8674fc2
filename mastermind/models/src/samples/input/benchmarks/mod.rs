//! Files of benchmark programs: Google Benchmark, hyperfine, pytest-benchmark, pyperf and Criterion.
//!
//! Each program describes its benchmarks in its own form; times are in seconds or have a unit:
//!
//! ```text
//! Google Benchmark   "BM_Sort/n:1024/8/threads:4", 17.3, "us"      BM_Sort, n = 1024, range1 = 8, threads = 4
//! hyperfine          "sort -S 4M x", {"size": "4M"}, [0.1, 0.2]    sort -S {size} x, size = 4M
//! pytest-benchmark   "test_sort[1024]", {"n": 1024}, [0.1, 0.2]    test_sort, n = 1024
//! pyperf             "sort", {"n": 1024}, [0.1, 0.2]               sort, n = 1024
//! Criterion          "sort", "heap", "1024", [1, 2], [17, 34]      sort/heap, value = 1024
//! ```
//!
//! A reader converts a document to [`Measured`] values, and [`give`] passes them on. Each program has a file here, which names its source.

mod criterion;
pub(super) mod csv;
mod google;
mod hyperfine;
mod pyperf;
mod pytest;

use std::collections::{BTreeSet, HashMap};

pub(super) use criterion::{messages, pairs};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::error::{InputError, Place, quoted};
use super::extrap_json::Sink;
use super::json_lines::plain;
use super::wanted::Wanted;
use super::{Cell, Named, Row};

/// Fields that distinguish the documents of different programs.
#[derive(Deserialize)]
pub(super) struct Probe {
    /// The older form of Extra-P has call paths; both forms have measurements.
    pub(super) callpaths: Option<IgnoredAny>,
    measurements: Option<IgnoredAny>,
    benchmarks: Option<IgnoredAny>,
    results: Option<IgnoredAny>,
    context: Option<IgnoredAny>,
    machine_info: Option<IgnoredAny>,
    version: Option<IgnoredAny>,
    reason: Option<IgnoredAny>,
}

/// The program that wrote a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Google,
    Pytest,
    Pyperf,
    Hyperfine,
    CargoCriterion,
}

/// A document with a list of results.
#[derive(Deserialize)]
struct Benchmarks<T> {
    #[serde(alias = "results")]
    benchmarks: Vec<T>,
}

/// A benchmark: its method, parameters and times.
#[derive(Debug, PartialEq)]
pub(super) struct Measured {
    method: String,
    metric: &'static str,
    parameters: Vec<(String, Setting)>,
    /// Seconds, shape `[n_repetitions]`; NaN for a run that failed.
    values_s: Vec<f64>,
}

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
enum Setting {
    Number(f64),
    Label(String),
    Empty,
}

/// Metric of programs that measure one time.
const TIME: &str = "time";

/// Passes rows to `sink`. If a method was run with different lists of parameters, each list becomes a method of its own.
///
/// # Returns
/// The number of rows.
pub(super) fn give(mut rows: Vec<Measured>, sink: Sink<'_>) -> Result<usize, InputError> {
    rows.retain(|row| !row.values_s.is_empty());
    let names = |row: &Measured| -> Vec<String> {
        row.parameters
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    };
    let mut lists = HashMap::<String, BTreeSet<Vec<String>>>::new();
    for row in &rows {
        lists
            .entry(row.method.clone())
            .or_default()
            .insert(names(row));
    }
    for row in &mut rows {
        if lists.get(&row.method).is_some_and(|lists| lists.len() > 1) {
            row.method = format!("{}({})", row.method, names(row).join(", "));
        }
    }
    for row in &rows {
        let parameters = row.parameters.iter();
        let (names, cells): (Vec<Named>, Vec<Cell<'_>>) = parameters
            .map(|(name, setting)| (plain(name), setting.cell()))
            .unzip();
        sink(&Row {
            line: 0,
            method: &row.method,
            metric: Some(row.metric),
            names: &names,
            cells: &cells,
            values_s: &row.values_s,
            call: None,
        })?;
    }
    Ok(rows.len())
}

impl Probe {
    /// The benchmark program that wrote the document; `None` if none did.
    pub(super) fn program(&self) -> Option<Program> {
        match (&self.benchmarks, &self.results) {
            _ if self.measurements.is_some() => None,
            (Some(_), _) if self.machine_info.is_some() => Some(Program::Pytest),
            (Some(_), _) if self.context.is_none() && self.version.is_some() => {
                Some(Program::Pyperf)
            }
            (Some(_), _) => Some(Program::Google),
            (None, Some(_)) => Some(Program::Hyperfine),
            (None, None) if self.reason.is_some() => Some(Program::CargoCriterion),
            (None, None) => None,
        }
    }
}

impl Program {
    /// Passes each row of a document to `sink`.
    ///
    /// # Returns
    /// The number of rows.
    ///
    /// # Errors
    /// [`InputError::Content`] for a document that this program does not write, for times in an unknown unit, and if there are only
    /// aggregates.
    pub(super) fn rows(
        self,
        name: &str,
        document: &[u8],
        wanted: &Wanted,
        sink: Sink<'_>,
    ) -> Result<usize, InputError> {
        let rows = match self {
            Self::Google => google::measured(name, &list(name, document)?, wanted)?,
            Self::Pytest => list(name, document)?.iter().map(pytest::measured).collect(),
            Self::Pyperf => pyperf::measured(name, &parsed(name, document)?)?,
            Self::Hyperfine => list(name, document)?
                .iter()
                .map(hyperfine::measured)
                .collect(),
            Self::CargoCriterion => messages(name, document)?,
        };
        give(rows, sink)
    }
}

fn list<T: DeserializeOwned>(name: &str, document: &[u8]) -> Result<Vec<T>, InputError> {
    parsed(name, document).map(|read: Benchmarks<T>| read.benchmarks)
}

fn parsed<T: DeserializeOwned>(name: &str, document: &[u8]) -> Result<T, InputError> {
    serde_json::from_slice(document).map_err(|error| wrong(name, &error))
}

/// Error for a document that none of the programs writes.
fn wrong(name: &str, error: &serde_json::Error) -> InputError {
    let place = Place {
        line: error.line() as u64,
        column: error.column() as u64,
    };
    let expected = "the JSON of Google Benchmark, hyperfine, pytest-benchmark, pyperf or Criterion";
    InputError::content(name, place, quoted(&error.to_string()), expected)
}

/// The parameters among named values; arrays and objects are left out.
fn parameters<'a>(
    values: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> Vec<(String, Setting)> {
    let setting = |(name, value): (&String, &Value)| Some((name.clone(), Setting::of(value)?));
    values.into_iter().filter_map(setting).collect()
}

impl Setting {
    /// A number, or a label.
    fn of_text(text: &str) -> Self {
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Number(number),
            _ => Self::Label(text.to_owned()),
        }
    }

    /// `None` for an array or object.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Empty),
            Value::Bool(is) => Some(Self::Label(is.to_string())),
            Value::Number(number) => Some(Self::Number(number.as_f64()?)),
            Value::String(text) => Some(Self::of_text(text)),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Number(number) => Cell::Number(*number),
            Self::Label(label) => Cell::Label(label),
            Self::Empty => Cell::Empty,
        }
    }
}
