//! Deferred events: those that found their rank busy.
//!
//! With thousands of messages in flight to one rank, or some sends that begin together, a queue that is tried again
//! each time the rank is free would do little else. Events that wait for the same processor and interface are taken in
//! order once these are free. So they wait in three lines of their rank, one for each interface and one for those that
//! need none, and the queue contains only the first of all of them: it is called when it can be taken.
//!
//! Ranks with several processors or interfaces have no lines: their events are tried again.

use crate::engine::schedules::shared_links::TURNS;
use crate::engine::schedules::{CALLED, DATA, EAGER, LARGE, OP, Run, WHAT};
use crate::events::NEVER;
use crate::events::heap::PairingHeaps;
use crate::events::messages::NIL;
use crate::events::prefetch::prefetch;
use crate::events::queue::Event;
use crate::events::slab::Slab;
use mastermind_programs::goal::Kind;
use mastermind_programs::huge_pages::vec_of;

/// The resource that an event waits for in addition to the processor of its rank: the line that it
/// waits in.
#[derive(Debug, Clone, Copy)]
pub(super) enum WaitsFor {
    Processor,
    Sending,
    Receiving,
}

impl WaitsFor {
    const ALL: [Self; 3] = [Self::Processor, Self::Sending, Self::Receiving];

    #[inline]
    pub(super) fn of_operation(kind: Kind) -> Self {
        match kind {
            Kind::Send => Self::Sending,
            Kind::Calc | Kind::Receive => Self::Processor,
        }
    }
}

/// No event is called.
const NOBODY: (u64, u64) = (NEVER, NEVER);

/// The lines of a rank: two in a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Lines {
    /// When the event is due that is called, and its order.
    called: (u64, u64),
    /// Heaps, by order.
    heads: [u32; 3],
}

/// An event that waits, of the rank that has the line: two in a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Node {
    order: u64,
    op: u32,
    peer: u32,
    other: u32,
    links: [u32; 2],
}

/// The lines of all ranks.
#[derive(Debug)]
pub(super) struct DeferredEvents {
    lines: Vec<Lines>,
    nodes: Slab<Node>,
}

impl PairingHeaps<()> for DeferredEvents {
    #[inline]
    fn links(&mut self, index: u32) -> [&mut u32; 2] {
        self.nodes[index].links.each_mut()
    }

    #[inline]
    fn is_before(&self, a: u32, b: u32, (): ()) -> bool {
        let order = |index: u32| self.nodes[index].order;
        order(a) < order(b)
    }
}

impl DeferredEvents {
    pub(super) fn new(ranks: usize) -> Self {
        let empty = Lines {
            called: NOBODY,
            heads: [NIL; 3],
        };
        Self {
            lines: vec_of(empty, ranks),
            nodes: Slab::default(),
        }
    }

    /// Fetches the lines of a rank.
    #[inline]
    pub(super) fn prefetch(&self, rank: u32) {
        prefetch(&self.lines[rank as usize]);
    }

    /// Fetches the first event of each line of a rank.
    #[inline]
    pub(super) fn prefetch_firsts(&self, rank: u32) {
        let heads = self.lines[rank as usize].heads;
        let firsts = heads.map(|head| self.nodes.get(head));
        firsts.into_iter().flatten().for_each(prefetch);
    }

    /// Puts an event into a line; whether it is the first of it.
    #[inline]
    fn put(&mut self, waits_for: WaitsFor, event: &Event) -> bool {
        let index = self.nodes.add(Node {
            order: event.order,
            op: event.op,
            peer: event.peer,
            other: event.other,
            links: [NIL; 2],
        });
        let rank = event.rank as usize;
        let head = self.lines[rank].heads[waits_for as usize];
        let head = self.push(head, index, ());
        self.lines[rank].heads[waits_for as usize] = head;
        head == index
    }

