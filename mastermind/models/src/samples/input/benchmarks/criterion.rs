//! Criterion: the folder that `cargo bench` fills, and the messages of `cargo criterion`.
//!
//! A benchmark `GROUP/FUNCTION/VALUE` has a folder of that name with two files: `new/benchmark.json` describes the benchmark, and
//! `new/sample.json` has for each sample the number of calls and the total time of these calls. The method is `GROUP/FUNCTION`, its
//! parameter `value`. If the value is no number, a throughput (`bytes` or `elements`) is a parameter too, since it measures the amount
//! of work.
//!
//! # Source
//! Criterion 0.3 to 0.7, `src/benchmark.rs`, `src/report.rs` (`BenchmarkId`), `src/connection.rs`; before 0.3.5 a sample is two
//! lists without names. cargo-criterion 1.1, `src/message_formats/json.rs`.

use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use super::{Measured, Setting, TIME, give, wrong};
use crate::samples::input::error::{InputError, Place, quoted};
use crate::samples::input::extrap_json::Sink;
use crate::samples::input::wanted::TimeUnit;

/// `benchmark.json`.
#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<Map<String, Value>>,
}

/// `sample.json`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Sample {
    Named { iters: Vec<f64>, times: Vec<f64> },
    Pair([Vec<f64>; 2]),
}

/// A message of `cargo criterion --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    id: Option<String>,
    #[serde(default)]
    iteration_count: Vec<f64>,
    #[serde(default)]
    measured_values: Vec<f64>,
    unit: Option<String>,
    #[serde(default)]
    throughput: Vec<PerIteration>,
}

#[derive(Deserialize)]
struct PerIteration {
    per_iteration: f64,
    unit: String,
}

/// Passes the benchmarks of a folder to `sink`.
///
/// # Arguments
/// * `document` - `benchmark.json` and `sample.json` of each benchmark, one after the other
///
/// # Returns
/// The number of benchmarks.
///
/// # Errors
/// [`InputError::Content`] for a file that Criterion does not write.
pub(in super::super) fn pairs(
    name: &str,
    document: &[u8],
    sink: Sink<'_>,
) -> Result<usize, InputError> {
    let mut values = Deserializer::from_slice(document).into_iter::<Value>();
    let mut rows = Vec::new();
    while let Some(benchmark) = values.next() {
        let read = |value| serde_json::from_value::<Benchmark>(value);
        let benchmark = benchmark
            .and_then(read)
            .map_err(|error| wrong(name, &error))?;
        let full_id = benchmark.method() + "/" + benchmark.value_str.as_deref().unwrap_or("");
        let sample = match values.next() {
            Some(sample) => {
                sample.and_then(|value| serde_json::from_value::<Sample>(value).map(Sample::parts))
            }
            None => Ok((Vec::new(), Vec::new())),
        };
        let (iterations, times) = match sample {
            Ok(sample) if !sample.0.is_empty() => sample,
            _ => return Err(no_sample(name, &full_id)),
        };
        rows.push(Measured {
            method: benchmark.method(),
            metric: TIME,
            parameters: benchmark.parameters(),
            values_s: per_iteration(name, &full_id, &iterations, &times, TimeUnit::Nanosecond)?,
        });
    }
    give(rows, sink)
}

fn no_sample(name: &str, id: &str) -> InputError {
    let found = format!("no samples of {}", quoted(id.trim_end_matches('/')));
    let expected = "a sample.json with iters and times";
    InputError::content(name, Place::default(), found, expected)
}

impl Sample {
    /// Number of calls of each sample, and their total time.
    fn parts(self) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Named { iters, times } => (iters, times),
            Self::Pair([iters, times]) => (iters, times),
        }
    }
}

impl Benchmark {
    fn method(&self) -> String {
        of_group(
            &self.group_id,
            self.function_id.as_deref().unwrap_or_default(),
        )
    }

    fn parameters(&self) -> Vec<(String, Setting)> {
        let throughput = self.throughput.iter().flatten();
        let throughput =
            throughput.filter_map(|(unit, amount)| Some((unit.to_lowercase(), amount.as_f64()?)));
        of_value(self.value_str.as_deref().unwrap_or_default(), throughput)
    }
}

/// Name of a method: `GROUP/FUNCTION`, or the part that is not empty.
pub(super) fn of_group(group: &str, function: &str) -> String {
    let parts = [group, function]
        .into_iter()
        .filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("/")
}

/// The parameters for a value and a throughput.
pub(super) fn of_value(
    value: &str,
    throughput: impl Iterator<Item = (String, f64)>,
) -> Vec<(String, Setting)> {
    let value = match value.is_empty() {
        true => None,
        false => Some(("value".to_owned(), Setting::of_text(value))),
    };
    let is_number = matches!(value, Some((_, Setting::Number(_))));
    let throughput = throughput.filter(|_| !is_number);
    let throughput = throughput.map(|(unit, amount)| (unit, Setting::Number(amount)));
    value.into_iter().chain(throughput).collect()
}

/// Times of one call, seconds.
pub(super) fn per_iteration(
    name: &str,
    id: &str,
    iterations: &[f64],
    times: &[f64],
    unit: TimeUnit,
) -> Result<Vec<f64>, InputError> {
    if iterations.len() != times.len() {
        let found = format!(
            "{} numbers of iterations and {} times of {}",
            iterations.len(),
            times.len(),
            quoted(id)
        );
        let expected = "as many of both";
        return Err(InputError::content(name, Place::default(), found, expected));
    }
    let both = iterations.iter().zip(times);
    Ok(both.map(|(n, time)| unit.to_s(*time) / n).collect())
}

/// The benchmarks among the messages of `cargo criterion`.
///
/// # Errors
/// [`InputError::Content`] for text that is no message of that program, and for a measurement that is no time.
pub(in super::super) fn messages(name: &str, document: &[u8]) -> Result<Vec<Measured>, InputError> {
    let mut rows = Vec::new();
    for message in Deserializer::from_slice(document).into_iter::<Message>() {
        let message = message.map_err(|error| wrong(name, &error))?;
        if message.reason != "benchmark-complete" {
            continue;
        }
        let id = message.id.unwrap_or_default();
        if message.measured_values.is_empty() {
            return Err(no_sample(name, &id));
        }
        let unit = message.unit.as_deref().unwrap_or("ns");
        let unit = TimeUnit::from_str(unit).map_err(|()| {
            let found = format!("unit {} of {}", quoted(unit), quoted(&id));
            InputError::content(name, Place::default(), found, "s, ms, us or ns")
        })?;
        let (method, value) = match id.rsplit_once('/') {
            Some((method, value)) if value.parse::<f64>().is_ok() => (method, value),
            _ => (id.as_str(), ""),
        };
        let throughput = message.throughput.into_iter();
        let throughput = throughput.map(|one| (one.unit, one.per_iteration));
        let (iterations, times) = (&message.iteration_count, &message.measured_values);
        rows.push(Measured {
            method: method.to_owned(),
            metric: TIME,
            parameters: of_value(value, throughput),
            values_s: per_iteration(name, &id, iterations, times, unit)?,
        });
    }
    Ok(rows)
}
