//! State of a process that its senders need, and the time of its next visit.

use crate::engine::programs::eager::code::Step;
use crate::engine::programs::eager::visit::EagerState;
use crate::engine::programs::horizon::{ALL, Bound, NONE, UNKNOWN_SENDER};
use crate::engine::programs::process::WaitState;
use crate::engine::programs::ranks::ProcessView;
use crate::engine::programs::ranks::Rank;
use crate::events::NEVER;
use crate::events::heap::{Order, PairingHeaps};
use crate::events::messages::{ANYBODY, Message, NIL};
use crate::events::prefetch::prefetch;
use mastermind_programs::expression::{Compiled, Context};
use mastermind_programs::{Mode, NOBODY};

/// In place of a number of messages: none wakes the process, which is visited when its operation is due, or has ended.
const NO_MESSAGE: u32 = u32::MAX;

/// Messages that came to a process since its last visit, and the event that wakes it. The table of all stays in the
/// caches at 100,000 ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mailbox {
    /// The earliest time at which the process continues, given the messages that came since its last visit.
    at_ns: u64,
    /// The sender whose messages count, or [`ANYBODY`].
    peer: u32,
    /// How many more messages it needs, or [`NO_MESSAGE`].
    missing: u32,
    /// The last message that came since its last visit, or [`NIL`]; a list, the latest first.
    pub(super) inbox: u32,
}

impl Default for Mailbox {
    fn default() -> Self {
        Self {
            at_ns: 0,
            peer: ANYBODY,
            missing: NO_MESSAGE,
            inbox: NIL,
        }
    }
}

