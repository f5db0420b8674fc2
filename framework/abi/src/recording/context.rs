//! What one thread appends through, and the cells of its log's header that change while it does.

use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Zero; room for later layouts.
    pub reserved: [AtomicU64; 5],
    /// The open calls, outermost first.
    pub open: [OpenCall; MAX_OPEN_CALLS],
}

/// One cached call path.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CallPathEntry {
    /// Parent path in the high half, method in the low half; 0 if unused.
    pub key: u64,
    /// The call path.
    pub path: u64,
}

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
    /// Clock; `None` is the time-stamp counter.
    pub clock: Option<ClockFunction>,
    /// Flags of each record ([`super::word::MPI_MEASURED`]).
    pub flags: u64,
    /// The recorder that the context is of.
    pub recorder: *const super::Recorder,
    /// Current call path; 0 outside of all measured calls.
    pub path: u32,
    /// Number of the log within the rank.
    pub thread: u32,
    /// For the owner of the context.
    pub owner: *mut std::ffi::c_void,
    /// Calls and time of MPI's functions, in the order of [`super::MpiProxyFunctions::functions`], kept in the log where
    /// they outlast the process; null if the log has no place for them.
    pub mpi_totals: *const super::MpiTotal,
    /// Number of them.
    pub n_mpi_totals: u64,
    /// Zero; room for later layouts.
    pub reserved: [u64; 4],
    /// Direct-mapped cache of call paths.
    pub call_paths: [CallPathEntry; N_CACHED_CALL_PATHS],
}

impl RecordingContext {
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
    #[inline(always)]
    pub unsafe fn commit(&mut self, next: *mut u64) {
        self.cursor = next;
        let committed = (next as usize).wrapping_sub(self.origin);
        // SAFETY: required of the caller.
        unsafe { &*self.cells }
            .committed
            .store(committed as u64, Ordering::Release);
    }

    #[inline(always)]
    fn slot(parent: u32, method: u32) -> usize {
        (parent.wrapping_mul(9).wrapping_add(method)) as usize % N_CACHED_CALL_PATHS
    }

    #[inline(always)]
    fn key(parent: u32, method: u32) -> u64 {
        u64::from(parent) << 32 | u64::from(method)
    }

    /// The call path if it is in the cache.
    #[inline(always)]
    pub fn cached_call_path(&self, parent: u32, method: u32) -> Option<u32> {
        let entry = &self.call_paths[Self::slot(parent, method)];
        (entry.key == Self::key(parent, method)).then_some(entry.path as u32)
    }

    /// Puts a call path into the cache.
    pub fn remember_call_path(&mut self, parent: u32, method: u32, path: u32) {
        self.call_paths[Self::slot(parent, method)] = CallPathEntry {
            key: Self::key(parent, method),
            path: u64::from(path),
        };
    }

    /// Notes a call as open.
    ///
    /// # Safety
    /// `cells` is valid.
    #[inline(always)]
    pub unsafe fn push_open_call(&mut self, path: u32, start: u64) {
        // SAFETY: required of the caller.
        let cells = unsafe { &*self.cells };
        let depth = cells.depth.load(Ordering::Relaxed);
        if let Some(open) = cells.open.get(depth as usize) {
            open.path.store(u64::from(path), Ordering::Relaxed);
            open.start.store(start, Ordering::Relaxed);
        }
        cells.depth.store(depth + 1, Ordering::Release);
    }

    /// Forgets the innermost open call.
    ///
    /// # Safety
    /// `cells` is valid.
    #[inline(always)]
    pub unsafe fn pop_open_call(&mut self) {
        // SAFETY: required of the caller.
        let depth = unsafe { &(*self.cells).depth };
        depth.store(
            depth.load(Ordering::Relaxed).wrapping_sub(1),
            Ordering::Release,
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn time_stamp_counter() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn time_stamp_counter() -> u64 {
    0
}
