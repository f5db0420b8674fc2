//! Calls that have one record together.

use std::array;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;

use super::context::{NO_FRAME, OTHER_CLOCK, end_mark, marked};
use super::{
    COUNTED, MPI_EVENT_PARAMETERS, Recorder, Recording, RecordingContext, SLOWLY, append,
    stack_address, word,
};

impl<const N: usize> Recording<'_, N> {
    /// Whether the call may have one record together with others ([`Recording::end_joined`]): it is the innermost one, and no counters
    /// are read.
    #[inline(always)]
    pub fn is_joinable(&self) -> bool {
        let begun = &self.begun;
        let frame = begun.frame & !SLOWLY;
        // SAFETY: as in `finish`.
        let innermost = unsafe { &*begun.context.as_ptr() }
            .frame
            .load(Ordering::Relaxed);
        let is_open = !begun.top.is_null() && frame != NO_FRAME && innermost == frame;
        is_open && begun.head & COUNTED == 0
    }

    /// Ends the measurement of a call that is to have one record together with others like it.
    ///
    /// # Arguments
    /// * `stop` - when the call ended, ticks of the recorder's clock
    /// * `parameters` - as for [`Recording::end_at`]
    ///
    /// # Returns
    /// `None` if it may not be joined ([`Recording::is_joinable`]): it has its own record then.
    pub fn end_joined(self, stop: u64, parameters: [u64; N]) -> Option<JoinedCalls> {
        if !self.is_joinable() {
            self.end_at(stop, false, parameters);
            return None;
        }
        let recording = ManuallyDrop::new(self);
        let begun = recording.begun;
        let context = begun.context.as_ptr();
        // SAFETY: as in `finish`; the call is open at its place.
        unsafe {
            (*context).mark(end_mark(begun.frame & !SLOWLY));
            let mpi = (*context).mpi_ticks.wrapping_sub(begun.mpi);
            (*context).pop_open_call(begun.top);
            (*context).parent = begun.parent;
            (*context).unmark(begun.around);
            Some(JoinedCalls {
                context,
                cursor: (*context).cursor,
                head: begun.head & !OTHER_CLOCK,
                start: begun.start,
                stop,
                mpi,
                calls: 1,
                parameters: array::from_fn(|place| parameters.get(place).map_or(0, |word| *word)),
            })
        }
    }
}

/// Maximum number of parameters of calls that share a record: those of a call of MPI.
const MAX_JOINED_PARAMETERS: usize = MPI_EVENT_PARAMETERS.len();

/// Calls of one method and call path with the same parameters, with no other record between them, that have ended and are not in the log
/// yet.
#[derive(Clone, Copy, Debug)]
pub struct JoinedCalls {
    context: *mut RecordingContext,
    /// Position of the log when the first one ended.
    cursor: *mut u64,
    head: u64,
    start: u64,
    stop: u64,
    mpi: u64,
    calls: u64,
    parameters: [u64; MAX_JOINED_PARAMETERS],
}

impl JoinedCalls {
    /// Number of calls.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Treats records written meanwhile as earlier ones.
    pub fn resume(&mut self, recorder: &Recorder) {
        let context = recorder.thread_context();
        if context == self.context && !context.is_null() {
            // SAFETY: the context is this thread's own and valid (contract of `Recorder::new`).
            self.cursor = unsafe { (*context).cursor };
        }
    }

    /// Whether nothing was recorded between these and later ones.
    pub fn are_followed_by(&self, later: &Self) -> bool {
        self.context == later.context && self.cursor == later.cursor
    }

    /// Adds later calls, if they are alike and nothing was recorded in between.
    ///
    /// # Arguments
    /// * `summed` - place of a parameter that adds up, and may differ
    ///
    /// # Returns
    /// Whether they are.
    pub fn add(&mut self, later: &Self, summed: Option<usize>) -> bool {
        let mut parameters = self.parameters;
        if let Some(place) = summed.filter(|place| *place < MAX_JOINED_PARAMETERS) {
            parameters[place] = later.parameters[place];
        }
        let are_alike = self.are_followed_by(later)
            && self.head == later.head
            && parameters == later.parameters;
        if are_alike {
            if let Some(place) = summed.filter(|place| *place < MAX_JOINED_PARAMETERS) {
                // An unknown value (−1) leaves the sum unknown.
                let sum = self.parameters[place].checked_add(later.parameters[place]);
                self.parameters[place] = sum.unwrap_or(u64::MAX);
            }
            self.stop = later.stop;
            self.mpi = self.mpi.wrapping_add(later.mpi);
            self.calls += later.calls;
        }
        are_alike
    }

    /// Appends their record, from the start of the first to the end of the last, if the calling thread's log is theirs.
    ///
    /// # Arguments
    /// * `change` - changes the `N` parameters before they are recorded
    pub fn append<const N: usize>(self, recorder: &Recorder, change: impl FnOnce(&mut [u64; N])) {
        let context = recorder.thread_context();
        if context.is_null() || context != self.context {
            return;
        }
        let mut parameters =
            array::from_fn(|place| self.parameters.get(place).map_or(0, |word| *word));
        change(&mut parameters);
        let n_words = word::HEAD_WORDS + N;
        let times = [self.start, self.stop.saturating_sub(self.start), self.mpi];
        let (object, functions) = (recorder.object, &recorder.functions);
        // SAFETY: the context is this thread's own and valid (contract of `Recorder::new`); one with room has cells.
        unsafe {
            let around = (*context).frame.load(Ordering::Relaxed);
            let is_interrupting = marked(around).is_some();
            if !is_interrupting {
                (*context).mark(end_mark(stack_address()));
            }
            let has_room = !is_interrupting
                && ((*context).room() >= n_words
                    || (functions.roll_over)(object, context, n_words as u64) != 0);
            if has_room {
                let cells = &*(*context).cells;
                append(context, cells, self.head, times, &parameters, &[]);
            } else {
                let path = word::path(self.head);
                (functions.lost)(object, context, path, times[1], self.mpi);
            }
            if !is_interrupting {
                (*context).unmark(around);
            }
        }
    }
}
