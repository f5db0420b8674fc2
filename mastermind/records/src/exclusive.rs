//! Exclusive time: a call's wall time minus that of the measured calls made from it.

use crate::calibration::TimeBase;
use crate::definition::TIMER_CLASS;
use crate::log::Log;
use crate::records::{Record, Records, RecordsPlace, Series};

/// Exclusive time of a call: its time without the recorded calls made from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusive {
    /// Wall time, including time in MPI, nanoseconds.
    pub wall_ns: u64,
    /// Time in MPI, nanoseconds; 0 where it was not measured.
    pub mpi_ns: u64,
}

/// Sums over the recorded calls made from an open call.
#[derive(Clone, Copy, Debug, Default)]
struct Inner {
    wall_ns: u64,
    /// Clock ticks: MPI times have no start and end of their own, so only ticks add up exactly to the caller's.
    mpi_ticks: u64,
}

/// The records of a log with their exclusive wall time in nanoseconds, in the order in which the calls ended.
///
/// The time of a call that could not be recorded counts to its caller. So does that of a recorded MPI call: time in MPI
/// belongs to the method that spends it, whether or not the MPI calls are recorded one by one.
#[derive(Debug)]
pub struct ExclusiveTimes<'a> {
    records: Records<'a>,
    time: TimeBase,
    open: OpenCalls,
    /// Wall times of the latest series, nanoseconds.
    walls_ns: Vec<u64>,
    /// Whether a timer's exclusive time counts to the component that started it.
    timers_are_callers: bool,
    /// Whether a recorded MPI call's time counts to itself instead of to its caller.
    mpi_is_apart: bool,
}

/// A position in a log, and the calls that are open there.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogPlace {
    records: RecordsPlace,
    open: OpenCalls,
}

impl LogPlace {
    /// A later position, with unknown open calls.
    ///
    /// # Arguments
    /// * `word` - from the beginning of the entries
    pub(crate) fn behind(&self, word: usize) -> Self {
        LogPlace {
            records: self.records.behind(word),
            open: OpenCalls::default(),
        }
    }
}

/// Calls that have not ended yet, outermost first, each with the sums of the recorded calls made from it.
#[derive(Clone, Debug, Default)]
struct OpenCalls(Vec<(u64, Inner)>);

impl OpenCalls {
    /// Forgets a call and those that began after it: they have ended without a record.
    #[inline]
    fn close(&mut self, seq: u64) -> Inner {
        while let Some((open, inner)) = self.0.last().copied().filter(|open| open.0 >= seq) {
            self.0.pop();
            if open == seq {
                return inner;
            }
        }
        Inner::default()
    }

    /// Adds the time of a recorded call to the open call that it was made from.
    #[inline]
    fn add(&mut self, parent: u64, more: Inner) {
        while self.0.last().is_some_and(|open| open.0 > parent) {
            self.0.pop();
        }
        if self.0.last().is_none_or(|open| open.0 < parent) {
            self.0.push((parent, Inner::default()));
        }
        if let Some((_, sum)) = self.0.last_mut() {
            sum.wall_ns = sum.wall_ns.saturating_add(more.wall_ns);
            sum.mpi_ticks = sum.mpi_ticks.saturating_add(more.mpi_ticks);
        }
    }
}

/// A series of records with their exclusive times.
#[derive(Clone, Copy, Debug)]
pub struct ExclusiveSeries<'a, 'w> {
    series: Series<'a, 'w>,
    time: TimeBase,
    /// Sums over the recorded calls made from the first call.
    inner: Inner,
    walls_ns: &'w [u64],
}

impl<'a, 'w> std::ops::Deref for ExclusiveSeries<'a, 'w> {
    type Target = Series<'a, 'w>;

    fn deref(&self) -> &Series<'a, 'w> {
        &self.series
    }
}

impl<'a> ExclusiveSeries<'a, '_> {
    /// The exclusive wall time of each record, nanoseconds.
    #[inline]
    pub fn own_walls_ns(&self) -> impl Iterator<Item = u64> {
        let mut inner_ns = self.inner.wall_ns;
        let walls_ns = self.walls_ns.iter();
        walls_ns.map(move |wall_ns| wall_ns.saturating_sub(std::mem::take(&mut inner_ns)))
    }

    /// The records with their exclusive times, as [`ExclusiveTimes::next_record`] gives them.
    #[inline(always)]
    pub fn records_with_own(&self) -> impl Iterator<Item = (Record<'a>, Exclusive)> {
        let mut inner = self.inner;
        let walls_ns = self.walls_ns.iter();
        self.series
            .records()
            .zip(walls_ns)
            .map(move |(record, wall_ns)| {
                let record = Record {
                    wall_ns: *wall_ns,
                    ..record
                };
                let own = own(&self.time, &record, std::mem::take(&mut inner));
                (record, own)
            })
    }
}

