//! The context through which one thread appends, and the cells of its log's header that change
//! while it does.
//!
//! A signal handler may interrupt the code that records, at any instruction, and make calls that are recorded too; and the
//! program may leave a call without its end, by `longjmp`. Both are seen in one word of the context, the *frame*:
//!
//! ```text
//! frame     stack address where the innermost open call began; a call from there has a lower one
//!           above all addresses where no call is open
//!           below 0 while the code that records is at work: a call that comes then is counted, and not recorded
//! ```
//!
//! A call that begins at the innermost frame's address or above it proves that the innermost call was left. So one
//! comparison at the begin of a call and one at its end detect every exception; the recorder then repairs it
//! ([`super::open`]).

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering, compiler_fence};

/// Open calls that the header of a log can hold; deeper ones are counted only.
pub const MAX_OPEN_CALLS: usize = 64;
/// Entries of each of the two caches of call paths.
pub const N_CACHED_CALL_PATHS: usize = 64;

/// A clock other than the time-stamp counter; ticks of any length.
pub type ClockFunction = extern "C" fn() -> u64;

/// A call that has begun and not ended.
#[repr(C)]
#[derive(Debug, Default)]
pub struct OpenCall {
    /// Call path; 0 for none. In the upper half, where on the stack it began ([`OpenCall::path`]).
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
    /// [`OPEN_UNTIL_ZERO`]; in older logs the number of open calls.
    pub depth: AtomicU64,
    /// Calls that could not be recorded.
    pub dropped: AtomicU64,
    /// End of the thread's latest call of MPI, clock ticks; 0 without one, or in a log of an earlier version.
    pub mpi_latest: AtomicU64,
    /// The function of MPI that the thread is in, its place in [`super::MpiProxyFunctions::functions`] plus 1; 0 for none, or where the
    /// call is among the open ones.
    pub mpi_function: AtomicU64,
    /// When it was called, clock ticks.
    pub mpi_start: AtomicU64,
    /// Zero; room for later layouts.
    pub reserved: [AtomicU64; 2],
    /// The open calls, outermost first.
    pub open: [OpenCall; MAX_OPEN_CALLS],
}

/// In place of a number of open calls: they end before the first without a path.
pub const OPEN_UNTIL_ZERO: u64 = u64::MAX;

/// The frame of a context without an open call, and of a call that belongs to no place of the stack: above all addresses.
pub(super) const NO_FRAME: i64 = i64::MAX & !(FRAME_ALIGN - 1);

/// Mark among a context's flags, never in a log: the clock is not the time-stamp counter.
pub(super) const OTHER_CLOCK: u64 = 1 << 62;

/// A method as the callee: its summand, added to the caller's path, gives the key of a call path.
pub(super) const fn method_key(id: u32) -> u64 {
    (id as u64) << 32
}

/// Where in the caches the call paths of a method are, bytes.
pub(super) const fn method_slot(id: u32) -> u32 {
    (id as usize % N_CACHED_CALL_PATHS * size_of::<CachedPath>()) as u32
}

/// A call path that is known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedPath {
    /// The caller's path, and [`method_key`] of the method; 0 if unused.
    pub(super) key: u64,
    /// First word of its records, without the number of words and the check.
    pub(super) head: u64,
}

/// How far a stack address is moved to lie in the upper half of an open call's path: the bits above are lost, 32 GiB apart.
pub(super) const FRAME_SHIFT: u32 = 32 - FRAME_ALIGN.ilog2();

impl OpenCall {
    /// Its call path; 0 for none.
    pub fn path(&self) -> u32 {
        self.path.load(Ordering::Acquire) as u32
    }

    /// Whether it began at this stack address.
    pub(super) fn is_at(&self, frame: i64) -> bool {
        let place = (frame as u64) << FRAME_SHIFT;
        self.path.load(Ordering::Relaxed) >> 32 == place >> 32
    }

