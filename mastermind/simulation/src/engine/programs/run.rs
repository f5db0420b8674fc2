//! The entry points, the choice of an engine, and the loop over windows of the engine for all
//! programs.
//!
//! A message needs at least `o + L` from its send to its arrival. Time is therefore cut into
//! windows of that length ([`window`]): what a process does in a window can reach no other process
//! before the next one. All events of one process in the window are run in one visit, with its
//! state in the caches, and the processes of a window are visited in any order; the result is that
//! of a single queue of all events.
//!
//! ```text
//! lookahead 4000 ns    [0, 4000)              [4000, 8000)
//! process 0            e e ─ send ──────┐     e e e
//! process 1            e e e            └───▶ e            at the earliest here
//! process 2            e                      e e
//! ```
//!
//! Two engines with less state take programs that permit it and may run a process beyond its window
//! (`fixed_distances`, `eager`). [`simulate_with`] tries them in this order; each returns `None`
//! for a program of another form, and the engine here runs everything: rendezvous, threads,
//! oversubscribed nodes, traces, and programs that end in an error. Costs of messages are not known
//! here (`loggp`), nor what an operation does (`advance`, `deliver`).

use crate::engine::error::{BoxedError, SimulationError};
use crate::engine::limits::Limits;
use crate::engine::outcome::{Count, EngineChoice, Flight, Outcome, Progress, Slice};
use crate::engine::programs::eager;
use crate::engine::programs::fixed_distances;
use crate::engine::programs::neighbours::is_eager;
use crate::engine::programs::process::{Completions, Process};
use crate::events::NEVER;
use crate::events::calendar::Calendar;
use crate::events::lists::ListIndex;
use crate::events::messages::{Message, MessagePool, NIL};
use crate::events::posted::PostedReceives;
use crate::events::shared_links::SharedLinks;
use crate::events::tie_break::TieBreak;
use crate::loggp::MessagePart;
use crate::machine::{Link, Machine};
use crate::scheduler::oversubscribed::NodeScheduler;
use crate::sensitivity::recorder::Recorder;
use crate::sensitivity::{LongestPath, obstacle};
use mastermind_programs::expression::{Compiled, Context};
use mastermind_programs::huge_pages::vec_of;
use mastermind_programs::{ElementInfo, Mode, Operation, Program, STRUCTURE};

/// Events between two calls of the progress function.
pub(crate) const PROGRESS_EVERY: u64 = 1 << 20;

/// Longest window, nanoseconds, if nothing bounds it.
const MAX_WINDOW_NS: u64 = 1 << 40;

/// Runs a program on a machine.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate(program: &Program, machine: &Machine) -> Result<Outcome, SimulationError> {
    simulate_with(program, machine, Limits::default(), &mut |_| ())
}

/// Runs a program on a machine up to some limits, and reports progress now and then.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate_with(
    program: &Program,
    machine: &Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulationError> {
    let limits = limits.of_clocks();
    let (is_oversubscribed, lookahead_ns) = window(program, machine);
    if !is_oversubscribed
        && machine.is_flat()
        && let Some(ended) = fixed_distances::run(program, machine, lookahead_ns, limits, progress)
            .or_else(|| eager::run(program, machine, lookahead_ns, limits, progress))
    {
        let ended = ended?;
        Limits::check_clock(ended.events, ended.makespan_ns)?;
        return Ok(ended);
    }
    let choice = if is_oversubscribed {
        EngineChoice::Oversubscribed
    } else if !machine.is_flat() {
        EngineChoice::Classes
    } else if !is_eager(program, machine) {
        EngineChoice::Rendezvous
    } else {
        EngineChoice::Operations
    };
    let operations = flattened(program);
    let engine = Engine::new(program, &operations, machine, choice, limits)?;
    run(engine, &program.starts, progress)
}

/// Runs a program on a machine and reports all activities of each process, those of one process in
/// order.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate_traced<'a>(
    program: &'a Program,
    machine: &'a Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
    trace: &'a mut dyn FnMut(Slice),
) -> Result<Outcome, SimulationError> {
    simulate_followed(program, machine, limits, progress, trace, None)
}

/// The same, and also reports each message with bytes when it leaves.
///
/// # Errors
/// [`SimulationError`].
pub fn simulate_followed<'a>(
    program: &'a Program,
    machine: &'a Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
    trace: &'a mut dyn FnMut(Slice),
    flights: Option<&'a mut dyn FnMut(Flight)>,
) -> Result<Outcome, SimulationError> {
    let choice = EngineChoice::Traced;
    let operations = flattened(program);
    let limits = limits.of_clocks();
    let mut engine = Engine::new(program, &operations, machine, choice, limits)?;
    engine.trace = Some(trace);
    if let Some(flights) = flights {
        engine.flights = Some(flights);
    }
    engine.busy = vec_of(0, program.system.processes as usize);
    run(engine, &program.starts, progress)
}

