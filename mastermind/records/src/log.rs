//! Reads one log.
//!
//! [`Log::open`] reads header and entries once. It keeps definitions, sums and the positions of entries, but not the
//! records: [`Log::records`] reads these from the file again, in pieces. Opening fails if the file cannot be read or is
//! not a log of a known version. Any other damage is reported by [`Log::damage`], and the records before and after it
//! can be read. A log contains the entries that were committed when it was opened, even if its program continues to
//! write; `log/following.rs` takes in later ones. `scan` finds the entries, `records` interprets them, and
//! [`crate::Run`] has all logs of a directory.
//!
//! ```text
//! $ head -c 120000 records/rank0000-thread00.mmr > cut/rank0000-thread00.mmr      of 164568 bytes and 2242 records
//! $ mastermind info cut
//! warning: cannot read end of record log "cut/rank0000-thread00.mmr": 44568 bytes are missing
//! warning: cannot read record log "cut/rank0000-thread00.mmr": 40 bytes at 119960 are no entry
//! ...
//! records      1102 in 1 logs, 0 lost
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use crate::calibration::TimeBase;
use crate::damage::Damage;
use crate::definition::MpiRoutineDefinition;
use crate::definitions::{CommonDefinitions, Definitions};
use crate::error::RecordsError;
use crate::exclusive::own_times;
use crate::layout::{Calibration, HEADER_BYTES, LogHeader, LogIdentity};
use crate::path_totals::{PathTimes, PathTotals};
use crate::preparer::RetiredSums;
use crate::records::{Record, Records, RecordsPlace};
use crate::scan::{Gap, RawRecords, Scanned, scan, scan_and_sum};
use crate::source::{LogFile, Source, WINDOW_WORDS};
use crate::totals::{UnrecordedCalls, add_calls, unrecorded};
use cca_abi::recording::{OPEN_UNTIL_ZERO, OpenCall};

const WORD: usize = size_of::<u64>();
/// Number of attempts to read a header that is changing.
const N_TRIES: usize = 10;

/// A call that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCallInfo {
    /// Call path.
    pub call_path: u32,
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
}

/// One log, checked completely when it is opened. Iterating reads the entries committed by then again.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: LogFile,
    identity: LogIdentity,
    finished: bool,
    dropped: u64,
    /// Number of readable words of the entry stream.
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
    latest_mpi_ns: u64,
    /// The MPI function that the thread was in when the log was opened, by its index in the totals, and when it was called.
    mpi_now: Option<(usize, u64)>,
    damage: Vec<Damage>,
    /// Totals of the thread's MPI functions when the log was opened, for functions that were called.
    mpi_totals: Vec<MpiRoutineDefinition>,
    unrecorded: Vec<UnrecordedCalls>,
    /// Call paths of the callers of such calls.
    callers: BTreeSet<u32>,
    /// Known sums over the first words, which are then not read.
    known: Option<RetiredSums>,
    /// Whether it was opened for its sums, which are then computed by the scan.
    is_for_sums: bool,
    /// Sums over all records from the scan, without other calls.
    scanned_totals: Option<PathTotals>,
    /// Methods that the logs of a run share.
    methods: Option<Arc<CommonDefinitions>>,
    /// Position of the words read last, and these words, while the log is followed.
    latest: (usize, Vec<u64>),
    /// The sums over all calls, computed on first use: they need every word.
    totals: OnceLock<PathTotals>,
    /// When the last call of a record ended, computed on first use.
    last_end_ns: OnceLock<u64>,
}

impl Log {
    /// Opens the log of a finished, killed or running program.
    ///
    /// # Errors
    /// [`RecordsError::Io`], [`RecordsError::TooShort`], [`RecordsError::NotALog`], [`RecordsError::Version`]. Lesser problems are
    /// [`Log::damage`].
    pub fn open(path: &Path) -> Result<Self, RecordsError> {
        Self::open_behind(path, None)
    }

    /// As [`Log::open`], for sums only: for a log of this process, does not read known parts again.
    pub(crate) fn open_behind(
        path: &Path,
        known: Option<RunningSums>,
    ) -> Result<Self, RecordsError> {
        let opening = Opening {
            known,
            ..Opening::default()
        };
        Self::open_file(path, opening)
    }

