//! How far a process may run ahead of the window, and when it need not be visited at all.
//!
//! Where all messages go without asking, nothing that arrives makes a process send but the message that
//! it waits for. So it is visited when that has come, or when its own operation is due, and takes
//! what came in between then, in its order. What is kept of each process is when it may send next, in
//! a list of its own that is small enough to stay in the caches.

use super::heap::Order;
use super::messages::{Message, NIL, Part};
use super::neighbours::Neighbours;
use super::pages::filled;
use super::process::{NEVER, Waits};
use super::run::Engine;
use super::warm::fetch;

/// Windows that a process may run ahead: work as long as that needs no visit of its own at its end. One that only
/// sends would fill the lists of those that come after it if there were no such end.
const AHEAD: u64 = 1024;

/// No neighbour.
pub(super) const NONE: u8 = u8::MAX;

/// A process that is not known: any message may make it send.
pub(super) const SOMEBODY: u8 = u8::MAX - 1;

/// All neighbours, a bit each.
pub(super) const ALL: u8 = u8::MAX;

/// When a process may send next, and to whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// When it goes on at the earliest.
    pub(super) ns: u64,
    /// With which operation.
    pub(super) at: u32,
    /// Nor before it has a message from this one of its [`Neighbours::senders`]; [`NONE`] where it waits
    /// for none that is not on its way, [`SOMEBODY`] where it is not known from whom.
    pub(super) via: u8,
    /// To whom it sends as long as its variables do not say otherwise: a bit for each place that it has itself
    /// among the senders of the other.
    pub(super) to: u8,
}

/// What is known ahead, of a program that says who sends to whom.
pub(super) struct Ahead {
    pub(super) neighbours: Neighbours,
    /// By process.
    pub(super) bounds: Vec<Bound>,
    pub(super) lookahead_ns: u64,
}