/// Runs a program on a machine and follows its longest path.
///
/// # Errors
/// [`SimulationError`]; [`SimulationError::NoPath`] on a machine where stages wait for others than the path shows.
pub fn program_path(
    program: &Program,
    machine: &Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Outcome, LongestPath), SimulationError> {
    let (is_oversubscribed, _) = window(program, machine);
    if let Some(found) = obstacle(machine, is_oversubscribed) {
        return Err(SimulationError::NoPath { found });
    }
    let operations = flattened(program);
    let (choice, limits) = (EngineChoice::LongestPath, limits.of_clocks());
    let ranks = program.system.processes as usize;
    let mut recorder = Recorder::new((0..ranks).map(|_| (1, 1)));
    let mut engine = Engine::new(program, &operations, machine, choice, limits)?;
    engine.recorder = Some(&mut recorder);
    let outcome = run(engine, &program.starts, progress)?;
    let per_node = program.system.processes_per_node();
    let class_of = |a: u32, b: u32| machine.class_between(a / per_node, b / per_node);
    let n_elements = program.elements.len();
    let path = LongestPath::new(&recorder, machine, class_of, (n_elements, ranks));
    Ok((outcome, path))
}

/// The operations of a program, with its expressions as lists of steps.
fn flattened(program: &Program) -> Vec<Operation> {
    let mut operations = program.operations.clone();
    operations.iter_mut().for_each(Operation::flatten);
    operations
}

