//! Finds the entries of a log, and resynchronises after damage.
//!
//! A log is a sequence of entries without an index: the first word of each gives its type and length. [`scan`] walks
//! from entry to entry, checks each, and collects definitions, the number of records and the gaps. At a word that
//! starts no intact entry, it searches word by word for the next intact entry that is followed by another one, or by
//! the end; the words in between become a [`Gap`]. Records of one call path often follow one another, so the walk tests
//! a whole series with one comparison per record ([`RawSeries`]). Later reading ([`RawRecords`]) skips the known gaps.
//!
//! ```text
//! word    0            12       16       20       24       28
//!         definition   record   record   ######   record   record
//!         12 words     4        4        gap 4    4        4
//! ```

use std::collections::BTreeMap;

use cca_abi::recording::word::{self, EntryKind, MAX_RECORD_WORDS};

use crate::definition::Definition;
use crate::definitions::Definitions;
use crate::path_totals::PathTotals;
use crate::source::Window;

/// Consecutive words that contain no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) at: usize,
    pub(crate) n_words: usize,
}

/// Result of a scan.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) n_records: u64,
    pub(crate) n_entries: u64,
    /// Position after the last entry.
    pub(crate) end: usize,
    pub(crate) gaps: Vec<Gap>,
    /// Call path and start of the last record.
    pub(crate) last: Option<(u32, u64)>,
    /// Number of records that cannot be interpreted, by call path.
    pub(crate) undefined: BTreeMap<u32, u64>,
    /// Number of records with more time in MPI than wall time.
    pub(crate) n_excess: u64,
    /// Sums over the records, if they were requested.
    pub(crate) totals: Option<PathTotals>,
}

impl Scanned {
    #[inline(always)]
    fn add_series(&mut self, series: &RawSeries<'_>, definitions: &Definitions) {
        let n_records = series.n_records as u64;
        self.n_entries += n_records;
        let path = word::path(series.words[0]);
        let last = (series.n_records - 1) * series.n_words;
        self.last = Some((path, series.words[last + 1]));
        if let Some(totals) = &mut self.totals {
            totals.add(*series, definitions);
        }
        if definitions.shape(path).fits(series.n_words) {
            self.n_records += n_records;
            if series.words[0] & word::MPI_MEASURED != 0 {
                let is_excess = |record: &&[u64]| record[3] > record[2];
                self.n_excess += series.records().filter(is_excess).count() as u64;
            }
        } else {
            *self.undefined.entry(path).or_default() += n_records;
        }
    }
}

/// Reads definitions and checks every entry.
///
/// # Arguments
/// * `window` - the window on the entries
/// * `at` - position of the first entry
/// * `definitions` - receives the definitions
pub(crate) fn scan(window: &mut Window<'_>, at: usize, definitions: &mut Definitions) -> Scanned {
    let scanned = Scanned::default();
    walk(window, at, usize::MAX, definitions, scanned)
}

/// As [`scan`]; also sums up the records, unless a second reading could find other sums: if some words are no entry, or
/// if a definition changed how earlier records are read.
pub(crate) fn scan_and_sum(
    window: &mut Window<'_>,
    at: usize,
    definitions: &mut Definitions,
) -> Scanned {
    let scanned = Scanned {
        totals: Some(PathTotals::default()),
        ..Scanned::default()
    };
    let mut scanned = walk(window, at, usize::MAX, definitions, scanned);
    let is_whole = scanned.gaps.is_empty() && scanned.undefined.is_empty();
    if !is_whole || definitions.revise_records() {
        scanned.totals = None;
    }
    scanned
}

/// As [`scan`], for the first entries only.
///
/// # Arguments
/// * `until` - approximate position of the last entry: entries in memory with it are scanned too
pub(crate) fn scan_until(
    window: &mut Window<'_>,
    at: usize,
    until: usize,
    definitions: &mut Definitions,
) -> Scanned {
    walk(window, at, until, definitions, Scanned::default())
}

