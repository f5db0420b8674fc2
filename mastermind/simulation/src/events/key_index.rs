//! An index of long lists, which are not searched one by one.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Entries of a list that are searched one by one, before it gets an index.
pub(crate) const MAX_LINEAR: usize = 32;

/// The entries of a list by key, those of one key in their order.
pub(crate) type KeyIndex<K> = HashMap<K, VecDeque<u32>>;

/// The first entry of a key.
pub(crate) fn first<K: Hash + Eq>(index: &KeyIndex<K>, key: &K) -> Option<u32> {
    index.get(key)?.front().copied()
}

/// The long lists, by their names `N`; entries of one key leave a list in their order.
#[derive(Debug)]
pub(crate) struct LongLists<N, K>(HashMap<N, KeyIndex<K>>);

impl<N, K> Default for LongLists<N, K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<N: Hash + Eq, K: Hash + Eq> LongLists<N, K> {
    /// An entry was put at the end of a list.
    #[inline]
    pub(crate) fn append(&mut self, name: &N, key: K, entry: u32) {
        if !self.0.is_empty()
            && let Some(known) = self.0.get_mut(name)
        {
            known.entry(key).or_default().push_back(entry);
        }
    }

    /// The first entry of a key was taken out of a list, which is empty now or not.
    #[inline]
    pub(crate) fn remove(&mut self, name: &N, key: &K, is_empty: bool) {
        if self.0.is_empty() {
            return;
        }
        if is_empty {
            self.0.remove(name);
        } else if let Some(known) = self.0.get_mut(name)
            && let Some(entries) = known.get_mut(key)
        {
            entries.pop_front();
            if entries.is_empty() {
                known.remove(key);
            }
        }
    }

    /// The index of a list, made from its entries if it does not exist yet.
    pub(crate) fn of(&mut self, name: N, entries: impl Iterator<Item = (K, u32)>) -> &KeyIndex<K> {
        self.0.entry(name).or_insert_with(|| {
            let mut index = KeyIndex::new();
            for (key, entry) in entries {
                index.entry(key).or_default().push_back(entry);
            }
            index
        })
    }
}
