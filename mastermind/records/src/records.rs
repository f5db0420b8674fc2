//! Records as typed values: calls with method, times, parameters and counters.
//!
//! The entries of a log are words; [`Records`] interprets them. It looks up the method by the call path, converts ticks
//! to nanoseconds, types each parameter by its definition and scales counters that were measured for part of the time
//! only. A log stores a record when its call ends, so children precede their parents; the iterator reconstructs the
//! order in which calls began ([`Record::seq`], [`Record::parent_seq`]). For speed, `Records::next_series` returns
//! consecutive records of one call path together ([`Series`]).
//!
//! ```text
//! words of an entry                       record
//! head: path 3, 6 words, MPI measured     method flux.compute, call path 3, seq 2, parent_seq 0
//! start, wall, MPI (ticks)                start_ns, wall_ns, mpi_ns
//! 100                                     parameters: n_cells = Integer(100)
//! 5150                                    counters: instructions = 5150
//! ```

use cca_abi::recording::word;

use crate::definition::{
    CounterDefinition, MethodDefinition, ParameterDefinition, ParameterKind, TIME_ENABLED,
    TIME_RUNNING,
};
use crate::definitions::Definitions;
use crate::log::Log;
use crate::scan::{RawRecord, RawRecords, RawSeries};

/// The value of a parameter or counter in a record, by its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A signed integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// The value of an enumeration: its word, and its label if it has one.
    Label(u64, Option<&'a str>),
}

impl<'a> Value<'a> {
    #[inline]
    fn new(word: u64, parameter: &'a ParameterDefinition) -> Self {
        match parameter.kind {
            ParameterKind::Integer => Self::Integer(word.cast_signed()),
            ParameterKind::Real => Self::Real(f64::from_bits(word)),
            ParameterKind::Enumeration => {
                let label = usize::try_from(word)
                    .ok()
                    .and_then(|index| parameter.labels.get(index));
                Self::Label(word, label.map(String::as_str))
            }
        }
    }

    /// The value as a number; the index for enumerations.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
            Self::Label(word, _) => word as f64,
        }
    }
}

impl std::fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Label(_, Some(label)) => label.fmt(f),
            Self::Label(word, None) => word.fmt(f),
        }
    }
}

/// Number of words that a record stores inline, enough for most records; it allocates memory for more.
const N_FEW: usize = 6;

/// The words of a record's parameters and counters.
#[derive(Clone, Debug)]
pub struct RecordValues {
    n_words: usize,
    /// The words if they are few; words beyond the length are ignored.
    few: [u64; N_FEW],
    many: Vec<u64>,
}

impl RecordValues {
    /// The first `n_words` words of `words`, which may be longer.
    #[inline(always)]
    pub(crate) fn new(words: &[u64], n_words: usize) -> Self {
        match words.first_chunk() {
            Some(few) if n_words <= N_FEW => Self {
                n_words,
                few: *few,
                many: Vec::new(),
            },
            _ => Self::long(words, n_words),
        }
    }

    #[cold]
    fn long(words: &[u64], n_words: usize) -> Self {
        Self {
            n_words: usize::MAX,
            few: [0; N_FEW],
            many: words[..n_words].to_vec(),
        }
    }
}

impl std::ops::Deref for RecordValues {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        match self.few.get(..self.n_words) {
            Some(few) => few,
            None => &self.many,
        }
    }
}

/// A call as its record describes it, with times on the run's clock.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Order of entry: calls that began earlier in the thread have lower numbers.
    pub seq: u64,
    /// Number of the call that this one was made from, if that is measured.
    pub parent_seq: Option<u64>,
    /// Call path within the log.
    pub call_path: u32,
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// Wall time, nanoseconds.
    pub wall_ns: u64,
    /// Time in MPI, nanoseconds; `None` if it was not measured. At most the wall time, except in the records that
    /// [`Damage::Excess`] counts.
    ///
    /// [`Damage::Excess`]: crate::Damage::Excess
    pub mpi_ns: Option<u64>,
    /// Start, clock ticks.
    pub start_ticks: u64,
    /// Wall time, clock ticks.
    pub wall_ticks: u64,
    /// Time in MPI, clock ticks; `None` if it was not measured.
    pub mpi_ticks: Option<u64>,
    /// Whether the call failed.
    pub failed: bool,
    /// The called method.
    pub method: &'a MethodDefinition,
    /// Words of the parameters, followed by the available counters if they were read.
    pub values: RecordValues,
}

