//! Encodes a block of a log's words as columns.
//!
//! The encoder separates records from the other words. Records with equal first words, apart from the check, form a
//! group with one column per word; the decoder recomputes the check. Words that are not an intact record are stored
//! unchanged, so a damaged log is restored exactly.
//!
//! ```text
//! parts        number, then for each: its type and length
//! other words  LZ4 block: all words except records, definitions and zeros
//! groups       number, then for each: first word, number of records, which of two times, one column per word
//! order        column: the group of each record, if there are several groups
//! ```
//!
//! Of a record's start and end, only the one nearer to the end of the previous record is stored: a call without inner
//! calls begins soon after it, and any other call ends soon after it.

use std::collections::HashMap;

use cca_abi::recording::word::{self, EntryKind, HEAD_WORDS, MAX_RECORD_WORDS};

use super::columns::{
    Bytes, folded, n_bits_of, put_column, put_compressed, put_number, read_column, unfolded,
};
use super::definitions::Dictionary;

/// Words of a block, excluding its last entry. They fit with their columns into a core's second-level cache.
pub(super) const BLOCK_WORDS: usize = 1 << 14;
/// Maximum words of a block, so that a damaged number does not take memory.
pub(super) const MAX_BLOCK_WORDS: usize = 1 << 20;
/// Maximum words of a definition that is stored separately; a longer one is stored as other words.
const MAX_DEFINITION_WORDS: usize = MAX_BLOCK_WORDS / 2;
/// Minimum number of consecutive zeros that form a part. Arbitrary: a part takes two or three bytes.
const MIN_ZEROS: usize = 8;

const CHECK: u64 = 0xFFFF << 48;

/// Type of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Records,
    Words,
    Zeros,
    /// The number is that of the definition, whose words follow.
    Definition,
}

/// A part of a block.
pub(super) struct Part {
    pub(super) sort: Sort,
    /// Number of records, words or zeros; the number of a definition.
    pub(super) n: usize,
    /// Words of a definition.
    pub(super) n_words: usize,
}

/// Reads the list of parts.
///
/// # Arguments
/// * `most` - words of the block
pub(super) fn parts(bytes: &mut Bytes<'_>, most: usize) -> Option<Vec<Part>> {
    let n_parts = bytes.size()?;
    if n_parts > most {
        return None;
    }
    let mut parts = Vec::with_capacity(n_parts);
    for _ in 0..n_parts {
        let part = bytes.number()?;
        let sort = SORTS[(part & 3) as usize];
        let n = usize::try_from(part >> 2).ok()?;
        let n_words = match sort {
            Sort::Definition => bytes.size()?,
            _ => 0,
        };
        parts.push(Part { sort, n, n_words });
    }
    Some(parts)
}

const SORTS: [Sort; 4] = [Sort::Records, Sort::Words, Sort::Zeros, Sort::Definition];

/// Records with equal first words.
#[derive(Debug, Default)]
struct Group {
    head: u64,
    /// Starts, relative to the end of the previous record.
    starts: Vec<u64>,
    /// Ends, likewise.
    ends: Vec<u64>,
    /// One column for each further word, from the wall time on.
    columns: Vec<Vec<u64>>,
}

/// Encodes blocks.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    parts: Vec<(Sort, u64, u64)>,
    words: Vec<u8>,
    groups: Vec<Group>,
    places: HashMap<u64, usize, foldhash::fast::FixedState>,
    order: Vec<u64>,
    end: u64,
}

/// Words of padding that continue from the previous block: they contain no entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PaddingLeft(usize);

impl PaddingLeft {
    /// Treats no word as an entry.
    pub(super) fn all() -> Self {
        Self(usize::MAX)
    }
}

