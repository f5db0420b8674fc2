//! Prefetches the state for the next events during the present one: the needed state of ranks and operations
//! is larger than the nearer caches, and each event would begin by waiting for it.

use crate::engine::schedules::{CALLED, DATA, EAGER, OP, Run, WHAT};
use crate::events::prefetch::prefetch;
use crate::events::queue::Entry;
use crate::loggp::MessagePart;
use mastermind_programs::goal::{Kind, Schedule};

/// Maximum number of events of a bucket that are prefetched together: with more, the first ones would be
/// evicted again.
const MAX_EVENTS: usize = 64;

/// See [`DATA`].
const CLEAR_TO_SEND: u64 = MessagePart::ClearToSend as u64;

/// Number of following operations of an event.
const BEHIND: usize = 3;

impl Run<'_, '_> {
    /// Before each event.
    #[inline]
    pub(super) fn prefetch(&mut self) {
        if self.queue.has_turned() {
            self.prefetch_buckets();
        }
        let present = self.queue.present();
        if present.len() > MAX_EVENTS {
            let upcoming = |after: usize| &present[present.len() - 1 - after];
            self.prefetch_rank(upcoming(8));
            self.prefetch_operation(upcoming(5));
            self.prefetch_receiver(upcoming(2));
        }
    }

    /// When a bucket begins, prefetches the ranks of the bucket behind the next one, then the operations of the
    /// next one.
    fn prefetch_buckets(&self) {
        let [next, later] = self.queue.ahead();
        later
            .iter()
            .take(MAX_EVENTS)
            .for_each(|entry| self.prefetch_rank(entry));
        next.iter()
            .take(MAX_EVENTS)
            .for_each(|entry| self.prefetch_operation(entry));
    }

    #[inline]
    fn prefetch_rank(&self, entry: &Entry) {
        prefetch(&self.ranks[entry.rank as usize]);
        if entry.key & WHAT == DATA {
            prefetch(&self.ranks[entry.peer as usize]);
        }
    }

    /// State that an event changes in addition to its rank, which is in the caches.
    #[inline]
    fn prefetch_operation(&self, entry: &Entry) {
        let rank = &self.ranks[entry.rank as usize];
        let firsts = self.pool.firsts(&rank.waiting);
        firsts.into_iter().flatten().for_each(prefetch);
        if entry.key & CALLED != 0 {
            self.deferred.prefetch(entry.rank);
        }
        let Schedule {
            ops, dependents, ..
        } = &self.schedule;
        if entry.key & WHAT == DATA {
            let place = self.place_of(entry.peer, entry.op);
            ops.place(place).into_iter().for_each(prefetch);
        }
        if let Some(op) = self.operation_of(entry) {
            // And those behind it, which are often in the same line of the cache.
            let place = rank.first_op + op as usize;
            let places = [place, place + BEHIND].into_iter();
            places
                .filter_map(|place| ops.place(place))
                .for_each(prefetch);
            dependents.place(place).into_iter().for_each(prefetch);
        }
    }

    /// The operation of its rank that begins with an event, or ends, as far as that is known.
    #[inline]
    fn operation_of(&self, entry: &Entry) -> Option<u32> {
        match entry.key & WHAT {
            OP | CLEAR_TO_SEND => Some(entry.op),
            DATA => Some(entry.other),
            _ => self.ranks[entry.rank as usize].waiting.only_posted(),
        }
    }

    /// The rank that an event sends to, the events that wait in line with it, and a receive that may
    /// be for it.
    #[inline]
    fn prefetch_receiver(&self, entry: &Entry) {
        if entry.key & CALLED != 0 {
            self.deferred.prefetch_firsts(entry.rank);
        }
        match entry.key & WHAT {
            OP => {
                let op = self.op(entry.rank, entry.op);
                if op.kind == Kind::Send {
                    prefetch(&self.ranks[op.peer as usize]);
                }
            }
            EAGER => {
                let rank = &self.ranks[entry.rank as usize];
                if let [_, Some(posted)] = self.pool.firsts(&rank.waiting) {
                    // Those behind it are mostly in the same line of the cache.
                    let place = rank.first_op + posted.op() as usize;
                    self.schedule
                        .ops
                        .place(place)
                        .into_iter()
                        .for_each(prefetch);
                    let dependents = self.schedule.dependents.place(place);
                    dependents.into_iter().for_each(prefetch);
                }
            }
            _ => {}
        }
    }
}