impl EagerState<'_> {
    /// Moves messages that came since the last visit into the heap of arrivals.
    #[inline(always)]
    pub(super) fn take_in(&mut self, view: &mut ProcessView<'_>) {
        let inbox = &mut self.mailboxes[view.process as usize].inbox;
        let mut index = std::mem::replace(inbox, NIL);
        let mut n_present = 0;
        while index != NIL {
            let next = self.pool.get(index).next;
            view.rank.arrivals = self.pool.push(view.rank.arrivals, index, Order::Arrival);
            n_present += 1;
            index = next;
        }
        if let Some(line) = &mut view.posted {
            line.n_present += n_present;
        }
    }

    /// Sends a message to a process, and updates the earliest time of an answer if that is needed.
    #[inline]
    pub(super) fn post(&mut self, to: u32, message: Message) -> u64 {
        self.totals.messages += 1;
        let is_own = to == message.peer;
        let index = self.pool.add(message);
        match &mut self.outbox {
            Some(outbox) if !is_own => {
                prefetch(&self.mailboxes[to as usize]);
                outbox.push_back((to, index));
                NEVER
            }
            _ => self.deliver(to, index),
        }
    }

    /// Delivers the posted messages, the oldest first, until a given number is left. None arrives in the window in which it
    /// was sent, so its receiver's mailbox, which is seldom in the caches, has time to be fetched.
    #[inline]
    pub(super) fn deliver_but(&mut self, n_left: usize) {
        while let Some(outbox) = &mut self.outbox
            && outbox.len() > n_left
            && let Some((to, index)) = outbox.pop_front()
        {
            self.deliver(to, index);
        }
    }

    /// Puts a message into its receiver's mailbox: when an answer may come at the earliest.
    #[inline]
    fn deliver(&mut self, to: u32, index: u32) -> u64 {
        let mailbox = &mut self.mailboxes[to as usize];
        let next = std::mem::replace(&mut mailbox.inbox, index);
        let message = self.pool.get_mut(index);
        message.next = next;
        let (at, peer, receive_ns) = (message.at, message.peer, message.load.times().0);
        if mailbox.missing == NO_MESSAGE || (mailbox.peer != ANYBODY && mailbox.peer != peer) {
            return NEVER;
        }
        if mailbox.missing == 0 {
            // Those that came before are enough; this one may be earlier.
            self.calendar.visit(to, at);
        } else {
            mailbox.at_ns = mailbox.at_ns.max(at);
            mailbox.missing -= 1;
            if mailbox.missing == 0 {
                self.calendar.visit(to, mailbox.at_ns);
            }
        }
        let Some(horizons) = &mut self.horizons else {
            return NEVER;
        };
        let goes_on = at.max(horizons.bounds[to as usize].ns) + receive_ns;
        horizons.note_arrival(to, peer, goes_on).unwrap_or(NEVER)
    }

    /// Stores when a process may send next and what wakes it, and schedules its visit for then.
    ///
    /// # Arguments
    /// * `comes_ns` - when it can take its next message, if it waits for one
    #[inline(always)]
    pub(super) fn leave(&mut self, view: &mut ProcessView<'_>, comes_ns: u64) {
        let process = view.process;
        view.slots
            .copy_from_slice(self.scratch.slots(view.slots.len()));
        let rank = &*view.rank;
        let (mut peer, mut missing) = (ANYBODY, NO_MESSAGE);
        let (mut at_ns, mut via, mut next) = (rank.processor, NONE, NEVER);
        // When it sends next at the earliest.
        let mut goes_on = rank.processor;
        match rank.wait_state {
            WaitState::Ended => goes_on = NEVER,
            WaitState::Ready => {
                next = rank.due.max(rank.processor);
                goes_on = next;
            }
            WaitState::Receive if rank.peer != ANYBODY => match self.first_from(rank, rank.peer) {
                Some(NIL) => {
                    (peer, missing) = (rank.peer, 1);
                    let horizons = self.horizons.as_ref();
                    let place = horizons.and_then(|horizons| horizons.place_of(peer, process));
                    via = place.unwrap_or(UNKNOWN_SENDER);
                }
                Some(index) => {
                    let message = self.pool.get(index);
                    next = message.at.max(rank.free());
                    goes_on = next + message.load.times().0;
                }
                None => (via, next) = (UNKNOWN_SENDER, comes_ns),
            },
            _ => {
                via = UNKNOWN_SENDER;
                let needed = self.needed(rank);
                at_ns += u64::from(needed.saturating_sub(1)) * self.least_receive_ns;
                let line = view.posted.as_ref();
                let n_present = line.map_or(u32::from(comes_ns != NEVER), |line| line.n_present);
                missing = needed.saturating_sub(n_present);
                if missing == 0 {
                    next = comes_ns.max(at_ns);
                }
                goes_on = at_ns;
            }
        }
        self.mailboxes[process as usize] = Mailbox {
            at_ns,
            peer,
            missing,
            inbox: NIL,
        };
        if self.horizons.is_some() {
            self.keep_bound(view, (goes_on, via));
        }
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    #[inline]
    fn keep_bound(&mut self, view: &mut ProcessView<'_>, (ns, via): (u64, u8)) {
        if view.rank.is_redirected {
            view.rank.receivers = self.receivers(view);
            view.rank.is_redirected = false;
        }
        if let Some(horizons) = &mut self.horizons {
            horizons.bounds[view.process as usize] = Bound {
                ns,
                at: view.rank.at,
                via,
                to: view.rank.receivers,
            };
        }
    }

    /// Ranks that a process may send to as long as its variables keep their values, in the form of
    /// [`Bound`].
    #[cold]
    fn receivers(&self, view: &ProcessView<'_>) -> u8 {
        let Some(horizons) = &self.horizons else {
            return ALL;
        };
        let mut receivers = 0;
        for to in &self.code.receivers {
            let to = self.evaluate(view, to);
            if to == NOBODY {
                continue;
            }
            match self
                .rank(to)
                .and_then(|to| horizons.place_of(view.process, to))
            {
                Some(place) => receivers |= 1 << place,
                // To itself, or to a rank that gets no message before the variable is set.
                None => return ALL,
            }
        }
        receivers
    }

    /// How many messages a process needs at least that waits for any, or for its nonblocking receives.
    #[inline]
    fn needed(&self, rank: &Rank) -> u32 {
        match self.code.steps[rank.at as usize] {
            Step::Wait { mode, .. } => u32::from(rank.pending[usize::from(mode == Mode::Internal)]),
            _ => 1,
        }
    }

    /// The first message for a process that comes from `peer`, or [`NIL`]; `None` if there are too many to search.
    #[inline]
    fn first_from(&self, rank: &Rank, peer: u32) -> Option<u32> {
        match self.pool.first_from(rank.waiting, peer, Order::TieBreak)? {
            NIL => self.pool.first_from(rank.arrivals, peer, Order::Arrival),
            found => Some(found),
        }
    }

    #[inline(never)]
    pub(super) fn evaluate(&self, view: &ProcessView<'_>, expression: &Compiled) -> f64 {
        expression.evaluate(&Context {
            slots: self.scratch.slots(view.slots.len()),
            process: f64::from(view.process),
            thread: 0.0,
            threads: 1.0,
            node: f64::from(view.process / self.per_node),
        })
    }
}
