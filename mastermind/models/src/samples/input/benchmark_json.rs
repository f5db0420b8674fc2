//! JSON of benchmark programs: Google Benchmark, hyperfine, pytest-benchmark.
//!
//! Each says what it ran in a way of its own, and all of them in seconds or with a unit:
//!
//! ```text
//! Google Benchmark   "BM_Sort/n:1024/8/threads:4", 17.3, "us"      BM_Sort, n = 1024, range1 = 8, threads = 4
//! hyperfine          "sort -S 4M x", {"size": "4M"}, [0.1, 0.2]    sort -S {size} x, size = 4M
//! pytest-benchmark   "test_sort[1024]", {"n": 1024}, [0.1, 0.2]    test_sort, n = 1024
//! ```
//!
//! # Source
//! Google Benchmark 1.9, `docs/user_guide.md` ("Output Formats", "Passing Arguments") and `src/benchmark_name.cc`; hyperfine 1.18,
//! `src/export/json.rs`; pytest-benchmark 5, "Comparing past runs".

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::error::{InputError, Place, quoted};
use super::extrap_json::Sink;
use super::json_lines::plain;
use super::wanted::{TimeUnit, Wanted};
use super::{Cell, Named, Row};

/// What a document is told by.
#[derive(Deserialize)]
pub(super) struct Probe {
    /// Extra-P's older form has call paths, both of its forms have measurements.
    pub(super) callpaths: Option<IgnoredAny>,
    measurements: Option<IgnoredAny>,
    benchmarks: Option<IgnoredAny>,
    results: Option<IgnoredAny>,
    machine_info: Option<IgnoredAny>,
}

/// Whose document it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Google,
    Pytest,
    Hyperfine,
}

/// A document, by its list.
#[derive(Deserialize)]
struct Benchmarks<T> {
    #[serde(alias = "results")]
    benchmarks: Vec<T>,
}

/// A row of Google Benchmark.
#[derive(Deserialize)]
struct Google {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    skipped: bool,
}

#[derive(Deserialize)]
struct Pytest {
    name: String,
    params: Option<Map<String, Value>>,
    stats: PytestStats,
}

#[derive(Deserialize)]
struct PytestStats {
    /// Seconds a round; there with `--benchmark-save-data`.
    data: Option<Vec<f64>>,
    mean: f64,
}

