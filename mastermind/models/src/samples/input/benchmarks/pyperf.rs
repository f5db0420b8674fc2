//! pyperf's JSON: each benchmark has runs, and each run has values per loop, with the warm-up separate.
//!
//! A suite, a benchmark and a run may have metadata; the most specific count. The parameters are the numbers among them that pyperf does not
//! write itself, such as those of a script with `metadata={"n": 1024}`. Runs that only calibrate have no values.
//!
//! Names are unique in a suite, so they often end in a parameter: `sort_1000`, `sort_2000`. If several differ in that number only, the
//! method is `sort`, and the number is its parameter `value`, unless it is among the metadata.
//!
//! # Source
//! pyperf 2.7, `pyperf/_bench.py` ("JSON format history"), `pyperf/_metadata.py`, `doc/api.rst` ("Metadata").

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Measured, Setting, TIME, parameters};
use crate::samples::input::error::{InputError, Place, quoted};

#[derive(Deserialize)]
pub(super) struct Suite {
    version: Value,
    #[serde(default)]
    metadata: Map<String, Value>,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default, alias = "common_metadata")]
    metadata: Map<String, Value>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    #[serde(default)]
    metadata: Map<String, Value>,
    /// Values of the run, named `samples` in version 5.
    #[serde(default, alias = "samples")]
    values: Vec<f64>,
}

/// Numbers that pyperf writes itself, which describe how a benchmark was run.
const OWN: [&str; 18] = [
    "boot_time",
    "calibrate_loops",
    "calibrate_warmups",
    "command_max_rss",
    "cpu_count",
    "duration",
    "inner_loops",
    "load_avg_1min",
    "loops",
    "mem_max_rss",
    "mem_peak_pagefile_usage",
    "recalibrate_loops",
    "recalibrate_warmups",
    "runnable_threads",
    "timeit_duplicate",
    "timeit_loops",
    "uptime",
    "warmups",
];

/// The values of each run.
///
/// # Errors
/// [`InputError::Content`] for another version of the format, or if none of the values is a time.
pub(super) fn measured(name: &str, suite: &Suite) -> Result<Vec<Measured>, InputError> {
    let version = match &suite.version {
        Value::String(version) => version.clone(),
        version => version.to_string(),
    };
    if !["5", "6", "1.0"].contains(&version.as_str()) {
        let found = format!("version {} of pyperf's format", quoted(&version));
        let expected = "version 5, 6 or 1.0; convert it with pyperf convert";
        return Err(InputError::content(name, Place::default(), found, expected));
    }
    let (mut rows, mut other) = (Vec::new(), None);
    for benchmark in &suite.benchmarks {
        for run in benchmark.runs.iter().filter(|run| !run.values.is_empty()) {
            let levels = [&suite.metadata, &benchmark.metadata, &run.metadata];
            let mut metadata = Map::new();
            for (key, value) in levels.into_iter().flatten() {
                metadata.insert(key.clone(), value.clone());
            }
            let text = |key| metadata.get(key).and_then(Value::as_str);
            match text("unit") {
                None | Some("second") => {}
                Some(unit) => {
                    other = Some(unit.to_owned());
                    continue;
                }
            }
            let given = metadata
                .iter()
                .filter(|(key, value)| value.is_number() && !OWN.contains(&key.as_str()));
            rows.push(Measured {
                method: text("name").unwrap_or("benchmark").to_owned(),
                metric: TIME,
                parameters: parameters(given),
                values_s: run.values.clone(),
            });
        }
    }
    match other {
        Some(unit) if rows.is_empty() => {
            let found = format!("values in {}", quoted(&unit));
            Err(InputError::content(
                name,
                Place::default(),
                found,
                "\"second\"",
            ))
        }
        _ => {
            rows.iter_mut().for_each(without_known_number);
            numbers_to_values(&mut rows);
            Ok(rows)
        }
    }
}

/// `sort` and 1000 of `sort_1000`, `sort[1000]`, `sort 1000` or `sort/1000`.
fn split(name: &str) -> Option<(&str, f64)> {
    let is_separator = |c: char| " _-/[(=:".contains(c);
    let inner = name.trim_end_matches([']', ')']);
    let (stem, number) = inner.rsplit_once(is_separator)?;
    let stem = stem.trim_end_matches(is_separator);
    let is_plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = number
        .parse::<f64>()
        .ok()
        .filter(|_| is_plain && !stem.is_empty())?;
    Some((stem, number))
}

/// Removes from the end of the name a number that is among the parameters.
fn without_known_number(row: &mut Measured) {
    if let Some((stem, number)) = split(&row.method)
        && row
            .parameters
            .iter()
            .any(|(_, known)| *known == Setting::Number(number))
    {
        row.method = stem.to_owned();
    }
}

/// Converts numbers at the ends of names to parameters, if the names differ in nothing else.
fn numbers_to_values(rows: &mut [Measured]) {
    let mut names = BTreeMap::<String, BTreeSet<String>>::new();
    for row in rows.iter() {
        if let Some((stem, _)) = split(&row.method) {
            let of_stem = names.entry(stem.to_owned()).or_default();
            of_stem.insert(row.method.clone());
        }
    }
    for row in rows {
        if let Some((stem, number)) = split(&row.method)
            && names.get(stem).is_some_and(|names| names.len() > 1)
        {
            row.parameters
                .insert(0, ("value".into(), Setting::Number(number)));
            row.method = stem.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_numbers() {
        for (name, expected) in [
            ("sort_1000", Some(("sort", 1000.0))),
            ("sort[1000]", Some(("sort", 1000.0))),
            ("sort (n=0.5)", Some(("sort (n", 0.5))),
            ("regex_v8", None),
            ("1000", None),
            ("_1000", None),
            ("[1]*1000", None),
            ("sort_1e3", None),
        ] {
            assert_eq!(split(name), expected, "{name}");
        }
    }
}