/// Index of the parameter `request` of an MPI call ([`cca_abi::recording::MPI_EVENT_PARAMETERS`]).
const MPI_REQUEST: usize = 6;

impl<'a> Record<'a> {
    /// Number of calls that share this record: more than 1 for consecutive MPI calls that found no message and no
    /// completed request.
    #[inline]
    pub fn calls(&self) -> u64 {
        let word = self.values.get(MPI_REQUEST).copied().unwrap_or(0);
        match word.cast_signed() {
            number if number < -1 && self.method.is_mpi() => number.unsigned_abs(),
            _ => 1,
        }
    }

    /// Wall time without MPI, nanoseconds; `None` if MPI was not measured, or its time exceeds the wall time.
    pub fn compute_ns(&self) -> Option<u64> {
        self.wall_ns.checked_sub(self.mpi_ns?)
    }

    /// The values of the parameters, in the order of [`MethodDefinition::parameters`].
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = Value<'a>> {
        let parameters = self.method.parameters.iter();
        parameters
            .zip(&self.values[..])
            .map(|(parameter, word)| Value::new(*word, parameter))
    }

    /// The parameter at an index; `None` if the method has fewer parameters.
    #[inline]
    pub fn parameter(&self, place: usize) -> Option<Value<'a>> {
        let parameter = self.method.parameters.get(place)?;
        Some(Value::new(*self.values.get(place)?, parameter))
    }

    /// The counters, as defined; `None` for a counter that is not available or was not read. A counter that was
    /// measured for part of the time only is scaled to all of it and rounded, or `None` if it was not measured at all.
    pub fn counters(&self) -> impl Iterator<Item = Option<u64>> {
        counters(self.method, &self.values)
    }
}

/// The counters among the values of a record; see [`Record::counters`].
pub(crate) fn counters<'r>(
    method: &'r MethodDefinition,
    values: &'r [u64],
) -> impl Iterator<Item = Option<u64>> {
    let counters = &method.counters;
    let words = &values[method.parameters.len().min(values.len())..];
    let share = Share::of(counters, words);
    let mut words = words.iter();
    counters.iter().map(move |counter| {
        if counter.unavailable.is_some() {
            return None;
        }
        let word = *words.next()?;
        if counter.multiplexed {
            share?.scaled(word)
        } else {
            Some(word)
        }
    })
}

/// Enabled and running time of a record's events.
#[derive(Clone, Copy, Debug)]
struct Share {
    enabled: u64,
    running: u64,
}

impl Share {
    fn of(counters: &[CounterDefinition], words: &[u64]) -> Option<Self> {
        let available = counters
            .iter()
            .filter(|counter| counter.unavailable.is_none());
        let named = |name: &str| {
            let mut named = available.clone().zip(words);
            named
                .find(|(counter, _)| counter.name == name)
                .map(|(_, word)| *word)
        };
        Some(Self {
            enabled: named(TIME_ENABLED)?,
            running: named(TIME_RUNNING)?,
        })
    }

    fn scaled(self, word: u64) -> Option<u64> {
        let (enabled, running) = (u128::from(self.enabled), u128::from(self.running));
        if enabled == running && enabled > 0 {
            return Some(word);
        }
        let scaled = (u128::from(word) * enabled + running / 2).checked_div(running)?;
        u64::try_from(scaled).ok()
    }
}

/// A position in the records of a log, and the calls that are open there.
#[derive(Clone, Debug, Default)]
pub struct RecordsPlace {
    /// Position in words from the beginning of the entries.
    word: usize,
    pending: Vec<Pending>,
    next_seq: u64,
}

impl RecordsPlace {
    /// A position with unknown open calls.
    ///
    /// # Arguments
    /// * `word` - of a record, from the beginning of the entries
    pub(crate) fn at(word: usize) -> Self {
        RecordsPlace {
            word,
            ..RecordsPlace::default()
        }
    }

    /// A later position.
    pub(crate) fn behind(&self, word: usize) -> Self {
        RecordsPlace {
            word,
            pending: Vec::new(),
            next_seq: self.next_seq,
        }
    }
}

