//! State of each process, in the two engines that visit a process instead of each event (`eager`, `fixed_distances`).

use crate::engine::outcome::{Count, EngineChoice, Outcome, ProcessResult};
use crate::engine::programs::process::{Completions, WaitState};
use crate::engine::programs::visits::Totals;
use crate::events::NEVER;
use crate::events::messages::NIL;
use crate::events::posted::PostedReceives;
use crate::events::prefetch::{prefetch, prefetch_all};
use crate::events::tie_break::TieBreak;
use mastermind_programs::huge_pages::vec_of;
use mastermind_programs::{Mode, Operation, Program};

/// The processes of a run.
pub(super) struct Ranks {
    pub(super) ranks: Vec<Rank>,
    /// By process and variable.
    slots: Vec<f64>,
    /// Variables of a process.
    width: usize,
    /// By process and element.
    counts: Vec<Count>,
    n_elements: usize,
    /// By process, where receives may be nonblocking; empty otherwise.
    pub(super) posted: Vec<PostedReceives>,
    /// By process, where the program waits for any of its receives; empty otherwise.
    completions: Vec<Completions>,
}

/// The process that is visited.
pub(super) struct ProcessView<'r> {
    pub(super) process: u32,
    pub(super) rank: &'r mut Rank,
    pub(super) slots: &'r mut [f64],
    /// By element.
    pub(super) counts: &'r mut [Count],
    /// Where receives may be nonblocking.
    pub(super) posted: Option<&'r mut PostedReceives>,
    /// Where the program waits for any of them.
    pub(super) completions: Option<&'r mut Completions>,
}

impl Ranks {
    /// # Arguments
    /// * `step_of` - the step of an engine's own that an operation of the program begins with
    pub(super) fn new(program: &Program, step_of: impl Fn(u32) -> u32) -> Self {
        let n = program.system.processes as usize;
        let (width, n_elements) = (program.slots as usize, program.elements.len());
        let mut ranks = vec_of(Rank::new(), n);
        for (rank, start) in ranks.iter_mut().zip(&program.starts) {
            rank.at = step_of(*start);
        }
        let is_nonblocking = |operation: &Operation| matches!(operation, Operation::Receive { mode, .. } if *mode != Mode::Blocking);
        let is_wait_any = |operation: &Operation| matches!(operation, Operation::WaitAny { .. });
        let n_if = |is: &dyn Fn(&Operation) -> bool| match program.operations.iter().any(is) {
            true => n,
            false => 0,
        };
        Self {
            ranks,
            slots: vec_of(0.0, n * width),
            width,
            counts: vec_of(Count::default(), n * n_elements),
            n_elements,
            posted: vec_of(PostedReceives::default(), n_if(&is_nonblocking)),
            completions: vec![Completions::default(); n_if(&is_wait_any)],
        }
    }

    #[inline(always)]
    pub(super) fn view(&mut self, process: u32) -> ProcessView<'_> {
        let at = process as usize;
        ProcessView {
            process,
            rank: &mut self.ranks[at],
            slots: &mut self.slots[at * self.width..][..self.width],
            counts: &mut self.counts[at * self.n_elements..][..self.n_elements],
            posted: self.posted.get_mut(at),
            completions: self.completions.get_mut(at),
        }
    }

    /// Prefetches the state for a visit to a process.
    #[inline(always)]
    pub(super) fn prefetch(&self, process: u32) {
        let at = process as usize;
        prefetch(&self.ranks[at]);
        prefetch(&self.ranks[at].since);
        self.posted.get(at).into_iter().for_each(prefetch);
        prefetch_all(&self.slots[at * self.width..][..self.width]);
        prefetch_all(&self.counts[at * self.n_elements..][..self.n_elements]);
    }

    /// Result of a run.
    ///
    /// # Arguments
    /// * `left` - messages that were never received, and receives that no message came for
    /// * `most_messages`, `state_bytes` - messages at once, and memory of all but the processes
    pub(super) fn outcome(
        self,
        program: &Program,
        engine: EngineChoice,
        totals: Totals,
        [unreceived, unmatched]: [u64; 2],
        (most_messages, state_bytes): (usize, usize),
    ) -> Outcome {
        let processes: Vec<_> = self.ranks.iter().map(Rank::result).collect();
        Outcome {
            engine,
            makespan_ns: processes.iter().map(|p| p.finish_ns).max().unwrap_or(0),
            elements: program.elements.clone(),
            messages: totals.messages,
            events: totals.events,
            ties: totals.ties,
            unreceived,
            unmatched,
            memory_bytes: self.memory_bytes() + state_bytes,
            most_messages,
            processes,
            counts: self.counts,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.ranks.len() * size_of::<Rank>()
            + self.slots.len() * 8
            + self.counts.len() * size_of::<Count>()
            + self.posted.len() * size_of::<PostedReceives>()
            + self.completions.len() * size_of::<Completions>()
    }
}

/// A process: two cache lines. A clock is the time from which on its resource is free.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Rank {
    pub(super) processor: u64,
    /// When its operation is due, [`NEVER`] while it waits.
    pub(super) due: u64,
    /// Tie-break key of that.
    pub(super) tie_break: TieBreak,
    pub(super) receiving: u64,
    pub(super) sending: u64,
    /// Begin of its operation.
    pub(super) since: u64,
    pub(super) work: u64,
    pub(super) overhead: u64,
    /// Its step.
    pub(super) at: u32,
    /// Rank whose message it waits for; in `eager` also the destination of the send that is due.
    pub(super) peer: u32,
    /// The tag of that message.
    pub(super) tag: i32,
    /// Destination of its next message; in `fixed_distances` only.
    pub(super) to: u32,
    /// Messages in flight: a heap or a list by arrival.
    pub(super) arrivals: u32,
    /// Messages that are there and wait for the processor and the interface: a heap by tie-break key.
    pub(super) waiting: u32,
    /// The last of its unexpected messages in `eager`, the first one in `fixed_distances`.
    pub(super) unexpected: u32,
    /// The last of the nonblocking receives that no message came for and that found no place in line.
    pub(super) posted: u32,
    /// Nonblocking receives that are not complete, and those inside a collective.
    pub(super) pending: [u16; 2],
    pub(super) wait_state: WaitState,
    /// Its possible receivers, in the form of [`Bound`](crate::engine::programs::horizon::Bound).
    pub(super) receivers: u8,
    /// Whether that must be computed again.
    pub(super) is_redirected: bool,
}

impl Rank {
    fn new() -> Self {
        Self {
            processor: 0,
            due: NEVER,
            tie_break: TieBreak::START,
            receiving: 0,
            sending: 0,
            since: 0,
            work: 0,
            overhead: 0,
            at: 0,
            peer: NIL,
            tag: 0,
            to: NIL,
            arrivals: NIL,
            waiting: NIL,
            unexpected: NIL,
            posted: NIL,
            pending: [0; 2],
            wait_state: WaitState::Ready,
            receivers: 0,
            is_redirected: true,
        }
    }

    /// From when on it can take a message.
    #[inline(always)]
    pub(super) fn free(&self) -> u64 {
        self.processor.max(self.receiving)
    }

    fn result(&self) -> ProcessResult {
        ProcessResult {
            finish_ns: self.processor,
            work_ns: self.work,
            overhead_ns: self.overhead,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_is_two_cache_lines() {
        assert_eq!(size_of::<super::Rank>(), 128);
    }
}
