//! Prefetches what the next visits need while the present one goes on: the state of many processes is larger than the
//! caches, and each visit would begin by waiting for it.

use crate::engine::programs::run::Engine;
use crate::events::messages::NIL;
use crate::events::prefetch::{prefetch, prefetch_all};

/// How many visits ahead the state of a process is fetched, how many the messages that it names, and how many the message behind
/// the first that came.
const STATE_AHEAD: usize = 5;
const MESSAGES_AHEAD: usize = 2;
const NEXT_AHEAD: usize = 1;

/// Fewer processes than these lie in the caches as they are.
const MIN_PROCESSES: usize = 2048;

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
            for index in [self.inbox(next), p.arrivals, p.waiting[0], p.unexpected] {
                if index != NIL {
                    prefetch(self.pool.get(index));
                }
            }
        }
        if let Some(next) = self.calendar.upcoming(NEXT_AHEAD) {
            let inbox = self.inbox(next);
            if inbox != NIL {
                let behind = self.pool.get(inbox).next;
                if behind != NIL {
                    prefetch(self.pool.get(behind));
                }
            }
        }
    }

    #[inline]
    fn inbox(&self, process: u32) -> u32 {
        let mailboxes = self.mailboxes.as_ref();
        mailboxes.map_or(NIL, |mailboxes| mailboxes.inbox(process))
    }

    #[inline]
    fn prefetch_state(&self, process: u32) {
        self.calendar.prefetch(process);
        if let Some(mailboxes) = &self.mailboxes {
            mailboxes.prefetch(process);
        }
        if let Some(horizons) = &self.horizons {
            horizons.prefetch(process);
        }
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
