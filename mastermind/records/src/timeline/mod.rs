//! The timeline of a run: the time of methods in bins of equal width, and the single calls of a short window.
//!
//! An [`Overview`] is computed from all records once. It answers for any part of the run's time which methods took how much of each
//! column of a picture, without reading records again, and its size does not depend on the number of records. It also keeps the
//! position in each log that belongs to each bin, so that the calls of a window narrower than some bins are read from there.
//!
//! ```text
//! records ──► Overview ──► view(window)     shares of methods, by row and column: any number of calls
//!                │    └──► calls(window)    single calls, the innermost at each moment: a window with few calls
//!                └──► file next to the logs of a large run that has ended
//! ```
//!
//! A row is a thread; of a run with more threads than [`MAX_ROWS`], all threads of some consecutive ranks.

mod bins;
mod calls;
mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::definition::Definition;
use crate::exclusive::ExclusiveTimes;
use crate::layout::LogIdentity;
use crate::log::Log;
use crate::parallel::in_parallel;
use crate::run::Run;
use bins::{BinPart, Bins, ThreadBins, add_up};

pub use calls::{RowSlices, Slice};
pub use kept::OVERVIEW_FILE;

/// Maximum number of rows. Arbitrary: more than the pixels of a picture's height.
pub const MAX_ROWS: usize = 512;

/// Maximum number of bins of all rows together. With three methods in a bin, the overview takes 40 MB.
const MAX_BINS: usize = 1 << 21;

/// Minimum number of bins of a row, twice the columns of a wide picture.
const MIN_BINS: usize = 1 << 12;

/// Longest run, 146 years: damaged times are cut to it.
const MAX_SPAN_NS: u64 = 1 << 62;

/// Mean number of records of a bin in a large run: reading those of a bin takes some 3 µs, so a picture of a thousand bins of a few rows
/// can as well be computed from its records.
const RECORDS_OF_BIN: u64 = 256;

/// Whose time a row shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowName {
    /// The first rank.
    pub first: u32,
    /// The last rank: another one only if a row has several ranks.
    pub last: u32,
    /// The thread of the rank, for ranks with several.
    pub thread: Option<u32>,
}

impl std::fmt::Display for RowName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.first == self.last, self.thread) {
            (true, None) => write!(f, "{}", self.first),
            (true, Some(thread)) => write!(f, "{}.{thread}", self.first),
            (false, _) => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// A call that ended later than the bin after the one that it began in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LongCall {
    method: u32,
    begin_ns: u64,
    end_ns: u64,
}

/// A log of a row that has no other one.
#[derive(Clone, Debug, PartialEq)]
struct LogMarks {
    identity: LogIdentity,
    /// The definitions that reading its records requires.
    definitions: Arc<[Definition]>,
    /// When it began, nanoseconds since the beginning of the run's first log.
    begin_ns: u64,
    /// Position of the first record that ended in each bin, words; of bins without records, that of the next one.
    /// Shape `[bins + 1]`.
    words: Vec<u64>,
    long: Vec<LongCall>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: RowName,
    n_threads: u32,
    bins: Bins,
    marks: Option<LogMarks>,
}

/// The time of methods over the time of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    span_ns: u64,
    bin_ns: u64,
    n_bins: usize,
    /// By number of method.
    names: Vec<String>,
    /// What whoever shows it must say of the run.
    notes: Vec<String>,
    rows: Vec<Row>,
}

/// Share of a method in a column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// From the left.
    pub column: u32,
    /// Number of the method among [`View::names`].
    pub method: u32,
    /// 0 to 1, of the time of all threads of the row.
    pub share: f32,
}

/// A row of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewRow {
    /// Whose time it shows.
    pub name: RowName,
    /// In the order of columns.
    pub parts: Vec<Part>,
}

/// A part of the time of a run in columns of equal width.
#[derive(Clone, Debug, PartialEq)]
pub struct View<'a> {
    /// From where to where, nanoseconds since the beginning of the run.
    pub window_ns: Range<u64>,
    /// Width of a column, nanoseconds.
    pub column_ns: u64,
    /// Number of columns.
    pub n_columns: usize,
    /// Names of the methods, by number.
    pub names: &'a [String],
    /// The rows, by rank.
    pub rows: Vec<ViewRow>,
}

/// A log and its span, nanoseconds since the beginning of the run.
#[derive(Clone, Copy)]
struct Begun<'a> {
    log: &'a Log,
    begin_ns: u64,
    /// Of its last known event.
    end_ns: u64,
}

