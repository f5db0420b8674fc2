//! The message pool: messages in flight, unexpected messages, and posted receives.

use crate::events::prefetch::prefetch;
use crate::events::tie_break::TieBreak;
use crate::loggp::MessagePart;
use mastermind_programs::huge_pages::reserve;
use mastermind_programs::{ANY, Mode};

/// The peer of a receive from any process.
pub(crate) const ANYBODY: u32 = u32::MAX;

/// The tag of a receive of any tag.
pub(crate) const ANY_TAG: i32 = ANY as i32;

/// No node.
pub(crate) const NIL: u32 = u32::MAX;

/// How many messages ahead a free node is fetched.
const FREE_AHEAD: usize = 4;

/// The size of a message, its part, and the modes of both ends, in one word: the size is above the lowest byte. If all
/// messages are eager, the times of its receipt instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load(u64);

impl Load {
    const MODES: [Mode; 3] = [Mode::Blocking, Mode::Nonblocking, Mode::Internal];
    const SENDER: u32 = 3;
    const RECEIVER: u32 = 5;

    /// A message of a size in bytes, less than 2⁵⁶.
    #[inline]
    pub(crate) fn new(bytes: u64, part: MessagePart, sender: Mode) -> Self {
        Self(bytes << 8 | (sender as u64) << Self::SENDER | part as u64)
    }

    /// For an eager message, the times that its receipt takes the processor and the interface, nanoseconds.
    #[inline]
    pub(crate) fn of_times(receive_ns: u32, gap_ns: u32) -> Self {
        Self(u64::from(gap_ns) << 32 | u64::from(receive_ns))
    }

    /// The two of [`Load::of_times`].
    #[inline]
    pub(crate) fn times(self) -> (u64, u64) {
        (u64::from(self.0 as u32), self.0 >> 32)
    }

    /// The same as another part.
    #[inline]
    pub(crate) fn part_of_it(self, part: MessagePart) -> Self {
        Self(self.0 & !0b111 | part as u64)
    }

    /// The same, its receiver known to wait so.
    #[inline]
    pub(crate) fn received_by(self, receiver: Mode) -> Self {
        let others = self.0 & !(0b11 << Self::RECEIVER);
        Self(others | (receiver as u64) << Self::RECEIVER)
    }

    #[inline]
    pub(crate) fn bytes(self) -> u64 {
        self.0 >> 8
    }

    #[inline]
    pub(crate) fn part(self) -> MessagePart {
        MessagePart::of_number(self.0 & 0b111).unwrap_or(MessagePart::Eager)
    }

    /// How the sender waits.
    #[inline]
    pub(crate) fn sender(self) -> Mode {
        Self::MODES[(self.0 >> Self::SENDER & 0b11) as usize]
    }

    /// How the receiver waits.
    #[inline]
    pub(crate) fn receiver(self) -> Mode {
        Self::MODES[(self.0 >> Self::RECEIVER & 0b11) as usize]
    }
}

/// A message, or a nonblocking receive that waits for one (its source, tag and modes count): a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Message {
    /// When it arrives, then when it is received.
    pub(crate) at: u64,
    /// Tie-break key of that.
    pub(crate) tie_break: TieBreak,
    pub(crate) load: Load,
    /// The other process.
    pub(crate) peer: u32,
    pub(crate) tag: i32,
    /// The next of the same heap's level, or of the same list.
    pub(crate) next: u32,
    /// The first below it in a heap, or the one before it in a list.
    pub(crate) other: u32,
}

impl Message {
    /// Content of a node before its use.
    const NOTHING: Self = Self {
        at: 0,
        tie_break: TieBreak::START,
        load: Load(0),
        peer: ANYBODY,
        tag: ANY_TAG,
        next: NIL,
        other: NIL,
    };
}

/// All messages; a freed one is used again.
pub(crate) struct MessagePool {
    nodes: Vec<Message>,
    /// By node: the index of its message among all, modulo 2³²; empty if it is not requested.
    numbers: Vec<u32>,
    is_numbered: bool,
    /// Those that are free, the last of them used again first.
    free: Vec<u32>,
    added: u64,
}

impl MessagePool {
    /// # Arguments
    /// * `is_numbered` - whether one process may send several messages that are alike in time and tie-break key
    pub(crate) fn new(is_numbered: bool) -> Self {
        Self {
            nodes: Vec::new(),
            numbers: Vec::new(),
            is_numbered,
            free: Vec::new(),
            added: 0,
        }
    }

    /// How many nodes were added so far.
    #[inline]
    pub(crate) fn n_added(&self) -> u64 {
        self.added
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> &Message {
        &self.nodes[index as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut Message {
        &mut self.nodes[index as usize]
    }

    /// Whether one node was added before another; without numbers, by their times.
    #[inline]
    pub(crate) fn is_older(&self, a: u32, b: u32) -> bool {
        if !self.is_numbered {
            return self.get(a).at < self.get(b).at;
        }
        let (a, b) = (self.numbers[a as usize], self.numbers[b as usize]);
        (a.wrapping_sub(b) as i32) < 0
    }

    /// Adds a node. Inlined, so that it is written in place: copying a value that has just been written in halves
    /// stalls.
    #[inline(always)]
    pub(crate) fn add(&mut self, message: Message) -> u32 {
        self.added += 1;
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.add_room(),
        };
        self.nodes[index as usize] = message;
        if self.is_numbered {
            self.numbers[index as usize] = self.added as u32;
        }
        // The next free nodes are far apart in memory: they are prefetched.
        if let Some(later) = self.free.len().checked_sub(FREE_AHEAD) {
            prefetch(&self.nodes[self.free[later] as usize]);
        }
        index
    }

    /// A node behind all others.
    #[inline(never)]
    fn add_room(&mut self) -> u32 {
        if self.nodes.len() == self.nodes.capacity() {
            // Unused parts of it occupy address space only.
            let more = self.nodes.len().max(1024);
            reserve(&mut self.nodes, more);
            if self.is_numbered {
                reserve(&mut self.numbers, more);
            }
        }
        self.nodes.push(Message::NOTHING);
        if self.is_numbered {
            self.numbers.push(0);
        }
        (self.nodes.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Most nodes at once.
    pub(crate) fn most(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Message>()
            + (self.numbers.len() + self.free.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_gives_back_what_was_put_in() {
        for part in MessagePart::ALL {
            for (sender, receiver) in [
                (Mode::Blocking, Mode::Internal),
                (Mode::Internal, Mode::Nonblocking),
            ] {
                let load = Load::new(1 << 50, MessagePart::RequestToSend, sender);
                let load = load.received_by(Mode::Internal).part_of_it(part);
                let load = load.received_by(receiver);
                assert_eq!((load.bytes(), load.part()), (1 << 50, part));
                assert_eq!((load.sender(), load.receiver()), (sender, receiver));
            }
        }
    }
}
