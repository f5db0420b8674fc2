//! Writes one log.
//!
//! A [`LogWriter`] serves one thread at a time. The thread appends records inline, through the [`RecordingContext`] that the writer fills in. Its
//! methods run only for rare events: a full chunk ([`LogWriter::make_room`]), a definition ([`LogWriter::define`]), the end of the log
//! ([`LogWriter::finish`]). A thread of the recorder prepares chunks ahead and disposes of full ones (`preparer`). An entry is complete before the
//! committed count covers it, so a killed program leaves a readable log. Without a chunk (limit reached, disk full, chunk late), `counting` sums up.
//!
//! ```text
//! header | 64 KiB | 64 KiB | 128 KiB | 256 KiB | ... | 8 MiB | 8 MiB ...   chunks by default, one thread recording
//!
//! chunk    records, definitions            cursor ──► end | 16 KiB reserve
//!          at the end, the next one ready                 used up, then padding; continues in the next chunk
//!          at the end, none available                     definitions and the outermost calls; others are summed up
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

/// Chunk sizes of a log: the first, and the largest. A chunk between them is as large as all chunks before it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// Bytes of the first chunk.
    pub first_bytes: u64,
    /// Bytes of the largest chunk.
    pub largest_bytes: u64,
}

impl Default for ChunkSizes {
    /// 64 KiB holds 0.4 ms of calls that take 250 ns and have two parameters; most MPI programs make fewer calls. 8 MiB
    /// holds 50 ms, and four such chunks are prepared ahead: on a machine with all cores busy, the preparing thread has
    /// to wait for one, and the system blocks it while the disk catches up (30 to 60 ms per chunk were observed).
    fn default() -> Self {
        Self {
            first_bytes: 64 << 10,
            largest_bytes: 8 << 20,
        }
    }
}

/// Number of largest chunks that are prepared ahead, including the one that the writer holds, if few threads record.
const N_AHEAD: usize = 4;
/// Number of smaller chunks, or of chunks of one thread among many, that are prepared ahead.
const N_SMALL_AHEAD: usize = 2;
/// Number of logs above which threads count as many.
const MANY_LOGS: usize = 4;
/// Maximum chunk size of a log in memory, bytes: a full btrfs takes seconds per MiB, even for blocks that it has
/// allocated before (seen with Linux 6.18).
const LARGEST_IN_MEMORY_BYTES: u64 = 1 << 20;
/// Bytes at the end of a chunk that are used only once the next chunk is ready, or if there will be none: for
/// definitions and for the outermost calls, which end last.
const RESERVE_BYTES: usize = 16 << 10;
/// Number of 200 ms waits for a late chunk before the log stops taking records.
const N_WAITS: u32 = 25;

/// The words of one record, as [`LogWriter::append`] writes them.
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

/// Calls, bytes and delays of a log, as it was finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTotals {
    /// Number of recorded calls.
    pub records: u64,
    /// Number of calls without a record.
    pub dropped: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Number of times that a call waited for a chunk.
    pub late_chunks: u64,
    /// Why the log stopped taking records, if it did.
    pub refusal: Option<String>,
}

/// Reason why a log takes no more records.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The user's limit is reached.
    Limit,
    /// The next chunk is too late.
    Late,
    /// A system call failed.
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
/// Records are appended inline through the [`RecordingContext`], or through [`LogWriter::append`]. The file is open
/// only during single operations.
#[derive(Debug)]
pub struct LogWriter {
    pub(crate) path: PathBuf,
    pub(crate) header: MmapMut,
    /// One [`RecordingContext`] in a page of anonymous memory, which the system clears in a forked child. Only
    /// [`LogWriter::finish`] unmaps it.
    pub(crate) context: ManuallyDrop<MmapMut>,
    pub(crate) keeps_context: bool,
    pub(crate) chunk: Option<Chunk>,
    /// The next chunk.
    following: Option<Chunk>,
    pub(crate) slot: Arc<Slot>,
    preparer: Arc<ChunkPreparer>,
    sizes: ChunkSizes,
    /// Offset of the chunk after those in preparation, bytes of the entry stream.
    next_offset: u64,
    next_bytes: u64,
    /// Number of requested chunks; 0 if the limit is reached.
    n_requested: usize,
    /// Whether chunks are requested ahead; false until half of the first one is used.
    asks_ahead: bool,
    pub(crate) refusal: Option<Refusal>,
    /// Ticks of the latest calibration.
    pub(crate) latest_ticks: std::cell::Cell<u64>,
    /// Number of times that a chunk was not ready in time.
    late_chunks: u64,
    /// Mappings of reserved words.
    kept: Vec<MmapMut>,
    /// State of counting, once the log takes no more records.
    pub(crate) counting: Option<Box<Counting>>,
}

