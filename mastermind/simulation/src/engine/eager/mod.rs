//! The engine for programs that leave nothing open: every message goes without asking and blocks, to
//! and from ranks at distances that the program tells.
//!
//! The rules are those of the engine, on the nanosecond and the event; what this one does not need is left
//! out of its state and its steps. Where a program cannot come to its end it gives up, and the engine
//! runs the program again and says why.
//!
//! Nothing that arrives makes a process send but the message that it waits for. So it is visited when
//! that has come, or when its own operation is due, and takes what came in between then, in its order.

mod message;
mod rank;
mod step;
mod visit;

use super::ahead::Ahead;
use super::calendar::Calendar;
use super::messages::NIL;
use super::neighbours::neighbours;
use super::outcome::{Count, Outcome, Progress};
use super::pages::filled;
use super::run::PROGRESS_EVERY;
use crate::machine::Machine;
use crate::program::Program;
use message::Mail;
use rank::Rank;
use step::{Step, steps};

/// Runs a program on a machine whose nodes are not crowded, if it leaves nothing open and comes to its end.
pub(super) fn run(
    program: &Program,
    machine: &Machine,
    lookahead_ns: u64,
    progress: &mut dyn FnMut(Progress),
) -> Option<Outcome> {
    let mut eager = Eager::new(program, machine, lookahead_ns)?;
    for process in 0..eager.ranks.len() as u32 {
        eager.start(process)?;
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(process) = eager.calendar.next() {
        eager.warm();
        eager.visit(process)?;
        if eager.events >= next_report {
            next_report = eager.events + PROGRESS_EVERY;
            progress(Progress {
                now_ns: eager.calendar.end_ns(),
                events: eager.events,
            });
        }
    }
    eager.drain()?;
    eager.finish(program)
}

struct Eager<'a> {
    steps: Vec<Step<'a>>,
    /// Variables of a process.
    width: usize,
    n_elements: usize,
    per_node: u32,
    ranks: Vec<Rank>,
    ahead: Ahead,
    /// Messages that were not looked at, by time: the first of each process.
    arrivals: Vec<u32>,
    slots: Vec<f64>,
    /// By process and element.
    counts: Vec<Count>,
    mail: Mail,
    calendar: Calendar,
    messages: u64,
    events: u64,
    undecided: u64,
}

impl<'a> Eager<'a> {
    fn new(program: &'a Program, machine: &Machine, lookahead_ns: u64) -> Option<Self> {
        let neighbours = neighbours(program, machine)?;
        let steps = steps(program, machine)?;
        let system = program.system;
        let n = system.processes as usize;
        let (width, n_elements) = (program.slots as usize, program.elements.len());
        let mut ranks = filled(Rank::new(), n);
        for (rank, start) in ranks.iter_mut().zip(&program.starts) {
            rank.at = *start;
        }
        Some(Self {
            steps,
            width,
            n_elements,
            per_node: system.processes_per_node(),
            ranks,
            ahead: Ahead::new(neighbours, n, lookahead_ns),
            arrivals: filled(NIL, n),
            slots: filled(0.0, n * width),
            counts: filled(Count::default(), n * n_elements),
            mail: Mail::default(),
            calendar: Calendar::new(n, lookahead_ns),
            messages: 0,
            events: 0,
            undecided: 0,
        })
    }

    fn finish(self, program: &Program) -> Option<Outcome> {
        if !self.ranks.iter().all(Rank::has_ended) {
            return None;
        }
        let early = self.ranks.iter().map(|rank| self.mail.length(rank.early));
        let unreceived = early.sum();
        let memory_bytes = self.memory_bytes();
        let processes: Vec<_> = self.ranks.iter().map(Rank::result).collect();
        Some(Outcome {
            makespan_ns: processes.iter().map(|p| p.finish_ns).max().unwrap_or(0),
            elements: program.elements.clone(),
            messages: self.messages,
            events: self.events,
            undecided: self.undecided,
            unreceived,
            unmatched: 0,
            memory_bytes,
            processes,
            counts: self.counts,
        })
    }

    fn memory_bytes(&self) -> usize {
        self.ranks.capacity() * size_of::<Rank>()
            + self.ahead.bytes()
            + self.arrivals.capacity() * 4
            + self.slots.capacity() * 8
            + self.counts.capacity() * size_of::<Count>()
            + self.mail.bytes()
            + self.calendar.bytes()
    }
}
