//! From an operation that has ended, or begun, to those that waited for it.

use crate::engine::schedules::deferred::WaitsFor;
use crate::engine::schedules::{DONE, OP, Rank, Run, STEP};
use crate::events::queue::Event;
use mastermind_programs::goal::{Kind, Schedule};

impl Run<'_, '_> {
    /// Begins operations that have become ready: receives at once, the others as events; several wait in
    /// line.
    #[inline]
    pub(super) fn start_ready(&mut self, rank: u32) {
        let mut has_line = false;
        // In the order in which they became ready.
        let mut at = 0;
        while at < self.ready.len() {
            let (op, when) = self.ready[at];
            at += 1;
            let it = self.op(rank, op);
            let state = &self.ranks[rank as usize];
            let is_single = state.is_single();
            // On a single processor nothing can come before it is free.
            if it.kind == Kind::Receive && (is_single || when == 0) {
                self.receive(rank, op, when);
                continue;
            }
            // Before the processor and the interface are free it would only be deferred.
            let mut free = when;
            if is_single {
                free = free.max(state.processor);
                has_line = has_line || self.has_more_than_receives(rank, at);
            }
            if it.kind == Kind::Send {
                free = free.max(self.nic(rank, it.nic).sending);
            }
            self.order += STEP;
            if let Some(recorder) = &mut self.recorder {
                recorder.schedule_begin(self.order | OP);
            }
            let event = Event {
                at: free,
                order: self.order | OP,
                rank,
                op,
                ..Event::default()
            };
            if has_line {
                self.wait_in_line(WaitsFor::of_operation(it.kind), event);
            } else {
                self.queue.push(event);
            }
        }
        self.ready.clear();
    }

    /// Whether one of the ready operations, from this one on, is no receive.
    #[inline]
    fn has_more_than_receives(&self, rank: u32, from: usize) -> bool {
        let is_receive = |op| self.op(rank, op).kind == Kind::Receive;
        self.ready[from..].iter().any(|(op, _)| !is_receive(*op))
    }

    /// An operation has ended at `end`, which may be yet to come.
    #[inline]
    pub(super) fn complete(&mut self, rank: u32, op: u32, end: u64) {
        let state = &mut self.ranks[rank as usize];
        state.left -= 1;
        if state.is_single() {
            // Operations that wait for it need the processor, which is not free before.
            self.release(rank, op, end);
        } else {
            let event = Event {
                at: end,
                rank,
                op,
                ..Event::default()
            };
            self.push(DONE, event);
        }
    }

    #[inline]
    pub(super) fn release_begin(&mut self, rank: u32, op: u32, at: u64) {
        if self.ranks[rank as usize].form.waits_for_begins() {
            self.release_dependents(rank, op, at, true);
        }
    }

    /// Takes a wait from those that wait for an operation's end.
    #[inline]
    pub(super) fn release(&mut self, rank: u32, op: u32, at: u64) {
        let Rank { first_op, form, .. } = self.ranks[rank as usize];
        // The first of another rank is behind none.
        if self.schedule.ops.release_next(first_op + op as usize + 1) {
            self.ready.push((op + 1, at));
        }
        if form.depends() {
            self.release_dependents(rank, op, at, false);
        }
    }

    #[inline]
    fn release_dependents(&mut self, rank: u32, op: u32, at: u64, begin: bool) {
        let first_op = self.ranks[rank as usize].first_op;
        let Schedule {
            ops, dependents, ..
        } = &mut self.schedule;
        let (run, others) = dependents.of(first_op, op);
        let run = if begin { 0..0 } else { run };
        let others = others.iter().filter(|other| other.begin() == begin);
        for op in run.chain(others.map(|other| other.op())) {
            if ops.release(first_op + op as usize) {
                self.ready.push((op, at));
            }
        }
    }
}
