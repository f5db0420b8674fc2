//! The windows, and how far a process may run ahead of its own.

use super::ahead::Ahead;
use super::calendar::Calendar;
use super::chain::Chain;
use super::crowd::Crowd;
use super::eager;
use super::error::{SimulationError, Stop};
use super::lists::Long;
use super::messages::{NIL, Pool};
use super::neighbours::neighbours;
use super::outcome::{Count, Outcome, Progress, Slice};
use super::pages::filled;
use super::process::Process;
use crate::expression::{Compiled, Context};
use crate::machine::{Link, Machine};
use crate::program::{ElementInfo, Operation, Program, STRUCTURE};

/// Events between two calls of the progress function.
pub(super) const PROGRESS_EVERY: u64 = 1 << 20;

/// Longest window, nanoseconds: where nothing bounds it.
const LONGEST_WINDOW_NS: u64 = 1 << 40;

/// Runs a program on a machine.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate(program: &Program, machine: &Machine) -> Result<Outcome, SimulationError> {
    simulate_with(program, machine, &mut |_| ())
}

/// Runs a program on a machine and tells now and then how far it is.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate_with(
    program: &Program,
    machine: &Machine,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulationError> {
    let (is_crowded, lookahead_ns) = window(program, machine);
    if !is_crowded && let Some(outcome) = eager::run(program, machine, lookahead_ns, progress) {
        return Ok(outcome);
    }
    run(Engine::new(program, machine)?, &program.starts, progress)
}

/// Runs a program on a machine and tells all that each process does, those of one process in order.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate_traced<'a>(
    program: &'a Program,
    machine: &'a Machine,
    progress: &mut dyn FnMut(Progress),
    trace: &'a mut dyn FnMut(Slice),
) -> Result<Outcome, SimulationError> {
    let mut engine = Engine::new(program, machine)?;
    engine.trace = Some(trace);
    run(engine, &program.starts, progress)
}

