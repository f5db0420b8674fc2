//! Fetches what the next visits need while the present one goes on: the state of many processes is
//! larger than the caches, and each visit would begin by waiting for it.

use super::messages::NIL;
use super::run::Engine;

impl Engine<'_> {
    /// Fetches the state of the processes to be visited after the present one.
    #[inline]
    pub(super) fn warm(&self) {
        if let Some(next) = self.calendar.upcoming(0) {
            let arrivals = self.processes[next as usize].arrivals;
            if arrivals != NIL {
                fetch(self.pool.get(arrivals));
            }
        }
        let Some(later) = self.calendar.upcoming(1) else {
            return;
        };
        let at = later as usize;
        self.fetch_process(at);
        fetch_all(&self.slots[at * self.width..(at + 1) * self.width]);
        let elements = self.elements.len();
        fetch_all(&self.counts[at * elements..(at + 1) * elements]);
    }

    #[inline]
    fn fetch_process(&self, process: usize) {
        let process = &self.processes[process];
        fetch(process);
        fetch(&process.early);
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

#[inline]
pub(super) fn fetch_all<T>(items: &[T]) {
    let step = (LINE / size_of::<T>()).max(1);
    items.iter().step_by(step).for_each(fetch);
    items.last().into_iter().for_each(fetch);
}

/// Asks for the cache line of an item.
#[inline]
pub(crate) fn fetch<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a reference; a fetch changes no memory and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
