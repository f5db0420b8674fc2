//! A process's own progress: its next operation.
//!
//! The counterpart of `programs/advance.rs` for programs whose messages are all eager. The
//! operations are compiled to small steps (`code`), with operands in a scratch of numbers that has
//! the variables of the visited process. Whatever such programs seldom need is left out: there are
//! no errors with places, no traces, no regions of threads. Where a value is wrong, a function
//! returns `None`, and the engine for all programs runs the program again and reports it.
//!
//! ```text
//! Operation::Send { to: "(process + 1) % processes" }
//!
//! Step  compute    temporary = (process + 1) % processes      timeless: run by `code.compute`
//! Step::Send       due = max(processor, sending)              the next event; `execute` runs it
//! ```
//!
//! `execute` also returns the earliest time at which the message that it sends may be answered. Up
//! to then, the visit may go on alone; see `visit`.

use crate::engine::limits::{MAX_COST_S, nanoseconds};
use crate::engine::programs::costs::Costs;
use crate::engine::programs::eager::code::{Size, Step};
use crate::engine::programs::eager::visit::EagerState;
use crate::engine::programs::process::WaitState;
use crate::engine::programs::ranks::ProcessView;
use crate::events::NEVER;
use crate::events::messages::{ANYBODY, Load, Message, NIL};
use crate::events::prefetch::prefetch;
use crate::events::tie_break::TieBreak;
use crate::loggp::MessagePart;
use mastermind_programs::{ANY, Mode, NOBODY};

