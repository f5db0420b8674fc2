//! Writes one log.
//!
//! A [`LogWriter`] serves one thread at a time. Records are appended in line, through the [`RecordingContext`] that it
//! fills in, so that its methods run only where something is rare: a chunk is full ([`LogWriter::make_room`]), a
//! definition comes ([`LogWriter::define`]), the log ends ([`LogWriter::finish`]). A thread of the recorder makes the
//! chunks ahead and puts the full ones away (`preparer`). An entry is complete before the committed count covers it, so a
//! killed program leaves a readable log. Where no chunk can be had, since the limit is reached, the disk is full or the
//! chunk is late, `counting` sums up the calls to come.
//!
//! ```text
//! header | 64 KiB | 64 KiB | 128 KiB | 256 KiB | ... | 8 MiB | 8 MiB ...   chunks by default, one thread recording
//!
//! chunk    records, definitions            cursor ──► end | 16 KiB reserve
//!          at the end, the next one ready                 used up, then padding, and on in the next
//!          at the end, none to be had                     definitions and the outermost calls; the others are summed up
//! ```

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cca_abi::recording::RecordingContext;
use cca_abi::recording::word::{self, EntryKind};
use memmap2::{MmapMut, MmapOptions};
use rustix::mm::Advice;

use crate::chunk::{Chunk, GRAIN_BYTES, Medium, check_file_size};
use crate::counting::Counting;
use crate::definition::{Definition, definition_entry};
use crate::error::RecordsError;
use crate::layout::{Calibration, HEADER_BYTES, LogHeader, LogIdentity};
use crate::log::RunningSums;
use crate::path_totals::PathTotals;
use crate::preparer::{ChunkPreparer, Slot, lock};

/// Sizes of the chunks of a log: the first, and the largest; those between are as large as all before them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// Bytes of the first chunk.
    pub first_bytes: u64,
    /// Bytes of the largest chunk.
    pub largest_bytes: u64,
}

impl Default for ChunkSizes {
    /// Of calls of 250 ns with two parameters, 64 KiB holds 0.4 ms: most programs of MPI make fewer calls. 8 MiB holds 50 ms, and four of them are kept ahead: on a machine whose cores are all busy the thread has to
    /// wait for one, and where the disk is behind the system lets it wait (30 to 60 ms a chunk were seen).
    fn default() -> Self {
        Self {
            first_bytes: 64 << 10,
            largest_bytes: 8 << 20,
        }
    }
}

/// Largest chunks that are prepared ahead, one of them in the writer's hands, where few threads record.
const N_AHEAD: usize = 4;
/// Smaller chunks, or those of one thread of many, that are prepared ahead.
const N_SMALL_AHEAD: usize = 2;
/// Logs that count as many.
const MANY_LOGS: usize = 4;
/// Largest chunk of a log in memory, bytes: a full btrfs takes seconds for each MiB, even of blocks that it has allocated before
/// (seen with Linux 6.18).
const LARGEST_IN_MEMORY_BYTES: u64 = 1 << 20;
/// Bytes at the end of a chunk that are used only when the next one is there, or when there will be none: for definitions
/// and for the outermost calls, which end last.
const RESERVE_BYTES: usize = 16 << 10;
/// How often a late chunk is waited for, 200 ms each time, before the log takes no more records.
const N_WAITS: u32 = 25;

/// One record, for [`LogWriter::append`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordWords<'a> {
    /// Call path.
    pub path: u32,
    /// Start, clock ticks.
    pub start: u64,
    /// Wall time, clock ticks.
    pub wall: u64,
    /// MPI time, clock ticks; `None` if it is not measured.
    pub mpi: Option<u64>,
    /// Whether the call failed.
    pub failed: bool,
    /// Parameters and counters.
    pub values: &'a [u64],
}

/// What a finished log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTotals {
    /// Calls recorded.
    pub records: u64,
    /// Calls without a record.
    pub dropped: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Number of times that a call waited for a chunk.
    pub late_chunks: u64,
    /// Why the log took no more records, if it did not.
    pub refusal: Option<String>,
}

