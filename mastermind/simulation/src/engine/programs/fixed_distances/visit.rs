//! Events at a process from one visit to the next.
//!
//! The same idea as in `eager/visit.rs`, for programs that only block and whose ranks send to fixed
//! distances: the visit runs a process up to the time before which no message can come that has not
//! been sent yet. A process waits for one message at most, of a known sender, which leaves little
//! state: the place in the program, three clocks, a sorted list of arrivals, and one of unexpected
//! messages.
//!
//! ```text
//! take_in     messages of the inbox ─▶ the list of arrivals, by time and tie-break key
//! loop        own operation or first arrival, the earlier one, while it is before `end`
//! leave       when the process may send next ─▶ horizons; its next event ─▶ calendar
//!             waits for a message that is not sent: no visit, `post` makes one
//! ```
//!
//! Processes that wait for others are not in the calendar at all: a wavefront costs visits only
//! where the front is. As in `eager`, `None` gives the program up to the engine for all programs.

use crate::engine::limits::{MAX_COST_S, MAX_TIMELESS_STEPS, nanoseconds, rounds_of};
use crate::engine::outcome::EngineChoice;
use crate::engine::programs::fixed_distances::calendar::Calendar;
use crate::engine::programs::fixed_distances::message::{Inbox, Message, Pool};
use crate::engine::programs::fixed_distances::step::{Operand, Step, rank};
use crate::engine::programs::horizon::{ALL, Bound, Horizons, NONE, UNKNOWN_SENDER};
use crate::engine::programs::ranks::{ProcessView, Ranks};
use crate::engine::programs::visits::{Totals, Visits};
use crate::events::NEVER;
use crate::events::messages::NIL;
use crate::events::prefetch::prefetch;
use crate::events::tie_break::TieBreak;
use mastermind_programs::expression::{Compiled, Context};

/// State that the processes share: the steps, the messages in flight, the inboxes, the horizons and
/// the schedule of visits. The state of one process is a [`ProcessView`].
pub(super) struct SharedState<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) n_processes: u32,
    pub(super) per_node: u32,
    pub(super) horizons: Horizons,
    /// By process: messages that came since its last visit.
    pub(super) inboxes: Vec<Inbox>,
    pub(super) pool: Pool,
    pub(super) calendar: Calendar,
    pub(super) totals: Totals,
}