impl Ahead {
    pub(super) fn new(neighbours: Neighbours, processes: usize, lookahead_ns: u64) -> Self {
        let bound = Bound {
            ns: 0,
            at: 0,
            via: NONE,
            to: ALL,
        };
        Self {
            neighbours,
            bounds: filled(bound, processes),
            lookahead_ns,
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bounds.capacity() * size_of::<Bound>()
    }

    /// Fetches what is kept of a process and of those that may send to it.
    #[inline]
    pub(super) fn warm(&self, process: u32) {
        fetch(&self.bounds[process as usize]);
        for distance in &self.neighbours.senders {
            fetch(&self.bounds[self.further(process, *distance) as usize]);
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
    pub(super) fn place_of(&self, sender: u32, receiver: u32) -> Option<u8> {
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
    /// The process's own messages may be answered earlier; that is for who sends them to mind.
    #[inline]
    pub(super) fn horizon(&self, process: u32, (begin, end): (u64, u64)) -> u64 {
        let mut first = NEVER;
        for (place, distance) in self.neighbours.senders.iter().enumerate() {
            let sender = self.further(process, *distance);
            first = first.min(self.next_send(sender, (place as u8, process), begin));
        }
        let horizon = first.saturating_add(self.lookahead_ns);
        let horizon = horizon.min(begin + AHEAD * (end - begin));
        horizon.max(end)
    }

    /// How long a process works at least before it sends to the one among whose senders it has this place.
    #[inline]
    pub(super) fn then_ns(&self, bound: Bound, place: u8) -> u64 {
        let other = usize::from(bound.to >> place & 1 == 0);
        u64::from(self.neighbours.quiet_ns[bound.at as usize][other])
    }

    /// Says that a process goes on at `ns`, if it waits for a message of `sender`, which has sent it: when that may
    /// be answered at the earliest.
    #[inline]
    pub(super) fn comes(&mut self, process: u32, sender: u32, ns: u64) -> Option<u64> {
        let bound = self.bounds[process as usize];
        if bound.via >= SOMEBODY {
            return None;
        }
        let distance = self.neighbours.senders[usize::from(bound.via)];
        if self.further(process, distance) != sender {
            return None;
        }
        let then_ns = match self.place_of(process, sender) {
            Some(place) => self.then_ns(bound, place),
            None => NEVER,
        };
        let bound = &mut self.bounds[process as usize];
        (bound.ns, bound.via) = (ns, NONE);
        Some(ns.saturating_add(then_ns).saturating_add(self.lookahead_ns))
    }

    /// When a process may send its next message to `other`, among whose senders it has this place, at the
    /// earliest; but for one that it sends because of what `other` is still to do.
    #[inline]
    fn next_send(&self, process: u32, (place, other): (u8, u32), begin: u64) -> u64 {
        let bound = self.bounds[process as usize];
        let mut goes_on = bound.ns.max(begin);
        if bound.via < SOMEBODY {
            let peer = self.further(process, self.neighbours.senders[usize::from(bound.via)]);
            if peer == other {
                return NEVER;
            }
            let least = self.lookahead_ns + self.neighbours.least_receive_ns;
            let theirs = self.bounds[peer as usize];
            // What it waits for itself is not on its way.
            let mut sends = theirs.ns.max(begin);
            if theirs.via < SOMEBODY {
                sends = sends.max(begin + least);
            }
            sends = sends.saturating_add(self.then_ns(theirs, bound.via));
            goes_on = goes_on.max(sends.saturating_add(least));
        }
        goes_on.saturating_add(self.then_ns(bound, place))
    }
}

impl Engine<'_> {
    /// Has a process visited when it goes on, or when its next event may be.
    #[inline]
    pub(super) fn schedule(&mut self, process: u32) {
        let next = if self.ahead.is_some() {
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
        let Some(ahead) = &self.ahead else {
            return NEVER;
        };
        let (mut ns, mut via, mut next) = (p.processor, NONE, NEVER);
        match p.waits {
            Waits::Ended => ns = NEVER,
            Waits::No => (ns, next) = (p.due, p.due),
            Waits::Receive if (p.peer as usize) < ahead.bounds.len() => {
                match self.first_from(process, p.peer) {
                    Some(NIL) => via = ahead.place_of(p.peer, process).unwrap_or(SOMEBODY),
                    Some(index) => {
                        let message = self.pool.get(index);
                        next = message.at.max(p.free(true));
                        let link = self.link(process, message.peer);
                        ns = next + link.receive_ns(message.load.bytes());
                    }
                    None => (via, next) = (SOMEBODY, message),
                }
            }
            _ => (via, next) = (SOMEBODY, message),
        }
        let at = p.at;
        if let Some(ahead) = &mut self.ahead {
            ahead.bounds[process as usize] = Bound {
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
        match self.pool.first_from(p.waiting[0], peer, Order::Settled)? {
            NIL => self.pool.first_from(p.arrivals, peer, Order::Arrival),
            found => Some(found),
        }
    }

    /// Puts a message on its way to a process: when an answer may come at the earliest.
    #[inline]
    pub(super) fn post(&mut self, to: u32, message: Message) -> u64 {
        let part = message.load.part();
        self.messages += u64::from(matches!(part, Part::Eager | Part::Request));
        let index = self.pool.add(message);
        let p = &mut self.processes[to as usize];
        p.arrivals = self.pool.push(p.arrivals, index, Order::Arrival);
        let at = message.at.max(p.processor);
        let Some(ahead) = &self.ahead else {
            if p.arrivals != index {
            } else if self.is_crowded {
                self.calendar.visit(self.node(to), at);
            } else if at < p.due {
                self.calendar.visit(to, at);
            }
            return NEVER;
        };
        let Bound { via, .. } = ahead.bounds[to as usize];
        if via == SOMEBODY {
            self.calendar.visit(to, at);
        }
        let ns = at + self.link(message.peer, to).receive_ns(message.load.bytes());
        match self
            .ahead
            .as_mut()
            .and_then(|ahead| ahead.comes(to, message.peer, ns))
        {
            Some(answer_ns) => {
                self.calendar.visit(to, at);
                answer_ns
            }
            None => NEVER,
        }
    }
}