    pub(crate) fn open_file(path: &Path, opening: Opening) -> Result<Self, RecordsError> {
        let act = || RecordsError::io("open record log", path);
        let file = File::open(path).map_err(act())?;
        let log_file = LogFile::new(path, &file).map_err(act())?;
        Self::open_source(path, log_file, Source::File(Arc::new(file)), opening)
    }

    fn open_source(
        path: &Path,
        mut log_file: LogFile,
        mut file: Source,
        opening: Opening,
    ) -> Result<Self, RecordsError> {
        let Opening {
            known,
            methods,
            is_for_sums,
        } = opening;
        let header = HeaderWords::read(&mut file);
        // After the committed count: the file can only have grown since.
        let n_bytes = file.n_bytes();
        let n_bytes = n_bytes.map_err(RecordsError::io("open record log", path))?;
        let header = header.ok_or_else(|| RecordsError::TooShort {
            path: path.into(),
            bytes: n_bytes,
        })?;
        let (entries_at, is_intact) = check_identity(header.get(), path)?;
        log_file.set_entries_at(entries_at);
        let mut log = Self {
            path: path.into(),
            file: log_file,
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
            latest_mpi_ns: 0,
            mpi_now: None,
            damage: Vec::new(),
            mpi_totals: Vec::new(),
            unrecorded: Vec::new(),
            callers: BTreeSet::new(),
            known: None,
            is_for_sums,
            scanned_totals: None,
            methods,
            latest: (0, Vec::new()),
            totals: OnceLock::new(),
            last_end_ns: OnceLock::new(),
        };
        if let Some(known) = known {
            log.definitions = known.definitions;
            log.known = Some(known.sums);
        }
        if !is_intact {
            log.identity = LogIdentity::from_path(path).unwrap_or(log.identity);
            log.header_damage("identity");
        }
        let there = n_bytes.saturating_sub(entries_at) as usize / WORD;
        log.read_entries(&mut file, header.get(), there);
        log.read_mpi_totals(&mut file);
        if entries_at == HEADER_BYTES as u64 {
            log.read_unrecorded(&header);
        } else {
            log.unrecorded_in_definitions();
        }
        log.read_clock(header.get());
        log.read_open_calls(header.get());
        log.definitions.share_calls();
        Ok(log)
    }

    fn header_damage(&mut self, field: &'static str) {
        self.damage.push(Damage::Header {
            log: self.path.clone(),
            field,
        });
    }

    /// # Arguments
    /// * `there` - words of entries in the file
    fn read_entries(&mut self, file: &mut Source, header: &LogHeader, there: usize) {
        let committed = header.committed_bytes().unwrap_or_default();
        let claimed = committed.div_ceil(WORD as u64);
        let n_words = there.min(usize::try_from(claimed).unwrap_or(usize::MAX));
        let begin = self
            .known
            .as_ref()
            .map_or(0, |known| known.n_words.min(n_words));
        let (mut definitions, mut scanned) = match self.file.scanned(self.methods.as_ref()) {
            Some(known) => {
                self.n_words = known.1.end;
                known
            }
            None => self.scan(begin, n_words),
        };
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
        let known = self
            .known
            .as_ref()
            .map_or(0, |known| known.totals.n_records());
        self.n_records = known + scanned.n_records;
        self.add_damage(&scanned);
        self.gaps = scanned.gaps;
        self.last = scanned.last;
        self.scanned_totals = scanned.totals;
    }

    /// Reads the entries from word `begin` to word `end`; if the file was truncated meanwhile, they end there.
    fn scan(&mut self, begin: usize, end: usize) -> (Definitions, Scanned) {
        let mut definitions = match &self.known {
            Some(_) => self.definitions.clone(),
            // At most as many call paths as the file has words: ids have no gaps.
            None => Definitions::of_at_most(end),
        };
        if let Some(methods) = &self.methods {
            definitions.share(methods);
        }
        let mut window = self.file.window(begin, end);
        // A log that fits into a window is read again at little cost, while the sums of many logs take memory.
        let sums = self.is_for_sums && begin == 0 && end > WINDOW_WORDS;
        let scanned = match sums {
            true => scan_and_sum(&mut window, begin, &mut definitions),
            false => scan(&mut window, begin, &mut definitions),
        };
        self.n_words = window.end();
        (definitions, scanned)
    }

