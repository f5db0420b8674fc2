//! The engine for programs whose messages are all eager, on nodes that are not oversubscribed.
//!
//! It gives the same times and counts the same events as the engine for all programs; its state and its steps contain
//! only what it needs (`code`, `timeless`). It gives up a program that does not come to its end; the engine for all
//! programs then runs the program again and reports why.
//!
//! Of the messages that arrive, only those that a process waits for make it send. So a process is visited when it may
//! send next at the earliest, and then takes all messages that came, in order: when its operation is due, when the
//! message of its blocking receive has arrived, or when as many messages have arrived as its nonblocking receives lack.
//! A sender touches only the receiver's [`Mailbox`] (`mailbox`), and with many processes only some visits later, when
//! that has been fetched.
//!
//! A visit (`visit`) continues beyond the window as long as no rank can send to the process: if the program determines
//! who may send to whom, a table holds when each of the neighbours may send next, and to which of theirs as far as
//! their variables determine it (`horizon`, `neighbours`); an event that was scheduled before any message that can
//! still be sent is taken before that. A process's own state (`ProcessView`) and the shared state (`EagerState`) are
//! separate, so that a visit works in place. Tests compare both engines.

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

/// Runs a program on a machine whose nodes are not oversubscribed; `None` if the program is of another form or does not
/// come to its end.
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
    // How far a process may run ahead depends on the delivered messages.
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
