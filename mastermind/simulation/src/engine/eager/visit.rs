//! What happens at a process from one visit to the next.

use super::super::advance::{LONGEST_S, MOST_STEPS, nanoseconds};
use super::super::ahead::{ALL, Ahead, Bound, NONE, SOMEBODY};
use super::super::chain::Chain;
use super::super::messages::NIL;
use super::super::outcome::Count;
use super::super::process::NEVER;
use super::calendar::Calendar;
use super::message::{Inbox, Mail, Message};
use super::rank::Rank;
use super::step::{Operand, Step, rank};
use crate::expression::{Compiled, Context};

/// What the processes share.
pub(super) struct World<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) n_processes: u32,
    pub(super) per_node: u32,
    pub(super) ahead: Ahead,
    /// By process: messages that came since its last visit.
    pub(super) inboxes: Vec<Inbox>,
    pub(super) mail: Mail,
    pub(super) calendar: Calendar,
    pub(super) messages: u64,
    pub(super) events: u64,
    pub(super) undecided: u64,
}

/// The process that is visited.
pub(super) struct Here<'r> {
    pub(super) process: u32,
    pub(super) rank: &'r mut Rank,
    pub(super) slots: &'r mut [f64],
    /// By element.
    pub(super) counts: &'r mut [Count],
}

