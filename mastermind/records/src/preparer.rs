//! The thread that prepares the chunks of all logs before they are needed, and disposes of full ones.
//!
//! It is a thread of ours in the program's process (`own_thread`). Only this thread opens files, in a table of its own,
//! so recording takes no descriptor of the program. If chunks are memory of the process, the thread writes them to the
//! files: full chunks at once, the others every second (`flush`).
//!
//! A forked child is a process of one thread, and may have to stay one: programs that restrict themselves check for
//! other threads (Chromium's zygote ends a child that has two). In such a child there is no preparing thread. Each
//! chunk is prepared when it is requested, by a short-lived process of ours that shares the program's memory
//! (`own_thread::run_in_process`).

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use cca_abi::guest::Thread;

use crate::chunk::{Chunk, GRAIN_BYTES, Medium, Piece, WRITE_BYTES};
use crate::definition::Definition;
use crate::definitions::Definitions;
use crate::flush::LogMemory;
use crate::own_thread;
use crate::path_totals::PathTotals;

/// Maximum time that a full chunk waits at a time for one that is being prepared.
const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum time that the end of a log waits until its last full chunks are summed up.
const SETTLING: Duration = Duration::from_secs(10);
/// Interval at which data in memory is written to the files; a killed process loses at most this much.
const WRITING: Duration = Duration::from_secs(1);
/// Approximate maximum memory for the chunks of all logs, bytes.
const MEMORY_BYTES: u64 = 64 << 20;
/// Lower bound of the chunk size even if there are very many logs, bytes.
const SMALLEST_LARGEST_BYTES: u64 = 64 << 10;

/// Number of attempts to lock a log; a reader holds the lock for less time than they take.
const N_LOCK_TRIES: usize = 100;

/// The requested chunks of one log, and the sums of the full ones.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) path: PathBuf,
    next: Mutex<NextChunks>,
    changed: Condvar,
    retired: Mutex<Retired>,
    counted: Condvar,
    /// Definitions of the log so far.
    definitions: Mutex<Arc<Definitions>>,
    /// Where its chunks lie; known once the file exists.
    medium: OnceLock<Medium>,
    /// Device and inode number of that file; another file may receive its name.
    identity: OnceLock<(u64, u64)>,
    /// Memory that the log's thread writes to.
    pub(crate) memory: Mutex<LogMemory>,
}

/// The full chunks of a log.
#[derive(Debug, Default)]
struct Retired {
    waiting: u32,
    sums: RetiredSums,
}

/// Sums over the full chunks of a log, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetiredSums {
    pub(crate) totals: PathTotals,
    /// Number of words from the beginning of the entries that the sums cover.
    pub(crate) n_words: usize,
}

/// In the order of the file: first the chunks that are ready, then the one being prepared, then the requested ones.
#[derive(Debug, Default)]
struct NextChunks {
    ready: VecDeque<io::Result<Chunk>>,
    is_preparing: bool,
    wanted: VecDeque<Piece>,
    /// Whether no chunk follows those that are ready.
    has_ended: bool,
}

impl NextChunks {
    /// Requests one more chunk, unless the chunks have ended: a chunk that came out shorter than requested would leave
    /// a gap before the next.
    fn want(&mut self, piece: Piece) {
        if !self.has_ended {
            self.wanted.push_back(piece);
        }
    }

    fn end_with(&mut self, end: Option<io::Error>) {
        if let Some(error) = end {
            self.has_ended = true;
            self.wanted.clear();
            self.ready.push_back(Err(error));
        }
    }
}

impl Slot {
    pub(crate) fn new(path: &Path) -> Arc<Self> {
        Arc::new(Self {
            path: path.into(),
            next: Mutex::default(),
            changed: Condvar::new(),
            retired: Mutex::default(),
            counted: Condvar::new(),
            definitions: Mutex::new(Arc::new(Definitions::of_at_most(usize::MAX))),
            medium: OnceLock::new(),
            identity: OnceLock::new(),
            memory: Mutex::default(),
        })
    }

    /// Where the chunks of the log lie.
    pub(crate) fn medium(&self) -> Medium {
        *self.medium.get().unwrap_or(&Medium::Mapped)
    }

    /// Registers the log's file once it was created.
    pub(crate) fn know_file(&self, file: &File, medium: Medium) -> io::Result<()> {
        let metadata = file.metadata()?;
        // Called once only.
        let _ = self.identity.set((metadata.dev(), metadata.ino()));
        let _ = self.medium.set(medium);
        Ok(())
    }

