//! Polls of several ranks together, on the way out of an MPI call that none of them leaves before all have come.
//!
//! ```text
//! first meeting   do all ranks take part?      by the files of each rank in the record directory, without MPI
//! a meeting       which ranks want to poll?    a sum over the ranks, which also determines the meeting of the next vote
//!                 if most do: they poll        (`adaptation/exchange`)
//! ```

use std::sync::Mutex;
use std::time::Instant;

use cca_loader::{Meeting, MeetingError};
use cca_ports::PortError;
use mastermind_records::is_being_written;

use super::{LibraryAdaptation, WrapError, Wrapped};
use crate::adaptation::exchange::Ranks;
use crate::adaptation::pace::{ASKING_S, asked_every};
use crate::decisions_file;
use crate::mastermind::locked;

/// Maximum number of meetings between two votes: a vote takes about as long as one of the calls in which the ranks
/// meet, so it takes at most a two-hundredth of their time.
const MOST_MEETINGS: f64 = 200.0;

/// Number of latest votes whose durations are kept.
const N_ASKINGS: usize = 7;

/// Number of collective calls of an exchange.
const N_CALLS_OF_EXCHANGE: f64 = 4.0;

/// Bound on the time until or since its next poll that a rank reports, seconds, so that no rank delays the others for
/// long.
const MOST_LEFT_S: f64 = 1.0;

/// Votes of the ranks on polling.
pub(super) struct Asking {
    /// Time of the last vote, and its meeting; 0 before the first.
    last: (Instant, u64),
    /// Durations of the latest votes, seconds; they include waits for processors.
    latest_s: [f64; N_ASKINGS],
}

impl Asking {
    pub(super) fn new() -> Self {
        Self {
            last: (Instant::now(), 0),
            latest_s: [ASKING_S; N_ASKINGS],
        }
    }

    /// Time of an exchange in addition to the work of this rank, if no rank waits for a processor, seconds.
    pub(super) fn exchange_s(&self) -> f64 {
        let least_s = self.latest_s.iter().copied().fold(f64::MAX, f64::min);
        N_CALLS_OF_EXCHANGE * least_s
    }

    /// Median duration of a vote, seconds.
    fn usual_s(&self) -> f64 {
        let mut sorted = self.latest_s;
        sorted.sort_by(f64::total_cmp);
        sorted[N_ASKINGS / 2]
    }

    /// This rank's estimate of the number of meetings until the next vote.
    fn every(&self, number: u64) -> f64 {
        let (at, last) = self.last;
        let n_since = number.saturating_sub(last).max(1) as f64;
        let a_meeting_s = at.elapsed().as_secs_f64() / n_since;
        asked_every(self.usual_s(), a_meeting_s, MOST_MEETINGS)
    }

    /// Records a vote. The first one is not timed, because it creates the communicator too.
    fn took(&mut self, seconds: f64, number: u64) {
        if self.last.1 > 0 {
            self.latest_s.rotate_left(1);
            self.latest_s[N_ASKINGS - 1] = seconds;
        }
        self.last = (Instant::now(), number);
    }
}

impl LibraryAdaptation {
    /// All ranks are on the way out of one MPI call: they poll together, if that is worth it to them.
    ///
    /// # Arguments
    /// * `running` - the recording; `None` once it has ended
    ///
    /// # Returns
    /// The meeting of the next vote; `None` once adaptation has ended.
    pub fn meet(&mut self, meeting: &Meeting<'_>, running: &Mutex<Option<Wrapped>>) -> Option<u64> {
        if self.asking.last.1 == 0 {
            self.is_stopped = !self.is_complete(meeting.ranks());
        }
        if self.is_stopped {
            return None;
        }
        match self.ask(meeting, running) {
            Ok(after) => (!self.is_stopped).then(|| meeting.number() + after),
            Err(error) => {
                self.stop(error.to_string());
                None
            }
        }
    }

