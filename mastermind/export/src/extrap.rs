//! Records as Extra-P's input.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use mastermind_records::definition::{MethodDefinition, ParameterDefinition, ParameterKind};
use mastermind_records::{ExclusiveTimes, Record, Run, Value};
use serde_json::{Map, json};

use crate::error::ExportError;
use crate::names::{distinct, file_stem, plain};

/// Most parameters that Extra-P's text format has.
const MAX_TEXT_PARAMETERS: usize = 4;

/// Which of Extra-P's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtrapFormat {
    /// `PARAMETER`, `POINTS`, `REGION`, `METRIC`, `DATA`.
    Text,
    /// One measurement a line.
    JsonLines,
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extrapolated {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Methods left out, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// Values in microseconds by coordinate (bits of `f64`, which keep the order of positive numbers) and metric.
type Points = BTreeMap<Vec<u64>, [Vec<f64>; 3]>;

/// The metrics: own time without that of measured calls made from it, time in MPI, and the rest of the wall time.
///
/// In microseconds, since Extra-P drops coefficients by their size in the unit of the metric: constants within 0.001 of zero become zero
/// (Extra-P 4.2.5, `modelers/single_parameter/abstract_base.py`).
const METRICS: [&str; 3] = ["time_us", "mpi_us", "compute_us"];

/// The calls of one method in one mode.
struct Method {
    /// With the values of its enumerations, as in `flux.flux.compute[axis=x]`.
    name: String,
    stem: String,
    parameters: Vec<String>,
    points: Points,
}

/// Writes the calls of all ranks; the calls at one coordinate are repetitions. Calls that failed are left out.
///
/// Each method has files of its own, since methods have parameters of their own: one for each combination of the values of its enumerations,
/// since an enumeration is no coordinate. Neither is the number of a rank. Metrics, in microseconds: `time_us` (exclusive), `mpi_us` and
/// `compute_us` where MPI was measured.
///
/// # Arguments
/// * `directory` - is made if it is not there; files of the same names are replaced
///
/// # Errors
/// [`ExportError::Io`].
///
/// # Source
/// Extra-P 4, `docs/file-formats.md`.
pub fn write_extrap(
    run: &Run,
    directory: &Path,
    format: ExtrapFormat,
) -> Result<Extrapolated, ExportError> {
    fs::create_dir_all(directory).map_err(ExportError::io(directory))?;
    let mut exported = Extrapolated::default();
    for method in methods(run) {
        let n = method.parameters.len();
        let refused = match format {
            _ if n == 0 => Some("no parameters, expected at least 1".to_owned()),
            ExtrapFormat::Text if n > MAX_TEXT_PARAMETERS => Some(format!(
                "{n} parameters, expected at most {MAX_TEXT_PARAMETERS}"
            )),
            _ => None,
        };
        if let Some(reason) = refused {
            exported.left_out.push((method.name, reason));
            continue;
        }
        let (extension, text) = match format {
            ExtrapFormat::Text => ("txt", text(&method)),
            ExtrapFormat::JsonLines => ("jsonl", json_lines(&method)),
        };
        let path = directory.join(format!("{}.{extension}", method.stem));
        let file = fs::File::create(&path).map_err(ExportError::io(&path))?;
        let mut file = BufWriter::new(file);
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(ExportError::io(&path))?;
        exported.files.push(path);
    }
    Ok(exported)
}

/// The methods with their calls, by mode; those of one name but other parameters, after a replacement, are separate.
fn methods(run: &Run) -> Vec<Method> {
    let mut methods: BTreeMap<(String, Vec<String>, Vec<u64>), Method> = BTreeMap::new();
    for rank in run.ranks() {
        for (log, _) in run.logs_of(rank) {
            let is_meant = |record: &Record<'_>| !record.failed && !log.lacks_calls_of(record);
            for (record, own_ns) in ExclusiveTimes::new(log).filter(|(record, _)| is_meant(record))
            {
                let stem = file_stem(record.method);
                let parameters = parameters(record.method);
                let mode = mode(&record).map(|(_, value)| value.as_f64().to_bits());
                let method = methods
                    .entry((stem.clone(), parameters.clone(), mode.collect()))
                    .or_insert_with(|| Method::of(&record, stem, parameters));
                method.add(&record, own_ns);
            }
        }
    }
    let mut methods: Vec<_> = methods.into_values().collect();
    let stems = distinct(methods.iter().map(|method| method.stem.clone()));
    for (method, stem) in methods.iter_mut().zip(stems) {
        method.stem = stem;
    }
    methods
}

/// Names of the parameters, without the blanks that separate them in a file.
fn parameters(method: &MethodDefinition) -> Vec<String> {
    let sizes = method.parameters.iter().filter(|p| is_coordinate(p));
    distinct(sizes.map(|p| without_blanks(&p.name)))
}

fn without_blanks(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

fn is_coordinate(parameter: &ParameterDefinition) -> bool {
    parameter.is_size() && parameter.kind != ParameterKind::Enumeration
}

/// The enumerations of a call with their values.
fn mode<'r>(record: &'r Record<'_>) -> impl Iterator<Item = (&'r ParameterDefinition, Value<'r>)> {
    let values = record.method.parameters.iter().zip(record.parameters());
    values.filter(|(p, _)| p.is_size() && p.kind == ParameterKind::Enumeration)
}

impl Method {
    /// The method and mode of a call, without calls.
    fn of(record: &Record<'_>, stem: String, parameters: Vec<String>) -> Self {
        let modes = mode(record).map(|(parameter, value)| {
            let value = match value {
                Value::Label(_, Some(label)) => without_blanks(label),
                other => other.as_f64().to_string(),
            };
            (without_blanks(&parameter.name), value)
        });
        let (mut name, mut stem) = (record.method.name(), stem);
        for (parameter, value) in modes {
            name += &format!("[{parameter}={value}]");
            stem += &format!("-{}-{}", plain(&parameter), plain(&value));
        }
        Self {
            name,
            stem,
            parameters,
            points: Points::new(),
        }
    }

    fn add(&mut self, record: &Record<'_>, own_ns: u64) {
        let values = record.method.parameters.iter().zip(record.parameters());
        let sizes = values.filter(|(definition, _)| is_coordinate(definition));
        let coordinate = sizes.map(|(_, value)| value.as_f64().to_bits());
        let metrics = self.points.entry(coordinate.collect()).or_default();
        let times = [Some(own_ns), record.mpi_ns, record.compute_ns()];
        for (values, ns) in metrics.iter_mut().zip(times) {
            values.extend(ns.map(|ns| ns as f64 * 1e-3));
        }
    }

    /// The metrics that every coordinate has values of, with their places.
    fn metrics(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let complete = |place: &usize| self.points.values().all(|m| !m[*place].is_empty());
        (0..METRICS.len())
            .filter(complete)
            .map(|place| (place, METRICS[place]))
    }
}

fn text(method: &Method) -> String {
    let mut text = format!("PARAMETER {}\n\nPOINTS", method.parameters.join(" "));
    for coordinate in method.points.keys() {
        let numbers: Vec<_> = coordinate
            .iter()
            .map(|bits| f64::from_bits(*bits).to_string())
            .collect();
        let _ = write!(text, " ({})", numbers.join(" "));
    }
    let _ = writeln!(text, "\n\nREGION {}", method.name);
    for (place, metric) in method.metrics() {
        let _ = writeln!(text, "METRIC {metric}");
        for metrics in method.points.values() {
            text += "DATA";
            for value in &metrics[place] {
                let _ = write!(text, " {value:e}");
            }
            text.push('\n');
        }
    }
    text
}

fn json_lines(method: &Method) -> String {
    let mut text = String::new();
    for (coordinate, metrics) in &method.points {
        let values = method.parameters.iter().zip(coordinate);
        let parameters: Map<_, _> = values
            .map(|(name, bits)| (name.clone(), json!(f64::from_bits(*bits))))
            .collect();
        for (place, metric) in method.metrics() {
            for value in &metrics[place] {
                let line = json!({
                    "params": parameters,
                    "callpath": method.name,
                    "metric": metric,
                    "value": value,
                });
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}
