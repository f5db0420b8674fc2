//! Exclusive time: a call's wall time without that of the measured calls made from it.

use crate::calibration::TimeBase;
use crate::definition::TIMER_CLASS;
use crate::log::Log;
use crate::records::{Record, Records, RecordsPlace};

/// A call's own time, without that of the recorded calls made from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusive {
    /// Wall time, that in MPI included, nanoseconds.
    pub wall_ns: u64,
    /// Time in MPI, nanoseconds; 0 where it was not measured.
    pub mpi_ns: u64,
}

/// What the recorded calls made from an open one took.
#[derive(Clone, Copy, Debug, Default)]
struct Inner {
    wall_ns: u64,
    /// Clock ticks: time in MPI has no ends of its own, so only ticks add up to that of the caller.
    mpi_ticks: u64,
}

/// The records of a log with their exclusive wall time in nanoseconds, in the order in which the calls ended.
///
/// A call that was made from a measured one but could not be recorded counts to its caller. So does a recorded call of MPI:
/// what a method spends there is its own, whether or not the calls are recorded one by one.
#[derive(Debug)]
pub struct ExclusiveTimes<'a> {
    records: Records<'a>,
    time: TimeBase,
    /// Calls that have not ended yet, outermost first, each with the times of the recorded calls made from it.
    open: Vec<(u64, Inner)>,
    /// Whether a timer's own time is that of the component which started it.
    timers_are_callers: bool,
}

/// How far a log has been read, and what is known there of the calls that are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogPlace {
    records: RecordsPlace,
    open: Vec<(u64, Inner)>,
}

impl LogPlace {
    /// A place further on, where nothing is known of the calls that are open.
    ///
    /// # Arguments
    /// * `word` - from the beginning of the entries
    pub(crate) fn behind(&self, word: usize) -> Self {
        LogPlace {
            records: self.records.behind(word),
            open: Vec::new(),
        }
    }
}

impl<'a> ExclusiveTimes<'a> {
    /// From a place of such an iteration on.
    pub(crate) fn resume(log: &'a Log, place: &LogPlace) -> Self {
        ExclusiveTimes {
            records: Records::resume(log, &place.records),
            open: place.open.clone(),
            ..Self::new(log)
        }
    }

    /// Behind the record that was read last.
    pub(crate) fn place(&self) -> LogPlace {
        LogPlace {
            records: self.records.place(),
            open: self.open.clone(),
        }
    }

    /// Over the records of `log`.
    pub fn new(log: &'a Log) -> Self {
        ExclusiveTimes {
            records: log.records(),
            time: *log.time(),
            open: Vec::new(),
            timers_are_callers: false,
        }
    }

    /// Over the records of `log`; what a component spends in timers of its own is not taken from its time.
    pub fn of_components(log: &'a Log) -> Self {
        ExclusiveTimes {
            timers_are_callers: true,
            ..Self::new(log)
        }
    }

    /// The next record with its own wall and MPI time.
    #[inline(always)]
    pub fn next_record(&mut self) -> Option<(Record<'a>, Exclusive)> {
        let record = self.records.next()?;
        let mpi_ticks = record.mpi_ticks.unwrap_or(0);
        let inner = self.close(record.seq);
        let passes_on = self.timers_are_callers && record.method.class == TIMER_CLASS;
        if let Some(parent) = record.parent_seq.filter(|_| !record.method.is_mpi()) {
            let (wall_ns, mpi_ticks) = match passes_on {
                true => (inner.wall_ns, inner.mpi_ticks),
                false => (record.wall_ns, mpi_ticks),
            };
            let sum = self.inner(parent);
            sum.wall_ns = sum.wall_ns.saturating_add(wall_ns);
            sum.mpi_ticks = sum.mpi_ticks.saturating_add(mpi_ticks);
        }
        let own_mpi_ticks = mpi_ticks.saturating_sub(inner.mpi_ticks);
        let own = Exclusive {
            wall_ns: record.wall_ns.saturating_sub(inner.wall_ns),
            mpi_ns: self.time.span_ns(record.start_ticks, own_mpi_ticks).1,
        };
        Some((record, own))
    }

    /// Forgets a call and those that began after it, which have ended without a record.
    #[inline]
    fn close(&mut self, seq: u64) -> Inner {
        while let Some((open, inner)) = self.open.last().copied().filter(|open| open.0 >= seq) {
            self.open.pop();
            if open == seq {
                return inner;
            }
        }
        Inner::default()
    }

    /// The times of calls made from an open call.
    #[inline]
    fn inner(&mut self, seq: u64) -> &mut Inner {
        while self.open.last().is_some_and(|open| open.0 > seq) {
            self.open.pop();
        }
        if self.open.last().is_none_or(|open| open.0 < seq) {
            self.open.push((seq, Inner::default()));
        }
        let last = self.open.len() - 1;
        &mut self.open[last].1
    }
}

impl<'a> Iterator for ExclusiveTimes<'a> {
    type Item = (Record<'a>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (record, own) = self.next_record()?;
        Some((record, own.wall_ns))
    }
}
