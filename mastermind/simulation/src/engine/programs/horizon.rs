//! How far a process may run ahead of the window, and when it need not be visited at all.
//!
//! Where all messages are eager, nothing that arrives makes a process send but the message that it waits for. So a process
//! is visited when that message has come, or when its own operation is due, and then takes what came in between, in order.
//! A small table, which stays in the caches, holds for each process when it may send next.

use crate::engine::programs::neighbours::Neighbours;
use crate::engine::programs::process::WaitState;
use crate::engine::programs::run::Engine;
use crate::events::NEVER;
use crate::events::heap::Order;
use crate::events::huge_pages::vec_of;
use crate::events::messages::{Message, NIL};
use crate::events::prefetch::prefetch;
use crate::loggp::MessagePart;

/// Windows that a process may run ahead: work as long as that needs no visit of its own at its end. One that only
/// sends would fill the lists of those that come after it if there were no such end.
const MAX_WINDOWS_AHEAD: u64 = 1024;

/// No neighbour.
pub(crate) const NONE: u8 = u8::MAX;

/// A process that is not known: any message may make it send.
pub(crate) const UNKNOWN_SENDER: u8 = u8::MAX - 1;

/// All neighbours, a bit each.
pub(crate) const ALL: u8 = u8::MAX;

/// When a process may send next, and to whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// When it goes on at the earliest.
    pub(crate) ns: u64,
    /// With which operation.
    pub(crate) at: u32,
    /// Nor before it has a message from this one of its [`Neighbours::senders`]; [`NONE`] where it waits
    /// for none that is not on its way, [`UNKNOWN_SENDER`] where it is not known from whom.
    pub(crate) via: u8,
    /// To whom it sends as long as its variables do not say otherwise: a bit for each place that it has itself
    /// among the senders of the other.
    pub(crate) to: u8,
}

/// What is known ahead, of a program that says who sends to whom.
pub(crate) struct Horizons {
    pub(crate) neighbours: Neighbours,
    /// By process.
    pub(crate) bounds: Vec<Bound>,
    pub(crate) lookahead_ns: u64,
}

