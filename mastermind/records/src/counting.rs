//! A log that takes no more records: it sums up calls, and keeps only the outermost ones.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use cca_abi::recording::RecordingContext;
use cca_abi::recording::word;

use crate::definition::{Definition, MethodDefinition, StopDefinition, UnrecordedDefinition};
use crate::totals::{SCRATCH_AT, SCRATCH_WORDS, STOPPED, TOTALS_AT, TOTALS_WORDS, Totals};
use crate::writer::{LogWriter, Refusal};

const WORD: usize = size_of::<u64>();
/// Maximum number of outermost calls that are kept after the end of the records.
const MAX_KEPT_CALLS: usize = 64;

/// State of a log that takes no more records.
#[derive(Debug)]
pub(crate) struct Counting {
    totals: Totals,
    /// Sums by call path that do not fit into the header; written as definitions at the end.
    overflow: BTreeMap<u32, UnrecordedDefinition>,
    /// Where the entries continue: cursor, end and origin of a context.
    tail: Position,
    n_kept: usize,
}

/// The part of a context that says where it appends.
#[derive(Clone, Copy, Debug)]
struct Position {
    cursor: *mut u64,
    end: *mut u64,
    origin: usize,
}

impl Position {
    fn of(context: &RecordingContext) -> Self {
        Self {
            cursor: context.cursor,
            end: context.end,
            origin: context.origin,
        }
    }

    fn put_into(self, context: &mut RecordingContext) {
        (context.cursor, context.end, context.origin) = (self.cursor, self.end, self.origin);
    }
}

impl Counting {
    /// Adds a call to the sums.
    fn add(&mut self, words: &mut [u64], record: &[u64], method: &MethodDefinition) {
        if self.totals.add(words, record, method) {
            return;
        }
        let call_path = word::path(record[0]);
        let sum = self.overflow.entry(call_path).or_default();
        sum.call_path = call_path;
        sum.calls += 1;
        sum.wall_ticks = sum.wall_ticks.saturating_add(record[2]);
        sum.mpi_ticks = sum.mpi_ticks.saturating_add(record[3]);
    }
}

impl LogWriter {
    /// Defines the sums that did not fit into the header.
    pub(crate) fn define_overflow(&mut self) {
        let overflow = self.counting.as_mut();
        let overflow = overflow.map(|counting| std::mem::take(&mut counting.overflow));
        for sum in overflow.into_iter().flat_map(BTreeMap::into_values) {
            // On a full disk, the count in the header has to suffice.
            if self.define(&Definition::Unrecorded(sum)).is_err() {
                return;
            }
        }
    }

    /// Stops taking records. The reserve of the last chunk remains for later definitions.
    pub(crate) fn stop(&mut self, refusal: Refusal) {
        let reason = refusal.to_string();
        self.refusal = Some(refusal);
        self.open_reserve();
        let tail = Position::of(self.context_mut());
        self.counting = Some(Box::new(Counting {
            totals: Totals::default(),
            overflow: BTreeMap::new(),
            tail,
            n_kept: 0,
        }));
        self.leave_log_at(tail);
        let ticks = self.latest_ticks.get();
        let stop = Definition::Stop(StopDefinition { ticks, reason });
        // Without this definition, readers know that calls lack a record, but not why.
        let _ = self.define(&stop);
    }

    /// Runs `act` with the context appending to the log, wherever it appends at the moment.
    pub(crate) fn in_log<T>(&mut self, act: impl FnOnce(&mut RecordingContext) -> T) -> T {
        self.enter_log();
        let done = act(self.context_mut());
        self.leave_log();
        done
    }

    /// Makes the context append to the log, until [`LogWriter::leave_log`].
    pub(crate) fn enter_log(&mut self) {
        let Some(counting) = &mut self.counting else {
            return;
        };
        let tail = counting.tail;
        let context = self.context_mut();
        let scratch = Position::of(context);
        tail.put_into(context);
        if let Some(counting) = &mut self.counting {
            counting.tail = scratch;
        }
    }

