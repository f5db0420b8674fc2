//! Extra-P's JSON lines, and Talpas, which has semicolons between the parts of a line.

use std::io::BufRead;

use serde::Deserialize;

use super::error::InputError;
use super::ordered::{Ordered, Scalar, Values};
use super::wanted::Wanted;
use super::{Cell, Named, Row, stem};

/// A line: `{"params": {"x": 4}, "callpath": "main->sweep", "metric": "time", "value": 0.25}`.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(alias = "parameters")]
    params: Ordered<Scalar>,
    value: Values,
    callpath: Option<String>,
    metric: Option<String>,
}

/// Gives each line to `sink`; blank ones are passed over. A parameter may be a text, which is a label.
///
/// # Source
/// Extra-P 4, `docs/file-formats.md`, "JSON Lines format"; for Talpas, Extra-P 4.2.5, `fileio/file_reader/talpas_file_reader.py`.
pub(super) fn rows(
    name: &str,
    mut input: impl BufRead,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    let mut number = 0;
    let mut n_rows = 0;
    loop {
        bytes.clear();
        let length = input.read_until(b'\n', &mut bytes);
        if length.map_err(InputError::io(name))? == 0 {
            break;
        }
        number += 1;
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let line = parsed(bytes.trim_ascii_end());
        let line = line.map_err(|error| InputError::json(name, number, error))?;
        n_rows += 1;
        row(name, number, &line, wanted, sink)?;
    }
    if n_rows == 0 {
        return Err(InputError::Empty {
            input: name.into(),
            expected: "a measurement a line",
        });
    }
    Ok(())
}

/// A line; one with semicolons that is no JSON as Talpas has it.
fn parsed(line: &[u8]) -> Result<Line, serde_json::Error> {
    serde_json::from_slice(line).or_else(|error| {
        let with_commas: Vec<u8> = line
            .iter()
            .map(|byte| if *byte == b';' { b',' } else { *byte })
            .collect();
        serde_json::from_slice(&with_commas).map_err(|_| error)
    })
}

fn row(
    name: &str,
    number: u64,
    line: &Line,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let params = &line.params.0;
    let names: Vec<Named> = params.iter().map(|(name, _)| plain(name)).collect();
    let cells: Vec<Cell<'_>> = params.iter().map(|(_, value)| cell(value)).collect();
    let values_s: Vec<f64> = line.value.0.iter().map(|&v| wanted.value(v)).collect();
    sink(&Row {
        line: number,
        method: line.callpath.as_deref().unwrap_or_else(|| stem(name)),
        metric: line.metric.as_deref(),
        names: &names,
        cells: &cells,
        values_s: &values_s,
        call: None,
    })
}

/// A parameter that has no unit.
pub(super) fn plain(name: &str) -> Named {
    Named {
        name: name.into(),
        unit: String::new(),
    }
}

fn cell(value: &Scalar) -> Cell<'_> {
    match value {
        Scalar::Number(number) => Cell::Number(*number),
        Scalar::Label(label) => Cell::Label(label),
    }
}
