//! Messages on their way, waiting, and receives waiting for them: one pool, linked lists in it.

use super::chain::Chain;
use crate::program::Mode;

/// No node.
pub(super) const NIL: u32 = u32::MAX;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The bytes, sent without asking.
    Eager,
    /// Asks whether the bytes may be sent.
    Request,
    /// Says that they may.
    Acknowledge,
    /// The bytes, after they were asked for.
    Data,
    /// Says that the receiver has fetched them.
    Fetched,
}

/// A message, or a nonblocking receive that waits for one (its source, tag and mode count): a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Message {
    /// When it is to be looked at by the process it lies at.
    pub(super) at: u64,
    /// When that was settled.
    pub(super) made: Chain,
    pub(super) bytes: u64,
    /// The other process.
    pub(super) peer: u32,
    pub(super) tag: i32,
    pub(super) next: u32,
    pub(super) part: Part,
    /// How the sender waits.
    pub(super) sender: Mode,
    /// How the receiver waits.
    pub(super) receiver: Mode,
}

/// All messages; a freed one is used again.
#[derive(Default)]
pub(super) struct Pool {
    nodes: Vec<Message>,
    free: Option<u32>,
}

impl Pool {
    #[inline]
    pub(super) fn get(&self, index: u32) -> &Message {
        &self.nodes[index as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Message {
        &mut self.nodes[index as usize]
    }

    #[inline]
    pub(super) fn add(&mut self, message: Message) -> u32 {
        if let Some(index) = self.free {
            let next = self.get(index).next;
            self.free = (next != NIL).then_some(next);
            *self.get_mut(index) = message;
            return index;
        }
        if self.nodes.len() == self.nodes.capacity() {
            // By an eighth: doubling would waste half of the memory of a large run.
            let more = (self.nodes.len() / 8).max(1024);
            self.nodes.reserve_exact(more);
        }
        self.nodes.push(message);
        (self.nodes.len() - 1) as u32
    }

    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        self.get_mut(index).next = self.free.unwrap_or(NIL);
        self.free = Some(index);
    }

    /// Puts a node where it belongs in the list of arrivals from `head`, and gives the new head.
    /// What stayed undecided is counted.
    #[inline]
    pub(super) fn arrive(&mut self, head: u32, index: u32, undecided: &mut u64) -> u32 {
        let new = *self.get(index);
        let key = |m: &Message| (m.at, m.made, m.peer);
        let (mut before, mut here) = (NIL, head);
        while here != NIL {
            let other = self.get(here);
            // Those of one sender are in the order in which it sent them.
            if (other.at, other.made) == (new.at, new.made) && other.peer != new.peer {
                *undecided += 1;
            }
            if key(other) > key(&new) {
                break;
            }
            (before, here) = (here, other.next);
        }
        self.get_mut(index).next = here;
        if before == NIL {
            return index;
        }
        self.get_mut(before).next = index;
        head
    }

    /// Puts a node at the end of the list from `head`, and gives the new head.
    pub(super) fn append(&mut self, head: u32, index: u32) -> u32 {
        self.get_mut(index).next = NIL;
        if head == NIL {
            return index;
        }
        let mut last = head;
        while self.get(last).next != NIL {
            last = self.get(last).next;
        }
        self.get_mut(last).next = index;
        head
    }

    /// Takes the first node that fits out of the list from `head`: the new head and the node.
    #[inline]
    pub(super) fn take(&mut self, head: u32, fits: impl Fn(&Message) -> bool) -> (u32, u32) {
        let (mut before, mut here) = (NIL, head);
        while here != NIL {
            let next = self.get(here).next;
            if fits(self.get(here)) {
                if before == NIL {
                    return (next, here);
                }
                self.get_mut(before).next = next;
                return (head, here);
            }
            (before, here) = (here, next);
        }
        (head, NIL)
    }

    /// The nodes of the list from `head`.
    pub(super) fn list(&self, head: u32) -> impl Iterator<Item = &Message> {
        let mut here = head;
        std::iter::from_fn(move || {
            let node = (here != NIL).then(|| self.get(here))?;
            here = node.next;
            Some(node)
        })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Message>()
    }
}
