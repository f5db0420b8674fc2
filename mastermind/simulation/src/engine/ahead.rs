//! How far a process may run ahead of the window, and when it need not be visited at all.
//!
//! Where all messages go without asking, nothing that arrives makes a process send but the message that
//! it waits for. So it is visited when that has come, or when its own operation is due, and takes
//! what came in between then, in its order. What is kept of each process is when it may send next, in
//! a list of its own that is small enough to stay in the caches.

use super::messages::{Message, NIL, Part};
use super::neighbours::Neighbours;
use super::pages::filled;
use super::process::{NEVER, Waits};
use super::run::Engine;
use super::warm::fetch;

/// Any process's message may make it send.
pub(super) const SOMEBODY: u32 = NIL - 1;

/// Windows that a process may run ahead: work as long as that needs no visit of its own at its end. One that only
/// sends would fill the lists of those that come after it if there were no such end.
const AHEAD: u64 = 1024;

/// When a process may send next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// Not before this, whatever comes.
    pub(super) ns: u64,
    /// Nor before it has a message from there; [`NIL`] where it waits for none that is not on its way.
    pub(super) via: u32,
    /// And so long after it has received that, nanoseconds.
    pub(super) then_ns: u32,
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
            via: NIL,
            then_ns: 0,
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

    /// Until when no message can come to a process that is not on its way already: the end of the
    /// present window at least, which is given by its begin and end.
    ///
    /// The process's own messages may be answered earlier; that is for who sends them to mind.
    #[inline]
    pub(super) fn horizon(&self, process: u32, (begin, end): (u64, u64)) -> u64 {
        let mut first = NEVER;
        for distance in &self.neighbours.senders {
            let sender = self.further(process, *distance);
            first = first.min(self.next_send(sender, process, begin));
        }
        let horizon = first.saturating_add(self.lookahead_ns);
        let horizon = horizon.min(begin + AHEAD * (end - begin));
        horizon.max(end)
    }

    /// When a process may send its next message at the earliest, but for one that it sends because
    /// of what `other` is still to do.
    #[inline]
    fn next_send(&self, process: u32, other: u32, begin: u64) -> u64 {
        let Bound { ns, via, then_ns } = self.bounds[process as usize];
        match via {
            NIL | SOMEBODY => ns.max(begin),
            _ if via == other => NEVER,
            _ => {
                let least = self.lookahead_ns + self.neighbours.least_receive_ns;
                let peer = self.bounds[via as usize];
                // What it waits for itself is not on its way.
                let theirs = match peer.via {
                    NIL | SOMEBODY => begin,
                    _ => begin + least + u64::from(peer.then_ns),
                };
                let comes = peer
                    .ns
                    .max(theirs)
                    .saturating_add(least + u64::from(then_ns));
                ns.max(comes)
            }
        }
    }
}

impl Engine<'_> {
    /// Has a process visited when it goes on, or when its next event may be.
    #[inline]
    pub(super) fn schedule(&mut self, process: u32) {
        let next = if self.ahead.is_some() {
            self.bound(process)
        } else {
            let p = &self.processes[process as usize];
            match p.arrivals {
                NIL => p.due,
                first => p.due.min(self.pool.get(first).at.max(p.processor)),
            }
        };
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// Keeps when a process may send next: when it goes on, as far as that is known.
    #[inline]
    fn bound(&mut self, process: u32) -> u64 {
        let p = &self.processes[process as usize];
        let Some(ahead) = &self.ahead else {
            return NEVER;
        };
        let then_ns = ahead.neighbours.quiet_ns[p.at as usize];
        let then = u64::from(then_ns);
        let (mut ns, mut via, mut next) = (p.processor + then, NIL, NEVER);
        match p.waits {
            Waits::Ended => ns = NEVER,
            Waits::No => (ns, next) = (p.due + then, p.due),
            Waits::Receive if (p.peer as usize) < ahead.bounds.len() => {
                let mut arrivals = self.pool.list(p.arrivals);
                match arrivals.find(|message| message.peer == p.peer) {
                    None => via = p.peer,
                    Some(message) => {
                        next = message.at.max(p.processor);
                        let link = self.link(process, message.peer);
                        ns = next + link.receive_ns(message.bytes) + then;
                    }
                }
            }
            _ => {
                via = SOMEBODY;
                if p.arrivals != NIL {
                    next = self.pool.get(p.arrivals).at.max(p.processor);
                }
            }
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.bounds[process as usize] = Bound { ns, via, then_ns };
        }
        next
    }

    /// Puts a message on its way to a process: when an answer may come at the earliest.
    #[inline]
    pub(super) fn post(&mut self, to: u32, message: Message) -> u64 {
        self.messages += u64::from(matches!(message.part, Part::Eager | Part::Request));
        let index = self.pool.add(message);
        let p = &mut self.processes[to as usize];
        p.arrivals = self.pool.arrive(p.arrivals, index, &mut self.undecided);
        let at = message.at.max(p.processor);
        let Some(ahead) = &mut self.ahead else {
            if p.arrivals != index {
            } else if self.is_crowded {
                self.calendar.visit(self.node(to), at);
            } else if at < p.due {
                self.calendar.visit(to, at);
            }
            return NEVER;
        };
        let bound = &mut ahead.bounds[to as usize];
        if bound.via == SOMEBODY {
            self.calendar.visit(to, at);
        }
        if bound.via != message.peer {
            return NEVER;
        }
        bound.via = NIL;
        let then_ns = u64::from(bound.then_ns);
        let ns = at + self.link(message.peer, to).receive_ns(message.bytes) + then_ns;
        self.calendar.visit(to, at);
        if let Some(ahead) = &mut self.ahead {
            ahead.bounds[to as usize].ns = ns;
        }
        ns + self.lookahead_ns
    }
}
