//! Items identified by their indices; free indices are used again.

use std::ops::{Index, IndexMut};

/// Such items.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    /// Places that are free, the last of them used again first.
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Adds an item. Inlined, so that it is written in place: copying a value that has just been written in halves
    /// stalls.
    #[inline(always)]
    pub(crate) fn add(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.items[place as usize] = item;
                place
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }

    /// Frees an index; its item stays until the index is used again.
    #[inline]
    pub(crate) fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The item at an index, if it is valid.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        self.items.get(place as usize)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.items[place as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize]
    }
}