/// Why a log takes no more records.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// That of the user is reached.
    Limit,
    /// The next chunk does not come.
    Late,
    /// The system refused.
    System(io::Error),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit => f.write_str("the limit of the records is reached"),
            Self::Late => write!(f, "the disk did not take any for {} s", N_WAITS / 5),
            Self::System(error) => error.fmt(f),
        }
    }
}

/// The writer of one log, for one thread at a time.
///
/// Records go in through the [`RecordingContext`], in line, or through [`LogWriter::append`]. The file is open only while
/// something is done to it.
#[derive(Debug)]
pub struct LogWriter {
    pub(crate) path: PathBuf,
    pub(crate) header: MmapMut,
    /// One [`RecordingContext`] in anonymous memory that a forked child finds cleared.
    /// A page that is given back by [`LogWriter::finish`] alone.
    pub(crate) context: ManuallyDrop<MmapMut>,
    pub(crate) keeps_context: bool,
    pub(crate) chunk: Option<Chunk>,
    /// The chunk after it.
    following: Option<Chunk>,
    pub(crate) slot: Arc<Slot>,
    preparer: Arc<ChunkPreparer>,
    sizes: ChunkSizes,
    /// Where the chunk after those in preparation begins, bytes of the entry stream.
    next_offset: u64,
    next_bytes: u64,
    /// Chunks that were asked for; none if the limit is reached.
    n_requested: usize,
    /// Whether chunks are asked for ahead: not before half of the first one is used.
    asks_ahead: bool,
    pub(crate) refusal: Option<Refusal>,
    /// Ticks of the latest calibration.
    pub(crate) latest_ticks: std::cell::Cell<u64>,
    /// Number of times that a chunk was not ready when it was needed.
    late_chunks: u64,
    /// Mappings of what was kept free.
    kept: Vec<MmapMut>,
    /// Once the log takes no more records: what it counts instead.
    pub(crate) counting: Option<Box<Counting>>,
}

/// Words of the entry stream that stay mapped as long as the log is written.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Place of the first, words from the beginning of the entries.
    pub word: u64,
    /// The first; zeros at first.
    pub start: *mut u64,
}

// SAFETY: the context's pointers lead into the writer's own mappings; whoever else writes through them promised
// (`Recorder::new`) to do so only in the thread that has the lease.
unsafe impl Send for LogWriter {}

impl LogWriter {
    /// Creates a log with its first chunk.
    ///
    /// # Errors
    /// [`RecordsError::Exists`]; [`RecordsError::Io`] if the file cannot be created, allocated or mapped.
    pub fn create(
        directory: &Path,
        identity: LogIdentity,
        start: Calibration,
        sizes: ChunkSizes,
        preparer: &Arc<ChunkPreparer>,
    ) -> Result<Self, RecordsError> {
        Self::create_in(&mut None, directory, identity, start, sizes, preparer)
    }