    /// Reads the sums of calls without a record, and the latest of these calls, which a killed program had not summed up yet.
    fn read_unrecorded(&mut self, header: &HeaderWords) {
        let mut words = header.totals().to_vec();
        let latest = add_calls(&mut words, header.latest_calls(), &self.definitions);
        self.dropped = self.dropped.saturating_add(latest);
        self.unrecorded = unrecorded(&words);
        self.unrecorded_in_definitions();
    }

    /// Adds calls that were lost one by one.
    fn unrecorded_in_definitions(&mut self) {
        let lost = self.definitions.unrecorded.iter();
        self.unrecorded.extend(lost.map(|lost| UnrecordedCalls {
            call_path: lost.call_path,
            failed: false,
            calls: lost.calls,
            wall_ticks: lost.wall_ticks,
            mpi_ticks: self.definitions.run.mpi.as_ref().map(|_| lost.mpi_ticks),
            means: None,
        }));
        let paths = self.unrecorded.iter();
        let callers = paths.map(|lost| self.definitions.shape(lost.call_path).parent);
        self.callers = callers.collect();
    }

    /// Where the entries end, if not at the committed count.
    ///
    /// One complete entry may follow the count, if the program was killed just before the commit. More of them mean that it is wrong,
    /// unless a running program has written them since.
    fn end_beyond(
        &mut self,
        file: &mut Source,
        committed: u64,
        there: usize,
        before: &Scanned,
    ) -> Option<usize> {
        let begin = self.n_words;
        if begin >= there || file.is_mapped_for_writing() {
            return None;
        }
        let was_cut = self.file.is_cut();
        let (_, scanned) = self.scan(begin, there);
        // A log that ends meanwhile loses the chunks that were prepared after the count: no data is missing.
        self.file.set_cut(was_cut);
        self.n_words = begin;
        let now = HeaderWords::read(file)?;
        let is_still = now.get().committed_bytes() == Some(committed);
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
        // One of the two may have been incomplete when the program was killed.
        if self.finished && loaded[1..].iter().any(Option::is_none) {
            self.header_damage("latest calibration");
        }
        self.time = self.time_base(latest);
    }

    fn time_base(&self, latest: Option<Calibration>) -> TimeBase {
        let clock = self.definitions.clock.as_ref();
        let rate = clock.map(|clock| clock.ticks_per_second);
        // Only a log without its first calibration needs another start.
        let first = self
            .start
            .map_or_else(|| self.words_start(), |start| start.ticks);
        TimeBase::new(self.start, latest, rate, first)
    }

    /// Uses `latest` as the latest calibration.
    pub(crate) fn calibrate(&mut self, latest: Calibration) {
        self.time = self.time_base(Some(latest));
    }

    /// Time of the first record, for logs that have lost their first calibration.
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
        let mut depth = match cells.depth.load(Ordering::Acquire) {
            OPEN_UNTIL_ZERO => {
                let is_none = |open: &OpenCall| open.path() == 0;
                let end = cells.open.iter().position(is_none);
                end.unwrap_or(cells.open.len())
            }
            // Below 0 if a forked child has ended calls that its parent began.
            older => (older.cast_signed().max(0) as u64).min(cells.open.len() as u64) as usize,
        };
        let mut open = Vec::new();
        for (place, call) in cells.open[..depth].iter().enumerate() {
            let (call_path, start) = (call.path(), call.start.load(Ordering::Acquire));
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
        self.latest_mpi_ns = match cells.mpi_latest.load(Ordering::Relaxed) {
            0 => 0,
            ticks => self.time.since_start_ns(ticks),
        };
        let function = usize::try_from(cells.mpi_function.load(Ordering::Acquire)).unwrap_or(0);
        let started = self
            .time
            .since_start_ns(cells.mpi_start.load(Ordering::Acquire));
        self.mpi_now = function.checked_sub(1).map(|place| (place, started));
        if lost {
            self.header_damage("stack of open calls");
        }
    }

