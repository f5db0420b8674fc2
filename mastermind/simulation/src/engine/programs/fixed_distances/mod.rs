//! The engine for programs whose messages are all eager and blocking, to ranks at distances that the program
//! determines, on machines without noise: grids and rings, wavefronts above all.
//!
//! The engine for all eager programs (`eager`) could run them too, and gives the same times and counts the same events.
//! This one is kept since it is faster if a message needs little else: on a quiet machine it simulates 8.4 to 8.9
//! million messages of a wavefront a CPU second, the other one 3.8 to 4.9 (`benches/sweep.rs`). Its state and its steps
//! contain only what it needs. It gives up a program that does not come to its end, or that receives from any process,
//! and the others run it again.
//!
//! Of the messages that arrive, only the one that a process waits for makes it send. So a process is visited when that
//! message has come, or when its own operation is due, and then takes the messages that came in between, in order.
//!
//! A process is visited once a block rather than at each event. It continues alone, beyond the window, as long as no
//! rank can send to it: a table holds when each of its neighbours may send next, and to which of theirs as far as their
//! variables determine it (`horizon`, `neighbours`); an event that was scheduled before any message that can still be
//! sent is taken before that. A process's own state (`ProcessView`) and the shared state (`SharedState`) are separate,
//! so that a visit works in place. A test compares it with the engine for all programs.

mod calendar;
mod message;
mod step;
mod visit;

use crate::engine::error::BoxedError;
use crate::engine::limits::Limits;
use crate::engine::outcome::{Outcome, Progress};
use crate::engine::programs::horizon::Horizons;
use crate::engine::programs::neighbours::neighbours;
use crate::engine::programs::ranks::Ranks;
use crate::engine::programs::visits::{self, Totals};
use crate::machine::Machine;
use calendar::Calendar;
use mastermind_programs::Program;
use mastermind_programs::huge_pages::vec_of;
use message::{Inbox, Pool};
use step::steps;
use visit::SharedState;

/// Runs a program on a machine whose nodes are not oversubscribed; `None` if the program is of another form or does not
/// come to its end.
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
    let neighbours = neighbours(program, machine)?;
    let system = program.system;
    let n = system.processes as usize;
    let state = SharedState {
        steps: steps(program, machine, &neighbours.directs)?,
        n_processes: system.processes,
        per_node: system.processes_per_node(),
        horizons: Horizons::new(neighbours, n, lookahead_ns),
        inboxes: vec_of(Inbox::default(), n),
        pool: Pool::default(),
        calendar: Calendar::new(n, lookahead_ns),
        totals: Totals::default(),
    };
    let ranks = Ranks::new(program, |start| start);
    visits::run(program, (ranks, state), limits, progress)
}
