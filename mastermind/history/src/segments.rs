//! The own time of a caller, in segments: from its beginning to the first measured call made from it, from there to the next, and to its end.
//!
//! A call that lasts for seconds is delayed by all other load of the machine. Between two measured calls it repeats the
//! same short work, and most of these segments are undisturbed. Segments between the same two methods with the same
//! parameters form a group; the quantiles of the groups, times their sizes, add up to the undisturbed time of the call.
//!
//! ```text
//! driver.go   |--a--| compute(n=8) |--b--| compute(n=8) |--b--| write() |--c--|
//! own time    a + 2 quantile(b) + c
//! ```

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use mastermind_records::Record;

use crate::quantiles::Quantiles;

/// Maximum number of groups of a cell: beyond it, parameters are left out of their keys. Arbitrary: as many pairs as 16 cells
/// of calls have.
const MAX_GROUPS: usize = 256;

/// Segments of an open call that are kept singly. Arbitrary.
const MAX_SINGLE: usize = 4096;

/// The call at an end of a segment: a hash of its method, and one of its parameters; zeros at the ends of the caller itself.
type End = (u64, u64);

/// The calls at both ends of a segment.
type Group = (End, End);

const CALLER: End = (0, 0);

/// Segments by group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    groups: HashMap<Group, Quantiles>,
    /// Whether parameters are left out of the keys.
    is_coarse: bool,
}

impl Segments {
    fn add(&mut self, group: Group, ns: f64) {
        self.groups.entry(self.key(group)).or_default().add(ns);
        self.coarsen();
    }

    /// Adds the segments of a call.
    pub(crate) fn add_call(&mut self, call: &CallSegments) {
        if !call.folded.groups.is_empty() {
            self.merge(&call.folded);
        }
        call.single
            .iter()
            .for_each(|(group, ns)| self.add(*group, *ns));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.is_coarse |= other.is_coarse;
        let (own, other) = (std::mem::take(&mut self.groups), &other.groups);
        let own = own.iter().chain(other);
        for (group, segments) in own {
            let of_group = self.groups.entry(self.key(*group)).or_default();
            of_group.merge(segments);
        }
        self.coarsen();
    }

    fn key(&self, (from, to): Group) -> Group {
        match self.is_coarse {
            true => ((from.0, 0), (to.0, 0)),
            false => (from, to),
        }
    }

    fn coarsen(&mut self) {
        if self.groups.len() > MAX_GROUPS && !self.is_coarse {
            self.merge(&Self {
                is_coarse: true,
                ..Self::default()
            });
        }
    }

    /// Least, lower quartile and median segment of each group, times the segments of the group, added up over the groups, nanoseconds; not numbers
    /// without segments.
    pub(crate) fn sums(&self) -> [f64; 3] {
        if self.groups.is_empty() {
            return [f64::NAN; 3];
        }
        let mut sums = [0.0; 3];
        for segments in self.groups.values() {
            let [least, lower, median, ..] = segments.five();
            for (sum, ns) in sums.iter_mut().zip([least, lower, median]) {
                *sum += segments.n() as f64 * ns;
            }
        }
        sums
    }
}

/// Segments of a call.
#[derive(Debug, Default)]
pub(crate) struct CallSegments {
    single: Vec<(Group, f64)>,
    folded: Segments,
}

impl CallSegments {
    fn add(&mut self, group: Group, ns: f64) {
        self.single.push((group, ns));
        if self.single.len() >= MAX_SINGLE {
            for (group, ns) in self.single.drain(..) {
                self.folded.add(group, ns);
            }
        }
    }
}

/// A call that has not ended, which others were made from.
#[derive(Debug)]
struct Open {
    seq: u64,
    first_start_ns: u64,
    first: End,
    last_end_ns: u64,
    last: End,
    segments: CallSegments,
    /// Time in calls of MPI, nanoseconds.
    mpi_ns: u64,
}

