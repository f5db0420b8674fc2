//! Stack distances of a stream of cache lines: of one stack of all lines, and of the stacks of the sets of caches.
//!
//! The stack distance of an access is the number of distinct lines that were used since the last use of its line. A
//! cache of one set with least recently used replacement contains the line if that is less than its ways; one of S sets
//! does if fewer than its ways of these lines are in the line's set. So one pass over the accesses gives the misses of
//! every number of ways.
//!
//! ```text
//! line ──► time of its last use (a table by page) ──► marks later than that (a Fenwick tree over words of bits) = distance
//!      ──► for S = 16, 32 … 4096: place in the list of its set, most recent first
//! ```
//!
//! # Source
//! R.L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9 (1970) 78, for the stack
//! and its inclusion; the tree over times is that of B.T. Bennett, V.J. Kruskal, IBM J. Res. Dev. 19 (1975) 353 (both
//! from memory, not checked).

use std::collections::HashMap;

/// Numbers of sets whose stacks are kept: powers of two, from the nearest caches (64) to a second one (2048), and
/// further on both sides.
pub const SETS: [usize; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Ways that a set's stack keeps. Known processors have at most 24.
pub const MAX_WAYS: usize = 32;

/// The distance of a line that was never used.
pub const NEVER: u64 = 1 << 40;

/// Lines of a page of the table of times: 256 KiB of memory.
const PAGE_LINES: usize = 1 << 12;

/// Times before the marks are packed, at least: a word of bits for 64.
const MIN_TIMES: usize = 1 << 16;

/// One stack of all lines.
pub struct Stack {
    /// Page of lines → time of each one's last use, plus one; 0: never.
    pages: HashMap<u64, Box<[u32; PAGE_LINES]>>,
    /// A bit at the last use of each line.
    marks: Vec<u64>,
    /// Sums of `marks`, a Fenwick tree over its words.
    tree: Vec<u32>,
    now: usize,
    n_lines: usize,
    last: Option<u64>,
}

impl Default for Stack {
    fn default() -> Self {
        Self {
            pages: HashMap::new(),
            marks: vec![0; MIN_TIMES / 64],
            tree: vec![0; MIN_TIMES / 64 + 1],
            now: 0,
            n_lines: 0,
            last: None,
        }
    }
}

impl Stack {
    /// Lines that were used.
    pub fn n_lines(&self) -> usize {
        self.n_lines
    }

    /// Uses a line.
    ///
    /// # Returns
    /// Its stack distance; [`NEVER`] at its first use.
    pub fn access(&mut self, line: u64) -> u64 {
        if self.last == Some(line) {
            return 0;
        }
        self.last = Some(line);
        if self.now == self.marks.len() * 64 {
            self.pack();
        }
        let now = self.now;
        self.now += 1;
        let page = self.pages.entry(line / PAGE_LINES as u64);
        let page = page.or_insert_with(|| Box::new([0; PAGE_LINES]));
        let before = std::mem::replace(&mut page[line as usize % PAGE_LINES], now as u32 + 1);
        let distance = match before.checked_sub(1) {
            None => {
                self.n_lines += 1;
                NEVER
            }
            Some(before) => {
                let before = before as usize;
                let distance = self.n_lines - self.marks_until(before);
                self.marks[before / 64] &= !(1 << (before % 64));
                self.add(before / 64, u32::MAX);
                distance as u64
            }
        };
        self.marks[now / 64] |= 1 << (now % 64);
        self.add(now / 64, 1);
        distance
    }

    /// Marks at a time and before it.
    fn marks_until(&self, time: usize) -> usize {
        let below = u64::MAX >> (63 - time % 64);
        let mut sum = (self.marks[time / 64] & below).count_ones();
        let mut place = time / 64;
        while place > 0 {
            sum = sum.wrapping_add(self.tree[place]);
            place &= place - 1;
        }
        sum as usize
    }

    /// Adds to a word's sum, modulo 2^32.
    fn add(&mut self, word: usize, by: u32) {
        let mut place = word + 1;
        while place < self.tree.len() {
            self.tree[place] = self.tree[place].wrapping_add(by);
            place += place & place.wrapping_neg();
        }
    }

    /// Gives the lines new times without gaps, in the same order, and room for as many accesses as there are lines.
    fn pack(&mut self) {
        let mut before = Vec::with_capacity(self.marks.len());
        let mut sum = 0_usize;
        for word in &self.marks {
            before.push(sum);
            sum += word.count_ones() as usize;
        }
        for time in self.pages.values_mut().flat_map(|page| page.iter_mut()) {
            if let Some(old) = time.checked_sub(1) {
                let (word, bit) = (old as usize / 64, old % 64);
                let lower = self.marks[word] & ((1 << bit) - 1);
                *time = (before[word] + lower.count_ones() as usize) as u32 + 1;
            }
        }
        let times = MIN_TIMES.max(4 * sum).next_multiple_of(64);
        self.marks = vec![0; times / 64];
        self.tree = vec![0; times / 64 + 1];
        for time in 0..sum {
            self.marks[time / 64] |= 1 << (time % 64);
        }
        for word in 0..sum.div_ceil(64) {
            self.add(word, self.marks[word].count_ones());
        }
        self.now = sum;
    }
}

/// The stacks of the sets of caches with one number of sets.
struct Sets {
    /// Of each set, the most recent line first.
    lines: Vec<[u64; MAX_WAYS]>,
}

impl Sets {
    /// Uses a line.
    ///
    /// # Returns
    /// Its place in its set, from 0; [`MAX_WAYS`] if it is in none.
    fn access(&mut self, line: u64) -> usize {
        let n_sets = self.lines.len() as u64;
        let set = &mut self.lines[(line % n_sets) as usize];
        let place = set.iter().position(|of| *of == line);
        let last = place.unwrap_or(MAX_WAYS - 1);
        set.copy_within(0..last, 1);
        set[0] = line;
        place.unwrap_or(MAX_WAYS)
    }
}

/// The stacks of the sets of all [`SETS`].
pub struct AllSets(Vec<Sets>);

impl Default for AllSets {
    fn default() -> Self {
        let of = |n: &usize| Sets {
            lines: vec![[u64::MAX; MAX_WAYS]; *n],
        };
        Self(SETS.iter().map(of).collect())
    }
}

impl AllSets {
    /// Uses a line.
    ///
    /// # Returns
    /// Its place in its set, for each of [`SETS`].
    pub fn access(&mut self, line: u64) -> [usize; SETS.len()] {
        let mut places = [0; SETS.len()];
        for (place, sets) in places.iter_mut().zip(&mut self.0) {
            *place = sets.access(line);
            // The most recent line of a set is also the most recent of the smaller sets that
            // contain it.
            if *place == 0 {
                break;
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a random walk with jumps.
    fn walk(n: usize) -> Vec<u64> {
        let mut seed = 7_u64;
        let mut line = 1000_u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            line = match seed % 5 {
                0 => seed % 6000,
                1 => line,
                _ => line + 1,
            };
            line
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn distances_are_those_of_a_list() {
        let (mut stack, mut list) = (Stack::default(), Vec::new());
        let mut all = AllSets::default();
        for line in walk(150_000) {
            let place = list.iter().rev().position(|of| *of == line);
            assert_eq!(stack.access(line), place.map_or(NEVER, |of| of as u64));
            let sets = all.access(line);
            if let Some(place) = place {
                let since = &list[list.len() - place..];
                for (n_sets, found) in SETS.iter().zip(sets) {
                    let same = |of: &&u64| *of % *n_sets as u64 == line % *n_sets as u64;
                    assert_eq!(since.iter().filter(same).count().min(MAX_WAYS), found);
                }
                list.remove(list.len() - 1 - place);
            }
            list.push(line);
        }
        assert_eq!(stack.n_lines(), list.len());
    }
}
