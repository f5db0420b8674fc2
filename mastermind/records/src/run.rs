//! All logs of a run, opened together.
//!
//! A recording leaves one log per rank and thread in a directory, possibly packed into containers. [`Run::open`] finds
//! all of them, opens them in parallel and orders them by rank and thread. A log that cannot be read does not prevent
//! reading the others; [`Run::unreadable`] has its error. Large runs can be divided: [`rank_ranges`] assigns ranks to
//! processes, and [`Run::open_ranks`] opens the part of one process.
//!
//! ```text
//! records/
//!   pack-rank0000.mmp              Run::logs()       rank 0 thread 0, packed
//!     rank0000-thread00.mmr                          rank 0 thread 1
//!     rank0001-thread00.mmr                          rank 1 thread 0, packed
//!   rank0000-thread01.mmr          Run::unreadable() error of rank0002-thread00.mmr
//!   rank0002-thread00.mmr          Run::ranks()      0, 1
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::damage::Damage;
use crate::definition::{MpiRoutineDefinition, PROGRAM_CLASS};
use crate::definitions::CommonDefinitions;
use crate::error::RecordsError;
use crate::layout::{Calibration, EXTENSION, LogIdentity};
use crate::log::{Log, Opening, RunningSums};
use crate::packed::{Container, PackedLog, container_paths, find_packed};
use crate::parallel::in_parallel;
use crate::source::PackedBytes;

/// Calls and time of a rank in one MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiRoutine {
    /// Name in C.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their times, nanoseconds.
    pub ns: u64,
    /// Number of calls that returned an error.
    pub failed: u64,
}

/// Time that the threads of a rank had a processor, and waited for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorTime {
    /// Time for which its threads ran, nanoseconds.
    pub running_ns: u64,
    /// Time for which they were ready to run and waited, nanoseconds.
    pub waiting_ns: u64,
}

impl ProcessorTime {
    /// Share of the processor time that the rank received of the time that it was ready to run, 0 to 1.
    pub fn share(&self) -> f64 {
        self.running_ns as f64 / (self.running_ns + self.waiting_ns).max(1) as f64
    }
}

/// The logs of a record directory, opened and ordered by rank and thread.
#[derive(Debug)]
pub struct Run {
    logs: Vec<Log>,
    unreadable: Vec<RecordsError>,
}

impl Run {
    /// Opens all logs of a directory.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the directory cannot be read, [`RecordsError::NoLogs`] if it contains no logs; the first
    /// log's error if none can be read. Otherwise, errors of single logs are in [`Run::unreadable`].
    pub fn open(directory: &Path) -> Result<Self, RecordsError> {
        Self::open_those(directory, None, false)
    }

    /// As [`Run::open`], for a caller that sums up all records once: checks and sums up long logs in one reading.
    ///
    /// # Errors
    /// Those of [`Run::open`].
    pub fn open_for_sums(directory: &Path) -> Result<Self, RecordsError> {
        Self::open_those(directory, None, true)
    }

    /// Opens the logs of one rank, by their file names; the program that writes them may still run.
    ///
    /// # Errors
    /// Those of [`Run::open`].
    pub fn open_rank(directory: &Path, rank: u32) -> Result<Self, RecordsError> {
        Self::open_those(directory, Some(rank), false)
    }

    /// Opens the logs of some ranks, for one of several processes that divide the work. Without logs, the run is empty.
    ///
    /// # Arguments
    /// * `ranks` - one of the ranges that [`rank_ranges`] returned
    /// * `is_for_sums` - as in [`Run::open_for_sums`]
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the directory cannot be read. Errors of single logs are in [`Run::unreadable`].
    pub fn open_ranks(
        directory: &Path,
        ranks: &Range<u64>,
        is_for_sums: bool,
    ) -> Result<Self, RecordsError> {
        // A file name without a rank belongs to the first process.
        let is_own = |identity: Option<LogIdentity>| {
            let rank = identity.map_or(0, |identity| u64::from(identity.rank));
            ranks.contains(&rank)
        };
        let (found, mut damaged) = find(directory)?;
        if ranks.start > 0 {
            damaged.clear();
        }
        let found = found.into_iter().filter(|found| is_own(found.order().0));
        let opened = open_found(found.collect(), is_for_sums);
        Ok(Self::of_opened_or_none(opened, damaged))
    }

