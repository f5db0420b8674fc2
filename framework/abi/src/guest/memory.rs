//! Memory of our own, for a library that is loaded into a foreign program.
//!
//! The program's `malloc` may be any, and a signal handler that calls a function of ours may have interrupted it: code
//! that then asks it for memory deadlocks, or finds its lists half changed. [`Memory`] asks the system alone. While its
//! lists change, no signal is handled in that thread.
//!
//! ```text
//! up to 64 KiB      a power of two, from the list of its size, else from a region of a megabyte; given back to the list
//! more              pages of its own, given back to the system
//! ```

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{ARE_SIGNALS_BLOCKED, block_signals, restore_signals};

/// Smallest piece, bytes: a power of two with room for a pointer.
const SMALLEST_BYTES: usize = 32;
/// Largest piece that comes from a list, bytes. Arbitrary: larger requests are rare.
const LARGEST_BYTES: usize = 64 << 10;
const N_SIZES: usize = (LARGEST_BYTES / SMALLEST_BYTES).ilog2() as usize + 1;
/// Bytes that are requested from the system at a time; untouched pages occupy no memory.
const REGION_BYTES: usize = 1 << 20;
/// Smallest page of a processor.
const PAGE_BYTES: usize = 4096;

/// A piece in no use, which holds the next one.
struct Free(*mut Free);

struct Lists {
    /// By size.
    free: [*mut Free; N_SIZES],
    /// Rest of the latest region.
    next: usize,
    end: usize,
    /// Signals that a thread which forks had blocked.
    before_fork: MaybeUninit<libc::sigset_t>,
}

struct Locked {
    is_locked: AtomicBool,
    lists: UnsafeCell<Lists>,
}

// SAFETY: only the thread that holds the lock uses the lists.
unsafe impl Sync for Locked {}

static LOCKED: Locked = Locked {
    is_locked: AtomicBool::new(false),
    lists: UnsafeCell::new(Lists {
        free: [ptr::null_mut(); N_SIZES],
        next: 0,
        end: 0,
        before_fork: MaybeUninit::uninit(),
    }),
};

impl Locked {
    fn lock(&self) {
        let lock = || {
            let order = (Ordering::Acquire, Ordering::Relaxed);
            self.is_locked
                .compare_exchange_weak(false, true, order.0, order.1)
                .is_ok()
        };
        while !lock() {
            // SAFETY: no memory is touched.
            unsafe { libc::sched_yield() };
        }
    }

    fn unlock(&self) {
        self.is_locked.store(false, Ordering::Release);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Lists) -> T) -> T {
        let before = (!ARE_SIGNALS_BLOCKED.get()).then(block_signals);
        self.lock();
        // SAFETY: the lock is held, and no handler of this thread runs meanwhile.
        let done = act(unsafe { &mut *self.lists.get() });
        self.unlock();
        if let Some(before) = before {
            restore_signals(&before);
        }
        done
    }
}

impl Lists {
    fn take(&mut self, size: usize) -> *mut u8 {
        let piece = self.free[size];
        if !piece.is_null() {
            // SAFETY: a piece in the list has no user, and contains the next one.
            self.free[size] = unsafe { (*piece).0 };
            return piece.cast();
        }
        let bytes = SMALLEST_BYTES << size;
        let mut next = self.next.next_multiple_of(bytes);
        if next + bytes > self.end {
            let region = map(REGION_BYTES);
            if region.is_null() {
                return region;
            }
            next = region.addr().next_multiple_of(bytes);
            self.end = region.addr() + REGION_BYTES;
        }
        self.next = next + bytes;
        ptr::with_exposed_provenance_mut(next)
    }

    /// # Safety
    /// The piece is of this size and has no user any more.
    unsafe fn give_back(&mut self, piece: *mut u8, size: usize) {
        let piece: *mut Free = piece.cast();
        // SAFETY: required of the caller; every piece has room for a pointer.
        unsafe { *piece = Free(self.free[size]) };
        self.free[size] = piece;
    }
}

/// New pages, or null.
fn map(bytes: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new private mapping.
    let map = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    match map {
        libc::MAP_FAILED => ptr::null_mut(),
        map => {
            map.expose_provenance();
            map.cast()
        }
    }
}

/// Which list a piece is from; `None` for pages of its own.
fn size_of(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(SMALLEST_BYTES);
    let size = (bytes.next_power_of_two() / SMALLEST_BYTES).ilog2() as usize;
    (size < N_SIZES).then_some(size)
}

/// Memory that no `malloc` knows of, for `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Memory;

impl Memory {
    /// Lets a forked child find the lists whole; once, before the first fork.
    pub fn prepare_for_forks() {
        // SAFETY: the functions only lock, unlock, and block signals.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
    }
}

