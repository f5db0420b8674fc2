//! Consecutive calls that poll for a message or a completed request and find none: equal ones share one record.
//!
//! A program that polls makes millions of them a second, in turns between a few requests or sources. Their record is appended before that
//! of the next call that is another one, so that the records of a thread stay in the order in which its calls ended.

use std::cell::Cell;

use cca_abi::recording::{JoinedCalls, Recorder};

use crate::call::epoch;
use crate::message::Moved;

/// Maximum number of different polling calls, by place, function or source, that are kept at a time. The programs
/// inspected (SNAP, mpi4py's pools) poll in one or two places; with more, there are only more records.
const N_KEPT: usize = 4;

/// Polls of a thread.
pub(crate) struct Polls {
    kept: [Cell<Option<JoinedCalls>>; N_KEPT],
    n_kept: Cell<usize>,
    /// Of the recorder that they are to be recorded by.
    epoch: Cell<u64>,
}

impl Polls {
    pub(crate) const fn new() -> Self {
        Self {
            kept: [const { Cell::new(None) }; N_KEPT],
            n_kept: Cell::new(0),
            epoch: Cell::new(0),
        }
    }

    /// Gives those that are kept their records.
    #[inline(always)]
    pub(crate) fn append<const N: usize>(&self, recorder: &Recorder) {
        if self.n_kept.get() > 0 {
            self.append_all::<N>(recorder);
        }
    }

    #[cold]
    #[inline(never)]
    fn append_all<const N: usize>(&self, recorder: &Recorder) {
        self.n_kept.set(0);
        let is_current = self.epoch.get() == epoch();
        let kept = self.kept.iter().filter_map(Cell::take);
        for calls in kept.filter(|_| is_current) {
            calls.append::<N>(recorder, |words| {
                let calls = calls.calls().cast_signed();
                words[Moved::REQUEST] = calls.wrapping_neg().cast_unsigned();
            });
        }
    }

    /// Whether there are any.
    pub(crate) fn are_under_way(&self) -> bool {
        self.n_kept.get() > 0 && self.epoch.get() == epoch()
    }

    /// Keeps a call.
    ///
    /// # Arguments
    /// * `summed` - place of a parameter that adds up over calls
    pub(crate) fn add<const N: usize>(
        &self,
        mut call: JoinedCalls,
        recorder: &Recorder,
        summed: Option<usize>,
    ) {
        let n_kept = self.n_kept.get();
        let mut follows = true;
        for cell in &self.kept[..n_kept] {
            let Some(mut calls) = cell.get() else {
                continue;
            };
            if calls.add(&call, summed) {
                cell.set(Some(calls));
                return;
            }
            follows &= calls.are_followed_by(&call);
        }
        if !follows || n_kept == N_KEPT {
            self.append_all::<N>(recorder);
            call.resume(recorder);
        }
        let n_kept = self.n_kept.get();
        self.epoch.set(epoch());
        self.kept[n_kept].set(Some(call));
        self.n_kept.set(n_kept + 1);
    }
}
