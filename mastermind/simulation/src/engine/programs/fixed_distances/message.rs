//! Messages in flight or waiting to be received: one pool, linked lists in it.

use crate::events::messages::NIL;
use crate::events::tie_break::TieBreak;
use mastermind_programs::huge_pages::reserve;

/// A message: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Message {
    /// When its receiver takes it at the earliest.
    pub(super) at: u64,
    /// Tie-break key of that.
    pub(super) tie_break: TieBreak,
    /// Processor time of its receipt, nanoseconds.
    pub(super) receive_ns: u32,
    /// Time that it occupies the receiving interface, nanoseconds.
    pub(super) gap_ns: u32,
    /// Its sender.
    pub(super) peer: u32,
    pub(super) tag: i32,
    pub(super) next: u32,
}

/// Messages that came to a process since its last visit: the only part of the receiver's state that a
/// sender touches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inbox {
    /// The first message, or [`NIL`].
    pub(super) first: u32,
    /// The others, the last of them first.
    pub(super) rest: u32,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            first: NIL,
            rest: NIL,
        }
    }
}

/// All messages; the place of a freed one is used again.
pub(super) struct Pool {
    places: Vec<Message>,
    free: u32,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: NIL,
        }
    }
}

impl Pool {
    #[inline]
    pub(super) fn get(&self, index: u32) -> &Message {
        &self.places[index as usize]
    }

    #[inline]
    pub(super) fn add(&mut self, message: Message) -> u32 {
        if self.free != NIL {
            let index = self.free;
            let place = &mut self.places[index as usize];
            self.free = place.next;
            *place = message;
            return index;
        }
        if self.places.len() == self.places.capacity() {
            // Unused parts of it occupy address space only.
            let more = self.places.len().max(1024);
            reserve(&mut self.places, more);
        }
        self.places.push(message);
        (self.places.len() - 1) as u32
    }

    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        self.places[index as usize].next = self.free;
        self.free = index;
    }

    /// Puts a message into an inbox.
    #[inline]
    pub(super) fn put(&mut self, inbox: &mut Inbox, index: u32) {
        if inbox.first == NIL {
            inbox.first = index;
        } else {
            self.places[index as usize].next = std::mem::replace(&mut inbox.rest, index);
        }
    }

    /// Sorts the messages of an inbox, in the order in which they came, into the list of arrivals from `head`, and
    /// returns the new head. Ties are counted.
    #[inline(never)]
    pub(super) fn sort_in(&mut self, head: u32, inbox: Inbox, ties: &mut u64) -> u32 {
        let (mut rest, mut next) = (NIL, inbox.rest);
        while next != NIL {
            let place = &mut self.places[next as usize];
            next = std::mem::replace(&mut place.next, std::mem::replace(&mut rest, next));
        }
        let mut head = match head {
            NIL => inbox.first,
            head => self.arrive(head, inbox.first, ties),
        };
        while rest != NIL {
            let index = rest;
            rest = self.get(index).next;
            head = self.arrive(head, index, ties);
        }
        head
    }

    /// Sorts a message into the list of arrivals from `head`, and returns the new head. Ties are
    /// counted.
    #[inline]
    pub(super) fn arrive(&mut self, head: u32, index: u32, ties: &mut u64) -> u32 {
        let new = &self.places[index as usize];
        let (at, tie_break, peer) = (new.at, new.tie_break, new.peer);
        let (mut before, mut current) = (NIL, head);
        while current != NIL {
            let other = &self.places[current as usize];
            if other.at >= at {
                if other.at > at || other.tie_break > tie_break {
                    break;
                }
                if other.tie_break == tie_break {
                    // Messages of one sender are in the order in which it sent them.
                    *ties += u64::from(other.peer != peer);
                    if other.peer > peer {
                        break;
                    }
                }
            }
            (before, current) = (current, other.next);
        }
        self.places[index as usize].next = current;
        if before == NIL {
            return index;
        }
        self.places[before as usize].next = index;
        head
    }

    /// Whether the message after this one comes by `at_ns`.
    #[inline]
    pub(super) fn is_next_by(&self, message: &Message, at_ns: u64) -> bool {
        message.next != NIL && self.get(message.next).at <= at_ns
    }

    /// Moves the first message of the list to `at_ns`, and gives the new head.
    #[inline]
    pub(super) fn again(&mut self, head: u32, at_ns: u64, ties: &mut u64) -> u32 {
        let first = &mut self.places[head as usize];
        first.at = at_ns;
        let next = first.next;
        self.arrive(next, head, ties)
    }

    /// Puts a message at the end of the list from `head`, and gives the new head.
    #[inline]
    pub(super) fn append(&mut self, head: u32, index: u32) -> u32 {
        self.places[index as usize].next = NIL;
        if head == NIL {
            return index;
        }
        let mut last = head;
        while self.get(last).next != NIL {
            last = self.get(last).next;
        }
        self.places[last as usize].next = index;
        head
    }

    /// Takes the first message of a sender and tag out of the list from `head` and frees its place: the
    /// new head, if there is one.
    #[inline]
    pub(super) fn take(&mut self, head: u32, peer: u32, tag: i32) -> Option<u32> {
        let (mut before, mut current) = (NIL, head);
        while current != NIL {
            let message = self.get(current);
            let next = message.next;
            if message.peer == peer && message.tag == tag {
                self.release(current);
                if before == NIL {
                    return Some(next);
                }
                self.places[before as usize].next = next;
                return Some(head);
            }
            (before, current) = (current, next);
        }
        None
    }

    /// The first message of a sender in the list from `head`.
    #[inline]
    pub(super) fn first_of(&self, head: u32, peer: u32) -> Option<&Message> {
        let mut current = head;
        while current != NIL {
            let message = self.get(current);
            if message.peer == peer {
                return Some(message);
            }
            current = message.next;
        }
        None
    }

    /// Messages of the list from `head`.
    pub(super) fn length(&self, head: u32) -> u64 {
        let (mut length, mut current) = (0, head);
        while current != NIL {
            (length, current) = (length + 1, self.get(current).next);
        }
        length
    }

    /// Most messages at once.
    pub(super) fn most(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.places.len() * size_of::<Message>()
    }
}
