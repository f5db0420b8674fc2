//! Posted receives and unexpected messages that wait for each other: lists in their order, with an index by sender and tag where one
//! is long.

use crate::events::key_index::{LongLists, MAX_LINEAR, first};
use crate::events::messages::NIL;
use crate::events::slab::Slab;
use mastermind_programs::goal::ANY;

/// In place of the tail: the head is not an entry but the operation of the only receive, as for nearly all
/// ranks.
const ONLY: u32 = u32::MAX - 1;

/// The lists of one rank: receives without a message, messages without a receive. Heads and tails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    posted: [u32; 2],
    unexpected: [u32; 2],
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            posted: [NIL; 2],
            unexpected: [NIL; 2],
        }
    }
}

impl Waiting {
    /// The operation of the only receive without a message.
    #[inline]
    pub(super) fn only_posted(&self) -> Option<u32> {
        (self.posted[1] == ONLY).then_some(self.posted[0])
    }
}

/// Sender and tag that a receive is for, by its operation.
pub(super) trait Receives: Fn(u32) -> (u32, u32) {}

impl<F: Fn(u32) -> (u32, u32)> Receives for F {}

/// An unexpected message: no receive was posted for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnexpectedMessage {
    pub(super) peer: u32,
    /// The sender's operation.
    pub(super) op: u32,
    pub(super) is_request: bool,
}

/// Two in a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Entry {
    peer: u32,
    tag: u32,
    op: u32,
    next: u32,
    previous: u32,
    /// Whether it is a request to send, in the lowest bit; above it those that were appended before have lower numbers.
    number: u64,
}

impl Entry {
    /// The operation: of the receive, or of the sender of a message.
    #[inline]
    pub(super) fn op(&self) -> u32 {
        self.op
    }

    #[inline]
    fn is_request(&self) -> bool {
        self.number & 1 == 1
    }
}

/// The entries of all ranks.
#[derive(Debug, Default)]
pub(super) struct Pool {
    entries: Slab<Entry>,
    n_appended: u64,
    long_lists: LongLists<ListName, (u32, u32)>,
}

/// A list: its rank, and whether it is of posted receives.
type ListName = (u32, bool);

impl Pool {
    #[inline(always)]
    fn append(
        &mut self,
        name: ListName,
        list: &mut [u32; 2],
        (peer, tag): (u32, u32),
        op: u32,
        is_request: bool,
    ) {
        let [first, last] = *list;
        let index = self.entries.add(Entry {
            peer,
            tag,
            op,
            next: NIL,
            previous: if first == NIL { NIL } else { last },
            number: self.n_appended | u64::from(is_request),
        });
        self.n_appended += 2;
        if first == NIL {
            list[0] = index;
        } else {
            self.entries[last].next = index;
        }
        list[1] = index;
        self.long_lists.append(&name, (peer, tag), index);
    }

    /// Takes an entry out of its list.
    fn take(&mut self, name: ListName, list: &mut [u32; 2], at: u32) -> Entry {
        let entry = self.entries[at];
        match entry.previous {
            NIL => list[0] = entry.next,
            previous => self.entries[previous].next = entry.next,
        }
        match entry.next {
            NIL => list[1] = entry.previous,
            next => self.entries[next].previous = entry.previous,
        }
        self.entries.release(at);
        let key = (entry.peer, entry.tag);
        self.long_lists.remove(&name, &key, list[0] == NIL);
        entry
    }

    /// The first entry of a list that fits: the near ones are searched, else the first of one of these keys.
    fn find(
        &mut self,
        name: ListName,
        head: u32,
        keys: &[(u32, u32)],
        fits: impl Fn(&Entry) -> bool,
    ) -> Option<u32> {
        let mut at = head;
        for _ in 0..MAX_LINEAR {
            let entry = self.entries.get(at)?;
            if fits(entry) {
                return Some(at);
            }
            at = entry.next;
        }
        if at == NIL {
            return None;
        }
        let entries = &self.entries;
        let of_list = list(entries, head).map(|(at, entry)| ((entry.peer, entry.tag), at));
        let index = self.long_lists.of(name, of_list);
        let firsts = keys.iter().filter_map(|key| first(index, key));
        firsts.min_by_key(|at| entries[*at].number)
    }

