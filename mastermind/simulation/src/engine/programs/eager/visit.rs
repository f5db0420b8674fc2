//! Events at a process from one visit to the next.
//!
//! A visit runs all events of one process that are certain. The next event is the process's own
//! operation or the first message that has arrived, whichever is earlier; it is certain if no
//! message that has not been sent yet can come before it. That holds up to the end of the window,
//! and with a table of who may send when (`horizon`) often far beyond.
//!
//! ```text
//! window [0, 4000)                       event at     certain because
//! work ends                              1200         it is in the window
//! message from 3                         3900         it is in the window
//! work ends                              6500         nothing from rank 3, the only sender, can come before 9000
//! work ends                              9800         not certain: the visit ends, the next one is at 9800
//! ```
//!
//! Three bounds limit a visit: the window, the horizon, which is looked up only where the window is
//! not enough, and the answer to a message that the visit itself has sent. An event beyond them is
//! still certain if it begins as soon as the process is free and was scheduled before anything that
//! can come, since that order decides ties (`least_end`). What wakes a process and when it is
//! visited next is in `mailbox`, what its operations do in `operations`.
//!
//! With many processes, their state is not in the caches. While one is visited, the state of those
//! to come is therefore fetched in stages: first the process, then the messages that it names, then
//! the one behind the first.

use std::collections::VecDeque;

use crate::engine::outcome::EngineChoice;
use crate::engine::programs::eager::code::{Code, Scratch, ScratchIndex, Step};
use crate::engine::programs::eager::mailbox::Mailbox;
use crate::engine::programs::horizon::Horizons;
use crate::engine::programs::prefetch::MIN_PROCESSES;
use crate::engine::programs::process::WaitState;
use crate::engine::programs::ranks::{ProcessView, Rank, Ranks};
use crate::engine::programs::visits::{Totals, Visits};
use crate::events::NEVER;
use crate::events::calendar::Calendar;
use crate::events::heap::{Order, PairingHeaps};
use crate::events::lists::{ListIndex, fits};
use crate::events::messages::{Message, MessagePool, NIL};
use crate::events::posted::PostedReceives;
use crate::events::prefetch::prefetch;
use crate::events::tie_break::TieBreak;
use crate::machine::Machine;
use mastermind_programs::Mode;

/// How many visits ahead the state of a process is fetched, how many the messages that it names, and how many the message behind
/// the first that came.
pub(super) const STATE_AHEAD: usize = 6;
const MESSAGES_AHEAD: usize = 3;
const NEXT_AHEAD: usize = 1;

/// No process.
pub(super) const NOBODY_AHEAD: u32 = u32::MAX;

/// Number of messages that are posted before the first of them is delivered, if that pays.
const POSTED_AHEAD: usize = 12;

/// Mailboxes of fewer processes fit into the caches.
pub(super) const MIN_OUTBOX: usize = 1 << 15;

/// State that the processes share: the compiled program, the messages in flight, the mailboxes and
/// the schedule of visits. The state of one process is a [`ProcessView`].
pub(super) struct EagerState<'a> {
    pub(super) code: &'a Code,
    pub(super) scratch: Scratch,
    pub(super) machine: &'a Machine,
    pub(super) n_processes: u32,
    pub(super) per_node: u32,
    /// Lookahead, if the program determines who sends to whom.
    pub(super) horizons: Option<Horizons>,
    pub(super) lookahead_ns: u64,
    /// Least processor time of taking a message, nanoseconds.
    pub(super) least_receive_ns: u64,
    /// By process.
    pub(super) mailboxes: Vec<Mailbox>,
    /// Receivers and messages that were posted in this window and are not delivered yet; `None` where messages are delivered at once.
    pub(super) outbox: Option<VecDeque<(u32, u32)>>,
    pub(super) pool: MessagePool,
    pub(super) unexpected_index: ListIndex,
    pub(super) posted_index: ListIndex,
    pub(super) calendar: Calendar,
    /// The processes that are visited after the present one, as far as they were looked up, or [`NOBODY_AHEAD`].
    pub(super) ahead: [u32; STATE_AHEAD + 1],
    pub(super) totals: Totals,
}

