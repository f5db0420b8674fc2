//! Follows the logs of a run while they grow, and reads each record once.
//!
//! A follower keeps its position in each log and the calls that are open there. The cost of a query to `cca.PerfParam`
//! is therefore proportional to the number of records since the last query.
//!
//! ```no_run
//! # use std::path::Path;
//! # use mastermind_records::RunFollower;
//! let mut follower = RunFollower::new(Path::new("records"), Some(0));
//! loop {
//!     follower.refresh()?;
//!     // Each record once, log by log, in the order in which the calls ended.
//!     while let Some(stretch) = follower.read_on(4096, |record, own| {
//!         println!("{} {}", record.method.name(), own.wall_ns);
//!     }) {
//!         // What a stretch held can be read again later, without what is before it.
//!         let again = follower.read_again(&stretch).count();
//!         assert_eq!(again as u64, stretch.n_records);
//!     }
//! #   break;
//! }
//! # Ok::<(), mastermind_records::RecordsError>(())
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::RecordsError;
use crate::exclusive::{Exclusive, ExclusiveTimes, LogPlace};
use crate::layout::LogIdentity;
use crate::log::{Log, RunningSums};
use crate::records::Record;
use crate::run::log_paths;

/// Maximum number of logs that stay open: a run may have more logs than a process may open files.
const MAX_OPEN_LOGS: usize = 16;

/// Age after which a directory's change time is reliable: a later change gets another time, whatever the resolution of
/// the file system's clock.
const SETTLED: Duration = Duration::from_secs(1);

/// Follows the logs of a directory, of one rank or all, while the program that writes them runs.
///
/// Continues each known log from the end of the last reading, and finds new logs. Memory is proportional to the
/// definitions and open calls, not to the number of records.
#[derive(Debug)]
pub struct RunFollower {
    directory: PathBuf,
    rank: Option<u32>,
    logs: Vec<FollowedLog>,
    /// Change time of the directory when all logs in it were found.
    listed: Option<SystemTime>,
}

/// A log, and the position up to which its records were passed on.
#[derive(Debug)]
struct FollowedLog {
    log: Log,
    place: LogPlace,
    /// Number of records up to that position.
    n_read: u64,
    /// After records were skipped, calls that began before this moment, clock ticks, are incomplete. At first this is
    /// the moment of the first record.
    whole_from: WholeFrom,
}

/// Since when all calls made from a call are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WholeFrom {
    Beginning,
    /// After the next record, which may be of a call that made other calls.
    NextRecord,
    Ticks(u64),
}

impl WholeFrom {
    /// Whether all calls made from this call are passed on.
    #[inline]
    fn has(&mut self, record: &Record<'_>) -> bool {
        match *self {
            WholeFrom::Beginning => true,
            WholeFrom::Ticks(from) => record.start_ticks >= from,
            WholeFrom::NextRecord => {
                *self = WholeFrom::Ticks(record.start_ticks.saturating_add(record.wall_ticks));
                false
            }
        }
    }
}

/// Consecutive records of one log. The next stretch continues this one if it is of the same log and was read directly
/// afterwards.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Index among [`RunFollower::logs`].
    pub log: usize,
    /// Number of records.
    pub n_records: u64,
    begin: LogPlace,
}

impl FollowedLog {
    /// Continues after the skipped part.
    fn leave_out(&mut self) {
        self.place = self.place.behind(self.log.n_words());
        self.n_read = self.log.n_records();
        self.whole_from = WholeFrom::NextRecord;
    }
}

impl RunFollower {
    /// # Arguments
    /// * `rank` - the rank whose logs are followed; `None` for all ranks
    pub fn new(directory: &Path, rank: Option<u32>) -> Self {
        RunFollower {
            directory: directory.into(),
            rank,
            logs: Vec::new(),
            listed: None,
        }
    }

    /// Takes in new entries of the known logs, and new logs. A log that cannot be read yet, because it is being
    /// created, is tried again the next time.
    ///
    /// # Errors
    /// The directory cannot be read; a log is gone, or another file has its name.
    pub fn refresh(&mut self) -> Result<(), RecordsError> {
        self.refresh_within(u64::MAX).map(drop)
    }

    /// As [`RunFollower::refresh`], up to a limit. The caller can read the rest later, or skip it
    /// ([`RunFollower::skip`]).
    ///
    /// # Arguments
    /// * `most_bytes` - approximate limit for each known log
    ///
    /// # Returns
    /// Number of bytes not yet taken in.
    ///
    /// # Errors
    /// As [`RunFollower::refresh`].
    pub fn refresh_within(&mut self, most_bytes: u64) -> Result<u64, RecordsError> {
        let most_words = usize::try_from(most_bytes / 8).unwrap_or(usize::MAX);
        let mut left = 0;
        for followed in &mut self.logs {
            left += 8 * followed.log.refresh(most_words)? as u64;
        }
        self.find_logs()?;
        Ok(left)
    }

