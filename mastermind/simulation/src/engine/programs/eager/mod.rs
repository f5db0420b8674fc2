//! The engine for programs whose messages are all eager, on nodes that are not oversubscribed.
//!
//! It gives the same times and counts the same events as the engine for all programs; what it does not need is left out of
//! its state and its steps (`code`). A program that does not come to its end is given up here, and the engine for all programs runs it
//! again and reports why.
//!
//! Nothing that arrives makes a process send but the messages that it waits for. So a process is visited when it may send next at the
//! earliest, and then takes all that came, in order: when its operation is due, when the message of its blocking receive is
//! there, or when as many messages are there as its nonblocking receives lack. Who sends touches nothing of the receiver's state but
//! its [`Mailbox`] (`mailbox`).
//!
//! A visit (`visit`) goes on beyond the window as long as nobody can send to the process: where the program tells who may send to
//! whom, a table holds when each of the neighbours may send next, and to which of theirs as far as their variables say (`horizon`,
//! `neighbours`); an event that was scheduled before anything that can still be sent is taken before that. What a process has of its own
//! (`ProcessView`) and what all share (`EagerState`) are apart, so that a visit works in place. Tests hold both engines together.

mod code;
mod mailbox;
mod operations;
mod rank;
mod visit;

use crate::engine::error::BoxedError;
use crate::engine::limits::Limits;
use crate::engine::outcome::{Count, EngineChoice, Outcome, Progress};
use crate::engine::programs::horizon::Horizons;
use crate::engine::programs::neighbours::{is_eager, neighbours};
use crate::engine::programs::prefetch::MIN_PROCESSES;
use crate::engine::programs::process::{Completions, WaitState};
use crate::engine::programs::run::PROGRESS_EVERY;
use crate::events::calendar::Calendar;
use crate::events::huge_pages::vec_of;
use crate::events::lists::ListIndex;
use crate::events::messages::{MessagePool, NIL};
use crate::events::posted::PostedReceives;
use crate::events::prefetch::{prefetch, prefetch_all};
use crate::machine::Machine;
use crate::program::{Mode, Operation, Program};
use code::Code;
use mailbox::Mailbox;
use rank::Rank;
use visit::{EagerState, ProcessView};

/// How many visits ahead the state of a process is fetched, how many the messages that it names, and how many the message behind
/// the first that came.
const STATE_AHEAD: usize = 6;
const MESSAGES_AHEAD: usize = 3;
const NEXT_AHEAD: usize = 1;