impl Visits for EagerState<'_> {
    const ENGINE: EngineChoice = EngineChoice::Eager;

    fn start(&mut self, view: &mut ProcessView<'_>) -> Option<()> {
        self.enter(view);
        self.advance(view, 0, TieBreak::START)?;
        let comes_ns = self.next_message(view.rank, NEVER).0;
        self.leave(view, comes_ns);
        Some(())
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(process) = self.calendar.next_of_window() {
                // No message arrives in the window in which it was sent, so delivery may lag behind
                // the visits.
                self.deliver_but(POSTED_AHEAD);
                return Some(process);
            }
            self.deliver_but(0);
            self.calendar.advance(None)?;
        }
    }

    #[inline(always)]
    fn prefetch(&mut self, ranks: &Ranks) {
        if ranks.ranks.len() < MIN_PROCESSES {
            return;
        }
        self.ahead.rotate_left(1);
        self.ahead[STATE_AHEAD] = NOBODY_AHEAD;
        if let Some(later) = self.calendar.upcoming(STATE_AHEAD) {
            self.ahead[STATE_AHEAD] = later;
            ranks.prefetch(later);
            self.calendar.prefetch(later);
            prefetch(&self.mailboxes[later as usize]);
            if let Some(horizons) = &self.horizons {
                horizons.prefetch(later);
            }
        }
        let next = self.ahead[MESSAGES_AHEAD] as usize;
        if let (Some(rank), Some(mailbox)) = (ranks.ranks.get(next), self.mailboxes.get(next)) {
            for first in [mailbox.inbox, rank.arrivals, rank.waiting, rank.unexpected] {
                if first != NIL {
                    prefetch(self.pool.get(first));
                }
            }
        }
        let next = self.ahead[NEXT_AHEAD] as usize;
        if let Some(mailbox) = self.mailboxes.get(next)
            && mailbox.inbox != NIL
        {
            let behind = self.pool.get(mailbox.inbox).next;
            if behind != NIL {
                prefetch(self.pool.get(behind));
            }
        }
    }

    #[inline]
    fn visit(&mut self, view: &mut ProcessView<'_>) -> Option<()> {
        self.enter(view);
        let window_end = self.calendar.end_ns();
        // Nothing can come before this. How far that is after the window is looked up only when it matters.
        let (mut end, mut is_horizon) = (window_end, self.horizons.is_none());
        let mut answer_ns = NEVER;
        let comes_ns = loop {
            // A message may have taken the processor since the operation became due.
            let due = view.rank.due.max(view.rank.processor);
            let (comes, first) = self.next_message(view.rank, due);
            let (mut at, mut message, mut is_tie) = (due, NIL, false);
            if comes <= due && first != NIL {
                let tie_break = &self.pool.get(first).tie_break;
                if comes < due || *tie_break < view.rank.tie_break {
                    (at, message) = (comes, first);
                } else {
                    is_tie = *tie_break == view.rank.tie_break;
                }
            }
            if at >= end {
                let least_end = self.least_end(view.rank, (at, message));
                if least_end >= end {
                    if at == NEVER || is_horizon {
                        break comes;
                    }
                    is_horizon = true;
                    end = self.horizon(view.process, least_end);
                    end = end.min(answer_ns.max(window_end));
                    if least_end >= end {
                        break comes;
                    }
                }
            }
            self.totals.events += 1;
            self.totals.ties += u64::from(is_tie);
            let tie_break = if message == NIL {
                answer_ns = answer_ns.min(self.execute(view, at)?);
                end = end.min(answer_ns.max(window_end));
                view.rank.tie_break
            } else {
                match self.take_message(view, message, at) {
                    Some(tie_break) => tie_break,
                    None => continue,
                }
            };
            view.rank.at += 1;
            self.advance(view, at, tie_break)?;
        };
        self.leave(view, comes_ns);
        Some(())
    }

    fn drain(&mut self, view: &mut ProcessView<'_>) -> Option<()> {
        self.enter(view);
        loop {
            let (at, first) = self.next_message(view.rank, NEVER);
            if first == NIL {
                return Some(());
            }
            self.totals.events += 1;
            if self.take_message(view, first, at).is_some() {
                return None;
            }
        }
    }

    #[inline(always)]
    fn so_far(&self) -> (Totals, [u64; 2]) {
        let calendar = &self.calendar;
        (self.totals, [calendar.begin_ns(), calendar.end_ns()])
    }

    fn left(&self, ranks: &Ranks) -> Option<[u64; 2]> {
        let length = |last: u32| self.pool.list(last).count() as u64;
        let [mut unreceived, mut unmatched] = [0; 2];
        for rank in &ranks.ranks {
            if rank.wait_state != WaitState::Ended {
                return None;
            }
            unreceived += length(rank.unexpected);
            unmatched += length(rank.posted);
        }
        unmatched += ranks.posted.iter().map(PostedReceives::len).sum::<u64>();
        Some([unreceived, unmatched])
    }

    fn memory(&self) -> (usize, usize) {
        let bytes = self.horizons.as_ref().map_or(0, Horizons::bytes)
            + self.mailboxes.len() * size_of::<Mailbox>()
            + self.pool.bytes()
            + self.calendar.bytes();
        (self.pool.most(), bytes)
    }
}

