//! A schedule on a machine.

mod finish;
mod line;
mod matching;
mod warm;

use super::queue::{Event, Queue};
use super::schedule::{Kind, Op, Schedule};
use crate::engine::{ProcessResult, Progress, SimulationError, reserve};
use crate::machine::{Link, Machine, Rendezvous};
use line::Lines;
use matching::Waiting;

/// What an event is: the lowest bits of its order.
const OP: u64 = 0;
const EAGER: u64 = 1;
const REQUEST: u64 = 2;
const ACKNOWLEDGE: u64 = 3;
const DATA: u64 = 4;
const DONE: u64 = 5;
/// An eager message of 4 GiB and more.
const LARGE: u64 = 6;

/// Bytes have been fetched.
const FETCHED: u64 = 7;

/// Which of these bits say what an event is.
const WHAT: u64 = 7;

/// Once that an event was put off because its rank was busy.
const PUT_OFF: u64 = WHAT + 1;

/// As often as it goes back into the queue; then it waits in line, which costs more the first times.
const OFTEN: u64 = 7 * PUT_OFF;

/// One event after the other in the order that they are settled.
const STEP: u64 = OFTEN + PUT_OFF;

/// Events between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 20;

/// A schedule that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScheduleOutcome {
    /// The last rank's finish, nanoseconds.
    pub makespan_ns: u64,
    /// By rank.
    pub processes: Vec<ProcessResult>,
    /// Calculations, sends and receives.
    pub operations: [u64; 3],
    /// Processor time of calculations, of sends and of messages that came, nanoseconds.
    pub times_ns: [u64; 3],
    /// Messages.
    pub messages: u64,
    /// Events.
    pub events: u64,
    /// Messages that nobody received.
    pub unreceived: u64,
    /// Most memory, the schedule included, bytes.
    pub memory_bytes: usize,
}

/// Runs a schedule on a machine; each rank is on a node of its own or shares one as ranks fill them, and has the
/// processors that the schedule names to itself: the machine's, its queue and what a process does that waits mean nothing.
///
/// # Errors
/// [`SimulationError::Deadlock`].
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
        run.warm();
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

/// A rank: one line of the cache.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Rank {
    /// When its only processor is free, and when its only interface can send and receive.
    processor: u64,
    nic: Nic,
    first_op: usize,
    /// Processor time of messages, nanoseconds.
    overhead_ns: u64,
    waiting: Waiting,
    /// Operations that have not ended.
    left: u32,
    form: Form,
}

/// What kind of rank it is, and its row of the lists of processors and interfaces where it has several of one.
#[derive(Debug, Clone, Copy, Default)]
struct Form(u32);

impl Form {
    /// It has one processor and one interface.
    const SINGLE: u32 = 1 << 31;

    /// Operations of it wait for others than the one before.
    const DEPENDS: u32 = 1 << 30;

    /// Some of them for a begin.
    const BEGINS: u32 = 1 << 29;

    #[inline]
    fn waits_for_begins(self) -> bool {
        self.0 & Self::BEGINS != 0
    }

    #[inline]
    fn depends(self) -> bool {
        self.0 & Self::DEPENDS != 0
    }

    #[inline]
    fn row(self) -> usize {
        (self.0 & !(Self::SINGLE | Self::DEPENDS | Self::BEGINS)) as usize
    }
}

impl Rank {
    #[inline]
    fn is_single(&self) -> bool {
        self.form.0 & Form::SINGLE != 0
    }
}

/// An interface: when it can send and receive next.
#[derive(Debug, Clone, Copy, Default)]
struct Nic {
    sending: u64,
    receiving: u64,
}

/// Processors and interfaces of a rank that has several of one.
#[derive(Debug, Clone, Default)]
struct Several {
    processors: Vec<u64>,
    nics: Vec<Nic>,
}