    /// Opens the logs of the given ranks of a directory. Without logs, the run is empty.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the directory cannot be read. Errors of single logs are in [`Run::unreadable`].
    pub fn open_set(directory: &Path, ranks: &BTreeSet<u32>) -> Result<Self, RecordsError> {
        let (mut found, damaged) = find(directory)?;
        found.retain(|found| {
            let identity = found.order().0;
            identity.is_some_and(|identity| ranks.contains(&identity.rank))
        });
        Ok(Self::of_opened_or_none(open_found(found, false), damaged))
    }

    /// Opens the logs of a rank that this process writes, for sums only: does not read again what the writers have
    /// summed up.
    ///
    /// # Arguments
    /// * `sums` - from each writer ([`crate::LogWriter::running_sums`])
    ///
    /// # Errors
    /// Those of [`Run::open`].
    pub fn open_own(
        directory: &Path,
        rank: u32,
        mut sums: BTreeMap<PathBuf, RunningSums>,
    ) -> Result<Self, RecordsError> {
        let paths = log_paths(directory, Some(rank))?;
        let opened = paths
            .iter()
            .map(|path| Log::open_behind(path, sums.remove(path)));
        Self::of_opened(directory, opened.collect(), Vec::new())
    }

    /// The programs that `wrap` recorded, by name, with the number of their processes; several for a script or a
    /// pipeline.
    pub fn programs(&self) -> BTreeMap<String, usize> {
        let counted = self.processes_of_programs().into_iter();
        counted
            .map(|(name, processes)| (name, processes.len()))
            .collect()
    }

    /// As [`Run::programs`], with the numbers of their processes.
    pub fn processes_of_programs(&self) -> BTreeMap<String, BTreeSet<u32>> {
        let mut processes = BTreeMap::<&str, BTreeSet<u32>>::new();
        for definitions in self.logs.iter().map(Log::definitions) {
            let mut methods = definitions.methods();
            if methods.any(|method| method.class == PROGRAM_CLASS) {
                let run = &definitions.run;
                let of_program = processes.entry(&run.assembly).or_default();
                of_program.insert(run.forked_from.unwrap_or(run.process));
            }
        }
        let named = processes.into_iter();
        named
            .map(|(name, processes)| (name.to_owned(), processes))
            .collect()
    }

    /// The methods that a dry run left out, each `INSTANCE.PORT.METHOD`; empty for a run that computed everything.
    pub fn dry_methods(&self) -> BTreeSet<String> {
        let runs = self.logs.iter().map(|log| &log.definitions().run);
        runs.flat_map(|run| run.dry.iter().cloned()).collect()
    }