    /// Opens the log's file for a single operation; only in the preparing thread.
    pub(crate) fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW);
        let file = options.open(&self.path)?;
        let metadata = file.metadata()?;
        let is_own = self.identity.get() == Some(&(metadata.dev(), metadata.ino()));
        is_own.then_some(file).ok_or(io::ErrorKind::NotFound.into())
    }

    /// Definitions of the log so far.
    pub(crate) fn definitions(&self) -> Arc<Definitions> {
        Arc::clone(&locked(&self.definitions))
    }

    /// Adds a definition of the log.
    pub(crate) fn define(&self, definition: Definition) {
        Arc::make_mut(&mut locked(&self.definitions)).add(definition);
    }

    /// Sums over the full chunks that have been summed up by now.
    pub(crate) fn retired(&self) -> RetiredSums {
        locked(&self.retired).sums.clone()
    }

    fn put_away(&self, chunk: &Chunk) {
        self.put_down(chunk, chunk.n_words());
        let definitions = self.definitions();
        let mut retired = locked(&self.retired);
        retired.sums.totals.add_entries(chunk.words(), &definitions);
        retired.sums.n_words = chunk.offset() as usize / size_of::<u64>() + chunk.n_words();
        retired.waiting -= 1;
        self.counted.notify_all();
    }

    fn prepare(&self, zeros: &[u8]) {
        let Some(piece) = self.begin_to_prepare() else {
            return;
        };
        let (chunk, end) = self.prepare_piece(piece, zeros);
        let mut next = locked(&self.next);
        next.is_preparing = false;
        next.ready.push_back(chunk);
        next.end_with(end);
        self.changed.notify_all();
    }

    /// Prepares the requested chunk without a thread.
    fn prepare_in_process(&self, bytes: u64) {
        let zeros = vec![0; WRITE_BYTES.min(bytes as usize)];
        if let Err(error) = own_thread::run_in_process(|| self.prepare(&zeros)) {
            let mut next = locked(&self.next);
            next.is_preparing = false;
            next.end_with(Some(error));
        }
    }

    fn prepare_piece(&self, piece: Piece, zeros: &[u8]) -> (io::Result<Chunk>, Option<io::Error>) {
        // The file must not grow any more.
        if self.has_ended() {
            return (Err(io::ErrorKind::BrokenPipe.into()), None);
        }
        match self.open() {
            Ok(file) => Chunk::prepare_what_fits(&file, self.medium(), piece, zeros),
            Err(error) => (Err(error), None),
        }
    }

    fn begin_to_prepare(&self) -> Option<Piece> {
        let mut next = locked(&self.next);
        let piece = next.wanted.pop_front();
        next.is_preparing = piece.is_some();
        piece
    }

    /// Whether the next chunk is ready.
    pub(crate) fn is_ready(&self) -> bool {
        !locked(&self.next).ready.is_empty()
    }

    /// Takes the next requested chunk; `None` if it is still not ready after a short wait.
    pub(crate) fn take(&self) -> Option<io::Result<Chunk>> {
        let next = locked(&self.next);
        let is_coming = |next: &mut NextChunks| {
            next.ready.is_empty() && (next.is_preparing || !next.wanted.is_empty())
        };
        let waited = self.changed.wait_timeout_while(next, PATIENCE, is_coming);
        let mut next = waited.unwrap_or_else(PoisonError::into_inner).0;
        let none = || io::Error::other("no chunk was requested");
        match next.ready.pop_front() {
            None if is_coming(&mut next) => None,
            chunk => Some(chunk.unwrap_or_else(|| Err(none()))),
        }
    }
}

/// Prepares the next chunks of all logs of a run and disposes of full ones, in a thread of its own or on request.
#[derive(Debug)]
pub struct ChunkPreparer {
    shared: Arc<Shared>,
    thread: Mutex<Option<Thread<io::Result<()>>>>,
    /// False if everything is done on request.
    has_thread: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    work: Mutex<Work>,
    wake: Condvar,
    limit_bytes: u64,
    used_bytes: AtomicU64,
    /// Number of logs that are being written.
    n_logs: AtomicUsize,
    /// Where the chunks lie, if the file system does not decide it.
    medium: Option<Medium>,
    /// Logs whose chunks are in memory only.
    in_memory: Mutex<Vec<Weak<Slot>>>,
}

#[derive(Default)]
struct Work {
    jobs: VecDeque<Box<dyn FnOnce() + Send>>,
    requests: VecDeque<Arc<Slot>>,
    retired: VecDeque<(Chunk, Arc<Slot>)>,
    stop: bool,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = (self.jobs.len(), self.requests.len(), self.retired.len());
        f.debug_tuple("Work").field(&waiting).finish()
    }
}

impl ChunkPreparer {
    /// Starts the thread.
    ///
    /// # Arguments
    /// * `limit_bytes` - bytes that the records of all logs of this preparer may take; `None` for no limit
    ///
    /// # Errors
    /// Those of starting a thread, or of giving it a table of open files of its own.
    pub fn start(limit_bytes: Option<u64>) -> io::Result<Self> {
        Self::start_with(limit_bytes, None)
    }