/// The segments of the calls of a log, whose records come in the order in which the calls end.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: Vec<Open>,
    /// Hash of the method of each call path.
    methods: HashMap<u32, u64>,
}

impl OpenCalls {
    /// Takes a record.
    ///
    /// # Returns
    /// The segments of the call; `None` if no call was made from it, or if its time in MPI is not that of recorded
    /// calls.
    pub(crate) fn take(&mut self, record: &Record<'_>, own_mpi_ns: u64) -> Option<CallSegments> {
        let end_ns = record.start_ns.saturating_add(record.wall_ns);
        let own = self.close(record.seq);
        if let Some(parent) = record.parent_seq {
            let call = self.end(record);
            self.add_call(
                parent,
                call,
                (record.start_ns, end_ns),
                record.method.is_mpi(),
            );
        }
        let mut own = own?;
        // Ends are rounded one by one.
        if own_mpi_ns > own.mpi_ns + own.mpi_ns / 100 + 1000 {
            return None;
        }
        let first = own.first_start_ns.saturating_sub(record.start_ns);
        own.segments.add((CALLER, own.first), first as f64);
        let last = end_ns.saturating_sub(own.last_end_ns);
        own.segments.add((own.last, CALLER), last as f64);
        Some(own.segments)
    }

    fn add_call(&mut self, parent: u64, call: End, (start_ns, end_ns): (u64, u64), is_mpi: bool) {
        while self.open.last().is_some_and(|open| open.seq > parent) {
            self.open.pop();
        }
        if self.open.last().is_none_or(|open| open.seq < parent) {
            self.open.push(Open {
                seq: parent,
                first_start_ns: start_ns,
                first: call,
                last_end_ns: end_ns,
                last: call,
                segments: CallSegments::default(),
                mpi_ns: if is_mpi { end_ns - start_ns } else { 0 },
            });
            return;
        }
        let Some(open) = self.open.last_mut() else {
            return;
        };
        let ns = start_ns.saturating_sub(open.last_end_ns);
        open.segments.add((open.last, call), ns as f64);
        (open.last, open.last_end_ns) = (call, end_ns);
        open.mpi_ns += if is_mpi { end_ns - start_ns } else { 0 };
    }

    /// The call with this number, and forgets those that ended without a record.
    fn close(&mut self, seq: u64) -> Option<Open> {
        while self.open.last().is_some_and(|open| open.seq > seq) {
            self.open.pop();
        }
        self.open.pop_if(|open| open.seq == seq)
    }

    fn end(&mut self, record: &Record<'_>) -> End {
        let method = self.methods.entry(record.call_path).or_insert_with(|| {
            let mut hasher = DefaultHasher::new();
            record.method.name().hash(&mut hasher);
            hasher.finish().max(1)
        });
        let mut parameters = DefaultHasher::new();
        let values = record.values.iter().zip(&record.method.parameters);
        let values = values.filter(|(_, definition)| !definition.is_incidental());
        values.for_each(|(word, _)| word.hash(&mut parameters));
        (*method, parameters.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_are_held_up_are_not_the_own_time() {
        let mut segments = Segments::default();
        let (a, b) = ((1, 1), (2, 1));
        for n in 0..100 {
            let ns = if n % 10 == 0 { 1e6 } else { 1000.0 };
            segments.add((a, b), ns);
        }
        segments.add((b, CALLER), 500.0);
        assert_eq!(segments.sums()[0], 100.5e3);
        assert!((segments.sums()[1] / 100.5e3 - 1.0).abs() < 0.003);
        assert!(Segments::default().sums()[0].is_nan());
    }

    #[test]
    fn too_many_groups_are_put_together() {
        let mut segments = Segments::default();
        for n in 0..2 * MAX_GROUPS as u64 {
            segments.add(((1, n), (2, n)), 100.0);
        }
        assert_eq!(segments.groups.len(), 1);
        assert_eq!(segments.sums()[0], 2.0 * MAX_GROUPS as f64 * 100.0);
    }
}
