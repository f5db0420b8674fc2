//! A recorded run as a schedule: each rank repeats its calls, and computes in between as long as it did.
//!
//! ```text
//! call.rs        a recorded call, and the action of a function of MPI
//! collectives.rs matching calls of a group; the messages of a collective
//! rank.rs        the calls of a rank as operations that wait for each other
//! messages.rs    the send of each receive
//! goal.rs        all of it as the text of a GOAL schedule
//! scaling.rs     before all that, computation scaled to another processor
//! delay.rs       before that, computation that a dry run left out
//! program.rs     instead of those: the run, or several on different numbers of ranks, as a program model, by reader.rs, folding.rs, flow.rs,
//!                grid.rs, rank_expressions.rs, costs.rs and writer.rs
//! ```
//!
//! Point-to-point messages go to their recorded ranks, in the order in which MPI matched them. A collective becomes the
//! messages that `collectives.toml` defines for the algorithm of the machine's library; a call that makes or frees
//! communicators is a barrier. Missing information, and calls that a schedule cannot express, are notes.
//!
//! Matching is done once more, in the order of the sends, by sender, communicator and tag, so that a receive from any
//! rank has its recorded sender, and calls without a counterpart are found and reported. Computation is the time
//! between two calls; a polling loop waits. `simulation` knows no records: `cli/src/recorded_run.rs` passes the data it
//! needs.
//!
//! # Source
//! T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010, section 3 (Schedgen, which makes schedules of traces: collectives
//! as point-to-point messages, computation between two calls as `calc`).

mod call;
mod collectives;
mod costs;
mod delay;
mod flow;
mod folding;
mod goal;
mod grid;
mod messages;
mod program;
mod rank;
mod rank_expressions;
mod reader;
mod scaling;
mod writer;

use std::collections::BTreeMap;

pub use call::{RecordedCall, is_communication};
pub use delay::Delay;
pub use program::{RecordedProgram, program, program_of_runs};
pub use rank::POLL_GAP_NS;
pub use scaling::ComponentCall;

use collectives::Groups;
use mastermind_programs::Collectives;
use rank::{RankSchedule, Resolved};

/// Most bytes of a collective: some are made of a message for each 64 KiB.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 36;

/// Activity of a rank in a run.
#[derive(Debug, Clone, Default)]
pub struct RecordedRank {
    /// Calls of MPI of each of its threads, in the order of their starts.
    pub threads: Vec<Vec<RecordedCall>>,
    /// The ranks of each communicator that a call names, in `MPI_COMM_WORLD`, by its number; those that join two groups are not
    /// among them.
    pub communicators: BTreeMap<i64, Vec<u32>>,
    /// When it began, after MPI was started, and when it ended, before MPI was; nanoseconds.
    pub span_ns: (u64, u64),
    /// Time between calls in which its threads did not run, since they waited for a processor or slept, nanoseconds; `None` where processor
    /// time was not recorded.
    pub off_processor_ns: Option<u64>,
    /// Total waiting of its threads for a processor, nanoseconds; `None` if the system did not report it.
    pub waiting_ns: Option<u64>,
    /// Calls that have no record.
    pub lost: u64,
    /// Whether its records end before the program did, as those of a killed run.
    pub is_cut: bool,
}

impl RecordedRank {
    /// How long it took, nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        self.span_ns.1.saturating_sub(self.span_ns.0)
    }
}

/// A recorded run as a schedule.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The schedule in GOAL, for [`mastermind_programs::goal::read_goal`].
    pub goal: Vec<u8>,
    /// Messages of the program itself, without those of collectives.
    pub messages: u64,
    /// Calls of collectives, over all ranks.
    pub collectives: u64,
    /// Calls that are missing in the schedule, or changed.
    pub notes: Vec<String>,
}

