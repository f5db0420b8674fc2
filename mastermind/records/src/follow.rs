//! Follows the logs of a run while they grow: what was read once is not read again.
//!
//! A follower keeps its place in each log and the calls that are open there, so that a question to `cca.PerfParam` costs what was recorded
//! since the last one.
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

/// Logs that are kept open: a run may have more than a process may open files.
const MAX_OPEN_LOGS: usize = 16;

/// A directory that was changed so long ago has another time once it is changed again, however coarse its times are.
const SETTLED: Duration = Duration::from_secs(1);

/// Follows the logs of a directory, of one rank or all, while the program that writes them runs.
///
/// Each log that is there is read from where the last reading ended; logs that come are found. Memory is that of the
/// definitions and of the calls that are open, whatever the number of records.
#[derive(Debug)]
pub struct RunFollower {
    directory: PathBuf,
    rank: Option<u32>,
    logs: Vec<FollowedLog>,
    /// When the directory was changed, as it was when all logs in it were found.
    listed: Option<SystemTime>,
}

/// A log, and how far it has been given out.
#[derive(Debug)]
struct FollowedLog {
    log: Log,
    place: LogPlace,
    /// Records up to that place.
    n_read: u64,
    /// After records were left out: calls that began before, clock ticks, are not whole. At first it is that of the first record.
    whole_from: WholeFrom,
}

/// From when on all calls made from a call are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WholeFrom {
    Beginning,
    /// Behind the next record, which may be of a call that others were made from.
    NextRecord,
    Ticks(u64),
}

impl WholeFrom {
    /// Whether all calls that were made from a call are given out.
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

/// Some records of one log, one after the other. It goes on with the next one if that is of the same log and was read right
/// after it.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Index among [`RunFollower::logs`].
    pub log: usize,
    /// Number of records.
    pub n_records: u64,
    begin: LogPlace,
}

impl FollowedLog {
    /// Goes on behind what is known of it.
    fn leave_out(&mut self) {
        self.place = self.place.behind(self.log.n_words());
        self.n_read = self.log.n_records();
        self.whole_from = WholeFrom::NextRecord;
    }
}

impl RunFollower {
    /// # Arguments
    /// * `rank` - whose logs; `None` for all
    pub fn new(directory: &Path, rank: Option<u32>) -> Self {
        RunFollower {
            directory: directory.into(),
            rank,
            logs: Vec::new(),
            listed: None,
        }
    }

    /// Takes in what was committed since, and logs that came. A log that cannot be read yet, since it is about to be made,
    /// is looked for again the next time.
    ///
    /// # Errors
    /// The directory cannot be read; a log is gone, or another has its name.
    pub fn refresh(&mut self) -> Result<(), RecordsError> {
        self.refresh_within(u64::MAX).map(drop)
    }

    /// The same of a part: who must not spend more on it looks at the others later, or leaves them out ([`RunFollower::skip`]).
    ///
    /// # Arguments
    /// * `most_bytes` - about so many of each log that is known
    ///
    /// # Returns
    /// Bytes that are left.
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

    /// Leaves out what was not given out of the full chunks of logs that this process writes. Calls that have begun before are left out
    /// as well, since what was called from them is not known.
    ///
    /// # Arguments
    /// * `sums` - what each writer says ([`crate::LogWriter::running_sums`])
    ///
    /// # Returns
    /// How many records are left out, those without which calls are not whole not counted.
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

    /// Leaves out what was recorded so far, as of a part of the run that is of no interest. Calls that have begun are left out as well.
    ///
    /// # Errors
    /// As [`RunFollower::refresh`].
    pub fn leave_out_so_far(&mut self) -> Result<(), RecordsError> {
        self.refresh()?;
        let begun = self.logs.iter_mut().filter(|of| of.log.n_records() > 0);
        begun.for_each(FollowedLog::leave_out);
        Ok(())
    }

    /// Looks for logs that came, unless the directory is as it was.
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

    /// The logs found so far, in the order in which they were.
    pub fn logs(&self) -> impl ExactSizeIterator<Item = &Log> {
        self.logs.iter().map(|followed| &followed.log)
    }

    /// The log that [`RunFollower::read_on`] reads next: its index among [`RunFollower::logs`].
    pub fn next_log(&self) -> Option<usize> {
        let is_behind = |followed: &FollowedLog| followed.n_read < followed.log.n_records();
        self.logs.iter().position(is_behind)
    }

    /// Gives out records that were not given out before, of one log, in the order in which their calls ended; each with its
    /// own time, as [`ExclusiveTimes`] has it.
    ///
    /// # Arguments
    /// * `most` - number of records, at most
    ///
    /// # Returns
    /// Which they were; `None` once there are no more than at the last [`RunFollower::refresh`].
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
            // The file was cut: there is no more to come.
            followed.n_read = followed.log.n_records();
        }
        Some(Stretch {
            log: index,
            n_records,
            begin,
        })
    }

    /// The records of a stretch once more, with their own times.
    pub fn read_again(&self, stretch: &Stretch) -> impl Iterator<Item = (Record<'_>, Exclusive)> {
        let log = self.logs.get(stretch.log);
        let mut records = log.map(|followed| ExclusiveTimes::resume(&followed.log, &stretch.begin));
        let n_records = usize::try_from(stretch.n_records).unwrap_or(usize::MAX);
        std::iter::from_fn(move || records.as_mut()?.next_record()).take(n_records)
    }
}