unsafe extern "C" fn before_fork() {
    let before = block_signals();
    LOCKED.lock();
    // SAFETY: the lock is held.
    unsafe { (*LOCKED.lists.get()).before_fork.write(before) };
}

unsafe extern "C" fn after_fork() {
    // SAFETY: the lock is held since `before_fork`, by this thread or by its copy in the child.
    let before = unsafe { (*LOCKED.lists.get()).before_fork.assume_init() };
    LOCKED.unlock();
    restore_signals(&before);
}

// SAFETY: pieces have the requested size and alignment, and have one user at a time.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match size_of(layout) {
            Some(size) => LOCKED.with(|lists| lists.take(size)),
            None if layout.align() <= PAGE_BYTES => map(layout.size()),
            None => ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: required of the caller.
        let piece = unsafe { self.alloc(layout) };
        if size_of(layout).is_some() && !piece.is_null() {
            // SAFETY: it is as large.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match size_of(layout) {
            // SAFETY: required of the caller.
            Some(size) => LOCKED.with(|lists| unsafe { lists.give_back(piece, size) }),
            None => {
                // SAFETY: its own pages.
                unsafe { libc::munmap(piece.cast(), layout.size()) };
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller has checked the size.
        let larger = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        match (size_of(layout), size_of(larger)) {
            (Some(before), Some(after)) if before == after => return piece,
            (None, None) => {
                // SAFETY: its own pages.
                let moved = unsafe {
                    libc::mremap(piece.cast(), layout.size(), bytes, libc::MREMAP_MAYMOVE)
                };
                return match moved {
                    libc::MAP_FAILED => ptr::null_mut(),
                    moved => moved.cast(),
                };
            }
            _ => {}
        }
        // SAFETY: required of the caller; the pieces do not overlap.
        unsafe {
            let moved = self.alloc(larger);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(piece, moved, layout.size().min(bytes));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).unwrap()
    }

    #[test]
    fn pieces_are_aligned_apart_and_used_again() {
        let sizes = [
            1,
            24,
            32,
            33,
            100,
            4096,
            5000,
            LARGEST_BYTES,
            LARGEST_BYTES + 1,
            3 << 20,
        ];
        let mut pieces = Vec::new();
        for (fill, bytes) in (1_u8..).zip(sizes.iter().copied().cycle().take(200)) {
            let layout = layout(bytes, if bytes > 64 { 64 } else { 8 });
            // SAFETY: the layout has a size, and the piece is filled within it.
            let piece = unsafe {
                let piece = Memory.alloc_zeroed(layout);
                assert!(!piece.is_null() && piece.addr().is_multiple_of(layout.align()));
                let all = std::slice::from_raw_parts(piece, bytes);
                assert!(all.iter().all(|byte| *byte == 0));
                piece.write_bytes(fill, bytes);
                piece
            };
            pieces.push((piece, layout, fill));
        }
        for (piece, layout, fill) in pieces {
            // SAFETY: a piece of above, given back once.
            unsafe {
                let all = std::slice::from_raw_parts(piece, layout.size());
                assert!(all.iter().all(|byte| *byte == fill));
                Memory.dealloc(piece, layout);
            }
        }
        let small = layout(40, 8);
        // SAFETY: as above.
        unsafe {
            let first = Memory.alloc(small);
            Memory.dealloc(first, small);
            let again = Memory.alloc(small);
            Memory.dealloc(again, small);
        }
    }

    #[test]
    fn a_piece_that_grows_keeps_what_it_holds() {
        let mut bytes = 24;
        // SAFETY: each layout is the piece's layout at that time.
        unsafe {
            let mut piece = Memory.alloc(layout(bytes, 8));
            piece.write_bytes(7, bytes);
            while bytes < 1 << 20 {
                let more = bytes * 3;
                piece = Memory.realloc(piece, layout(bytes, 8), more);
                let all = std::slice::from_raw_parts(piece, 24);
                assert!(all.iter().all(|byte| *byte == 7), "{bytes} to {more}");
                bytes = more;
            }
            Memory.dealloc(piece, layout(bytes, 8));
        }
    }

    #[test]
    fn threads_share_the_lists() {
        std::thread::scope(|scope| {
            for thread in 1..=4_u8 {
                scope.spawn(move || {
                    let layout = layout(48, 8);
                    for _ in 0..20_000 {
                        // SAFETY: as above.
                        unsafe {
                            let piece = Memory.alloc(layout);
                            piece.write_bytes(thread, 48);
                            assert_eq!(*piece.add(47), thread);
                            Memory.dealloc(piece, layout);
                        }
                    }
                });
            }
        });
    }
}
