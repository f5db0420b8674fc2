//! The results of a run.

use crate::engine::error::{Blocked, SimulationError};
use crate::engine::limits::Limits;
use crate::engine::outcome::{Count, Outcome, ProcessResult};
use crate::engine::programs::process::{Completions, Process, WaitState};
use crate::engine::programs::run::Engine;
use crate::events::messages::ANYBODY;
use crate::events::posted::PostedReceives;
use crate::events::shared_links::SharedLinks;
use mastermind_programs::{Mode, Operation};

/// Most processes that a deadlock names.
const MAX_NAMED: usize = 100;

impl Engine<'_> {
    pub(crate) fn finish(self) -> Result<Outcome, SimulationError> {
        let waiting = |p: &&Process| p.wait_state != WaitState::Ended;
        let n_blocked = self.processes.iter().filter(waiting).count();
        if n_blocked > 0 {
            let ranks = 0..self.processes.len() as u32;
            let ranks = ranks.filter(|i| waiting(&&self.processes[*i as usize]));
            let blocked = ranks.take(MAX_NAMED).map(|i| self.blocked(i)).collect();
            return Err(SimulationError::Deadlock { n_blocked, blocked });
        }
        let processes = self.processes.iter().map(|p| ProcessResult {
            finish_ns: p.processor,
            work_ns: p.work,
            overhead_ns: p.overhead,
        });
        let processes: Vec<_> = processes.collect();
        let lists = |last: fn(&Process) -> u32| -> u64 {
            let lists = self
                .processes
                .iter()
                .map(|p| self.pool.list(last(p)).count());
            lists.sum::<usize>() as u64
        };
        let makespan_ns = processes.iter().map(|p| p.finish_ns).max().unwrap_or(0);
        Limits::check_clock(self.events, makespan_ns)?;
        Ok(Outcome {
            engine: self.choice,
            makespan_ns,
            elements: self.elements.to_vec(),
            messages: self.messages,
            events: self.events,
            ties: self.ties,
            unreceived: lists(|p| p.unexpected),
            unmatched: lists(|p| p.posted)
                + self
                    .posted_lines
                    .iter()
                    .map(PostedReceives::len)
                    .sum::<u64>(),
            memory_bytes: self.memory_bytes(),
            most_messages: self.pool.most(),
            processes,
            counts: self.counts,
        })
    }

    fn memory_bytes(&self) -> usize {
        self.processes.len() * size_of::<Process>()
            + self.slots.len() * 8
            + self.counts.len() * size_of::<Count>()
            + self.pool.bytes()
            + self.calendar.bytes()
            + self.shared_links.as_ref().map_or(0, SharedLinks::bytes)
            + self.posted_lines.len() * size_of::<PostedReceives>()
            + self.completions.len() * size_of::<Completions>()
    }

    fn blocked(&self, process: u32) -> Blocked {
        let p = &self.processes[process as usize];
        let (element, waits_for) = match &self.operations[p.at as usize] {
            Operation::Send { element, .. } => (*element, "the receiver of a large message".into()),
            Operation::Receive { element, .. } => {
                let from = match p.peer {
                    ANYBODY => format!("any process, tag {}", p.tag),
                    peer => format!("process {peer}, tag {}", p.tag),
                };
                (*element, format!("a message from {from}"))
            }
            Operation::Wait { element, mode } => {
                let pending = p.pending[usize::from(*mode == Mode::Internal)];
                (*element, format!("{pending} nonblocking operations"))
            }
            Operation::WaitAny { element, .. } => {
                (*element, "any of its nonblocking receives".into())
            }
            _ => (0, "nothing that is known".into()),
        };
        let info = self.info(element);
        Blocked {
            process,
            element: info.name.clone(),
            place: info.place.clone(),
            waits_for,
            since_ns: p.since,
        }
    }
}