impl World<'_> {
    /// The first steps of a process.
    pub(super) fn start(&mut self, here: &mut Here<'_>) -> Option<()> {
        self.take_in(here);
        self.advance(here, 0, Chain::START)?;
        self.leave(here);
        Some(())
    }

    /// All events of a process in the window, and after it as far as nobody can send to the process.
    #[inline]
    pub(super) fn visit(&mut self, here: &mut Here<'_>) -> Option<()> {
        self.take_in(here);
        let window_end = self.calendar.end_ns();
        // Nothing can come before this. How far that is after the window is only looked up when it matters.
        let (mut end, mut is_horizon) = (window_end, false);
        let mut answer_ns = NEVER;
        loop {
            let due = here.rank.due.max(here.rank.processor);
            let (mut at, mut message, mut is_tie) = (due, NIL, false);
            let first = here.rank.arrivals;
            if first != NIL {
                let theirs = self.mail.get(first);
                let free = here.rank.processor.max(here.rank.receiving);
                let when = theirs.at.max(free);
                if when > theirs.at && self.mail.is_next_by(theirs, when) {
                    // It keeps its place among those that wait: by when it was sent.
                    let head = self.mail.again(first, when, &mut self.undecided);
                    here.rank.arrivals = head;
                    continue;
                }
                if when < due || (when == due && theirs.made < here.rank.made) {
                    (at, message) = (when, first);
                }
                is_tie = when == due && theirs.made == here.rank.made;
            }
            if at >= end && !self.goes_first(here, (at, message), end) {
                if at == NEVER || is_horizon {
                    break;
                }
                let window = (self.calendar.begin_ns(), window_end);
                end = self.ahead.horizon(here.process, window);
                end = end.min(answer_ns.max(window_end));
                is_horizon = true;
                continue;
            }
            self.events += 1;
            if is_tie {
                self.undecided += 1;
            }
            let made = if message == NIL {
                let made = here.rank.made;
                answer_ns = answer_ns.min(self.execute(here, at)?);
                end = end.min(answer_ns.max(window_end));
                made
            } else {
                match self.look(here, message, at) {
                    Some(made) => made,
                    None => continue,
                }
            };
            here.rank.at += 1;
            self.advance(here, at, made)?;
        }
        self.leave(here);
        Some(())
    }

    /// Whether an event goes before all that can still come, though that may come before `end`, from when on more can
    /// come: where it begins as soon as the process is free, whatever else came in time is as late, and of those
    /// the one that was settled first has its turn. What can still come has not been sent yet.
    #[inline]
    fn goes_first(&self, here: &Here<'_>, (at, message): (u64, u32), end: u64) -> bool {
        let rank = &*here.rank;
        let made = match message {
            NIL => &rank.made,
            message => &self.mail.get(message).made,
        };
        at <= rank.processor.max(rank.receiving)
            && made.last_ns() + self.ahead.lookahead_ns.max(1) < end
    }

    /// What is left when nothing goes on: messages that came to those that have ended.
    pub(super) fn drain(&mut self, here: &mut Here<'_>) -> Option<()> {
        self.take_in(here);
        while here.rank.arrivals != NIL {
            self.events += 1;
            let first = here.rank.arrivals;
            let free = here.rank.processor.max(here.rank.receiving);
            let now = self.mail.get(first).at.max(free);
            if self.look(here, first, now).is_some() {
                return None;
            }
        }
        Some(())
    }

    /// Takes in what came since the last visit.
    #[inline(always)]
    fn take_in(&mut self, here: &mut Here<'_>) {
        let inbox = std::mem::take(&mut self.inboxes[here.process as usize]);
        let arrivals = here.rank.arrivals;
        here.rank.arrivals = match (inbox.first, inbox.rest) {
            (NIL, _) => arrivals,
            (first, NIL) if arrivals == NIL => first,
            _ => self.mail.sort_in(arrivals, inbox, &mut self.undecided),
        };
    }

    /// Keeps when a process may send next, and when it is to be visited.
    #[inline(always)]
    fn leave(&mut self, here: &mut Here<'_>) {
        let process = here.process;
        if here.rank.is_redirected {
            here.rank.receivers = self.receivers(here);
            here.rank.is_redirected = false;
        }
        let rank = &*here.rank;
        let due = rank.due.max(rank.processor);
        let (mut ns, mut via, mut next) = (due, NONE, due);
        if rank.peer != NIL {
            match self.mail.first_of(rank.arrivals, rank.peer) {
                None => {
                    let place = self.ahead.place_of(rank.peer, process);
                    (ns, via) = (rank.processor, place.unwrap_or(SOMEBODY));
                }
                Some(message) => {
                    next = message.at.max(rank.processor).max(rank.receiving);
                    ns = next + u64::from(message.receive_ns);
                }
            }
        }
        self.ahead.bounds[process as usize] = Bound {
            ns,
            at: rank.at,
            via,
            to: rank.receivers,
        };
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// Whom a process may send to as long as its variables stay as they are, as [`Bound`] has it.
    #[cold]
    fn receivers(&self, here: &Here<'_>) -> u8 {
        let mut receivers = 0;
        for step in &self.steps {
            let Step::Send { to, .. } = step else {
                continue;
            };
            match rank(self.value_of(here, *to), self.n_processes) {
                Some(None) => {}
                Some(Some(to)) => match self.ahead.place_of(here.process, to) {
                    Some(place) => receivers |= 1 << place,
                    // To itself, or to whom nothing is sent before the variable is set.
                    None => return ALL,
                },
                None => return ALL,
            }
        }
        receivers
    }

    /// Looks at the first message that has come: when it was settled that it comes, if it is the one
    /// that was waited for.
    #[inline(always)]
    fn look(&mut self, here: &mut Here<'_>, index: u32, now: u64) -> Option<Chain> {
        let rank = &mut *here.rank;
        let message = self.mail.get(index);
        rank.arrivals = message.next;
        rank.receiving = now + u64::from(message.gap_ns);
        rank.processor = now + u64::from(message.receive_ns);
        rank.overhead += u64::from(message.receive_ns);
        if (message.peer, message.tag) != (rank.peer, rank.tag) {
            rank.early = self.mail.append(rank.early, index);
            return None;
        }
        let made = message.made;
        self.mail.release(index);
        if let Step::Receive { element, calls, .. } = self.steps[rank.at as usize] {
            let elapsed_ns = rank.processor - rank.since;
            here.counts[element as usize].add(calls, elapsed_ns);
        }
        rank.peer = NIL;
        Some(made)
    }

    /// Runs the operation that is due: when a message that it sends may be answered at the earliest.
    #[inline]
    fn execute(&mut self, here: &mut Here<'_>, now: u64) -> Option<u64> {
        match self.steps[here.rank.at as usize] {
            Step::Work { time_ns, element } => here.work((time_ns, element), now),
            Step::Compute { cost, element } => {
                let cost = self.value_of(here, cost);
                if !(0.0..=LONGEST_S).contains(&cost) {
                    return None;
                }
                here.work((nanoseconds(cost), element), now);
            }
            _ => return self.send(here, now),
        }
        Some(NEVER)
    }

    /// Sends a message: when it may be answered at the earliest.
    #[inline]
    fn send(&mut self, here: &mut Here<'_>, now: u64) -> Option<u64> {
        let Step::Send {
            tag,
            element,
            calls,
            ref costs,
            ..
        } = self.steps[here.rank.at as usize]
        else {
            return None;
        };
        let (process, rank) = (here.process, &mut *here.rank);
        let to = rank.to;
        let between = to != process && (self.per_node == 1 || self.node(process) != self.node(to));
        let costs = costs[usize::from(between)];
        rank.sending = now + u64::from(costs.gap_ns);
        rank.processor = now + costs.send_ns;
        rank.overhead += costs.send_ns;
        here.counts[element as usize].add(calls, rank.processor - rank.since);
        let message = Message {
            at: now + costs.flight_ns,
            made: rank.made.then(now),
            receive_ns: costs.receive_ns,
            gap_ns: costs.gap_ns,
            peer: process,
            tag,
            next: NIL,
        };
        let answer_ns = self.post(to, message);
        if to == process {
            self.take_in(here);
        }
        Some(answer_ns)
    }

    /// Puts a message on its way to a process: when an answer may come at the earliest.
    #[inline]
    fn post(&mut self, to: u32, message: Message) -> u64 {
        self.messages += 1;
        let index = self.mail.add(message);
        self.mail.put(&mut self.inboxes[to as usize], index);
        let at = message.at.max(self.ahead.bounds[to as usize].ns);
        let goes_on = at + u64::from(message.receive_ns);
        match self.ahead.comes(to, message.peer, goes_on) {
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
    /// Put in where it is called: a visit keeps what it has of the process in registers then.
    #[inline(always)]
    fn advance(&mut self, here: &mut Here<'_>, mut now: u64, mut made: Chain) -> Option<()> {
        let mut steps = 0_u64;
        let due = loop {
            steps += 1;
            if steps > MOST_STEPS {
                return None;
            }
            match self.steps[here.rank.at as usize] {
                Step::Assign {
                    slot,
                    value,
                    redirects,
                } => {
                    here.slots[slot as usize] = self.value_of(here, value);
                    here.rank.is_redirected |= redirects;
                }
                Step::Jump { target } => {
                    here.rank.at = target;
                    continue;
                }
                Step::JumpUnless { condition, target } => {
                    if self.value_of(here, condition) == 0.0 {
                        here.rank.at = target;
                        continue;
                    }
                }
                Step::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                } => {
                    let rounds = self.value_of(here, count).round();
                    if rounds.is_nan() || rounds < 0.0 {
                        return None;
                    }
                    here.slots[counter as usize] = 0.0;
                    here.slots[limit as usize] = rounds;
                    if rounds == 0.0 {
                        here.rank.at = exit;
                        continue;
                    }
                }
                Step::LoopNext {
                    counter,
                    limit,
                    start,
                } => {
                    let next = here.slots[counter as usize] + 1.0;
                    here.slots[counter as usize] = next;
                    if next < here.slots[limit as usize] {
                        here.rank.at = start;
                        continue;
                    }
                }
                Step::Count { element } => here.counts[element as usize].add(1, 0),
                Step::Work { .. } | Step::Compute { .. } => break here.rank.processor,
                Step::Send { to, .. } => {
                    if let Some(to) = rank(self.value_of(here, to), self.n_processes)? {
                        here.rank.to = to;
                        break here.rank.processor.max(here.rank.sending);
                    }
                }
                Step::Receive {
                    from,
                    tag,
                    element,
                    calls,
                } => {
                    if let Some(peer) = rank(self.value_of(here, from), self.n_processes)? {
                        let rank = &mut *here.rank;
                        (now, made) = (rank.processor.max(now), made.then(now));
                        rank.since = rank.processor;
                        match self.mail.take(rank.early, peer, tag) {
                            Some(early) => {
                                rank.early = early;
                                here.counts[element as usize].add(calls, 0);
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
            here.rank.at += 1;
        };
        here.rank.due = due;
        here.rank.made = made.then(now);
        if due != NEVER {
            here.rank.since = here.rank.processor;
        }
        Some(())
    }

    #[inline]
    fn node(&self, process: u32) -> u32 {
        process / self.per_node
    }

    #[inline(always)]
    fn value_of(&self, here: &Here<'_>, operand: Operand<'_>) -> f64 {
        match operand {
            Operand::Constant(value) => value,
            Operand::Slot(slot) => here.slots[slot as usize],
            Operand::Code(code) => self.evaluate(here.process, here.slots, code),
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

    pub(super) fn memory_bytes(&self) -> usize {
        self.ahead.bytes()
            + self.inboxes.capacity() * size_of::<Inbox>()
            + self.mail.bytes()
            + self.calendar.bytes()
    }
}

impl Here<'_> {
    #[inline]
    fn work(&mut self, (time_ns, element): (u64, u32), now: u64) {
        let rank = &mut *self.rank;
        rank.processor = now + time_ns;
        rank.work += time_ns;
        self.counts[element as usize].add(1, rank.processor - rank.since);
    }
}