impl Overview {
    /// Computes it from all records, by as many threads as there are processors.
    pub fn of(run: &Run) -> Self {
        let begun = begins(run);
        let methods = begun.iter().flat_map(|one| one.log.definitions().methods());
        let names: BTreeSet<String> = methods.map(|method| method.name()).collect();
        let numbers: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let rows = rows_of(begun, MAX_ROWS);
        let logs = || rows.iter().flat_map(|(_, logs)| logs);
        let end_ns = logs().map(|one| one.end_ns).max();
        let span_ns = end_ns.unwrap_or(0).max(1);
        let n_records = logs().map(|one| one.log.n_records()).sum::<u64>();
        let n_rows = rows.len().max(1);
        let wanted = (n_records / RECORDS_OF_BIN) as usize / n_rows;
        let n_bins = wanted.clamp(MIN_BINS, (MAX_BINS / n_rows).max(MIN_BINS));
        let bin_ns = span_ns.div_ceil(n_bins as u64);
        let n_bins = span_ns.div_ceil(bin_ns) as usize;
        let row = |(name, logs): (RowName, Vec<Begun<'_>>)| {
            let mut parts = Vec::new();
            let n_threads = logs.len() as u32;
            let mut marks = None;
            for log in logs {
                let (more, of_log) = bins_of(log, (bin_ns, n_bins), &numbers);
                parts.extend(more);
                marks = (n_threads == 1).then_some(of_log);
                add_up(&mut parts);
            }
            let bins = Bins::of(&parts, n_bins);
            Row {
                name,
                n_threads,
                bins,
                marks,
            }
        };
        Self {
            span_ns,
            bin_ns,
            n_bins,
            rows: in_parallel(rows, row),
            names: names.into_iter().collect(),
            notes: Vec::new(),
        }
    }

    /// The same with notes on the run, which are kept with it.
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Overview { notes, ..self }
    }

    /// What whoever shows it must say of the run.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names of the methods, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Length of the run, nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// The shares of methods in a part of the time.
    ///
    /// # Arguments
    /// * `window_ns` - since the beginning of the run; it is widened to whole bins
    /// * `max_columns` - at least 1; there are fewer if the window has fewer bins
    /// * `max_rows` - at least 1; if there are more rows, each row of the view shows several
    pub fn view(&self, window_ns: Range<u64>, max_columns: usize, max_rows: usize) -> View<'_> {
        let bins = self.bins(&window_ns);
        let of_column = bins.len().div_ceil(max_columns.max(1)).max(1);
        let n_columns = bins.len().div_ceil(of_column);
        let column_ns = self.bin_ns * of_column as u64;
        let of_row = self.rows_of_one(max_rows);
        let rows = self.rows.chunks(of_row).map(|rows| {
            let mut parts = Vec::new();
            let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
            let n_threads: u32 = rows.iter().map(|row| row.n_threads).sum();
            for column in 0..n_columns {
                let begin = bins.start + column * of_column;
                let end = (begin + of_column).min(bins.end);
                for row in rows {
                    for (method, ns) in row.bins.of_range(begin..end) {
                        *sums.entry(method).or_default() += f64::from(ns);
                    }
                }
                let whole = (end - begin) as f64 * self.bin_ns as f64 * f64::from(n_threads);
                while let Some((method, ns)) = sums.pop_first() {
                    parts.push(Part {
                        column: column as u32,
                        method,
                        share: (ns / whole) as f32,
                    });
                }
            }
            let name = common_name(rows.iter().map(|row| &row.name));
            ViewRow { name, parts }
        });
        View {
            window_ns: bins.start as u64 * self.bin_ns..bins.end as u64 * self.bin_ns,
            column_ns,
            n_columns,
            names: &self.names,
            rows: rows.collect(),
        }
    }

    /// How many rows a row of a view shows.
    fn rows_of_one(&self, max_rows: usize) -> usize {
        self.rows.len().div_ceil(max_rows.max(1)).max(1)
    }

    /// Whether a call ended later than the bin after the one that it began in.
    fn is_long(&self, begin_ns: u64, end_ns: u64) -> bool {
        let bin = |ns: u64| ((ns / self.bin_ns) as usize).min(self.n_bins - 1);
        bin(end_ns.saturating_sub(1)) > bin(begin_ns) + 1
    }

    /// The bins of a part of the time, at least one.
    fn bins(&self, window_ns: &Range<u64>) -> Range<usize> {
        let begin = ((window_ns.start / self.bin_ns) as usize).min(self.n_bins - 1);
        let end = (window_ns.end.div_ceil(self.bin_ns) as usize).clamp(begin + 1, self.n_bins);
        begin..end
    }
}

/// The name of a row over several rows.
fn common_name<'a>(names: impl Iterator<Item = &'a RowName>) -> RowName {
    let mut names = names.cloned();
    let mut name = names.next().unwrap_or(RowName {
        first: 0,
        last: 0,
        thread: None,
    });
    for more in names {
        name.last = more.last;
        name.thread = None;
    }
    name
}