    /// Where on the stack it began.
    ///
    /// # Arguments
    /// * `near` - an address of the same stack
    pub(super) fn frame(&self, near: i64) -> i64 {
        if self.is_at(NO_FRAME) {
            return NO_FRAME;
        }
        let place = (self.path.load(Ordering::Relaxed) >> 32) as u32;
        let from = ((near as u64) << FRAME_SHIFT >> 32) as u32;
        let apart = place.wrapping_sub(from).cast_signed();
        (near & !(FRAME_ALIGN - 1)) + i64::from(apart) * FRAME_ALIGN
    }
}

/// The context through which one thread appends its records.
///
/// `cursor..end` is writable and mapped from the log; `cells` is the mapped header. A context of all zeros has no
/// room and no cells and is safe to use: a forked child finds such a context.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct RecordingContext {
    /// See the module's head.
    pub(super) frame: AtomicI64,
    /// Current call path; 0 outside of all measured calls.
    pub(super) parent: u64,
    /// [`super::thread_pointer`] of the thread that appends here; 0 while none may find the context by it. Read by other
    /// threads.
    thread_pointer: AtomicUsize,
    /// The recorder that the context is of.
    pub recorder: *const super::Recorder,
    /// Where the header has room for the next open call.
    pub(super) top: *const OpenCall,
    /// Ticks spent in MPI so far by this thread; the MPI proxy adds to it.
    pub mpi_ticks: u64,
    /// Where the next entry goes.
    pub cursor: *mut u64,
    /// End of the mapped chunk.
    pub end: *mut u64,
    /// Address that the first word of the entry stream would have if the chunk's mapping reached back to it.
    pub origin: usize,
    /// Cells of the header.
    pub cells: *const LogCells,
    /// Where that room ends.
    pub(super) top_end: *const OpenCall,
    /// Flags of each record ([`super::word::MPI_MEASURED`]), and [`OTHER_CLOCK`].
    pub(super) flags: u64,
    /// Clock; `None` is the time-stamp counter.
    clock: Option<ClockFunction>,
    /// Open calls that found no room.
    pub(super) n_deeper: u64,
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
    pub reserved: [u64; 5],
    /// Call paths by their method.
    pub(super) paths: [CachedPath; N_CACHED_CALL_PATHS],
    /// Call paths by caller and method, searched if a method is called from several paths, and with another clock.
    other_paths: [CachedPath; N_CACHED_CALL_PATHS],
}

const _: () = assert!(size_of::<RecordingContext>() <= 4096);

impl RecordingContext {
    /// Makes the context of a new log, all zeros so far, one to append through: no call is open.
    ///
    /// # Safety
    /// The cells belong to a mapped log and are valid for as long as the context is appended
    /// through.
    pub unsafe fn open_in(&mut self, cells: *const LogCells) {
        self.cells = cells;
        // SAFETY: required of the caller.
        unsafe {
            let open = (*cells).open.as_ptr_range();
            (self.top, self.top_end) = (open.start, open.end);
            (*cells).depth.store(OPEN_UNTIL_ZERO, Ordering::Relaxed);
        }
        self.frame.store(NO_FRAME, Ordering::Relaxed);
    }

    /// Settings that are the same for all records of the context.
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

    /// The call path with this key, as the first word of its records, where the method's own place has another one.
    pub(super) fn other_path(&self, key: u64) -> Option<u64> {
        let cached = self.other_paths[other_slot(key)];
        (cached.key == key).then_some(cached.head)
    }

    /// Keeps a call path in the caches.
    ///
    /// # Returns
    /// The first word of its records, without the number of words and the check.
    pub(super) fn remember_call_path(&mut self, slot: u32, key: u64, path: u32) -> u64 {
        let head = super::word::record(path, 0, self.flags);
        self.other_paths[other_slot(key)] = CachedPath { key, head };
        self.remember_first(slot, key, head);
        head
    }

    /// Puts a known call path at its method's own place, where the fast path looks. It reads the time-stamp counter
    /// only.
    pub(super) fn remember_first(&mut self, slot: u32, key: u64, head: u64) {
        if self.flags & OTHER_CLOCK == 0 {
            self.paths[slot as usize / size_of::<CachedPath>()] = CachedPath { key, head };
        }
    }