/// An open call that is known from its children, before its own record.
#[derive(Clone, Copy, Debug)]
struct Pending {
    call_path: u32,
    seq: u64,
}

/// The records of a log, in the order in which the calls ended: children before their parent.
///
/// Call paths determine the order of entry. A record's ancestors began before it and have not ended yet. Ancestors that
/// no earlier record has shown get the next numbers, outermost first, and wait for their own record:
///
/// ```text
/// go{ a{} b{ c{} } }    records: a, b->c, b, go    entries: go 0, a 1, b 2, c 3
/// ```
#[derive(Debug)]
pub struct Records<'a> {
    log: &'a Log,
    raw: RawRecords<'a>,
    order: Order<'a>,
}

/// The order of entry of the calls of a log.
#[derive(Debug)]
struct Order<'a> {
    definitions: &'a Definitions,
    pending: Vec<Pending>,
    next_seq: u64,
    ancestors: Vec<u32>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(log: &'a Log, first_seq: u64) -> Self {
        Self {
            log,
            raw: log.raw_records(),
            order: Order {
                definitions: log.definitions(),
                pending: Vec::new(),
                next_seq: first_seq,
                ancestors: Vec::new(),
            },
        }
    }

    /// Resumes at a position.
    pub(crate) fn resume(log: &'a Log, place: &RecordsPlace) -> Self {
        Self {
            log,
            raw: log.raw_records_from(place.word),
            order: Order {
                definitions: log.definitions(),
                pending: place.pending.clone(),
                next_seq: place.next_seq,
                ancestors: Vec::new(),
            },
        }
    }

    /// The position after the last record read, from which [`Records`] can be resumed.
    pub fn place(&self) -> RecordsPlace {
        RecordsPlace {
            word: self.raw.at(),
            pending: self.order.pending.clone(),
            next_seq: self.order.next_seq,
        }
    }

    /// Skips records, which costs a fifth of reading them.
    ///
    /// # Returns
    /// Number of skipped records: `n`, or fewer at the end of the log.
    pub fn pass_over(&mut self, n: usize) -> usize {
        let definitions = self.log.definitions();
        let mut n_passed = 0;
        while n_passed < n {
            let Some(RawRecord { n_words, words }) = self.raw.next() else {
                break;
            };
            let call_path = word::path(words[0]);
            let shape = definitions.shape(call_path);
            if shape.fits(n_words) {
                self.order.sequence(call_path, shape.parent);
                n_passed += 1;
            }
        }
        n_passed
    }

    /// The next like records in memory, equal to the records that the iteration returns.
    #[inline(always)]
    pub(crate) fn next_series(&mut self) -> Option<Series<'a, '_>> {
        let definitions = self.log.definitions();
        loop {
            let RawSeries {
                n_words,
                n_records,
                words,
            } = self.raw.next_series()?;
            let call_path = word::path(words[0]);
            let shape = definitions.shape(call_path);
            if !shape.fits(n_words) {
                continue;
            }
            let method = definitions.recorded_method(call_path)?;
            let (first, parent_seq) = self.order.sequence(call_path, shape.parent);
            let second = self.order.next_seq;
            // The parent is known by now, so the other records get consecutive numbers.
            self.order.next_seq += n_records as u64 - 1;
            return Some(Series {
                log: self.log,
                method,
                first_word: self.raw.at() - n_words * n_records,
                raw: self.raw.latest(n_words, n_records),
                seqs: [first, second],
                parent_seq,
            });
        }
    }

    /// The sequence number of the next new call.
    pub fn next_seq(&self) -> u64 {
        self.order.next_seq
    }
}

