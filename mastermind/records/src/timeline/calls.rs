//! The single calls of a window, from the logs themselves.
//!
//! A log stores a call at its end. So the calls of a window are the records from the position of the window's first bin to the bin after
//! its last one, and the long calls, which may end far behind it.

use std::ops::Range;
use std::path::Path;

use serde::Serialize;

use super::{LogMarks, LongCall, Overview, Part, RowName, View, ViewRow, common_name, kept};
use crate::error::RecordsError;
use crate::log::Log;
use crate::parallel::in_parallel;
use crate::records::{Records, RecordsPlace};
use crate::run::Run;

/// Time from one event to the next, in the innermost call that was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// Number of the method among the names of the overview.
    pub method: u32,
    /// Nanoseconds since the beginning of the run.
    pub begin_ns: u64,
    /// Likewise.
    pub end_ns: u64,
}

/// The slices of a thread, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct RowSlices {
    /// Whose they are.
    pub name: RowName,
    /// None overlaps another one.
    pub slices: Vec<Slice>,
}

/// Minimum words of a record.
const RECORD_WORDS: u64 = cca_abi::recording::word::HEAD_WORDS as u64;

impl Overview {
    /// The single calls in a part of the time.
    ///
    /// # Arguments
    /// * `directory` - of the records that the overview was computed from
    /// * `window_ns` - since the beginning of the run
    /// * `max_calls` - how many records may be read
    ///
    /// # Returns
    /// `None` if the window may have more calls, or if a row has several logs.
    ///
    /// # Errors
    /// Those of [`Log::open`], if a log is gone or cannot be read.
    pub fn calls(
        &self,
        directory: &Path,
        window_ns: &Range<u64>,
        max_calls: u64,
    ) -> Result<Option<Vec<RowSlices>>, RecordsError> {
        let bins = self.bins(window_ns);
        let words = |marks: &LogMarks| {
            let end = (bins.end + 1).min(self.n_bins);
            marks.words[bins.start]..marks.words[end]
        };
        let marks = self.rows.iter().map(|row| row.marks.as_ref());
        let Some(marks) = marks.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let n_words: u64 = marks
            .iter()
            .map(|marks| words(marks))
            .map(|of| of.end - of.start)
            .sum();
        if n_words / RECORD_WORDS > max_calls {
            return Ok(None);
        }
        let packed = self.packed_logs(directory, &marks)?;
        let read = |(row, marks): (&super::Row, &LogMarks)| {
            let loose;
            let known = packed.as_ref().and_then(|run| {
                let mut logs = run.logs().iter();
                logs.find(|log| log.identity() == marks.identity)
            });
            let log = match known {
                Some(log) => log,
                None => {
                    loose = kept::open(directory, marks)?;
                    &loose
                }
            };
            let mut calls = self.long_calls(marks, window_ns);
            self.add_records(&mut calls, log, marks, words(marks));
            Ok(RowSlices {
                name: row.name.clone(),
                slices: innermost(calls, window_ns),
            })
        };
        let rows = self.rows.iter().zip(marks.iter().copied()).collect();
        let rows = in_parallel(rows, read).into_iter();
        rows.collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// The shares of methods in a part of the time, from its single calls: of columns narrower than a bin.
    ///
    /// # Arguments
    /// * `calls` - of the window, from [`Overview::calls`]
    /// * `max_columns`, `max_rows` - as of [`Overview::view`]
    pub fn view_of_calls(
        &self,
        calls: &[RowSlices],
        window_ns: Range<u64>,
        max_columns: usize,
        max_rows: usize,
    ) -> View<'_> {
        let span_ns = window_ns.end.saturating_sub(window_ns.start).max(1);
        let column_ns = span_ns.div_ceil(max_columns.max(1) as u64);
        let n_columns = span_ns.div_ceil(column_ns) as usize;
        let n_methods = self.names.len();
        let row = |rows: &[RowSlices]| {
            let mut sums = vec![0_u64; n_columns * n_methods];
            for slice in rows.iter().flat_map(|row| &row.slices) {
                let [begin, end] = [slice.begin_ns, slice.end_ns].map(|ns| ns - window_ns.start);
                for column in begin / column_ns..end.div_ceil(column_ns) {
                    let from = begin.max(column * column_ns);
                    let to = end.min((column + 1) * column_ns);
                    sums[column as usize * n_methods + slice.method as usize] += to - from;
                }
            }
            let mut parts = Vec::new();
            for (place, ns) in sums.into_iter().enumerate().filter(|(_, ns)| *ns > 0) {
                let (column, method) = (place / n_methods, place % n_methods);
                let width = column_ns.min(span_ns - column as u64 * column_ns);
                parts.push(Part {
                    column: column as u32,
                    method: method as u32,
                    share: (ns as f64 / (width as f64 * rows.len() as f64)) as f32,
                });
            }
            let name = common_name(rows.iter().map(|row| &row.name));
            ViewRow { name, parts }
        };
        View {
            rows: calls.chunks(self.rows_of_one(max_rows)).map(row).collect(),
            window_ns,
            column_ns,
            n_columns,
            names: &self.names,
        }
    }

