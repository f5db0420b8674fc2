//! `plot --kind timeline`: the time of each rank by method.
//!
//! The overview of a run answers for any part of its time without reading its records again ([`Overview`]). That of a large run is kept
//! in the folder of its records, so that the page's zoom does not wait. A window with few calls shows these; a wider one shows the share of each
//! method in each column of the picture.

use std::ops::Range;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use mastermind_records::{Overview, RowSlices, Run, View, ViewRow};
use serde::Serialize;

use crate::commands::profile::{self, warn_of_missing_records};
use crate::figures::timeline::{Bar, Timeline};
use crate::output;
use crate::run_notes::{waiting, waiting_text};

/// Of so many records the overview is kept. Arbitrary: computing it from fewer takes a few hundredths of a second.
const MIN_KEPT_RECORDS: u64 = 1_000_000;

/// So many records are read for a part of the time. Arbitrary: reading them takes some hundredths of a second.
const MAX_READ: u64 = 1_000_000;

/// Height of a row, pixels.
pub const ROW_PIXELS: usize = 14;

/// Pixels left of the rows and right of them, and above and below.
const MARGIN: (usize, usize) = (150, 190);

/// Shares are rounded to so many parts of the whole, which no picture shows.
const SHARE_STEPS: f32 = 1000.0;

/// The part of the time that is shown.
#[derive(Args)]
pub struct Window {
    /// Of timeline, where it begins, seconds after the run
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = seconds)]
    from: Option<f64>,
    /// Of timeline, where it ends [default: with the run]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = seconds)]
    to: Option<f64>,
    /// Of timeline, print it as one JSON document instead, for as many columns and rows as fit into --size
    #[arg(long)]
    pub json: bool,
}

/// A moment, seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected seconds from 0 on".to_owned())
}

/// A row of the document.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Of each call: method, begin, end, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<Vec<u64>>,
    /// Equal neighbouring columns: first column, number of columns, method, share of the time in thousandths.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<u32>>,
}

/// The document.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    /// Length of the run.
    span_ns: u64,
    /// The part that is shown: the requested one, widened to whole columns.
    from_ns: u64,
    to_ns: u64,
    /// Width of a column; 0 if single calls are shown.
    column_ns: u64,
    n_columns: usize,
    names: &'a [String],
    rows: Vec<Row>,
}

impl Window {
    /// Whether an option of it is given.
    pub fn is_given(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.json
    }

    /// # Errors
    /// It ends before it begins, or begins after the run.
    fn of(&self, span_ns: u64) -> anyhow::Result<Range<u64>> {
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        let begin = self.from.map_or(0, ns);
        let end = self.to.map_or(span_ns, ns).min(span_ns);
        if begin >= end {
            bail!(
                "cannot draw timeline: no time from {} to {} s, expected a part of the {} s of the run",
                begin as f64 / 1e9,
                self.to.unwrap_or(span_ns as f64 / 1e9),
                span_ns as f64 / 1e9
            );
        }
        Ok(begin..end)
    }

    /// Prints the document.
    ///
    /// # Errors
    /// Those of [`overview`]; no such part of the time.
    pub fn print(&self, records: &Path, size: (u32, u32)) -> anyhow::Result<()> {
        let overview = overview(records)?;
        let shown = self.shown(&overview, records, size)?;
        let span_ns = overview.span_ns();
        output::compact_json(&match shown {
            Shown::Calls(window, rows) => Document {
                version: 1,
                span_ns,
                from_ns: window.start,
                to_ns: window.end,
                column_ns: 0,
                n_columns: 0,
                names: overview.names(),
                rows: rows.into_iter().map(slices).collect(),
            },
            Shown::Columns(view) => Document {
                version: 1,
                span_ns,
                from_ns: view.window_ns.start,
                to_ns: view.window_ns.end,
                column_ns: view.column_ns,
                n_columns: view.n_columns,
                names: view.names,
                rows: view.rows.iter().map(parts).collect(),
            },
        })
    }

    /// The picture.
    ///
    /// # Errors
    /// Those of [`overview`]; no such part of the time.
    pub fn figure(&self, records: &Path, size: (u32, u32)) -> anyhow::Result<Timeline> {
        let overview = overview(records)?;
        let (rows, bars) = match self.shown(&overview, records, size)? {
            Shown::Calls(_, rows) => bars_of_calls(rows),
            Shown::Columns(view) => bars_of_columns(&view),
        };
        Ok(Timeline {
            title: "time of each rank by method".into(),
            window_ns: self.of(overview.span_ns())?,
            methods: overview.names().to_vec(),
            rows,
            bars,
        })
    }

