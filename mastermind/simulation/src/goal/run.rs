//! A schedule on a machine.

mod matching;

use super::queue::{Event, Queue};
use super::schedule::{Kind, Op, Part, Schedule};
use crate::engine::{Blocked, ProcessResult, Progress, SimulationError};
use crate::machine::{Link, Machine};
use matching::Waiting;

/// What an event is: the lowest bits of its order.
const OP: u64 = 0;
const EAGER: u64 = 1;
const REQUEST: u64 = 2;
const ACKNOWLEDGE: u64 = 3;
const DATA: u64 = 4;
const DONE: u64 = 5;

/// One event after the other in the order that they are settled.
const STEP: u64 = 8;

/// Events between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 20;

/// Most ranks that a deadlock names.
const NAMED: usize = 100;

/// A schedule that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScheduleOutcome {
    /// The last rank's finish, nanoseconds.
    pub makespan_ns: u64,
    /// By rank.
    pub processes: Vec<ProcessResult>,
    /// Calculations, sends and receives.
    pub operations: [u64; 3],
    /// Messages.
    pub messages: u64,
    /// Events.
    pub events: u64,
    /// Messages that nobody received.
    pub unreceived: u64,
    /// Most memory, the schedule included, bytes.
    pub memory_bytes: usize,
}

/// Runs a schedule on a machine; each rank is on a node of its own or shares one as ranks fill them.
///
/// # Errors
/// [`SimulationError::Deadlock`], [`SimulationError::Oversubscribed`].
pub fn simulate_schedule(
    schedule: Schedule,
    machine: &Machine,
) -> Result<ScheduleOutcome, SimulationError> {
    simulate_schedule_with(schedule, machine, &mut |_| ())
}

/// Runs a schedule and tells now and then how far it is.
///
/// # Errors
/// As [`simulate_schedule`].
pub fn simulate_schedule_with(
    schedule: Schedule,
    machine: &Machine,
    progress: &mut dyn FnMut(Progress),
) -> Result<ScheduleOutcome, SimulationError> {
    let mut run = Run::new(schedule, machine);
    run.begin();
    let mut next_report = PROGRESS_EVERY;
    while let Some(event) = run.queue.pop() {
        run.events += 1;
        run.event(event);
        if run.events >= next_report {
            next_report = run.events + PROGRESS_EVERY;
            progress(Progress {
                now_ns: event.at,
                events: run.events,
            });
        }
    }
    run.finish()
}

/// A rank's place in the lists, and its sums.
#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    first_cpu: u32,
    first_nic: u32,
    single: bool,
    waiting: Waiting,
    done: u32,
    work: u64,
    overhead: u64,
}

/// An interface: when it can send and receive next.
#[derive(Debug, Clone, Copy, Default)]
struct Nic {
    sending: u64,
    receiving: u64,
}

struct Run<'a> {
    schedule: Schedule,
    machine: &'a Machine,
    per_node: u32,
    ranks: Vec<Rank>,
    /// When each processor is free.
    cpus: Vec<u64>,
    nics: Vec<Nic>,
    pool: matching::Pool,
    queue: Queue,
    order: u64,
    /// Operations whose last wait has ended, while one event is dealt with.
    ready: Vec<(u32, u64)>,
    messages: u64,
    events: u64,
}

impl<'a> Run<'a> {
    fn new(schedule: Schedule, machine: &'a Machine) -> Self {
        let n = schedule.ranks() as u32;
        let nodes = machine.nodes_for(n);
        let mut ranks = Vec::with_capacity(n as usize);
        let (mut first_cpu, mut first_nic) = (0, 0);
        for part in &schedule.parts {
            ranks.push(Rank {
                first_cpu,
                first_nic,
                single: part.cpus == 1,
                ..Rank::default()
            });
            first_cpu += u32::from(part.cpus);
            first_nic += u32::from(part.nics);
        }
        Self {
            schedule,
            machine,
            per_node: n.div_ceil(nodes.max(1)).max(1),
            ranks,
            cpus: vec![0; first_cpu as usize],
            nics: vec![Nic::default(); first_nic as usize],
            pool: matching::Pool::default(),
            queue: Queue::new(),
            order: 0,
            ready: Vec::new(),
            messages: 0,
            events: 0,
        }
    }

