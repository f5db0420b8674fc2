//! Google Benchmark: its JSON and its comma-separated values.
//!
//! The name of a benchmark contains its arguments: in `BM_Sort/n:1024/8/threads:4` the method is `BM_Sort`, and the parameters are
//! `n` = 1024, `range1` = 8 and `threads` = 4. Aggregates are left out, since the repetitions contain more; a failed run has no time.
//!
//! # Source
//! Google Benchmark 1.9, `docs/user_guide.md` ("Output Formats", "Passing Arguments"), `src/benchmark_name.cc`, `src/csv_reporter.cc`.

use std::str::FromStr;

use serde::Deserialize;

use super::{Measured, Setting};
use crate::samples::input::error::{InputError, Place, quoted};
use crate::samples::input::wanted::{TimeUnit, Wanted};

/// A row of Google Benchmark.
#[derive(Deserialize)]
pub(super) struct Google {
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

/// Metrics of Google Benchmark: the one taken unless another is named, and the other one.
const REAL_TIME: &str = "real_time";
const CPU_TIME: &str = "cpu_time";

/// The repetitions of a document.
///
/// # Errors
/// [`InputError::Content`] for times in an unknown unit, and if there are only aggregates.
pub(super) fn measured(
    name: &str,
    benchmarks: &[Google],
    wanted: &Wanted,
) -> Result<Vec<Measured>, InputError> {
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
            // A failed run reports 0.
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
    Ok(rows)
}

/// Function and arguments: the numbers after the function's name, some with a name; settings of the run are left out.
pub(super) fn of_google_name(name: &str) -> (String, Vec<(String, Setting)>) {
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
                parameters.push((label, Setting::Number(number)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_google_benchmark_hold_arguments() {
        let of = |name| {
            let (method, parameters) = of_google_name(name);
            let parameters = parameters.into_iter().map(|(name, cell)| match cell {
                Setting::Number(number) => format!("{name}={number}"),
                setting => format!("{name}={setting:?}"),
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
}