    /// # Returns
    /// Number of meetings until the next vote.
    fn ask(
        &mut self,
        meeting: &Meeting<'_>,
        running: &Mutex<Option<Wrapped>>,
    ) -> Result<u64, PortError> {
        let ranks = OfMeeting(meeting);
        let every = self.asking.every(meeting.number());
        let left_us = 1e6 * self.left_s().clamp(-MOST_LEFT_S, MOST_LEFT_S);
        let has_ended = locked(running).is_none();
        let mut sums = [left_us.round(), every, f64::from(u8::from(has_ended))];
        let begin = Instant::now();
        ranks.sum(&mut sums)?;
        let taken_s = begin.elapsed().as_secs_f64();
        self.asking.took(taken_s, meeting.number());
        let [left_us, every, n_ended] = sums;
        let n = meeting.ranks();
        if n_ended > 0.0 {
            self.stop(format!("{n_ended} of {n} ranks have ended their recording"));
        } else if left_us <= 0.0 {
            self.look_with(running, &ranks)?;
        }
        Ok((every / f64::from(n.max(1))).ceil() as u64)
    }

    /// Seconds until this rank wants to poll; negative if it is late.
    fn left_s(&self) -> f64 {
        let paused_s = self.pause.as_secs_f64() - self.looked.elapsed().as_secs_f64();
        match self.adapter.is_trying() {
            true => paused_s,
            false => paused_s.max(self.due_s()),
        }
    }

    /// Whether all ranks take part: the others would wait for a missing one for ever. Each rank gets the same answer,
    /// since the files were written before the call that all of them are in.
    fn is_complete(&self, ranks: u32) -> bool {
        let takes_part = |rank: &u32| {
            is_being_written(&decisions_file(&self.config.directory, *rank))
                && !self.config.note_file(*rank).exists()
        };
        let Some(missing) = (0..ranks).find(|rank| !takes_part(rank)) else {
            return true;
        };
        // One rank reports it.
        if (0..ranks).find(takes_part) == Some(self.rank) {
            self.leave_note(&format!(
                "rank {missing} of {ranks} takes no part, expected all of them under `wrap --adapt` with one directory of records"
            ));
        }
        false
    }

    /// Leaves a note if the ranks of a program have never met, so that nothing could be chosen.
    pub fn has_never_met(&self) {
        // One rank reports it.
        if self.asking.last.1 == 0 && self.rank == 0 && !self.is_stopped && !self.is_alone {
            self.leave_note(
                "its ranks have made 0 calls of MPI that all of MPI_COMM_WORLD wait for one another in (MPI_Barrier, MPI_Allreduce, \
                 MPI_Allgather, MPI_Alltoall, MPI_Reduce_scatter_block), expected some: they swap in one",
            );
        }
    }

    pub(super) fn leave_note(&self, why: &str) {
        let program = self.config.program.clone();
        let error = WrapError::NotAdaptable {
            program,
            why: why.into(),
        };
        // If it cannot be written, `wrap` finds no decisions and reports that.
        let _ = self.config.leave_note(self.rank, &error.to_string());
    }
}

/// The only rank of a program.
pub(super) struct Alone;

impl Ranks for Alone {
    fn size(&self) -> Result<u32, PortError> {
        Ok(1)
    }

    fn sum(&self, _: &mut [f64]) -> Result<(), PortError> {
        Ok(())
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PortError> {
        Ok(vec![bytes.to_vec()])
    }

    fn broadcast(&self, _: &mut Vec<u8>) -> Result<(), PortError> {
        Ok(())
    }
}

/// The ranks of `MPI_COMM_WORLD`, in one call of it.
struct OfMeeting<'a>(&'a Meeting<'a>);

impl Ranks for OfMeeting<'_> {
    fn size(&self) -> Result<u32, PortError> {
        Ok(self.0.ranks())
    }

    fn sum(&self, numbers: &mut [f64]) -> Result<(), PortError> {
        self.0.sum(numbers).map_err(failed)
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PortError> {
        self.0.gather(bytes).map_err(failed)
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), PortError> {
        self.0.broadcast(bytes).map_err(failed)
    }
}

fn failed(error: MeetingError) -> PortError {
    PortError::failed(error)
}
