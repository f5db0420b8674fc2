//! Prefetches what the next visits need while the present one goes on: the state of many processes is larger than the
//! caches, and each visit would begin by waiting for it.

use crate::engine::programs::run::Engine;
use crate::events::messages::NIL;
use crate::events::prefetch::{prefetch, prefetch_all};

/// How many visits ahead the state of a process is fetched, and how many the messages that it names.
const STATE_AHEAD: usize = 4;
const MESSAGES_AHEAD: usize = 1;

impl Engine<'_> {
    /// Prefetches the state of the processes to be visited after the present one.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(later) = self.calendar.upcoming(STATE_AHEAD) {
            self.prefetch_state(later as usize);
        }
        if let Some(next) = self.calendar.upcoming(MESSAGES_AHEAD) {
            let inbox = self
                .mailboxes
                .as_ref()
                .map_or(NIL, |boxes| boxes.inbox(next));
            let p = &self.processes[next as usize];
            for index in [inbox, p.arrivals, p.waiting[0], p.unexpected] {
                if index != NIL {
                    prefetch(self.pool.get(index));
                }
            }
        }
    }

    #[inline]
    fn prefetch_state(&self, process: usize) {
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