/// Words of the entry stream that stay mapped while the log is written.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Position of the first word, in words from the beginning of the entries.
    pub word: u64,
    /// Pointer to the first word; all words are initially 0.
    pub start: *mut u64,
}

// SAFETY: the context's pointers lead into the writer's own mappings; other code that writes through them has promised
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

    /// As [`LogWriter::create`], but appends through a context from [`LogWriter::take_context`], if there is one. Takes
    /// the context once the file exists.
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
                // A file without a header is not a log.
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
        // Nobody waited for the first chunk.
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
            // SAFETY: this function just created the file; nobody else maps it for writing.
            Medium::Mapped => unsafe { MmapOptions::new().len(HEADER_BYTES).map_mut(&file)? },
            Medium::Memory => MmapMut::map_anon(HEADER_BYTES)?,
        };
        let start_of_header = header.as_mut_ptr().cast::<LogHeader>();
        // SAFETY: mappings are page-aligned, the page is larger than the header, and zeros are a valid one.
        unsafe { &mut *start_of_header }.initialise(identity, start);
        // SAFETY: the writer keeps it mapped until it ends the writing.
        unsafe { slot.begin_writing(file, start_of_header) };
        slot.write_out()?;
        Ok(header)
    }

    fn new_context() -> io::Result<MmapMut> {
        let page = MmapMut::map_anon(size_of::<RecordingContext>())?;
        // Without it (Linux before 4.14) a forked child must not record.
        // SAFETY: the advice changes nothing for this process, and a child finds a valid context.
        let _ = unsafe {
            rustix::mm::madvise(
                page.as_ptr().cast_mut().cast(),
                page.len(),
                Advice::LinuxWipeOnFork,
            )
        };
        Ok(page)
    }

    /// Takes the context out of a log that a forked child must leave to its parent, for use in a log of the child. The
    /// caller must then forget this writer instead of dropping it: the thread that prepares its chunks belongs to the
    /// parent.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if no page can be mapped.
    pub fn take_context(&mut self) -> Result<MmapMut, RecordsError> {
        let page = MmapMut::map_anon(size_of::<RecordingContext>());
        let page = page.map_err(RecordsError::io("map record log", &self.path))?;
        let context = std::mem::replace(&mut self.context, ManuallyDrop::new(page));
        Ok(ManuallyDrop::into_inner(context))
    }

    /// Keeps the context mapped when the log is finished, because other threads may still read it.
    pub fn keep_context(&mut self) {
        self.keeps_context = true;
    }

    /// The context to append through.
    ///
    /// It may be written through in one thread only, and not while a method of the writer runs.
    pub fn context(&self) -> *mut RecordingContext {
        self.context.as_ptr().cast_mut().cast()
    }

    /// Path of the log's file, which exists from the start.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sums over the full chunks of the log, for [`crate::Run::open_own`]. May be called while the log's thread
    /// records.
    pub fn running_sums(&self) -> RunningSums {
        let sums = self.slot.retired();
        RunningSums {
            sums,
            // Read after the sums, so the definitions cover all calls in the sums.
            definitions: self.slot.definitions().as_ref().clone(),
        }
    }

    /// Whether the log takes no more records, because its limit is reached or the disk is full.
    pub fn is_closed(&self) -> bool {
        self.refusal.is_some()
    }

    pub(crate) fn context_mut(&mut self) -> &mut RecordingContext {
        // SAFETY: the page is mapped, aligned and contains a context; others use it only between calls of the writer.
        unsafe { &mut *self.context.as_mut_ptr().cast() }
    }

    pub(crate) fn header(&self) -> &LogHeader {
        // SAFETY: as in `map_header`; the fields that change are atomic.
        unsafe { &*self.header.as_ptr().cast() }
    }

    /// Number of complete bytes of the entry stream.
    pub fn committed_bytes(&self) -> u64 {
        self.header().committed_bytes().unwrap_or_default()
    }

    /// The counter of calls without a record; mapped until the log is finished.
    pub fn lost(&self) -> &AtomicU64 {
        &self.header().cells.dropped
    }

    /// Adds calls to those without a record; signal handlers may call it.
    pub fn count_dropped(&self, calls: u64) {
        // A signal handler may interrupt this and count a call too.
        self.lost().fetch_add(calls, Ordering::Relaxed);
    }

    /// Undoes the counting of a call as one without a record.
    pub fn uncount_dropped(&self) {
        self.header().cells.dropped.fetch_sub(1, Ordering::Relaxed);
    }

    /// Stores a calibration as the latest in the header; the first one stays.
    pub fn calibrate(&self, calibration: Calibration) {
        self.latest_ticks.set(calibration.ticks);
        self.header().store_latest(calibration);
    }

    /// Makes room for `words` more words at the context's cursor: in the log, or, once it takes no more records
    /// ([`LogWriter::is_closed`]), in the scratch words for calls that are only summed up.
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

    /// Makes room for `words` in the log: uses the reserve of the chunk once the next one is ready, then continues in
    /// that one.
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

    /// Lets the context append up to the end of the chunk.
    pub(crate) fn open_reserve(&mut self) {
        let end = self.chunk.as_mut();
        let end = end.map(|chunk| chunk.start().wrapping_add(chunk.n_words()));
        if let Some(end) = end {
            self.context_mut().end = end;
        }
    }

    /// Requests chunks until enough are in preparation.
    fn request_chunks(&mut self, needed: u64) {
        while self.request_chunk(needed) {}
    }

    /// Requests one more chunk, unless enough are in preparation or the limit is reached.
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

    /// Fills up the current chunk with padding and continues in the next one, up to its reserve, or up to half of the
    /// first chunk.
    ///
    /// # Errors
    /// The log has ended, although its thread is here.
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

    /// Lets the context append up to the reserve of the chunk.
    fn open_up_to_reserve(&mut self) {
        if let Some(chunk) = &mut self.chunk {
            let n_words = chunk.n_words();
            let n_reserve = (RESERVE_BYTES / size_of::<u64>()).min(n_words / 4);
            let end = chunk.start().wrapping_add(n_words - n_reserve);
            self.context_mut().end = end;
        }
    }

    /// Whether the log's chunks are memory of the process, which is written to the file from time to time.
    pub fn is_in_memory(&self) -> bool {
        self.slot.medium() == Medium::Memory
    }

    /// Appends a definition, beyond the limit of the records if necessary.
    ///
    /// # Errors
    /// [`RecordsError::NoRoom`] if the disk is full; [`RecordsError::Encode`].
    pub fn define(&mut self, definition: &Definition) -> Result<(), RecordsError> {
        let entry = self.entry_of(definition)?;
        self.make_room_for_definition(entry.len())?;
        self.append_to_log(&entry);
        // Before a record that needs it: the chunk that contains it may be disposed of at once.
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

    /// Appends an entry for which there is room.
    pub(crate) fn append_to_log(&mut self, entry: &[u64]) {
        self.in_log(|context| {
            // SAFETY: the caller made room for it; its words are mapped and unused.
            unsafe {
                std::ptr::copy_nonoverlapping(entry.as_ptr(), context.cursor, entry.len());
                context.commit(context.cursor.add(entry.len()));
            }
        });
    }

    /// Reserves words, as padding, for values that change in place; beyond the limit of the records if necessary.
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
        // A separate mapping, since a chunk is unmapped when it is full.
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

    /// Makes room for definitions after the last record, beyond the limit.
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

    /// Appends a record, for callers that do not record inline.
    ///
    /// # Returns
    /// Whether it is in the log; otherwise it is counted.
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

    /// Ends the log while another thread has it and may continue to append; later entries are not in the file.
    ///
    /// # Arguments
    /// * `definitions` - definitions that the log still lacks
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the file cannot be truncated; it can still be read.
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

    /// Ends the log: truncates the unused rest and marks it as finished.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if the file cannot be truncated; it can still be read.
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
        // Truncating the file under a chunk that is being mapped would kill the process.
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
            // The thread may still come to this job, and read the memory.
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
            // The thread must not read memory that is gone.
            let slot = Arc::clone(&self.slot);
            let _ = self.preparer.run(move || slot.end_writing(0));
        }
    }
}