    /// Splits the run by the tasks of its programs: one run for each name and argument list of a wrapped program. All
    /// other logs stay together, including those of earlier versions, which contain no arguments.
    pub fn by_arguments(self) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        let asked = |log: &Log| {
            let definitions = log.definitions();
            let arguments = definitions.circumstances.as_ref();
            let arguments = arguments.map(|found| found.arguments().to_vec());
            (
                definitions.run.assembly.clone(),
                arguments.unwrap_or_default(),
            )
        };
        for log in self.logs {
            let own = asked(&log);
            let is_alike = |run: &&mut Self| run.logs.first().map(asked).as_ref() == Some(&own);
            match runs.iter_mut().find(is_alike) {
                Some(run) => run.logs.push(log),
                None => runs.push(Self {
                    logs: vec![log],
                    unreadable: Vec::new(),
                }),
            }
        }
        if let Some(first) = runs.first_mut() {
            first.unreadable = self.unreadable;
        }
        runs
    }

    /// For each rank, how long its threads ran on a processor and waited for one, as its processes measured it at their
    /// end. Ranks that did not end, or whose system does not report it, are missing.
    pub fn processor_times(&self) -> BTreeMap<u32, ProcessorTime> {
        // All logs of a process contain the same times.
        let mut processes = BTreeMap::new();
        for log in &self.logs {
            let definitions = log.definitions();
            let end = definitions.end.as_ref();
            if let Some((run, wait)) = end.and_then(|end| end.running_ns.zip(end.waiting_ns)) {
                processes.insert((log.identity().rank, definitions.run.process), (run, wait));
            }
        }
        let mut ranks = BTreeMap::<u32, ProcessorTime>::new();
        for ((rank, _), (run, wait)) in processes {
            let time = ranks.entry(rank).or_default();
            time.running_ns += run;
            time.waiting_ns += wait;
        }
        ranks
    }

    /// Keeps only the logs of one of [`Run::programs`].
    pub fn keep_program(&mut self, name: &str) {
        self.logs
            .retain(|log| log.definitions().run.assembly == name);
    }

    fn open_those(
        directory: &Path,
        rank: Option<u32>,
        is_for_sums: bool,
    ) -> Result<Self, RecordsError> {
        let (mut found, damaged) = match rank {
            None => find(directory)?,
            Some(rank) => find_of(directory, Some(rank))?,
        };
        found.shrink_to_fit();
        Self::of_opened(directory, open_found(found, is_for_sums), damaged)
    }

    /// # Arguments
    /// * `opened` - ordered by rank and thread, for file names that contain them
    /// * `unreadable` - errors of the logs that could not be opened
    fn of_opened(
        directory: &Path,
        opened: Vec<Result<Log, RecordsError>>,
        unreadable: Vec<RecordsError>,
    ) -> Result<Self, RecordsError> {
        let run = Self::of_opened_or_none(opened, unreadable);
        if run.logs.is_empty() {
            let none = RecordsError::NoLogs {
                directory: directory.into(),
            };
            return Err(run.unreadable.into_iter().next().unwrap_or(none));
        }
        Ok(run)
    }

    fn of_opened_or_none(
        opened: Vec<Result<Log, RecordsError>>,
        unreadable: Vec<RecordsError>,
    ) -> Self {
        let mut run = Self {
            logs: Vec::new(),
            unreadable,
        };
        // In place: a log object has some kilobytes.
        let logs = opened
            .into_iter()
            .filter_map(|log| log.map_err(|error| run.unreadable.push(error)).ok());
        run.logs = logs.collect();
        if !run.logs.is_sorted_by_key(Log::identity) {
            run.logs.sort_by_key(Log::identity);
        }
        run
    }

    /// Uses `latest` as the latest calibration of each log.
    pub fn calibrate(&mut self, latest: Calibration) {
        self.logs.iter_mut().for_each(|log| log.calibrate(latest));
    }

    /// The logs that could be opened, ordered by rank and thread.
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// Errors of the logs that could not be read at all.
    pub fn unreadable(&self) -> &[RecordsError] {
        &self.unreadable
    }

    /// The ranks with logs, ascending.
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.logs.iter().map(|log| log.identity().rank).collect();
        ranks.dedup();
        ranks
    }

    /// The logs of a rank, each with the first sequence number of its records, so that sequence numbers are unique
    /// within the rank. Consecutive logs in the list count all records before them.
    pub fn logs_of(&self, rank: u32) -> impl Iterator<Item = (&Log, u64)> {
        // The logs are sorted.
        let begin = self.logs.partition_point(|log| log.identity().rank < rank);
        let logs = self.logs[begin..]
            .iter()
            .take_while(move |log| log.identity().rank == rank);
        logs.scan(0, |next_seq, log| {
            let first = *next_seq;
            *next_seq += log.most_seqs();
            Some((log, first))
        })
    }

    /// Time of a rank in each MPI function, over its threads, nanoseconds. Uses the totals from the end of the run if
    /// there are any, otherwise the totals that its logs had when they were opened.
    pub fn mpi_routines(&self, rank: u32) -> Vec<MpiRoutine> {
        let mut routines = BTreeMap::<String, MpiRoutine>::new();
        let mut add = |log: &Log, routine: &MpiRoutineDefinition| {
            let sum = routines
                .entry(routine.name.clone())
                .or_insert_with(|| MpiRoutine {
                    name: routine.name.clone(),
                    calls: 0,
                    ns: 0,
                    failed: 0,
                });
            sum.calls += routine.calls;
            sum.failed += routine.failed;
            sum.ns += log.time().length_ns(routine.ticks);
        };
        let at_end = self
            .logs_of(rank)
            .find_map(|(log, _)| Some((log, log.definitions().mpi_routines.as_ref()?)));
        if let Some((log, at_end)) = at_end {
            at_end.routines.iter().for_each(|routine| add(log, routine));
        } else {
            for (log, _) in self.logs_of(rank) {
                let before = log.definitions().mpi_totals.iter();
                before
                    .flat_map(|kept| &kept.before)
                    .for_each(|routine| add(log, routine));
                log.mpi_totals()
                    .iter()
                    .for_each(|routine| add(log, routine));
            }
        }
        routines.into_values().collect()
    }

    /// The parts of all logs that cannot be read.
    pub fn damage(&self) -> impl Iterator<Item = &Damage> {
        self.logs.iter().flat_map(Log::damage)
    }

    /// Number of logs of which a part, or all, cannot be read: an unknown number of their calls is missing.
    pub fn damaged_logs(&self) -> u64 {
        let in_part = self.logs.iter().filter(|log| log.lacks_a_part());
        (in_part.count() + self.unreadable().len()) as u64
    }

    /// Step of the clock, nanoseconds, the largest of all logs; `None` if it is not known.
    ///
    /// A wall time from such a clock may be one step too long or too short, with a variance of one sixth of the squared
    /// step on average.
    pub fn clock_step_ns(&self) -> Option<f64> {
        let steps = self.logs.iter().filter_map(Log::clock_step_ns);
        steps.reduce(f64::max)
    }

    /// Number of ranks with which the run was started, according to its logs; 0 without logs.
    pub fn started_ranks(&self) -> u32 {
        let ranks = self.logs.iter().map(|log| log.definitions().run.ranks);
        ranks.max().unwrap_or(0)
    }

    /// Number of readable records in all logs.
    pub fn n_records(&self) -> u64 {
        self.logs.iter().map(Log::n_records).sum()
    }

    /// Logs whose files were shorter at a later reading than when they were opened, so that not all records were read.
    pub fn cut_logs(&self) -> impl Iterator<Item = &Log> {
        self.logs.iter().filter(|log| log.was_cut())
    }

    /// Number of calls without a record, in all logs.
    pub fn dropped(&self) -> u64 {
        self.logs.iter().map(Log::dropped).sum()
    }

    /// Whether every log was finished by its program; forked children mostly end without finishing theirs.
    pub fn is_finished(&self) -> bool {
        let is_child = |log: &Log| log.definitions().run.forked_from.is_some();
        let mut logs = self.logs.iter();
        logs.all(|log| log.is_finished() || is_child(log))
    }
}

