//! The definitions of a container's logs, each stored once.

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
    /// Reads stored definitions.
    ///
    /// # Arguments
    /// * `lengths` - words of each
    ///
    /// # Returns
    /// `None` if the words do not match the lengths.
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

    /// Adds a definition, unless it is present.
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

    /// The words of a definition.
    pub(super) fn get(&self, number: usize) -> Option<&[u64]> {
        self.words.get(self.ranges.get(number)?.clone())
    }

    /// All words.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Words of each definition.
    pub(super) fn lengths(&self) -> Vec<u32> {
        self.ranges.iter().map(|range| range.len() as u32).collect()
    }
}