fn walk(
    window: &mut Window<'_>,
    mut at: usize,
    until: usize,
    definitions: &mut Definitions,
    mut scanned: Scanned,
) -> Scanned {
    scanned.end = at;
    while at < window.end().min(until) {
        let words = window.from(at, MAX_RECORD_WORDS);
        let mut n_words = 0;
        while let Some(records) = series(&words[n_words..]) {
            scanned.add_series(&records, definitions);
            n_words += records.n_words * records.n_records;
        }
        if n_words == 0 {
            let entry = entry(window, at, |whole| definitions.add_entry(whole));
            n_words = match entry {
                Some(n_words) => n_words,
                None => {
                    let next = next_entry(window, at + 1);
                    let n_words = next.min(window.end()).saturating_sub(at);
                    if n_words == 0 {
                        // The file was truncated here.
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

/// The record at the beginning of `words`, if it is intact.
#[inline(always)]
fn record(words: &[u64]) -> Option<&[u64]> {
    let head = *words.first()?;
    if word::kind(head) != Some(EntryKind::Record) {
        return None;
    }
    let whole = words.get(..word::n_words(head))?;
    (whole.len() >= word::HEAD_WORDS && word::is_intact(whole)).then_some(whole)
}

/// Consecutive intact records with equal first words, apart from the check: they share call path, length and outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSeries<'w> {
    /// Words of a record.
    pub(crate) n_words: usize,
    pub(crate) n_records: usize,
    /// Shape `[n_records][n_words]`, followed by other words in memory.
    pub(crate) words: &'w [u64],
}

impl<'w> RawSeries<'w> {
    /// The words of each record.
    #[inline(always)]
    pub(crate) fn records(&self) -> std::slice::ChunksExact<'w, u64> {
        self.words[..self.n_records * self.n_words].chunks_exact(self.n_words)
    }
}

/// Bits of the check in the first word.
const CHECK: u64 = 0xFFFF << 48;

/// The like records at the beginning of `words`, if the first one is intact.
#[inline(always)]
fn series(words: &[u64]) -> Option<RawSeries<'_>> {
    let n_words = record(words)?.len();
    let head = words[0] & !CHECK;
    // The first word, with the check computed from the other words.
    let is_alike = |record: &[u64]| {
        let xor = record[1..].iter().fold(head, |xor, word| xor ^ word);
        record[0] == head | word::folded(xor)
    };
    // Lengths known to the compiler halve the time.
    let n_records = match n_words {
        4 => n_leading(words.as_chunks::<4>().0, |record| is_alike(record)),
        5 => n_leading(words.as_chunks::<5>().0, |record| is_alike(record)),
        6 => n_leading(words.as_chunks::<6>().0, |record| is_alike(record)),
        7 => n_leading(words.as_chunks::<7>().0, |record| is_alike(record)),
        8 => n_leading(words.as_chunks::<8>().0, |record| is_alike(record)),
        _ => n_leading(words.chunks_exact(n_words), is_alike),
    };
    Some(RawSeries {
        n_words,
        n_records,
        words,
    })
}

/// Number of leading items that satisfy the condition.
#[inline(always)]
fn n_leading<T: Copy>(items: impl IntoIterator<Item = T>, is_so: impl Fn(T) -> bool) -> usize {
    items.into_iter().take_while(|item| is_so(*item)).count()
}

/// Number of words of the entry at a position, if it is intact and not a record.
///
/// # Arguments
/// * `define` - receives a definition; returns `None` if it is invalid
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

/// The definition of a complete entry, unless it is damaged.
pub(crate) fn definition(whole: &[u64]) -> Option<Definition> {
    let sum = *whole.get(1)?;
    let (n_bytes, crc) = ((sum & 0xFFFF_FFFF) as usize, (sum >> 32) as u32);
    let bytes: &[u8] = bytemuck::cast_slice(&whole[2..]);
    let payload = bytes
        .get(..n_bytes)
        .filter(|payload| crc32fast::hash(payload) == crc)?;
    serde_json::from_slice(payload).ok()
}

/// Position of the next entry that is followed by another one, or by the end.
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

/// The intact records of a scanned log. They are checked again, since the file may have changed.
#[derive(Debug)]
pub(crate) struct RawRecords<'a> {
    window: Window<'a>,
    at: usize,
    gaps: std::slice::Iter<'a, Gap>,
    /// The next gap.
    gap: Option<&'a Gap>,
}

/// A record, and the words after it in memory.
pub(crate) struct RawRecord<'w> {
    pub(crate) n_words: usize,
    pub(crate) words: &'w [u64],
}

impl<'a> RawRecords<'a> {
    /// # Arguments
    /// * `at` - position of the first entry
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

    /// The position after the last record.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next record.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<RawRecord<'_>> {
        let (begin, n_words) = self.find(|words, _| record(words).map(<[u64]>::len))?;
        self.at = begin + n_words;
        Some(RawRecord {
            n_words,
            words: self.window.from(begin, n_words),
        })
    }

    /// The next like records that are in memory.
    #[inline(always)]
    pub(crate) fn next_series(&mut self) -> Option<RawSeries<'_>> {
        let of_series = |words: &[u64], most| {
            let found = series(&words[..words.len().min(most)])?;
            Some((found.n_words, found.n_records))
        };
        let (begin, (n_words, n_records)) = self.find(of_series)?;
        self.at = begin + n_words * n_records;
        Some(self.latest(n_words, n_records))
    }

    /// The series returned last.
    #[inline(always)]
    pub(crate) fn latest(&mut self, n_words: usize, n_records: usize) -> RawSeries<'_> {
        let n_all = n_words * n_records;
        RawSeries {
            n_words,
            n_records,
            words: self.window.from(self.at - n_all, n_all),
        }
    }

    /// Advances to the next record.
    ///
    /// # Arguments
    /// * `record` - extracts the result; receives the words from there on, and their number before the next gap
    ///
    /// # Returns
    /// Its position, and the extracted result.
    #[inline(always)]
    fn find<R>(&mut self, record: impl Fn(&[u64], usize) -> Option<R>) -> Option<(usize, R)> {
        loop {
            if let Some(gap) = self.gap.filter(|gap| gap.at <= self.at) {
                self.at = self.at.max(gap.at + gap.n_words);
                self.gap = self.gaps.next();
                continue;
            }
            let most = self.gap.map_or(usize::MAX, |gap| gap.at - self.at);
            let words = self.window.from(self.at, MAX_RECORD_WORDS);
            if let Some(found) = record(words, most) {
                return Some((self.at, found));
            }
            // Every entry is complete, since it was scanned. If the file was changed meanwhile, `max` prevents an
            // endless loop.
            self.at += word::n_words(*words.first()?).max(1);
        }
    }
}
