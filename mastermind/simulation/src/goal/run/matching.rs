//! Messages and receives that wait for each other.

use super::super::schedule::ANY;

/// No entry.
const NIL: u32 = u32::MAX;

/// The lists of one rank: receives without a message, messages without a receive. Heads and tails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    posted: [u32; 2],
    early: [u32; 2],
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            posted: [NIL; 2],
            early: [NIL; 2],
        }
    }
}

/// A message that no receive was posted for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Early {
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
    pub(super) fn post(&mut self, waiting: &mut Waiting, peer: u32, tag: u32, op: u32) {
        self.append(&mut waiting.posted, Self::entry(peer, tag, op, false));
    }

    /// Adds a message that no receive is there for.
    pub(super) fn keep_early(
        &mut self,
        waiting: &mut Waiting,
        peer: u32,
        tag: u32,
        op: u32,
        is_request: bool,
    ) {
        self.append(&mut waiting.early, Self::entry(peer, tag, op, is_request));
    }

    /// Takes the first message that a receive is for.
    pub(super) fn take_early(
        &mut self,
        waiting: &mut Waiting,
        peer: u32,
        tag: u32,
    ) -> Option<Early> {
        let fits =
            |entry: &Entry| (peer == ANY || entry.peer == peer) && (tag == ANY || entry.tag == tag);
        let entry = self.take(&mut waiting.early, fits)?;
        Some(Early {
            peer: entry.peer,
            op: entry.op,
            is_request: entry.is_request,
        })
    }

    /// Takes the first receive that is for a message.
    pub(super) fn take_posted(
        &mut self,
        waiting: &mut Waiting,
        peer: u32,
        tag: u32,
    ) -> Option<u32> {
        let entry = self.take(&mut waiting.posted, |entry| is_for(entry, peer, tag))?;
        Some(entry.op)
    }

    /// The first receive that is for a message.
    pub(super) fn posted(&self, waiting: &Waiting, peer: u32, tag: u32) -> Option<u32> {
        let found = self
            .list(waiting.posted[0])
            .find(|entry| is_for(entry, peer, tag));
        found.map(|entry| entry.op)
    }

    /// The first receive: its operation, peer and tag.
    pub(super) fn first_posted(&self, waiting: &Waiting) -> Option<(u32, u32, u32)> {
        let first = self.list(waiting.posted[0]).next()?;
        Some((first.op, first.peer, first.tag))
    }

    /// Messages that no receive came for.
    pub(super) fn n_early(&self, waiting: &Waiting) -> u64 {
        self.list(waiting.early[0]).count() as u64
    }

    /// The first receive that waits for a message.
    #[inline]
    pub(super) fn head(&self, waiting: &Waiting) -> Option<&Entry> {
        self.entries.get(waiting.posted[0] as usize)
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

fn is_for(receive: &Entry, peer: u32, tag: u32) -> bool {
    (receive.peer == ANY || receive.peer == peer) && (receive.tag == ANY || receive.tag == tag)
}