impl Visits for SharedState<'_> {
    const ENGINE: EngineChoice = EngineChoice::FixedDistances;

    fn start(&mut self, view: &mut ProcessView<'_>) -> Option<()> {
        self.take_in(view);
        self.advance(view, 0, TieBreak::START)?;
        self.leave(view);
        Some(())
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        self.calendar.next()
    }

    #[inline(always)]
    fn prefetch(&mut self, ranks: &Ranks) {
        let [next, _, later] = self.calendar.upcoming();
        if let Some(next) = next {
            let (rank, inbox) = (&ranks.ranks[next as usize], &self.inboxes[next as usize]);
            for first in [inbox.first, inbox.rest, rank.arrivals, rank.unexpected] {
                if first != NIL {
                    prefetch(self.pool.get(first));
                }
            }
        }
        if let Some(later) = later {
            ranks.prefetch(later);
            self.calendar.prefetch(later);
            prefetch(&self.inboxes[later as usize]);
            self.horizons.prefetch(later);
        }
    }

    #[inline]
    fn visit(&mut self, view: &mut ProcessView<'_>) -> Option<()> {
        self.take_in(view);
        let window_end = self.calendar.end_ns();
        // Nothing can come before this. How far that is after the window is looked up only when it matters.
        let (mut end, mut is_horizon) = (window_end, false);
        let mut answer_ns = NEVER;
        loop {
            let due = view.rank.due.max(view.rank.processor);
            let (mut at, mut message, mut is_tie) = (due, NIL, false);
            let first = view.rank.arrivals;
            if first != NIL {
                let theirs = self.pool.get(first);
                let free = view.rank.processor.max(view.rank.receiving);
                let when = theirs.at.max(free);
                if when > theirs.at && self.pool.is_next_by(theirs, when) {
                    // It keeps its place among those that wait: by when it was sent.
                    let head = self.pool.again(first, when, &mut self.totals.ties);
                    view.rank.arrivals = head;
                    continue;
                }
                if when < due || (when == due && theirs.tie_break < view.rank.tie_break) {
                    (at, message) = (when, first);
                }
                is_tie = when == due && theirs.tie_break == view.rank.tie_break;
            }
            // The horizon is looked up once, and only if the window does not settle the matter.
            if at >= end && !self.goes_first(view, (at, message), end) {
                if at == NEVER || is_horizon {
                    break;
                }
                let window = (self.calendar.begin_ns(), window_end);
                end = self.horizons.horizon(view.process, window, 0);
                end = end.min(answer_ns.max(window_end));
                is_horizon = true;
                continue;
            }
            self.totals.events += 1;
            if is_tie {
                self.totals.ties += 1;
            }
            let tie_break = if message == NIL {
                let tie_break = view.rank.tie_break;
                answer_ns = answer_ns.min(self.execute(view, at)?);
                end = end.min(answer_ns.max(window_end));
                tie_break
            } else {
                match self.handle_arrival(view, message, at) {
                    Some(tie_break) => tie_break,
                    None => continue,
                }
            };
            view.rank.at += 1;
            self.advance(view, at, tie_break)?;
        }
        self.leave(view);
        Some(())
    }

    fn drain(&mut self, view: &mut ProcessView<'_>) -> Option<()> {
        self.take_in(view);
        while view.rank.arrivals != NIL {
            self.totals.events += 1;
            let first = view.rank.arrivals;
            let free = view.rank.processor.max(view.rank.receiving);
            let now = self.pool.get(first).at.max(free);
            if self.handle_arrival(view, first, now).is_some() {
                return None;
            }
        }
        Some(())
    }

    #[inline(always)]
    fn so_far(&self) -> (Totals, [u64; 2]) {
        let calendar = &self.calendar;
        (self.totals, [calendar.begin_ns(), calendar.end_ns()])
    }

    fn left(&self, ranks: &Ranks) -> Option<[u64; 2]> {
        let mut unreceived = 0;
        for rank in &ranks.ranks {
            if rank.due != NEVER || rank.peer != NIL {
                return None;
            }
            unreceived += self.pool.length(rank.unexpected);
        }
        Some([unreceived, 0])
    }

    fn memory(&self) -> (usize, usize) {
        let bytes = self.horizons.bytes()
            + self.inboxes.len() * size_of::<Inbox>()
            + self.pool.bytes()
            + self.calendar.bytes();
        (self.pool.most(), bytes)
    }
}

