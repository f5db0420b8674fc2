//! Fetches what the next events need while the present one goes on: what they need of ranks and operations is
//! larger than the nearer caches, and each event would begin by waiting for it.

use super::super::queue::Entry;
use super::super::schedule::Kind;
use super::{OP, Run, WHAT};
use crate::engine::fetch;

/// Most events of a bucket that are looked at together: of more, the first ones would be forgotten again.
const MOST: usize = 64;

/// Operations that an event goes on to.
const BEHIND: usize = 3;

impl Run<'_> {
    /// Before each event.
    #[inline]
    pub(super) fn warm(&mut self) {
        if self.queue.has_turned() {
            self.warm_buckets();
        }
        let present = self.queue.present();
        if present.len() > MOST {
            let upcoming = |after: usize| &present[present.len() - 1 - after];
            self.warm_rank(upcoming(8));
            self.warm_operation(upcoming(5));
            self.warm_receiver(upcoming(2));
        }
    }

    /// A bucket is begun: of the one behind the next one the ranks are fetched, so that the operations of the next
    /// one are found, and so that those of this one tell to whom they send.
    fn warm_buckets(&self) {
        let [next, later] = self.queue.ahead();
        later
            .iter()
            .take(MOST)
            .for_each(|entry| self.warm_rank(entry));
        next.iter()
            .take(MOST)
            .for_each(|entry| self.warm_operation(entry));
        let present = self.queue.present();
        if present.len() <= MOST {
            present.iter().for_each(|entry| self.warm_receiver(entry));
        }
    }

    #[inline]
    fn warm_rank(&self, entry: &Entry) {
        fetch(&self.ranks[entry.rank as usize]);
    }

    /// What an event changes beside its rank, which is there.
    #[inline]
    fn warm_operation(&self, entry: &Entry) {
        let rank = &self.ranks[entry.rank as usize];
        if let Some(early) = self.pool.first_early(&rank.waiting) {
            fetch(early);
        }
        let op = match entry.key & WHAT {
            OP => entry.op,
            _ => match rank.waiting.only_posted() {
                Some(op) => op,
                None => return,
            },
        };
        // And those behind it, which are often in the same line of the cache.
        let place = rank.first_op + op as usize;
        for place in [place, place + BEHIND] {
            self.schedule.ops.place(place).into_iter().for_each(fetch);
        }
    }

    /// The rank that an event sends to.
    #[inline]
    fn warm_receiver(&self, entry: &Entry) {
        if entry.key & WHAT == OP {
            let op = self.op(entry.rank, entry.op);
            if op.kind == Kind::Send {
                fetch(&self.ranks[op.peer as usize]);
            }
        }
    }
}