    /// Path of the log file as it was opened; of a packed log, the path before packing.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rank, and number of the log within the rank.
    pub fn identity(&self) -> LogIdentity {
        self.identity
    }

    /// Whether the program finished the log; otherwise it still runs or was killed.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Number of calls that the log counted without writing a record.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Known sums of the calls without a record, by call path and class of size.
    pub fn unrecorded(&self) -> &[UnrecordedCalls] {
        &self.unrecorded
    }

    /// Why the log stopped taking records, if it did.
    pub fn stop_reason(&self) -> Option<String> {
        let stop = self.definitions.stop.as_ref();
        let stop = stop.filter(|_| self.dropped > 0);
        stop.map(|stop| stop.reason.clone())
    }

    /// The reasons why calls have no record, as far as the log defines them; none if all calls have one.
    pub fn loss_reasons(&self) -> impl Iterator<Item = String> {
        let losses = self.definitions.losses.iter();
        let losses = losses.filter(|_| self.dropped > 0);
        self.stop_reason()
            .into_iter()
            .chain(losses.map(|loss| loss.reason.clone()))
    }

    /// Whether calls made from this one may lack a record, so that its exclusive time is not known.
    pub fn lacks_calls_of(&self, record: &Record<'_>) -> bool {
        if self.unrecorded.is_empty() {
            return false;
        }
        let stop = self.definitions.stop.as_ref();
        let stop_ns = stop.map_or(0, |stop| self.time.since_start_ns(stop.ticks));
        record.start_ns + record.wall_ns >= stop_ns && self.callers.contains(&record.call_path)
    }

    /// Times of all calls by path, including calls without a record; see [`PathTimes`].
    ///
    /// # Arguments
    /// * `timers_are_callers` - whether a timer's time counts to the component that started it
    pub fn path_times(&self, timers_are_callers: bool) -> Vec<PathTimes> {
        self.times_of(self.path_totals(), timers_are_callers)
    }

    /// As [`Log::path_times`], from given sums.
    pub(crate) fn times_of(&self, totals: &PathTotals, timers_are_callers: bool) -> Vec<PathTimes> {
        let mut times = totals.times(&self.definitions, &self.time, timers_are_callers);
        if !self.open.is_empty() && self.unrecorded.is_empty() {
            // A call that has not ended has no record itself, but the calls made from it have.
            let own = own_times(self, timers_are_callers);
            for path in &mut times {
                path.own = own
                    .get(path.call_path as usize)
                    .copied()
                    .unwrap_or_default();
            }
        }
        times
    }

    /// Sums over all calls by path, including calls without a record; clock ticks.
    pub(crate) fn path_totals(&self) -> &PathTotals {
        self.totals.get_or_init(|| self.sum_up())
    }

