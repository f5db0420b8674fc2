//! What one thread appends through, and the cells of its log's header that change while it does.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Open calls that the header of a log can hold; deeper ones are counted only.
pub const MAX_OPEN_CALLS: usize = 64;
/// Entries of the direct-mapped cache of call paths.
pub const N_CACHED_CALL_PATHS: usize = 64;

/// A clock other than the time-stamp counter; ticks of any length.
pub type ClockFunction = extern "C" fn() -> u64;

/// A call that has begun and not ended.
#[repr(C)]
#[derive(Debug, Default)]
pub struct OpenCall {
    /// Call path.
    pub path: AtomicU64,
    /// Start, in clock ticks.
    pub start: AtomicU64,
}

/// The part of a log's header that the recording thread writes at each call; mapped from the file.
#[repr(C)]
#[derive(Debug)]
pub struct LogCells {
    /// Bytes of the entry stream that are complete.
    pub committed: AtomicU64,
    /// Number of open calls, those beyond [`MAX_OPEN_CALLS`] included.
    pub depth: AtomicU64,
    /// Calls that could not be recorded.
    pub dropped: AtomicU64,
    /// When the thread's latest call of MPI ended, clock ticks; 0 where none did, or where the log is older than this.
    pub mpi_latest: AtomicU64,
    /// Zero; room for later layouts.
    pub reserved: [AtomicU64; 4],
    /// The open calls, outermost first.
    pub open: [OpenCall; MAX_OPEN_CALLS],
}

/// A call path as the caller of further calls: `path | hash(path) << 58`; 0 outside of all measured calls.
///
/// The sum of a parent's word and a method's word ([`method_word`]) is unique to the two, and its uppermost 6 bits are a
/// place in the cache: one addition and one shift a call.
const fn parent_word(path: u32) -> u64 {
    path as u64 | (path as u64).wrapping_mul(9) << SLOT_SHIFT
}

/// A method as the callee: `id << 24 | id << 58`.
pub(super) const fn method_word(id: u32) -> u64 {
    (id as u64) << PATH_BITS | (id as u64) << SLOT_SHIFT
}

/// The id in a [`method_word`].
pub(super) const fn method_id(word: u64) -> u32 {
    (word >> PATH_BITS) as u32
}

/// Bits of a call path in a [`parent_word`].
const PATH_BITS: u32 = 24;
const PATH_MASK: u64 = (1 << PATH_BITS) - 1;
const SLOT_SHIFT: u32 = u64::BITS - N_CACHED_CALL_PATHS.ilog2();

/// Mark among a context's flags, never in a log: the clock is not the time-stamp counter.
pub(super) const OTHER_CLOCK: u64 = 1 << 62;

/// What one thread appends its records through.
///
/// `cursor..end` is writable and mapped from the log; `cells` is the mapped header. A context of all zeros has no
/// room and no cells and is safe to use: it is what a forked child finds.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct RecordingContext {
    /// Where the next entry goes.
    pub cursor: *mut u64,
    /// End of the mapped chunk.
    pub end: *mut u64,
    /// Address that the first word of the entry stream would have if the chunk's mapping reached back to it.
    pub origin: usize,
    /// Cells of the header.
    pub cells: *const LogCells,
    /// Ticks spent in MPI so far by this thread; the MPI proxy adds to it.
    pub mpi_ticks: u64,
    /// Flags of each record ([`super::word::MPI_MEASURED`]), and [`OTHER_CLOCK`].
    pub(super) flags: u64,
    /// Current call path, with its place in the cache: a `parent_word`.
    parent: u64,
    /// [`super::thread_pointer`] of the thread that appends here; 0 while none may find the context by it. Read by other
    /// threads.
    thread_pointer: AtomicUsize,
    /// Clock; `None` is the time-stamp counter.
    clock: Option<ClockFunction>,
    /// The recorder that the context is of.
    pub recorder: *const super::Recorder,
    /// Number of the log within the rank.
    pub thread: u64,
    /// For the owner of the context.
    pub owner: *mut std::ffi::c_void,
    /// Calls and time of MPI's functions, in the order of [`super::MpiProxyFunctions::functions`], kept in the log where
    /// they outlast the process; null if the log has no place for them.
    pub mpi_totals: *const super::MpiTotal,
    /// Number of them.
    pub n_mpi_totals: u64,
    /// Calls of each of these functions that returned an error; null if the log has no place for them.
    pub mpi_failed: *const AtomicU64,
    /// Zero; room for later layouts.
    pub reserved: u64,
    /// Direct-mapped cache of call paths: the sums of parent and method; 0 if unused.
    cached_keys: [u64; N_CACHED_CALL_PATHS],
    /// The call paths there, as parents.
    cached_paths: [u64; N_CACHED_CALL_PATHS],
}

/// What the thread's context knew of the caller, to be restored when the call has ended.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Parent(u64);