impl EagerState<'_> {
    /// Goes through the steps without time up to the next operation that takes some.
    ///
    /// Inlined, so that a visit keeps the state of the process in registers.
    ///
    /// # Arguments
    /// * `now` - time of the event that leads here, `tie_break` - its tie-break key
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        view: &mut ProcessView<'_>,
        mut now: u64,
        mut tie_break: TieBreak,
    ) -> Option<()> {
        let steps = &self.code.steps[..];
        let mut at = view.rank.at as usize;
        let mut n_jumps = 0_u64;
        let due = loop {
            if steps[at].is_timeless() {
                at = self
                    .code
                    .compute(&mut self.scratch, view.counts, at, &mut n_jumps)?;
            }
            let step = &steps[at];
            at += 1;
            macro_rules! get {
                ($place:expr) => {
                    self.scratch.get($place)
                };
            }
            match *step {
                Step::Evaluate { expression, to } => {
                    let expression = &self.code.expressions[expression as usize];
                    let value = self.evaluate(view, expression);
                    self.scratch.set(to, value);
                }
                Step::Redirect => view.rank.is_redirected = true,
                Step::Work { .. } | Step::Compute { .. } => break view.rank.processor,
                Step::Send {
                    to, tag, is_call, ..
                } => {
                    let to = get!(to);
                    if to != NOBODY {
                        let peer = self.rank(to)?;
                        // The message is posted when the send is due; until then the mailbox may
                        // come into the caches.
                        prefetch(&self.mailboxes[peer as usize]);
                        view.rank.peer = peer;
                        view.rank.tag = tag.number(&self.scratch, is_call, false)?;
                        break view.rank.processor.max(view.rank.sending);
                    }
                }
                Step::Receive {
                    from,
                    tag,
                    sender,
                    mode,
                    is_call,
                    element,
                } => {
                    let from = get!(from);
                    if from == NOBODY {
                        self.set_sender(sender, NOBODY);
                        continue;
                    }
                    let peer = if from == ANY {
                        ANYBODY
                    } else {
                        self.rank(from)?
                    };
                    let tag = tag.number(&self.scratch, is_call, true)?;
                    let rank = &mut *view.rank;
                    (now, tie_break) = (rank.processor.max(now), tie_break.then(now));
                    rank.since = rank.processor;
                    if rank.unexpected != NIL
                        && let Some(from) = self.take_unexpected(view, (peer, tag))
                    {
                        view.counts[element as usize].add(u32::from(is_call), 0);
                        self.set_sender(sender, f64::from(from));
                        if let (Some(completions), Mode::Nonblocking) =
                            (&mut view.completions, mode)
                        {
                            completions.senders.push_back(from);
                        }
                        continue;
                    }
                    if mode == Mode::Blocking {
                        (view.rank.peer, view.rank.tag) = (peer, tag);
                        view.rank.wait_state = WaitState::Receive;
                        break NEVER;
                    }
                    view.counts[element as usize].add(u32::from(is_call), 0);
                    self.post_receive(view, (peer, tag), mode);
                }
                Step::Wait { mode, element } => {
                    let rank = &mut *view.rank;
                    if rank.pending[usize::from(mode == Mode::Internal)] > 0 {
                        rank.since = rank.processor;
                        rank.wait_state = WaitState::Pending;
                        break NEVER;
                    }
                    view.counts[element as usize].add(mode.calls(), 0);
                    if let (Some(completions), Mode::Nonblocking) = (&mut view.completions, mode) {
                        completions.senders.clear();
                    }
                }
                Step::WaitAny { sender, element } => {
                    let completions = view.completions.as_mut()?;
                    let first = completions.senders.pop_front();
                    if first.is_none() && completions.n_open > 0 {
                        view.rank.since = view.rank.processor;
                        view.rank.wait_state = WaitState::Pending;
                        break NEVER;
                    }
                    view.counts[element as usize].add(1, 0);
                    self.set_sender(sender, first.map_or(NOBODY, f64::from));
                }
                Step::End => {
                    view.rank.wait_state = WaitState::Ended;
                    break NEVER;
                }
                // `Fail`; the others are behind.
                _ => return None,
            }
        };
        let rank = &mut *view.rank;
        if due != NEVER {
            rank.since = rank.processor;
        }
        (rank.at, rank.due, rank.tie_break) = (at as u32 - 1, due, tie_break.then(now));
        Some(())
    }

    /// Takes the unexpected message that a receive is for: its sender.
    #[inline(never)]
    fn take_unexpected(&mut self, view: &mut ProcessView<'_>, wanted: (u32, i32)) -> Option<u32> {
        let last = &mut view.rank.unexpected;
        let index = &mut self.unexpected_index;
        let found = index.message(&self.pool, view.process, *last, wanted);
        if found == NIL {
            return None;
        }
        index.remove(&mut self.pool, view.process, last, found);
        self.pool.release(found);
        Some(self.pool.get(found).peer)
    }

    /// Posts a nonblocking receive.
    #[inline(always)]
    fn post_receive(&mut self, view: &mut ProcessView<'_>, receive: (u32, i32), mode: Mode) {
        let rank = &mut *view.rank;
        rank.pending[usize::from(mode == Mode::Internal)] += 1;
        if let (Some(completions), Mode::Nonblocking) = (&mut view.completions, mode) {
            completions.n_open += 1;
        }
        // No entry comes before one that did not find room in line.
        if rank.posted == NIL
            && let Some(line) = &mut view.posted
            && line.post(receive, mode)
        {
            return;
        }
        let (peer, tag) = receive;
        let index = self.pool.add(Message {
            at: self.pool.n_added(),
            tie_break: TieBreak::START,
            load: Load::new(0, MessagePart::Eager, mode).received_by(mode),
            peer,
            tag,
            next: NIL,
            other: NIL,
        });
        self.posted_index
            .append(&mut self.pool, view.process, &mut rank.posted, index);
    }

    /// Runs the operation that is due: the earliest time at which a message that it sends may be answered.
    #[inline(always)]
    pub(super) fn execute(&mut self, view: &mut ProcessView<'_>, now: u64) -> Option<u64> {
        let mut answer_ns = NEVER;
        match self.code.steps[view.rank.at as usize] {
            Step::Work { time_ns, element } => self.work(view, (time_ns, element), now),
            Step::Compute { cost, element } => {
                let cost = self.evaluate(view, &self.code.expressions[cost as usize]);
                if !(0.0..=MAX_COST_S).contains(&cost) {
                    return None;
                }
                self.work(view, (nanoseconds(cost), element), now);
            }
            Step::Send {
                is_call,
                element,
                size,
                ..
            } => {
                let costs = self.costs(view, size)?;
                let rank = &mut *view.rank;
                rank.sending = now + u64::from(costs.gap_ns);
                rank.processor = now + costs.send_ns;
                rank.overhead += costs.send_ns;
                let elapsed_ns = rank.processor - rank.since;
                view.counts[element as usize].add(u32::from(is_call), elapsed_ns);
                let to = rank.peer;
                answer_ns = self.post(
                    to,
                    Message {
                        at: now + costs.flight_ns,
                        tie_break: rank.tie_break.then(now),
                        load: Load::of_times(costs.receive_ns, costs.gap_ns),
                        peer: view.process,
                        tag: rank.tag,
                        next: NIL,
                        other: NIL,
                    },
                );
                // `take_in` ran at the begin of the visit; a message to itself comes later.
                if to == view.process {
                    self.take_in(view);
                }
            }
            _ => return None,
        }
        Some(answer_ns)
    }

    /// Occupies the processor with work.
    #[inline(always)]
    fn work(&self, view: &mut ProcessView<'_>, (time_ns, element): (u64, u32), now: u64) {
        let time_ns = match &self.machine.noise {
            None => time_ns,
            Some(noise) => noise.lengthened_ns((view.process, 0), now, time_ns),
        };
        let rank = &mut *view.rank;
        rank.processor = now + time_ns;
        rank.work += time_ns;
        view.counts[element as usize].add(1, rank.processor - rank.since);
    }

    /// Cost of the message that is due.
    #[inline(always)]
    fn costs(&self, view: &ProcessView<'_>, size: Size) -> Option<Costs> {
        let (from, to) = (view.process, view.rank.peer);
        let is_between =
            from != to && (self.per_node == 1 || from / self.per_node != to / self.per_node);
        match size.costs() {
            Ok(known) => Some(self.code.costs[known][usize::from(is_between)]),
            Err(expression) => self.varying_costs(view, expression, is_between),
        }
    }

    /// Cost of a message whose size is computed when it is sent.
    #[inline(never)]
    fn varying_costs(
        &self,
        view: &ProcessView<'_>,
        size: usize,
        is_between: bool,
    ) -> Option<Costs> {
        let bytes = self.evaluate(view, &self.code.expressions[size]);
        let machine = self.machine;
        Costs::of(
            bytes,
            if is_between {
                &machine.inter
            } else {
                &machine.intra
            },
        )
    }
}