struct Run<'a> {
    schedule: Schedule,
    machine: &'a Machine,
    per_node: u32,
    ranks: Vec<Rank>,
    several: Vec<Several>,
    /// Overhead of what came.
    received_ns: u64,
    pool: matching::Pool,
    queue: Queue,
    lines: Lines,
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
        let mut several = Vec::new();
        let mut ranks = Vec::new();
        reserve(&mut ranks, schedule.ranks());
        ranks.extend(schedule.parts.iter().map(|part| {
            let mut form = several.len() as u32;
            if part.cpus == 1 && part.nics == 1 {
                form |= Form::SINGLE;
            } else {
                several.push(Several {
                    processors: vec![0; usize::from(part.cpus)],
                    nics: vec![Nic::default(); usize::from(part.nics)],
                });
            }
            if part.dependents > 0 {
                form |= Form::DEPENDS;
            }
            let end = part.first_dependent + part.dependents as usize;
            let dependents = &schedule.dependents[part.first_dependent..end];
            if dependents.iter().any(|dependent| dependent.begin) {
                form |= Form::BEGINS;
            }
            Rank {
                first_op: part.first_op,
                left: part.ops,
                form: Form(form),
                ..Rank::default()
            }
        }));
        Self {
            schedule,
            machine,
            per_node: n.div_ceil(nodes.max(1)).max(1),
            received_ns: 0,
            ranks,
            several,
            pool: matching::Pool::default(),
            queue: Queue::new(),
            lines: Lines::default(),
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

    /// When a processor is free.
    #[inline]
    fn processor(&mut self, rank: u32, cpu: u8) -> &mut u64 {
        let rank = &mut self.ranks[rank as usize];
        if rank.is_single() {
            &mut rank.processor
        } else {
            &mut self.several[rank.form.row()].processors[usize::from(cpu)]
        }
    }

    #[inline]
    fn nic(&mut self, rank: u32, nic: u8) -> &mut Nic {
        let rank = &mut self.ranks[rank as usize];
        if rank.is_single() {
            &mut rank.nic
        } else {
            &mut self.several[rank.form.row()].nics[usize::from(nic)]
        }
    }

    #[inline]
    fn op(&self, rank: u32, op: u32) -> Op {
        self.schedule.ops.get(self.place_of(rank, op))
    }

    /// Where an operation is in the list of all.
    #[inline]
    fn place_of(&self, rank: u32, op: u32) -> usize {
        self.ranks[rank as usize].first_op + op as usize
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
            for op in 0..self.schedule.parts[rank as usize].ops {
                if self.schedule.ops.is_free(self.place_of(rank, op)) {
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
            let state = &self.ranks[rank as usize];
            // On a single processor nothing can come before it is free.
            if it.kind == Kind::Receive && (state.is_single() || when == 0) {
                self.receive(rank, op, when);
            } else {
                // Before the interface is free it would only be put off.
                let mut free = when;
                if it.kind == Kind::Send {
                    free = free.max(self.nic(rank, it.nic).sending);
                }
                let event = Event {
                    at: free,
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
        if event.order & OFTEN == OFTEN {
            self.lines.came(event.rank, event.order);
        }
        match event.order & WHAT {
            OP => self.start(event),
            DONE => self.release(event.rank, event.op, event.at),
            part => self.arrive(event, part),
        }
        if event.order & OFTEN == OFTEN {
            self.call_all(event.rank, event.at);
        }
        if !self.ready.is_empty() {
            self.start_ready(event.rank);
        }
    }

    /// An operation is due.
    #[inline]
    fn start(&mut self, event: Event) {
        let Event { at, rank, op, .. } = event;
        let it = self.op(rank, op);
        if it.kind == Kind::Receive {
            self.receive(rank, op, at);
            return;
        }
        let mut free = *self.processor(rank, it.cpu);
        if it.kind == Kind::Send {
            free = free.max(self.nic(rank, it.nic).sending);
        }
        if free > at {
            self.put_off(Event { at: free, ..event });
            return;
        }
        self.release_begin(rank, op, at);
        if it.kind == Kind::Calc {
            let end = at.saturating_add(it.size);
            *self.processor(rank, it.cpu) = end;
            self.complete(rank, op, end);
            return;
        }
        let link = self.link(rank, it.peer);
        // A message without bytes takes what one byte takes.
        let bytes = it.size.max(1);
        let eager = bytes <= link.rendezvous_bytes;
        let mut occupied = link.send_overhead_ns;
        if eager {
            occupied += link.bytes_overhead_ns(bytes);
            self.nic(rank, it.nic).sending = at + link.gap_ns + link.bytes_gap_ns(bytes);
        }
        let end = at + occupied;
        *self.processor(rank, it.cpu) = end;
        self.ranks[rank as usize].overhead_ns += occupied;
        self.messages += 1;
        let mut message = Event {
            at: at + link.lookahead_ns(),
            order: 0,
            rank: it.peer,
            op,
            peer: rank,
            other: 0,
        };
        let receiver = &self.ranks[it.peer as usize];
        if receiver.is_single() {
            // Before its processor is free it would only be put off.
            message.at = message.at.max(receiver.processor);
        }
        if eager {
            // All that its receiver needs of it.
            if let Ok(bytes) = u32::try_from(bytes) {
                (message.op, message.other) = (it.tag, bytes);
                self.push(EAGER, message);
            } else {
                self.push(LARGE, message);
            }
            self.complete(rank, op, end);
        } else {
            self.push(REQUEST, message);
        }
    }

    /// A receive is posted at `at`.
    #[inline]
    fn receive(&mut self, rank: u32, op: u32, at: u64) {
        self.release_begin(rank, op, at);
        let it = self.op(rank, op);
        let (ranks, ops) = (&mut self.ranks, &self.schedule.ops);
        let Rank {
            waiting, first_op, ..
        } = &mut ranks[rank as usize];
        let Some(message) = self.pool.take_early(waiting, (it.peer, it.tag)) else {
            self.pool.post(waiting, op, ops.receives(*first_op));
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
        let (tag, bytes, cpu, nic) = match part {
            EAGER => (op, u64::from(other), 0, 0),
            ACKNOWLEDGE | FETCHED => {
                let sent = self.op(rank, op);
                (sent.tag, sent.size.max(1), sent.cpu, sent.nic)
            }
            DATA => {
                let (sent, receive) = (self.op(peer, op), self.op(rank, other));
                (sent.tag, sent.size.max(1), receive.cpu, receive.nic)
            }
            _ => {
                let sent = self.op(peer, op);
                (sent.tag, sent.size.max(1), 0, 0)
            }
        };
        let (cpu, nic) = match part {
            EAGER | LARGE | REQUEST => self.place_of_receive(rank, peer, tag),
            _ => (cpu, nic),
        };
        let has_bytes = matches!(part, EAGER | LARGE | DATA);
        let mut free = *self.processor(rank, cpu);
        if has_bytes {
            free = free.max(self.nic(rank, nic).receiving);
        }
        if free > at {
            self.put_off(Event { at: free, ..event });
            return;
        }
        let mut occupied = link.receive_overhead_ns;
        if has_bytes {
            let gap = link.bytes_gap_ns(bytes);
            occupied += gap.max(link.bytes_overhead_ns(bytes));
            self.nic(rank, nic).receiving = at + link.gap_ns + gap;
        } else if part == ACKNOWLEDGE {
            occupied = link.send_overhead_ns + link.bytes_overhead_ns(bytes);
        }
        let end = at + occupied;
        *self.processor(rank, cpu) = end;
        self.ranks[rank as usize].overhead_ns += occupied;
        self.received_ns += occupied;
        match part {
            DATA => {
                if link.rendezvous == Rendezvous::Fetched {
                    let told = Event {
                        at: end + link.lookahead_ns(),
                        order: 0,
                        rank: peer,
                        op,
                        peer: rank,
                        other: 0,
                    };
                    self.push(FETCHED, told);
                }
                self.complete(rank, other, end);
            }
            FETCHED => self.complete(rank, op, end),
            ACKNOWLEDGE => self.send_data(&event, bytes, nic, end),
            _ => {
                let (ranks, ops) = (&mut self.ranks, &self.schedule.ops);
                let Rank {
                    waiting, first_op, ..
                } = &mut ranks[rank as usize];
                let receives = ops.receives(*first_op);
                match self.pool.take_posted(waiting, (peer, tag), receives) {
                    None => self
                        .pool
                        .keep_early(waiting, peer, tag, op, part == REQUEST),
                    Some(receive) if part == REQUEST => {
                        self.acknowledge(rank, peer, op, receive, at);
                    }
                    Some(receive) => self.complete(rank, receive, end),
                }
            }
        }
    }

    /// The processor and interface of the receive that waits for a message, the first where none does.
    #[inline]
    fn place_of_receive(&self, rank: u32, peer: u32, tag: u32) -> (u8, u8) {
        let state = &self.ranks[rank as usize];
        if state.is_single() {
            return (0, 0);
        }
        let receives = self.schedule.ops.receives(state.first_op);
        let posted = self.pool.posted(&state.waiting, (peer, tag), receives);
        posted.map_or((0, 0), |receive| {
            let receive = self.op(rank, receive);
            (receive.cpu, receive.nic)
        })
    }

    /// Answers a request: its receive is there.
    fn acknowledge(&mut self, rank: u32, peer: u32, op: u32, receive: u32, at: u64) {
        let link = self.link(rank, peer);
        let cpu = self.op(rank, receive).cpu;
        let processor = self.processor(rank, cpu);
        let begin = (*processor).max(at);
        *processor = begin + link.send_overhead_ns;
        self.ranks[rank as usize].overhead_ns += link.send_overhead_ns;
        if link.rendezvous == Rendezvous::Fetched {
            // Nothing that the sender does decides when the bytes come.
            let bytes = Event {
                at: begin + link.fetch_ns(),
                order: 0,
                rank,
                op,
                peer,
                other: receive,
            };
            self.push(DATA, bytes);
            return;
        }
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
    fn send_data(&mut self, answer: &Event, bytes: u64, nic: u8, end: u64) {
        let Event {
            at,
            rank,
            op,
            peer,
            other,
            ..
        } = *answer;
        let link = self.link(rank, peer);
        let nic = self.nic(rank, nic);
        let begin = nic.sending.max(at);
        nic.sending = begin + link.gap_ns + link.bytes_gap_ns(bytes);
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
        state.left -= 1;
        if state.is_single() {
            // What waits for it needs the processor, which is not free before.
            self.release(rank, op, end);
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
        if self.ranks[rank as usize].form.waits_for_begins() {
            self.release_dependents(rank, op, at, true);
        }
    }

    /// Takes a wait from those that wait for an operation's end.
    #[inline]
    fn release(&mut self, rank: u32, op: u32, at: u64) {
        let Rank { first_op, form, .. } = self.ranks[rank as usize];
        // The first of another rank is behind none.
        if self.schedule.ops.release_next(first_op + op as usize + 1) {
            self.ready.push((op + 1, at));
        }
        if form.depends() {
            self.release_dependents(rank, op, at, false);
        }
    }

    #[inline]
    fn release_dependents(&mut self, rank: u32, op: u32, at: u64, begin: bool) {
        let first_op = self.ranks[rank as usize].first_op;
        for i in self.schedule.dependents_of(first_op + op as usize) {
            let dependent = self.schedule.dependents[i];
            if dependent.begin == begin {
                let place = first_op + dependent.op as usize;
                if self.schedule.ops.release(place) {
                    self.ready.push((dependent.op, at));
                }
            }
        }
    }
}