    /// The cached call path of a method.
    ///
    /// # Safety
    /// [`method_slot`] returned the slot.
    #[inline(always)]
    pub(super) unsafe fn cached_path(&self, slot: u32) -> CachedPath {
        // SAFETY: required of the caller: the slot lies within the array, at the begin of an entry.
        unsafe { *(&raw const self.paths).byte_add(slot as usize).cast() }
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

    /// Whether the calling thread appends here; false also after the thread's end has begun.
    #[inline(always)]
    pub(super) fn is_of_thread(&self) -> bool {
        self.seen_by() == super::thread_pointer()
    }

    /// Notes that the code that records begins its work; a signal handler that interrupts it does not record.
    ///
    /// # Arguments
    /// * `mark` - [`begin_mark`] or [`end_mark`] of the call's frame
    #[inline(always)]
    pub(super) fn mark(&self, mark: i64) {
        self.frame.store(mark, Ordering::Relaxed);
        // Values that a handler may change are read after it.
        compiler_fence(Ordering::SeqCst);
    }

    /// Ends that.
    ///
    /// # Arguments
    /// * `frame` - of the call that is the innermost now
    #[inline(always)]
    pub(super) fn unmark(&self, frame: i64) {
        compiler_fence(Ordering::SeqCst);
        self.frame.store(frame, Ordering::Relaxed);
    }

    /// Notes a call as open.
    ///
    /// # Arguments
    /// * `top` - the context's, where there is room
    ///
    /// # Safety
    /// The context has cells.
    #[inline(always)]
    pub(super) unsafe fn push_open_call(
        &mut self,
        top: *const OpenCall,
        path: u32,
        start: u64,
        frame: i64,
    ) {
        let path = u64::from(path) | (frame as u64) << FRAME_SHIFT;
        // SAFETY: the top is below its end.
        unsafe {
            (*top).path.store(path, Ordering::Relaxed);
            (*top).start.store(start, Ordering::Relaxed);
        }
        self.top = top.wrapping_add(1);
    }

    /// Forgets the innermost open call.
    ///
    /// # Arguments
    /// * `top` - its place
    ///
    /// # Safety
    /// It is there.
    #[inline(always)]
    pub(super) unsafe fn pop_open_call(&mut self, top: *const OpenCall) {
        // SAFETY: required of the caller.
        unsafe { &*top }.path.store(0, Ordering::Relaxed);
        self.top = top;
    }
}

/// The place of a call path among those of several callers. The multiplier is 2⁶⁴ divided by the golden ratio.
const fn other_slot(key: u64) -> usize {
    let bits = N_CACHED_CALL_PATHS.ilog2();
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - bits)) as usize
}

/// A stack address is a multiple of this, so a mark can encode which half of the code is at work.
pub(super) const FRAME_ALIGN: i64 = 8;

/// The mark of a call that begins in this frame.
#[inline(always)]
pub(super) const fn begin_mark(frame: i64) -> i64 {
    !frame
}

/// The mark of a call that ends in this frame.
#[inline(always)]
pub(super) const fn end_mark(frame: i64) -> i64 {
    frame.wrapping_neg()
}

/// The frame of a mark, and whether its call begins; `None` for a frame.
pub(super) const fn marked(mark: i64) -> Option<(i64, bool)> {
    if mark >= 0 {
        return None;
    }
    let (begun, ended) = (!mark, mark.wrapping_neg());
    if begun % FRAME_ALIGN == 0 {
        Some((begun, true))
    } else {
        Some((ended, false))
    }
}

/// The stack address of the calling function.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn stack_address() -> i64 {
    let address: i64;
    // SAFETY: it reads one register.
    unsafe {
        std::arch::asm!(
            "mov {}, rsp", out(reg) address, options(nomem, nostack, preserves_flags)
        );
    }
    address
}

/// As above, with the address of a variable.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn stack_address() -> i64 {
    let here = 0_u64;
    (&raw const here).addr() as i64 & !(FRAME_ALIGN - 1)
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
