//! Deferred events: those that found their rank busy.
//!
//! With thousands of messages on their way to one rank, or some sends that begin together, a queue that is tried again each time the rank is
//! free would do little else. Events that wait for the same processor and interface are taken in order once these are free. So they
//! wait in three lines of their rank, one for each interface and one for those that want none, and the queue has the first of all of them
//! alone: it is called for when it can be taken.
//!
//! Ranks with several processors or interfaces have no lines: their events are tried again.

use crate::engine::schedules::shared_links::TURNS;
use crate::engine::schedules::{CALLED, DATA, EAGER, LARGE, OP, Run, WHAT};
use crate::events::NEVER;
use crate::events::heap::PairingHeaps;
use crate::events::messages::NIL;
use crate::events::queue::Event;
use crate::goal::schedule::Kind;

/// The resource that an event waits for beside the processor of its rank: the line that it waits in.
#[derive(Debug, Clone, Copy)]
enum WaitsFor {
    Processor,
    Sending,
    Receiving,
}

impl WaitsFor {
    const ALL: [Self; 3] = [Self::Processor, Self::Sending, Self::Receiving];
}

/// Nobody is called.
const NOBODY: (u64, u64) = (NEVER, NEVER);

/// The lines of a rank: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lines {
    /// When the event is due that is called, and its order.
    called: (u64, u64),
    /// Heaps, by order.
    heads: [u32; 3],
}

/// An event that waits; of its order alone the lines know whose turn it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    event: Event,
    links: [u32; 2],
}

/// The lines of all ranks that have some.
#[derive(Debug)]
pub(super) struct DeferredEvents {
    /// The first is of no rank.
    lines: Vec<Lines>,
    nodes: Vec<Node>,
    free: Vec<u32>,
}

impl Default for DeferredEvents {
    fn default() -> Self {
        Self {
            lines: vec![Self::EMPTY],
            nodes: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl PairingHeaps<()> for DeferredEvents {
    #[inline]
    fn links(&mut self, index: u32) -> [&mut u32; 2] {
        self.nodes[index as usize].links.each_mut()
    }

    #[inline]
    fn is_before(&self, a: u32, b: u32, (): ()) -> bool {
        let order = |index: u32| self.nodes[index as usize].event.order;
        order(a) < order(b)
    }
}

impl DeferredEvents {
    const EMPTY: Lines = Lines {
        called: NOBODY,
        heads: [NIL; 3],
    };

    /// The lines of a rank, by its row.
    #[inline]
    pub(super) fn row(&self, row: usize) -> &Lines {
        &self.lines[row]
    }

    /// The first event of each line.
    #[inline]
    pub(super) fn firsts(&self, row: usize) -> [Option<&Node>; 3] {
        let heads = self.lines[row].heads;
        heads.map(|head| self.nodes.get(head as usize))
    }

    /// Makes lines for a rank: its row.
    #[cold]
    fn add_row(&mut self) -> usize {
        self.lines.push(Self::EMPTY);
        self.lines.len() - 1
    }

    /// Puts an event into a line; whether it is the first of it.
    fn put(&mut self, row: usize, waits_for: WaitsFor, event: Event) -> bool {
        let node = Node {
            event,
            links: [NIL; 2],
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        let head = self.lines[row].heads[waits_for as usize];
        let head = self.push(head, index, ());
        self.lines[row].heads[waits_for as usize] = head;
        head == index
    }

    /// Takes the first event out of a line.
    fn take(&mut self, row: usize, waits_for: WaitsFor) -> Event {
        let head = self.lines[row].heads[waits_for as usize];
        self.lines[row].heads[waits_for as usize] = self.pop(head, ());
        self.free.push(head);
        self.nodes[head as usize].event
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Lines>()
            + self.nodes.capacity() * size_of::<Node>()
            + self.free.capacity() * size_of::<u32>()
    }
}

impl Run<'_, '_> {
    /// Defers an event to when what it needs is free, at `event.at`; it keeps its order.
    #[inline]
    pub(super) fn defer(&mut self, event: Event) {
        if self.ranks[event.rank as usize].is_single() {
            self.wait_in_line(event);
        } else {
            self.queue.push(event);
        }
    }

    /// Has an event wait that is not due before its rank is free, at `event.at`.
    #[inline]
    fn wait_in_line(&mut self, event: Event) {
        let waits_for = match event.order & WHAT {
            EAGER | LARGE | DATA => WaitsFor::Receiving,
            OP if self.op(event.rank, event.op).kind == Kind::Send => WaitsFor::Sending,
            _ => WaitsFor::Processor,
        };
        let form = &mut self.ranks[event.rank as usize].form;
        if form.row() == 0 {
            form.set_row(self.deferred.add_row());
        }
        let row = form.row();
        if self.deferred.put(row, waits_for, event) {
            self.call(row, event);
        }
    }

    /// Has an event called for at `event.at`, unless another one is before.
    #[inline]
    fn call(&mut self, row: usize, event: Event) {
        let called = &mut self.deferred.lines[row].called;
        if (event.at, event.order) < *called {
            *called = (event.at, event.order);
            let order = event.order | CALLED;
            self.queue.push(Event { order, ..event });
        }
    }

    /// The event of a rank that waits and can be taken first, from `now` on: its line, and itself with when that is.
    #[inline]
    fn first_in_line(&self, rank: u32, now: u64) -> Option<(WaitsFor, Event)> {
        let state = &self.ranks[rank as usize];
        let firsts = self.deferred.firsts(state.form.row());
        let of_line = |waits_for: WaitsFor| {
            let first = firsts[waits_for as usize]?;
            let free = match waits_for {
                WaitsFor::Processor => 0,
                WaitsFor::Sending => state.nic.sending,
                WaitsFor::Receiving => state.nic.receiving,
            };
            let at = free.max(state.processor).max(now);
            Some((waits_for, Event { at, ..first.event }))
        };
        let firsts = WaitsFor::ALL.into_iter().filter_map(of_line);
        firsts.min_by_key(|(_, event)| (event.at, event.order))
    }

    /// The event that was called for is due: takes the one that comes first by now, if the rank is free.
    pub(super) fn take_called(&mut self, called: Event) {
        let Event { at, rank, .. } = called;
        if called.order == TURNS {
            return self.pass_shared_links(at);
        }
        let row = self.ranks[rank as usize].form.row();
        // Or one that is before it was called for.
        let is_next = self.deferred.row(row).called == (at, called.order & !CALLED);
        let first = self.first_in_line(rank, at).filter(|_| is_next);
        match first {
            Some((waits_for, first)) if first.at == at => {
                // None is called for while it is dealt with.
                self.deferred.lines[row].called = (0, 0);
                self.deferred.take(row, waits_for);
                self.take(first);
            }
            _ => self.events -= 1,
        }
        if is_next {
            self.deferred.lines[row].called = NOBODY;
            if let Some((_, first)) = self.first_in_line(rank, at) {
                self.call(row, first);
            }
        }
    }
}