/// A log that is not yet opened.
enum UnopenedLog {
    Loose(PathBuf),
    /// With the path of the original file.
    Packed(PathBuf, PackedLog),
}

impl UnopenedLog {
    fn path(&self) -> &Path {
        let (Self::Loose(path) | Self::Packed(path, _)) = self;
        path
    }

    /// Sort key: rank and thread, then the name.
    fn order(&self) -> (Option<LogIdentity>, &Path) {
        (LogIdentity::from_path(self.path()), self.path())
    }

    fn open(
        self,
        methods: &Arc<CommonDefinitions>,
        is_for_sums: bool,
    ) -> Result<Log, RecordsError> {
        match self {
            Self::Loose(path) => {
                let opening = Opening {
                    methods: Some(Arc::clone(methods)),
                    is_for_sums,
                    ..Opening::default()
                };
                match Log::open_file(&path, opening) {
                    Err(error) if !path.exists() => match find_packed(&path) {
                        // It was packed after it was listed.
                        Some(log) => Self::Packed(path, log).open(methods, is_for_sums),
                        None => Err(error),
                    },
                    opened => opened.map(|mut log| {
                        log.follow_packing(packed_since);
                        log
                    }),
                }
            }
            Self::Packed(path, log) => {
                log.check()?;
                Log::open_packed(&path, Arc::new(log), methods)
            }
        }
    }
}

/// Finds a log that was loose when it was opened, and is in a container now.
///
/// # Arguments
/// * `start` - when the log began, to exclude another log of the same name
fn packed_since(path: &Path, start: Option<Calibration>) -> Option<Arc<dyn PackedBytes>> {
    let bytes: Arc<dyn PackedBytes> = Arc::new(find_packed(path)?);
    let log = Log::open_packed(path, Arc::clone(&bytes), &Arc::default()).ok()?;
    (log.start() == start).then_some(bytes)
}

