//! Sums over calls that have no record.
//!
//! When a log takes no more records, its thread continues to record into a small part of the header. Whenever that part
//! is full, its calls are summed up by call path and class of size, and it is used again. Totals thus stay exact, and a
//! call costs no more than a record did. The sums are in the header and are updated in place, so the log of a killed
//! run has them too.
//!
//! ```text
//! word 0    call path (bits 0-31) | words of the entry (32-39) | ALL_SIZES (43) | flags of the record (44, 45)
//!      1    class of size; 0 for all sizes
//!      2    calls
//!      3    wall time, clock ticks
//!      4    time in MPI, clock ticks
//!      5…   sum of each parameter, as f64
//! ```
//!
//! Calls belong to one class if corresponding parameters share sign, exponent and the first two bits of the fraction (a
//! width of a fifth); for enumerations, if they are equal. If the header has no room for another class, calls are added
//! to the sum over all sizes of their path.

use std::collections::HashMap;

use cca_abi::recording::word::{self, EntryKind};

use crate::definition::{MethodDefinition, ParameterKind};
use crate::definitions::Definitions;
use crate::layout::{HEADER_BYTES, PAGE_BYTES};

const WORD: usize = size_of::<u64>();
/// Number of words for sums.
pub(crate) const TOTALS_WORDS: usize = 7 * PAGE_BYTES / WORD;
/// Maximum number of words for classes of size; the rest is for sums over all sizes.
const CLASS_WORDS: usize = TOTALS_WORDS / 3 * 2;
/// Number of words in which calls without a record are recorded until they are summed up.
pub(crate) const SCRATCH_WORDS: usize = 8 * PAGE_BYTES / WORD;
/// Position of the sums in the file, bytes.
pub(crate) const TOTALS_AT: usize = PAGE_BYTES;
/// Position of these words in the file, bytes.
pub(crate) const SCRATCH_AT: usize = TOTALS_AT + TOTALS_WORDS * WORD;

const _: () = assert!(SCRATCH_AT + SCRATCH_WORDS * WORD == HEADER_BYTES);

/// Offset of a log's committed count after records have stopped; the bytes of used scratch words are added. No log is
/// this long.
pub(crate) const STOPPED: u64 = 1 << 62;

/// Number of words before the sums of parameters.
const HEAD_WORDS: usize = 5;
/// Mark of a sum over all sizes.
const ALL_SIZES: u64 = 1 << 43;
/// Flags that a sum takes over from its records.
const FLAGS: u64 = word::FAILED | word::MPI_MEASURED;

/// Calls of one path and class of size without a record.
#[derive(Clone, Debug, PartialEq)]
pub struct UnrecordedCalls {
    /// The call path; 0 if not even that is known.
    pub call_path: u32,
    /// Whether they failed.
    pub failed: bool,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their wall times, clock ticks.
    pub wall_ticks: u64,
    /// Sum of their times in MPI, clock ticks; `None` if it was not measured.
    pub mpi_ticks: Option<u64>,
    /// Mean of each parameter; `None` if the calls are not of one class of size.
    pub means: Option<Vec<f64>>,
}

/// A number's class: its sign, exponent and first two bits of the fraction.
fn class_of_number(value: f64) -> u64 {
    value.to_bits() >> 50
}

fn number(word: u64, kind: ParameterKind) -> f64 {
    match kind {
        ParameterKind::Integer => word.cast_signed() as f64,
        ParameterKind::Real => f64::from_bits(word),
        ParameterKind::Enumeration => word as f64,
    }
}

