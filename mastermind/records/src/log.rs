//! Reads one log.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use memmap2::{Advice, Mmap};

use crate::calibration::TimeBase;
use crate::damage::Damage;
use crate::definition::MpiRoutineDefinition;
use crate::definitions::Definitions;
use crate::error::RecordsError;
use crate::layout::{Calibration, HEADER_BYTES, LogHeader, LogIdentity, MAGIC, VERSION};
use crate::records::Records;
use crate::scan::{Gap, Scanned, scan};

const WORD: usize = size_of::<u64>();

/// A call that had begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCallInfo {
    /// Call path.
    pub call_path: u32,
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
}

/// One log, checked as a whole when it is opened.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    map: Mmap,
    identity: LogIdentity,
    finished: bool,
    dropped: u64,
    /// Words of the entry stream that may be read.
    n_words: usize,
    time: TimeBase,
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
        // SAFETY: the map is only read; a log grows, and is cut only behind what is committed.
        let map = unsafe { Mmap::map(&file) }.map_err(RecordsError::io("map record log", path))?;
        // A hint; without it reading is slower.
        let _ = map.advise(Advice::Sequential);
        if map.len() < HEADER_BYTES {
            return Err(RecordsError::TooShort {
                path: path.into(),
                bytes: map.len() as u64,
            });
        }
        let mut log = Self {
            path: path.into(),
            map,
            identity: LogIdentity { rank: 0, thread: 0 },
            finished: false,
            dropped: 0,
            n_words: 0,
            time: TimeBase::default(),
            definitions: Definitions::default(),
            n_records: 0,
            gaps: Vec::new(),
            last: None,
            open: Vec::new(),
            damage: Vec::new(),
        };
        log.read_identity()?;
        log.read_entries();
        log.read_clock();
        log.read_open_calls();
        Ok(log)
    }

    fn header(&self) -> &LogHeader {
        // SAFETY: the map is page-aligned and at least as long as the header, every bit pattern of which is valid.
        unsafe { &*self.map.as_ptr().cast() }
    }

    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: the map is page-aligned and that long; what is committed does not change any more.
        unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().add(HEADER_BYTES).cast(), self.n_words)
        }
    }

    fn header_damage(&mut self, field: &'static str) {
        self.damage.push(Damage::Header {
            log: self.path.clone(),
            field,
        });
    }

    fn read_identity(&mut self) -> Result<(), RecordsError> {
        let header = self.header();
        let intact = header.identity_check == header.computed_identity_check();
        let (magic, version, size) = (header.magic, header.version, header.header_bytes);
        let identity = LogIdentity {
            rank: header.rank,
            thread: header.thread,
        };
        if magic != MAGIC && (version != VERSION || size != HEADER_BYTES as u32) {
            return Err(RecordsError::NotALog {
                path: self.path.clone(),
                found: magic.to_vec(),
            });
        }
        if version != VERSION && (intact || size != HEADER_BYTES as u32) {
            return Err(RecordsError::Version {
                path: self.path.clone(),
                found: version,
            });
        }
        self.identity = identity;
        if !intact {
            self.identity = LogIdentity::from_path(&self.path).unwrap_or(identity);
            self.header_damage("identity");
        }
        Ok(())
    }

    fn read_entries(&mut self) {
        let cells = &self.header().cells;
        let committed = cells.committed.load(Ordering::Acquire);
        let dropped = cells.dropped.load(Ordering::Relaxed);
        let finished = self.header().finished.load(Ordering::Acquire) == 1;
        (self.dropped, self.finished) = (dropped, finished);
        let there = (self.map.len() - HEADER_BYTES) / WORD;
        let claimed = committed.div_ceil(WORD as u64);
        self.n_words = there.min(usize::try_from(claimed).unwrap_or(usize::MAX));
        let mut definitions = Definitions::default();
        let mut scanned = scan(self.words(), &mut definitions);
        if let Some(end) = self.end_beyond(committed, there, &scanned) {
            self.header_damage("committed count");
            self.n_words = end;
            definitions = Definitions::default();
            scanned = scan(self.words(), &mut definitions);
        } else if let Some(missing_bytes) = committed
            .checked_sub((there * WORD) as u64)
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
                offset: (HEADER_BYTES + gap.at * WORD) as u64,
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
        self.gaps = scanned.gaps;
        self.last = scanned.last;
    }

    /// Where the entries end if that is not where the committed count says.
    ///
    /// Behind it one entry may be there, complete, if the program was killed just before the commit. More of them mean
    /// that the count is wrong, unless a running program has written them since.
    fn end_beyond(&self, committed: u64, there: usize, before: &Scanned) -> Option<usize> {
        let beyond = self.n_words..there;
        if beyond.is_empty() {
            return None;
        }
        // SAFETY: as in `words`; what a running program changes meanwhile is not believed.
        let all = unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().add(HEADER_BYTES).cast::<u64>(), there)
        };
        let scanned = scan(&all[beyond.clone()], &mut Definitions::default());
        let is_still = self.header().cells.committed.load(Ordering::Acquire) == committed;
        let cuts_entry = before.end < beyond.start;
        let is_wrong = scanned.n_entries > 1 || (cuts_entry && scanned.n_entries > 0);
        (is_still && is_wrong).then_some(beyond.start + scanned.end)
    }

    fn read_clock(&mut self) {
        let cells = &self.header().calibrations;
        let loaded = [cells[0].load(), cells[1].load(), cells[2].load()];
        let start = loaded[0].flatten();
        let latest: Option<Calibration> = loaded[1..]
            .iter()
            .filter_map(|cell| cell.flatten())
            .max_by_key(|latest| latest.ns);
        if start.is_none() {
            self.header_damage("calibration at start");
        }
        // One of the two may have been in the making when the program was killed.
        if self.finished && loaded[1..].iter().any(Option::is_none) {
            self.header_damage("latest calibration");
        }
        let rate = self
            .definitions
            .clock
            .as_ref()
            .map(|clock| clock.ticks_per_second);
        let first = self.words_start();
        self.time = TimeBase::new(start, latest, rate, first);
    }

    /// Start of the first record, for logs that have lost their first calibration.
    fn words_start(&self) -> u64 {
        let mut first = u64::MAX;
        for record in self.raw_records().take(64) {
            first = first.min(record[1]);
        }
        if first == u64::MAX { 0 } else { first }
    }

    fn read_open_calls(&mut self) {
        let cells = &self.header().cells;
        let mut depth = cells
            .depth
            .load(Ordering::Acquire)
            .min(cells.open.len() as u64) as usize;
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

    /// What the thread of this log has spent in MPI, as kept while the run goes on; the functions that were called.
    pub(crate) fn mpi_totals(&self) -> impl Iterator<Item = MpiRoutineDefinition> {
        let kept = self.definitions.mpi_totals.iter().flat_map(|kept| {
            let first = usize::try_from(kept.word).unwrap_or(usize::MAX);
            let pairs = self.words().get(first..).unwrap_or_default();
            pairs.chunks_exact(2).zip(&kept.functions)
        });
        kept.filter(|(pair, _)| pair[0] > 0)
            .map(|(pair, name)| MpiRoutineDefinition {
                name: name.clone(),
                calls: pair[0],
                ticks: pair[1],
            })
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

    pub(crate) fn raw_records(&self) -> crate::scan::RawRecords<'_> {
        crate::scan::RawRecords::new(self.words(), &self.gaps)
    }
}