impl Parent {
    /// The caller's call path.
    #[inline(always)]
    pub(super) fn path(self) -> u32 {
        (self.0 & PATH_MASK) as u32
    }
}

impl RecordingContext {
    /// What is the same for all records of the context.
    ///
    /// # Arguments
    /// * `clock` - the clock; `None` for the time-stamp counter
    /// * `mpi_is_measured` - whether the proxy of MPI adds to [`RecordingContext::mpi_ticks`]
    pub fn measure_with(&mut self, clock: Option<ClockFunction>, mpi_is_measured: bool) {
        self.clock = clock;
        let mpi = u64::from(mpi_is_measured) * super::word::MPI_MEASURED;
        self.flags = mpi | (u64::from(clock.is_some()) * OTHER_CLOCK);
    }

    /// Whether the proxy of MPI adds to [`RecordingContext::mpi_ticks`].
    pub fn mpi_is_measured(&self) -> bool {
        self.flags & super::word::MPI_MEASURED != 0
    }

    /// Words between cursor and end.
    #[inline(always)]
    pub fn room(&self) -> usize {
        (self.end as usize - self.cursor as usize) / size_of::<u64>()
    }

    /// Reads the clock, in ticks.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.clock {
            Some(clock) => clock(),
            None => time_stamp_counter(),
        }
    }

    /// Makes everything before `next` visible to readers and moves the cursor there.
    ///
    /// # Safety
    /// `cells` is valid; `next` lies in `cursor..=end` and all words before it are written.
    pub unsafe fn commit(&mut self, next: *mut u64) {
        // SAFETY: required of the caller.
        self.commit_in(unsafe { &*self.cells }, next);
    }

    /// As [`RecordingContext::commit`], with the context's own cells at hand.
    #[inline(always)]
    pub(super) fn commit_in(&mut self, cells: &LogCells, next: *mut u64) {
        self.cursor = next;
        let committed = (next as usize).wrapping_sub(self.origin);
        cells.committed.store(committed as u64, Ordering::Release);
    }

    /// The current call path; 0 outside of all measured calls.
    #[inline(always)]
    pub fn path(&self) -> u32 {
        self.parent().path()
    }

    /// Goes on outside of all measured calls.
    pub fn leave_all_calls(&mut self) {
        self.parent = 0;
    }

    #[inline(always)]
    pub(super) fn parent(&self) -> Parent {
        Parent(self.parent)
    }

    /// Goes back to the caller.
    #[inline(always)]
    pub(super) fn restore(&mut self, parent: Parent) {
        self.parent = parent.0;
    }

    /// Goes from the current call path to that of a method called from there, if it is in the cache.
    #[inline(always)]
    pub(super) fn enter_cached(&mut self, method_word: u64) -> Option<u32> {
        let key = self.parent.wrapping_add(method_word);
        let slot = (key >> SLOT_SHIFT) as usize;
        if self.cached_keys[slot] != key {
            return None;
        }
        self.parent = self.cached_paths[slot];
        Some(self.path())
    }

    /// Puts a call path into the cache.
    ///
    /// # Returns
    /// Whether it can be: not a path of more than 24 bits.
    pub(super) fn remember_call_path(&mut self, method_word: u64, path: u32) -> bool {
        let fits = u64::from(path) <= PATH_MASK;
        if fits {
            let key = self.parent.wrapping_add(method_word);
            let slot = (key >> SLOT_SHIFT) as usize;
            (self.cached_keys[slot], self.cached_paths[slot]) = (key, parent_word(path));
        }
        fits
    }

    /// Lets the calling thread find the context by its thread pointer, until [`RecordingContext::hide_from_thread`].
    pub fn show_to_thread(&self) {
        let thread = super::thread_pointer();
        self.thread_pointer.store(thread, Ordering::Relaxed);
    }

    /// Ends that: a thread that comes later may have the same thread pointer.
    pub fn hide_from_thread(&self) {
        self.thread_pointer.store(0, Ordering::Relaxed);
    }

    /// The thread pointer of the thread that may find the context by it; 0 for none.
    #[inline(always)]
    pub(super) fn seen_by(&self) -> usize {
        self.thread_pointer.load(Ordering::Relaxed)
    }
}

impl LogCells {
    /// Notes a call as open.
    #[inline(always)]
    pub fn push_open_call(&self, path: u32, start: u64) {
        let depth = self.depth.load(Ordering::Relaxed);
        if let Some(open) = self.open.get(depth as usize) {
            open.path.store(u64::from(path), Ordering::Relaxed);
            open.start.store(start, Ordering::Relaxed);
        }
        self.depth.store(depth + 1, Ordering::Release);
    }

    /// Forgets the innermost open call.
    #[inline(always)]
    pub fn pop_open_call(&self) {
        let depth = self.depth.load(Ordering::Relaxed);
        self.depth.store(depth.wrapping_sub(1), Ordering::Release);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn time_stamp_counter() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn time_stamp_counter() -> u64 {
    0
}
