//! The engine for programs whose messages are all eager and blocking, to ranks at distances that the program tells, on machines without
//! noise: grids and rings, wavefronts above all.
//!
//! The engine for all eager programs (`eager`) could run them too, and gives the same times and counts the same events. This one is kept since it
//! is faster where a message takes little else: on a quiet machine it simulates 8.4 to 8.9 million messages of a wavefront a CPU second,
//! that one 3.8 to 4.9 (`benches/sweep.rs`). What it does not need is left out of its state and its steps. A program that does
//! not come to its end, or that receives from any process, is given up here, and the others run it again.
//!
//! Nothing that arrives makes a process send but the message that it waits for. So a process is visited when that message has
//! come, or when its own operation is due, and then takes what came in between, in order.
//!
//! A process is visited once a block rather than at each event. It goes on alone, beyond the window, as long as nobody can send to it: a table
//! holds when each of its neighbours may send next, and to which of theirs as far as their variables say (`horizon`, `neighbours`); an event
//! that was scheduled before anything that can still be sent is taken before that. What a process has of its own (`ProcessView`) and what all
//! share (`SharedState`) are apart, so that a visit works in place. A test holds it and the engine for all programs together.

mod calendar;
mod message;
mod rank;
mod step;
mod visit;

use crate::engine::error::BoxedError;
use crate::engine::limits::Limits;
use crate::engine::outcome::{Count, EngineChoice, Outcome, Progress};
use crate::engine::programs::horizon::Horizons;
use crate::engine::programs::neighbours::neighbours;
use crate::engine::programs::run::PROGRESS_EVERY;
use crate::events::huge_pages::vec_of;
use crate::events::messages::NIL;
use crate::events::prefetch::{prefetch, prefetch_all};
use crate::machine::Machine;
use crate::program::Program;
use calendar::Calendar;
use message::{Inbox, Pool};
use rank::Rank;
use step::steps;
use visit::{ProcessView, SharedState};

/// Runs a program on a machine whose nodes are not oversubscribed; `None` where it is not of this kind or does not come to its end.
pub(super) fn run(
    program: &Program,
    machine: &Machine,
    lookahead_ns: u64,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Option<Result<Outcome, BoxedError>> {
    if machine.noise.is_some() {
        return None;
    }
    let mut engine = FixedDistances::new(program, machine, lookahead_ns)?;
    for process in 0..engine.ranks.len() as u32 {
        let (state, mut view) = engine.at(process);
        state.start(&mut view)?;
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(process) = engine.state.calendar.next() {
        engine.prefetch();
        let begin_ns = engine.state.calendar.begin_ns();
        if let Err(stopped) = limits.check(engine.state.events, begin_ns) {
            return Some(Err(stopped));
        }
        let (state, mut view) = engine.at(process);
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
    if let Err(stopped) = limits.check(engine.state.events, 0) {
        return Some(Err(stopped));
    }
    for process in 0..engine.ranks.len() as u32 {
        let (state, mut view) = engine.at(process);
        state.drain(&mut view)?;
    }
    engine.finish(program).map(Ok)
}

/// What each process has of its own, and what they share.
struct FixedDistances<'a> {
    ranks: Vec<Rank>,
    /// By process and variable.
    slots: Vec<f64>,
    /// Variables of a process.
    width: usize,
    /// By process and element.
    counts: Vec<Count>,
    n_elements: usize,
    state: SharedState<'a>,
}

impl<'a> FixedDistances<'a> {
    fn new(program: &'a Program, machine: &Machine, lookahead_ns: u64) -> Option<Self> {
        let neighbours = neighbours(program, machine)?;
        let steps = steps(program, machine, &neighbours.directs)?;
        let system = program.system;
        let n = system.processes as usize;
        let (width, n_elements) = (program.slots as usize, program.elements.len());
        let mut ranks = vec_of(Rank::new(), n);
        for (rank, start) in ranks.iter_mut().zip(&program.starts) {
            rank.at = *start;
        }
        Some(Self {
            ranks,
            slots: vec_of(0.0, n * width),
            width,
            counts: vec_of(Count::default(), n * n_elements),
            n_elements,
            state: SharedState {
                steps,
                n_processes: system.processes,
                per_node: system.processes_per_node(),
                horizons: Horizons::new(neighbours, n, lookahead_ns),
                inboxes: vec_of(Inbox::default(), n),
                pool: Pool::default(),
                calendar: Calendar::new(n, lookahead_ns),
                messages: 0,
                events: 0,
                ties: 0,
            },
        })
    }

    #[inline]
    fn at(&mut self, process: u32) -> (&mut SharedState<'a>, ProcessView<'_>) {
        let at = process as usize;
        let view = ProcessView {
            process,
            rank: &mut self.ranks[at],
            slots: &mut self.slots[at * self.width..][..self.width],
            counts: &mut self.counts[at * self.n_elements..][..self.n_elements],
        };
        (&mut self.state, view)
    }

    /// Fetches what the next visits need while the present one goes on.
    #[inline]
    fn prefetch(&self) {
        let state = &self.state;
        let [next, _, later] = state.calendar.upcoming();
        if let Some(next) = next {
            let (rank, inbox) = (&self.ranks[next as usize], &state.inboxes[next as usize]);
            for first in [inbox.first, inbox.rest, rank.arrivals, rank.unexpected] {
                if first != NIL {
                    prefetch(state.pool.get(first));
                }
            }
        }
        if let Some(later) = later {
            let at = later as usize;
            prefetch(&self.ranks[at]);
            prefetch(&self.ranks[at].since);
            state.calendar.prefetch(later);
            prefetch(&state.inboxes[at]);
            state.horizons.prefetch(later);
            prefetch_all(&self.slots[at * self.width..][..self.width]);
            prefetch_all(&self.counts[at * self.n_elements..][..self.n_elements]);
        }
    }

    fn finish(self, program: &Program) -> Option<Outcome> {
        if !self.ranks.iter().all(Rank::has_ended) {
            return None;
        }
        let state = &self.state;
        let unexpected = self
            .ranks
            .iter()
            .map(|rank| state.pool.length(rank.unexpected));
        let processes: Vec<_> = self.ranks.iter().map(Rank::result).collect();
        Some(Outcome {
            engine: EngineChoice::FixedDistances,
            makespan_ns: processes.iter().map(|p| p.finish_ns).max().unwrap_or(0),
            elements: program.elements.clone(),
            messages: state.messages,
            events: state.events,
            ties: state.ties,
            unreceived: unexpected.sum(),
            unmatched: 0,
            memory_bytes: self.memory_bytes(),
            processes,
            counts: self.counts,
        })
    }

    fn memory_bytes(&self) -> usize {
        self.ranks.capacity() * size_of::<Rank>()
            + self.slots.capacity() * 8
            + self.counts.capacity() * size_of::<Count>()
            + self.state.memory_bytes()
    }
}
