//! Fetches what the next visits need while the present one goes on: the state of many processes is
//! larger than the caches, and each visit would begin by waiting for it.

use crate::engine::programs::run::Engine;
use crate::events::messages::NIL;
use crate::events::prefetch::{prefetch, prefetch_all};

impl Engine<'_> {
    /// Fetches the state of the processes to be visited after the present one.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(next) = self.calendar.upcoming(0) {
            let arrivals = self.processes[next as usize].arrivals;
            if arrivals != NIL {
                prefetch(self.pool.get(arrivals));
            }
        }
        let Some(later) = self.calendar.upcoming(1) else {
            return;
        };
        let at = later as usize;
        self.fetch_process(at);
        prefetch_all(&self.slots[at * self.width..(at + 1) * self.width]);
        let elements = self.elements.len();
        prefetch_all(&self.counts[at * elements..(at + 1) * elements]);
    }

    #[inline]
    fn fetch_process(&self, process: usize) {
        let process = &self.processes[process];
        prefetch(process);
        prefetch(&process.unexpected);
    }
}
