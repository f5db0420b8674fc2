//! Links that messages share: those that lead up from a switch or a group of switches, and equally many that lead down
//! to it.
//!
//! A message to another switch needs a link up from its own and one down to the other; to another group, between these,
//! also one up from its group and one down to the other. Only links whose number the machine file gives are shared. It
//! requests the first when it leaves its sender, each other when it has got the one before, and keeps each for `(s - 1)
//! G`; requests and answers of a rendezvous keep it for no time. The links of a switch are given first come, first
//! served: on one nanosecond to the lowest sender first, then to the lowest receiver, and within a pair to the data of
//! a rendezvous last. A message that finds none waits for the link that is free first, and arrives that much later. It
//! delays only later messages that need the same links.
//!
//! An engine announces which message leaves when ([`SharedLinks::want`]). Once all that leave before some time are
//! announced, it takes out those that have got their last link ([`SharedLinks::pass`]). From the last link to the
//! arrival it is at least o + L, so windows of that length stay valid.
//!
//! # Source
//! S. Girona, J. Labarta, R. M. Badia, "Validation of Dimemas Communication Model for MPI Collective Operations", EuroPVM/MPI
//! 2000: links that a message keeps while it is transferred, there of a node, and a queue of those that find none free.
//!
//! # Decisions
//!
//! A shared link is a process of its own (`simulation/src/events/shared_links.rs`): messages that
//! leave in a window pass their links when the whole window is known, and arrive o + L after their
//! last link at the earliest, in a later window. So both engines have one code for shared links,
//! and all programs run on machines that have some; no process runs ahead of its window there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use crate::machine::Machine;

/// When a link is free at the latest, nanoseconds: no run takes so long.
const MAX_FREE_NS: u64 = 1 << 63;

/// The next turn is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// When it wants its next link.
    at: u64,
    ranks: [u32; 2],
    is_data: bool,
    /// The order in which they were announced.
    number: u64,
}

/// A message that will pass links, for an engine's message `T`.
pub(crate) struct Passage<T> {
    /// When it leaves its sender, nanoseconds.
    pub(crate) leaves_ns: u64,
    /// How long it keeps each link, nanoseconds.
    pub(crate) keeps_ns: u64,
    /// Sender and receiver, and their nodes.
    pub(crate) ranks: [u32; 2],
    pub(crate) nodes: [u32; 2],
    /// Whether it is the data of a rendezvous, which the receiver may have requested.
    pub(crate) is_data: bool,
    pub(crate) message: T,
}

/// All shared links of a machine, and the messages that wait for them.
pub(crate) struct SharedLinks<'a, T> {
    machine: &'a Machine,
    /// By place on the path and switch or group there: times when busy links become free.
    taken: HashMap<(usize, u32), BinaryHeap<Reverse<u64>>>,
    /// With the place of the next link.
    waiting: BTreeMap<Turn, (usize, Passage<T>)>,
    n_said: u64,
    most_waiting: usize,
}

impl<'a, T> SharedLinks<'a, T> {
    /// The shared links of a machine, if it has any.
    pub(crate) fn of(machine: &'a Machine) -> Option<Self> {
        machine.has_shared_links().then(|| Self {
            machine,
            taken: HashMap::new(),
            waiting: BTreeMap::new(),
            n_said: 0,
            most_waiting: 0,
        })
    }

    /// Announces that a message leaves.
    ///
    /// # Returns
    /// The message again if it shares no link.
    pub(crate) fn want(&mut self, passage: Passage<T>) -> Option<T> {
        let Some(place) = self.next_place(0, passage.nodes) else {
            return Some(passage.message);
        };
        self.n_said += 1;
        let turn = Turn {
            at: passage.leaves_ns,
            ranks: passage.ranks,
            is_data: passage.is_data,
            number: self.n_said,
        };
        self.waiting.insert(turn, (place, passage));
        self.most_waiting = self.most_waiting.max(self.waiting.len());
        None
    }

    /// The next message that has got its last link, of those that want it before `before_ns`: how long it waited, and which.
    pub(crate) fn pass(&mut self, before_ns: u64) -> Option<(u64, T)> {
        loop {
            let first = self.waiting.first_entry();
            let first = first.filter(|first| first.key().at < before_ns)?;
            let (turn, (place, passage)) = first.remove_entry();
            let at = self.take(place, &passage, turn.at);
            let Some(next) = self.next_place(place + 1, passage.nodes) else {
                return Some((at - passage.leaves_ns, passage.message));
            };
            self.waiting.insert(Turn { at, ..turn }, (next, passage));
        }
    }

    /// When the next link is wanted.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(turn, _)| turn.at)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let taken: usize = self.taken.values().map(BinaryHeap::capacity).sum();
        self.most_waiting * size_of::<(Turn, usize, Passage<T>)>() + taken * size_of::<u64>()
    }

    fn next_place(&self, from: usize, nodes: [u32; 2]) -> Option<usize> {
        (from..Machine::PLACES).find(|place| self.machine.uplinks_at(*place, nodes).is_some())
    }

    /// Takes the link that is free first, at `now` or later: when.
    fn take(&mut self, place: usize, passage: &Passage<T>, now: u64) -> u64 {
        let Some((whose, n)) = self.machine.uplinks_at(place, passage.nodes) else {
            return now;
        };
        let taken = self.taken.entry((place, whose)).or_default();
        while taken.peek().is_some_and(|free| free.0 <= now) {
            taken.pop();
        }
        let is_free = taken.len() < n as usize;
        let free = if is_free { None } else { taken.pop() };
        let at = free.map_or(now, |free| free.0);
        taken.push(Reverse((at + passage.keeps_ns).min(MAX_FREE_NS)));
        at
    }
}
