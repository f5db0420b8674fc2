//! The definitions of the logs of a container: each once, whichever logs have it.

use std::collections::HashMap;
use std::ops::Range;

/// Definitions as entries of a log, by number.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    words: Vec<u64>,
    ranges: Vec<Range<usize>>,
    numbers: HashMap<Vec<u64>, u32>,
}

impl Dictionary {
    /// Those that were written.
    ///
    /// # Arguments
    /// * `lengths` - words of each
    ///
    /// # Returns
    /// `None` if that is not what the words are.
    pub(super) fn new(words: Vec<u64>, lengths: &[u32]) -> Option<Self> {
        let mut end = 0_usize;
        let ranges = lengths.iter().map(|length| {
            let begin = end;
            end = begin.checked_add(*length as usize)?;
            Some(begin..end)
        });
        let ranges = ranges.collect::<Option<_>>()?;
        (end == words.len()).then_some(Self {
            words,
            ranges,
            numbers: HashMap::new(),
        })
    }

    /// Takes one, unless it is there.
    ///
    /// # Returns
    /// Its number.
    pub(super) fn add(&mut self, entry: &[u64]) -> u32 {
        if let Some(number) = self.numbers.get(entry) {
            return *number;
        }
        let number = self.ranges.len() as u32;
        let begin = self.words.len();
        self.words.extend_from_slice(entry);
        self.ranges.push(begin..self.words.len());
        self.numbers.insert(entry.into(), number);
        number
    }

    /// The words of one.
    pub(super) fn get(&self, number: usize) -> Option<&[u64]> {
        self.words.get(self.ranges.get(number)?.clone())
    }

    /// All words.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Words of each.
    pub(super) fn lengths(&self) -> Vec<u32> {
        self.ranges.iter().map(|range| range.len() as u32).collect()
    }
}