fn run(
    mut engine: Engine<'_>,
    starts: &[u32],
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulationError> {
    let machine = engine.machine;
    let nodes = engine.processes.len().div_ceil(engine.per_node as usize);
    let n = engine.processes.len();
    let crowd = || Crowd::new(nodes, n, machine);
    let mut crowd = engine.is_crowded.then(crowd);
    for (process, start) in starts.iter().enumerate().take(n) {
        engine.processes[process].at = *start;
    }
    for process in 0..n as u32 {
        engine.advance(process, 0, Chain::START)?;
        if !engine.is_crowded {
            engine.schedule(process);
        }
    }
    if engine.is_crowded {
        (0..nodes as u32).for_each(|node| engine.calendar.visit(node, 0));
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(unit) = engine.calendar.next() {
        let end = engine.calendar.end_ns();
        if let Some(crowd) = &mut crowd {
            engine.visit_node(crowd, unit, end)?;
        } else {
            engine.warm();
            engine.visit(unit)?;
        }
        if engine.events >= next_report {
            next_report = engine.events + PROGRESS_EVERY;
            let events = engine.events;
            progress(Progress {
                now_ns: end,
                events,
            });
        }
    }
    engine.drain()?;
    engine.finish()
}

/// Whether nodes have more processes than processors, and the longest time in which nothing that happens
/// at one process (there: node) depends on what happens at another, nanoseconds.
fn window(program: &Program, machine: &Machine) -> (bool, u64) {
    let per_node = program.system.processes_per_node();
    let is_crowded = per_node > machine.processors;
    let is_alone = per_node == 1 || is_crowded;
    let lookahead_ns = match (is_alone, per_node < program.system.processes) {
        (true, true) => machine.inter.lookahead_ns(),
        (false, true) => machine
            .inter
            .lookahead_ns()
            .min(machine.intra.lookahead_ns()),
        (true, false) if is_crowded => LONGEST_WINDOW_NS,
        // One process sends to itself at most.
        (_, false) => machine.intra.lookahead_ns(),
    };
    (is_crowded, lookahead_ns)
}

pub(super) struct Engine<'a> {
    pub(super) operations: &'a [Operation],
    pub(super) elements: &'a [ElementInfo],
    structures: &'a [ElementInfo],
    pub(super) machine: &'a Machine,
    pub(super) locks: u32,
    /// Variables of a process.
    pub(super) width: usize,
    pub(super) per_node: u32,
    pub(super) processes: Vec<Process>,
    pub(super) slots: Vec<f64>,
    pub(super) pool: Pool,
    pub(super) long_early: Long,
    pub(super) long_posted: Long,
    /// Visits of the processes, or of the nodes where those are crowded.
    pub(super) calendar: Calendar,
    /// Whether nodes have more processes than processors.
    pub(super) is_crowded: bool,
    /// What is known ahead, where the program tells who sends to whom.
    pub(super) ahead: Option<Ahead>,
    /// By process and element.
    pub(super) counts: Vec<Count>,
    pub(super) messages: u64,
    pub(super) events: u64,
    pub(super) undecided: u64,
    trace: Option<&'a mut dyn FnMut(Slice)>,
}

impl<'a> Engine<'a> {
    fn new(program: &'a Program, machine: &'a Machine) -> Result<Self, SimulationError> {
        let system = program.system;
        let (n, per_node) = (system.processes as usize, system.processes_per_node());
        let (is_crowded, lookahead) = window(program, machine);
        let units = if is_crowded {
            n.div_ceil(per_node as usize)
        } else {
            n
        };
        let width = program.slots as usize;
        Ok(Self {
            operations: &program.operations,
            elements: &program.elements,
            structures: &program.structures,
            machine,
            locks: program.locks,
            width,
            per_node,
            processes: filled(Process::new(), n),
            slots: filled(0.0, n * width),
            pool: Pool::default(),
            long_early: Long::default(),
            long_posted: Long::default(),
            calendar: Calendar::new(units, lookahead),
            is_crowded,
            ahead: if is_crowded {
                None
            } else {
                neighbours(program, machine).map(|known| Ahead::new(known, n, lookahead))
            },
            counts: filled(Count::default(), n * program.elements.len()),
            messages: 0,
            events: 0,
            undecided: 0,
            trace: None,
        })
    }

    #[inline]
    pub(super) fn node(&self, process: u32) -> u32 {
        if self.per_node == 1 {
            process
        } else {
            process / self.per_node
        }
    }

    #[inline]
    pub(super) fn link(&self, a: u32, b: u32) -> &'a Link {
        if a == b || (self.per_node > 1 && self.node(a) == self.node(b)) {
            &self.machine.intra
        } else {
            &self.machine.inter
        }
    }

    #[inline]
    pub(super) fn context(&self, process: u32) -> Context<'_> {
        let base = process as usize * self.width;
        Context {
            slots: &self.slots[base..base + self.width],
            process: f64::from(process),
            thread: 0.0,
            threads: 1.0,
            node: f64::from(self.node(process)),
        }
    }

    /// The value of an expression for a process.
    #[inline]
    pub(super) fn value_of(&self, process: u32, code: &Compiled) -> f64 {
        match code {
            Compiled::Constant(value) => *value,
            Compiled::Slot(slot) => self.slots[process as usize * self.width + *slot as usize],
            _ => code.evaluate(&self.context(process)),
        }
    }

    /// An element, or a loop or decision.
    pub(super) fn info(&self, element: u32) -> &'a ElementInfo {
        match element.checked_sub(STRUCTURE) {
            Some(structure) => &self.structures[structure as usize],
            None => &self.elements[element as usize],
        }
    }

    /// Adds time of an element, and a call of it unless another operation counts those.
    #[inline]
    pub(super) fn count(&mut self, process: u32, element: u32, calls: u32, total_ns: u64) {
        self.count_part(process, element, calls, total_ns);
        if let (Some(trace), 1..) = (&mut self.trace, total_ns) {
            let begin_ns = self.processes[process as usize].since;
            trace(Slice {
                process,
                element,
                begin_ns,
                end_ns: begin_ns + total_ns,
            });
        }
    }

    /// Adds time of an element in a region, which has no begin of its own.
    #[inline]
    pub(super) fn count_part(&mut self, process: u32, element: u32, calls: u32, total_ns: u64) {
        let at = process as usize * self.elements.len() + element as usize;
        self.counts[at].add(calls, total_ns);
    }

    /// What is left when nothing goes on: messages that came to those that wait for others, or have ended.
    fn drain(&mut self) -> Result<(), Stop> {
        for process in 0..self.processes.len() as u32 {
            while let Some((_, _, message)) = self.next_message(process) {
                self.events += 1;
                self.look(process, message)?;
            }
        }
        Ok(())
    }

    /// All events of a process in the window, and after it as far as nobody can send to the process.
    #[inline]
    fn visit(&mut self, process: u32) -> Result<(), Stop> {
        let window_end = self.calendar.end_ns();
        let horizon =
            |ahead: &Ahead| ahead.horizon(process, (self.calendar.begin_ns(), window_end));
        let mut end = self.ahead.as_ref().map_or(window_end, horizon);
        loop {
            let first = self.next_message(process);
            let p = &self.processes[process as usize];
            let (mut at, mut message) = (p.due, NIL);
            if let Some((comes, made, index)) = first {
                if comes < at || (comes == at && made < p.made) {
                    (at, message) = (comes, index);
                } else if comes == at && made == p.made {
                    self.undecided += 1;
                }
            }
            if at >= end {
                break;
            }
            self.events += 1;
            if message != NIL {
                self.look(process, message)?;
            } else {
                let answer_ns = self.execute(process, at)?;
                end = end.min(answer_ns.max(window_end));
            }
        }
        self.schedule(process);
        Ok(())
    }
}