impl Encoder {
    /// Packs the first words.
    ///
    /// # Arguments
    /// * `words` - from the beginning of an entry, or from the end of the previous block
    /// * `is_all` - whether these are the last words; otherwise, an incomplete entry at the end stays unpacked
    /// * `padding` - of the previous block; receives that of this one
    /// * `definition` - receives a definition and its end, returns its number
    ///
    /// # Returns
    /// Number of packed words, and the block; 0 words if more are needed.
    pub(super) fn pack(
        mut self,
        words: &[u64],
        is_all: bool,
        padding: &mut PaddingLeft,
        mut definition: impl FnMut(usize, &[u64]) -> u32,
    ) -> (usize, Vec<u8>) {
        let mut at = 0;
        while at < words.len() && at < BLOCK_WORDS {
            let rest = &words[at..];
            let n_words = word::n_words(rest[0]);
            let kind = match padding.0 {
                0 => word::kind(rest[0]),
                _ => None,
            };
            let before = at;
            match kind {
                _ if rest[0] == 0 => {
                    let n_zeros = rest.iter().take_while(|word| **word == 0).count();
                    let most = match padding.0 {
                        0 => MAX_BLOCK_WORDS / 4,
                        left => left.min(MAX_BLOCK_WORDS / 4),
                    };
                    let n_zeros = n_zeros.min(most);
                    match n_zeros < MIN_ZEROS {
                        true => self.add_words(&rest[..n_zeros]),
                        false => self.add_part(Sort::Zeros, n_zeros as u64),
                    }
                    at += n_zeros;
                }
                Some(EntryKind::Record)
                    if rest.len() < MAX_RECORD_WORDS && n_words > rest.len() && !is_all =>
                {
                    break;
                }
                Some(EntryKind::Record) if is_record(rest, n_words) => {
                    self.add_record(&rest[..n_words]);
                    at += n_words;
                }
                Some(EntryKind::Definition)
                    if word::is_intact(&rest[..1])
                        && (2..MAX_DEFINITION_WORDS).contains(&n_words) =>
                {
                    match rest.get(..n_words) {
                        Some(whole) => {
                            let number = definition(at + n_words, whole);
                            self.parts
                                .push((Sort::Definition, number.into(), n_words as u64));
                            at += n_words;
                        }
                        None if !is_all => break,
                        None => {
                            self.add_words(&rest[..1]);
                            at += 1;
                        }
                    }
                }
                Some(EntryKind::Padding) if word::is_intact(&rest[..1]) && n_words > 0 => {
                    self.add_words(&rest[..1]);
                    at += 1;
                    padding.0 = n_words;
                }
                _ => {
                    self.add_words(&rest[..1]);
                    at += 1;
                }
            }
            padding.0 = padding.0.saturating_sub(at - before);
        }
        (at, self.finish())
    }

    fn add_part(&mut self, sort: Sort, n: u64) {
        match self.parts.last_mut() {
            Some((last, so_far, _)) if *last == sort => *so_far += n,
            _ => self.parts.push((sort, n, 0)),
        }
    }

    fn add_words(&mut self, words: &[u64]) {
        self.add_part(Sort::Words, words.len() as u64);
        words
            .iter()
            .for_each(|word| self.words.extend_from_slice(&word.to_le_bytes()));
    }

    fn add_record(&mut self, record: &[u64]) {
        self.add_part(Sort::Records, 1);
        let head = record[0] & !CHECK;
        let groups = &mut self.groups;
        let place = *self.places.entry(head).or_insert_with(|| {
            groups.push(Group {
                head,
                columns: vec![Vec::new(); record.len() - 2],
                ..Group::default()
            });
            groups.len() - 1
        });
        self.order.push(place as u64);
        let group = &mut self.groups[place];
        let end = record[1].wrapping_add(record[2]);
        group.starts.push(folded(record[1].wrapping_sub(self.end)));
        group.ends.push(folded(end.wrapping_sub(self.end)));
        self.end = end;
        for (column, word) in group.columns.iter_mut().zip(&record[2..]) {
            column.push(*word);
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut block = Vec::new();
        put_number(self.parts.len() as u64, &mut block);
        for (sort, n, n_words) in &self.parts {
            put_number(n << 2 | *sort as u64, &mut block);
            if *sort == Sort::Definition {
                put_number(*n_words, &mut block);
            }
        }
        put_compressed(&self.words, &mut block);
        put_number(self.groups.len() as u64, &mut block);
        for group in &self.groups {
            put_number(group.head, &mut block);
            put_number(group.starts.len() as u64, &mut block);
            let by_end = n_bits_of(&group.ends) < n_bits_of(&group.starts);
            block.push(by_end.into());
            put_column(if by_end { &group.ends } else { &group.starts }, &mut block);
            for column in &group.columns {
                put_column(column, &mut block);
            }
        }
        if self.groups.len() > 1 {
            put_column(&self.order, &mut block);
        }
        block
    }
}

fn is_record(words: &[u64], n_words: usize) -> bool {
    let record = words.get(..n_words);
    record.is_some_and(|record| record.len() >= HEAD_WORDS && word::is_intact(record))
}

/// Position of a group's columns among all columns.
#[derive(Debug)]
struct Columns {
    head: u64,
    n_words: usize,
    n_records: usize,
    by_end: bool,
    first: usize,
    n_given: usize,
}

/// Decodes blocks; reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    values: Vec<u64>,
    groups: Vec<Columns>,
    order: Vec<u64>,
}

