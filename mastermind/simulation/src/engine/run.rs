//! The windows, and what happens to a message.

use super::calendar::Calendar;
use super::error::{Blocked, SimulationError};
use super::messages::{Message, NIL, Part, Pool};
use super::outcome::{Outcome, ProcessResult, Progress};
use super::process::{NEVER, Process, Waits};
use crate::expression::Context;
use crate::machine::{Link, Machine};
use crate::program::{ElementInfo, Mode, Operation, Program, STRUCTURE};

/// Events between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 20;

/// Most processes that a deadlock names.
const NAMED: usize = 100;

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
    let mut engine = Engine::new(program, machine)?;
    for process in 0..engine.processes.len() as u32 {
        engine.advance(process, 0, [0; 2])?;
        engine.schedule(process);
    }
    let mut next_report = PROGRESS_EVERY;
    while let Some(process) = engine.calendar.next() {
        let end = engine.calendar.end_ns();
        engine.visit(process, end)?;
        if engine.events >= next_report {
            next_report = engine.events + PROGRESS_EVERY;
            let events = engine.events;
            progress(Progress {
                now_ns: end,
                events,
            });
        }
    }
    engine.finish()
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
    calendar: Calendar,
    pub(super) calls: Vec<u32>,
    pub(super) total_ns: Vec<u64>,
    messages: u64,
    events: u64,
    undecided: u64,
}