impl EagerState<'_> {
    #[inline(always)]
    fn enter(&mut self, view: &mut ProcessView<'_>) {
        self.scratch.enter(view.slots, view.process);
        self.take_in(view);
    }

    /// The message that a process takes next, and when; the time of one that comes after `due` may be earlier than it
    /// can be taken.
    #[inline(always)]
    fn next_message(&mut self, rank: &mut Rank, due: u64) -> (u64, u32) {
        if rank.waiting == NIL {
            if rank.arrivals == NIL {
                return (NEVER, NIL);
            }
            let first = self.pool.get(rank.arrivals);
            let free = rank.free();
            // A single message, or one that need not wait, is decided without the second heap.
            if first.at >= free || first.at > due || first.other == NIL {
                return (first.at.max(free), rank.arrivals);
            }
        }
        self.next_of_waiting(rank)
    }

    /// The same, where some came before they can be taken.
    #[inline(never)]
    fn next_of_waiting(&mut self, rank: &mut Rank) -> (u64, u32) {
        let free = rank.free();
        // Messages that arrive before they can be taken wait, in the order of the tie-break keys.
        while rank.arrivals != NIL && self.pool.get(rank.arrivals).at < free {
            let index = rank.arrivals;
            rank.arrivals = self.pool.pop(index, Order::Arrival);
            rank.waiting = self.pool.push(rank.waiting, index, Order::TieBreak);
        }
        let first = rank.arrivals;
        if rank.waiting == NIL {
            return (self.pool.get(first).at, first);
        }
        if first != NIL
            && self.pool.get(first).at == free
            && self.pool.is_before(first, rank.waiting, Order::TieBreak)
        {
            return (free, first);
        }
        (free, rank.waiting)
    }

    /// Time before which no message can come to a process that has not been sent yet, if the look-up pays; at most the
    /// end of the window if the time is not after `least_end`.
    #[inline]
    fn horizon(&mut self, process: u32, least_end: u64) -> u64 {
        let window = (self.calendar.begin_ns(), self.calendar.end_ns());
        let Some(horizons) = &mut self.horizons else {
            return window.1;
        };
        let mut end = window.1;
        if horizons.is_useful() {
            end = horizons.horizon(process, window, least_end);
        }
        // Where look-ups seldom help they are left out for a while.
        horizons.note_use(least_end < end);
        end
    }

    /// Time after which all messages that can still come must come for an event to be taken before them: its own time,
    /// or an earlier one if it begins as soon as the process is free. All other messages that came in time are then as
    /// late, and of those the one with the least tie-break key is taken; messages that can still come have not been
    /// sent yet.
    #[inline]
    fn least_end(&self, rank: &Rank, (at, message): (u64, u32)) -> u64 {
        if at > rank.free() {
            return at;
        }
        let tie_break = match message {
            NIL => &rank.tie_break,
            message => &self.pool.get(message).tie_break,
        };
        at.min(tie_break.last_ns() + self.lookahead_ns.max(1))
    }

    /// Takes the message that [`EagerState::next_message`] returned: its tie-break key, if it is the one that the
    /// process waits for.
    #[inline(always)]
    fn take_message(
        &mut self,
        view: &mut ProcessView<'_>,
        index: u32,
        now: u64,
    ) -> Option<TieBreak> {
        let rank = &mut *view.rank;
        if index == rank.arrivals {
            rank.arrivals = self.pool.pop(index, Order::Arrival);
        } else {
            rank.waiting = self.pool.pop(index, Order::TieBreak);
        }
        if (rank.waiting, rank.arrivals) != (NIL, NIL) {
            self.totals.ties += u64::from(self.has_tie(rank, now, index));
        }
        let message = self.pool.get(index);
        let (receive_ns, gap_ns) = message.load.times();
        rank.receiving = now + gap_ns;
        rank.processor = now + receive_ns;
        rank.overhead += receive_ns;
        let mut found = None;
        if let Some(line) = &mut view.posted {
            line.n_present = line.n_present.wrapping_sub(1);
            found = line.take(message);
        }
        if found.is_none() && rank.posted != NIL {
            let posted = &mut self.posted_index;
            let receive = posted.receive(&self.pool, view.process, rank.posted, index);
            if receive != NIL {
                posted.remove(&mut self.pool, view.process, &mut rank.posted, receive);
                found = Some(self.pool.get(receive).load.receiver());
                self.pool.release(receive);
            }
        }
        let message = self.pool.get(index);
        let (peer, tie_break) = (message.peer, message.tie_break);
        // No nonblocking receive: for the blocking one that the process waits for, or unexpected.
        let Some(mode) = found else {
            if rank.wait_state == WaitState::Receive && fits((rank.peer, rank.tag), message) {
                self.pool.release(index);
                if let Step::Receive {
                    element,
                    is_call,
                    sender,
                    ..
                } = self.code.steps[rank.at as usize]
                {
                    let elapsed_ns = rank.processor - rank.since;
                    view.counts[element as usize].add(u32::from(is_call), elapsed_ns);
                    self.set_sender(sender, f64::from(peer));
                }
                rank.wait_state = WaitState::Ready;
                return Some(tie_break);
            }
            let last = &mut rank.unexpected;
            self.unexpected_index
                .append(&mut self.pool, view.process, last, index);
            return None;
        };
        self.pool.release(index);
        let which = usize::from(mode == Mode::Internal);
        rank.pending[which] -= 1;
        let is_waiting = rank.wait_state == WaitState::Pending;
        let elapsed_ns = rank.processor - rank.since;
        let step = self.code.steps[rank.at as usize];
        if let (Some(completions), Mode::Nonblocking) = (&mut view.completions, mode) {
            completions.n_open -= 1;
            completions.senders.push_back(peer);
            if let (true, Step::WaitAny { sender, element }) = (is_waiting, step) {
                completions.senders.pop_front();
                view.counts[element as usize].add(1, elapsed_ns);
                self.set_sender(sender, f64::from(peer));
                rank.wait_state = WaitState::Ready;
                return Some(tie_break);
            }
        }
        match step {
            Step::Wait {
                mode: waited,
                element,
            } if is_waiting && rank.pending[which] == 0 && waited == mode => {
                view.counts[element as usize].add(waited.calls(), elapsed_ns);
                if let (Some(completions), Mode::Nonblocking) = (&mut view.completions, mode) {
                    completions.senders.clear();
                }
                rank.wait_state = WaitState::Ready;
                Some(tie_break)
            }
            _ => None,
        }
    }

    /// Whether another message could be taken at `now` as well as the one that the process takes.
    #[inline(never)]
    fn has_tie(&self, rank: &Rank, now: u64, taken: u32) -> bool {
        let taken = self.pool.get(taken);
        let is_tied = |other: &Message, at: u64| at == now && other.tie_break == taken.tie_break;
        let mut least = u32::MAX;
        if rank.waiting != NIL {
            let other = self.pool.get(rank.waiting);
            if is_tied(other, rank.free()) {
                least = other.peer;
            }
        }
        if rank.arrivals != NIL {
            let other = self.pool.get(rank.arrivals);
            if is_tied(other, other.at) {
                least = least.min(other.peer);
            }
        }
        // Messages of one sender are in the order in which it sent them.
        least != u32::MAX && least != taken.peer
    }

    /// Gives a variable the rank that a message came from.
    #[inline(always)]
    pub(super) fn set_sender(&mut self, sender: ScratchIndex, rank: f64) {
        if sender != ScratchIndex::NONE {
            self.scratch.set(sender, rank);
        }
    }

    /// The rank in a step; `None` for an invalid one.
    #[inline(always)]
    pub(super) fn rank(&self, value: f64) -> Option<u32> {
        let whole = value as u32;
        (f64::from(whole) == value && whole < self.n_processes).then_some(whole)
    }
}