impl Decoder {
    /// Unpacks a block.
    ///
    /// # Arguments
    /// * `definitions` - if `None`, definitions are replaced by padding of the same length, for callers that have read
    ///   them
    /// * `words` - receives the words; its length is that of the block
    ///
    /// # Returns
    /// `None` if the bytes are not a block of that many words.
    pub(super) fn unpack(
        &mut self,
        block: &[u8],
        definitions: Option<&Dictionary>,
        words: &mut [u64],
    ) -> Option<()> {
        let mut bytes = Bytes(block);
        let parts = parts(&mut bytes, words.len())?;
        let mut n_others = 0_usize;
        let mut n_records = 0_usize;
        for Part { sort, n, .. } in &parts {
            match sort {
                Sort::Words => n_others = n_others.checked_add(*n)?,
                Sort::Records => n_records = n_records.checked_add(*n)?,
                Sort::Zeros | Sort::Definition => {}
            }
        }
        if n_others > words.len() || n_records > words.len() {
            return None;
        }
        let others = bytes.compressed(8 * n_others)?;
        let (mut others, _) = others.as_chunks::<8>();
        self.read_groups(&mut bytes, n_records, words.len())?;
        if !bytes.0.is_empty() {
            return None;
        }
        let mut rest = words;
        let (mut end, mut next) = (0, 0);
        for Part { sort, n, n_words } in parts {
            match sort {
                Sort::Zeros => rest.split_off_mut(..n)?.fill(0),
                Sort::Words => {
                    let taken = others.split_off(..n)?;
                    for (word, bytes) in rest.split_off_mut(..n)?.iter_mut().zip(taken) {
                        *word = u64::from_le_bytes(*bytes);
                    }
                }
                Sort::Definition => {
                    let into = rest.split_off_mut(..n_words)?;
                    match definitions {
                        Some(definitions) => into.copy_from_slice(
                            definitions.get(n).filter(|found| found.len() == n_words)?,
                        ),
                        None => {
                            into.fill(0);
                            let n_words = u32::try_from(n_words).ok()?;
                            *into.first_mut()? = word::other(EntryKind::Padding, n_words);
                        }
                    }
                }
                Sort::Records => {
                    let whole = match self.groups.as_mut_slice() {
                        [group] => give_alike(&self.values, group, n, &mut end, rest)?,
                        groups => {
                            let order = self.order.get(next..next + n)?;
                            give_records(&self.values, groups, order, &mut end, rest)?
                        }
                    };
                    next += n;
                    rest = whole;
                }
            }
        }
        rest.is_empty().then_some(())
    }

    fn read_groups(
        &mut self,
        bytes: &mut Bytes<'_>,
        n_records: usize,
        most_words: usize,
    ) -> Option<()> {
        let n_groups = bytes.size()?;
        if n_groups > n_records || (n_groups == 0 && n_records > 0) {
            return None;
        }
        self.groups.clear();
        let (mut n_values, mut n_grouped) = (0, 0_usize);
        for _ in 0..n_groups {
            let head = bytes.number()?;
            let of_group = bytes.size()?;
            let by_end = bytes.take(1)? == [1];
            let n_words = word::n_words(head);
            n_grouped = n_grouped.checked_add(of_group)?;
            let is_record = word::kind(head) == Some(EntryKind::Record) && head & CHECK == 0;
            if !is_record || n_words < HEAD_WORDS || n_grouped > n_records {
                return None;
            }
            let first = n_values;
            n_values += of_group.checked_mul(n_words - 1)?;
            if n_values > most_words {
                return None;
            }
            if self.values.len() < n_values {
                self.values.resize(n_values, 0);
            }
            for place in 0..n_words - 1 {
                let begin = first + place * of_group;
                read_column(bytes, &mut self.values[begin..begin + of_group])?;
            }
            self.groups.push(Columns {
                head,
                n_words,
                n_records: of_group,
                by_end,
                first,
                n_given: 0,
            });
        }
        if n_groups <= 1 {
            return Some(());
        }
        self.order.resize(n_records, 0);
        read_column(bytes, &mut self.order)
    }
}

