//! What happens at a process from one visit to the next.

use super::super::advance::{LONGEST_S, MOST_STEPS, nanoseconds};
use super::super::ahead::Bound;
use super::super::chain::Chain;
use super::super::messages::NIL;
use super::super::process::NEVER;
use super::super::warm::{fetch, fetch_all};
use super::Eager;
use super::message::Message;
use super::rank::Rank;
use super::step::{Operand, Step, rank};
use crate::expression::{Compiled, Context};

impl Eager<'_> {
    /// The first steps of a process.
    pub(super) fn start(&mut self, process: u32) -> Option<()> {
        let mut here = self.ranks[process as usize];
        self.advance(process, &mut here, 0, Chain::START)?;
        self.leave(process, here);
        Some(())
    }

    /// All events of a process in the window, and after it as far as nobody can send to the process.
    #[inline]
    pub(super) fn visit(&mut self, process: u32) -> Option<()> {
        let window_end = self.calendar.end_ns();
        let mut end = self.ahead.horizon(process, &self.calendar);
        let mut here = self.ranks[process as usize];
        loop {
            let (mut at, mut message) = (here.due.max(here.processor), NIL);
            let first = self.arrivals[process as usize];
            if first != NIL {
                let theirs = self.mail.get(first);
                let free = here.processor.max(here.receiving);
                let when = theirs.at.max(free);
                if when > theirs.at && self.mail.is_next_by(theirs, when) {
                    // It keeps its place among those that wait: by when it was sent.
                    let head = self.mail.again(first, when, &mut self.undecided);
                    self.arrivals[process as usize] = head;
                    continue;
                }
                if when < at || (when == at && theirs.made < here.made) {
                    (at, message) = (when, first);
                } else if when == at && theirs.made == here.made && at != NEVER {
                    self.undecided += 1;
                }
            }
            if at >= end {
                break;
            }
            self.events += 1;
            if message != NIL {
                self.look(process, &mut here, message, at)?;
            } else {
                let answer_ns = self.execute(process, &mut here, at)?;
                end = end.min(answer_ns.max(window_end));
            }
        }
        self.leave(process, here);
        Some(())
    }

    /// What is left when nothing goes on: messages that came to those that have ended.
    pub(super) fn drain(&mut self) -> Option<()> {
        for process in 0..self.ranks.len() as u32 {
            let mut here = self.ranks[process as usize];
            while self.arrivals[process as usize] != NIL {
                self.events += 1;
                let first = self.arrivals[process as usize];
                let free = here.processor.max(here.receiving);
                let now = self.mail.get(first).at.max(free);
                self.look(process, &mut here, first, now)?;
            }
            self.ranks[process as usize] = here;
        }
        Some(())
    }

    /// Keeps the state of a process, when it may send next, and when it is to be visited.
    #[inline]
    fn leave(&mut self, process: u32, here: Rank) {
        let then_ns = self.ahead.neighbours.quiet_ns[here.at as usize];
        let then = u64::from(then_ns);
        let due = here.due.max(here.processor);
        let (mut ns, mut via, mut next) = (due.saturating_add(then), NIL, due);
        if here.peer != NIL {
            let arrivals = self.arrivals[process as usize];
            match self.mail.first_of(arrivals, here.peer) {
                None => (ns, via) = (here.processor + then, here.peer),
                Some(message) => {
                    next = message.at.max(here.processor).max(here.receiving);
                    ns = next + u64::from(message.receive_ns) + then;
                }
            }
        }
        self.ahead.bounds[process as usize] = Bound { ns, via, then_ns };
        self.ranks[process as usize] = here;
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// Looks at the first message that has come.
    #[inline]
    fn look(&mut self, process: u32, here: &mut Rank, index: u32, now: u64) -> Option<()> {
        let message = self.mail.get(index);
        self.arrivals[process as usize] = message.next;
        here.receiving = now + u64::from(message.gap_ns);
        here.processor = now + u64::from(message.receive_ns);
        here.overhead += u64::from(message.receive_ns);
        if (message.peer, message.tag) != (here.peer, here.tag) {
            here.early = self.mail.append(here.early, index);
            return Some(());
        }
        let made = message.made;
        self.mail.release(index);
        if let Step::Receive { element, calls, .. } = self.steps[here.at as usize] {
            let elapsed = here.processor - here.since;
            self.count(process, element, calls, elapsed);
        }
        here.peer = NIL;
        here.at += 1;
        self.advance(process, here, now, made)
    }

    /// Runs the operation that is due: when a message that it sends may be answered at the earliest.
    #[inline]
    fn execute(&mut self, process: u32, here: &mut Rank, now: u64) -> Option<u64> {
        let made = here.made;
        let mut answer_ns = NEVER;
        match self.steps[here.at as usize] {
            Step::Work { time_ns, element } => self.work(process, here, (time_ns, element), now),
            Step::Compute { cost, element } => {
                let cost = self.value_of(process, cost);
                if !(0.0..=LONGEST_S).contains(&cost) {
                    return None;
                }
                self.work(process, here, (nanoseconds(cost), element), now);
            }
            _ => answer_ns = self.send(process, here, now)?,
        }
        here.at += 1;
        self.advance(process, here, now, made)?;
        Some(answer_ns)
    }

    #[inline]
    fn work(&mut self, process: u32, here: &mut Rank, (time_ns, element): (u64, u32), now: u64) {
        here.processor = now + time_ns;
        here.work += time_ns;
        self.count(process, element, 1, here.processor - here.since);
    }

    /// Sends a message: when it may be answered at the earliest.
    #[inline]
    fn send(&mut self, process: u32, here: &mut Rank, now: u64) -> Option<u64> {
        let Step::Send {
            tag,
            element,
            calls,
            ref costs,
            ..
        } = self.steps[here.at as usize]
        else {
            return None;
        };
        let to = here.to;
        let between = to != process && (self.per_node == 1 || self.node(process) != self.node(to));
        let costs = costs[usize::from(between)];
        here.sending = now + u64::from(costs.gap_ns);
        here.processor = now + costs.send_ns;
        here.overhead += costs.send_ns;
        self.count(process, element, calls, here.processor - here.since);
        let message = Message {
            at: now + costs.flight_ns,
            made: here.made.then(now),
            receive_ns: costs.receive_ns,
            gap_ns: costs.gap_ns,
            peer: process,
            tag,
            next: NIL,
        };
        Some(self.post(to, message))
    }

    /// Puts a message on its way to a process: when an answer may come at the earliest.
    #[inline]
    fn post(&mut self, to: u32, message: Message) -> u64 {
        self.messages += 1;
        let index = self.mail.add(message);
        let arrivals = &mut self.arrivals[to as usize];
        *arrivals = self.mail.arrive(*arrivals, index, &mut self.undecided);
        let bound = &mut self.ahead.bounds[to as usize];
        if bound.via != message.peer {
            return NEVER;
        }
        let then = u64::from(bound.then_ns);
        let at = message.at.max(bound.ns - then);
        bound.via = NIL;
        bound.ns = at + u64::from(message.receive_ns) + then;
        self.calendar.visit(to, at);
        bound.ns + self.ahead.lookahead_ns
    }

    /// Goes through the steps without time up to the next operation that takes some.
    #[inline]
    fn advance(
        &mut self,
        process: u32,
        here: &mut Rank,
        mut now: u64,
        mut made: Chain,
    ) -> Option<()> {
        let base = process as usize * self.width;
        let mut steps = 0_u64;
        here.due = loop {
            steps += 1;
            if steps > MOST_STEPS {
                return None;
            }
            match self.steps[here.at as usize] {
                Step::Assign { slot, value } => {
                    self.slots[base + slot as usize] = self.value_of(process, value);
                }
                Step::Jump { target } => {
                    here.at = target;
                    continue;
                }
                Step::JumpUnless { condition, target } => {
                    if self.value_of(process, condition) == 0.0 {
                        here.at = target;
                        continue;
                    }
                }
                Step::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                } => {
                    let rounds = self.value_of(process, count).round();
                    if rounds.is_nan() || rounds < 0.0 {
                        return None;
                    }
                    self.slots[base + counter as usize] = 0.0;
                    self.slots[base + limit as usize] = rounds;
                    if rounds == 0.0 {
                        here.at = exit;
                        continue;
                    }
                }
                Step::LoopNext {
                    counter,
                    limit,
                    start,
                } => {
                    let next = self.slots[base + counter as usize] + 1.0;
                    self.slots[base + counter as usize] = next;
                    if next < self.slots[base + limit as usize] {
                        here.at = start;
                        continue;
                    }
                }
                Step::Count { element } => self.count(process, element, 1, 0),
                Step::Work { .. } | Step::Compute { .. } => break here.processor,
                Step::Send { to, .. } => {
                    if let Some(to) = rank(self.value_of(process, to), self.ranks.len() as u32)? {
                        here.to = to;
                        break here.processor.max(here.sending);
                    }
                }
                Step::Receive {
                    from,
                    tag,
                    element,
                    calls,
                } => {
                    let from = rank(self.value_of(process, from), self.ranks.len() as u32)?;
                    if let Some(peer) = from {
                        (now, made) = (here.processor.max(now), made.then(now));
                        here.since = here.processor;
                        match self.mail.take(here.early, peer, tag) {
                            Some(early) => {
                                here.early = early;
                                self.count(process, element, calls, 0);
                            }
                            None => {
                                (here.peer, here.tag) = (peer, tag);
                                break NEVER;
                            }
                        }
                    }
                }
                Step::End => break NEVER,
            }
            here.at += 1;
        };
        here.made = made.then(now);
        if here.due != NEVER {
            here.since = here.processor;
        }
        Some(())
    }

    #[inline]
    fn count(&mut self, process: u32, element: u32, calls: u32, total_ns: u64) {
        let at = process as usize * self.n_elements + element as usize;
        self.counts[at].add(calls, total_ns);
    }

    #[inline]
    fn node(&self, process: u32) -> u32 {
        process / self.per_node
    }

    #[inline(always)]
    fn value_of(&self, process: u32, operand: Operand<'_>) -> f64 {
        match operand {
            Operand::Constant(value) => value,
            Operand::Slot(slot) => self.slots[process as usize * self.width + slot as usize],
            Operand::Code(code) => self.evaluate(process, code),
        }
    }

    #[inline(never)]
    fn evaluate(&self, process: u32, code: &Compiled) -> f64 {
        let base = process as usize * self.width;
        code.evaluate(&Context {
            slots: &self.slots[base..base + self.width],
            process: f64::from(process),
            thread: 0.0,
            threads: 1.0,
            node: f64::from(self.node(process)),
        })
    }

    /// Fetches what the next visits need while the present one goes on.
    #[inline]
    pub(super) fn warm(&self) {
        if let Some(next) = self.calendar.upcoming(0) {
            let first = self.arrivals[next as usize];
            if first != NIL {
                fetch(self.mail.get(first));
            }
        }
        let Some(later) = self.calendar.upcoming(1) else {
            return;
        };
        let at = later as usize;
        fetch(&self.ranks[at]);
        fetch(&self.ranks[at].since);
        fetch(&self.arrivals[at]);
        fetch(&self.ahead.bounds[at]);
        fetch_all(&self.slots[at * self.width..(at + 1) * self.width]);
        fetch_all(&self.counts[at * self.n_elements..(at + 1) * self.n_elements]);
    }
}