    /// Adds a receive that no message is there for.
    #[inline]
    pub(super) fn post(
        &mut self,
        rank: u32,
        waiting: &mut Waiting,
        op: u32,
        receives: impl Receives,
    ) {
        if waiting.posted[0] == NIL {
            waiting.posted = [op, ONLY];
        } else {
            self.post_another(rank, waiting, op, receives);
        }
    }

    #[inline(never)]
    fn post_another(&mut self, rank: u32, waiting: &mut Waiting, op: u32, receives: impl Receives) {
        let only = waiting.only_posted();
        if only.is_some() {
            waiting.posted = [NIL; 2];
        }
        for op in only.into_iter().chain([op]) {
            self.append((rank, true), &mut waiting.posted, receives(op), op, false);
        }
    }

    /// Adds a message that no receive is there for.
    pub(super) fn keep_unexpected(
        &mut self,
        rank: u32,
        waiting: &mut Waiting,
        sender: (u32, u32),
        op: u32,
        is_request: bool,
    ) {
        let list = &mut waiting.unexpected;
        self.append((rank, false), list, sender, op, is_request);
    }

    /// Takes the first message that a receive of such a sender and tag is for.
    #[inline]
    pub(super) fn take_unexpected(
        &mut self,
        rank: u32,
        waiting: &mut Waiting,
        receive: (u32, u32),
    ) -> Option<UnexpectedMessage> {
        if waiting.unexpected[0] == NIL {
            return None;
        }
        let fits = |entry: &Entry| is_for(receive, entry.peer, entry.tag);
        let name = (rank, false);
        let found = match receive {
            // Nearly all messages are for such a receive.
            (ANY, _) | (_, ANY) => list(&self.entries, waiting.unexpected[0])
                .find(|(_, entry)| fits(entry))
                .map(|(at, _)| at),
            key => self.find(name, waiting.unexpected[0], &[key], fits),
        };
        let entry = self.take(name, &mut waiting.unexpected, found?);
        Some(UnexpectedMessage {
            peer: entry.peer,
            op: entry.op,
            is_request: entry.is_request(),
        })
    }

    /// Takes the first receive that is for a message.
    #[inline]
    pub(super) fn take_posted(
        &mut self,
        rank: u32,
        waiting: &mut Waiting,
        (peer, tag): (u32, u32),
        receives: impl Receives,
    ) -> Option<u32> {
        if let [only, ONLY] = waiting.posted {
            let fits = is_for(receives(only), peer, tag);
            if fits {
                waiting.posted = [NIL; 2];
            }
            return fits.then_some(only);
        }
        let found = self.find_posted(rank, waiting.posted[0], (peer, tag))?;
        Some(self.take((rank, true), &mut waiting.posted, found).op)
    }

    /// The first receive that is for a message.
    pub(super) fn posted(
        &mut self,
        rank: u32,
        waiting: &Waiting,
        (peer, tag): (u32, u32),
        receives: impl Receives,
    ) -> Option<u32> {
        if let Some(only) = waiting.only_posted() {
            return is_for(receives(only), peer, tag).then_some(only);
        }
        let found = self.find_posted(rank, waiting.posted[0], (peer, tag))?;
        Some(self.entries[found].op)
    }

    #[inline]
    fn find_posted(&mut self, rank: u32, head: u32, (peer, tag): (u32, u32)) -> Option<u32> {
        if head == NIL {
            return None;
        }
        let fits = |entry: &Entry| is_for((entry.peer, entry.tag), peer, tag);
        let keys = [(peer, tag), (peer, ANY), (ANY, tag), (ANY, ANY)];
        self.find((rank, true), head, &keys, fits)
    }

