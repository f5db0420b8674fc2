//! The end of a schedule: what came of it, or what it waits for.

use crate::engine::outcome::Count;
use crate::engine::schedules::{Run, ScheduleOutcome};
use crate::engine::{Blocked, ProcessResult, SimulationError};
use crate::goal::schedule::{ANY, Kind, Op};

/// Most ranks that a deadlock names.
const MAX_NAMED: usize = 100;

impl Run<'_> {
    /// What came of it.
    ///
    /// # Errors
    /// [`SimulationError::Deadlock`].
    pub(super) fn finish(self) -> Result<ScheduleOutcome, SimulationError> {
        let ranks = 0..self.ranks.len() as u32;
        let is_blocked = |rank: &u32| self.ranks[*rank as usize].left > 0;
        let blocked: Vec<u32> = ranks.filter(is_blocked).collect();
        if !blocked.is_empty() {
            let n_blocked = blocked.len();
            let blocked = blocked
                .into_iter()
                .take(MAX_NAMED)
                .map(|rank| self.blocked(rank))
                .collect();
            return Err(SimulationError::Deadlock { n_blocked, blocked });
        }
        let mut outcome = ScheduleOutcome {
            messages: self.messages,
            events: self.events,
            memory_bytes: self.schedule.memory_bytes()
                + self.queue.bytes()
                + self.lines.bytes()
                + self.pool.bytes(),
            ..ScheduleOutcome::default()
        };
        for (rank, part) in self.ranks.iter().zip(&self.schedule.parts) {
            let (mut work_ns, mut n_work) = (0, 0);
            for at in part.first_op..part.first_op + part.ops as usize {
                let (kind, size) = self.schedule.ops.kind_and_size(at);
                outcome.operations[kind as usize] += 1;
                if kind == Kind::Calc {
                    n_work += 1;
                    work_ns += size;
                }
            }
            let finish_ns = if rank.is_single() {
                rank.processor
            } else {
                let processors = &self.several[rank.form.row()].processors;
                processors.iter().copied().max().unwrap_or(0)
            };
            outcome.unreceived += self.pool.n_unexpected(&rank.waiting);
            outcome.makespan_ns = outcome.makespan_ns.max(finish_ns);
            let [mut work, mut messages] = [Count::default(); 2];
            work.add(n_work, work_ns);
            messages.add(part.ops - n_work, rank.overhead_ns);
            outcome.counts.extend([work, messages]);
            outcome.processes.push(ProcessResult {
                finish_ns,
                work_ns,
                overhead_ns: rank.overhead_ns,
            });
        }
        let sum = |of: fn(&ProcessResult) -> u64| outcome.processes.iter().map(of).sum::<u64>();
        let (work_ns, overhead_ns) = (sum(|p| p.work_ns), sum(|p| p.overhead_ns));
        outcome.times_ns = [work_ns, overhead_ns - self.received_ns, self.received_ns];
        Ok(outcome)
    }

    /// What a rank that does not come to its end waits for.
    fn blocked(&self, rank: u32) -> Blocked {
        let state = &self.ranks[rank as usize];
        let since_ns = if state.is_single() {
            state.processor
        } else {
            self.several[state.form.row()].processors[0]
        };
        let (element, waits_for) = match self.pool.first_posted(&state.waiting) {
            Some(op) => {
                let Op { peer, tag, .. } = self.op(rank, op);
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
            process: rank,
            element,
            place: format!("rank {rank}"),
            waits_for,
            since_ns,
        }
    }
}
