//! Unexpected messages and posted receives, matched by sender and tag: lists in their order, with an index where one is
//! long.
//!
//! A list is a ring of nodes, kept by its last one, so that both ends are at hand.

use crate::events::key_index::{KeyIndex, LongLists, MAX_LINEAR, first};
use crate::events::messages::{ANY_TAG, ANYBODY, Message, MessagePool, NIL};

/// Sender and tag; either may be any.
type Key = (u32, i32);

/// The long lists of one type, by process.
#[derive(Default)]
pub(crate) struct ListIndex(LongLists<u32, Key>);

impl MessagePool {
    /// Puts a node at the end of the list of this last one.
    #[inline]
    pub(crate) fn append(&mut self, last: &mut u32, index: u32) {
        if *last == NIL {
            let node = self.get_mut(index);
            (node.next, node.other) = (index, index);
        } else {
            let first = self.get(*last).next;
            let node = self.get_mut(index);
            (node.next, node.other) = (first, *last);
            self.get_mut(*last).next = index;
            self.get_mut(first).other = index;
        }
        *last = index;
    }

    /// Takes a node out of its list.
    #[inline]
    pub(crate) fn remove(&mut self, last: &mut u32, index: u32) {
        let (next, previous) = (self.get(index).next, self.get(index).other);
        if next == index {
            *last = NIL;
            return;
        }
        self.get_mut(previous).next = next;
        self.get_mut(next).other = previous;
        if *last == index {
            *last = previous;
        }
    }

    /// The nodes of a list, from the first on.
    pub(crate) fn list(&self, last: u32) -> impl Iterator<Item = u32> {
        let mut current = last;
        let mut ended = last == NIL;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            current = self.get(current).next;
            ended = current == last;
            Some(current)
        })
    }

    fn key(&self, index: u32) -> Key {
        let node = self.get(index);
        (node.peer, node.tag)
    }
}

impl ListIndex {
    /// As [`MessagePool::append`], for a list that may have an index.
    #[inline]
    pub(crate) fn append(
        &mut self,
        pool: &mut MessagePool,
        process: u32,
        last: &mut u32,
        index: u32,
    ) {
        pool.append(last, index);
        self.0.append(&process, pool.key(index), index);
    }

    /// As [`MessagePool::remove`], for a list that may have an index.
    #[inline]
    pub(crate) fn remove(
        &mut self,
        pool: &mut MessagePool,
        process: u32,
        last: &mut u32,
        index: u32,
    ) {
        pool.remove(last, index);
        self.0.remove(&process, &pool.key(index), *last == NIL);
    }

    /// The first message of a list that a receive of this source and tag takes, or [`NIL`].
    #[inline]
    pub(crate) fn message(
        &mut self,
        pool: &MessagePool,
        process: u32,
        last: u32,
        wanted: Key,
    ) -> u32 {
        let takes = |index: &u32| fits(wanted, pool.get(*index));
        if wanted.0 == ANYBODY || wanted.1 == ANY_TAG {
            return pool.list(last).find(takes).unwrap_or(NIL);
        }
        match near(pool, last, takes) {
            Some(found) => found,
            None => first(self.index(pool, process, last), &wanted).unwrap_or(NIL),
        }
    }

    /// The first receive of a list that takes a message, or [`NIL`].
    #[inline]
    pub(crate) fn receive(
        &mut self,
        pool: &MessagePool,
        process: u32,
        last: u32,
        message: u32,
    ) -> u32 {
        let message = pool.get(message);
        let takes = |index: &u32| fits(pool.key(*index), message);
        if let Some(found) = near(pool, last, takes) {
            return found;
        }
        let index = self.index(pool, process, last);
        let mut found = NIL;
        for peer in [message.peer, ANYBODY] {
            for tag in [message.tag, ANY_TAG] {
                if let Some(one) = first(index, &(peer, tag))
                    && fits((peer, tag), message)
                    && (found == NIL || pool.is_older(one, found))
                {
                    found = one;
                }
            }
        }
        found
    }

    fn index(&mut self, pool: &MessagePool, process: u32, last: u32) -> &KeyIndex<Key> {
        let nodes = pool.list(last).map(|node| (pool.key(node), node));
        self.0.of(process, nodes)
    }
}

/// The first of the near nodes that fits, or [`NIL`] if the list has no others; `None` if it has.
#[inline]
fn near(pool: &MessagePool, last: u32, fits: impl Fn(&u32) -> bool) -> Option<u32> {
    let mut nodes = pool.list(last);
    if let Some(found) = nodes.by_ref().take(MAX_LINEAR).find(fits) {
        return Some(found);
    }
    nodes.next().is_none().then_some(NIL)
}

/// Whether a receive of this peer and tag takes a message.
#[inline]
pub(crate) fn fits((peer, tag): (u32, i32), message: &Message) -> bool {
    (peer == message.peer || peer == ANYBODY)
        && (tag == message.tag || (tag == ANY_TAG && message.tag >= 0))
}