impl SharedState<'_> {
    /// Whether an event goes before all messages that can still come, though they may come before `end`, from when on
    /// more can come: if it begins as soon as the process is free, all other messages that came in time are as late,
    /// and of those the one with the least tie-break key is taken. Messages that can still come have not been sent
    /// yet.
    #[inline]
    fn goes_first(&self, view: &ProcessView<'_>, (at, message): (u64, u32), end: u64) -> bool {
        let rank = &*view.rank;
        let tie_break = match message {
            NIL => &rank.tie_break,
            message => &self.pool.get(message).tie_break,
        };
        at <= rank.processor.max(rank.receiving)
            && tie_break.last_ns() + self.horizons.lookahead_ns.max(1) < end
    }

    /// Takes in the messages that came since the last visit.
    #[inline(always)]
    fn take_in(&mut self, view: &mut ProcessView<'_>) {
        let inbox = std::mem::take(&mut self.inboxes[view.process as usize]);
        let arrivals = view.rank.arrivals;
        view.rank.arrivals = match (inbox.first, inbox.rest) {
            (NIL, _) => arrivals,
            // A single message needs no sorting.
            (first, NIL) if arrivals == NIL => first,
            _ => self.pool.sort_in(arrivals, inbox, &mut self.totals.ties),
        };
    }

    /// Stores when a process may send next, and when it must be visited.
    #[inline(always)]
    fn leave(&mut self, view: &mut ProcessView<'_>) {
        let process = view.process;
        if view.rank.is_redirected {
            // A variable that decides about receivers has changed since the last visit.
            view.rank.receivers = self.receivers(view);
            view.rank.is_redirected = false;
        }
        let rank = &*view.rank;
        let due = rank.due.max(rank.processor);
        let (mut ns, mut via, mut next) = (due, NONE, due);
        if rank.peer != NIL {
            // It goes on when its message has come: known if that is here, else not before `peer`
            // may send.
            match self.pool.first_of(rank.arrivals, rank.peer) {
                None => {
                    let place = self.horizons.place_of(rank.peer, process);
                    (ns, via) = (rank.processor, place.unwrap_or(UNKNOWN_SENDER));
                }
                Some(message) => {
                    next = message.at.max(rank.processor).max(rank.receiving);
                    ns = next + u64::from(message.receive_ns);
                }
            }
        }
        self.horizons.bounds[process as usize] = Bound {
            ns,
            at: rank.at,
            via,
            to: rank.receivers,
        };
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// Ranks that a process may send to as long as its variables keep their values, in the form of
    /// [`Bound`].
    #[cold]
    fn receivers(&self, view: &ProcessView<'_>) -> u8 {
        let mut receivers = 0;
        for step in &self.steps {
            let Step::Send { to, .. } = step else {
                continue;
            };
            match rank(self.value_of(view, *to), self.n_processes) {
                Some(None) => {}
                Some(Some(to)) => match self.horizons.place_of(view.process, to) {
                    Some(place) => receivers |= 1 << place,
                    // To itself, or to a rank that gets no message before the variable is set.
                    None => return ALL,
                },
                None => return ALL,
            }
        }
        receivers
    }

    /// Takes the first message that has come: its tie-break key, if it is the one that the process waits for.
    #[inline(always)]
    fn handle_arrival(
        &mut self,
        view: &mut ProcessView<'_>,
        index: u32,
        now: u64,
    ) -> Option<TieBreak> {
        let rank = &mut *view.rank;
        let message = self.pool.get(index);
        rank.arrivals = message.next;
        rank.receiving = now + u64::from(message.gap_ns);
        rank.processor = now + u64::from(message.receive_ns);
        rank.overhead += u64::from(message.receive_ns);
        if (message.peer, message.tag) != (rank.peer, rank.tag) {
            rank.unexpected = self.pool.append(rank.unexpected, index);
            return None;
        }
        let tie_break = message.tie_break;
        self.pool.release(index);
        if let Step::Receive { element, calls, .. } = self.steps[rank.at as usize] {
            let elapsed_ns = rank.processor - rank.since;
            view.counts[element as usize].add(calls, elapsed_ns);
        }
        rank.peer = NIL;
        Some(tie_break)
    }

    /// Runs the operation that is due: the earliest time at which a message that it sends may be answered.
    #[inline]
    fn execute(&mut self, view: &mut ProcessView<'_>, now: u64) -> Option<u64> {
        match self.steps[view.rank.at as usize] {
            Step::Work { time_ns, element } => view.work((time_ns, element), now),
            Step::Compute { cost, element } => {
                let cost = self.value_of(view, cost);
                if !(0.0..=MAX_COST_S).contains(&cost) {
                    return None;
                }
                view.work((nanoseconds(cost), element), now);
            }
            _ => return self.send(view, now),
        }
        Some(NEVER)
    }

    /// Sends a message: the earliest time at which it may be answered.
    #[inline]
    fn send(&mut self, view: &mut ProcessView<'_>, now: u64) -> Option<u64> {
        let Step::Send {
            tag,
            element,
            calls,
            ref costs,
            ..
        } = self.steps[view.rank.at as usize]
        else {
            return None;
        };
        let (process, rank) = (view.process, &mut *view.rank);
        let to = rank.to;
        let between = to != process && (self.per_node == 1 || self.node(process) != self.node(to));
        let costs = costs[usize::from(between)];
        rank.sending = now + u64::from(costs.gap_ns);
        rank.processor = now + costs.send_ns;
        rank.overhead += costs.send_ns;
        view.counts[element as usize].add(calls, rank.processor - rank.since);
        let message = Message {
            at: now + costs.flight_ns,
            tie_break: rank.tie_break.then(now),
            receive_ns: costs.receive_ns,
            gap_ns: costs.gap_ns,
            peer: process,
            tag,
            next: NIL,
        };
        let answer_ns = self.post(to, message);
        if to == process {
            self.take_in(view);
        }
        Some(answer_ns)
    }

    /// Sends a message to a process, and updates the earliest time of an answer.
    #[inline]
    fn post(&mut self, to: u32, message: Message) -> u64 {
        self.totals.messages += 1;
        let index = self.pool.add(message);
        self.pool.put(&mut self.inboxes[to as usize], index);
        let at = message.at.max(self.horizons.bounds[to as usize].ns);
        let goes_on = at + u64::from(message.receive_ns);
        match self.horizons.note_arrival(to, message.peer, goes_on) {
            // It waits for this one and has no visit: it gets one.
            Some(answer_ns) => {
                self.calendar.visit(to, at);
                answer_ns
            }
            None => NEVER,
        }
    }

    /// Goes through the steps without time up to the next operation that takes some.
    ///
    /// Inlined, so that a visit keeps the state of the process in registers.
    #[inline(always)]
    fn advance(
        &mut self,
        view: &mut ProcessView<'_>,
        mut now: u64,
        mut tie_break: TieBreak,
    ) -> Option<()> {
        let mut steps = 0_u64;
        let due = loop {
            steps += 1;
            if steps > MAX_TIMELESS_STEPS {
                return None;
            }
            match self.steps[view.rank.at as usize] {
                Step::Assign {
                    slot,
                    value,
                    redirects,
                } => {
                    view.slots[slot as usize] = self.value_of(view, value);
                    view.rank.is_redirected |= redirects;
                }
                Step::Jump { target } => {
                    view.rank.at = target;
                    continue;
                }
                Step::JumpUnless { condition, target } => {
                    if self.value_of(view, condition) == 0.0 {
                        view.rank.at = target;
                        continue;
                    }
                }
                Step::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                } => {
                    let rounds = rounds_of(self.value_of(view, count))?;
                    view.slots[counter as usize] = 0.0;
                    view.slots[limit as usize] = rounds;
                    if rounds == 0.0 {
                        view.rank.at = exit;
                        continue;
                    }
                }
                Step::LoopNext {
                    counter,
                    limit,
                    start,
                } => {
                    let next = view.slots[counter as usize] + 1.0;
                    view.slots[counter as usize] = next;
                    if next < view.slots[limit as usize] {
                        view.rank.at = start;
                        continue;
                    }
                }
                Step::Count { element } => view.counts[element as usize].add(1, 0),
                Step::Work { .. } | Step::Compute { .. } => break view.rank.processor,
                Step::Send { to, .. } => {
                    if let Some(to) = rank(self.value_of(view, to), self.n_processes)? {
                        view.rank.to = to;
                        break view.rank.processor.max(view.rank.sending);
                    }
                }
                Step::Receive {
                    from,
                    tag,
                    element,
                    calls,
                } => {
                    if let Some(peer) = rank(self.value_of(view, from), self.n_processes)? {
                        let rank = &mut *view.rank;
                        (now, tie_break) = (rank.processor.max(now), tie_break.then(now));
                        rank.since = rank.processor;
                        match self.pool.take(rank.unexpected, peer, tag) {
                            Some(unexpected) => {
                                rank.unexpected = unexpected;
                                view.counts[element as usize].add(calls, 0);
                            }
                            None => {
                                (rank.peer, rank.tag) = (peer, tag);
                                break NEVER;
                            }
                        }
                    }
                }
                Step::End => break NEVER,
            }
            view.rank.at += 1;
        };
        view.rank.due = due;
        view.rank.tie_break = tie_break.then(now);
        if due != NEVER {
            view.rank.since = view.rank.processor;
        }
        Some(())
    }

    #[inline]
    fn node(&self, process: u32) -> u32 {
        process / self.per_node
    }

    #[inline(always)]
    fn value_of(&self, view: &ProcessView<'_>, operand: Operand<'_>) -> f64 {
        match operand {
            Operand::Constant(value) => value,
            Operand::Slot(slot) => view.slots[slot as usize],
            Operand::Code(code) => self.evaluate(view.process, view.slots, code),
        }
    }

    #[inline(never)]
    fn evaluate(&self, process: u32, slots: &[f64], code: &Compiled) -> f64 {
        code.evaluate(&Context {
            slots,
            process: f64::from(process),
            thread: 0.0,
            threads: 1.0,
            node: f64::from(self.node(process)),
        })
    }
}

impl ProcessView<'_> {
    #[inline]
    fn work(&mut self, (time_ns, element): (u64, u32), now: u64) {
        let rank = &mut *self.rank;
        rank.processor = now + time_ns;
        rank.work += time_ns;
        self.counts[element as usize].add(1, rank.processor - rank.since);
    }
}