impl Horizons {
    pub(crate) fn new(neighbours: Neighbours, processes: usize, lookahead_ns: u64) -> Self {
        let bound = Bound {
            ns: 0,
            at: 0,
            via: NONE,
            to: ALL,
        };
        Self {
            neighbours,
            bounds: vec_of(bound, processes),
            lookahead_ns,
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bounds.capacity() * size_of::<Bound>()
    }

    /// Fetches what is kept of a process and of those that may send to it.
    #[inline]
    pub(crate) fn prefetch(&self, process: u32) {
        prefetch(&self.bounds[process as usize]);
        for distance in &self.neighbours.senders {
            prefetch(&self.bounds[self.further(process, *distance) as usize]);
        }
    }

    /// The rank so much further than that of a process, round the end.
    #[inline]
    fn further(&self, process: u32, distance: u32) -> u32 {
        let rank = process + distance;
        // What falls below zero becomes large, and the other is the less.
        rank.min(rank.wrapping_sub(self.bounds.len() as u32))
    }

    /// The place among the senders to `receiver` that `sender` has.
    #[inline]
    pub(crate) fn place_of(&self, sender: u32, receiver: u32) -> Option<u8> {
        let mut distance = sender.wrapping_sub(receiver);
        if sender < receiver {
            distance = distance.wrapping_add(self.bounds.len() as u32);
        }
        let senders = &self.neighbours.senders;
        senders
            .iter()
            .position(|known| *known == distance)
            .map(|place| place as u8)
    }

    /// Until when no message can come to a process that is not on its way already: the end of the
    /// present window at least, which is given by its begin and end.
    ///
    /// The process's own messages may be answered earlier; the caller, who sends them, accounts for that.
    #[inline]
    pub(crate) fn horizon(&self, process: u32, (begin, end): (u64, u64)) -> u64 {
        let mut first = NEVER;
        for (place, distance) in self.neighbours.senders.iter().enumerate() {
            let sender = self.further(process, *distance);
            first = first.min(self.next_send(sender, (place as u8, process), begin));
        }
        let horizon = first.saturating_add(self.lookahead_ns);
        let horizon = horizon.min(begin + MAX_WINDOWS_AHEAD * (end - begin));
        horizon.max(end)
    }

    /// How long a process works at least before it sends to the one among whose senders it has this place.
    #[inline]
    pub(crate) fn work_before_send_ns(&self, bound: Bound, place: u8) -> u64 {
        let other = usize::from(bound.to >> place & 1 == 0);
        u64::from(self.neighbours.work_before_send_ns[bound.at as usize][other])
    }

    /// Says that a process goes on at `ns`, if it waits for a message of `sender`, which has sent it: when that may
    /// be answered at the earliest.
    #[inline]
    pub(crate) fn note_arrival(&mut self, process: u32, sender: u32, ns: u64) -> Option<u64> {
        let bound = self.bounds[process as usize];
        if bound.via >= UNKNOWN_SENDER {
            return None;
        }
        let distance = self.neighbours.senders[usize::from(bound.via)];
        if self.further(process, distance) != sender {
            return None;
        }
        let work_before_send_ns = match self.place_of(process, sender) {
            Some(place) => self.work_before_send_ns(bound, place),
            None => NEVER,
        };
        let bound = &mut self.bounds[process as usize];
        (bound.ns, bound.via) = (ns, NONE);
        Some(
            ns.saturating_add(work_before_send_ns)
                .saturating_add(self.lookahead_ns),
        )
    }

    /// When a process may send its next message to `other`, among whose senders it has this place, at the
    /// earliest; but for one that it sends because of what `other` is still to do.
    #[inline]
    fn next_send(&self, process: u32, (place, other): (u8, u32), begin: u64) -> u64 {
        let bound = self.bounds[process as usize];
        let mut goes_on = bound.ns.max(begin);
        if bound.via < UNKNOWN_SENDER {
            let peer = self.further(process, self.neighbours.senders[usize::from(bound.via)]);
            if peer == other {
                return NEVER;
            }
            let least = self.lookahead_ns + self.neighbours.least_receive_ns;
            let theirs = self.bounds[peer as usize];
            // What it waits for itself is not on its way.
            let mut sends = theirs.ns.max(begin);
            if theirs.via < UNKNOWN_SENDER {
                sends = sends.max(begin + least);
            }
            sends = sends.saturating_add(self.work_before_send_ns(theirs, bound.via));
            goes_on = goes_on.max(sends.saturating_add(least));
        }
        goes_on.saturating_add(self.work_before_send_ns(bound, place))
    }
}

impl Engine<'_> {
    /// Has a process visited when it goes on, or when its next event may be.
    #[inline]
    pub(crate) fn schedule(&mut self, process: u32) {
        let next = if self.horizons.is_some() {
            self.bound(process)
        } else {
            let message = self.next_message(process).map_or(NEVER, |(at, ..)| at);
            self.processes[process as usize].due.min(message)
        };
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// Keeps when a process may send next: when it goes on, as far as that is known.
    #[inline]
    fn bound(&mut self, process: u32) -> u64 {
        let message = self.next_message(process).map_or(NEVER, |(at, ..)| at);
        let p = &self.processes[process as usize];
        let Some(horizons) = &self.horizons else {
            return NEVER;
        };
        let (mut ns, mut via, mut next) = (p.processor, NONE, NEVER);
        match p.wait_state {
            WaitState::Ended => ns = NEVER,
            WaitState::Ready => (ns, next) = (p.due, p.due),
            WaitState::Receive if (p.peer as usize) < horizons.bounds.len() => {
                match self.first_from(process, p.peer) {
                    Some(NIL) => via = horizons.place_of(p.peer, process).unwrap_or(UNKNOWN_SENDER),
                    Some(index) => {
                        let message = self.pool.get(index);
                        next = message.at.max(p.free(true));
                        let link = self.link(process, message.peer);
                        ns = next + link.receive_ns(message.load.bytes());
                    }
                    None => (via, next) = (UNKNOWN_SENDER, message),
                }
            }
            _ => (via, next) = (UNKNOWN_SENDER, message),
        }
        let at = p.at;
        if let Some(horizons) = &mut self.horizons {
            horizons.bounds[process as usize] = Bound {
                ns,
                at,
                via,
                to: ALL,
            };
        }
        next
    }

    /// The first message for a process that comes from `peer`, or [`NIL`]; nothing where it is long to find. Those
    /// that run ahead get messages with bytes only.
    #[inline]
    fn first_from(&self, process: u32, peer: u32) -> Option<u32> {
        let p = &self.processes[process as usize];
        match self.pool.first_from(p.waiting[0], peer, Order::TieBreak)? {
            NIL => self.pool.first_from(p.arrivals, peer, Order::Arrival),
            found => Some(found),
        }
    }

    /// Puts a message on its way to a process: when an answer may come at the earliest.
    #[inline]
    pub(crate) fn post(&mut self, to: u32, message: Message) -> u64 {
        let part = message.load.part();
        self.messages += u64::from(matches!(
            part,
            MessagePart::Eager | MessagePart::RequestToSend
        ));
        let index = self.pool.add(message);
        let p = &mut self.processes[to as usize];
        p.arrivals = self.pool.push(p.arrivals, index, Order::Arrival);
        let at = message.at.max(p.processor);
        let Some(horizons) = &self.horizons else {
            if p.arrivals != index {
            } else if self.is_oversubscribed {
                self.calendar.visit(self.node(to), at);
            } else if at < p.due {
                self.calendar.visit(to, at);
            }
            return NEVER;
        };
        let Bound { via, .. } = horizons.bounds[to as usize];
        if via == UNKNOWN_SENDER {
            self.calendar.visit(to, at);
        }
        let ns = at + self.link(message.peer, to).receive_ns(message.load.bytes());
        match self
            .horizons
            .as_mut()
            .and_then(|horizons| horizons.note_arrival(to, message.peer, ns))
        {
            Some(answer_ns) => {
                self.calendar.visit(to, at);
                answer_ns
            }
            None => NEVER,
        }
    }
}
