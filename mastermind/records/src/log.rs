//! Reads one log.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::calibration::TimeBase;
use crate::damage::Damage;
use crate::definition::MpiRoutineDefinition;
use crate::definitions::Definitions;
use crate::error::RecordsError;
use crate::layout::{Calibration, LogHeader, LogIdentity, MAGIC, PAGE_BYTES, VERSION, entries_at};
use crate::records::Records;
use crate::scan::{Gap, RawRecords, Scanned, scan};
use crate::source::{LogFile, read_words};

const WORD: usize = size_of::<u64>();

/// A call that had begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCallInfo {
    /// Call path.
    pub call_path: u32,
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
}

/// One log, checked as a whole when it is opened. What was committed by then is read again by whoever iterates over it.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: LogFile,
    identity: LogIdentity,
    finished: bool,
    dropped: u64,
    /// Words of the entry stream that may be read.
    n_words: usize,
    time: TimeBase,
    /// Calibration at the start.
    start: Option<Calibration>,
    definitions: Definitions,
    n_records: u64,
    gaps: Vec<Gap>,
    /// Call path and start of the last record, clock ticks.
    last: Option<(u32, u64)>,
    open: Vec<OpenCallInfo>,
    damage: Vec<Damage>,
}

impl Log {
    /// Opens a log of a finished, killed or still running program.
    ///
    /// # Errors
    /// [`RecordsError::Io`], [`RecordsError::TooShort`], [`RecordsError::NotALog`], [`RecordsError::Version`]. Anything
    /// less is [`Log::damage`].
    pub fn open(path: &Path) -> Result<Self, RecordsError> {
        let file = File::open(path).map_err(RecordsError::io("open record log", path))?;
        let header = HeaderPage::read(&file);
        // After the committed count: until then the file can only have grown.
        let metadata = file.metadata();
        let bytes = metadata.map_err(RecordsError::io("open record log", path))?;
        let header = header.ok_or_else(|| RecordsError::TooShort {
            path: path.into(),
            bytes: bytes.len(),
        })?;
        let (entries_at, is_intact) = check_identity(header.get(), path)?;
        let log_file = LogFile::new(path, &file, entries_at);
        let mut log = Self {
            path: path.into(),
            file: log_file.map_err(RecordsError::io("open record log", path))?,
            identity: LogIdentity {
                rank: header.get().rank,
                thread: header.get().thread,
            },
            finished: header.get().finished.load(Ordering::Relaxed) == 1,
            dropped: header.get().cells.dropped.load(Ordering::Relaxed),
            n_words: 0,
            time: TimeBase::default(),
            start: None,
            definitions: Definitions::default(),
            n_records: 0,
            gaps: Vec::new(),
            last: None,
            open: Vec::new(),
            damage: Vec::new(),
        };
        if !is_intact {
            log.identity = LogIdentity::from_path(path).unwrap_or(log.identity);
            log.header_damage("identity");
        }
        let there = bytes.len().saturating_sub(entries_at) as usize / WORD;
        log.read_entries(&file, header.get(), there);
        log.read_clock(header.get());
        log.read_open_calls(header.get());
        Ok(log)
    }

    fn header_damage(&mut self, field: &'static str) {
        self.damage.push(Damage::Header {
            log: self.path.clone(),
            field,
        });
    }

    /// # Arguments
    /// * `there` - words of entries that the file has
    fn read_entries(&mut self, file: &File, header: &LogHeader, there: usize) {
        let committed = header.cells.committed.load(Ordering::Acquire);
        let claimed = committed.div_ceil(WORD as u64);
        let n_words = there.min(usize::try_from(claimed).unwrap_or(usize::MAX));
        let (mut definitions, mut scanned) = self.scan(0, n_words);
        if let Some(end) = self.end_beyond(file, committed, there, &scanned) {
            self.header_damage("committed count");
            (definitions, scanned) = self.scan(0, end);
        } else if let Some(missing_bytes) = committed
            .checked_sub((self.n_words * WORD) as u64)
            .filter(|bytes| *bytes > 0)
        {
            self.damage.push(Damage::Truncated {
                log: self.path.clone(),
                missing_bytes,
            });
        }
        self.definitions = definitions;
        self.n_records = scanned.n_records;
        for gap in &scanned.gaps {
            self.damage.push(Damage::Unreadable {
                log: self.path.clone(),
                offset: self.file.entries_at() + (gap.at * WORD) as u64,
                bytes: (gap.n_words * WORD) as u64,
            });
        }
        let log = &self.path;
        let undefined = scanned.undefined.iter();
        self.damage
            .extend(undefined.map(|(&call_path, &records)| Damage::Undefined {
                log: log.clone(),
                call_path,
                records,
            }));
        if scanned.n_excess > 0 {
            self.damage.push(Damage::Excess {
                log: self.path.clone(),
                records: scanned.n_excess,
            });
        }
        self.gaps = scanned.gaps;
        self.last = scanned.last;
    }