    /// As [`ChunkPreparer::start`], with the chunks of all logs in memory, as for a file system whose files cannot be
    /// mapped without risk to the program.
    ///
    /// # Errors
    /// As [`ChunkPreparer::start`].
    pub fn start_in_memory(limit_bytes: Option<u64>) -> io::Result<Self> {
        Self::start_with(limit_bytes, Some(Medium::Memory))
    }

    /// Creates a preparer without a thread: each chunk is prepared on request, in a short-lived process. For logs whose
    /// files can be mapped.
    pub fn without_thread(limit_bytes: Option<u64>) -> Self {
        Self {
            shared: Self::new_shared(limit_bytes, Some(Medium::Mapped)),
            thread: Mutex::default(),
            has_thread: AtomicBool::new(false),
        }
    }

    /// Ends the thread once its requests are done; later work is done on request. To be called while no other thread
    /// makes requests.
    ///
    /// # Returns
    /// Whether that is possible: not if logs are in memory, or if no process can be started for the work.
    pub fn go_on_without_thread(&self) -> bool {
        let is_possible =
            locked(&self.shared.in_memory).is_empty() && own_thread::run_in_process(|| ()).is_ok();
        if is_possible {
            self.end_thread();
        }
        is_possible
    }

    fn end_thread(&self) {
        locked(&self.shared.work).stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = locked(&self.thread).take() {
            // A panic there loses no record: the logs then prepare chunks themselves.
            let _ = thread.join();
        }
        self.has_thread.store(false, Ordering::Release);
    }

    fn has_thread(&self) -> bool {
        self.has_thread.load(Ordering::Acquire)
    }

    /// Number of running threads of this preparer: 1 or 0.
    pub fn n_threads(&self) -> u32 {
        self.has_thread().into()
    }

    fn new_shared(limit_bytes: Option<u64>, medium: Option<Medium>) -> Arc<Shared> {
        Arc::new(Shared {
            work: Mutex::default(),
            wake: Condvar::new(),
            limit_bytes: limit_bytes.unwrap_or(u64::MAX),
            used_bytes: AtomicU64::new(0),
            n_logs: AtomicUsize::new(0),
            medium,
            in_memory: Mutex::default(),
        })
    }

    fn start_with(limit_bytes: Option<u64>, medium: Option<Medium>) -> io::Result<Self> {
        let shared = Self::new_shared(limit_bytes, medium);
        let of_thread = Arc::clone(&shared);
        let thread = own_thread::spawn("records", move || of_thread.serve())?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
            has_thread: AtomicBool::new(true),
        })
    }

    /// Reserves up to `bytes` of the remaining limit; returns 0 if none is left.
    pub(crate) fn reserve(&self, bytes: u64) -> u64 {
        let limit = self.shared.limit_bytes;
        let take = |used: u64| bytes.min(limit.saturating_sub(used)) / GRAIN_BYTES * GRAIN_BYTES;
        match self
            .shared
            .used_bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                Some(used + take(used))
            }) {
            Ok(used) | Err(used) => take(used),
        }
    }

    /// Counts a log that begins, or that ends.
    pub(crate) fn count_logs(&self, has_begun: bool) {
        match has_begun {
            true => self.shared.n_logs.fetch_add(1, Ordering::Relaxed),
            false => self.shared.n_logs.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// Number of logs that are being written.
    pub(crate) fn n_logs(&self) -> usize {
        self.shared.n_logs.load(Ordering::Relaxed)
    }

    /// Maximum chunk size such that all logs, with this many chunks each, fit into the memory intended for them.
    pub(crate) fn largest_bytes(&self, n_chunks: usize) -> u64 {
        let n_logs = self.n_logs().max(1);
        let share = MEMORY_BYTES / (n_logs * n_chunks) as u64;
        let power = 1 << share.max(1).ilog2();
        SMALLEST_LARGEST_BYTES.max(power)
    }

    /// Decides where the chunks of a log with this file lie.
    pub(crate) fn medium_of(&self) -> impl FnOnce(&File) -> Medium + Send + 'static {
        let medium = self.shared.medium;
        move |file| medium.unwrap_or_else(|| Medium::of(file))
    }

    /// From now on also writes this log's memory to its file.
    pub(crate) fn keep_writing(&self, slot: &Arc<Slot>) {
        locked(&self.shared.in_memory).push(Arc::downgrade(slot));
        // Until now it may have been waiting without a timeout.
        self.shared.wake.notify_one();
    }

    /// Writes all data in memory to the files, for a reader.
    pub fn write_out(&self) {
        let logs = locked(&self.shared.in_memory).clone();
        if !logs.is_empty() {
            // Failed writes are tried again later.
            let _ = self.run(move || {
                write_all(&logs);
                Ok(())
            });
        }
    }

    /// Runs a closure in the thread, which has a table of open files of its own, and waits for it; without a thread, in
    /// a process that has one.
    ///
    /// # Errors
    /// Those of the job; [`io::ErrorKind::TimedOut`] if the thread does not start it, perhaps because the system has
    /// ended the thread. Without a thread, those of [`own_thread::run_in_process`].
    /// those of [`own_thread::run_in_process`].
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        if !self.has_thread() {
            return own_thread::run_in_process(job).flatten();
        }
        let (done, result) = sync_channel(1);
        let job = Box::new(move || drop(done.send(job())));
        locked(&self.shared.work).jobs.push_back(job);
        self.shared.wake.notify_one();
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        result.recv_timeout(SETTLING).map_err(late).flatten()
    }

    /// Requests one more chunk of a log.
    pub(crate) fn request(&self, slot: &Arc<Slot>, offset: u64, bytes: u64) {
        locked(&slot.next).want(Piece { offset, bytes });
        if !self.has_thread() {
            slot.prepare_in_process(bytes);
            return;
        }
        locked(&self.shared.work)
            .requests
            .push_back(Arc::clone(slot));
        self.shared.wake.notify_one();
    }

    /// Disposes of a full chunk.
    pub(crate) fn retire(&self, slot: &Arc<Slot>, chunk: Chunk) {
        locked(&slot.retired).waiting += 1;
        if !self.has_thread() {
            // This needs no open file.
            slot.put_away(&chunk);
            return;
        }
        locked(&self.shared.work)
            .retired
            .push_back((chunk, Arc::clone(slot)));
        self.shared.wake.notify_one();
    }

    /// Waits until no more work is pending for a log.
    ///
    /// # Returns
    /// Number of records in its full chunks, and whether all work is done; false if the disk is very slow.
    pub(crate) fn settle(&self, slot: &Slot) -> (u64, bool) {
        let (mut next, _) = slot
            .changed
            .wait_timeout_while(locked(&slot.next), SETTLING, |next| {
                next.wanted.clear();
                next.is_preparing
            })
            .unwrap_or_else(PoisonError::into_inner);
        let idle = !next.is_preparing;
        next.ready.clear();
        drop(next);
        let (retired, timeout) = slot
            .counted
            .wait_timeout_while(locked(&slot.retired), SETTLING, |retired| {
                retired.waiting > 0
            })
            .unwrap_or_else(PoisonError::into_inner);
        let n_records = retired.sums.totals.n_records();
        (n_records, idle && !timeout.timed_out())
    }
}