impl Order<'_> {
    fn take_seq(&mut self) -> u64 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// Sequence numbers of a record's call and of its caller.
    #[inline]
    fn sequence(&mut self, call_path: u32, parent: u32) -> (u64, Option<u64>) {
        match *self.pending.as_slice() {
            // The parent is known: this call is a sibling of an earlier one.
            [.., top] if top.call_path == parent => (self.take_seq(), Some(top.seq)),
            [.., above, top] if top.call_path == call_path && above.call_path == parent => {
                self.pending.pop();
                (top.seq, Some(above.seq))
            }
            [top] if top.call_path == call_path && parent == 0 => {
                self.pending.pop();
                (top.seq, None)
            }
            [] if parent == 0 => (self.take_seq(), None),
            _ => self.sequence_anew(call_path, parent),
        }
    }

    #[cold]
    fn sequence_anew(&mut self, call_path: u32, parent: u32) -> (u64, Option<u64>) {
        let definitions = self.definitions;
        self.ancestors.clear();
        let mut ancestor = parent;
        while ancestor != 0 {
            self.ancestors.push(ancestor);
            ancestor = definitions.shape(ancestor).parent;
        }
        self.ancestors.reverse();
        let common = self
            .pending
            .iter()
            .zip(&self.ancestors)
            .take_while(|(open, path)| open.call_path == **path)
            .count();
        let own = self
            .pending
            .get(common)
            .filter(|open| open.call_path == call_path && common == self.ancestors.len());
        let own = own.map(|open| open.seq);
        // Deeper calls have ended without a record: they were lost to damage.
        self.pending.truncate(common);
        for place in common..self.ancestors.len() {
            let seq = self.take_seq();
            self.pending.push(Pending {
                call_path: self.ancestors[place],
                seq,
            });
        }
        let seq = own.unwrap_or_else(|| self.take_seq());
        (seq, self.pending.last().map(|parent| parent.seq))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    // Inlined, so that values that the caller does not use are not computed.
    #[inline(always)]
    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            let RawRecord { n_words, words } = self.raw.next()?;
            let definitions = self.log.definitions();
            let call_path = word::path(words[0]);
            let shape = definitions.shape(call_path);
            if !shape.fits(n_words) {
                continue;
            }
            let method = definitions.recorded_method(call_path)?;
            let seqs = self.order.sequence(call_path, shape.parent);
            return Some(record_of(self.log, method, words, n_words, seqs));
        }
    }
}

/// The record in these words, which may contain more.
#[inline(always)]
fn record_of<'a>(
    log: &'a Log,
    method: &'a MethodDefinition,
    words: &[u64],
    n_words: usize,
    (seq, parent_seq): (u64, Option<u64>),
) -> Record<'a> {
    let time = log.time();
    let (start_ns, wall_ns) = time.span_ns(words[1], words[2]);
    let measured =
        words[0] & word::MPI_MEASURED != 0 && log.definitions().mpi_is_whole(words[1], words[2]);
    let mpi_ticks = measured.then_some(words[3]);
    Record {
        seq,
        parent_seq,
        call_path: word::path(words[0]),
        start_ns,
        wall_ns,
        mpi_ns: mpi_ticks.map(|ticks| time.span_ns(words[1], ticks).1),
        start_ticks: words[1],
        wall_ticks: words[2],
        mpi_ticks,
        failed: words[0] & word::FAILED != 0,
        method,
        values: RecordValues::new(&words[word::HEAD_WORDS..], n_words - word::HEAD_WORDS),
    }
}

/// Consecutive records with the same call path and outcome; their common properties are looked up once.
///
/// Only the first call can have recorded children: their records precede their parent's.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a, 'w> {
    log: &'a Log,
    method: &'a MethodDefinition,
    /// Position of the first record, words from the beginning of the entries.
    first_word: usize,
    raw: RawSeries<'w>,
    /// Sequence numbers of the first and of the second record.
    seqs: [u64; 2],
    parent_seq: Option<u64>,
}

