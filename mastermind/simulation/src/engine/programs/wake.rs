//! When a process is visited next.
//!
//! Where all messages are eager, a message makes nobody send but the process that waits for it. So a process is visited when
//! it may send next at the earliest, and then takes all that came, in order: when its operation is due, when the message of
//! its blocking receive is there, or when as many messages are there as its nonblocking receives lack. Who sends touches
//! nothing of the receiver's state but an entry of two small tables: its inbox, and what wakes it.
//!
//! Where a message may need a rendezvous, its receiver may have to answer, and is visited at each arrival.
//!
//! Both tables stay in the caches at 100,000 ranks; the first seven posted receives of a process lie in one cache line (`events/posted.rs`).

use crate::engine::programs::horizon::{ALL, Bound, NONE, UNKNOWN_SENDER};
use crate::engine::programs::process::WaitState;
use crate::engine::programs::run::Engine;
use crate::events::NEVER;
use crate::events::heap::Order;
use crate::events::huge_pages::vec_of;
use crate::events::messages::{ANYBODY, Message, NIL};
use crate::events::prefetch::prefetch;
use crate::loggp::MessagePart;
use crate::program::{Mode, Operation};

/// In place of a number of messages: none wakes the process, which is visited when its operation is due, or has ended.
const NO_MESSAGE: u32 = u32::MAX;

/// What wakes a process that has no visit.
#[derive(Debug, Clone, Copy)]
struct Wake {
    /// The earliest time at which it goes on, as far as the messages tell that came since its last visit.
    at_ns: u64,
    /// The sender whose messages count, or [`ANYBODY`].
    peer: u32,
    /// How many more messages it needs, or [`NO_MESSAGE`].
    missing: u32,
}

/// By process, where all messages are eager: what its senders need to know of it.
pub(crate) struct Mailboxes {
    /// The last message that came since its last visit; a list, the latest first.
    inboxes: Vec<u32>,
    wakes: Vec<Wake>,
    /// Least processor time of taking a message, nanoseconds.
    least_receive_ns: u64,
}

impl Mailboxes {
    pub(crate) fn new(processes: usize, least_receive_ns: u64) -> Self {
        let wake = Wake {
            at_ns: 0,
            peer: ANYBODY,
            missing: NO_MESSAGE,
        };
        Self {
            inboxes: vec_of(NIL, processes),
            wakes: vec_of(wake, processes),
            least_receive_ns,
        }
    }

    /// The last message that came to a process since its last visit, or [`NIL`].
    #[inline]
    pub(crate) fn inbox(&self, process: u32) -> u32 {
        self.inboxes[process as usize]
    }

    /// Prefetches what is kept of a process.
    #[inline]
    pub(crate) fn prefetch(&self, process: u32) {
        prefetch(&self.inboxes[process as usize]);
        prefetch(&self.wakes[process as usize]);
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.inboxes.capacity() * size_of::<u32>() + self.wakes.capacity() * size_of::<Wake>()
    }
}