fn run(
    mut engine: Engine<'_>,
    starts: &[u32],
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulationError> {
    let machine = engine.machine;
    let nodes = engine.processes.len().div_ceil(engine.per_node as usize);
    let n = engine.processes.len();
    let scheduler = || NodeScheduler::new(nodes, n, machine);
    let mut scheduler = engine.is_oversubscribed.then(scheduler);
    for (process, start) in starts.iter().enumerate().take(n) {
        engine.processes[process].at = *start;
    }
    for process in 0..n as u32 {
        engine.advance(process, 0, TieBreak::START)?;
        if !engine.is_oversubscribed {
            let comes_ns = engine.next_message(process).map_or(NEVER, |(at, ..)| at);
            engine.schedule(process, comes_ns);
        }
    }
    if engine.is_oversubscribed {
        (0..nodes as u32).for_each(|node| engine.calendar.visit(node, 0));
    }
    let mut next_report = PROGRESS_EVERY;
    // A unit is a process, or a whole node where its processes share processors.
    while let Some(unit) = engine.next_unit() {
        let end = engine.calendar.end_ns();
        let begin_ns = engine.calendar.begin_ns();
        engine.limits.check(engine.events, begin_ns)?;
        if let Some(scheduler) = &mut scheduler {
            engine.visit_node(scheduler, unit, end)?;
        } else {
            engine.prefetch();
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
    // The last visit may have run far ahead.
    engine.limits.check(engine.events, 0)?;
    engine.drain()?;
    engine.finish()
}

/// Whether nodes have more processes than processors, and the longest time in which events at one
/// process (there: node) do not depend on events at another, nanoseconds.
fn window(program: &Program, machine: &Machine) -> (bool, u64) {
    let per_node = program.system.processes_per_node();
    let is_oversubscribed = per_node > machine.processors;
    // The processes of an oversubscribed node are visited together: messages in it need no window.
    let is_alone = per_node == 1 || is_oversubscribed;
    let between = machine.node_links().map(Link::lookahead_ns).min();
    let between_ns = between.unwrap_or(MAX_WINDOW_NS);
    let lookahead_ns = match (is_alone, per_node < program.system.processes) {
        (true, true) => between_ns,
        (false, true) => between_ns.min(machine.intra.lookahead_ns()),
        (true, false) if is_oversubscribed => MAX_WINDOW_NS,
        // One process sends to itself at most.
        (_, false) => machine.intra.lookahead_ns(),
    };
    (is_oversubscribed, lookahead_ns)
}

/// The engine for all programs: the processes with their variables and counts, the messages in
/// flight, and the schedule of visits. `advance` and `deliver` add what happens in a visit.
pub(crate) struct Engine<'a> {
    pub(crate) choice: EngineChoice,
    pub(crate) limits: Limits,
    pub(crate) operations: &'a [Operation],
    pub(crate) elements: &'a [ElementInfo],
    structures: &'a [ElementInfo],
    pub(crate) machine: &'a Machine,
    pub(crate) locks: u32,
    /// Variables of a process.
    pub(crate) width: usize,
    pub(crate) per_node: u32,
    pub(crate) processes: Vec<Process>,
    pub(crate) slots: Vec<f64>,
    pub(crate) pool: MessagePool,
    pub(crate) unexpected_index: ListIndex,
    pub(crate) posted_index: ListIndex,
    /// Visits of the processes, or of the nodes where those are oversubscribed.
    pub(crate) calendar: Calendar,
    /// Whether nodes have more processes than processors.
    pub(crate) is_oversubscribed: bool,
    /// Where messages share links: those that are yet to pass them, with their receivers.
    pub(crate) shared_links: Option<SharedLinks<'a, (u32, Message)>>,
    /// By process, where receives may be nonblocking; empty otherwise.
    pub(crate) posted_lines: Vec<PostedReceives>,
    /// By process, where the program waits for any of its receives; empty otherwise.
    pub(crate) completions: Vec<Completions>,
    /// By process and element.
    pub(crate) counts: Vec<Count>,
    pub(crate) messages: u64,
    pub(crate) events: u64,
    pub(crate) ties: u64,
    trace: Option<&'a mut dyn FnMut(Slice)>,
    flights: Option<&'a mut dyn FnMut(Flight)>,
    /// By process, if a trace is requested: its processor time when its operation began.
    busy: Vec<u64>,
    /// Recorder of the longest path, if requested.
    pub(crate) recorder: Option<&'a mut Recorder>,
}

impl<'a> Engine<'a> {
    fn new(
        program: &'a Program,
        operations: &'a [Operation],
        machine: &'a Machine,
        choice: EngineChoice,
        limits: Limits,
    ) -> Result<Self, SimulationError> {
        let system = program.system;
        let (n, per_node) = (system.processes as usize, system.processes_per_node());
        let (is_oversubscribed, lookahead) = window(program, machine);
        let units = if is_oversubscribed {
            n.div_ceil(per_node as usize)
        } else {
            n
        };
        if is_oversubscribed && machine.noise.is_some() {
            let processors = machine.processors;
            return Err(SimulationError::Noise {
                per_node,
                processors,
            });
        }
        let width = program.slots as usize;
        let is_nonblocking = |operation: &Operation| matches!(operation, Operation::Receive { mode, .. } if *mode != Mode::Blocking);
        let has_nonblocking = program.operations.iter().any(is_nonblocking);
        let is_wait_any = |operation: &Operation| matches!(operation, Operation::WaitAny { .. });
        Ok(Self {
            choice,
            limits,
            operations,
            elements: &program.elements,
            structures: &program.structures,
            machine,
            locks: program.locks,
            width,
            per_node,
            processes: vec_of(Process::new(), n),
            slots: vec_of(0.0, n * width),
            pool: MessagePool::new(true),
            unexpected_index: ListIndex::default(),
            posted_index: ListIndex::default(),
            calendar: Calendar::new(units, lookahead),
            is_oversubscribed,
            shared_links: SharedLinks::of(machine),
            posted_lines: if has_nonblocking {
                vec_of(PostedReceives::default(), n)
            } else {
                Vec::new()
            },
            completions: if program.operations.iter().any(is_wait_any) {
                vec![Completions::default(); n]
            } else {
                Vec::new()
            },
            counts: vec_of(Count::default(), n * program.elements.len()),
            messages: 0,
            events: 0,
            ties: 0,
            trace: None,
            flights: None,
            busy: Vec::new(),
            recorder: None,
        })
    }

    #[inline]
    pub(crate) fn node(&self, process: u32) -> u32 {
        if self.per_node == 1 {
            process
        } else {
            process / self.per_node
        }
    }

    #[inline]
    pub(crate) fn link(&self, a: u32, b: u32) -> &'a Link {
        if a == b || (self.per_node > 1 && self.node(a) == self.node(b)) {
            &self.machine.intra
        } else {
            self.machine.node_link(self.node(a), self.node(b))
        }
    }

    #[inline]
    fn slots_of(&self, process: u32) -> &[f64] {
        &self.slots[process as usize * self.width..][..self.width]
    }

    #[inline]
    pub(crate) fn context(&self, process: u32) -> Context<'_> {
        Context {
            slots: self.slots_of(process),
            process: f64::from(process),
            thread: 0.0,
            threads: 1.0,
            node: f64::from(self.node(process)),
        }
    }

    /// The value of an expression for a process.
    #[inline]
    pub(crate) fn value_of(&self, process: u32, code: &Compiled) -> f64 {
        match code {
            Compiled::Constant(value) => *value,
            _ => self.variable_value_of(process, code),
        }
    }

    #[inline(never)]
    fn variable_value_of(&self, process: u32, code: &Compiled) -> f64 {
        match code {
            Compiled::Flat(flat) => flat.evaluate(self.slots_of(process), f64::from(process)),
            _ => code.evaluate(&self.context(process)),
        }
    }

    /// An element, or a loop or decision.
    pub(crate) fn info(&self, element: u32) -> &'a ElementInfo {
        match element.checked_sub(STRUCTURE) {
            Some(structure) => &self.structures[structure as usize],
            None => &self.elements[element as usize],
        }
    }

    /// Adds time of an element, and a call of it unless another operation counts those.
    #[inline]
    pub(crate) fn count(&mut self, process: u32, element: u32, calls: u32, total_ns: u64) {
        self.count_part(process, element, calls, total_ns);
        if let (Some(trace), 1..) = (&mut self.trace, total_ns) {
            let p = &self.processes[process as usize];
            let busy_ns = p.work + p.overhead - self.busy[process as usize];
            trace(Slice {
                process,
                element,
                begin_ns: p.since,
                end_ns: p.since + total_ns,
                wait_ns: total_ns.saturating_sub(busy_ns),
            });
        }
    }

    /// An operation of a process begins when its processor is free.
    #[inline]
    pub(crate) fn begin_operation(&mut self, process: u32) {
        let p = &mut self.processes[process as usize];
        p.since = p.processor;
        if let Some(busy) = self.busy.get_mut(process as usize) {
            *busy = p.work + p.overhead;
        }
    }

    /// Reports a message that leaves.
    #[inline]
    pub(crate) fn report_flight(&mut self, to: u32, message: &Message) {
        let has_bytes = matches!(message.load.part(), MessagePart::Eager | MessagePart::Data);
        if !has_bytes || self.flights.is_none() {
            return;
        }
        let lookahead_ns = self.link(message.peer, to).lookahead_ns();
        if let Some(on_flight) = &mut self.flights {
            on_flight(Flight {
                from: message.peer,
                to,
                bytes: message.load.bytes(),
                leaves_ns: message.at.saturating_sub(lookahead_ns),
                arrives_ns: message.at,
            });
        }
    }

    /// Adds time of an element in a region, which has no begin of its own.
    #[inline]
    pub(crate) fn count_part(&mut self, process: u32, element: u32, calls: u32, total_ns: u64) {
        let at = process as usize * self.elements.len() + element as usize;
        self.counts[at].add(calls, total_ns);
    }

    /// The process, or the node, to be visited next. Before a window ends, its messages pass their shared links.
    #[inline]
    fn next_unit(&mut self) -> Option<u32> {
        loop {
            if let Some(unit) = self.calendar.next_of_window() {
                return Some(unit);
            }
            let next_ns = self.pass_shared_links();
            self.calendar.advance(next_ns)?;
        }
    }

    /// The remaining messages when nothing can continue: they came to processes that wait for others, or
    /// have ended.
    fn drain(&mut self) -> Result<(), BoxedError> {
        for process in 0..self.processes.len() as u32 {
            while let Some((at, message)) = self.next_message(process) {
                self.events += 1;
                Limits::check_clock(self.events, at)?;
                self.handle_arrival(process, message)?;
            }
        }
        Ok(())
    }

    /// All events of a process in the window.
    #[inline]
    fn visit(&mut self, process: u32) -> Result<(), BoxedError> {
        // A message that has not been sent yet cannot come before this.
        let end = self.calendar.end_ns();
        let comes_ns = loop {
            let first = self.next_message(process);
            let p = &self.processes[process as usize];
            let (mut at, mut message, mut is_tie) = (p.due, NIL, false);
            if let Some((comes, index)) = first {
                // Of equal times, the event that was scheduled first comes first.
                let tie_break = || self.pool.get(index).tie_break;
                if comes < at || (comes == at && tie_break() < p.tie_break) {
                    (at, message) = (comes, index);
                } else {
                    is_tie = comes == at && tie_break() == p.tie_break;
                }
            }
            if at >= end {
                break first.map_or(NEVER, |(comes, ..)| comes);
            }
            self.events += 1;
            self.ties += u64::from(is_tie);
            if let Some(recorder) = &mut self.recorder {
                recorder.drop_unreachable();
            }
            if message != NIL {
                self.handle_arrival(process, message)?;
            } else {
                self.execute(process, at)?;
            }
        };
        self.schedule(process, comes_ns);
        Ok(())
    }

    /// Has a process visited at its next event, given when [`Engine::next_message`] can be taken.
    #[inline]
    fn schedule(&mut self, process: u32, comes_ns: u64) {
        let next = self.processes[process as usize].due.min(comes_ns);
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }
}
