//! Comma-separated values of benchmark programs, recognised by their line of column names.
//!
//! A plain reader of tables would treat statistics (`stddev`, `items_per_second`) and numbers of iterations as parameters, and the time of
//! all iterations of a sample as that of one call.
//!
//! # Source
//! As named in the files of the programs; Criterion 0.3 to 0.7, book, "CSV Output".

use std::str::FromStr;

use csv::StringRecord;

use super::criterion::{of_group, of_value};
use super::google::of_google_name;
use super::hyperfine::with_name;
use super::{Measured, Setting, TIME};
use crate::samples::input::error::{InputError, Place, quoted};
use crate::samples::input::wanted::{TimeUnit, Wanted};
use crate::samples::metric::Metric;

/// The program that wrote a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Written {
    Google,
    Hyperfine,
    Criterion,
}

impl Written {
    /// The program that writes these columns; `None` if there is none, or if the user named columns to take.
    pub(in super::super) fn of(headers: &StringRecord, wanted: &Wanted) -> Option<Self> {
        let has = |names: &[&str]| names.iter().all(|name| headers.iter().any(|h| h == *name));
        let is_named =
            !wanted.params.is_empty() || wanted.method.is_some() || wanted.time.is_some();
        match wanted.metric {
            _ if is_named => None,
            _ if has(&["name", "iterations", "real_time", "cpu_time", "time_unit"]) => {
                Some(Self::Google)
            }
            Metric::Wall if has(&["command", "mean", "stddev", "user", "system"]) => {
                Some(Self::Hyperfine)
            }
            Metric::Wall if has(&["group", "function", "value", "iteration_count"]) => {
                Some(Self::Criterion)
            }
            _ => None,
        }
    }

    /// The measurement of a line of the table; `None` for an aggregate.
    ///
    /// # Errors
    /// [`InputError::Content`] for a value that is no number, and a unit that is no unit of time.
    pub(in super::super) fn measured(
        self,
        name: &str,
        line: u64,
        headers: &StringRecord,
        record: &StringRecord,
        wanted: &Wanted,
    ) -> Result<Option<Measured>, InputError> {
        let column = |wanted: &str| headers.iter().position(|header| header == wanted);
        let text = |column_name: &str| column(column_name).map_or("", |at| &record[at]);
        let place = |column_name: &str| Place {
            line,
            column: column(column_name).map_or(0, |at| at as u64 + 1),
        };
        let number = |column_name: &str| match text(column_name) {
            "" => Ok(f64::NAN),
            text => text.parse::<f64>().map_err(|_| {
                InputError::content(name, place(column_name), quoted(text), "a number")
            }),
        };
        let unit = |column_name: &str, default: TimeUnit| match text(column_name) {
            "" => Ok(default),
            text => TimeUnit::from_str(text).map_err(|()| {
                let found = format!("time unit {}", quoted(text));
                InputError::content(name, place(column_name), found, "s, ms, us or ns")
            }),
        };
        let measured = match self {
            Self::Google => {
                // Repetitions have the plain name; aggregates have one of these suffixes.
                let run_name = text("name");
                const AGGREGATES: [&str; 6] =
                    ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
                if AGGREGATES.iter().any(|ending| run_name.ends_with(ending)) {
                    return Ok(None);
                }
                let metric = match wanted.is_time("cpu_time") {
                    true => "cpu_time",
                    false => "real_time",
                };
                let (method, parameters) = of_google_name(run_name);
                let has_failed = text("error_occurred") == "true";
                let time = match has_failed {
                    true => f64::NAN,
                    false => number(metric)?,
                };
                Measured {
                    method,
                    metric,
                    parameters,
                    values_s: vec![unit("time_unit", TimeUnit::Nanosecond)?.to_s(time)],
                }
            }
            Self::Hyperfine => {
                let mut method = text("command").to_owned();
                let mut parameters = Vec::new();
                for (header, value) in headers.iter().zip(record) {
                    // Versions 1.6 to 1.10 do not write the name of the parameter.
                    let parameter = Some(header).filter(|header| *header == "parameter");
                    if let Some(parameter) = parameter.or(header.strip_prefix("parameter_")) {
                        method = with_name(&method, value, parameter);
                        parameters.push((parameter.to_owned(), Setting::of_text(value)));
                    }
                }
                Measured {
                    method,
                    metric: TIME,
                    parameters,
                    values_s: vec![number("mean")?],
                }
            }
            Self::Criterion => {
                let (time, unit) = match column("sample_time_nanos") {
                    Some(_) => (number("sample_time_nanos")?, TimeUnit::Nanosecond),
                    None => (
                        number("sample_measured_value")?,
                        unit("unit", TimeUnit::Nanosecond)?,
                    ),
                };
                let throughput = (
                    text("throughput_type").to_owned(),
                    number("throughput_num")?,
                );
                let throughput = Some(throughput).filter(|(_, amount)| amount.is_finite());
                Measured {
                    method: of_group(text("group"), text("function")),
                    metric: TIME,
                    parameters: of_value(text("value"), throughput.into_iter()),
                    values_s: vec![unit.to_s(time) / number("iteration_count")?],
                }
            }
        };
        Ok(Some(measured))
    }
}