/// Exclusive times of a call.
#[inline(always)]
fn own(time: &TimeBase, record: &Record<'_>, inner: Inner) -> Exclusive {
    let own_mpi_ticks = record
        .mpi_ticks
        .unwrap_or(0)
        .saturating_sub(inner.mpi_ticks);
    Exclusive {
        wall_ns: record.wall_ns.saturating_sub(inner.wall_ns),
        mpi_ns: time.span_ns(record.start_ticks, own_mpi_ticks).1,
    }
}

impl<'a> ExclusiveTimes<'a> {
    /// Resumes such an iteration at a position.
    pub(crate) fn resume(log: &'a Log, place: &LogPlace) -> Self {
        ExclusiveTimes {
            records: Records::resume(log, &place.records),
            open: place.open.clone(),
            ..Self::new(log)
        }
    }

    /// The position after the last record read.
    pub(crate) fn place(&self) -> LogPlace {
        LogPlace {
            records: self.records.place(),
            open: self.open.clone(),
        }
    }

    /// Iterates over the records of `log` from the first; time in a timer counts to the timer, not to its component.
    pub fn new(log: &'a Log) -> Self {
        ExclusiveTimes {
            records: log.records(),
            time: *log.time(),
            open: OpenCalls::default(),
            walls_ns: Vec::new(),
            timers_are_callers: false,
            mpi_is_apart: false,
        }
    }

    /// Iterates over the records of `log`; time in a recorded MPI call counts to that call, not to its caller.
    pub(crate) fn of_innermost(log: &'a Log) -> Self {
        ExclusiveTimes {
            mpi_is_apart: true,
            ..Self::new(log)
        }
    }

    /// Iterates over the records of `log`; time in a component's timers counts to the component.
    pub fn of_components(log: &'a Log) -> Self {
        ExclusiveTimes {
            timers_are_callers: true,
            ..Self::new(log)
        }
    }

    /// The next record, in the order in which calls ended, with its times without those of recorded inner calls; `None`
    /// after the last one.
    #[inline(always)]
    pub fn next_record(&mut self) -> Option<(Record<'a>, Exclusive)> {
        let record = self.records.next()?;
        let inner = self.open.close(record.seq);
        let passes_on = self.timers_are_callers && record.method.class == TIMER_CLASS;
        let counts_to_caller = !self.mpi_is_apart && record.method.is_mpi();
        if let Some(parent) = record.parent_seq.filter(|_| !counts_to_caller) {
            let whole = Inner {
                wall_ns: record.wall_ns,
                mpi_ticks: record.mpi_ticks.unwrap_or(0),
            };
            self.open.add(parent, if passes_on { inner } else { whole });
        }
        let own = own(&self.time, &record, inner);
        Some((record, own))
    }

    /// The next series of like records in memory, with their exclusive times.
    #[inline(always)]
    pub fn next_series(&mut self) -> Option<ExclusiveSeries<'a, '_>> {
        let series = self.records.next_series()?;
        let inner = self.open.close(series.first_seq());
        self.walls_ns.clear();
        series.add_walls_ns(&mut self.walls_ns);
        let passes_on = self.timers_are_callers && series.method().class == TIMER_CLASS;
        let counts_to_caller = !self.mpi_is_apart && series.method().is_mpi();
        if let Some(parent) = series.parent_seq().filter(|_| !counts_to_caller) {
            let walls_ns = self.walls_ns.iter();
            let sum = || Inner {
                wall_ns: walls_ns.fold(0, |sum: u64, wall_ns| sum.saturating_add(*wall_ns)),
                mpi_ticks: series.mpi_ticks(),
            };
            self.open.add(parent, if passes_on { inner } else { sum() });
        }
        Some(ExclusiveSeries {
            series,
            time: self.time,
            inner,
            walls_ns: &self.walls_ns,
        })
    }
}

/// Sums of the exclusive times of the recorded calls; index: call path.
pub(crate) fn own_times(log: &Log, timers_are_callers: bool) -> Vec<Exclusive> {
    let mut times = Vec::new();
    let mut records = match timers_are_callers {
        true => ExclusiveTimes::of_components(log),
        false => ExclusiveTimes::new(log),
    };
    while let Some(series) = records.next_series() {
        let path = series.call_path() as usize;
        if times.len() <= path {
            times.resize(path + 1, Exclusive::default());
        }
        times[path].wall_ns += series.own_walls_ns().sum::<u64>();
        if series.measures_mpi() {
            let own = series.records_with_own().map(|(_, own)| own.mpi_ns);
            times[path].mpi_ns += own.sum::<u64>();
        }
    }
    times
}

impl<'a> Iterator for ExclusiveTimes<'a> {
    type Item = (Record<'a>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (record, own) = self.next_record()?;
        Some((record, own.wall_ns))
    }
}