impl Engine<'_> {
    /// Puts what came since the last visit into the heap of arrivals.
    #[inline]
    pub(crate) fn empty_inbox(&mut self, process: u32) {
        if let Some(mailboxes) = &mut self.mailboxes {
            let inbox = &mut mailboxes.inboxes[process as usize];
            if *inbox != NIL {
                let first = std::mem::replace(inbox, NIL);
                self.add_arrivals(process, first);
            }
        }
    }

    #[inline(never)]
    fn add_arrivals(&mut self, process: u32, mut index: u32) {
        let p = &mut self.processes[process as usize];
        let mut n_present = 0;
        while index != NIL {
            let next = self.pool.get(index).next;
            p.arrivals = self.pool.push(p.arrivals, index, Order::Arrival);
            n_present += 1;
            index = next;
        }
        if let Some(line) = self.posted_lines.get_mut(process as usize) {
            line.n_present += n_present;
        }
    }

    /// Has a process visited when it goes on, or when its next event may be.
    #[inline]
    ///
    /// # Arguments
    /// * `comes_ns` - when [`Engine::next_message`] can be taken
    pub(crate) fn schedule(&mut self, process: u32, comes_ns: u64) {
        let next = if self.mailboxes.is_some() {
            self.next_visit(process, comes_ns)
        } else {
            self.processes[process as usize].due.min(comes_ns)
        };
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// When a process goes on at the earliest, [`NEVER`] where that depends on messages to come; keeps what wakes it then.
    #[inline]
    fn next_visit(&mut self, process: u32, comes_ns: u64) -> u64 {
        let p = &self.processes[process as usize];
        let (mut peer, mut missing) = (ANYBODY, NO_MESSAGE);
        let (mut at_ns, mut via, mut next) = (p.processor, NONE, NEVER);
        // When it sends next at the earliest.
        let mut goes_on = p.processor;
        match p.wait_state {
            WaitState::Ended => goes_on = NEVER,
            WaitState::Ready => {
                next = p.due.max(p.processor);
                goes_on = next;
            }
            WaitState::Receive if p.peer != ANYBODY => match self.first_from(process, p.peer) {
                Some(NIL) => {
                    (peer, missing) = (p.peer, 1);
                    let horizons = self.horizons.as_ref();
                    let place = horizons.and_then(|horizons| horizons.place_of(p.peer, process));
                    via = place.unwrap_or(UNKNOWN_SENDER);
                }
                Some(index) => {
                    let message = self.pool.get(index);
                    next = message.at.max(p.free(true));
                    let link = self.link(process, message.peer);
                    goes_on = next + link.receive_ns(message.load.bytes());
                }
                None => (via, next) = (UNKNOWN_SENDER, comes_ns),
            },
            _ => {
                via = UNKNOWN_SENDER;
                let needed = self.needed(process);
                at_ns += u64::from(needed.saturating_sub(1)) * self.least_receive_ns();
                let line = self.posted_lines.get(process as usize);
                let n_present = line.map_or(u32::from(comes_ns != NEVER), |line| line.n_present);
                missing = needed.saturating_sub(n_present);
                if missing == 0 {
                    next = comes_ns.max(at_ns);
                }
                goes_on = at_ns;
            }
        }
        if let Some(mailboxes) = &mut self.mailboxes {
            mailboxes.wakes[process as usize] = Wake {
                at_ns,
                peer,
                missing,
            };
        }
        let at = p.at;
        if let Some(horizons) = &mut self.horizons {
            horizons.bounds[process as usize] = Bound {
                ns: goes_on,
                at,
                via,
                to: ALL,
            };
        }
        next
    }

    /// How many messages a process needs at least that waits for any, or for its nonblocking receives.
    #[inline]
    fn needed(&self, process: u32) -> u32 {
        let p = &self.processes[process as usize];
        match &self.operations[p.at as usize] {
            Operation::Wait { mode, .. } if p.wait_state == WaitState::Pending => {
                u32::from(p.pending[usize::from(*mode == Mode::Internal)])
            }
            _ => 1,
        }
    }

    #[inline]
    fn least_receive_ns(&self) -> u64 {
        self.mailboxes
            .as_ref()
            .map_or(0, |mailboxes| mailboxes.least_receive_ns)
    }

    /// The first message for a process that comes from `peer`, or [`NIL`]; `None` where there are too many to search.
    /// All of them carry bytes.
    #[inline]
    fn first_from(&self, process: u32, peer: u32) -> Option<u32> {
        let p = &self.processes[process as usize];
        match self.pool.first_from(p.waiting[0], peer, Order::TieBreak)? {
            NIL => self.pool.first_from(p.arrivals, peer, Order::Arrival),
            found => Some(found),
        }
    }

    /// Puts a message on its way to a process: the earliest time at which an answer may come.
    #[inline]
    pub(crate) fn post(&mut self, to: u32, message: Message) -> u64 {
        let part = message.load.part();
        self.messages += u64::from(matches!(
            part,
            MessagePart::Eager | MessagePart::RequestToSend
        ));
        if self.shared_links.is_some() {
            self.want_shared_links(to, message);
            return NEVER;
        }
        self.post_passed(to, message)
    }

    #[inline]
    pub(crate) fn post_passed(&mut self, to: u32, message: Message) -> u64 {
        let index = self.pool.add(message);
        if self.mailboxes.is_some() {
            return self.post_eager(to, index);
        }
        let p = &mut self.processes[to as usize];
        p.arrivals = self.pool.push(p.arrivals, index, Order::Arrival);
        let at = message.at.max(p.processor);
        if p.arrivals == index {
            if self.is_oversubscribed {
                self.calendar.visit(self.node(to), at);
            } else if at < p.due {
                self.calendar.visit(to, at);
            }
        }
        NEVER
    }

    #[inline]
    fn post_eager(&mut self, to: u32, index: u32) -> u64 {
        let Some(mailboxes) = &mut self.mailboxes else {
            return NEVER;
        };
        let message = self.pool.get_mut(index);
        message.next = std::mem::replace(&mut mailboxes.inboxes[to as usize], index);
        let (at, peer, bytes) = (message.at, message.peer, message.load.bytes());
        let wake = &mut mailboxes.wakes[to as usize];
        if wake.missing == NO_MESSAGE || (wake.peer != ANYBODY && wake.peer != peer) {
            return NEVER;
        }
        if wake.missing == 0 {
            // Those that came before are enough; this one may be earlier.
            self.calendar.visit(to, at);
        } else {
            wake.at_ns = wake.at_ns.max(at);
            wake.missing -= 1;
            if wake.missing == 0 {
                self.calendar.visit(to, wake.at_ns);
            }
        }
        let Some(horizons) = &self.horizons else {
            return NEVER;
        };
        let goes_on =
            at.max(horizons.bounds[to as usize].ns) + self.link(peer, to).receive_ns(bytes);
        let horizons = self.horizons.as_mut();
        horizons
            .and_then(|horizons| horizons.note_arrival(to, peer, goes_on))
            .unwrap_or(NEVER)
    }
}