    /// As [`LogWriter::create`], appended through a context that [`LogWriter::take_context`] gave, if there is one; it is
    /// taken once the file is there.
    ///
    /// # Errors
    /// Those of [`LogWriter::create`].
    pub fn create_in(
        context: &mut Option<MmapMut>,
        directory: &Path,
        identity: LogIdentity,
        start: Calibration,
        sizes: ChunkSizes,
        preparer: &Arc<ChunkPreparer>,
    ) -> Result<Self, RecordsError> {
        let path = identity.path(directory);
        let slot = Slot::new(&path);
        let (of_thread, medium_of) = (Arc::clone(&slot), preparer.medium_of());
        let header = preparer.run(move || {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&of_thread.path)?;
            lock(&file);
            Self::begin_file(&of_thread, file, medium_of, identity, start).inspect_err(|_| {
                // A file without a header is no log.
                let _ = std::fs::remove_file(&of_thread.path);
            })
        });
        let header = header.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordsError::Exists { path: path.clone() },
            _ => RecordsError::io("create record log", &path)(source),
        })?;
        if slot.medium() == Medium::Memory {
            preparer.keep_writing(&slot);
        }
        let context = context.take().map_or_else(Self::new_context, Ok);
        let mut context = context.map_err(RecordsError::io("map record log", &path))?;
        let first: *mut RecordingContext = context.as_mut_ptr().cast();
        // SAFETY: as in `map_header`; zeros are a valid context.
        unsafe {
            *first = std::mem::zeroed();
            (*first).open_in(&raw const (*header.as_ptr().cast::<LogHeader>()).cells);
        }
        preparer.count_logs(true);
        let first_bytes = sizes
            .first_bytes
            .min(preparer.largest_bytes(N_SMALL_AHEAD + 1));
        let mut writer = Self {
            slot,
            path,
            header,
            context: ManuallyDrop::new(context),
            keeps_context: false,
            chunk: None,
            following: None,
            preparer: Arc::clone(preparer),
            sizes,
            next_offset: 0,
            next_bytes: (first_bytes / GRAIN_BYTES).max(1) * GRAIN_BYTES,
            n_requested: 0,
            asks_ahead: false,
            refusal: None,
            latest_ticks: std::cell::Cell::new(start.ticks),
            late_chunks: 0,
            kept: Vec::new(),
            counting: None,
        };
        writer.request_chunk(0);
        writer.make_room(1);
        // Nobody waited for the first.
        writer.late_chunks = 0;
        Ok(writer)
    }

    fn begin_file(
        slot: &Slot,
        file: File,
        medium_of: impl FnOnce(&File) -> Medium,
        identity: LogIdentity,
        start: Calibration,
    ) -> io::Result<MmapMut> {
        let medium = medium_of(&file);
        slot.know_file(&file, medium)?;
        check_file_size(HEADER_BYTES as u64)?;
        file.write_all_at(&[0; HEADER_BYTES], 0)?;
        let mut header = match medium {
            // SAFETY: the file was just created by us; nobody else maps it for writing.
            Medium::Mapped => unsafe { MmapOptions::new().len(HEADER_BYTES).map_mut(&file)? },
            Medium::Memory => MmapMut::map_anon(HEADER_BYTES)?,
        };
        let start_of_header = header.as_mut_ptr().cast::<LogHeader>();
        // SAFETY: mappings are page-aligned, the page is larger than the header, and zeros are a valid one.
        unsafe { &mut *start_of_header }.initialise(identity, start);
        // SAFETY: the writer has it mapped until it ends the writing.
        unsafe { slot.begin_writing(file, start_of_header) };
        slot.write_out()?;
        Ok(header)
    }

    fn new_context() -> io::Result<MmapMut> {
        let page = MmapMut::map_anon(size_of::<RecordingContext>())?;
        // Without it (Linux before 4.14) a forked child must not record.
        // SAFETY: the advice changes nothing for this process, and what a child finds is a valid context.
        let _ = unsafe {
            rustix::mm::madvise(
                page.as_ptr().cast_mut().cast(),
                page.len(),
                Advice::LinuxWipeOnFork,
            )
        };
        Ok(page)
    }

    /// Takes the context out of a log that a forked child must leave to its parent, for a log of its own. This writer is
    /// then to be forgotten, not dropped: the thread that prepares its chunks is the parent's.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if no page can be mapped.
    pub fn take_context(&mut self) -> Result<MmapMut, RecordsError> {
        let page = MmapMut::map_anon(size_of::<RecordingContext>());
        let page = page.map_err(RecordsError::io("map record log", &self.path))?;
        let context = std::mem::replace(&mut self.context, ManuallyDrop::new(page));
        Ok(ManuallyDrop::into_inner(context))
    }

    /// The context is not unmapped when the log is finished: others than its thread may still look at it.
    pub fn keep_context(&mut self) {
        self.keeps_context = true;
    }

    /// The context to append through.
    ///
    /// Whoever writes through it does so in one thread, and not while a method of the writer runs.
    pub fn context(&self) -> *mut RecordingContext {
        self.context.as_ptr().cast_mut().cast()
    }

    /// File of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the full chunks of the log come to, for [`crate::Run::open_own`]; may be asked while its thread records.
    pub fn running_sums(&self) -> RunningSums {
        let sums = self.slot.retired();
        RunningSums {
            sums,
            // After the sums: it has all that they are of.
            definitions: self.slot.definitions().as_ref().clone(),
        }
    }

    /// Whether the log takes no more records: its limit is reached, or the disk is full.
    pub fn is_closed(&self) -> bool {
        self.refusal.is_some()
    }

    pub(crate) fn context_mut(&mut self) -> &mut RecordingContext {
        // SAFETY: the page is mapped, aligned and holds a context; others use it only between calls of the writer.
        unsafe { &mut *self.context.as_mut_ptr().cast() }
    }

    pub(crate) fn header(&self) -> &LogHeader {
        // SAFETY: as in `map_header`; the fields that change are atomic.
        unsafe { &*self.header.as_ptr().cast() }
    }

    /// Bytes of the entry stream that are complete.
    pub fn committed_bytes(&self) -> u64 {
        self.header().committed_bytes().unwrap_or_default()
    }

    /// The count of calls that have no record; mapped as long as the log is not finished.
    pub fn lost(&self) -> &AtomicU64 {
        &self.header().cells.dropped
    }

    /// Counts calls that have no record.
    pub fn count_dropped(&self, calls: u64) {
        // A signal handler may come in between that counts one too.
        self.lost().fetch_add(calls, Ordering::Relaxed);
    }

    /// Takes a call back that was counted as one without a record.
    pub fn uncount_dropped(&self) {
        self.header().cells.dropped.fetch_sub(1, Ordering::Relaxed);
    }

    /// Keeps a calibration as the latest.
    pub fn calibrate(&self, calibration: Calibration) {
        self.latest_ticks.set(calibration.ticks);
        self.header().store_latest(calibration);
    }

    /// Makes room for `words` more words at the context's cursor: in the log, or, once it takes no more records
    /// ([`LogWriter::is_closed`]), among the calls that are only summed up.
    ///
    /// # Returns
    /// Whether there is room now.
    pub fn make_room(&mut self, words: usize) -> bool {
        if self.counting.is_some() {
            self.count_calls();
        } else if let Err(refusal) = self.next_room(words) {
            self.stop(refusal);
        }
        self.context_mut().room() >= words
    }

    /// Moves on in the log until there is room for `words`: to the end of the chunk as soon as the next one is there, then
    /// to that one.
    fn next_room(&mut self, words: usize) -> Result<(), Refusal> {
        let needed = (words * size_of::<u64>()) as u64;
        while self.context_mut().room() < words {
            if let Some(next) = self.following.take() {
                self.install(next)?;
                self.request_chunks(needed);
                continue;
            }
            if self.chunk.is_some() && !self.asks_ahead {
                self.asks_ahead = true;
                self.open_up_to_reserve();
                self.request_chunks(needed);
                continue;
            }
            if self.n_requested == 0 {
                return Err(Refusal::Limit);
            }
            let next = self.wait_for_chunk()?;
            self.n_requested -= 1;
            if self.chunk.is_some() {
                self.following = Some(next);
                self.open_reserve();
            } else {
                self.install(next)?;
            }
        }
        Ok(())
    }

    fn wait_for_chunk(&mut self) -> Result<Chunk, Refusal> {
        let is_late = !self.slot.is_ready();
        self.late_chunks += u64::from(is_late);
        let waits = || self.slot.take();
        let next = std::iter::repeat_with(waits).take(N_WAITS as usize);
        let next = next.flatten().next();
        next.ok_or(Refusal::Late)?.map_err(Refusal::System)
    }

    /// Lets what is appended go on to the end of the chunk.
    pub(crate) fn open_reserve(&mut self) {
        let end = self.chunk.as_mut();
        let end = end.map(|chunk| chunk.start().wrapping_add(chunk.n_words()));
        if let Some(end) = end {
            self.context_mut().end = end;
        }
    }

    /// Asks for chunks until enough are on their way.
    fn request_chunks(&mut self, needed: u64) {
        while self.request_chunk(needed) {}
    }

    /// Asks for one more chunk, unless enough are on their way, or the limit is reached.
    fn request_chunk(&mut self, needed: u64) -> bool {
        let is_one_of_many = self.preparer.n_logs() > MANY_LOGS;
        let n_most = if is_one_of_many {
            N_SMALL_AHEAD
        } else {
            N_AHEAD
        };
        let fair_bytes = self.preparer.largest_bytes(n_most + 1);
        let mut largest_bytes = self.sizes.largest_bytes.min(fair_bytes);
        if self.slot.medium() == Medium::Memory {
            largest_bytes = largest_bytes.min(LARGEST_IN_MEMORY_BYTES);
        }
        let largest_bytes = largest_bytes.max(GRAIN_BYTES);
        let is_largest = self.next_bytes >= largest_bytes;
        let n_ahead = if is_largest { n_most } else { N_SMALL_AHEAD };
        let n_in_hand = usize::from(self.following.is_some());
        if self.n_requested + n_in_hand >= n_ahead {
            return false;
        }
        self.next_bytes = self.next_bytes.min(largest_bytes);
        let wanted = self.next_bytes.max(needed.next_multiple_of(GRAIN_BYTES));
        let bytes = self.preparer.reserve(wanted);
        if bytes == 0 {
            return false;
        }
        self.preparer.request(&self.slot, self.next_offset, bytes);
        self.n_requested += 1;
        self.next_offset += bytes;
        let before = self.next_offset / GRAIN_BYTES * GRAIN_BYTES;
        self.next_bytes = before.max(self.next_bytes).min(largest_bytes);
        true
    }

    /// Fills up the chunk at hand with padding and goes on in the next, up to its reserve, or to half of the first.
    ///
    /// # Errors
    /// The log has ended, though its thread is here.
    pub(crate) fn install(&mut self, mut next: Chunk) -> Result<(), Refusal> {
        if !self.slot.add_chunk(&mut next) {
            return Err(Refusal::System(io::ErrorKind::BrokenPipe.into()));
        }
        let (start, n_words, offset) = (next.start(), next.n_words(), next.offset());
        let full = self.chunk.replace(next);
        let context = self.context_mut();
        let room = context.room();
        if full.is_some() && room > 0 {
            // SAFETY: the words up to the end are mapped and unused.
            unsafe {
                *context.cursor = word::other(EntryKind::Padding, room as u32);
                context.commit(context.end);
            }
        }
        context.cursor = start;
        context.end = start.wrapping_add(n_words / 2);
        context.origin = (start as usize).wrapping_sub(offset as usize);
        if self.asks_ahead {
            self.open_up_to_reserve();
        }
        if let Some(full) = full {
            self.preparer.retire(&self.slot, full);
        }
        Ok(())
    }

    /// Lets what is appended go on to the reserve of the chunk.
    fn open_up_to_reserve(&mut self) {
        if let Some(chunk) = &mut self.chunk {
            let n_words = chunk.n_words();
            let n_reserve = (RESERVE_BYTES / size_of::<u64>()).min(n_words / 4);
            let end = chunk.start().wrapping_add(n_words - n_reserve);
            self.context_mut().end = end;
        }
    }

    /// Whether the log's pieces are memory of the process, which are written to the file from time to time.
    pub fn is_in_memory(&self) -> bool {
        self.slot.medium() == Medium::Memory
    }

    /// Appends a definition. It may go beyond the limit of the records.
    ///
    /// # Errors
    /// [`RecordsError::NoRoom`] if the disk is full; [`RecordsError::Encode`].
    pub fn define(&mut self, definition: &Definition) -> Result<(), RecordsError> {
        let entry = self.entry_of(definition)?;
        self.make_room_for_definition(entry.len())?;
        self.append_to_log(&entry);
        // Before a record that needs it: the chunk that holds that may be put away at once.
        self.slot.define(definition.clone());
        Ok(())
    }

    /// The words of a definition.
    fn entry_of(&self, definition: &Definition) -> Result<Vec<u64>, RecordsError> {
        definition_entry(definition).map_err(|source| RecordsError::Encode {
            path: self.path.clone(),
            source,
        })
    }

    /// Appends an entry where there is room for it.
    pub(crate) fn append_to_log(&mut self, entry: &[u64]) {
        self.in_log(|context| {
            // SAFETY: the caller made the room; the words of it are mapped and unused.
            unsafe {
                std::ptr::copy_nonoverlapping(entry.as_ptr(), context.cursor, entry.len());
                context.commit(context.cursor.add(entry.len()));
            }
        });
    }

    /// Keeps words free, as padding, for what changes in place. It may go beyond the limit of the records.
    ///
    /// # Errors
    /// [`RecordsError::NoRoom`] if the disk is full; [`RecordsError::Io`] if they cannot be mapped.
    pub fn keep(&mut self, n_words: usize) -> Result<Kept, RecordsError> {
        self.make_room_for_definition(1 + n_words)?;
        let place = self.in_log(|context| {
            (context.cursor as usize).wrapping_sub(context.origin) + size_of::<u64>()
        });
        let bytes = n_words * size_of::<u64>();
        let at = HEADER_BYTES + place;
        let page = at - at % GRAIN_BYTES as usize;
        let slot = Arc::clone(&self.slot);
        // Of its own, since a chunk is unmapped when it is full.
        let map = self.preparer.run(move || {
            if slot.medium() == Medium::Memory {
                return MmapMut::map_anon(at - page + bytes);
            }
            let file = slot.open()?;
            let mut options = MmapOptions::new();
            options.offset(page as u64).len(at - page + bytes);
            // SAFETY: the file is the log's own; only its recording thread writes to these words.
            unsafe { options.map_mut(&file) }
        });
        let map = map.map_err(RecordsError::io("map record log", &self.path))?;
        let start = map.as_ptr().wrapping_add(at - page).cast_mut().cast();
        if self.slot.medium() == Medium::Memory {
            self.slot.add_kept(start, n_words, place as u64);
        }
        self.kept.push(map);
        self.in_log(|context| {
            // SAFETY: there is room for these words and the one before them.
            unsafe {
                *context.cursor = word::other(EntryKind::Padding, 1 + n_words as u32);
                context.commit(context.cursor.add(1 + n_words));
            }
        });
        Ok(Kept {
            word: (place / size_of::<u64>()) as u64,
            start,
        })
    }

    fn make_room_for_definition(&mut self, words: usize) -> Result<(), RecordsError> {
        let has_room = |writer: &mut Self| writer.in_log(|context| context.room()) >= words;
        if has_room(self) {
            return Ok(());
        }
        if self.counting.is_none() && self.make_room(words) && has_room(self) {
            return Ok(());
        }
        if has_room(self) {
            return Ok(());
        }
        self.make_room_beyond(words)
            .map_err(|source| RecordsError::NoRoom {
                path: self.path.clone(),
                words,
                source: Some(source),
            })
    }

    /// Room for definitions after the last record, past the limit.
    pub(crate) fn make_room_beyond(&mut self, words: usize) -> io::Result<()> {
        match &self.refusal {
            Some(Refusal::Limit) => {}
            Some(Refusal::System(error)) => {
                return Err(error
                    .raw_os_error()
                    .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error));
            }
            Some(Refusal::Late) | None => return Err(io::ErrorKind::TimedOut.into()),
        }
        let bytes = ((words * size_of::<u64>()) as u64).next_multiple_of(GRAIN_BYTES);
        let (slot, offset) = (Arc::clone(&self.slot), self.next_offset);
        let chunk = self.preparer.run(move || {
            if slot.has_ended() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let zeros = vec![0; bytes as usize];
            Chunk::prepare(&slot.open()?, slot.medium(), offset, bytes, &zeros)
        })?;
        self.next_offset += bytes;
        self.enter_log();
        let installed = self.install(chunk);
        self.open_reserve();
        self.leave_log();
        installed.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Appends a record, for one who does not record in line.
    ///
    /// # Returns
    /// Whether it is in the log; else it is counted.
    pub fn append(&mut self, record: RecordWords<'_>) -> bool {
        let n_words = word::HEAD_WORDS + record.values.len();
        let fits = n_words <= word::MAX_RECORD_WORDS;
        if !fits || (self.context_mut().room() < n_words && !self.make_room(n_words)) {
            self.count_dropped(1);
            return false;
        }
        let flags = u64::from(record.failed) * word::FAILED
            + u64::from(record.mpi.is_some()) * word::MPI_MEASURED;
        let head = word::record(record.path, n_words, flags);
        let times = [record.start, record.wall, record.mpi.unwrap_or(0)];
        let check = times
            .iter()
            .chain(record.values)
            .fold(head, |check, word| check ^ word);
        let context = self.context_mut();
        // SAFETY: there is room for `n_words` words.
        unsafe {
            *context.cursor = head | word::folded(check);
            for (place, value) in times.iter().chain(record.values).enumerate() {
                *context.cursor.add(1 + place) = *value;
            }
            context.commit(context.cursor.add(n_words));
        }
        self.counting.is_none()
    }

    /// Ends the log while another thread still has it, which may go on to append: nothing of that is in the file.
    ///
    /// # Arguments
    /// * `definitions` - what the log still lacks
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the file cannot be cut; it can be read all the same.
    pub fn finish_in_use(
        &self,
        end: Calibration,
        definitions: &[Definition],
    ) -> Result<LogTotals, RecordsError> {
        let slot = Arc::clone(&self.slot);
        let entries = definitions.iter().map(|it| self.entry_of(it));
        let entries = entries.collect::<Result<Vec<_>, _>>()?.concat();
        let log = self.preparer.run(move || Ok(slot.cut(end, &entries)));
        let log = log.map_err(RecordsError::io("cut record log", &self.path));
        let log = log.flatten().inspect_err(|_| {
            self.calibrate(end);
            self.header().finished.store(1, Ordering::Release);
        })?;
        Ok(LogTotals {
            records: log.n_records(),
            dropped: log.dropped(),
            bytes: HEADER_BYTES as u64 + log.n_bytes(),
            ..LogTotals::default()
        })
    }

    /// Ends the log: cuts the unused rest off and marks it as finished.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the file cannot be cut; it can be read all the same.
    pub fn finish(mut self, end: Calibration) -> Result<LogTotals, RecordsError> {
        if self.context_mut().cells.is_null() {
            // The cleared context of a forked child: the log is the parent's.
            std::mem::forget(self);
            return Ok(LogTotals::default());
        }
        self.calibrate(end);
        self.count_calls();
        self.define_overflow();
        let (retired, idle) = self.preparer.settle(&self.slot);
        let committed = self.committed_bytes();
        let last = self.chunk.take();
        let n_words = last.as_ref().map_or(0, |chunk| {
            (committed - chunk.offset()) as usize / size_of::<u64>()
        });
        let mut totals = PathTotals::default();
        if let Some(chunk) = &last {
            totals.add_entries(&chunk.words()[..n_words], &self.slot.definitions());
        }
        self.following = None;
        let header = self.header();
        header.cells.committed.store(committed, Ordering::Release);
        header.finished.store(1, Ordering::Release);
        let dropped = header.cells.dropped.load(Ordering::Relaxed);
        // Cutting the file under a chunk that is being mapped would kill the process.
        let slot = Arc::clone(&self.slot);
        let ended = match idle {
            true => self.preparer.run(move || {
                if let Some(last) = last {
                    slot.put_down(&last, n_words);
                }
                slot.end_writing(committed)
            }),
            false => {
                std::mem::forget(last);
                Err(io::ErrorKind::TimedOut.into())
            }
        };
        let (lost, cut) = match ended {
            Ok(lost) => (lost, Ok(())),
            // The thread may come to it yet, and read the memory.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let bytes = HEADER_BYTES as u64 + committed;
                std::mem::forget(self);
                return Ok(LogTotals {
                    records: retired + totals.n_records(),
                    dropped,
                    bytes,
                    ..LogTotals::default()
                });
            }
            Err(error) => (0, Err(error)),
        };
        let cut = cut.map_err(RecordsError::io("cut record log", &self.path));
        if !self.keeps_context {
            // SAFETY: the writer, its only user, ends here.
            unsafe { ManuallyDrop::drop(&mut self.context) };
        }
        cut.map(|()| LogTotals {
            records: (retired + totals.n_records()).saturating_sub(lost),
            dropped: dropped + lost,
            bytes: HEADER_BYTES as u64 + committed,
            late_chunks: self.late_chunks,
            refusal: self.refusal.as_ref().map(Refusal::to_string),
        })
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.preparer.count_logs(false);
        if self.slot.medium() == Medium::Memory && !self.slot.has_ended() {
            // The thread is not to read memory that is gone.
            let slot = Arc::clone(&self.slot);
            let _ = self.preparer.run(move || slot.end_writing(0));
        }
    }
}
