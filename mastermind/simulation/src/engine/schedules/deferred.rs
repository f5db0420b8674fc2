//! Deferred events: those that were tried several times while their rank was busy.
//!
//! A busy rank defers each event that is due there to the time at which it is free. With thousands of messages on their way
//! to one rank, the queue would do little else. Events that wait for the same processor and interface are taken in order once
//! these are free, so only the first of them need be in the queue; the others are kept here, one list for each resource.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::engine::schedules::{DATA, DEFERRAL, EAGER, LARGE, MAX_DEFERRALS, OP, Rank, Run, WHAT};
use crate::events::queue::Event;
use crate::goal::schedule::Kind;

/// The resource that an event waits for beside the processor of its rank.
#[derive(Debug, Clone, Copy)]
pub(super) enum WaitsFor {
    Processor,
    Sending,
    Receiving,
}

impl WaitsFor {
    pub(super) const ALL: [Self; 3] = [Self::Processor, Self::Sending, Self::Receiving];
}

/// The lines of all ranks.
#[derive(Debug, Default)]
pub(super) struct DeferredEvents(HashMap<u32, [DeferredLine; 3]>);

/// Events in their order, whatever time they have.
#[derive(Debug, Default)]
struct DeferredLine {
    waiting: BinaryHeap<Reverse<(u64, Event)>>,
    /// Orders of those that are in the queue; there are few.
    called: Vec<u64>,
}

impl DeferredEvents {
    /// Notes that an event has left the queue.
    #[cold]
    #[inline(never)]
    pub(super) fn came(&mut self, rank: u32, order: u64) {
        let lines = self.0.get_mut(&rank).into_iter().flatten();
        lines.for_each(|line| line.called.retain(|called| *called != order));
    }

    /// Adds an event to a list.
    pub(super) fn wait(&mut self, event: Event, waits_for: WaitsFor) {
        let line = &mut self.0.entry(event.rank).or_default()[waits_for as usize];
        line.waiting.push(Reverse((event.order, event)));
    }

    /// The first event of a list, unless an earlier one of it is in the queue already.
    pub(super) fn call(&mut self, rank: u32, waits_for: WaitsFor) -> Option<Event> {
        let line = &mut self.0.get_mut(&rank)?[waits_for as usize];
        let Reverse((order, _)) = line.waiting.peek()?;
        if line.called.iter().any(|called| called < order) {
            return None;
        }
        let Reverse((order, event)) = line.waiting.pop()?;
        line.called.push(order);
        Some(event)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let lines = self.0.values().flatten();
        let held: usize = lines.map(|line| line.waiting.capacity()).sum();
        held * size_of::<(u64, Event)>()
    }
}

impl Run<'_, '_> {
    /// Defers an event; it keeps its tie-break order.
    #[inline]
    pub(super) fn defer(&mut self, event: Event) {
        if event.order & MAX_DEFERRALS == MAX_DEFERRALS {
            self.wait_in_line(event);
        } else {
            let order = event.order + DEFERRAL;
            self.queue.push(Event { order, ..event });
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_in_line(&mut self, event: Event) {
        if self.ranks[event.rank as usize].is_single() {
            let waits_for = self.waits_for(&event);
            self.lines.wait(event, waits_for);
            self.call(event.rank, waits_for, 0);
        } else {
            self.queue.push(event);
        }
    }

    /// What an event waits for beside the processor.
    fn waits_for(&self, event: &Event) -> WaitsFor {
        match event.order & WHAT {
            EAGER | LARGE | DATA => WaitsFor::Receiving,
            OP if self.op(event.rank, event.op).kind == Kind::Send => WaitsFor::Sending,
            _ => WaitsFor::Processor,
        }
    }

    /// After a deferred event was handled: puts the next ones into the queue.
    #[cold]
    #[inline(never)]
    pub(super) fn call_all(&mut self, rank: u32, now: u64) {
        for waits_for in WaitsFor::ALL {
            self.call(rank, waits_for, now);
        }
    }

    /// Puts the first event of a list into the queue, for when the rank is free but not before `now`.
    fn call(&mut self, rank: u32, waits_for: WaitsFor, now: u64) {
        if let Some(event) = self.lines.call(rank, waits_for) {
            let Rank { processor, nic, .. } = self.ranks[rank as usize];
            let free = match waits_for {
                WaitsFor::Processor => processor,
                WaitsFor::Sending => processor.max(nic.sending),
                WaitsFor::Receiving => processor.max(nic.receiving),
            };
            let at = free.max(event.at).max(now);
            self.queue.push(Event { at, ..event });
        }
    }
}
