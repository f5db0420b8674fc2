//! Posted receives and unexpected messages that wait for each other.

use crate::goal::schedule::ANY;

/// No entry.
const NIL: u32 = u32::MAX;

/// In place of the tail: the head is no entry but the only receive's operation, as it is for nearly all ranks.
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

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    peer: u32,
    tag: u32,
    op: u32,
    next: u32,
    is_request: bool,
}

/// The entries of all ranks.
#[derive(Debug, Default)]
pub(super) struct Pool {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Pool {
    fn append(&mut self, list: &mut [u32; 2], entry: Entry) {
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        if list[0] == NIL {
            list[0] = index;
        } else {
            self.entries[list[1] as usize].next = index;
        }
        list[1] = index;
    }

    fn take(&mut self, list: &mut [u32; 2], fits: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let (mut before, mut at) = (NIL, list[0]);
        while at != NIL {
            let entry = self.entries[at as usize];
            if fits(&entry) {
                if before == NIL {
                    list[0] = entry.next;
                } else {
                    self.entries[before as usize].next = entry.next;
                }
                if list[1] == at {
                    list[1] = before;
                }
                self.free.push(at);
                return Some(entry);
            }
            (before, at) = (at, entry.next);
        }
        None
    }

    fn entry(peer: u32, tag: u32, op: u32, is_request: bool) -> Entry {
        Entry {
            peer,
            tag,
            op,
            next: NIL,
            is_request,
        }
    }

    /// Adds a receive that no message is there for.
    #[inline]
    pub(super) fn post(&mut self, waiting: &mut Waiting, op: u32, receives: impl Receives) {
        if waiting.posted[0] == NIL {
            waiting.posted = [op, ONLY];
        } else {
            self.post_another(waiting, op, receives);
        }
    }

    #[inline(never)]
    fn post_another(&mut self, waiting: &mut Waiting, op: u32, receives: impl Receives) {
        let only = waiting.only_posted();
        if only.is_some() {
            waiting.posted = [NIL; 2];
        }
        for op in only.into_iter().chain([op]) {
            let (peer, tag) = receives(op);
            self.append(&mut waiting.posted, Self::entry(peer, tag, op, false));
        }
    }

    /// Adds a message that no receive is there for.
    pub(super) fn keep_unexpected(
        &mut self,
        waiting: &mut Waiting,
        peer: u32,
        tag: u32,
        op: u32,
        is_request: bool,
    ) {
        self.append(
            &mut waiting.unexpected,
            Self::entry(peer, tag, op, is_request),
        );
    }

    /// Takes the first message that a receive of such a sender and tag is for.
    #[inline]
    pub(super) fn take_unexpected(
        &mut self,
        waiting: &mut Waiting,
        receive: (u32, u32),
    ) -> Option<UnexpectedMessage> {
        if waiting.unexpected[0] == NIL {
            return None;
        }
        let fits = |entry: &Entry| is_for(receive, entry.peer, entry.tag);
        let entry = self.take(&mut waiting.unexpected, fits)?;
        Some(UnexpectedMessage {
            peer: entry.peer,
            op: entry.op,
            is_request: entry.is_request,
        })
    }

    /// Takes the first receive that is for a message.
    #[inline]
    pub(super) fn take_posted(
        &mut self,
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
        if waiting.posted[0] == NIL {
            return None;
        }
        let fits = |entry: &Entry| is_for((entry.peer, entry.tag), peer, tag);
        let entry = self.take(&mut waiting.posted, fits)?;
        Some(entry.op)
    }

    /// The first receive that is for a message.
    pub(super) fn posted(
        &self,
        waiting: &Waiting,
        (peer, tag): (u32, u32),
        receives: impl Receives,
    ) -> Option<u32> {
        let mut posted = self.all_posted(waiting);
        posted.find(|op| is_for(receives(*op), peer, tag))
    }

    /// The first receive.
    pub(super) fn first_posted(&self, waiting: &Waiting) -> Option<u32> {
        self.all_posted(waiting).next()
    }

    /// Operations of the receives without a message.
    fn all_posted(&self, waiting: &Waiting) -> impl Iterator<Item = u32> {
        let only = waiting.only_posted();
        let head = only.map_or(waiting.posted[0], |_| NIL);
        only.into_iter()
            .chain(self.list(head).map(|entry| entry.op))
    }

    /// Messages that no receive came for.
    pub(super) fn n_unexpected(&self, waiting: &Waiting) -> u64 {
        self.list(waiting.unexpected[0]).count() as u64
    }

    /// The first message that waits for a receive.
    #[inline]
    pub(super) fn first_unexpected(&self, waiting: &Waiting) -> Option<&Entry> {
        self.entries.get(waiting.unexpected[0] as usize)
    }

    fn list(&self, head: u32) -> impl Iterator<Item = &Entry> {
        let entry = |index: u32| self.entries.get(index as usize);
        std::iter::successors(entry(head), move |before| entry(before.next))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.free.capacity() * 4
    }
}

/// Whether a receive of such a sender and tag is for a message.
#[inline]
fn is_for(receive: (u32, u32), peer: u32, tag: u32) -> bool {
    let fits = |wanted, found| wanted == ANY || wanted == found;
    fits(receive.0, peer) && fits(receive.1, tag)
}