impl<'a> Series<'a, '_> {
    /// The method that all calls of the series call.
    pub fn method(&self) -> &'a MethodDefinition {
        self.method
    }

    /// Id of the call path that all calls of the series have in their log.
    pub fn call_path(&self) -> u32 {
        word::path(self.raw.words[0])
    }

    /// Whether time in MPI was measured for them.
    pub(crate) fn measures_mpi(&self) -> bool {
        self.raw.words[0] & word::MPI_MEASURED != 0
    }

    /// Whether the calls failed: all of them, or none.
    pub fn failed(&self) -> bool {
        self.raw.words[0] & word::FAILED != 0
    }

    /// Position of the first record, words from the beginning of the entries.
    pub(crate) fn first_word(&self) -> usize {
        self.first_word
    }

    /// Words of a record.
    pub(crate) fn n_words(&self) -> usize {
        self.raw.n_words
    }

    /// Sequence number of the first call.
    pub(crate) fn first_seq(&self) -> u64 {
        self.seqs[0]
    }

    /// Sequence number of their caller.
    pub(crate) fn parent_seq(&self) -> Option<u64> {
        self.parent_seq
    }

    /// Whether a record may have several calls ([`Record::calls`]).
    pub fn may_share_records(&self) -> bool {
        let n_values = self.raw.n_words - word::HEAD_WORDS;
        n_values > MPI_REQUEST && self.method.is_mpi()
    }

    /// The words of a parameter, one of each record.
    ///
    /// # Arguments
    /// * `place` - index among the parameters of the method
    #[inline]
    pub fn parameter_words(&self, place: usize) -> impl ExactSizeIterator<Item = u64> {
        let records = self.raw.records();
        records.map(move |record| record[word::HEAD_WORDS + place])
    }

    /// Appends the wall times of all records, nanoseconds.
    #[inline]
    pub(crate) fn add_walls_ns(&self, walls_ns: &mut Vec<u64>) {
        let time = *self.log.time();
        let records = self.raw.records();
        walls_ns.extend(records.map(|record| time.span_ns(record[1], record[2]).1));
    }

    /// Start and wall time of each record, nanoseconds.
    #[inline]
    pub(crate) fn spans_ns(&self) -> impl Iterator<Item = (u64, u64)> {
        let time = *self.log.time();
        let records = self.raw.records();
        records.map(move |record| time.span_ns(record[1], record[2]))
    }

    /// Sum of the times in MPI, clock ticks.
    #[inline]
    pub(crate) fn mpi_ticks(&self) -> u64 {
        let definitions = self.log.definitions();
        if self.raw.words[0] & word::MPI_MEASURED == 0 {
            return 0;
        }
        let records = self.raw.records();
        let measured = records.filter(|record| definitions.mpi_is_whole(record[1], record[2]));
        measured.fold(0, |sum: u64, record| sum.saturating_add(record[3]))
    }

    /// The records.
    #[inline(always)]
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'a>> {
        let (log, method) = (self.log, self.method);
        let RawSeries {
            n_words,
            n_records,
            words,
        } = self.raw;
        (0..n_records).map(move |place| {
            let seq = match place {
                0 => self.seqs[0],
                later => self.seqs[1] + later as u64 - 1,
            };
            let words = &words[place * n_words..];
            record_of(log, method, words, n_words, (seq, self.parent_seq))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(name: &str, multiplexed: bool) -> CounterDefinition {
        CounterDefinition {
            name: name.into(),
            multiplexed,
            ..CounterDefinition::default()
        }
    }

    /// One event, a kernel clock, one that does not open, and the two times.
    fn counters(event: u64, enabled: u64, running: u64) -> Vec<Option<u64>> {
        let closed = CounterDefinition {
            unavailable: Some("ENOENT (errno 2)".into()),
            ..counter("misses", true)
        };
        let method = MethodDefinition {
            parameters: vec![ParameterDefinition::default()],
            counters: vec![
                counter("cycles", true),
                counter("ru_utime", false),
                closed,
                counter(TIME_ENABLED, false),
                counter(TIME_RUNNING, false),
            ],
            ..MethodDefinition::default()
        };
        let record = Record {
            seq: 0,
            parent_seq: None,
            call_path: 1,
            start_ns: 0,
            wall_ns: 1,
            mpi_ns: None,
            start_ticks: 0,
            wall_ticks: 1,
            mpi_ticks: None,
            failed: false,
            method: &method,
            values: RecordValues::new(&[77, event, 9, enabled, running], 5),
        };
        record.counters().collect()
    }

    #[test]
    fn what_was_counted_for_a_part_of_the_time_is_scaled() {
        assert_eq!(
            counters(10, 400, 400),
            [Some(10), Some(9), None, Some(400), Some(400)]
        );
        assert_eq!(counters(10, 400, 100)[0], Some(40));
        assert_eq!(counters(u64::MAX, 3, 1)[0], None, "beyond all numbers");
    }

    #[test]
    fn what_was_not_counted_at_all_is_not_zero() {
        assert_eq!(counters(0, 400, 0)[..2], [None, Some(9)]);
        assert_eq!(counters(0, 0, 0)[0], None);
    }
}
