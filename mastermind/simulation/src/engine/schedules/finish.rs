//! The end of a schedule: its outcome, or the operations that it waits for.

use crate::engine::outcome::Count;
use crate::engine::schedules::matching::{Pool, Waiting};
use crate::engine::schedules::{Run, ScheduleOutcome};
use crate::engine::{Blocked, Limits, ProcessResult, SimulationError};
use crate::events::shared_links::SharedLinks;
use mastermind_programs::goal::{ANY, Kind, Op, Schedule};

/// Most ranks that a deadlock names.
const MAX_NAMED: usize = 100;

/// How a rank has ended.
pub(super) struct Ended {
    /// Operations that have not.
    pub(super) left: u32,
    pub(super) waiting: Waiting,
    /// When the last of its processors was free, nanoseconds.
    pub(super) finish_ns: u64,
    /// Processor time of messages, nanoseconds.
    pub(super) overhead_ns: u64,
    /// By how much noise lengthened its calculations, nanoseconds.
    pub(super) noise_ns: u64,
}

/// Outcome of a schedule.
///
/// # Arguments
/// * `received_ns` - overhead of received messages, of all ranks
/// * `ended` - how a rank has ended
///
/// # Errors
/// [`SimulationError::Deadlock`].
pub(super) fn outcome_of(
    schedule: &Schedule,
    pool: &Pool,
    received_ns: u64,
    ended: impl Fn(usize) -> Ended,
) -> Result<ScheduleOutcome, SimulationError> {
    let n_blocked = (0..schedule.ranks())
        .filter(|rank| ended(*rank).left > 0)
        .count();
    if n_blocked > 0 {
        let blocked = (0..schedule.ranks())
            .filter(|rank| ended(*rank).left > 0)
            .take(MAX_NAMED)
            .map(|rank| blocked(schedule, pool, rank, &ended(rank)))
            .collect();
        return Err(SimulationError::Deadlock { n_blocked, blocked });
    }
    let mut outcome = ScheduleOutcome::default();
    let (mut all_work_ns, mut all_overhead_ns) = (0_u64, 0_u64);
    for (rank, part) in schedule.parts.iter().enumerate() {
        let Ended {
            waiting,
            finish_ns,
            overhead_ns,
            noise_ns,
            ..
        } = ended(rank);
        let (mut work_ns, mut n_work) = (noise_ns, 0);
        for at in part.first_op..part.first_op + part.ops as usize {
            let (kind, size) = schedule.ops.kind_and_size(at);
            outcome.operations[kind as usize] += 1;
            if kind == Kind::Calc {
                n_work += 1;
                work_ns += size;
            }
        }
        outcome.unreceived += pool.n_unexpected(&waiting);
        outcome.makespan_ns = outcome.makespan_ns.max(finish_ns);
        let [mut work, mut messages] = [Count::default(); 2];
        work.add(n_work, work_ns);
        messages.add(part.ops - n_work, overhead_ns);
        outcome.counts.extend([work, messages]);
        outcome.processes.push(ProcessResult {
            finish_ns,
            work_ns,
            overhead_ns,
        });
        all_work_ns += work_ns;
        all_overhead_ns = all_overhead_ns.wrapping_add(overhead_ns);
    }
    let sent_ns = all_overhead_ns.wrapping_sub(received_ns);
    outcome.times_ns = [all_work_ns, sent_ns, received_ns];
    Ok(outcome)
}

/// The operation that a blocked rank waits for.
fn blocked(schedule: &Schedule, pool: &Pool, rank: usize, ended: &Ended) -> Blocked {
    let (element, waits_for) = match pool.first_posted(&ended.waiting) {
        Some(op) => {
            let first = schedule.parts[rank].first_op;
            let Op { peer, tag, .. } = schedule.ops.get(first + op as usize);
            let any = |number: u32| match number {
                ANY => "any".to_owned(),
                number => number.to_string(),
            };
            (
                format!("operation {}", op + 1),
                format!("a message from rank {}, tag {}", any(peer), any(tag)),
            )
        }
        None => (
            "an operation".to_owned(),
            "another one, or a receiver".to_owned(),
        ),
    };
    Blocked {
        process: rank as u32,
        element,
        place: format!("rank {rank}"),
        waits_for,
        since_ns: ended.finish_ns,
    }
}

impl Run<'_, '_> {
    /// Outcome of the run.
    ///
    /// # Errors
    /// [`SimulationError::Deadlock`]; [`SimulationError::Limit`] behind the longest time.
    pub(super) fn finish(self) -> Result<ScheduleOutcome, SimulationError> {
        let ended = |rank: usize| {
            let state = &self.ranks[rank];
            let finish_ns = if state.is_single() {
                state.processor
            } else {
                let processors = &self.several[state.form.row()].processors;
                processors.iter().copied().max().unwrap_or(0)
            };
            Ended {
                left: state.left,
                waiting: state.waiting,
                finish_ns,
                overhead_ns: state.overhead_ns,
                noise_ns: self.noise_ns.get(rank).copied().unwrap_or(0),
            }
        };
        let outcome = outcome_of(&self.schedule, &self.pool, self.received_ns, ended)?;
        Limits::check_clock(self.events, outcome.makespan_ns)?;
        Ok(ScheduleOutcome {
            messages: self.messages,
            events: self.events,
            memory_bytes: self.schedule.memory_bytes()
                + self.queue.bytes()
                + self.deferred.bytes()
                + self.shared_links.as_ref().map_or(0, SharedLinks::bytes)
                + self.pool.bytes(),
            ..outcome
        })
    }
}
