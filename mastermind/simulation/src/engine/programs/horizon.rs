//! How far a process may run ahead of the window, and when it need not be visited at all.
//!
//! If all messages are eager, only the message that a process waits for makes it send. So a process is visited when
//! that message has come, or when its own operation is due, and then takes the messages that came in between, in order.
//! A small table, which stays in the caches, holds for each process when it may send next.

use crate::engine::programs::neighbours::Neighbours;
use crate::events::NEVER;
use crate::events::prefetch::prefetch;
use mastermind_programs::huge_pages::vec_of;

/// Windows that a process may run ahead: enough that work needs no visit of its own at its end. Without a limit,
/// a process that only sends would fill the lists of those that come after it.
const MAX_WINDOWS_AHEAD: u64 = 1024;

/// No neighbour.
pub(crate) const NONE: u8 = u8::MAX;

/// A process that is not known: any message may make it send.
pub(crate) const UNKNOWN_SENDER: u8 = u8::MAX - 1;

/// All neighbours, a bit each.
pub(crate) const ALL: u8 = u8::MAX;

/// When a process may send next, and to which ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// Earliest time at which it continues.
    pub(crate) ns: u64,
    /// With which operation.
    pub(crate) at: u32,
    /// Nor before it has a message from this one of its [`Neighbours::senders`]; [`NONE`] if it waits
    /// for no message that has not been sent yet, [`UNKNOWN_SENDER`] if the sender is unknown.
    pub(crate) via: u8,
    /// Its receivers as long as its variables do not change them: a bit for each index of this process among
    /// the senders of the other.
    pub(crate) to: u8,
}

/// Lookahead of a program that determines who sends to whom.
pub(crate) struct Horizons {
    pub(crate) neighbours: Neighbours,
    /// By process.
    pub(crate) bounds: Vec<Bound>,
    pub(crate) lookahead_ns: u64,
    /// Number of horizons that were looked up, and of those that were behind the next event; both are halved now
    /// and then.
    n_looked_up: u32,
    n_useful: u32,
    /// Visits since the last one that was looked up.
    n_skipped: u32,
}

/// Horizons that are looked up before their use is judged; twice as many are remembered.
const MIN_LOOKED_UP: u32 = 1024;

/// If fewer than one in this many are useful, only one visit in this many looks its horizon up.
const MIN_USEFUL: u32 = 16;

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
            n_looked_up: 0,
            n_useful: 0,
            n_skipped: 0,
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bounds.len() * size_of::<Bound>()
    }

    /// Whether the horizon of a visit is worth looking up: in some programs neighbours send all the time.
    #[inline]
    pub(crate) fn is_useful(&self) -> bool {
        self.n_looked_up < MIN_LOOKED_UP
            || self.n_useful * MIN_USEFUL >= self.n_looked_up
            || self.n_skipped >= MIN_USEFUL
    }

    /// Notes whether a visit could continue behind its window.
    #[inline]
    pub(crate) fn note_use(&mut self, is_useful: bool) {
        if !self.is_useful() {
            self.n_skipped += 1;
            return;
        }
        self.n_skipped = 0;
        self.n_looked_up += 1;
        self.n_useful += u32::from(is_useful);
        if self.n_looked_up == 2 * MIN_LOOKED_UP {
            self.n_looked_up /= 2;
            self.n_useful /= 2;
        }
    }

    /// Prefetches the state of a process and of those that may send to it.
    #[inline]
    pub(crate) fn prefetch(&self, process: u32) {
        prefetch(&self.bounds[process as usize]);
        for distance in &self.neighbours.senders {
            prefetch(&self.bounds[self.further(process, *distance) as usize]);
        }
    }

    /// The rank at a distance from a process's rank, modulo the number of processes.
    #[inline]
    fn further(&self, process: u32, distance: u32) -> u32 {
        let rank = process + distance;
        // A difference below zero wraps to a large number, so that the other is the smaller one.
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

    /// Time before which no message can come to a process that is not in flight already: at least the end of the
    /// present window, which is given by its begin and end, and no more than that if it is not after `next_ns`.
    ///
    /// The process's own messages may be answered earlier; the caller, which sends them, accounts for
    /// that.
    #[inline]
    pub(crate) fn horizon(&self, process: u32, (begin, end): (u64, u64), next_ns: u64) -> u64 {
        let mut first = NEVER;
        for (place, distance) in self.neighbours.senders.iter().enumerate() {
            let sender = self.further(process, *distance);
            first = first.min(self.next_send(sender, (place as u8, process), begin));
            if first.saturating_add(self.lookahead_ns) <= next_ns {
                return end;
            }
        }
        let horizon = first.saturating_add(self.lookahead_ns);
        let horizon = horizon.min(begin + MAX_WINDOWS_AHEAD * (end - begin));
        horizon.max(end)
    }

    /// Minimum work of a process before it sends to the one among whose senders it has this index.
    #[inline]
    pub(crate) fn work_before_send_ns(&self, bound: Bound, place: u8) -> u64 {
        let other = usize::from(bound.to >> place & 1 == 0);
        u64::from(self.neighbours.work_before_send_ns[bound.at as usize][other])
    }

    /// Notes that a process continues at `ns`, if it waits for a message of `sender`, which has sent it: the
    /// earliest time of an answer.
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

    /// Earliest time of a process's next message to `other`, among whose senders it has this index,
    /// except for a message that depends on future messages of `other`.
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
            // The message it waits for has not been sent yet.
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