    /// The logs that are in containers, if some are.
    fn packed_logs(
        &self,
        directory: &Path,
        marks: &[&LogMarks],
    ) -> Result<Option<Run>, RecordsError> {
        let is_packed = |marks: &&&LogMarks| !marks.identity.path(directory).exists();
        let ranks = marks
            .iter()
            .filter(is_packed)
            .map(|marks| marks.identity.rank);
        let ranks = ranks.collect::<std::collections::BTreeSet<u32>>();
        if ranks.is_empty() {
            return Ok(None);
        }
        Run::open_set(directory, &ranks).map(Some)
    }

    fn long_calls(&self, marks: &LogMarks, window_ns: &Range<u64>) -> Vec<LongCall> {
        let is_in =
            |call: &&LongCall| call.begin_ns < window_ns.end && call.end_ns > window_ns.start;
        marks.long.iter().filter(is_in).copied().collect()
    }

    fn add_records(
        &self,
        calls: &mut Vec<LongCall>,
        log: &Log,
        marks: &LogMarks,
        words: Range<u64>,
    ) {
        let place = RecordsPlace::at(usize::try_from(words.start).unwrap_or(usize::MAX));
        let mut records = Records::resume(log, &place);
        while let Some(series) = records.next_series() {
            if series.first_word() as u64 >= words.end {
                break;
            }
            let Ok(method) = self.names.binary_search(&series.method().name()) else {
                continue;
            };
            let of_records = series.spans_ns().map(|(start_ns, wall_ns)| {
                let begin_ns = marks.begin_ns.saturating_add(start_ns);
                LongCall {
                    method: method as u32,
                    begin_ns,
                    end_ns: begin_ns.saturating_add(wall_ns),
                }
            });
            let is_long = |call: &LongCall| self.is_long(call.begin_ns, call.end_ns);
            calls.extend(of_records.filter(|call| !is_long(call)));
        }
    }
}

/// Cuts calls that contain each other into slices of the innermost ones.
fn innermost(mut calls: Vec<LongCall>, window_ns: &Range<u64>) -> Vec<Slice> {
    calls.sort_by_key(|call| (call.begin_ns, u64::MAX - call.end_ns));
    let mut slices = Vec::new();
    let mut open: Vec<LongCall> = Vec::new();
    let mut now_ns = window_ns.start;
    let mut go_to = |open: &[LongCall], now_ns: &mut u64, to_ns: u64| {
        let end_ns = to_ns.min(window_ns.end);
        if let Some(call) = open.last()
            && end_ns > *now_ns
        {
            slices.push(Slice {
                method: call.method,
                begin_ns: *now_ns,
                end_ns,
            });
        }
        *now_ns = to_ns.max(*now_ns);
    };
    for call in calls {
        while let Some(end_ns) = open
            .last()
            .map(|call| call.end_ns)
            .filter(|end| *end <= call.begin_ns)
        {
            go_to(&open, &mut now_ns, end_ns);
            open.pop();
        }
        go_to(&open, &mut now_ns, call.begin_ns);
        open.push(call);
    }
    while let Some(end_ns) = open.last().map(|call| call.end_ns) {
        go_to(&open, &mut now_ns, end_ns);
        open.pop();
    }
    slices
}