impl<'a> Engine<'a> {
    fn new(program: &'a Program, machine: &'a Machine) -> Result<Self, SimulationError> {
        let system = program.system;
        let (n, per_node) = (system.processes as usize, system.processes_per_node());
        if per_node > machine.processors {
            return Err(SimulationError::Oversubscribed {
                processes: system.processes,
                nodes: system.nodes,
                processors: machine.processors,
                per_node,
            });
        }
        let mut lookahead = u64::MAX;
        if per_node > 1 {
            lookahead = machine.intra.lookahead_ns();
        }
        if per_node < system.processes {
            lookahead = lookahead.min(machine.inter.lookahead_ns());
        }
        // One process sends to itself at most.
        let lookahead = if lookahead == u64::MAX {
            machine.intra.lookahead_ns()
        } else {
            lookahead
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
            processes: vec![Process::new(); n],
            slots: vec![0.0; n * width],
            pool: Pool::default(),
            calendar: Calendar::new(n, lookahead),
            calls: vec![0; n * program.elements.len()],
            total_ns: vec![0; n * program.elements.len()],
            messages: 0,
            events: 0,
            undecided: 0,
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
        let at = process as usize * self.elements.len() + element as usize;
        self.calls[at] += calls;
        self.total_ns[at] += total_ns;
    }

    /// Has a process visited when its next event may be.
    #[inline]
    fn schedule(&mut self, process: u32) {
        let p = &self.processes[process as usize];
        let mut next = p.due;
        if p.arrivals != NIL {
            next = next.min(self.pool.get(p.arrivals).at.max(p.processor));
        }
        if next != NEVER {
            self.calendar.visit(process, next);
        }
    }

    /// All events of a process before `end`.
    #[inline]
    fn visit(&mut self, process: u32, end: u64) -> Result<(), SimulationError> {
        loop {
            let p = &self.processes[process as usize];
            let (mut at, mut message) = (p.due, NIL);
            if p.arrivals != NIL {
                let first = self.pool.get(p.arrivals);
                let (theirs, ours) = ((first.at, first.made), (p.due, p.made));
                if theirs < ours {
                    (at, message) = (first.at, p.arrivals);
                } else if theirs == ours {
                    self.undecided += 1;
                }
            }
            if at >= end {
                break;
            }
            self.events += 1;
            if message == NIL {
                self.execute(process, at)?;
            } else {
                self.look(process, message)?;
            }
        }
        self.schedule(process);
        Ok(())
    }

    /// Looks at the first message that has come to a process.
    fn look(&mut self, process: u32, index: u32) -> Result<(), SimulationError> {
        let message = *self.pool.get(index);
        let link = self.link(process, message.peer);
        let p = &mut self.processes[process as usize];
        p.arrivals = message.next;
        let now = message.at;
        let has_bytes = matches!(message.part, Part::Eager | Part::Data);
        let mut free = p.processor;
        if has_bytes {
            free = free.max(p.receiving);
        }
        if free > now {
            // It keeps its place among those that wait: by when it was sent.
            self.pool.get_mut(index).at = free;
            let head = p.arrivals;
            p.arrivals = self.pool.arrive(head, index, &mut self.undecided);
            return Ok(());
        }
        let mut occupied = link.receive_overhead_ns;
        if has_bytes {
            let gap = link.bytes_gap_ns(message.bytes);
            occupied += gap.max(link.bytes_overhead_ns(message.bytes));
            p.receiving = now + link.gap_ns + gap;
        } else if message.part == Part::Acknowledge {
            occupied = link.send_overhead_ns + link.bytes_overhead_ns(message.bytes);
        }
        p.processor = now + occupied;
        p.overhead += occupied;
        match message.part {
            Part::Data => {
                self.pool.release(index);
                self.received(process, message.receiver, now, chain(&message.made))
            }
            Part::Acknowledge => {
                self.pool.release(index);
                self.send_data(process, &message)
            }
            Part::Eager | Part::Request => self.matched(process, index),
        }
    }

    /// A message of a program is there: gives it to the receive that waits for it, or keeps it.
    fn matched(&mut self, process: u32, index: u32) -> Result<(), SimulationError> {
        let message = *self.pool.get(index);
        let posted = self.processes[process as usize].posted;
        let (head, receive) = self.pool.take(posted, |receive| fits(receive, &message));
        let p = &mut self.processes[process as usize];
        p.posted = head;
        if receive == NIL {
            let early = p.early;
            self.processes[process as usize].early = self.pool.append(early, index);
            return Ok(());
        }
        let mode = self.pool.get(receive).receiver;
        self.pool.release(receive);
        self.pool.release(index);
        if message.part == Part::Request {
            self.acknowledge(process, &message, mode, message.at, chain(&message.made));
            return Ok(());
        }
        self.received(process, mode, message.at, chain(&message.made))
    }

    /// Answers a request: the receive that it is for is there.
    pub(super) fn acknowledge(
        &mut self,
        process: u32,
        request: &Message,
        mode: Mode,
        now: u64,
        made: [u64; 2],
    ) {
        let link = self.link(process, request.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.processor.max(now);
        p.processor = begin + link.send_overhead_ns;
        p.overhead += link.send_overhead_ns;
        let answer = Message {
            at: begin + link.lookahead_ns(),
            made: [now, made[0], made[1]],
            peer: process,
            part: Part::Acknowledge,
            receiver: mode,
            ..*request
        };
        self.post(request.peer, answer);
    }

    /// Sends the bytes of a message whose request was answered.
    fn send_data(&mut self, process: u32, answer: &Message) -> Result<(), SimulationError> {
        let link = self.link(process, answer.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.sending.max(answer.at);
        p.sending = begin + link.gap_ns + link.bytes_gap_ns(answer.bytes);
        let data = Message {
            at: begin + link.lookahead_ns(),
            made: [answer.at, answer.made[0], answer.made[1]],
            peer: process,
            part: Part::Data,
            ..*answer
        };
        self.post(answer.peer, data);
        match answer.sender {
            Mode::Blocking => self.resume(process, answer.at, chain(&answer.made)),
            mode => self.complete(process, mode, answer.at, chain(&answer.made)),
        }
    }

    /// Puts a message on its way to a process.
    #[inline]
    pub(super) fn post(&mut self, to: u32, message: Message) {
        self.messages += u64::from(matches!(message.part, Part::Eager | Part::Request));
        let index = self.pool.add(message);
        let p = &mut self.processes[to as usize];
        p.arrivals = self.pool.arrive(p.arrivals, index, &mut self.undecided);
        if p.arrivals == index {
            let at = message.at.max(p.processor);
            if at < p.due {
                self.calendar.visit(to, at);
            }
        }
    }

    /// The bytes of a receive are there.
    fn received(
        &mut self,
        process: u32,
        mode: Mode,
        now: u64,
        made: [u64; 2],
    ) -> Result<(), SimulationError> {
        match mode {
            Mode::Blocking => self.resume(process, now, made),
            mode => self.complete(process, mode, now, made),
        }
    }

    /// A nonblocking operation is complete.
    fn complete(
        &mut self,
        process: u32,
        mode: Mode,
        now: u64,
        made: [u64; 2],
    ) -> Result<(), SimulationError> {
        let p = &mut self.processes[process as usize];
        let which = usize::from(mode == Mode::Internal);
        p.pending[which] -= 1;
        let waited = matches!(
            &self.operations[p.at as usize],
            Operation::Wait { mode: waited, .. } if *waited == mode
        );
        if p.waits == Waits::Rest && p.pending[which] == 0 && waited {
            return self.resume(process, now, made);
        }
        Ok(())
    }

    /// What a process waited for has happened.
    #[inline]
    fn resume(&mut self, process: u32, now: u64, made: [u64; 2]) -> Result<(), SimulationError> {
        let p = &self.processes[process as usize];
        let elapsed = p.processor - p.since;
        if let Operation::Send { element, .. }
        | Operation::Receive { element, .. }
        | Operation::Wait { element, .. } = &self.operations[p.at as usize]
        {
            self.count(process, *element, 0, elapsed);
        }
        let p = &mut self.processes[process as usize];
        p.waits = Waits::No;
        p.at += 1;
        self.advance(process, now, made)
    }

    fn finish(self) -> Result<Outcome, SimulationError> {
        let waiting = |p: &&Process| p.waits != Waits::Ended;
        let n_blocked = self.processes.iter().filter(waiting).count();
        if n_blocked > 0 {
            let ranks = 0..self.processes.len() as u32;
            let ranks = ranks.filter(|i| waiting(&&self.processes[*i as usize]));
            let blocked = ranks.take(NAMED).map(|i| self.blocked(i)).collect();
            return Err(SimulationError::Deadlock { n_blocked, blocked });
        }
        let processes = self.processes.iter().map(|p| ProcessResult {
            finish_ns: p.processor,
            work_ns: p.work,
            overhead_ns: p.overhead,
        });
        let processes: Vec<_> = processes.collect();
        let lists = |head: fn(&Process) -> u32| -> u64 {
            let lists = self
                .processes
                .iter()
                .map(|p| self.pool.list(head(p)).count());
            lists.sum::<usize>() as u64
        };
        Ok(Outcome {
            makespan_ns: processes.iter().map(|p| p.finish_ns).max().unwrap_or(0),
            elements: self.elements.to_vec(),
            messages: self.messages,
            events: self.events,
            undecided: self.undecided,
            unreceived: lists(|p| p.early),
            unmatched: lists(|p| p.posted),
            memory_bytes: self.memory_bytes(),
            processes,
            calls: self.calls,
            total_ns: self.total_ns,
        })
    }

    fn memory_bytes(&self) -> usize {
        self.processes.capacity() * size_of::<Process>()
            + self.slots.capacity() * 8
            + self.calls.capacity() * 4
            + self.total_ns.capacity() * 8
            + self.pool.bytes()
            + self.calendar.bytes()
    }

    fn blocked(&self, process: u32) -> Blocked {
        let p = &self.processes[process as usize];
        let (element, waits_for) = match &self.operations[p.at as usize] {
            Operation::Send { element, .. } => (*element, "the receiver of a large message".into()),
            Operation::Receive { element, .. } => {
                let last = self.pool.list(p.posted).last();
                let from = last.map_or("a sender".into(), |receive| match receive.peer {
                    super::advance::ANYBODY => format!("any process, tag {}", receive.tag),
                    peer => format!("process {peer}, tag {}", receive.tag),
                });
                (*element, format!("a message from {from}"))
            }
            Operation::Wait { element, mode } => {
                let pending = p.pending[usize::from(*mode == Mode::Internal)];
                (*element, format!("{pending} nonblocking operations"))
            }
            _ => (0, "nothing that is known".into()),
        };
        let info = self.info(element);
        Blocked {
            process,
            element: info.name.clone(),
            place: info.place.clone(),
            waits_for,
            since_ns: p.since,
        }
    }
}

/// When an event was settled, and when what settled it was: what those that it settles inherit.
#[inline]
pub(super) fn chain(made: &[u64; 3]) -> [u64; 2] {
    [made[0], made[1]]
}

/// Whether a posted receive takes a message.
#[inline]
pub(super) fn fits(receive: &Message, message: &Message) -> bool {
    use super::advance::{ANY_TAG, ANYBODY};
    (receive.peer == message.peer || receive.peer == ANYBODY)
        && (receive.tag == message.tag || (receive.tag == ANY_TAG && message.tag >= 0))
}
