//! The engine for programs that leave nothing open: every message goes without asking and blocks, to
//! and from ranks at distances that the program tells.
//!
//! The rules are those of the engine, on the nanosecond and the event; what this one does not need is left
//! out of its state and its steps. Where a program cannot come to its end it gives up, and the engine
//! runs the program again and says why.
//!
//! Nothing that arrives makes a process send but the message that it waits for. So it is visited when
//! that has come, or when its own operation is due, and takes what came in between then, in its order.

mod calendar;
mod message;
mod rank;
mod step;
mod visit;

use super::ahead::Ahead;
use super::messages::NIL;
use super::neighbours::neighbours;
use super::outcome::{Count, Outcome, Progress};
use super::pages::filled;
use super::run::PROGRESS_EVERY;
use super::warm::{fetch, fetch_all};
use crate::machine::Machine;
use crate::program::Program;
use calendar::Calendar;
use message::{Inbox, Mail};
use rank::Rank;
use step::steps;
use visit::{Here, World};

/// Runs a program on a machine whose nodes are not crowded, if it leaves nothing open and comes to its end.
pub(super) fn run(
    program: &Program,
    machine: &Machine,
    lookahead_ns: u64,
    progress: &mut dyn FnMut(Progress),
) -> Option<Outcome> {
    let mut eager = Eager::new(program, machine, lookahead_ns)?;
    for process in 0..eager.ranks.len() as u32 {
        let (world, mut here) = eager.at(process);
        world.start(&mut here)?;
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(process) = eager.world.calendar.next() {
        eager.warm();
        let (world, mut here) = eager.at(process);
        world.visit(&mut here)?;
        if world.events >= next_report {
            next_report = world.events + PROGRESS_EVERY;
            progress(Progress {
                now_ns: world.calendar.end_ns(),
                events: world.events,
            });
        }
    }
    for process in 0..eager.ranks.len() as u32 {
        let (world, mut here) = eager.at(process);
        world.drain(&mut here)?;
    }
    eager.finish(program)
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
    world: World<'a>,
}

impl<'a> Eager<'a> {
    fn new(program: &'a Program, machine: &Machine, lookahead_ns: u64) -> Option<Self> {
        let neighbours = neighbours(program, machine)?;
        let steps = steps(program, machine, &neighbours.directs)?;
        let system = program.system;
        let n = system.processes as usize;
        let (width, n_elements) = (program.slots as usize, program.elements.len());
        let mut ranks = filled(Rank::new(), n);
        for (rank, start) in ranks.iter_mut().zip(&program.starts) {
            rank.at = *start;
        }
        Some(Self {
            ranks,
            slots: filled(0.0, n * width),
            width,
            counts: filled(Count::default(), n * n_elements),
            n_elements,
            world: World {
                steps,
                n_processes: system.processes,
                per_node: system.processes_per_node(),
                ahead: Ahead::new(neighbours, n, lookahead_ns),
                inboxes: filled(Inbox::default(), n),
                mail: Mail::default(),
                calendar: Calendar::new(n, lookahead_ns),
                messages: 0,
                events: 0,
                undecided: 0,
            },
        })
    }

    #[inline]
    fn at(&mut self, process: u32) -> (&mut World<'a>, Here<'_>) {
        let at = process as usize;
        let here = Here {
            process,
            rank: &mut self.ranks[at],
            slots: &mut self.slots[at * self.width..][..self.width],
            counts: &mut self.counts[at * self.n_elements..][..self.n_elements],
        };
        (&mut self.world, here)
    }

    /// Fetches what the next visits need while the present one goes on.
    #[inline]
    fn warm(&self) {
        let world = &self.world;
        let [next, _, later] = world.calendar.upcoming();
        if let Some(next) = next {
            let (rank, inbox) = (&self.ranks[next as usize], &world.inboxes[next as usize]);
            for first in [inbox.first, inbox.rest, rank.arrivals, rank.early] {
                if first != NIL {
                    fetch(world.mail.get(first));
                }
            }
        }
        if let Some(later) = later {
            let at = later as usize;
            fetch(&self.ranks[at]);
            fetch(&self.ranks[at].since);
            world.calendar.warm(later);
            fetch(&world.inboxes[at]);
            world.ahead.warm(later);
            fetch_all(&self.slots[at * self.width..][..self.width]);
            fetch_all(&self.counts[at * self.n_elements..][..self.n_elements]);
        }
    }

    fn finish(self, program: &Program) -> Option<Outcome> {
        if !self.ranks.iter().all(Rank::has_ended) {
            return None;
        }
        let world = &self.world;
        let early = self.ranks.iter().map(|rank| world.mail.length(rank.early));
        let processes: Vec<_> = self.ranks.iter().map(Rank::result).collect();
        Some(Outcome {
            makespan_ns: processes.iter().map(|p| p.finish_ns).max().unwrap_or(0),
            elements: program.elements.clone(),
            messages: world.messages,
            events: world.events,
            undecided: world.undecided,
            unreceived: early.sum(),
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
            + self.world.memory_bytes()
    }
}