/// Moves the next records of the only group to their positions.
///
/// # Arguments
/// * `n` - number of records
/// * `end` - end of the previous record
///
/// # Returns
/// The words after them.
fn give_alike<'w>(
    values: &[u64],
    group: &mut Columns,
    n: usize,
    end: &mut u64,
    words: &'w mut [u64],
) -> Option<&'w mut [u64]> {
    if n > group.n_records - group.n_given {
        return None;
    }
    let (records, rest) = words.split_at_mut_checked(n.checked_mul(group.n_words)?)?;
    let values = values.get(group.first + group.n_given..)?;
    group.n_given += n;
    // Lengths known to the compiler halve the time.
    match group.n_words {
        4 => give::<4>(values, group, end, records.as_chunks_mut().0)?,
        5 => give::<5>(values, group, end, records.as_chunks_mut().0)?,
        6 => give::<6>(values, group, end, records.as_chunks_mut().0)?,
        7 => give::<7>(values, group, end, records.as_chunks_mut().0)?,
        8 => give::<8>(values, group, end, records.as_chunks_mut().0)?,
        n_words => {
            for (row, record) in records.chunks_exact_mut(n_words).enumerate() {
                let mut place = row;
                let time = *values.get(place)?;
                for word in &mut record[2..] {
                    place += group.n_records;
                    *word = *values.get(place)?;
                }
                complete(record, group, time, end);
            }
        }
    }
    Some(rest)
}

/// As [`give_alike`], for records of `N` words.
///
/// # Arguments
/// * `values` - from the next record's time on
fn give<const N: usize>(
    values: &[u64],
    group: &Columns,
    end: &mut u64,
    records: &mut [[u64; N]],
) -> Option<()> {
    let n = records.len();
    // The times, then a column for each word from the wall time on.
    let mut columns = [&values[..0]; N];
    for (place, column) in columns[1..].iter_mut().enumerate() {
        *column = values.get(place * group.n_records..)?.get(..n)?;
    }
    for (row, record) in records.iter_mut().enumerate() {
        for (word, column) in record[2..].iter_mut().zip(&columns[2..]) {
            *word = column[row];
        }
        complete(record, group, columns[1][row], end);
    }
    Some(())
}

/// Sets the start and the first word of a record.
///
/// # Arguments
/// * `time` - its start or end, relative to the end of the previous record
/// * `end` - end of the previous record; receives that of this one
#[inline(always)]
fn complete(record: &mut [u64], group: &Columns, time: u64, end: &mut u64) {
    let time = unfolded(time).wrapping_add(*end);
    let wall = record[2];
    record[1] = match group.by_end {
        true => time.wrapping_sub(wall),
        false => time,
    };
    *end = record[1].wrapping_add(wall);
    let xor = record[1..].iter().fold(group.head, |xor, word| xor ^ word);
    record[0] = group.head | word::folded(xor);
}