impl Drop for ChunkPreparer {
    fn drop(&mut self) {
        self.end_thread();
    }
}

impl Shared {
    fn serve(&self) {
        let zeros = vec![0; WRITE_BYTES];
        let mut work = locked(&self.work);
        // Alternates between full chunks and requests, since full chunks take memory too.
        let mut is_turn_of_full = false;
        loop {
            is_turn_of_full = !is_turn_of_full;
            let is_asked = !work.requests.is_empty();
            if let Some(job) = work.jobs.pop_front() {
                drop(work);
                job();
                work = locked(&self.work);
            } else if (is_turn_of_full || !is_asked)
                && let Some((chunk, slot)) = work.retired.pop_front()
            {
                drop(work);
                slot.put_away(&chunk);
                drop(chunk);
                work = locked(&self.work);
            } else if let Some(slot) = work.requests.pop_front() {
                drop(work);
                slot.prepare(&zeros);
                work = locked(&self.work);
            } else if work.stop {
                return;
            } else {
                work = self.wait(work);
            }
        }
    }

    /// Waits for work; if logs are in memory, writes them out from time to time.
    fn wait<'a>(&'a self, work: MutexGuard<'a, Work>) -> MutexGuard<'a, Work> {
        if locked(&self.in_memory).is_empty() {
            return self.wake.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
        let waited = self.wake.wait_timeout(work, WRITING);
        let (work, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if !timeout.timed_out() {
            return work;
        }
        drop(work);
        let logs = {
            let mut logs = locked(&self.in_memory);
            logs.retain(|log| log.strong_count() > 0);
            logs.clone()
        };
        write_all(&logs);
        locked(&self.work)
    }
}

/// Writes all data in memory to the files.
fn write_all(logs: &[Weak<Slot>]) {
    for log in logs.iter().filter_map(Weak::upgrade) {
        // Failed writes are tried again later.
        let _ = log.write_out();
    }
}

/// Locks a new log while it is open or mapped, so that readers and programs that remove logs see that it is being
/// written. If the file system has no locks, or another process has the lock at that moment, the log stays unlocked.
pub(crate) fn lock(file: &File) {
    use rustix::fs::{FlockOperation, flock};
    let locked = || flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
    let _ = (0..N_LOCK_TRIES).any(|_| locked());
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
