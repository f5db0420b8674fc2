//! A table that one thread has for itself as long as no other wants it.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::time::Duration;

use cca_abi::recording::thread_pointer;

/// A table, and the right to access it: one thread alone as long as no other wants to, then the thread that
/// takes the lock.
///
/// An atomic instruction of the processor waits until all earlier stores, such as those of records in fresh memory, are
/// in the cache. Most programs call MPI from one thread, which needs none: it marks that it is inside, and checks once
/// more whether the table is still its own. A second thread makes the table shared for good, has the kernel put a
/// barrier into all threads (`membarrier`), and waits until the owner is out: either the owner has marked that it is
/// inside, or it sees that the table is not its own.
pub(crate) struct Shared<T> {
    /// [`thread_pointer`] of the owner; [`NOBODYS`], or [`EVERYBODYS`] for good.
    owner: AtomicUsize,
    is_owner_inside: AtomicBool,
    is_taken: AtomicBool,
    table: UnsafeCell<T>,
}

/// No thread pointer, as is the other.
const NOBODYS: usize = 0;
const EVERYBODYS: usize = 1;

// SAFETY: only its owner, or the thread with the lock, accesses the table.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) const fn new(table: T) -> Self {
        Self {
            owner: AtomicUsize::new(NOBODYS),
            is_owner_inside: AtomicBool::new(false),
            is_taken: AtomicBool::new(false),
            table: UnsafeCell::new(table),
        }
    }

    #[inline(always)]
    pub(crate) fn enter(&self) -> TableGuard<'_, T> {
        let thread = thread_pointer();
        let seems_owner = self.owner.load(Ordering::Relaxed) == thread;
        if seems_owner && self.enter_as_owner(thread) {
            return TableGuard {
                shared: self,
                is_owner: true,
            };
        }
        self.take(thread)
    }

    /// Enters as the owner, if the calling thread still is the owner.
    #[inline(always)]
    fn enter_as_owner(&self, thread: usize) -> bool {
        self.is_owner_inside.store(true, Ordering::Relaxed);
        // The processor may still swap these two; `membarrier` is for that.
        compiler_fence(Ordering::SeqCst);
        let is_owner = self.owner.load(Ordering::Acquire) == thread;
        if !is_owner {
            self.is_owner_inside.store(false, Ordering::Release);
        }
        is_owner
    }

    /// Takes the table for a thread that it does not belong to.
    #[cold]
    #[inline(never)]
    fn take(&self, thread: usize) -> TableGuard<'_, T> {
        while self.is_taken.swap(true, Ordering::Acquire) {
            while self.is_taken.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
        // Only the thread with the lock changes the owner.
        let owner = self.owner.load(Ordering::Relaxed);
        if owner == NOBODYS {
            let is_ready = membarrier(REGISTER_PRIVATE_EXPEDITED);
            let owner = if is_ready { thread } else { EVERYBODYS };
            self.owner.store(owner, Ordering::Release);
        } else if owner != EVERYBODYS {
            self.owner.store(EVERYBODYS, Ordering::SeqCst);
            if !membarrier(PRIVATE_EXPEDITED) {
                // The call has been forbidden since the registration. Stores of a running thread are visible long before
                // the end of the sleep, and any other thread has passed a barrier.
                std::thread::sleep(Duration::from_millis(1));
            }
            while self.is_owner_inside.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
        TableGuard {
            shared: self,
            is_owner: false,
        }
    }
}

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED` of `linux/membarrier.h`: a barrier in each running thread of this process.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
/// `MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED`: this process will ask for that.
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Whether the kernel does this.
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the system call takes a command, flags and a processor, and touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// The table, for one thread as long as this lives.
pub(crate) struct TableGuard<'a, T> {
    shared: &'a Shared<T>,
    is_owner: bool,
}

impl<T> Deref for TableGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: no other thread is inside.
        unsafe { &*self.shared.table.get() }
    }
}

impl<T> DerefMut for TableGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: no other thread is inside.
        unsafe { &mut *self.shared.table.get() }
    }
}

impl<T> Drop for TableGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let inside = match self.is_owner {
            true => &self.shared.is_owner_inside,
            false => &self.shared.is_taken,
        };
        inside.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of a loop that a thread stays inside for.
    const PAUSE: usize = 400;

    /// Adds 1 as often to the number, which is lost where two are inside.
    fn add(table: &Shared<usize>, times: usize) {
        for _ in 0..times {
            let mut held = table.enter();
            let number = *held;
            (0..PAUSE).for_each(|_| std::hint::spin_loop());
            *held = number + 1;
        }
    }

    #[test]
    fn threads_that_come_later_share_the_table() {
        for round in 0..100 {
            let table = Shared::new(0);
            let is_started = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        while !is_started.load(Ordering::Acquire) {
                            std::hint::spin_loop();
                        }
                        add(&table, 20);
                    });
                }
                add(&table, round);
                is_started.store(true, Ordering::Release);
                add(&table, 60);
            });
            let held = table.enter();
            assert_eq!(*held, round + 60 + 2 * 20);
            assert!(!held.is_owner, "three threads were inside");
        }
    }

    #[test]
    fn one_thread_alone_is_the_owner() {
        let table = Shared::new(());
        drop(table.enter());
        assert!(table.enter().is_owner);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(!table.enter().is_owner));
        });
        assert!(!table.enter().is_owner, "it is everybody's for good");
    }
}