#[derive(Deserialize)]
struct Hyperfine {
    command: String,
    mean: Option<f64>,
    times: Option<Vec<f64>>,
    exit_codes: Option<Vec<Option<i64>>>,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// What a row is of, and its times, seconds.
struct Measured<'a> {
    method: String,
    metric: &'static str,
    parameters: Vec<(String, Cell<'a>)>,
    values_s: Vec<f64>,
}

/// Gives rows to `sink`. Of a method that was run with different parameters each list of them makes a method of its own.
///
/// # Returns
/// How many there are.
fn give(mut rows: Vec<Measured<'_>>, sink: Sink<'_>) -> Result<usize, InputError> {
    let names = |row: &Measured<'_>| -> Vec<String> {
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
    let n_rows = rows.len();
    for row in rows {
        let (names, cells): (Vec<Named>, Vec<_>) = row
            .parameters
            .into_iter()
            .map(|(name, cell)| (plain(&name), cell))
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
    Ok(n_rows)
}

impl Probe {
    /// The benchmark program that wrote the document; `None` if none did.
    pub(super) fn program(&self) -> Option<Program> {
        match (&self.benchmarks, &self.results, &self.machine_info) {
            _ if self.measurements.is_some() => None,
            (Some(_), _, None) => Some(Program::Google),
            (Some(_), _, Some(_)) => Some(Program::Pytest),
            (None, Some(_), _) => Some(Program::Hyperfine),
            (None, None, _) => None,
        }
    }
}

impl Program {
    /// Gives each row of a document to `sink`.
    ///
    /// # Returns
    /// How many there are.
    ///
    /// # Errors
    /// [`InputError::Content`] for what is not of that program, for times in an unknown unit, and where there are aggregates only.
    pub(super) fn rows(
        self,
        name: &str,
        document: &[u8],
        wanted: &Wanted,
        sink: Sink<'_>,
    ) -> Result<usize, InputError> {
        match self {
            Self::Google => google(name, &list(name, document)?, wanted, sink),
            Self::Pytest => {
                let rows = list::<Pytest>(name, document)?;
                give(rows.iter().map(pytest).collect(), sink)
            }
            Self::Hyperfine => {
                let rows = list::<Hyperfine>(name, document)?;
                give(rows.iter().map(hyperfine).collect(), sink)
            }
        }
    }
}

fn list<T: DeserializeOwned>(name: &str, document: &[u8]) -> Result<Vec<T>, InputError> {
    let read = serde_json::from_slice::<Benchmarks<T>>(document);
    let read = read.map_err(|error| {
        let place = Place {
            line: error.line() as u64,
            column: error.column() as u64,
        };
        let expected = "the JSON of Google Benchmark, hyperfine or pytest-benchmark";
        InputError::content(name, place, quoted(&error.to_string()), expected)
    })?;
    Ok(read.benchmarks)
}

/// Metric of Google Benchmark that is taken where none is named, and the other one.
const REAL_TIME: &str = "real_time";
const CPU_TIME: &str = "cpu_time";

fn google(
    name: &str,
    benchmarks: &[Google],
    wanted: &Wanted,
    sink: Sink<'_>,
) -> Result<usize, InputError> {
    let is_aggregate = |row: &&Google| row.run_type.as_deref() == Some("aggregate");
    let n_aggregates = benchmarks.iter().filter(is_aggregate).count();
    if n_aggregates > 0 && n_aggregates == benchmarks.len() {
        return Err(InputError::content(
            name,
            Place::default(),
            format!("{n_aggregates} aggregates"),
            "repetitions; run without --benchmark_report_aggregates_only",
        ));
    }
    let metric = match wanted.is_time(CPU_TIME) {
        true => CPU_TIME,
        false => REAL_TIME,
    };
    let mut rows = Vec::new();
    for row in benchmarks.iter().filter(|row| !is_aggregate(row)) {
        let run_name = row.run_name.as_ref().unwrap_or(&row.name);
        let unit = row.time_unit.as_deref().unwrap_or("ns");
        let unit = TimeUnit::from_str(unit).map_err(|()| {
            let found = format!("time unit {} of {}", quoted(unit), quoted(run_name));
            InputError::content(name, Place::default(), found, "s, ms, us or ns")
        })?;
        let time = match metric {
            // One that failed says 0.
            _ if row.error_occurred || row.skipped => None,
            CPU_TIME => row.cpu_time,
            _ => row.real_time,
        };
        let (method, parameters) = of_google_name(run_name);
        rows.push(Measured {
            method,
            metric,
            parameters,
            values_s: vec![time.map_or(f64::NAN, |time| unit.to_s(time))],
        });
    }
    give(rows, sink)
}

/// Function and arguments: numbers after the function's name, some with a name; what says how it was run is neither.
fn of_google_name(name: &str) -> (String, Vec<(String, Cell<'static>)>) {
    const OF_RUN: [&str; 7] = [
        "iterations",
        "repeats",
        "min_time",
        "min_warmup_time",
        "real_time",
        "process_time",
        "manual_time",
    ];
    let (mut method, mut parameters, mut n_arguments) = (String::new(), Vec::new(), 0);
    for part in name.split('/') {
        let (label, value) = match part.rsplit_once(':') {
            Some((label, value)) if !label.ends_with(':') => (label, value),
            _ => ("", part),
        };
        if !method.is_empty() && (OF_RUN.contains(&label) || OF_RUN.contains(&part)) {
            continue;
        }
        match value.parse::<f64>() {
            Ok(number) if !method.is_empty() && number.is_finite() => {
                let label = match label {
                    "" => format!("range{n_arguments}"),
                    label => label.to_owned(),
                };
                n_arguments += 1;
                parameters.push((label, Cell::Number(number)));
            }
            _ if method.is_empty() => method.push_str(part),
            _ => {
                method.push('/');
                method.push_str(part);
            }
        }
    }
    (method, parameters)
}

fn pytest(row: &Pytest) -> Measured<'_> {
    let parameters = row.params.iter().flatten();
    let parameters: Vec<_> = parameters
        .filter_map(|(name, value)| Some((name.clone(), cell(value)?)))
        .collect();
    let method = match row.name.split_once('[') {
        Some((function, _)) if row.params.is_some() => function,
        _ => &row.name,
    };
    let data = row.stats.data.clone().filter(|data| !data.is_empty());
    Measured {
        method: method.to_owned(),
        metric: "time",
        parameters,
        values_s: data.unwrap_or_else(|| vec![row.stats.mean]),
    }
}

fn hyperfine(row: &Hyperfine) -> Measured<'_> {
    let mut method = row.command.clone();
    for (name, value) in &row.parameters {
        method = with_name(&method, value.as_str().unwrap_or_default(), name);
    }
    let parameters = row.parameters.iter();
    let parameters: Vec<_> = parameters
        .filter_map(|(name, value)| Some((name.clone(), cell(value)?)))
        .collect();
    let times = row.times.clone().filter(|times| !times.is_empty());
    let mut values_s = times.unwrap_or_else(|| row.mean.into_iter().collect());
    let codes = row.exit_codes.iter().flatten();
    for (value, _) in values_s
        .iter_mut()
        .zip(codes)
        .filter(|(_, code)| **code != Some(0))
    {
        *value = f64::NAN;
    }
    Measured {
        method,
        metric: "time",
        parameters,
        values_s,
    }
}

/// A command with a parameter's name, as hyperfine's user wrote it, in place of its value.
fn with_name(command: &str, value: &str, name: &str) -> String {
    if value.is_empty() {
        return command.to_owned();
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut named = String::new();
    let mut rest = command;
    while let Some(at) = rest.find(value) {
        let (before, after) = (&rest[..at], &rest[at + value.len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        named.push_str(before);
        match is_whole {
            true => named.extend(["{", name, "}"]),
            false => named.push_str(value),
        }
        rest = after;
    }
    named + rest
}

/// A parameter's value; `None` for one that has parts.
fn cell(value: &Value) -> Option<Cell<'_>> {
    match value {
        Value::Null => Some(Cell::Empty),
        Value::Bool(true) => Some(Cell::Label("true")),
        Value::Bool(false) => Some(Cell::Label("false")),
        Value::Number(number) => Some(Cell::Number(number.as_f64()?)),
        Value::String(text) => Some(match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Cell::Number(number),
            _ => Cell::Label(text),
        }),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_google_benchmark_hold_arguments() {
        let of = |name| {
            let (method, parameters) = of_google_name(name);
            let parameters = parameters.into_iter().map(|(name, cell)| match cell {
                Cell::Number(number) => format!("{name}={number}"),
                cell => format!("{name}={cell:?}"),
            });
            format!("{method} {}", parameters.collect::<Vec<_>>().join(" "))
        };
        for (name, expected) in [
            ("BM_Empty", "BM_Empty "),
            ("BM_Vector<int>/1000", "BM_Vector<int> range0=1000"),
            (
                "BM_Sort<std::pair<int, int>>/8/2",
                "BM_Sort<std::pair<int, int>> range0=8 range1=2",
            ),
            ("shuffle/51000/manual_time", "shuffle range0=51000"),
            (
                "Undo/param_1:0/param_2:1024/real_time/threads:2",
                "Undo param_1=0 param_2=1024 threads=2",
            ),
            (
                "GEMM/accelerate/f64/m:256/k:64",
                "GEMM/accelerate/f64 m=256 k=64",
            ),
            (
                "Fixture/Method/64/iterations:10/repeats:3",
                "Fixture/Method range0=64",
            ),
            ("Push/first:3/5/min_time:2.000", "Push first=3 range1=5"),
            ("12", "12 "),
            ("", " "),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }

    #[test]
    fn a_value_in_a_command_is_its_parameter() {
        for (value, expected) in [
            ("4", "gzip -{n} x.14 4.5 {n}"),
            ("gzip", "{n} -4 x.14 4.5 4"),
            ("", "gzip -4 x.14 4.5 4"),
        ] {
            assert_eq!(with_name("gzip -4 x.14 4.5 4", value, "n"), expected);
        }
    }
}
