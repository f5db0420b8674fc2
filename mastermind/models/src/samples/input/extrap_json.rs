//! Extra-P's JSON: the newer form, and the older one with references by id.

use std::collections::HashMap;
use std::io::Read;

use serde::Deserialize;

use super::benchmarks::Probe;
use super::error::{InputError, Place, quoted};
use super::json_lines::{plain, without_mark};
use super::ordered::Ordered;
use super::wanted::Wanted;
use super::{Cell, Named, Row};

#[derive(Deserialize)]
struct Document {
    parameters: Vec<String>,
    /// Call path → metric → points.
    measurements: Ordered<Ordered<Vec<Measured>>>,
}

#[derive(Deserialize)]
struct Measured {
    point: Vec<f64>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct Older {
    parameters: Vec<Entry>,
    callpaths: Vec<Entry>,
    metrics: Vec<Entry>,
    coordinates: Vec<OlderCoordinate>,
    measurements: Vec<OlderMeasurement>,
}

#[derive(Deserialize)]
struct Entry {
    id: i64,
    name: String,
}

#[derive(Deserialize)]
struct OlderCoordinate {
    id: i64,
    parameter_value_pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    parameter_id: i64,
    parameter_value: f64,
}

#[derive(Deserialize)]
struct OlderMeasurement {
    callpath_id: i64,
    coordinate_id: i64,
    metric_id: i64,
    value: f64,
}

pub(super) type Sink<'s> = &'s mut dyn FnMut(&Row<'_>) -> Result<(), InputError>;

/// Passes each point to `sink`; reads the whole document into memory.
///
/// # Source
/// Extra-P 4, `docs/file-formats.md`, "JSON format".
pub(super) fn rows(
    name: &str,
    mut input: impl Read,
    wanted: &Wanted,
    sink: Sink<'_>,
) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(InputError::io(name))?;
    let bytes = without_mark(&bytes);
    if bytes.trim_ascii().is_empty() {
        return Err(empty(name));
    }
    let json = |error| InputError::json(name, 1, error);
    // The messages of cargo criterion are several documents; each reader refuses content after its own document.
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Probe>();
    let Some(probe) = documents.next() else {
        return Err(empty(name));
    };
    let probe = probe.map_err(json)?;
    let n_rows = if let Some(program) = probe.program() {
        program.rows(name, bytes, wanted, sink)?
    } else if probe.callpaths.is_some() {
        older(
            name,
            &serde_json::from_slice(bytes).map_err(json)?,
            wanted,
            sink,
        )?
    } else {
        newer(
            name,
            &serde_json::from_slice(bytes).map_err(json)?,
            wanted,
            sink,
        )?
    };
    if n_rows == 0 {
        Err(empty(name))
    } else {
        Ok(())
    }
}

fn empty(name: &str) -> InputError {
    InputError::Empty {
        input: name.into(),
        expected: "a JSON document with measurements",
    }
}

fn newer(
    name: &str,
    document: &Document,
    wanted: &Wanted,
    sink: Sink<'_>,
) -> Result<usize, InputError> {
    let names: Vec<Named> = document.parameters.iter().map(|p| plain(p)).collect();
    let mut n_rows = 0;
    for (callpath, metrics) in &document.measurements.0 {
        for (metric, points) in &metrics.0 {
            for (place, measured) in points.iter().enumerate() {
                if measured.point.len() != names.len() {
                    let n = measured.point.len();
                    let found = format!(
                        "{n} coordinates at point {} of {}, metric {}",
                        place + 1,
                        quoted(callpath),
                        quoted(metric)
                    );
                    let expected = format!("{}, one a parameter", names.len());
                    return Err(InputError::content(name, Place::default(), found, expected));
                }
                n_rows += 1;
                let (point, values) = (&measured.point, &measured.values);
                one([callpath, metric], &names, point, values, wanted, sink)?;
            }
        }
    }
    Ok(n_rows)
}

pub(super) fn one(
    [callpath, metric]: [&str; 2],
    names: &[Named],
    point: &[f64],
    values: &[f64],
    wanted: &Wanted,
    sink: Sink<'_>,
) -> Result<(), InputError> {
    let cells: Vec<_> = point.iter().map(|&value| Cell::Number(value)).collect();
    let values_s: Vec<_> = values.iter().map(|&v| wanted.value(v)).collect();
    sink(&Row {
        line: 0,
        method: callpath,
        metric: Some(metric),
        names,
        cells: &cells,
        values_s: &values_s,
        call: None,
    })
}

fn older(
    name: &str,
    document: &Older,
    wanted: &Wanted,
    sink: Sink<'_>,
) -> Result<usize, InputError> {
    let mut parameters: Vec<&Entry> = document.parameters.iter().collect();
    parameters.sort_by_key(|entry| entry.id);
    let names: Vec<Named> = parameters.iter().map(|entry| plain(&entry.name)).collect();
    let ids: Vec<i64> = parameters.iter().map(|entry| entry.id).collect();
    let mut points = HashMap::new();
    for coordinate in &document.coordinates {
        points.insert(coordinate.id, point(name, coordinate, &ids)?);
    }
    let (callpaths, metrics) = (by_id(&document.callpaths), by_id(&document.metrics));
    let missing = |what: &str, id: i64| {
        let found = format!("a measurement of {what} {id}");
        InputError::content(
            name,
            Place::default(),
            found,
            "an id from the lists above it",
        )
    };
    for measured in &document.measurements {
        let OlderMeasurement {
            callpath_id,
            coordinate_id,
            metric_id,
            value,
        } = *measured;
        let callpath = callpaths.get(&callpath_id);
        let callpath = callpath.ok_or_else(|| missing("callpath", callpath_id))?;
        let metric = metrics.get(&metric_id);
        let metric = metric.ok_or_else(|| missing("metric", metric_id))?;
        let point = points.get(&coordinate_id);
        let point = point.ok_or_else(|| missing("coordinate", coordinate_id))?;
        one([callpath, metric], &names, point, &[value], wanted, sink)?;
    }
    Ok(document.measurements.len())
}

fn by_id(entries: &[Entry]) -> HashMap<i64, &str> {
    entries
        .iter()
        .map(|entry| (entry.id, entry.name.as_str()))
        .collect()
}

/// The values of a coordinate in the order of the parameters.
fn point(name: &str, coordinate: &OlderCoordinate, ids: &[i64]) -> Result<Vec<f64>, InputError> {
    let value = |id: &i64| {
        let mut pairs = coordinate.parameter_value_pairs.iter();
        let pair = pairs.find(|pair| pair.parameter_id == *id);
        pair.map(|pair| pair.parameter_value).ok_or_else(|| {
            let found = format!("coordinate {} without parameter {id}", coordinate.id);
            InputError::content(name, Place::default(), found, "a value of each parameter")
        })
    };
    ids.iter().map(value).collect()
}