/// The logs of a run with their spans.
///
/// Ranks of one machine share its clock; those of several are aligned by their clocks' date, as well as those agree.
fn begins(run: &Run) -> Vec<Begun<'_>> {
    let logs = run.logs();
    let host = |log: &Log| log.definitions().run.host.clone();
    let is_one_machine = logs.windows(2).all(|pair| host(&pair[0]) == host(&pair[1]));
    let begin = |log: &Log| match is_one_machine {
        true => log.time().start().ns,
        false => log.definitions().run.started_unix_ns,
    };
    let first_ns = logs.iter().map(begin).min().unwrap_or(0);
    in_parallel(logs.iter().collect(), |log| {
        let begin_ns = begin(log) - first_ns;
        let end_ns = begin_ns.saturating_add(end_ns(log)).min(MAX_SPAN_NS);
        Begun {
            log,
            begin_ns,
            end_ns,
        }
    })
}

/// The logs by row: each for itself, or those of some ranks together.
fn rows_of(logs: Vec<Begun<'_>>, max_rows: usize) -> Vec<(RowName, Vec<Begun<'_>>)> {
    let mut by_rank: BTreeMap<u32, Vec<Begun<'_>>> = BTreeMap::new();
    let n_logs = logs.len();
    for one in logs {
        let rank = one.log.identity().rank;
        by_rank.entry(rank).or_default().push(one);
    }
    if n_logs <= max_rows {
        let ranks = by_rank.into_iter().flat_map(|(rank, logs)| {
            let is_only = logs.len() == 1;
            logs.into_iter().map(move |one| {
                let thread = (!is_only).then_some(one.log.identity().thread);
                let name = RowName {
                    first: rank,
                    last: rank,
                    thread,
                };
                (name, vec![one])
            })
        });
        return ranks.collect();
    }
    let of_row = by_rank.len().div_ceil(max_rows);
    let ranks: Vec<_> = by_rank.into_iter().collect();
    let rows = ranks.chunks(of_row).map(|ranks| {
        let name = RowName {
            first: ranks[0].0,
            last: ranks[ranks.len() - 1].0,
            thread: None,
        };
        let logs = ranks.iter().flat_map(|(_, logs)| logs.iter().copied());
        (name, logs.collect())
    });
    rows.collect()
}

/// When the last known event of a log was, nanoseconds since it began.
fn end_ns(log: &Log) -> u64 {
    let open = log.open_calls().iter().map(|call| call.start_ns);
    open.fold(log.last_end_ns().max(log.latest_mpi_ns()), u64::max)
}

/// The parts of a log, and what a window on its calls needs.
fn bins_of(
    one: Begun<'_>,
    (bin_ns, n_bins): (u64, usize),
    numbers: &BTreeMap<&str, u32>,
) -> (Vec<BinPart>, LogMarks) {
    let Begun {
        log,
        begin_ns,
        end_ns: until_ns,
    } = one;
    let number = |call_path: u32| {
        let method = log.definitions().method_of(call_path)?;
        numbers.get(&*method.name()).copied()
    };
    let paths = log.definitions().call_paths().map(|path| path.id);
    let n_paths = paths.max().map_or(0, |last| last as usize + 1);
    let methods: Vec<Option<u32>> = (0..n_paths as u32).map(number).collect();
    let mut bins = ThreadBins::new(bin_ns, n_bins, numbers.len());
    let mut long = Vec::new();
    let mut words = vec![u64::MAX; n_bins + 1];
    let mut times = ExclusiveTimes::of_innermost(log);
    let mut word = 0;
    let mut add_if_long = |method, from_ns, to_ns, (first, last): (usize, usize)| {
        if last > first + 1 {
            long.push(LongCall {
                method,
                begin_ns: from_ns,
                end_ns: to_ns,
            });
        }
    };
    while let Some(series) = times.next_series() {
        let method = methods.get(series.call_path() as usize).copied().flatten();
        let Some(method) = method else { continue };
        let n_words = series.n_words() as u64;
        let spans = series.spans_ns().zip(series.own_walls_ns());
        word = series.first_word() as u64;
        for ((start_ns, wall_ns), own_ns) in spans {
            let from_ns = begin_ns.saturating_add(start_ns).min(MAX_SPAN_NS);
            let to_ns = from_ns.saturating_add(wall_ns).min(MAX_SPAN_NS);
            let ends = bins.add(method, from_ns, to_ns, own_ns);
            let mark = &mut words[ends.1];
            *mark = (*mark).min(word);
            word += n_words;
            add_if_long(method, from_ns, to_ns, ends);
        }
    }
    // Calls that have not ended: the innermost one first.
    for call in log.open_calls().iter().rev() {
        let from_ns = begin_ns.saturating_add(call.start_ns);
        let method = methods.get(call.call_path as usize).copied().flatten();
        if let Some(method) = method
            && from_ns < until_ns
        {
            let ends = bins.add(method, from_ns, until_ns, u64::MAX);
            add_if_long(method, from_ns, until_ns, ends);
        }
    }
    words[n_bins] = word;
    for bin in (0..n_bins).rev() {
        words[bin] = words[bin].min(words[bin + 1]);
    }
    let marks = LogMarks {
        identity: log.identity(),
        definitions: kept::definitions(log),
        begin_ns,
        words,
        long,
    };
    (bins.finish(), marks)
}
