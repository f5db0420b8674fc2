//! Sums over records by call path, in clock ticks, for profiles.

use cca_abi::recording::word::{self, EntryKind};

use crate::calibration::TimeBase;
use crate::definition::TIMER_CLASS;
use crate::definitions::Definitions;
use crate::exclusive::Exclusive;
use crate::records::counters;
use crate::scan::RawSeries;
use crate::totals::UnrecordedCalls;

/// Sums over the calls of one path.
#[derive(Clone, Debug, Default)]
struct PathTotal {
    calls: u64,
    wall_ticks: u64,
    /// `None` if time in MPI was measured for no call.
    mpi_ticks: Option<u64>,
    /// Index: counter of the method; `None` if it was never read.
    counters: Vec<Option<u64>>,
}

/// Sums over records with equal first words, apart from the check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlikeSums {
    /// The first word, without the check.
    pub(crate) head: u64,
    pub(crate) n_records: u64,
    /// At most `u64::MAX`, like the next one.
    pub(crate) wall_ticks: u64,
    /// `None` if it was not measured.
    pub(crate) mpi_ticks: Option<u64>,
}

/// Sums over the calls of a log, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTotals {
    n_records: u64,
    /// Index: call path.
    paths: Vec<PathTotal>,
}

/// Times of all calls of one path, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathTimes {
    /// The call path.
    pub call_path: u32,
    /// Number of calls.
    pub calls: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// Time in MPI; `None` where it was not measured.
    pub mpi_ns: Option<u64>,
    /// Exclusive times: without the measured calls made from the path.
    pub own: Exclusive,
}

impl PathTotals {
    /// The times by call path, callees before callers. A path's exclusive time is the time of all its calls minus that
    /// of all calls made from them, so it does not require individual calls.
    ///
    /// # Arguments
    /// * `timers_are_callers` - whether a timer's time counts to the component that started it
    pub(crate) fn times(
        &self,
        definitions: &Definitions,
        time: &TimeBase,
        timers_are_callers: bool,
    ) -> Vec<PathTimes> {
        let mut inner = vec![Exclusive::default(); self.paths.len()];
        let mut times = Vec::new();
        // Calls made from a path have paths with higher numbers.
        for (call_path, total) in self.paths().rev() {
            let Some(method) = definitions.recorded_method(call_path) else {
                continue;
            };
            let within = inner[call_path as usize];
            let whole = Exclusive {
                wall_ns: time.length_ns(total.wall_ticks),
                mpi_ns: total.mpi_ticks.map_or(0, |ticks| time.length_ns(ticks)),
            };
            let passes_on = timers_are_callers && method.class == TIMER_CLASS;
            let parent = definitions.shape(call_path).parent as usize;
            if let (false, Some(sum)) = (method.is_mpi(), inner.get_mut(parent)) {
                let passed = if passes_on { within } else { whole };
                sum.wall_ns += passed.wall_ns;
                sum.mpi_ns += passed.mpi_ns;
            }
            times.push(PathTimes {
                call_path,
                calls: total.calls,
                wall_ns: whole.wall_ns,
                mpi_ns: total.mpi_ticks.map(|_| whole.mpi_ns),
                own: Exclusive {
                    wall_ns: whole.wall_ns.saturating_sub(within.wall_ns),
                    mpi_ns: whole.mpi_ns.saturating_sub(within.mpi_ns),
                },
            });
        }
        times
    }

    /// Sums of the counters of a path's calls, in the order of the method's counters; `None` for a counter that was
    /// never read.
    pub(crate) fn counters(&self, call_path: u32) -> &[Option<u64>] {
        let total = self.paths.get(call_path as usize);
        total.map_or(&[], |total| &total.counters)
    }

    /// Number of added records.
    pub(crate) fn n_records(&self) -> u64 {
        self.n_records
    }

    /// The sums, each with its call path; some are of no calls.
    fn paths(&self) -> impl DoubleEndedIterator<Item = (u32, &PathTotal)> {
        self.paths
            .iter()
            .enumerate()
            .map(|(path, total)| (path as u32, total))
    }