/// Runs a program on a machine whose nodes are not oversubscribed; `None` where it is not of this kind or does not come to its end.
pub(super) fn run(
    program: &Program,
    machine: &Machine,
    lookahead_ns: u64,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Option<Result<Outcome, BoxedError>> {
    if !is_eager(program, machine) {
        return None;
    }
    let neighbours = neighbours(program, machine);
    let directs = match &neighbours {
        Some(neighbours) => neighbours.directs.clone(),
        None => vec![false; program.slots as usize],
    };
    let code = Code::of(program, machine, &directs)?;
    let horizons = neighbours.map(|mut known| {
        known.work_before_send_ns = code.by_step(&known.work_before_send_ns);
        Horizons::new(known, program.system.processes as usize, lookahead_ns)
    });
    let mut eager = Eager::new(program, machine, (&code, horizons), lookahead_ns);
    for process in 0..eager.ranks.len() as u32 {
        let (state, mut view) = eager.at(process);
        state.start(&mut view)?;
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(process) = eager.next() {
        eager.prefetch();
        let begin_ns = eager.state.calendar.begin_ns();
        if let Err(stopped) = limits.check(eager.state.events, begin_ns) {
            return Some(Err(stopped));
        }
        let (state, mut view) = eager.at(process);
        state.visit(&mut view)?;
        if state.events >= next_report {
            next_report = state.events + PROGRESS_EVERY;
            progress(Progress {
                now_ns: state.calendar.end_ns(),
                events: state.events,
            });
        }
    }
    // The last visit may have gone far.
    if let Err(stopped) = limits.check(eager.state.events, 0) {
        return Some(Err(stopped));
    }
    for process in 0..eager.ranks.len() as u32 {
        let (state, mut view) = eager.at(process);
        state.drain(&mut view)?;
    }
    eager.finish(program).map(Ok)
}

/// What each process has of its own, and what they share.
struct Eager<'a> {
    ranks: Vec<Rank>,
    /// By process and variable.
    slots: Vec<f64>,
    /// Variables of a process.
    width: usize,
    /// By process and element.
    counts: Vec<Count>,
    n_elements: usize,
    /// By process, where receives may be nonblocking; empty otherwise.
    posted: Vec<PostedReceives>,
    /// By process, where the program waits for any of its receives; empty otherwise.
    completions: Vec<Completions>,
    state: EagerState<'a>,
}

impl<'a> Eager<'a> {
    fn new(
        program: &'a Program,
        machine: &'a Machine,
        (code, horizons): (&'a Code, Option<Horizons>),
        lookahead_ns: u64,
    ) -> Self {
        let system = program.system;
        let n = system.processes as usize;
        let (width, n_elements) = (program.slots as usize, program.elements.len());
        let mut ranks = vec_of(Rank::new(), n);
        for (rank, start) in ranks.iter_mut().zip(&program.starts) {
            rank.at = code.begins[*start as usize];
        }
        let is_nonblocking = |operation: &Operation| matches!(operation, Operation::Receive { mode, .. } if *mode != Mode::Blocking);
        let is_wait_any = |operation: &Operation| matches!(operation, Operation::WaitAny { .. });
        let n_if = |is: &dyn Fn(&Operation) -> bool| match program.operations.iter().any(is) {
            true => n,
            false => 0,
        };
        let least_receive_ns = machine.links().map(|link| link.receive_overhead_ns).min();
        Self {
            ranks,
            slots: vec_of(0.0, n * width),
            width,
            counts: vec_of(Count::default(), n * n_elements),
            n_elements,
            posted: vec_of(PostedReceives::default(), n_if(&is_nonblocking)),
            completions: vec![Completions::default(); n_if(&is_wait_any)],
            state: EagerState {
                code,
                scratch: code.scratch.clone(),
                machine,
                n_processes: system.processes,
                per_node: system.processes_per_node(),
                horizons,
                lookahead_ns,
                least_receive_ns: least_receive_ns.unwrap_or(0),
                mailboxes: vec_of(Mailbox::default(), n),
                pool: MessagePool::default(),
                unexpected_index: ListIndex::default(),
                posted_index: ListIndex::default(),
                calendar: Calendar::new(n, lookahead_ns),
                messages: 0,
                events: 0,
                ties: 0,
            },
        }
    }

    #[inline]
    fn at(&mut self, process: u32) -> (&mut EagerState<'a>, ProcessView<'_>) {
        let at = process as usize;
        let view = ProcessView {
            process,
            rank: &mut self.ranks[at],
            slots: &mut self.slots[at * self.width..][..self.width],
            counts: &mut self.counts[at * self.n_elements..][..self.n_elements],
            posted: self.posted.get_mut(at),
            completions: self.completions.get_mut(at),
        };
        (&mut self.state, view)
    }

    /// The process to be visited next.
    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(process) = self.state.calendar.next_of_window() {
                return Some(process);
            }
            self.state.calendar.advance(None)?;
        }
    }

    /// Fetches what the next visits need while the present one goes on.
    #[inline]
    fn prefetch(&self) {
        if self.ranks.len() < MIN_PROCESSES {
            return;
        }
        let state = &self.state;
        if let Some(later) = state.calendar.upcoming(STATE_AHEAD) {
            let at = later as usize;
            prefetch(&self.ranks[at]);
            prefetch(&self.ranks[at].since);
            state.calendar.prefetch(later);
            prefetch(&state.mailboxes[at]);
            if let Some(horizons) = &state.horizons {
                horizons.prefetch(later);
            }
            self.posted.get(at).into_iter().for_each(prefetch);
            prefetch_all(&self.slots[at * self.width..][..self.width]);
            prefetch_all(&self.counts[at * self.n_elements..][..self.n_elements]);
        }
        if let Some(next) = state.calendar.upcoming(MESSAGES_AHEAD) {
            let rank = &self.ranks[next as usize];
            let inbox = state.mailboxes[next as usize].inbox;
            for first in [inbox, rank.arrivals, rank.waiting, rank.unexpected] {
                if first != NIL {
                    prefetch(state.pool.get(first));
                }
            }
        }
        if let Some(next) = state.calendar.upcoming(NEXT_AHEAD) {
            let inbox = state.mailboxes[next as usize].inbox;
            if inbox != NIL {
                let behind = state.pool.get(inbox).next;
                if behind != NIL {
                    prefetch(state.pool.get(behind));
                }
            }
        }
    }

    fn finish(self, program: &Program) -> Option<Outcome> {
        let has_ended = |rank: &Rank| rank.wait_state == WaitState::Ended;
        if !self.ranks.iter().all(has_ended) {
            return None;
        }
        let state = &self.state;
        let length = |last: u32| state.pool.list(last).count() as u64;
        let unexpected = self.ranks.iter().map(|rank| length(rank.unexpected));
        let posted = self.ranks.iter().map(|rank| length(rank.posted));
        let in_line = self.posted.iter().map(PostedReceives::len);
        let processes: Vec<_> = self.ranks.iter().map(Rank::result).collect();
        Some(Outcome {
            engine: EngineChoice::Eager,
            makespan_ns: processes.iter().map(|p| p.finish_ns).max().unwrap_or(0),
            elements: program.elements.clone(),
            messages: state.messages,
            events: state.events,
            ties: state.ties,
            unreceived: unexpected.sum(),
            unmatched: posted.chain(in_line).sum(),
            memory_bytes: self.memory_bytes(),
            processes,
            counts: self.counts,
        })
    }

    fn memory_bytes(&self) -> usize {
        self.ranks.capacity() * size_of::<Rank>()
            + self.slots.capacity() * 8
            + self.counts.capacity() * size_of::<Count>()
            + self.posted.capacity() * size_of::<PostedReceives>()
            + self.completions.capacity() * size_of::<Completions>()
            + self.state.memory_bytes()
    }
}
