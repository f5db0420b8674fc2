//! Extra-P's JSON lines, and Talpas, which separates the parts of a line by semicolons.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde::Deserialize;

use super::error::InputError;
use super::line_start::LineStart;
use super::ordered::{Ordered, Scalar, Text, Values};
use super::wanted::Wanted;
use super::{Cell, Named, Row, stem};

/// A line: `{"params": {"x": 4}, "callpath": "main->sweep", "metric": "time", "value": 0.25}`.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, alias = "parameters")]
    pub(super) params: Ordered<Scalar, Text<'a>>,
    pub(super) value: Values,
    #[serde(borrow)]
    pub(super) callpath: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) metric: Option<Text<'a>>,
}

/// The metric of a line; other fields are ignored.
#[derive(Debug, Deserialize)]
struct OfMetric<'a> {
    #[serde(borrow)]
    metric: Option<Text<'a>>,
}

/// A parsed line, and its text before the value if the value ends the line.
#[derive(Default)]
struct Before {
    start: LineStart,
    method: Option<String>,
    metric: Option<String>,
    cells: Vec<Scalar>,
}

impl Before {
    fn set(&mut self, line: &Line<'_>, bytes: &[u8]) {
        self.start.set(bytes);
        let owned = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.0.to_string());
        (self.method, self.metric) = (owned(&line.callpath), owned(&line.metric));
        self.cells.clear();
        self.cells
            .extend(line.params.0.iter().map(|(_, value)| value.clone()));
    }
}

/// Passes each line that is not blank to `sink`. The value of a parameter may be a text, which is a label.
///
/// # Source
/// Extra-P 4, `docs/file-formats.md`, "JSON Lines format"; for Talpas, Extra-P 4.2.5, `fileio/file_reader/talpas_file_reader.py`.
pub(super) fn rows(
    name: &str,
    input: impl BufRead,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut names: Vec<Named> = Vec::new();
    let mut before = Before::default();
    lines(name, input, |number, bytes| {
        if let Some(value) = before.start.value(bytes) {
            let cells: Vec<Cell<'_>> = before.cells.iter().map(cell).collect();
            return sink(&Row {
                line: number,
                method: before.method.as_deref().unwrap_or_else(|| stem(name)),
                metric: before.metric.as_deref(),
                names: &names,
                cells: &cells,
                values_s: &[wanted.value(value)],
                call: None,
            });
        }
        let mut memory = Vec::new();
        let line: Line<'_> = parsed(name, number, bytes, &mut memory)?;
        before.set(&line, bytes);
        let params = &line.params.0;
        let is_same = |(known, (name, _)): (&Named, &(Text<'_>, Scalar))| known.name == name.0;
        if names.len() != params.len() || !names.iter().zip(params).all(is_same) {
            names = params.iter().map(|(name, _)| plain(&name.0)).collect();
        }
        let cells: Vec<Cell<'_>> = params.iter().map(|(_, value)| cell(value)).collect();
        let mut values_s = line.value.0;
        values_s.iter_mut().for_each(|v| *v = wanted.value(*v));
        let method = line.callpath.as_ref();
        sink(&Row {
            line: number,
            method: method.map_or_else(|| stem(name), |text| &text.0),
            metric: line.metric.as_ref().map(|text| text.0.as_ref()),
            names: &names,
            cells: &cells,
            values_s: &values_s,
            call: None,
        })
    })
}

/// Names of the metrics.
///
/// # Errors
/// As [`rows`], except errors in other fields than the metric.
pub(super) fn metrics(name: &str, input: impl BufRead) -> Result<BTreeSet<String>, InputError> {
    let (mut names, mut before) = (BTreeSet::new(), LineStart::default());
    lines(name, input, |number, bytes| {
        if before.value(bytes).is_some() {
            return Ok(());
        }
        let mut memory = Vec::new();
        let OfMetric { metric } = parsed(name, number, bytes, &mut memory)?;
        before.set(bytes);
        if let Some(Text(metric)) = metric
            && !names.contains(metric.as_ref())
        {
            names.insert(metric.into_owned());
        }
        Ok(())
    })?;
    Ok(names)
}

/// Passes each line that is not blank to `sink`, with its number from 1.
fn lines<S>(name: &str, mut input: impl BufRead, mut sink: S) -> Result<(), InputError>
where
    S: FnMut(u64, &[u8]) -> Result<(), InputError>,
{
    let mut bytes = Vec::new();
    let (mut number, mut is_empty) = (0, true);
    loop {
        bytes.clear();
        let length = input.read_until(b'\n', &mut bytes);
        if length.map_err(InputError::io(name))? == 0 {
            break;
        }
        number += 1;
        let line = match number {
            1 => without_mark(&bytes),
            _ => &bytes,
        };
        if !line.trim_ascii().is_empty() {
            is_empty = false;
            sink(number, line.trim_ascii_end())?;
        }
    }
    if is_empty {
        return Err(InputError::Empty {
            input: name.into(),
            expected: "a measurement a line",
        });
    }
    Ok(())
}

/// The text without the byte order mark that some programs write before it.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Parses a line. A line that is not JSON is parsed again as Talpas: copied to `memory` with commas in place of semicolons.
fn parsed<'a, L: Deserialize<'a>>(
    name: &str,
    number: u64,
    line: &'a [u8],
    memory: &'a mut Vec<u8>,
) -> Result<L, InputError> {
    // The line is checked once for valid UTF-8, not for each string in it.
    let read = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(line),
    };
    read.or_else(|error| {
        let comma = |byte: &u8| if *byte == b';' { b',' } else { *byte };
        memory.extend(line.iter().map(comma));
        serde_json::from_slice(memory).map_err(|_| error)
    })
    .map_err(|error| InputError::json(name, number, error))
}

/// A parameter without a unit.
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
