//! Pairing heaps of messages, whose links are in the messages themselves.
//!
//! Putting one in takes a constant time, taking the first one out a logarithmic one over all, however
//! many wait.
//!
//! # Source
//! M. Fredman, R. Sedgewick, D. Sleator, R. Tarjan, "The pairing heap", Algorithmica 1, 1986 (two passes).

use crate::events::messages::{MessagePool, NIL};

/// Most nodes that a search goes through.
const MAX_SEARCHED: usize = 64;

/// By what a heap is ordered. What is equal is taken in the order of the senders, and then of the sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// By arrival, then by tie-break key.
    Arrival,
    /// By tie-break key: all have arrived, and wait for the same.
    TieBreak,
}

impl MessagePool {
    /// Puts a node into the heap of this root: the new root.
    #[inline]
    pub(crate) fn push(&mut self, root: u32, index: u32, by: Order) -> u32 {
        let node = self.get_mut(index);
        (node.next, node.other) = (NIL, NIL);
        if root == NIL {
            return index;
        }
        self.meld(root, index, by)
    }

    /// Takes the root out of its heap: the new root.
    #[inline]
    pub(crate) fn pop(&mut self, root: u32, by: Order) -> u32 {
        let first = self.get(root).other;
        if first == NIL {
            return NIL;
        }
        // Pairs from left to right, which puts the last in front; then all into one, from right to left.
        let (mut current, mut pairs) = (first, NIL);
        while current != NIL {
            let right = self.get(current).next;
            let mut pair = current;
            current = NIL;
            if right != NIL {
                current = self.get(right).next;
                pair = self.meld(pair, right, by);
            }
            self.get_mut(pair).next = pairs;
            pairs = pair;
        }
        let mut root = pairs;
        let mut rest = self.get(root).next;
        while rest != NIL {
            let next = self.get(rest).next;
            root = self.meld(root, rest, by);
            rest = next;
        }
        self.get_mut(root).next = NIL;
        root
    }

    /// Puts the root that comes later below the other.
    #[inline]
    fn meld(&mut self, a: u32, b: u32, by: Order) -> u32 {
        let (above, below) = if self.is_before(a, b, by) {
            (a, b)
        } else {
            (b, a)
        };
        let first = std::mem::replace(&mut self.get_mut(above).other, below);
        self.get_mut(below).next = first;
        above
    }

    #[inline]
    pub(crate) fn is_before(&self, a: u32, b: u32, by: Order) -> bool {
        let (x, y) = (self.get(a), self.get(b));
        if by == Order::Arrival && x.at != y.at {
            return x.at < y.at;
        }
        match (x.tie_break, x.peer).cmp(&(y.tie_break, y.peer)) {
            std::cmp::Ordering::Equal => self.is_older(a, b),
            order => order.is_lt(),
        }
    }

    /// The first node of a heap that comes from `peer`, or [`NIL`]; `None` where there are too many to search.
    #[inline]
    pub(crate) fn first_from(&self, root: u32, peer: u32, by: Order) -> Option<u32> {
        if root == NIL || self.get(root).peer == peer {
            return Some(root);
        }
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
    use crate::program::Mode;
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
