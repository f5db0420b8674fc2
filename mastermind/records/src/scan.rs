//! Finds the entries of a log, and its way on where there is none.

use std::collections::BTreeMap;

use cca_abi::recording::word::{self, EntryKind, MAX_RECORD_WORDS};

use crate::definition::Definition;
use crate::definitions::Definitions;
use crate::source::Window;

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
    /// Place behind the last entry.
    pub(crate) end: usize,
    pub(crate) gaps: Vec<Gap>,
    /// Call path and start of the last record.
    pub(crate) last: Option<(u32, u64)>,
    /// Call path → records that cannot be interpreted.
    pub(crate) undefined: BTreeMap<u32, u64>,
    /// Records with more time in MPI than the call took.
    pub(crate) n_excess: u64,
}

impl Scanned {
    #[inline(always)]
    fn add_record(&mut self, record: &[u64], definitions: &Definitions) {
        self.n_entries += 1;
        let path = word::path(record[0]);
        self.last = Some((path, record[1]));
        if definitions.shape(path).fits(record.len()) {
            self.n_records += 1;
            let is_measured = record[0] & word::MPI_MEASURED != 0;
            self.n_excess += u64::from(is_measured && record[3] > record[2]);
        } else {
            *self.undefined.entry(path).or_default() += 1;
        }
    }
}

/// Reads definitions and checks every entry.
///
/// # Arguments
/// * `window` - on the entries
/// * `at` - where they begin
/// * `definitions` - receives what is defined
pub(crate) fn scan(window: &mut Window<'_>, at: usize, definitions: &mut Definitions) -> Scanned {
    scan_until(window, at, usize::MAX, definitions)
}

/// The same of the first entries only.
///
/// # Arguments
/// * `until` - the last entry is about there: what is in memory with it is checked too
pub(crate) fn scan_until(
    window: &mut Window<'_>,
    mut at: usize,
    until: usize,
    definitions: &mut Definitions,
) -> Scanned {
    let mut scanned = Scanned {
        end: at,
        ..Scanned::default()
    };
    while at < window.end().min(until) {
        let words = window.from(at, MAX_RECORD_WORDS);
        let mut n_words = 0;
        while let Some(record) = record(&words[n_words..]) {
            scanned.add_record(record, definitions);
            n_words += record.len();
        }
        if n_words == 0 {
            let entry = entry(window, at, |whole| definitions.add_entry(whole));
            n_words = match entry {
                Some(n_words) => n_words,
                None => {
                    let next = next_entry(window, at + 1);
                    let n_words = next.min(window.end()).saturating_sub(at);
                    if n_words == 0 {
                        // The file was cut here.
                        break;
                    }
                    scanned.gaps.push(Gap { at, n_words });
                    at += n_words;
                    continue;
                }
            };
            scanned.n_entries += 1;
        }
        at += n_words;
        scanned.end = at;
    }
    scanned
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

/// Words of the entry at a place, if there is an intact one that is no record.
///
/// # Arguments
/// * `define` - takes a definition, and says whether it is one
fn entry(
    window: &mut Window<'_>,
    at: usize,
    define: impl FnOnce(&[u64]) -> Option<()>,
) -> Option<usize> {
    let head = *window.from(at, 1).first()?;
    let kind = word::kind(head)?;
    let n_words = word::n_words(head);
    let fits = n_words > 0 && n_words <= window.end().saturating_sub(at);
    if !fits || !word::is_intact(&[head]) {
        return None;
    }
    match kind {
        EntryKind::Record => None,
        EntryKind::Padding => Some(n_words),
        EntryKind::Definition => {
            let whole = window.from(at, n_words).get(..n_words)?;
            define(whole)?;
            Some(n_words)
        }
    }
}

/// The definition of a whole entry, unless it is damaged.
pub(crate) fn definition(whole: &[u64]) -> Option<Definition> {
    let sum = *whole.get(1)?;
    let (n_bytes, crc) = ((sum & 0xFFFF_FFFF) as usize, (sum >> 32) as u32);
    let bytes: &[u8] = bytemuck::cast_slice(&whole[2..]);
    let payload = bytes
        .get(..n_bytes)
        .filter(|payload| crc32fast::hash(payload) == crc)?;
    serde_json::from_slice(payload).ok()
}

/// The place of the next entry that is followed by another, or by the end.
fn next_entry(window: &mut Window<'_>, from: usize) -> usize {
    let length = |window: &mut Window<'_>, at: usize| -> Option<usize> {
        if let Some(record) = record(window.from(at, MAX_RECORD_WORDS)) {
            return Some(record.len());
        }
        entry(window, at, |whole| definition(whole).map(drop))
    };
    let mut at = from;
    while at < window.end() {
        let after = length(window, at).map(|n_words| at + n_words);
        if after.is_some_and(|after| after == window.end() || length(window, after).is_some()) {
            return at;
        }
        at += 1;
    }
    window.end()
}

/// The intact records of a log that was scanned before. They are checked again, since the file may have been changed.
#[derive(Debug)]
pub(crate) struct RawRecords<'a> {
    window: Window<'a>,
    at: usize,
    gaps: std::slice::Iter<'a, Gap>,
    /// Where the next gap begins.
    gap: Option<&'a Gap>,
}

/// A record, and the words that follow it in memory.
pub(crate) struct RawRecord<'w> {
    pub(crate) n_words: usize,
    pub(crate) words: &'w [u64],
}

impl<'a> RawRecords<'a> {
    /// # Arguments
    /// * `at` - where the first entry begins
    pub(crate) fn new(window: Window<'a>, at: usize, gaps: &'a [Gap]) -> Self {
        let mut gaps = gaps.iter();
        let gap = gaps.next();
        Self {
            window,
            at,
            gaps,
            gap,
        }
    }

    /// Behind the last record.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next record.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<RawRecord<'_>> {
        let (begin, n_words) = loop {
            if let Some(gap) = self.gap.filter(|gap| gap.at <= self.at) {
                self.at = self.at.max(gap.at + gap.n_words);
                self.gap = self.gaps.next();
                continue;
            }
            let begin = self.at;
            let words = self.window.from(begin, MAX_RECORD_WORDS);
            if let Some(record) = record(words) {
                self.at = begin + record.len();
                break (begin, record.len());
            }
            // Every entry is whole: the scan saw it. `max` keeps a file that was changed meanwhile from looping.
            self.at += word::n_words(*words.first()?).max(1);
        };
        Some(RawRecord {
            n_words,
            words: self.window.from(begin, n_words),
        })
    }
}