    /// Ends [`LogWriter::enter_log`].
    pub(crate) fn leave_log(&mut self) {
        let Some(counting) = &self.counting else {
            return;
        };
        let scratch = counting.tail;
        let tail = Position::of(self.context_mut());
        if let Some(counting) = &mut self.counting {
            counting.tail = tail;
        }
        let committed = (tail.cursor as usize).wrapping_sub(tail.origin) as u64;
        let header = self.header();
        header.stopped.store(committed + 1, Ordering::Release);
        scratch.put_into(self.context_mut());
        self.commit_scratch(scratch.cursor);
    }

    /// Makes the context append to the scratch words from now on.
    fn leave_log_at(&mut self, tail: Position) {
        let committed = (tail.cursor as usize).wrapping_sub(tail.origin) as u64;
        // Before the count is marked as stopped: readers then know where the entries end.
        self.header()
            .stopped
            .store(committed + 1, Ordering::Release);
        let start: *mut u64 = self.header.as_mut_ptr().wrapping_add(SCRATCH_AT).cast();
        let scratch = Position {
            cursor: start,
            end: start.wrapping_add(SCRATCH_WORDS),
            origin: (start as usize).wrapping_sub(STOPPED as usize),
        };
        scratch.put_into(self.context_mut());
        self.commit_scratch(start);
    }

    fn commit_scratch(&mut self, cursor: *mut u64) {
        // SAFETY: the cursor lies in the scratch words; the words before it are written.
        unsafe { self.context_mut().commit(cursor) };
    }

    /// Sums up the calls in the scratch words, and frees these words.
    pub(crate) fn count_calls(&mut self) {
        let Some(mut counting) = self.counting.take() else {
            return;
        };
        let start: *mut u64 = self.header.as_mut_ptr().wrapping_add(SCRATCH_AT).cast();
        let n_words = (self.context_mut().cursor as usize - start as usize) / WORD;
        // SAFETY: the scratch words are mapped as long as the header, aligned, and written up to the cursor.
        let calls = unsafe { std::slice::from_raw_parts(start, n_words) }.to_vec();
        self.note_change();
        // In this order, a killed run may lack calls, but counts none twice.
        self.commit_scratch(start);
        let definitions = self.slot.definitions();
        let mut outermost = Vec::new();
        let (mut at, mut n_calls) = (0, 0);
        while let Some(head) = calls.get(at) {
            let record = &calls[at..at + word::n_words(*head).max(1)];
            at += record.len();
            let path = word::path(*head);
            if definitions.shape(path).parent == 0
                && counting.n_kept + outermost.len() < MAX_KEPT_CALLS
            {
                outermost.push(record.to_vec());
                continue;
            }
            n_calls += 1;
            if let Some(method) = definitions.recorded_method(path) {
                counting.add(self.total_words(), record, method);
            }
        }
        self.counting = Some(counting);
        self.count_dropped(n_calls);
        for record in outermost {
            self.keep_outermost(&record);
        }
        self.note_change();
    }

    /// Marks the sums as changing, or as consistent again, for readers.
    fn note_change(&self) {
        self.header().sums_changed.fetch_add(1, Ordering::AcqRel);
    }

    /// Keeps the record of a call that no measured call encloses.
    fn keep_outermost(&mut self, record: &[u64]) {
        // At least half of the reserve is for definitions.
        let room = self.in_log(|context| context.room());
        let has_room = room >= 2 * record.len() || self.make_room_beyond(record.len()).is_ok();
        let Some(mut counting) = self.counting.take() else {
            return;
        };
        if has_room {
            counting.n_kept += 1;
            self.counting = Some(counting);
            self.append_to_log(record);
            return;
        }
        let definitions = self.slot.definitions();
        if let Some(method) = definitions.recorded_method(word::path(record[0])) {
            counting.add(self.total_words(), record, method);
        }
        self.counting = Some(counting);
        self.count_dropped(1);
    }

    /// The words of the sums.
    fn total_words(&mut self) -> &mut [u64] {
        let start: *mut u64 = self.header.as_mut_ptr().wrapping_add(TOTALS_AT).cast();
        // SAFETY: mapped as long as the header, which is borrowed; aligned; used here only.
        unsafe { std::slice::from_raw_parts_mut(start, TOTALS_WORDS) }
    }
}
