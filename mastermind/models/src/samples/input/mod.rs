//! Reads samples from the formats of other tools: tables of comma-separated values, Extra-P's text, JSON and JSON lines, and JSON of
//! benchmark programs.
//!
//! The caller opens the files, and each is read twice: a [`Survey`] first collects the methods, their parameters and the labels of
//! enumerations; then [`Survey::read`] adds one value after the other to a [`SampleSet`], so that memory grows with the distinct
//! coordinates and not with the rows.
//!
//! ```
//! use mastermind_models::{Format, Metric, SampleSet, Survey, Wanted, fit};
//!
//! let table = "n,order,time_us\n1000,random,31\n2000,random,66\n4000,random,139\n1000,sorted,2\n2000,sorted,4\n";
//! let wanted = Wanted::new(Metric::Wall);
//! let mut survey = Survey::default();
//! survey.look("sort.csv", Format::Table, table.as_bytes(), &wanted)?;
//! let mut set = SampleSet::new(Metric::Wall);
//! let set_aside = survey.read("sort.csv", Format::Table, table.as_bytes(), &wanted, &mut set)?;
//! assert!(set_aside.is_empty());
//! let samples = set.finish().remove(0);
//! assert_eq!((samples.method.as_str(), samples.times.len()), ("sort", 5));
//! # Ok::<(), mastermind_models::InputError>(())
//! ```

mod benchmarks;
mod error;
mod extrap_experiment;
mod extrap_json;
mod extrap_text;
mod filling;
mod json_lines;
mod line_start;
mod ordered;
mod survey;
mod table;
mod wanted;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

pub use error::InputError;
pub use survey::{LeftOut, SetAside, Survey, Why};
pub(crate) use wanted::times;
pub(crate) use wanted::with_unit;
pub use wanted::{TimeUnit, Wanted};

use crate::samples::metric::Metric;

/// Format of a file of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Values separated by commas, semicolons or tabs under a line of column names: the output of `export --format csv`, or any table
    /// with columns of parameters and one of the time.
    Table,
    /// Extra-P's text: `PARAMETER`, `POINTS`, `REGION`, `METRIC`, `DATA`; or Talpas, one JSON object on each line.
    ExtrapText,
    /// Extra-P's JSON, the newer form and the one with references by id; or the JSON of Google Benchmark, hyperfine, pytest-benchmark,
    /// pyperf or `cargo criterion`.
    ExtrapJson,
    /// Extra-P's JSON lines, one measurement on each line.
    JsonLines,
    /// Extra-P's own experiments.
    Experiment,
    /// Criterion's folder: `benchmark.json` and `sample.json` of each benchmark, one after the other.
    Criterion,
}

impl Format {
    /// The format for the ending of a file name; `None` if the ending is unknown.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Some(Self::Table),
            "txt" => Some(Self::ExtrapText),
            "json" => Some(Self::ExtrapJson),
            "jsonl" => Some(Self::JsonLines),
            "extra-p" => Some(Self::Experiment),
            _ => None,
        }
    }
}

/// Values of one method at one coordinate, as read from an input.
struct Row<'a> {
    /// Line of the input, from 1; 0 if the format has no lines.
    line: u64,
    /// Name of the method.
    method: &'a str,
    /// Metric of the values, if the input names metrics.
    metric: Option<&'a str>,
    /// The parameters, shape `[n_params]`.
    names: &'a [Named],
    /// Their values, shape `[n_params]`.
    cells: &'a [Cell<'a>],
    /// Times, seconds.
    values_s: &'a [f64],
    /// Position of the call in the call tree of its rank.
    call: Option<Call>,
}

/// Name and unit of a parameter; equal pairs are the same parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    unit: String,
}

/// Value of a parameter as read from an input.
#[derive(Debug, Clone, PartialEq)]
enum Cell<'a> {
    Number(f64),
    Label(&'a str),
    /// No value.
    Empty,
}

/// Position of an exported record in the call tree.
#[derive(Debug, Clone, Copy)]
struct Call {
    seq: u64,
    parent_seq: Option<u64>,
    wall_ns: u64,
}

/// Passes each row of an input to `sink`.
///
/// # Returns
/// Columns that differ from row to row and are neither parameters nor the time.
fn rows(
    name: &str,
    format: Format,
    input: impl Read,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<Vec<String>, InputError> {
    match format {
        Format::Table => return table::rows(name, BufReader::new(input), wanted, sink),
        Format::ExtrapText => {
            let mut input = BufReader::new(input);
            // Talpas files end in .txt too.
            let start = input.fill_buf().map_err(InputError::io(name))?;
            match start.trim_ascii_start().first() {
                Some(b'{') => json_lines::rows(name, input, wanted, sink)?,
                _ => extrap_text::rows(name, input, wanted, sink)?,
            }
        }
        Format::ExtrapJson => extrap_json::rows(name, input, wanted, sink)?,
        Format::Experiment => extrap_experiment::rows(name, input, wanted, sink)?,
        Format::Criterion => criterion(name, input, sink)?,
        Format::JsonLines => {
            let mut input = BufReader::new(input);
            match is_message(&mut input).map_err(InputError::io(name))? {
                true => extrap_json::rows(name, input, wanted, sink)?,
                false => json_lines::rows(name, input, wanted, sink)?,
            }
        }
    }
    Ok(Vec::new())
}

/// Whether an input begins with a message of `cargo criterion`.
fn is_message(input: &mut impl BufRead) -> std::io::Result<bool> {
    let start = input.fill_buf()?;
    Ok(start.trim_ascii_start().starts_with(b"{\"reason\""))
}

fn criterion(
    name: &str,
    mut input: impl Read,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(InputError::io(name))?;
    match benchmarks::pairs(name, &bytes, sink)? {
        0 => Err(InputError::Empty {
            input: name.into(),
            expected: "benchmark.json and sample.json of a benchmark",
        }),
        _ => Ok(()),
    }
}

/// Names of the metrics in an input; none for a table, whose metrics are its columns.
///
/// # Arguments
/// * `name` - name of the input in messages
///
/// # Errors
/// [`InputError`].
pub fn metric_names(
    name: &str,
    format: Format,
    input: impl Read,
) -> Result<BTreeSet<String>, InputError> {
    let mut names = BTreeSet::new();
    match format {
        Format::Table => {}
        Format::JsonLines => {
            let mut input = BufReader::new(input);
            return match is_message(&mut input).map_err(InputError::io(name))? {
                true => Ok(names),
                false => json_lines::metrics(name, input),
            };
        }
        _ => {
            rows(
                name,
                format,
                input,
                &Wanted::new(Metric::Wall),
                &mut |row| {
                    if let Some(metric) = row.metric.filter(|metric| !names.contains(*metric)) {
                        names.insert(metric.to_owned());
                    }
                    Ok(())
                },
            )?;
        }
    }
    Ok(names)
}

/// The file name of a path without its ending: the name of a method without a name in the input.
fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name() {
        for (name, format) in [
            ("a/b.csv", Some(Format::Table)),
            ("b.TXT", Some(Format::ExtrapText)),
            ("c.json", Some(Format::ExtrapJson)),
            ("d.jsonl", Some(Format::JsonLines)),
            ("d.extra-p", Some(Format::Experiment)),
            ("e.parquet", None),
            ("csv", None),
        ] {
            assert_eq!(Format::of_name(name), format, "{name}");
        }
        assert_eq!(
            [stem("x/y.z.csv"), stem(".csv"), stem("y")],
            ["y.z", ".csv", "y"]
        );
    }
}