/// The class of size of a call; never 0.
fn class(values: &[u64], method: &MethodDefinition) -> u64 {
    let parameters = method.parameters.iter().zip(values);
    let hash = parameters.fold(1, |hash: u64, (parameter, value)| {
        let class = match parameter.kind {
            ParameterKind::Enumeration => *value,
            kind => class_of_number(number(*value, kind)),
        };
        // 2⁶⁴ divided by the golden ratio.
        (hash.rotate_left(23) ^ class).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    hash | 1
}

/// The sums of one log, and their positions in its words.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    n_words: usize,
    /// Position of an entry, by its first two words.
    places: HashMap<(u64, u64), usize>,
}

impl Totals {
    /// Finds the sums that are in the words already.
    fn of(words: &[u64]) -> Self {
        let mut totals = Self::default();
        while let [head, class, ..] = words[totals.n_words..] {
            let n_words = (head >> 32 & 0xFF) as usize;
            if n_words < HEAD_WORDS || totals.n_words + n_words > words.len() {
                break;
            }
            totals.places.insert((head, class), totals.n_words);
            totals.n_words += n_words;
        }
        totals
    }

    /// Adds a call.
    ///
    /// # Arguments
    /// * `words` - the words of the sums
    /// * `record` - the record of the call
    /// * `method` - the called method
    ///
    /// # Returns
    /// Whether there was room for the call.
    pub(crate) fn add(
        &mut self,
        words: &mut [u64],
        record: &[u64],
        method: &MethodDefinition,
    ) -> bool {
        let n_parameters = method.parameters.len().min(record.len() - word::HEAD_WORDS);
        let values = &record[word::HEAD_WORDS..][..n_parameters];
        let entry = UnrecordedCalls {
            call_path: word::path(record[0]),
            failed: record[0] & word::FAILED != 0,
            calls: 1,
            wall_ticks: record[2],
            mpi_ticks: (record[0] & word::MPI_MEASURED != 0).then_some(record[3]),
            means: None,
        };
        let numbers = || {
            let kinds = method.parameters.iter().map(|parameter| parameter.kind);
            values
                .iter()
                .zip(kinds)
                .map(|(word, kind)| number(*word, kind))
        };
        let class = class(values, method);
        match self.place(words, &entry, class, n_parameters) {
            Some(place) => {
                add_to(&mut words[place..], &entry, numbers());
                true
            }
            None => self.add_of_all_sizes(words, &entry),
        }
    }

    /// Adds calls of unknown sizes.
    pub(crate) fn add_of_all_sizes(&mut self, words: &mut [u64], calls: &UnrecordedCalls) -> bool {
        let place = self.place(words, calls, 0, 0);
        if let Some(place) = place {
            add_to(&mut words[place..], calls, std::iter::empty());
        }
        place.is_some()
    }

    /// Position of the sum of a class, which is created if there is room.
    fn place(
        &mut self,
        words: &mut [u64],
        calls: &UnrecordedCalls,
        class: u64,
        n_parameters: usize,
    ) -> Option<usize> {
        let n_words = HEAD_WORDS + n_parameters;
        let limit = if class == 0 { words.len() } else { CLASS_WORDS };
        let head = u64::from(calls.call_path)
            | ((n_words as u64) << 32)
            | (u64::from(class == 0) * ALL_SIZES)
            | (u64::from(calls.failed) * word::FAILED)
            | (u64::from(calls.mpi_ticks.is_some()) * word::MPI_MEASURED);
        if let Some(place) = self.places.get(&(head, class)) {
            return Some(*place);
        }
        let place = self.n_words;
        if n_words > 0xFF || place + n_words > limit {
            return None;
        }
        words[place + 1] = class;
        words[place] = head;
        self.n_words += n_words;
        self.places.insert((head, class), place);
        Some(place)
    }
}

fn add_to(entry: &mut [u64], calls: &UnrecordedCalls, numbers: impl Iterator<Item = f64>) {
    entry[2] = entry[2].saturating_add(calls.calls);
    entry[3] = entry[3].saturating_add(calls.wall_ticks);
    entry[4] = entry[4].saturating_add(calls.mpi_ticks.unwrap_or(0));
    for (sum, number) in entry[HEAD_WORDS..].iter_mut().zip(numbers) {
        *sum = (f64::from_bits(*sum) + number).to_bits();
    }
}

/// Adds calls to sums that were read, for a program that was killed before it added them.
///
/// # Returns
/// Number of these calls.
pub(crate) fn add_calls(words: &mut [u64], calls: &[u64], definitions: &Definitions) -> u64 {
    let mut totals = Totals::of(words);
    let (mut at, mut n_calls) = (0, 0);
    while let Some(head) = calls.get(at) {
        let Some(record) = calls.get(at..at + word::n_words(*head).max(1)) else {
            break;
        };
        at += record.len();
        let path = word::path(*head);
        let is_call = word::kind(*head) == Some(EntryKind::Record)
            && definitions.shape(path).fits(record.len())
            && word::is_intact(record);
        if let (true, Some(method)) = (is_call, definitions.recorded_method(path)) {
            n_calls += 1;
            totals.add(words, record, method);
        }
    }
    n_calls
}

/// The valid sums in `words`.
pub(crate) fn unrecorded(mut words: &[u64]) -> Vec<UnrecordedCalls> {
    let mut found = Vec::new();
    while let [head, _, calls, wall_ticks, mpi_ticks, ..] = *words {
        let n_words = (head >> 32 & 0xFF) as usize;
        let Some(sums) = words.get(HEAD_WORDS..n_words) else {
            break;
        };
        let means = sums.iter().map(|sum| f64::from_bits(*sum) / calls as f64);
        if calls > 0 {
            found.push(UnrecordedCalls {
                call_path: word::path(head),
                failed: head & FLAGS & word::FAILED != 0,
                calls,
                wall_ticks,
                mpi_ticks: (head & word::MPI_MEASURED != 0).then_some(mpi_ticks),
                means: (head & ALL_SIZES == 0).then(|| means.collect()),
            });
        }
        words = &words[n_words..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::ParameterDefinition;

    fn method(kind: ParameterKind) -> MethodDefinition {
        MethodDefinition {
            parameters: vec![ParameterDefinition {
                kind,
                ..ParameterDefinition::default()
            }],
            ..MethodDefinition::default()
        }
    }

    fn record(path: u32, wall: u64, value: u64) -> [u64; 5] {
        [
            word::record(path, 5, word::MPI_MEASURED),
            7,
            wall,
            wall / 2,
            value,
        ]
    }

    #[test]
    fn calls_of_one_size_are_summed_and_others_are_not_mixed_in() {
        let mut words = vec![0; TOTALS_WORDS];
        let mut totals = Totals::default();
        let method = method(ParameterKind::Integer);
        for (wall, q) in [(10, 1000), (20, 1000), (30, 1010), (4, 2000), (2, 0)] {
            assert!(totals.add(&mut words, &record(3, wall, q), &method));
        }
        let found = unrecorded(&words);
        let sums: Vec<_> = found
            .iter()
            .map(|calls| (calls.calls, calls.wall_ticks, calls.mpi_ticks))
            .collect();
        assert_eq!(sums, [(3, 60, Some(30)), (1, 4, Some(2)), (1, 2, Some(1))]);
        assert_eq!(found[0].means.as_ref().unwrap()[0], 3010.0 / 3.0);
        assert!(
            found
                .iter()
                .all(|calls| calls.call_path == 3 && !calls.failed)
        );
    }

    #[test]
    fn where_classes_have_no_room_paths_have() {
        let mut words = vec![0; TOTALS_WORDS];
        let mut totals = Totals::default();
        let method = method(ParameterKind::Enumeration);
        let n = 2000;
        for value in 0..n {
            assert!(totals.add(&mut words, &record(1, 5, value), &method));
        }
        for path in 2..100 {
            assert!(totals.add(&mut words, &record(path, 5, 0), &method));
        }
        let found = unrecorded(&words);
        let calls: u64 = found
            .iter()
            .filter(|c| c.call_path == 1)
            .map(|c| c.calls)
            .sum();
        assert_eq!(calls, n);
        assert!(
            found
                .iter()
                .any(|calls| calls.call_path == 1 && calls.means.is_none())
        );
        let wall: u64 = found.iter().map(|calls| calls.wall_ticks).sum();
        assert_eq!(wall, 5 * (n + 98));
        // A path for which there is no room is refused, and nothing is written beyond the end.
        let refused =
            (100..2000).filter(|path| !totals.add(&mut words, &record(*path, 5, 0), &method));
        assert!(refused.count() > 0);
    }

    #[test]
    fn what_is_damaged_ends_the_sums() {
        assert_eq!(unrecorded(&[u64::MAX; 40]), []);
        assert_eq!(unrecorded(&[0; 40]), []);
    }
}