    #[inline]
    fn link(&self, a: u32, b: u32) -> &'a Link {
        if a == b || (self.per_node > 1 && a / self.per_node == b / self.per_node) {
            &self.machine.intra
        } else {
            &self.machine.inter
        }
    }

    #[inline]
    fn op(&self, rank: u32, op: u32) -> &Op {
        &self.schedule.ops[self.schedule.parts[rank as usize].first_op + op as usize]
    }

    /// Settles an event.
    #[inline]
    fn push(&mut self, what: u64, event: Event) {
        self.order += STEP;
        let order = self.order | what;
        self.queue.push(Event { order, ..event });
    }

    /// What waits for nothing begins.
    fn begin(&mut self) {
        for rank in 0..self.ranks.len() as u32 {
            let ops = self.schedule.parts[rank as usize].ops;
            for op in 0..ops {
                if self.op(rank, op).waits == 0 {
                    self.ready.push((op, 0));
                }
            }
            self.start_ready(rank);
        }
    }

    /// Begins what has become ready: receives at once, the rest as events.
    #[inline]
    fn start_ready(&mut self, rank: u32) {
        // In the order in which they became ready.
        let mut at = 0;
        while at < self.ready.len() {
            let (op, when) = self.ready[at];
            at += 1;
            let it = self.op(rank, op);
            // On a single processor nothing can come before it is free.
            if it.kind == Kind::Receive && (self.ranks[rank as usize].single || when == 0) {
                self.receive(rank, op, when);
            } else {
                let event = Event {
                    at: when,
                    order: 0,
                    rank,
                    op,
                    peer: 0,
                    other: 0,
                };
                self.push(OP, event);
            }
        }
        self.ready.clear();
    }

    #[inline]
    fn event(&mut self, event: Event) {
        match event.order & (STEP - 1) {
            OP => self.start(event),
            DONE => self.release(event.rank, event.op, event.at, false),
            part => self.arrive(event, part),
        }
        self.start_ready(event.rank);
    }

    /// An operation is due.
    #[inline]
    fn start(&mut self, event: Event) {
        let Event { at, rank, op, .. } = event;
        let it = *self.op(rank, op);
        if it.kind == Kind::Receive {
            self.receive(rank, op, at);
            return;
        }
        let state = &self.ranks[rank as usize];
        let cpu = (state.first_cpu + u32::from(it.cpu)) as usize;
        let nic = (state.first_nic + u32::from(it.nic)) as usize;
        let mut free = self.cpus[cpu];
        if it.kind == Kind::Send {
            free = free.max(self.nics[nic].sending);
        }
        if free > at {
            // It keeps its place among those that wait.
            self.queue.push(Event { at: free, ..event });
            return;
        }
        self.release_begin(rank, op, at);
        if it.kind == Kind::Calc {
            self.cpus[cpu] = at.saturating_add(it.size);
            self.ranks[rank as usize].work += it.size;
            self.complete(rank, op, self.cpus[cpu]);
            return;
        }
        let link = self.link(rank, it.peer);
        // A message without bytes takes what one byte takes.
        let bytes = it.size.max(1);
        let eager = bytes <= link.rendezvous_bytes;
        let mut occupied = link.send_overhead_ns;
        if eager {
            occupied += link.bytes_overhead_ns(bytes);
            self.nics[nic].sending = at + link.gap_ns + link.bytes_gap_ns(bytes);
        }
        self.cpus[cpu] = at + occupied;
        self.ranks[rank as usize].overhead += occupied;
        self.messages += 1;
        let message = Event {
            at: at + link.lookahead_ns(),
            order: 0,
            rank: it.peer,
            op,
            peer: rank,
            other: 0,
        };
        self.push(if eager { EAGER } else { REQUEST }, message);
        if eager {
            self.complete(rank, op, self.cpus[cpu]);
        }
    }

    /// A receive is posted at `at`.
    #[inline]
    fn receive(&mut self, rank: u32, op: u32, at: u64) {
        self.release_begin(rank, op, at);
        let it = *self.op(rank, op);
        let waiting = &mut self.ranks[rank as usize].waiting;
        let Some(message) = self.pool.take_early(waiting, it.peer, it.tag) else {
            self.pool.post(waiting, it.peer, it.tag, op);
            return;
        };
        if message.is_request {
            self.acknowledge(rank, message.peer, message.op, op, at);
        } else {
            self.complete(rank, op, at);
        }
    }

    /// Something comes to a rank.
    #[inline]
    fn arrive(&mut self, event: Event, part: u64) {
        let Event {
            at,
            rank,
            op,
            peer,
            other,
            ..
        } = event;
        let link = self.link(rank, peer);
        let sent = if part == ACKNOWLEDGE {
            *self.op(rank, op)
        } else {
            *self.op(peer, op)
        };
        let bytes = sent.size.max(1);
        let has_bytes = matches!(part, EAGER | DATA);
        let state = &self.ranks[rank as usize];
        let (mut cpu, mut nic) = (state.first_cpu as usize, state.first_nic as usize);
        if part == ACKNOWLEDGE {
            (cpu, nic) = (cpu + usize::from(sent.cpu), nic + usize::from(sent.nic));
        } else if part == DATA {
            let receive = self.op(rank, other);
            (cpu, nic) = (
                cpu + usize::from(receive.cpu),
                nic + usize::from(receive.nic),
            );
        } else if !state.single {
            // The processor and interface of the receive that waits for it, the first where none does.
            if let Some(receive) = self.pool.posted(&state.waiting, peer, sent.tag) {
                let receive = self.op(rank, receive);
                (cpu, nic) = (
                    cpu + usize::from(receive.cpu),
                    nic + usize::from(receive.nic),
                );
            }
        }
        let mut free = self.cpus[cpu];
        if has_bytes {
            free = free.max(self.nics[nic].receiving);
        }
        if free > at {
            self.queue.push(Event { at: free, ..event });
            return;
        }
        let mut occupied = link.receive_overhead_ns;
        if has_bytes {
            let gap = link.bytes_gap_ns(bytes);
            occupied += gap.max(link.bytes_overhead_ns(bytes));
            self.nics[nic].receiving = at + link.gap_ns + gap;
        } else if part == ACKNOWLEDGE {
            occupied = link.send_overhead_ns + link.bytes_overhead_ns(bytes);
        }
        self.cpus[cpu] = at + occupied;
        let end = self.cpus[cpu];
        let state = &mut self.ranks[rank as usize];
        state.overhead += occupied;
        match part {
            DATA => self.complete(rank, other, end),
            ACKNOWLEDGE => self.send_data(&event, &sent, end),
            _ => match self.pool.take_posted(&mut state.waiting, peer, sent.tag) {
                None => {
                    self.pool
                        .keep_early(&mut state.waiting, peer, sent.tag, op, part == REQUEST)
                }
                Some(receive) if part == REQUEST => self.acknowledge(rank, peer, op, receive, at),
                Some(receive) => self.complete(rank, receive, end),
            },
        }
    }

    /// Answers a request: its receive is there.
    fn acknowledge(&mut self, rank: u32, peer: u32, op: u32, receive: u32, at: u64) {
        let link = self.link(rank, peer);
        let cpu =
            self.ranks[rank as usize].first_cpu as usize + usize::from(self.op(rank, receive).cpu);
        let begin = self.cpus[cpu].max(at);
        self.cpus[cpu] = begin + link.send_overhead_ns;
        self.ranks[rank as usize].overhead += link.send_overhead_ns;
        let answer = Event {
            at: begin + link.lookahead_ns(),
            order: 0,
            rank: peer,
            op,
            peer: rank,
            other: receive,
        };
        self.push(ACKNOWLEDGE, answer);
    }

    /// Sends the bytes of a message whose request was answered.
    fn send_data(&mut self, answer: &Event, sent: &Op, end: u64) {
        let Event {
            at,
            rank,
            op,
            peer,
            other,
            ..
        } = *answer;
        let link = self.link(rank, peer);
        let nic = self.ranks[rank as usize].first_nic as usize + usize::from(sent.nic);
        let begin = self.nics[nic].sending.max(at);
        self.nics[nic].sending = begin + link.gap_ns + link.bytes_gap_ns(sent.size.max(1));
        let data = Event {
            at: begin + link.lookahead_ns(),
            order: 0,
            rank: peer,
            op,
            peer: rank,
            other,
        };
        self.push(DATA, data);
        self.complete(rank, op, end);
    }

    /// An operation has ended at `end`, which may be yet to come.
    #[inline]
    fn complete(&mut self, rank: u32, op: u32, end: u64) {
        let state = &mut self.ranks[rank as usize];
        state.done += 1;
        if state.single {
            // What waits for it needs the processor, which is not free before.
            self.release(rank, op, end, false);
        } else {
            let event = Event {
                at: end,
                order: 0,
                rank,
                op,
                peer: 0,
                other: 0,
            };
            self.push(DONE, event);
        }
    }

    #[inline]
    fn release_begin(&mut self, rank: u32, op: u32, at: u64) {
        if self.schedule.parts[rank as usize].dependents > 0 {
            self.release(rank, op, at, true);
        }
    }

    /// Takes a wait from those that wait for an operation's begin, or for its end.
    #[inline]
    fn release(&mut self, rank: u32, op: u32, at: u64, begin: bool) {
        let part: Part = self.schedule.parts[rank as usize];
        let next = op + 1;
        if !begin && next < part.ops {
            let it = &mut self.schedule.ops[part.first_op + next as usize];
            if it.after_previous {
                it.waits -= 1;
                if it.waits == 0 {
                    self.ready.push((next, at));
                }
            }
        }
        if part.dependents == 0 {
            return;
        }
        let first = part.first_dependent;
        let all = first..first + part.dependents as usize;
        let from = first + self.schedule.dependents[all.clone()].partition_point(|d| d.on < op);
        for i in from..all.end {
            let dependent = self.schedule.dependents[i];
            if dependent.on != op {
                break;
            }
            if dependent.begin == begin {
                let it = &mut self.schedule.ops[part.first_op + dependent.op as usize];
                it.waits -= 1;
                if it.waits == 0 {
                    self.ready.push((dependent.op, at));
                }
            }
        }
    }

    fn finish(mut self) -> Result<ScheduleOutcome, SimulationError> {
        let ranks = 0..self.ranks.len() as u32;
        let is_blocked = |rank: &u32| {
            let rank = *rank as usize;
            self.ranks[rank].done < self.schedule.parts[rank].ops
        };
        let blocked: Vec<u32> = ranks.filter(is_blocked).collect();
        if !blocked.is_empty() {
            let n_blocked = blocked.len();
            let blocked = blocked
                .into_iter()
                .take(NAMED)
                .map(|rank| self.blocked(rank))
                .collect();
            return Err(SimulationError::Deadlock { n_blocked, blocked });
        }
        let mut outcome = ScheduleOutcome {
            messages: self.messages,
            events: self.events,
            memory_bytes: self.schedule.memory_bytes() + self.queue.bytes() + self.pool.bytes(),
            ..ScheduleOutcome::default()
        };
        for op in &self.schedule.ops {
            outcome.operations[op.kind as usize] += 1;
        }
        for (rank, part) in self.ranks.iter_mut().zip(&self.schedule.parts) {
            let cpus = rank.first_cpu as usize..rank.first_cpu as usize + usize::from(part.cpus);
            let finish_ns = self.cpus[cpus].iter().copied().max().unwrap_or(0);
            outcome.unreceived += self.pool.n_early(&rank.waiting);
            outcome.makespan_ns = outcome.makespan_ns.max(finish_ns);
            outcome.processes.push(ProcessResult {
                finish_ns,
                work_ns: rank.work,
                overhead_ns: rank.overhead,
            });
        }
        Ok(outcome)
    }

    /// What a rank that does not come to its end waits for.
    fn blocked(&self, rank: u32) -> Blocked {
        let state = &self.ranks[rank as usize];
        let since_ns = self.cpus[state.first_cpu as usize];
        let (element, waits_for) = match self.pool.first_posted(&state.waiting) {
            Some((op, peer, tag)) => {
                let any = |number: u32| match number {
                    super::schedule::ANY => "any".to_owned(),
                    number => number.to_string(),
                };
                (
                    format!("operation {}", op + 1),
                    format!("a message from rank {}, tag {}", any(peer), any(tag)),
                )
            }
            None => (
                "an operation".to_owned(),
                "another one, or a receiver".to_owned(),
            ),
        };
        Blocked {
            process: rank,
            element,
            place: format!("rank {rank}"),
            waits_for,
            since_ns,
        }
    }
}