/// Why a run has no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A rank has no calls.
    #[error(
        "cannot replay run: no calls of MPI of rank {rank}, expected some of each of {ranks} ranks"
    )]
    NoCalls {
        /// Which.
        rank: usize,
        /// How many there are.
        ranks: usize,
    },
    /// A collective of more bytes than any has, as damaged records may claim.
    #[error(
        "cannot replay run: a collective of {bytes} bytes, expected at most {MAX_COLLECTIVE_BYTES}"
    )]
    TooLarge {
        /// The recorded bytes.
        bytes: u64,
    },
    /// A program model has one flow a process.
    #[error(
        "cannot write run as a program: {threads} threads of rank {rank} call MPI, expected one; a schedule (.goal) can hold them"
    )]
    Threads {
        /// The rank.
        rank: usize,
        /// How many.
        threads: usize,
    },
    /// A difference between ranks is no expression of the rank.
    #[error(
        "cannot write run as a program: no pattern in the ranks or sizes of a {element} of {ranks} ranks, expected one, or at most {} ranks; a schedule (.goal) can hold them",
        rank_expressions::MAX_TABLE
    )]
    NoPattern {
        /// Their operation.
        element: String,
        /// Ranks.
        ranks: usize,
    },
    /// The ranks of a communicator, in its order, are not a constant distance apart.
    #[error(
        "cannot write run as a program: the ranks of the communicator of a {element} are no arithmetic sequence, expected one; a \
         schedule (.goal) can hold them"
    )]
    IrregularGroup {
        /// The collective.
        element: String,
    },
    /// Runs without information on other numbers of ranks.
    #[error(
        "cannot write runs as a program: two of them have {ranks} ranks, expected runs of different numbers of ranks"
    )]
    SameRanks {
        /// How many.
        ranks: usize,
    },
    /// A run that does not repeat itself.
    #[error(
        "cannot write run as a program: {elements} calls that are no rounds of loops, expected at most {}; a schedule (.goal) can hold them",
        program::MAX_ELEMENTS
    )]
    TooManyElements {
        /// How many.
        elements: usize,
    },
    /// Ranks call different collectives at the same place.
    #[error(
        "cannot replay run: collective {number} of the communicator with ranks {members} is {found} in rank {rank}, expected \
         {expected} as in rank {first}; calls are missing in the records"
    )]
    Collective {
        /// Which call of that communicator, from 1.
        number: usize,
        /// The ranks of the communicator.
        members: String,
        /// The rank.
        rank: u32,
        /// Its call.
        found: String,
        /// The first rank's call.
        expected: String,
        /// That rank.
        first: u32,
    },
}

/// # Errors
/// [`ReplayError::NoCalls`].
fn all_have_calls(ranks: &[RecordedRank]) -> Result<(), ReplayError> {
    let none = |rank: &RecordedRank| rank.threads.iter().all(Vec::is_empty);
    match ranks.iter().position(none) {
        None => Ok(()),
        Some(rank) => {
            let ranks = ranks.len();
            Err(ReplayError::NoCalls { rank, ranks })
        }
    }
}

/// The schedule that repeats a run.
///
/// # Arguments
/// * `ranks` - activity of each rank, shape `[n_ranks]`
/// * `library` - library whose algorithms collectives use
///
/// # Errors
/// [`ReplayError`] where ranks have no calls, or collectives that do not fit together.
pub fn replay(ranks: &[RecordedRank], library: Collectives) -> Result<Replay, ReplayError> {
    all_have_calls(ranks)?;
    let mut notes = call::notes(ranks);
    let groups = Groups::of(ranks, &mut notes)?;
    let resolved = Resolved::of(ranks);
    let mut expansions = collectives::Expansions::new(library);
    let mut schedules: Vec<RankSchedule> = Vec::with_capacity(ranks.len());
    for (rank, recorded) in ranks.iter().enumerate() {
        let sources = &resolved[rank];
        schedules.push(RankSchedule::of(
            (rank as u32, recorded),
            sources,
            &groups,
            &mut expansions,
        ));
    }
    let messages = messages::match_all(&mut schedules, &mut notes);
    Ok(Replay {
        goal: goal::text(&schedules),
        messages,
        collectives: groups.n_calls(),
        notes,
    })
}