    /// Reads the entries from word `begin` to word `end`, or to where the file was cut meanwhile; then they end there.
    fn scan(&mut self, begin: usize, end: usize) -> (Definitions, Scanned) {
        // As many call paths as the file has words: ids have no gaps.
        let mut definitions = Definitions::of_at_most(end);
        let mut window = self.file.window(begin, end);
        let scanned = scan(&mut window, begin, &mut definitions);
        self.n_words = window.end();
        (definitions, scanned)
    }

    /// Where the entries end if that is not where the committed count says.
    ///
    /// Behind it one entry may be there, complete, if the program was killed just before the commit. More of them mean
    /// that the count is wrong, unless a program that still runs has written them since.
    fn end_beyond(
        &mut self,
        file: &File,
        committed: u64,
        there: usize,
        before: &Scanned,
    ) -> Option<usize> {
        let begin = self.n_words;
        if begin >= there || is_being_written(file) {
            return None;
        }
        let (_, scanned) = self.scan(begin, there);
        self.n_words = begin;
        let now = HeaderPage::read(file)?;
        let is_still = now.get().cells.committed.load(Ordering::Acquire) == committed;
        let cuts_entry = before.end < begin;
        let is_wrong = scanned.n_entries > 1 || (cuts_entry && scanned.n_entries > 0);
        (is_still && is_wrong).then_some(scanned.end)
    }

    fn read_clock(&mut self, header: &LogHeader) {
        let cells = &header.calibrations;
        let loaded = [cells[0].load(), cells[1].load(), cells[2].load()];
        self.start = loaded[0].flatten();
        let latest: Option<Calibration> = loaded[1..]
            .iter()
            .filter_map(|cell| cell.flatten())
            .max_by_key(|latest| latest.ns);
        if self.start.is_none() {
            self.header_damage("calibration at start");
        }
        // One of the two may have been in the making when the program was killed.
        if self.finished && loaded[1..].iter().any(Option::is_none) {
            self.header_damage("latest calibration");
        }
        self.time = self.time_base(latest);
    }

    fn time_base(&self, latest: Option<Calibration>) -> TimeBase {
        let clock = self.definitions.clock.as_ref();
        let rate = clock.map(|clock| clock.ticks_per_second);
        // Only a log that has lost its start has to look for one.
        let first = self
            .start
            .map_or_else(|| self.words_start(), |start| start.ticks);
        TimeBase::new(self.start, latest, rate, first)
    }

    /// Takes `latest` for the latest calibration.
    pub(crate) fn calibrate(&mut self, latest: Calibration) {
        self.time = self.time_base(Some(latest));
    }

    /// Start of the first record, for logs that have lost their first calibration.
    fn words_start(&self) -> u64 {
        let mut first = u64::MAX;
        let mut records = self.raw_records();
        for _ in 0..64 {
            let Some(record) = records.next() else { break };
            first = first.min(record.words[1]);
        }
        if first == u64::MAX { 0 } else { first }
    }

    fn read_open_calls(&mut self, header: &LogHeader) {
        let cells = &header.cells;
        // Below 0 where a forked child has ended calls that its parent began.
        let depth = cells.depth.load(Ordering::Acquire).cast_signed().max(0);
        let mut depth = (depth as u64).min(cells.open.len() as u64) as usize;
        let mut open = Vec::new();
        for (place, call) in cells.open[..depth].iter().enumerate() {
            let (call_path, start) = (
                call.path.load(Ordering::Acquire),
                call.start.load(Ordering::Acquire),
            );
            let Ok(call_path) = u32::try_from(call_path) else {
                break;
            };
            if self.definitions.call_path(call_path).is_none() {
                break;
            }
            // Killed between the commit of the record and the end of the call.
            let is_recorded = place + 1 == depth && self.last == Some((call_path, start));
            if !is_recorded {
                open.push(OpenCallInfo {
                    call_path,
                    start_ns: self.time.since_start_ns(start),
                });
            } else {
                depth -= 1;
                break;
            }
        }
        let lost = open.len() < depth;
        self.open = open;
        if lost {
            self.header_damage("stack of open calls");
        }
    }

    /// File of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rank, and number of the log within it.
    pub fn identity(&self) -> LogIdentity {
        self.identity
    }