    /// As [`Log::path_totals`], caching only the sums of a long log: for callers that need those of many logs once.
    pub(crate) fn path_totals_once(&self) -> Cow<'_, PathTotals> {
        match self.totals.get() {
            None if self.n_words <= WINDOW_WORDS => Cow::Owned(self.sum_up()),
            _ => Cow::Borrowed(self.path_totals()),
        }
    }

    fn sum_up(&self) -> PathTotals {
        let mut totals = match &self.scanned_totals {
            Some(totals) => totals.clone(),
            None => self.sum_of_records(),
        };
        for calls in &self.unrecorded {
            totals.add_unrecorded(calls, &self.definitions);
        }
        totals
    }

    fn sum_of_records(&self) -> PathTotals {
        let packed = self.undamaged();
        let packed = packed.and_then(|log| self.file.packed_sums(log.n_words, &self.definitions));
        if let Some(totals) = packed {
            return totals;
        }
        let known = self.known.as_ref();
        let mut totals = known.map_or_else(PathTotals::default, |known| known.totals.clone());
        let mut records = self.raw_records();
        while let Some(series) = records.next_series() {
            totals.add(series, &self.definitions);
        }
        totals
    }

    /// Bytes of the entries.
    pub(crate) fn n_bytes(&self) -> u64 {
        (self.n_words * WORD) as u64
    }

    /// Number of records that can be read; those in damaged parts do not count.
    pub fn n_records(&self) -> u64 {
        self.n_records
    }

    /// The definitions of all readable parts of the log.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Step of the clock, nanoseconds; `None` if it is not known.
    pub fn clock_step_ns(&self) -> Option<f64> {
        self.definitions.clock.as_ref()?.step_ns()
    }

    /// The conversion of the log's clock ticks to nanoseconds since the start of the run.
    pub fn time(&self) -> &TimeBase {
        &self.time
    }

    /// Calls that have begun and not ended, outermost first; at most 64.
    pub fn open_calls(&self) -> &[OpenCallInfo] {
        &self.open
    }

    /// The MPI function that the thread was in when the log was opened, with its start, nanoseconds since the start of the run; `None` for a
    /// finished log.
    pub fn mpi_call_now(&self) -> Option<(&str, u64)> {
        if self.finished {
            return None;
        }
        let of_path = |open: &OpenCallInfo| {
            let method = self.definitions.method_of(open.call_path)?;
            method.is_mpi().then_some((&*method.method, open.start_ns))
        };
        let open = self.open.last().and_then(of_path);
        open.or_else(|| {
            let (place, start_ns) = self.mpi_now?;
            let functions = &self.definitions.mpi_totals.as_ref()?.functions;
            Some((&**functions.get(place)?, start_ns))
        })
    }

    /// The damaged parts that were skipped, in order; empty for an intact log.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Whether a part cannot be read, so that an unknown number of calls is missing.
    pub fn lacks_a_part(&self) -> bool {
        self.damage.iter().any(Damage::may_hide_calls)
    }

    /// Whether the file was shorter at a later reading than when it was opened; later readings are then incomplete.
    pub fn was_cut(&self) -> bool {
        self.file.is_cut()
    }

    /// Totals of the MPI functions that this log's thread called, as of when the log was opened. Empty if the rank's totals are defined.
    pub(crate) fn mpi_totals(&self) -> &[MpiRoutineDefinition] {
        &self.mpi_totals
    }

    /// Whether the thread has called MPI.
    pub(crate) fn has_called_mpi(&self) -> bool {
        !self.kept_mpi_totals().is_empty()
    }

    /// Reads the thread's totals of MPI functions.
    ///
    /// A definition of the rank's totals takes precedence, since the totals in the log also count later calls, which gather the sums of all
    /// ranks. To be sure that the totals read are from before such a definition, this searches for it once more afterwards.
    fn read_mpi_totals(&mut self, file: &mut Source) {
        if self.definitions.mpi_routines.is_some() {
            return;
        }
        let kept = self.kept_mpi_totals();
        if kept.is_empty() {
            return;
        }
        let committed = HeaderWords::read(file).and_then(|header| header.get().committed_bytes());
        let end = usize::try_from(committed.unwrap_or_default() / WORD as u64);
        let mut later = Definitions::of_at_most(self.n_words);
        let mut window = self.file.window(self.n_words, end.unwrap_or_default());
        scan(&mut window, self.n_words, &mut later);
        match later.mpi_routines {
            Some(defined) => self.definitions.mpi_routines = Some(defined),
            None => self.mpi_totals = kept,
        }
    }

    fn kept_mpi_totals(&self) -> Vec<MpiRoutineDefinition> {
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
        let failed = kept.failed.map_or_else(Vec::new, |place| {
            let first = usize::try_from(place).unwrap_or(usize::MAX);
            let n_words = self.n_words.saturating_sub(first);
            let n_words = n_words.min(kept.functions.len());
            let mut window = self.file.window(first, first.saturating_add(n_words));
            window.from(first, n_words).to_vec()
        });
        let mut window = self.file.window(first, first + n_words);
        let pairs = window.from(first, n_words).chunks_exact(2);
        let pairs = pairs.zip(&kept.functions).enumerate();
        pairs
            .filter(|(_, (pair, _))| pair[0] > 0)
            .map(|(place, (pair, name))| MpiRoutineDefinition {
                name: name.clone(),
                calls: pair[0],
                ticks: pair[1],
                failed: failed.get(place).copied().unwrap_or(0),
            })
            .collect()
    }

    /// When the last of the recorded calls ended, nanoseconds since the start of the run; 0 without records.
    pub(crate) fn last_end_ns(&self) -> u64 {
        *self.last_end_ns.get_or_init(|| {
            let mut last_ns = 0;
            let mut records = self.records();
            while let Some(series) = records.next_series() {
                let ends = series
                    .spans_ns()
                    .map(|(start_ns, wall_ns)| start_ns.saturating_add(wall_ns));
                last_ns = ends.fold(last_ns, u64::max);
            }
            last_ns
        })
    }

    /// When the thread's latest MPI call ended, nanoseconds since the start of the run; 0 if it is not known.
    pub fn latest_mpi_ns(&self) -> u64 {
        self.latest_mpi_ns
    }

    /// The records, in the order in which the calls ended.
    pub fn records(&self) -> Records<'_> {
        self.records_from(0)
    }

    /// The records, with sequence numbers from `first_seq` on.
    pub fn records_from(&self, first_seq: u64) -> Records<'_> {
        Records::new(self, first_seq)
    }

    /// The records from a position that [`Records::place`] returned.
    pub fn records_behind(&self, place: &RecordsPlace) -> Records<'_> {
        Records::resume(self, place)
    }

    /// Maximum number of sequence numbers that the records can take. Calls that never ended also take one (at most one
    /// call per call path is open at a time), and so do calls whose record is lost.
    pub(crate) fn most_seqs(&self) -> u64 {
        let most_records = if self.damage.is_empty() {
            self.n_records + self.dropped
        } else {
            self.n_words as u64 + self.dropped
        };
        most_records + self.definitions.call_paths().count() as u64
    }

    /// Call path of the last record, and the start of that call, nanoseconds since the start of the run.
    pub(crate) fn last_started(&self) -> Option<(u32, u64)> {
        let (call_path, start_ticks) = self.last?;
        Some((call_path, self.time.since_start_ns(start_ticks)))
    }

    pub(crate) fn raw_records(&self) -> RawRecords<'_> {
        let begin = self.known.as_ref().map_or(0, |known| known.n_words);
        self.raw_records_from(begin.min(self.n_words))
    }

    pub(crate) fn raw_records_from(&self, word: usize) -> RawRecords<'_> {
        let mut window = self.file.window(word, self.n_words);
        let (begin, words) = &self.latest;
        if *begin == word && begin + words.len() == self.n_words {
            window = window.with_words(words);
        }
        RawRecords::new(window, word, &self.gaps)
    }

    /// Keeps the file open, for callers that read it repeatedly.
    pub(crate) fn keep_open(&mut self) {
        self.file.keep_open();
    }

    /// Adds the parts that a scan could not read to the damage.
    fn add_damage(&mut self, scanned: &Scanned) {
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
    }
}

