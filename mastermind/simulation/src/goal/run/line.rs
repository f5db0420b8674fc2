//! Events that were put off again and again because their rank is busy: one of each kind in the queue, the rest in line.
//!
//! A busy rank puts off all that is due there to when it is free, each time: with thousands of messages on their way to
//! one rank, nearly all that the queue does would be that. What waits for the same processor and interface goes in order
//! when these are free, so that only the first of them need be in the queue.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::super::queue::Event;
use super::super::schedule::Kind;
use super::{DATA, EAGER, LARGE, OFTEN, OP, PUT_OFF, Rank, Run, WHAT};

/// What an event waits for beside its rank's processor.
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
pub(super) struct Lines(HashMap<u32, [Line; 3]>);

/// Events in their order, whatever time they have.
#[derive(Debug, Default)]
struct Line {
    waiting: BinaryHeap<Reverse<(u64, Event)>>,
    /// Orders of those that are in the queue: few.
    called: Vec<u64>,
}

impl Lines {
    /// Takes note that an event came out of the queue.
    #[cold]
    #[inline(never)]
    pub(super) fn came(&mut self, rank: u32, order: u64) {
        let lines = self.0.get_mut(&rank).into_iter().flatten();
        lines.for_each(|line| line.called.retain(|called| *called != order));
    }

    /// Puts an event in line.
    pub(super) fn wait(&mut self, event: Event, waits_for: WaitsFor) {
        let line = &mut self.0.entry(event.rank).or_default()[waits_for as usize];
        line.waiting.push(Reverse((event.order, event)));
    }

    /// The event that has to be in the queue and is not: the first in line.
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

impl Run<'_> {
    /// Has an event tried again; it keeps its place among those that wait.
    #[inline]
    pub(super) fn put_off(&mut self, event: Event) {
        if event.order & OFTEN == OFTEN {
            self.put_in_line(event);
        } else {
            let order = event.order + PUT_OFF;
            self.queue.push(Event { order, ..event });
        }
    }

    #[cold]
    #[inline(never)]
    fn put_in_line(&mut self, event: Event) {
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

    /// After an event that was in line: has the next ones tried.
    #[cold]
    #[inline(never)]
    pub(super) fn call_all(&mut self, rank: u32, now: u64) {
        for waits_for in WaitsFor::ALL {
            self.call(rank, waits_for, now);
        }
    }

    /// Has the first in line tried when the rank is free, but not before a time.
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