    /// The first receive.
    pub(super) fn first_posted(&self, waiting: &Waiting) -> Option<u32> {
        let only = waiting.only_posted();
        only.or_else(|| Some(self.entries.get(waiting.posted[0])?.op))
    }

    /// Messages that no receive came for.
    pub(super) fn n_unexpected(&self, waiting: &Waiting) -> u64 {
        list(&self.entries, waiting.unexpected[0]).count() as u64
    }

    /// The first message that waits for a receive, and the first of several receives.
    #[inline]
    pub(super) fn firsts(&self, waiting: &Waiting) -> [Option<&Entry>; 2] {
        let posted = match waiting.posted {
            [_, ONLY] => NIL,
            [first, _] => first,
        };
        [waiting.unexpected[0], posted].map(|first| self.entries.get(first))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes()
    }
}

/// The entries of a list and their places.
fn list(entries: &Slab<Entry>, head: u32) -> impl Iterator<Item = (u32, &Entry)> {
    let at = |at: u32| Some((at, entries.get(at)?));
    std::iter::successors(at(head), move |(_, before)| at(before.next))
}

/// Whether a receive of such a sender and tag is for a message.
#[inline]
fn is_for(receive: (u32, u32), peer: u32, tag: u32) -> bool {
    let fits = |wanted, found| wanted == ANY || wanted == found;
    fits(receive.0, peer) && fits(receive.1, tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers, the same each time (a linear congruential generator with Knuth's constants).
    fn numbers() -> impl FnMut(u32) -> u32 {
        let mut state = 1_u64;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32 % below
        }
    }

    /// Long lists give the result of a linear search, on two ranks at once.
    #[test]
    fn an_index_finds_what_a_search_finds() {
        let mut random = numbers();
        let mut pool = Pool::default();
        let mut lists = [0, 1].map(|_| (Waiting::default(), Vec::new(), Vec::new()));
        let any = |number: u32| if number == 0 { ANY } else { number };
        let mut most = 0;
        let mut receives = Vec::new();
        for op in 0..30_000 {
            let rank = random(2);
            let (waiting, posted, unexpected) = &mut lists[rank as usize];
            let (peer, tag) = (random(40), random(40));
            // Mostly more of one class, then more of the other.
            receives.push((any(peer), any(tag)));
            if random(10) < if op / 3000 % 2 == 0 { 3 } else { 7 } {
                let wanted = (any(peer), any(tag));
                let expected = unexpected
                    .iter()
                    .position(|(_, peer, tag)| is_for(wanted, *peer, *tag));
                let expected = expected.map(|at| unexpected.remove(at).0);
                let found = pool.take_unexpected(rank, waiting, wanted);
                assert_eq!(found.map(|found| found.op), expected);
                if expected.is_none() {
                    pool.post(rank, waiting, op, |op| receives[op as usize]);
                    posted.push((op, wanted.0, wanted.1));
                }
            } else {
                let (peer, tag) = (peer + 1, tag + 1);
                let expected = posted
                    .iter()
                    .position(|(_, a, b)| is_for((*a, *b), peer, tag));
                let seen = pool.posted(rank, waiting, (peer, tag), |op| receives[op as usize]);
                let expected = expected.map(|at| posted.remove(at).0);
                assert_eq!(seen, expected);
                let found =
                    pool.take_posted(rank, waiting, (peer, tag), |op| receives[op as usize]);
                assert_eq!(found, expected);
                if expected.is_none() {
                    pool.keep_unexpected(rank, waiting, (peer, tag), op, false);
                    unexpected.push((op, peer, tag));
                }
            }
            most = most.max(posted.len()).max(unexpected.len());
        }
        assert!(most > 10 * MAX_LINEAR, "no list was long: {most}");
    }
}