    /// Takes the first event out of a line of a rank, at `at`.
    #[inline]
    fn take(&mut self, waits_for: WaitsFor, rank: u32, at: u64) -> Event {
        let event = self.first(waits_for, rank, at);
        let head = self.lines[rank as usize].heads[waits_for as usize];
        self.lines[rank as usize].heads[waits_for as usize] = self.pop(head, ());
        self.nodes.release(head);
        event
    }

    /// The first event of a line of a rank that has some, due at `at`.
    #[inline]
    fn first(&self, waits_for: WaitsFor, rank: u32, at: u64) -> Event {
        let node = self.nodes[self.lines[rank as usize].heads[waits_for as usize]];
        Event {
            at,
            order: node.order,
            rank,
            op: node.op,
            peer: node.peer,
            other: node.other,
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Lines>() + self.nodes.bytes()
    }
}

impl Run<'_, '_> {
    /// Defers an event until its resources are free, at `event.at`; it keeps its order.
    #[inline]
    pub(super) fn defer(&mut self, event: Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.defer(event.order, event.rank, event.at);
        }
        if self.ranks[event.rank as usize].is_single() {
            let waits_for = match event.order & WHAT {
                EAGER | LARGE | DATA => WaitsFor::Receiving,
                OP => WaitsFor::of_operation(self.op(event.rank, event.op).kind),
                _ => WaitsFor::Processor,
            };
            self.wait_in_line(waits_for, event);
        } else {
            self.queue.push(event);
        }
    }

    /// Has an event wait that is not due before its rank is free, at `event.at`.
    #[inline]
    pub(super) fn wait_in_line(&mut self, waits_for: WaitsFor, event: Event) {
        if self.deferred.put(waits_for, &event) {
            self.call(event);
        }
    }

    /// Has an event called for at `event.at`, unless another one is before.
    #[inline]
    fn call(&mut self, event: Event) {
        let called = &mut self.deferred.lines[event.rank as usize].called;
        if (event.at, event.order) < *called {
            *called = (event.at, event.order);
            let order = event.order | CALLED;
            self.queue.push(Event { order, ..event });
        }
    }

    /// The event of a rank that waits and can be taken first, from `now` on: when, its order and its line.
    #[inline]
    fn first_in_line(&self, rank: u32, now: u64) -> Option<(u64, u64, WaitsFor)> {
        let state = &self.ranks[rank as usize];
        let heads = self.deferred.lines[rank as usize].heads;
        let now = now.max(state.processor);
        let free = [
            now,
            now.max(state.nic.sending),
            now.max(state.nic.receiving),
        ];
        let mut first = None;
        for waits_for in WaitsFor::ALL {
            if let Some(node) = self.deferred.nodes.get(heads[waits_for as usize]) {
                let at = free[waits_for as usize];
                if first.is_none_or(|(least, order, _)| (at, node.order) < (least, order)) {
                    first = Some((at, node.order, waits_for));
                }
            }
        }
        first
    }

    /// The called event is due: takes the event that is first by now, if the rank is free.
    pub(super) fn take_called(&mut self, called: Event) {
        let Event { at, rank, .. } = called;
        if called.order == TURNS {
            return self.pass_shared_links(at);
        }
        let calls = |run: &mut Self, event| run.deferred.lines[rank as usize].called = event;
        // Or an earlier one was called instead.
        if self.deferred.lines[rank as usize].called != (at, called.order & !CALLED) {
            self.events -= 1;
            return;
        }
        let mut first = self.first_in_line(rank, at);
        match first {
            Some((free, _, waits_for)) if free == at => {
                // None is called for while it is dealt with.
                calls(self, (0, 0));
                let event = self.deferred.take(waits_for, rank, at);
                self.take(event);
                first = self.first_in_line(rank, at);
            }
            _ => self.events -= 1,
        }
        calls(self, NOBODY);
        if let Some((at, _, waits_for)) = first {
            self.call(self.deferred.first(waits_for, rank, at));
        }
    }
}
