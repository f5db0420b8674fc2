//! The engine for programs whose messages are all eager, on nodes that are not oversubscribed.
//!
//! It gives the same times and counts the same events as the engine for all programs; what it does not need is left out of
//! its state and its steps (`code`, `timeless`). A program that does not come to its end is given up here, and the engine for all programs runs it
//! again and reports why.
//!
//! Nothing that arrives makes a process send but the messages that it waits for. So a process is visited when it may send next at the
//! earliest, and then takes all that came, in order: when its operation is due, when the message of its blocking receive is
//! there, or when as many messages are there as its nonblocking receives lack. Who sends touches nothing of the receiver's state but
//! its [`Mailbox`] (`mailbox`), and where there are many processes some visits later, when that has been fetched.
//!
//! A visit (`visit`) goes on beyond the window as long as nobody can send to the process: where the program tells who may send to
//! whom, a table holds when each of the neighbours may send next, and to which of theirs as far as their variables say (`horizon`,
//! `neighbours`); an event that was scheduled before anything that can still be sent is taken before that. What a process has of its own
//! (`ProcessView`) and what all share (`EagerState`) are apart, so that a visit works in place. Tests hold both engines together.

mod code;
mod mailbox;
mod operations;
mod timeless;
mod visit;

use std::collections::VecDeque;

use crate::engine::error::BoxedError;
use crate::engine::limits::Limits;
use crate::engine::outcome::{Outcome, Progress};
use crate::engine::programs::horizon::Horizons;
use crate::engine::programs::neighbours::{is_eager, neighbours};
use crate::engine::programs::ranks::Ranks;
use crate::engine::programs::visits::{self, Totals};
use crate::events::calendar::Calendar;
use crate::events::lists::ListIndex;
use crate::events::messages::MessagePool;
use crate::machine::Machine;
use code::Code;
use mailbox::Mailbox;
use mastermind_programs::Program;
use mastermind_programs::huge_pages::vec_of;
use visit::{EagerState, MIN_OUTBOX, NOBODY_AHEAD, STATE_AHEAD};

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
    let system = program.system;
    let n = system.processes as usize;
    let neighbours = neighbours(program, machine);
    let directs = match &neighbours {
        Some(neighbours) => neighbours.directs.clone(),
        None => vec![false; program.slots as usize],
    };
    let code = Code::of(program, machine, &directs)?;
    let horizons = neighbours.map(|mut known| {
        known.work_before_send_ns = code.by_step(&known.work_before_send_ns);
        Horizons::new(known, n, lookahead_ns)
    });
    let least_receive_ns = machine.links().map(|link| link.receive_overhead_ns).min();
    // Otherwise no two sends of a process begin at the same time.
    let is_numbered = machine
        .links()
        .any(|link| link.send_overhead_ns.max(link.gap_ns) == 0);
    // How far a process may run ahead hangs on what has been delivered.
    let outbox = (n >= MIN_OUTBOX && horizons.is_none()).then(VecDeque::new);
    let state = EagerState {
        code: &code,
        scratch: code.scratch.clone(),
        machine,
        n_processes: system.processes,
        per_node: system.processes_per_node(),
        horizons,
        lookahead_ns,
        least_receive_ns: least_receive_ns.unwrap_or(0),
        mailboxes: vec_of(Mailbox::default(), n),
        outbox,
        pool: MessagePool::new(is_numbered),
        unexpected_index: ListIndex::default(),
        posted_index: ListIndex::default(),
        calendar: Calendar::new(n, lookahead_ns),
        ahead: [NOBODY_AHEAD; STATE_AHEAD + 1],
        totals: Totals::default(),
    };
    let ranks = Ranks::new(program, |start| code.begins[start as usize]);
    visits::run(program, (ranks, state), limits, progress)
}
