//! Finds the entries of a log, and its way on where there is none.

use std::collections::BTreeMap;

use cca_abi::recording::word::{self, EntryKind};

use crate::definition::Definition;
use crate::definitions::Definitions;

/// Words that are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) at: usize,
    pub(crate) n_words: usize,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) n_records: u64,
    pub(crate) n_entries: u64,
    /// Words up to the end of the last entry.
    pub(crate) end: usize,
    pub(crate) gaps: Vec<Gap>,
    /// Call path and start of the last record.
    pub(crate) last: Option<(u32, u64)>,
    /// Call path → records that cannot be interpreted.
    pub(crate) undefined: BTreeMap<u32, u64>,
}

/// Reads definitions and checks every entry.
///
/// # Arguments
/// * `words` - the entry stream
/// * `definitions` - receives what is defined
pub(crate) fn scan(words: &[u64], definitions: &mut Definitions) -> Scanned {
    let mut scanned = Scanned::default();
    let mut at = 0;
    while at < words.len() {
        if let Some(record) = record(&words[at..]) {
            scanned.n_entries += 1;
            let path = word::path(record[0]);
            scanned.last = Some((path, record[1]));
            if definitions.shape(path).fits(record.len()) {
                scanned.n_records += 1;
            } else {
                *scanned.undefined.entry(path).or_default() += 1;
            }
            at += record.len();
            scanned.end = at;
            continue;
        }
        match entry(&words[at..]) {
            Some(Entry::Definition(n_words, definition)) => {
                scanned.n_entries += 1;
                definitions.add(definition);
                at += n_words;
            }
            Some(Entry::Padding(n_words)) => {
                scanned.n_entries += 1;
                at += n_words;
            }
            None => {
                let next = next_entry(words, at + 1);
                scanned.gaps.push(Gap {
                    at,
                    n_words: next - at,
                });
                at = next;
                continue;
            }
        }
        scanned.end = at;
    }
    scanned
}

/// An entry other than a record.
enum Entry {
    Definition(usize, Definition),
    Padding(usize),
}

/// The record at the beginning of `words`, if there is an intact one.
#[inline(always)]
fn record(words: &[u64]) -> Option<&[u64]> {
    let head = *words.first()?;
    if word::kind(head) != Some(EntryKind::Record) {
        return None;
    }
    let whole = words.get(..word::n_words(head))?;
    (whole.len() >= word::HEAD_WORDS && word::is_intact(whole)).then_some(whole)
}

/// The entry at the beginning of `words`, if there is an intact one that is no record.
fn entry(words: &[u64]) -> Option<Entry> {
    let head = *words.first()?;
    let kind = word::kind(head)?;
    let n_words = word::n_words(head);
    let whole = words
        .get(..n_words)
        .filter(|whole| word::is_intact(whole))?;
    match kind {
        EntryKind::Record => None,
        EntryKind::Padding => Some(Entry::Padding(n_words)),
        EntryKind::Definition => Some(Entry::Definition(n_words, definition(whole)?)),
    }
}

fn definition(whole: &[u64]) -> Option<Definition> {
    let sum = *whole.get(1)?;
    let (n_bytes, crc) = ((sum & 0xFFFF_FFFF) as usize, (sum >> 32) as u32);
    let bytes: Vec<u8> = whole[2..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let payload = bytes
        .get(..n_bytes)
        .filter(|payload| crc32fast::hash(payload) == crc)?;
    serde_json::from_slice(payload).ok()
}

/// The place of the next entry that is followed by another, or by the end.
fn next_entry(words: &[u64], from: usize) -> usize {
    let length = |at: usize| -> Option<usize> {
        if let Some(record) = record(&words[at..]) {
            return Some(record.len());
        }
        match entry(&words[at..])? {
            Entry::Definition(n_words, _) | Entry::Padding(n_words) => Some(n_words),
        }
    };
    (from..words.len())
        .find(|&at| {
            let after = length(at).map(|n_words| at + n_words);
            after.is_some_and(|after| after == words.len() || length(after).is_some())
        })
        .unwrap_or(words.len())
}

/// The intact records of a log that was scanned before, without checking them again.
#[derive(Clone, Debug)]
pub(crate) struct RawRecords<'a> {
    words: &'a [u64],
    at: usize,
    gaps: std::slice::Iter<'a, Gap>,
    /// Where the next gap begins.
    gap: Option<&'a Gap>,
}

impl<'a> RawRecords<'a> {
    pub(crate) fn new(words: &'a [u64], gaps: &'a [Gap]) -> Self {
        let mut gaps = gaps.iter();
        let gap = gaps.next();
        Self {
            words,
            at: 0,
            gaps,
            gap,
        }
    }
}

impl<'a> Iterator for RawRecords<'a> {
    type Item = &'a [u64];

    #[inline]
    fn next(&mut self) -> Option<&'a [u64]> {
        loop {
            if let Some(gap) = self.gap.filter(|gap| gap.at == self.at) {
                self.at += gap.n_words;
                self.gap = self.gaps.next();
                continue;
            }
            let head = *self.words.get(self.at)?;
            // Every entry is whole: the scan saw it. `max` keeps a file that is changed meanwhile from looping.
            let n_words = word::n_words(head).max(1);
            let begin = self.at;
            self.at += n_words;
            if word::kind(head) == Some(EntryKind::Record) {
                return self
                    .words
                    .get(begin..self.at)
                    .filter(|record| record.len() >= word::HEAD_WORDS);
            }
        }
    }
}
