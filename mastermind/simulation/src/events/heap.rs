//! Pairing heaps, whose links are in the nodes themselves: of messages, and of the deferred events of schedules.
//!
//! Putting one in takes a constant time, taking the first one out a logarithmic one over all, however
//! many wait.
//!
//! # Source
//! M. Fredman, R. Sedgewick, D. Sleator, R. Tarjan, "The pairing heap", Algorithmica 1, 1986 (two passes).

use crate::events::messages::{MessagePool, NIL};

/// Most nodes that a search goes through.
const MAX_SEARCHED: usize = 64;

/// Key of a heap. Equal entries are taken in the order of the senders, and then of the sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// By arrival, then by tie-break key.
    Arrival,
    /// By tie-break key: all have arrived, and wait for the same.
    TieBreak,
}

/// Nodes whose links make pairing heaps, ordered by `By`.
pub(crate) trait PairingHeaps<By: Copy> {
    /// The next node of its level, and the first below a node.
    fn links(&mut self, index: u32) -> [&mut u32; 2];

    /// Whether one node comes before another one.
    fn is_before(&self, a: u32, b: u32, by: By) -> bool;

    /// Puts a node into the heap of this root: the new root.
    #[inline]
    fn push(&mut self, root: u32, index: u32, by: By) -> u32 {
        self.links(index).into_iter().for_each(|link| *link = NIL);
        if root == NIL {
            return index;
        }
        self.meld(root, index, by)
    }

    /// Takes the root out of its heap: the new root.
    #[inline(always)]
    fn pop(&mut self, root: u32, by: By) -> u32 {
        match *self.links(root)[1] {
            NIL => NIL,
            first => self.join(first, by),
        }
    }

    /// Merges the heaps of a level, of which this is the first, and returns the root.
    #[inline(never)]
    fn join(&mut self, first: u32, by: By) -> u32 {
        let mut current = first;
        // Pairs from left to right, which puts the last in front; then all into one, from right to left.
        let mut pairs = NIL;
        while current != NIL {
            let right = *self.links(current)[0];
            let mut pair = current;
            current = NIL;
            if right != NIL {
                current = *self.links(right)[0];
                pair = self.meld(pair, right, by);
            }
            *self.links(pair)[0] = pairs;
            pairs = pair;
        }
        let mut root = pairs;
        let mut rest = *self.links(root)[0];
        while rest != NIL {
            let next = *self.links(rest)[0];
            root = self.meld(root, rest, by);
            rest = next;
        }
        *self.links(root)[0] = NIL;
        root
    }

    /// Puts the root that comes later below the other.
    #[inline]
    fn meld(&mut self, a: u32, b: u32, by: By) -> u32 {
        let (above, below) = if self.is_before(a, b, by) {
            (a, b)
        } else {
            (b, a)
        };
        let first = std::mem::replace(self.links(above)[1], below);
        *self.links(below)[0] = first;
        above
    }
}

impl PairingHeaps<Order> for MessagePool {
    #[inline]
    fn links(&mut self, index: u32) -> [&mut u32; 2] {
        let node = self.get_mut(index);
        [&mut node.next, &mut node.other]
    }

    #[inline]
    fn is_before(&self, a: u32, b: u32, by: Order) -> bool {
        let (x, y) = (self.get(a), self.get(b));
        if by == Order::Arrival && x.at != y.at {
            return x.at < y.at;
        }
        match (x.tie_break, x.peer).cmp(&(y.tie_break, y.peer)) {
            std::cmp::Ordering::Equal => self.is_older(a, b),
            order => order.is_lt(),
        }
    }
}

impl MessagePool {
    /// The first node of a heap that comes from `peer`, or [`NIL`]; `None` if there are too many to search.
    #[inline(always)]
    pub(crate) fn first_from(&self, root: u32, peer: u32, by: Order) -> Option<u32> {
        if root == NIL || self.get(root).peer == peer {
            return Some(root);
        }
        self.first_below(root, peer, by)
    }

    /// The same, of those below the root.
    #[inline(never)]
    fn first_below(&self, root: u32, peer: u32, by: Order) -> Option<u32> {
        let mut open = [NIL; MAX_SEARCHED];
        let (mut n_open, mut n_seen) = (0, 0);
        let (mut current, mut found) = (self.get(root).other, NIL);
        loop {
            if current == NIL {
                if n_open == 0 {
                    return Some(found);
                }
                n_open -= 1;
                current = open[n_open];
                continue;
            }
            n_seen += 1;
            if n_seen > MAX_SEARCHED {
                return None;
            }
            let node = self.get(current);
            if node.peer == peer && (found == NIL || self.is_before(current, found, by)) {
                found = current;
            }
            if node.other != NIL {
                open[n_open] = node.other;
                n_open += 1;
            }
            current = node.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::messages::{Load, Message};
    use crate::events::tie_break::TieBreak;
    use crate::loggp::MessagePart;
    use mastermind_programs::Mode;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_leave_in_the_order_of_time_creation_sender_and_send(
            steps in prop::collection::vec(prop::option::weighted(0.6, (0..4_u64, 0..3_u64, 0..3_u32)), 1..200),
            by in prop_oneof![Just(Order::Arrival), Just(Order::TieBreak)],
        ) {
            let (mut pool, mut root) = (MessagePool::new(true), NIL);
            let mut expected: Vec<((u64, u64, u32), usize)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                if let Some((at, tie_break, peer)) = step {
                    let message = Message {
                        at,
                        tie_break: TieBreak::START.then(tie_break),
                        load: Load::new(number as u64, MessagePart::Eager, Mode::Blocking),
                        peer,
                        tag: 0,
                        next: NIL,
                        other: NIL,
                    };
                    let index = pool.add(message);
                    root = pool.push(root, index, by);
                    let at = if by == Order::Arrival { at } else { 0 };
                    expected.push(((at, tie_break, peer), number));
                } else if root != NIL {
                    let least = expected.iter().min().copied();
                    let first = expected.iter().position(|one| Some(*one) == least);
                    let (_, number) = expected.remove(first.unwrap_or_default());
                    prop_assert_eq!(pool.get(root).load.bytes(), number as u64);
                    let taken = root;
                    root = pool.pop(root, by);
                    pool.release(taken);
                }
                for sender in 0..3 {
                    let from = expected.iter().filter(|((_, _, peer), _)| *peer == sender);
                    let first = from.min().map_or(NIL as u64, |(_, number)| *number as u64);
                    if let Some(found) = pool.first_from(root, sender, by) {
                        let found = if found == NIL { NIL as u64 } else { pool.get(found).load.bytes() };
                        prop_assert_eq!(found, first);
                    }
                }
            }
        }
    }
}