    /// What fits into a picture: single calls if they are few, columns from calls if these can be read soon, else from the overview.
    fn shown<'a>(
        &self,
        overview: &'a Overview,
        records: &Path,
        size: (u32, u32),
    ) -> anyhow::Result<Shown<'a>> {
        let window = self.of(overview.span_ns())?;
        let (columns, rows) = fitting(size);
        let (directory, _) = profile::selected(records);
        Ok(match overview.calls(directory, &window, MAX_READ)? {
            None => Shown::Columns(overview.view(window, columns, rows)),
            Some(calls) => {
                // A call that is narrower than a column would hide others in it.
                let fits = |row: &RowSlices| row.slices.len() <= columns;
                match calls.len() <= rows && calls.iter().all(fits) {
                    true => Shown::Calls(window, calls),
                    false => Shown::Columns(overview.view_of_calls(&calls, window, columns, rows)),
                }
            }
        })
    }
}

/// What a picture shows.
enum Shown<'a> {
    Calls(Range<u64>, Vec<RowSlices>),
    Columns(View<'a>),
}

/// Columns and rows of a picture of this size.
fn fitting((width, height): (u32, u32)) -> (usize, usize) {
    let columns = (width as usize).saturating_sub(MARGIN.0);
    let rows = (height as usize).saturating_sub(MARGIN.1) / ROW_PIXELS;
    (columns.max(100), rows.max(1))
}

/// The overview of a run, kept or computed.
///
/// # Errors
/// There are no records; they cannot be read.
fn overview(records: &Path) -> anyhow::Result<Overview> {
    let (directory, program) = profile::selected(records);
    if program.is_none()
        && let Some(kept) = Overview::kept(directory)
    {
        for note in kept.notes() {
            output::complain!("warning: {note}");
        }
        return Ok(kept);
    }
    let run = profile::open(records)?;
    warn_of_missing_records(&run, "their time is that of their callers in the figure");
    if !run.is_finished() {
        output::complain!(
            "warning: the run has not ended, or was killed: calls that were open are drawn up to the last known time of their thread"
        );
    }
    let notes = waiting_text(waiting(&run)).into_iter().collect();
    let overview = Overview::of(&run).with_notes(notes);
    // Without a place for it, it is computed again the next time.
    if program.is_none() && run.n_records() >= MIN_KEPT_RECORDS && is_complete(&run) {
        let _ = overview.keep(directory);
    }
    Ok(overview)
}

/// Whether nothing must be said of a run by whoever shows its records.
fn is_complete(run: &Run) -> bool {
    let mut definitions = run.logs().iter().map(|log| log.definitions());
    run.is_finished()
        && run.dropped() == 0
        && run.damage().next().is_none()
        && run.unreadable().is_empty()
        && definitions.all(|of_log| of_log.unmonitored.is_empty() && of_log.stop.is_none())
}

fn slices(row: RowSlices) -> Row {
    let slices = row.slices.iter();
    let numbers = slices.flat_map(|slice| [slice.method.into(), slice.begin_ns, slice.end_ns]);
    Row {
        name: row.name.to_string(),
        slices: Some(numbers.collect()),
        parts: None,
    }
}

fn parts(row: &ViewRow) -> Row {
    // By method, the last run of equal columns: where it stands in the list.
    let mut latest = std::collections::HashMap::new();
    let mut parts: Vec<[u32; 4]> = Vec::new();
    for part in &row.parts {
        let share = (part.share * SHARE_STEPS).round() as u32;
        if share == 0 {
            continue;
        }
        let place = latest.entry(part.method).or_insert(usize::MAX);
        match parts.get_mut(*place) {
            Some([first, n, _, same]) if *first + *n == part.column && *same == share => *n += 1,
            _ => {
                *place = parts.len();
                parts.push([part.column, 1, part.method, share]);
            }
        }
    }
    // Methods are stacked in the same order in every column.
    parts.sort_unstable_by_key(|[first, _, method, _]| (*method, *first));
    Row {
        name: row.name.to_string(),
        slices: None,
        parts: Some(parts.concat()),
    }
}

fn bars_of_calls(rows: Vec<RowSlices>) -> (Vec<String>, Vec<Bar>) {
    let names = rows.iter().map(|row| row.name.to_string()).collect();
    let bars = rows.iter().enumerate().flat_map(|(place, row)| {
        row.slices.iter().map(move |slice| Bar {
            row: place,
            method: slice.method as usize,
            from_ns: slice.begin_ns as f64,
            to_ns: slice.end_ns as f64,
            bottom: 0.0,
            top: 1.0,
        })
    });
    (names, bars.collect())
}

/// Shares are stacked.
fn bars_of_columns(view: &View<'_>) -> (Vec<String>, Vec<Bar>) {
    let mut bars: Vec<Bar> = Vec::new();
    for (place, row) in view.rows.iter().enumerate() {
        let (mut column, mut bottom) = (0, 0.0);
        for part in &row.parts {
            if part.column != column {
                (column, bottom) = (part.column, 0.0);
            }
            let top = (bottom + f64::from(part.share)).min(1.0);
            let begin = view.window_ns.start + u64::from(column) * view.column_ns;
            let end = (begin + view.column_ns).min(view.window_ns.end);
            bars.push(Bar {
                row: place,
                method: part.method as usize,
                from_ns: begin as f64,
                to_ns: end as f64,
                bottom,
                top,
            });
            bottom = top;
        }
    }
    let names = view.rows.iter().map(|row| row.name.to_string());
    (names.collect(), bars)
}