    fn path(&mut self, path: usize) -> &mut PathTotal {
        if self.paths.len() <= path {
            self.paths.resize(path + 1, PathTotal::default());
        }
        &mut self.paths[path]
    }

    /// Whether [`AlikeSums`] suffice for records with this first word: they have no counters, and time in MPI was
    /// measured throughout.
    pub(crate) fn are_sums_enough(head: u64, definitions: &Definitions) -> bool {
        let method = definitions.recorded_method(word::path(head));
        !definitions.revise_records() && method.is_none_or(|method| method.counters.is_empty())
    }

    /// Adds records by their sums, if they match the definition of their call path.
    pub(crate) fn add_sums(&mut self, sums: &AlikeSums, definitions: &Definitions) {
        let call_path = word::path(sums.head);
        let fits = definitions.shape(call_path).fits(word::n_words(sums.head));
        if !fits || sums.n_records == 0 {
            return;
        }
        self.n_records += sums.n_records;
        let total = self.path(call_path as usize);
        total.calls += sums.n_records;
        total.wall_ticks = total.wall_ticks.saturating_add(sums.wall_ticks);
        if let Some(mpi) = sums.mpi_ticks {
            total.mpi_ticks = Some(total.mpi_ticks.unwrap_or(0).saturating_add(mpi));
        }
    }

    /// Adds the records among intact entries.
    ///
    /// # Returns
    /// Position after the last entry, possibly beyond the words.
    pub(crate) fn add_entries(&mut self, words: &[u64], definitions: &Definitions) -> usize {
        let mut at = 0;
        while let Some(head) = words.get(at) {
            let n_words = word::n_words(*head).max(1);
            let whole = words.get(at..at + n_words);
            if let (Some(EntryKind::Record), Some(record)) = (word::kind(*head), whole) {
                let one = RawSeries {
                    n_words,
                    n_records: 1,
                    words: record,
                };
                self.add(one, definitions);
            }
            at += n_words;
        }
        at
    }

    /// Adds like records that match the definition of their call path.
    #[inline(always)]
    pub(crate) fn add(&mut self, series: RawSeries<'_>, definitions: &Definitions) {
        let call_path = word::path(series.words[0]);
        if !definitions.shape(call_path).fits(series.n_words) {
            return;
        }
        let records = series.records();
        self.n_records += records.len() as u64;
        let total = self.path(call_path as usize);
        total.calls += records.len() as u64;
        let walls = records.clone().map(|record| record[2]);
        total.wall_ticks = walls.fold(total.wall_ticks, u64::saturating_add);
        if series.words[0] & word::MPI_MEASURED != 0 {
            let mut measured = records
                .clone()
                .filter(|record| definitions.mpi_is_whole(record[1], record[2]));
            if let Some(first) = measured.next() {
                let before = total.mpi_ticks.unwrap_or(0).saturating_add(first[3]);
                let sum = measured.fold(before, |sum, record| sum.saturating_add(record[3]));
                total.mpi_ticks = Some(sum);
            }
        }
        let method = definitions.recorded_method(call_path);
        let Some(method) = method.filter(|method| !method.counters.is_empty()) else {
            return;
        };
        total.counters.resize(method.counters.len(), None);
        for record in records {
            let values = counters(method, &record[word::HEAD_WORDS..]);
            for (sum, value) in total.counters.iter_mut().zip(values) {
                *sum = value
                    .map(|value| sum.unwrap_or(0).saturating_add(value))
                    .or(*sum);
            }
        }
    }

    /// Adds calls without a record.
    pub(crate) fn add_unrecorded(&mut self, calls: &UnrecordedCalls, definitions: &Definitions) {
        if definitions.call_path(calls.call_path).is_none() {
            return;
        }
        let total = self.path(calls.call_path as usize);
        total.calls += calls.calls;
        total.wall_ticks = total.wall_ticks.saturating_add(calls.wall_ticks);
        if let Some(mpi) = calls.mpi_ticks {
            total.mpi_ticks = Some(total.mpi_ticks.unwrap_or(0).saturating_add(mpi));
        }
    }
}
