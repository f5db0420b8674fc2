//! Exclusive time: a call's wall time without that of the measured calls made from it.

use std::collections::HashMap;

use crate::log::Log;
use crate::records::{Record, Records};

/// The records of a log with their exclusive wall time in nanoseconds, in the order in which the calls ended.
///
/// A call that was made from a measured one but could not be recorded counts to its caller.
#[derive(Clone, Debug)]
pub struct ExclusiveTimes<'a> {
    records: Records<'a>,
    /// Wall time of the recorded calls made from a call that has not ended yet.
    inner_ns: HashMap<u64, u64>,
}

impl<'a> ExclusiveTimes<'a> {
    /// Over the records of `log`.
    pub fn new(log: &'a Log) -> Self {
        ExclusiveTimes {
            records: log.records(),
            inner_ns: HashMap::new(),
        }
    }
}

impl<'a> Iterator for ExclusiveTimes<'a> {
    type Item = (Record<'a>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        let inner_ns = self.inner_ns.remove(&record.seq).unwrap_or(0);
        if let Some(parent) = record.parent_seq {
            *self.inner_ns.entry(parent).or_default() += record.wall_ns;
        }
        Some((record, record.wall_ns.saturating_sub(inner_ns)))
    }
}