/// How a log is opened.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// For a log of this process that is opened for sums only: known parts, which are not read.
    pub(crate) known: Option<RunningSums>,
    /// Definitions that the logs of the run share.
    pub(crate) methods: Option<Arc<CommonDefinitions>>,
    /// Whether its sums will be requested, so that one reading computes them and checks the log.
    pub(crate) is_for_sums: bool,
}

/// State of a log that this process writes: the sums over its first words, and the definitions at that time.
#[derive(Debug)]
pub struct RunningSums {
    pub(crate) sums: RetiredSums,
    pub(crate) definitions: Definitions,
}

/// Whether a program still writes a log; false if there is no log, or if the file system does not support locks.
pub fn is_being_written(log: &Path) -> bool {
    File::open(log).is_ok_and(|file| is_mapped_for_writing(&file))
}

impl Source {
    /// Whether a program has mapped the log to write to it.
    fn is_mapped_for_writing(&self) -> bool {
        matches!(self, Self::File(file) if is_mapped_for_writing(file))
    }
}

/// Whether a program has mapped the log to write to it.
fn is_mapped_for_writing(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let writer = flock(file, FlockOperation::NonBlockingLockShared);
    let is_locked = writer == Err(rustix::io::Errno::WOULDBLOCK);
    if writer.is_ok() {
        // Closing the file would unlock it as well, a little later.
        let _ = flock(file, FlockOperation::NonBlockingUnlock);
    }
    is_locked
}

mod following;
mod header;
mod packed;
#[cfg(test)]
mod tests;

use header::{HeaderWords, check_identity};
pub(crate) use packed::Undamaged;
