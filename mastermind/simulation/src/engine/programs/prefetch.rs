//! Prefetches the state for the next visits during the present one: the state of many processes is larger than the
//! caches, and each visit would begin by waiting for it.

use crate::engine::programs::run::Engine;
use crate::events::messages::NIL;
use crate::events::prefetch::{prefetch, prefetch_all};

/// How many visits ahead the state of a process is fetched, and how many the messages that it names.
const STATE_AHEAD: usize = 5;
const MESSAGES_AHEAD: usize = 2;

/// Fewer processes than these fit into the caches.
pub(crate) const MIN_PROCESSES: usize = 2048;

impl Engine<'_> {
    /// Prefetches the state of the processes to be visited after the present one.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if self.processes.len() < MIN_PROCESSES {
            return;
        }
        if let Some(later) = self.calendar.upcoming(STATE_AHEAD) {
            self.prefetch_state(later);
        }
        if let Some(next) = self.calendar.upcoming(MESSAGES_AHEAD) {
            let p = &self.processes[next as usize];
            for index in [p.arrivals, p.waiting[0], p.unexpected] {
                if index != NIL {
                    prefetch(self.pool.get(index));
                }
            }
        }
    }

    #[inline]
    fn prefetch_state(&self, process: u32) {
        self.calendar.prefetch(process);
        let process = process as usize;
        let state = &self.processes[process];
        prefetch(state);
        prefetch(&state.unexpected);
        self.posted_lines
            .get(process)
            .into_iter()
            .for_each(prefetch);
        prefetch_all(&self.slots[process * self.width..(process + 1) * self.width]);
        let elements = self.elements.len();
        prefetch_all(&self.counts[process * elements..(process + 1) * elements]);
    }
}