    /// Whether the program ended the log; if not, it still runs or was killed.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Calls that could not be recorded.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Number of records that can be read.
    pub fn n_records(&self) -> u64 {
        self.n_records
    }

    /// What the definitions say.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// What the clock advances by at once, nanoseconds; `None` where that is not known.
    pub fn clock_step_ns(&self) -> Option<f64> {
        self.definitions.clock.as_ref()?.step_ns()
    }

    /// From ticks to nanoseconds.
    pub fn time(&self) -> &TimeBase {
        &self.time
    }

    /// Calls that had begun and not ended, outermost first; at most 64.
    pub fn open_calls(&self) -> &[OpenCallInfo] {
        &self.open
    }

    /// What cannot be read.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Whether the file had less, at a later reading, than when it was opened; what was read then is not all of it.
    pub fn was_cut(&self) -> bool {
        self.file.is_cut()
    }

    /// What the thread of this log has spent in MPI, as kept while the run goes on; the functions that were called.
    pub(crate) fn mpi_totals(&self) -> Vec<MpiRoutineDefinition> {
        let Some(kept) = &self.definitions.mpi_totals else {
            return Vec::new();
        };
        let first = usize::try_from(kept.word).unwrap_or(usize::MAX);
        let n_words = self
            .n_words
            .saturating_sub(first)
            .min(2 * kept.functions.len());
        if n_words == 0 {
            return Vec::new();
        }
        let mut window = self.file.window(first, first + n_words);
        let pairs = window.from(first, n_words).chunks_exact(2);
        let pairs = pairs.zip(&kept.functions).filter(|(pair, _)| pair[0] > 0);
        pairs
            .map(|(pair, name)| MpiRoutineDefinition {
                name: name.clone(),
                calls: pair[0],
                ticks: pair[1],
            })
            .collect()
    }

    /// The records, in the order in which the calls ended.
    pub fn records(&self) -> Records<'_> {
        self.records_from(0)
    }

    /// The records, with sequence numbers from `first_seq` on.
    pub fn records_from(&self, first_seq: u64) -> Records<'_> {
        Records::new(self, first_seq)
    }

    /// As many sequence numbers as the records can take: calls that never ended have one as well (at most one a call
    /// path is open at a time), and so has a call whose record is lost.
    pub(crate) fn most_seqs(&self) -> u64 {
        let most_records = if self.damage.is_empty() {
            self.n_records + self.dropped
        } else {
            self.n_words as u64 + self.dropped
        };
        most_records + self.definitions.call_paths().count() as u64
    }

    pub(crate) fn raw_records(&self) -> RawRecords<'_> {
        RawRecords::new(self.file.window(0, self.n_words), &self.gaps)
    }
}

/// The first page of a log as it was at one moment.
struct HeaderPage(Box<[u64; PAGE_BYTES / WORD]>);

impl HeaderPage {
    /// `None` if the file is shorter.
    fn read(file: &File) -> Option<Self> {
        let mut words = Box::new([0; PAGE_BYTES / WORD]);
        (read_words(file, 0, &mut words[..]) == words.len()).then_some(Self(words))
    }

    fn get(&self) -> &LogHeader {
        // SAFETY: the words are aligned as the header is, and at least as many; every bit pattern of it is valid.
        unsafe { &*self.0.as_ptr().cast() }
    }
}

/// Looks whether a file is a log of a version that is known; one damaged field is tolerated.
///
/// # Returns
/// Where its entries begin, and whether its identity is undamaged.
fn check_identity(header: &LogHeader, path: &Path) -> Result<(u64, bool), RecordsError> {
    let is_intact = header.identity_check == header.computed_identity_check();
    let by_version = entries_at(header.version);
    let size = u64::from(header.header_bytes);
    let by_size = (1..=VERSION).filter_map(entries_at).find(|at| *at == size);
    if header.magic != MAGIC && (by_version.is_none() || by_version != by_size) {
        return Err(RecordsError::NotALog {
            path: path.into(),
            found: header.magic.to_vec(),
        });
    }
    let known = match is_intact {
        true => by_version,
        false => by_version.or(by_size),
    };
    let entries_at = known.ok_or_else(|| RecordsError::Version {
        path: path.into(),
        found: header.version,
    })?;
    Ok((entries_at, is_intact))
}

/// Whether a program has the log mapped to write to it; false where the file system cannot tell.
pub(crate) fn is_being_written(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let writer = flock(file, FlockOperation::NonBlockingLockShared);
    let is_locked = writer == Err(rustix::io::Errno::WOULDBLOCK);
    if writer.is_ok() {
        // Closing the file would do as well, a little later.
        let _ = flock(file, FlockOperation::NonBlockingUnlock);
    }
    is_locked
}