/// Moves records of several groups to their positions.
///
/// # Arguments
/// * `order` - the group of each
/// * `end` - end of the previous record
///
/// # Returns
/// The words after them.
fn give_records<'w>(
    values: &[u64],
    groups: &mut [Columns],
    order: &[u64],
    end: &mut u64,
    mut words: &'w mut [u64],
) -> Option<&'w mut [u64]> {
    for group in order {
        let group = groups.get_mut(usize::try_from(*group).ok()?)?;
        if group.n_given == group.n_records {
            return None;
        }
        let (record, rest) = words.split_at_mut_checked(group.n_words)?;
        let mut place = group.first + group.n_given;
        group.n_given += 1;
        let time = *values.get(place)?;
        for word in &mut record[2..] {
            place += group.n_records;
            *word = *values.get(place)?;
        }
        complete(record, group, time, end);
        words = rest;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::super::sums::sum_up;
    use super::*;
    use proptest::prelude::*;

    /// A record with a correct check.
    fn record(path: u32, flags: u64, values: &[u64]) -> Vec<u64> {
        let head = word::record(path, values.len() + 1, flags);
        let xor = values.iter().fold(head, |xor, value| xor ^ value);
        let mut record = vec![head | word::folded(xor)];
        record.extend_from_slice(values);
        record
    }

    fn entry() -> impl Strategy<Value = Vec<u64>> {
        let values = prop::collection::vec(prop_oneof![any::<u64>(), 0..50_u64], 3..8);
        let flags = prop_oneof![Just(0), Just(word::FAILED), Just(word::MPI_MEASURED)];
        prop_oneof![
            8 => (0..5_u32, flags, values).prop_map(|(path, flags, values)| record(path, flags, &values)),
            1 => prop::collection::vec(any::<u64>(), 0..9),
            1 => (0..40_usize).prop_map(|n| vec![0; n]),
            1 => prop::collection::vec(any::<u64>(), 1..9).prop_map(|mut words| {
                words.insert(0, word::other(EntryKind::Definition, words.len() as u32 + 1));
                words
            }),
        ]
    }

    proptest! {
        #[test]
        fn any_words_are_unpacked_as_they_were(entries in prop::collection::vec(entry(), 0..60)) {
            let words = entries.concat();
            let mut dictionary = Dictionary::default();
            let (n_packed, block) = Encoder::default().pack(&words, true, &mut PaddingLeft::default(), |_, whole| dictionary.add(whole));
            prop_assert_eq!(n_packed, words.len());
            let mut unpacked = vec![7; words.len()];
            let mut decoder = Decoder::default();
            prop_assert!(decoder.unpack(&block, Some(&dictionary), &mut unpacked).is_some());
            prop_assert_eq!(&unpacked, &words);
            // A block of another number of words is rejected.
            let mut longer = vec![7; words.len() + 1];
            prop_assert!(decoder.unpack(&block, Some(&dictionary), &mut longer).is_none());
        }

        #[test]
        fn any_bytes_are_a_block_or_none(
            entries in prop::collection::vec(entry(), 0..20),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        ) {
            let words = entries.concat();
            let mut dictionary = Dictionary::default();
            let (_, mut block) = Encoder::default().pack(&words, true, &mut PaddingLeft::default(), |_, whole| dictionary.add(whole));
            for (at, flip) in flips {
                let at = at.index(block.len());
                block[at] ^= flip;
            }
            let _ = Decoder::default().unpack(&block, Some(&dictionary), &mut vec![7; words.len()]);
            let _ = Decoder::default().unpack(&block, None, &mut vec![7; words.len()]);
        }
    }

    proptest! {
        /// Sums without unpacking are those of the records, or are refused.
        #[test]
        fn sums_of_a_block_are_those_of_its_records(entries in prop::collection::vec(entry(), 0..60), only_records in any::<bool>()) {
            let is_record = |words: &Vec<u64>| word::kind(words[0]) == Some(EntryKind::Record) && is_record(words, words.len());
            let entries = entries.into_iter().filter(|words| !words.is_empty() && (!only_records || is_record(words)));
            let entries: Vec<_> = entries.collect();
            let words = entries.concat();
            let (_, block) = Encoder::default().pack(&words, true, &mut PaddingLeft::default(), |_, _| 0);
            let (mut values, mut sums) = (Vec::new(), Vec::new());
            let summed = sum_up(&block, words.len(), |_| true, &mut values, &mut sums);
            prop_assert!(summed.is_some() || !only_records);
            if summed.is_some() {
                for sums in &sums {
                    let alike = entries.iter().filter(|words| is_record(words) && words[0] & !CHECK == sums.head);
                    let column = |place: usize| alike.clone().fold(0, |sum: u64, words| sum.saturating_add(words[place]));
                    prop_assert_eq!((sums.n_records, sums.wall_ticks), (alike.clone().count() as u64, column(2)));
                    let is_measured = sums.head & word::MPI_MEASURED != 0;
                    prop_assert_eq!(sums.mpi_ticks, is_measured.then(|| column(3)));
                }
                let n_summed: u64 = sums.iter().map(|sums| sums.n_records).sum();
                prop_assert_eq!(n_summed as usize, entries.iter().filter(|words| is_record(words)).count());
                prop_assert!(sum_up(&block, words.len() + 1, |_| true, &mut values, &mut sums).is_none());
            }
        }

        #[test]
        fn any_bytes_are_summed_or_refused(
            entries in prop::collection::vec(entry(), 0..20),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        ) {
            let words = entries.concat();
            let (_, mut block) = Encoder::default().pack(&words, true, &mut PaddingLeft::default(), |_, _| 0);
            for (at, flip) in flips {
                let at = at.index(block.len());
                block[at] ^= flip;
            }
            let _ = sum_up(&block, words.len(), |_| true, &mut Vec::new(), &mut Vec::new());
        }
    }

    #[test]
    fn what_goes_on_behind_the_words_is_left() {
        let whole = record(1, 0, &[5, 6, 7]);
        let mut words = whole.clone();
        words.extend_from_slice(&whole[..2]);
        let (n_packed, _) =
            Encoder::default().pack(&words, false, &mut PaddingLeft::default(), |_, _| 0);
        assert_eq!(n_packed, whole.len());
    }
}