/// All logs of a directory, loose and packed, and the errors of unreadable containers. If a log is both, because
/// packing was interrupted, the loose one is used. Ordered by rank and thread, for file names that contain them.
fn find(directory: &Path) -> Result<(Vec<UnopenedLog>, Vec<RecordsError>), RecordsError> {
    find_of(directory, None)
}

fn find_of(
    directory: &Path,
    rank: Option<u32>,
) -> Result<(Vec<UnopenedLog>, Vec<RecordsError>), RecordsError> {
    let loose = log_paths(directory, rank)?;
    let mut found: Vec<_> = loose.into_iter().map(UnopenedLog::Loose).collect();
    let mut damaged = Vec::new();
    let containers = container_paths(directory);
    for path in containers.map_err(RecordsError::io("read records", directory))? {
        let container = match Container::open(&path) {
            Ok(container) => container,
            Err(error) => {
                damaged.push(error);
                continue;
            }
        };
        for log in container.logs() {
            let path = log.path(directory);
            if rank.is_none_or(|rank| log.identity().rank == rank) {
                found.push(UnopenedLog::Packed(path, log));
            }
        }
    }
    // In the final order, so that logs need not be moved later; the loose log of a name precedes the packed one.
    found.sort_by(|one, other| one.order().cmp(&other.order()));
    found.dedup_by(|later, first| later.path() == first.path());
    Ok((found, damaged))
}

fn open_found(found: Vec<UnopenedLog>, is_for_sums: bool) -> Vec<Result<Log, RecordsError>> {
    let methods = Arc::default();
    in_parallel(found, |found| found.open(&methods, is_for_sums))
}

/// Divides the ranks of a directory into one range per process, with about equal numbers of logs.
///
/// One process calls this and sends the result to the others: while a run continues, each process would find other
/// logs.
///
/// # Arguments
/// * `n_ranges` - number of ranges, at least 1
///
/// # Returns
/// Ranges from 0 to beyond the largest possible rank. The last ones are empty if there are too few ranks. The first
/// range has all ranks if the file name of any log contains no rank.
///
/// # Errors
/// [`RecordsError::Io`] if the directory cannot be read, [`RecordsError::NoLogs`] if it contains none.
pub fn rank_ranges(directory: &Path, n_ranges: usize) -> Result<Vec<Range<u64>>, RecordsError> {
    const END: u64 = 1 << u32::BITS;
    let (found, damaged) = find(directory)?;
    if found.is_empty() {
        let none = RecordsError::NoLogs {
            directory: directory.into(),
        };
        return Err(damaged.into_iter().next().unwrap_or(none));
    }
    let ranks = found.iter().map(|found| Some(found.order().0?.rank));
    let ranks: Option<Vec<u32>> = ranks.collect();
    let begin = |range: usize| match &ranks {
        _ if range == 0 => 0,
        // All logs of a rank stay together.
        Some(ranks) => ranks
            .get((ranks.len() * range).div_ceil(n_ranges))
            .map_or(END, |rank| u64::from(*rank)),
        None => END,
    };
    let begins = (0..n_ranges).map(begin).chain([END]).collect::<Vec<_>>();
    Ok(begins.windows(2).map(|ends| ends[0]..ends[1]).collect())
}

/// Paths of the logs of a directory, of one rank or all, by their file names.
///
/// # Errors
/// [`RecordsError::Io`] if the directory cannot be read.
pub(crate) fn log_paths(directory: &Path, rank: Option<u32>) -> Result<Vec<PathBuf>, RecordsError> {
    let read = || RecordsError::io("read records", directory);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(read())? {
        let path = entry.map_err(read())?.path();
        let is_log = path
            .extension()
            .is_some_and(|extension| extension == EXTENSION);
        let is_wanted = rank.is_none_or(|rank| {
            LogIdentity::from_path(&path).is_some_and(|identity| identity.rank == rank)
        });
        if is_log && is_wanted {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Opens all logs of a directory; see [`Run::open`].
///
/// # Errors
/// Those of [`Run::open`].
pub fn open_run(directory: &Path) -> Result<Run, RecordsError> {
    Run::open(directory)
}
