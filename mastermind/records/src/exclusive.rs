//! Exclusive time: a call's wall time without that of the measured calls made from it.

use std::collections::HashMap;

use crate::definition::TIMER_CLASS;
use crate::log::Log;
use crate::records::{Record, Records};

/// A call's own time, without that of the recorded calls made from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusive {
    /// Wall time, that in MPI included, nanoseconds.
    pub wall_ns: u64,
    /// Time in MPI, nanoseconds; 0 where it was not measured.
    pub mpi_ns: u64,
}

/// The records of a log with their exclusive wall time in nanoseconds, in the order in which the calls ended.
///
/// A call that was made from a measured one but could not be recorded counts to its caller.
#[derive(Clone, Debug)]
pub struct ExclusiveTimes<'a> {
    records: Records<'a>,
    /// Times of the recorded calls made from a call that has not ended yet.
    inner: HashMap<u64, Exclusive>,
    /// Whether a timer's own time is that of the component which started it.
    timers_are_callers: bool,
}

impl<'a> ExclusiveTimes<'a> {
    /// Over the records of `log`.
    pub fn new(log: &'a Log) -> Self {
        ExclusiveTimes {
            records: log.records(),
            inner: HashMap::new(),
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
    pub fn next_record(&mut self) -> Option<(Record<'a>, Exclusive)> {
        let record = self.records.next()?;
        let mpi_ns = record.mpi_ns.unwrap_or(0);
        let inner = self.inner.remove(&record.seq).unwrap_or_default();
        if let Some(parent) = record.parent_seq {
            let sum = self.inner.entry(parent).or_default();
            if self.timers_are_callers && record.method.class == TIMER_CLASS {
                sum.wall_ns += inner.wall_ns;
                sum.mpi_ns += inner.mpi_ns;
            } else {
                sum.wall_ns += record.wall_ns;
                sum.mpi_ns += mpi_ns;
            }
        }
        let own = Exclusive {
            wall_ns: record.wall_ns.saturating_sub(inner.wall_ns),
            mpi_ns: mpi_ns.saturating_sub(inner.mpi_ns),
        };
        Some((record, own))
    }
}

impl<'a> Iterator for ExclusiveTimes<'a> {
    type Item = (Record<'a>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (record, own) = self.next_record()?;
        Some((record, own.wall_ns))
    }
}