    /// Skips the remaining records in the full chunks of logs that this process writes. Also leaves out calls that
    /// began before, since the calls made from them are not known.
    ///
    /// # Arguments
    /// * `sums` - from each writer ([`crate::LogWriter::running_sums`])
    ///
    /// # Returns
    /// Number of skipped records, without those that are left out later because their calls are incomplete.
    pub fn skip(&mut self, mut sums: BTreeMap<LogIdentity, RunningSums>) -> u64 {
        let mut skipped = 0;
        for followed in &mut self.logs {
            let known = sums.remove(&followed.log.identity());
            if !known.is_some_and(|known| followed.log.skip_to(known)) {
                continue;
            }
            skipped += followed.log.n_records().saturating_sub(followed.n_read);
            followed.leave_out();
        }
        skipped
    }

    /// Skips all records so far, when that part of the run is of no interest. Also leaves out calls that have begun.
    ///
    /// # Errors
    /// As [`RunFollower::refresh`].
    pub fn leave_out_so_far(&mut self) -> Result<(), RecordsError> {
        self.refresh()?;
        let begun = self.logs.iter_mut().filter(|of| of.log.n_records() > 0);
        begun.for_each(FollowedLog::leave_out);
        Ok(())
    }

    /// Searches for new logs if the directory has changed.
    fn find_logs(&mut self) -> Result<(), RecordsError> {
        let changed = self.directory.metadata().and_then(|m| m.modified());
        let changed = changed.ok();
        if self.listed.is_some() && self.listed == changed {
            return Ok(());
        }
        let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|elapsed| elapsed > SETTLED);
        self.listed = changed.filter(is_settled);
        for path in log_paths(&self.directory, self.rank)? {
            if self.logs.iter().any(|followed| followed.log.path() == path) {
                continue;
            }
            let Ok(mut log) = Log::open(&path) else {
                self.listed = None;
                continue;
            };
            if self.logs.len() < MAX_OPEN_LOGS {
                log.keep_open();
            }
            self.logs.push(FollowedLog {
                log,
                place: LogPlace::default(),
                n_read: 0,
                whole_from: WholeFrom::Beginning,
            });
        }
        Ok(())
    }

    /// The logs found so far, in the order in which they were found.
    pub fn logs(&self) -> impl ExactSizeIterator<Item = &Log> {
        self.logs.iter().map(|followed| &followed.log)
    }

    /// Index among [`RunFollower::logs`] of the log that [`RunFollower::read_on`] reads next.
    pub fn next_log(&self) -> Option<usize> {
        let is_behind = |followed: &FollowedLog| followed.n_read < followed.log.n_records();
        self.logs.iter().position(is_behind)
    }

    /// Passes on new records of one log, in the order in which their calls ended, each with its exclusive time as
    /// [`ExclusiveTimes`] computes it.
    ///
    /// # Arguments
    /// * `most` - maximum number of records
    ///
    /// # Returns
    /// The stretch that was read; `None` if there are no records since the last [`RunFollower::refresh`].
    pub fn read_on(
        &mut self,
        most: u64,
        mut each: impl FnMut(&Record<'_>, Exclusive),
    ) -> Option<Stretch> {
        let index = self.next_log()?;
        let followed = &mut self.logs[index];
        let mut records = ExclusiveTimes::resume(&followed.log, &followed.place);
        let mut n_records = 0;
        while n_records < most {
            let Some((record, own)) = records.next_record() else {
                break;
            };
            if followed.whole_from.has(&record) {
                each(&record, own);
            }
            n_records += 1;
        }
        let end = records.place();
        let begin = std::mem::replace(&mut followed.place, end);
        followed.n_read += n_records;
        if n_records < most {
            // The file was truncated: no more records follow.
            followed.n_read = followed.log.n_records();
        }
        Some(Stretch {
            log: index,
            n_records,
            begin,
        })
    }

    /// Reads the records of a stretch again, with their exclusive times.
    pub fn read_again(&self, stretch: &Stretch) -> impl Iterator<Item = (Record<'_>, Exclusive)> {
        let log = self.logs.get(stretch.log);
        let mut records = log.map(|followed| ExclusiveTimes::resume(&followed.log, &stretch.begin));
        let n_records = usize::try_from(stretch.n_records).unwrap_or(usize::MAX);
        std::iter::from_fn(move || records.as_mut()?.next_record()).take(n_records)
    }
}
