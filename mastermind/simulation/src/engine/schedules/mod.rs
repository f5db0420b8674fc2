//! The engine for schedules: single events in order of time, from one calendar.
//!
//! Input is a [`Schedule`] and a [`Machine`], output the finishing time of each rank ([`ScheduleOutcome`]);
//! [`simulate_schedule`] is where to start. An operation starts when the operations it requires have ended (`ready`)
//! and its processor and interface are free (`start`); until then it is deferred (`deferred`). A message that arrives
//! (`arrive`) takes the processor, then its posted receive, or waits as an unexpected message (`matching`). Costs come
//! from `loggp`, so an equivalent schedule and program model end on the same nanosecond; of events that are due
//! together the one that was scheduled first is first. `loggopsim` has other rules.
//!
//! A schedule is read in pieces into eight bytes for most operations. Operations that depend on each other in any
//! order, and rendezvous, leave no window in which a rank could run ahead, so there is one calendar, with the first
//! deferred event of each rank. The next events' state is prefetched.
//!
//! ```
//! use mastermind_simulation::engine::simulate_schedule;
//! use mastermind_programs::goal::read_goal;
//! use mastermind_simulation::machine::read_machine;
//!
//! let schedule = "num_ranks 2
//!     rank 0 {
//!     a: calc 1000
//!     b: send 8b to 1
//!     b requires a
//!     }
//!     rank 1 {
//!     recv 8b from 0
//!     }";
//! let machine = "[network]
//!     latency_ns = 1000
//!     overhead_ns = 200
//!     gap_ns = 100
//!     gap_per_byte_ns = 10.0";
//! let outcome = simulate_schedule(read_goal(schedule.as_bytes())?, &read_machine(machine)?)?;
//! // Rank 0 calculates, and sends for o; after L the message takes o and, for 8 bytes, 7 G of rank 1.
//! let finish = |rank: usize| outcome.processes[rank].finish_ns;
//! assert_eq!([finish(0), finish(1)], [1000 + 200, 1200 + 1000 + 200 + 7 * 10]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod deferred;
mod finish;
mod loggopsim;
mod matching;
mod path;
mod prefetch;
mod ready;
mod shared_links;

use crate::engine::outcome::Count;
use crate::engine::{
    EngineChoice, Limits, Outcome, ProcessResult, Progress, SimulationError, Slice,
};
use crate::events::NEVER;
use crate::events::queue::{Event, Queue};
use crate::events::shared_links::SharedLinks;
use crate::loggp::{MessagePart, Protocol, bytes_on_the_wire};
use crate::machine::{Link, Machine, Rendezvous};
use crate::sensitivity::recorder::{Recorder, Site};
use deferred::DeferredEvents;
use mastermind_programs::ElementInfo;
use mastermind_programs::goal::{Kind, Op, Schedule};
use mastermind_programs::huge_pages::reserve;
use matching::Waiting;
pub use path::schedule_path;

/// Type of an event: the lowest bits of its order.
const OP: u64 = 0;
const EAGER: u64 = MessagePart::Eager as u64;
const DATA: u64 = MessagePart::Data as u64;
const DONE: u64 = 6;
/// An eager message of 4 GiB and more.
const LARGE: u64 = 7;

/// The bits with the type of an event: an operation, a part of a message by its number, or the end of an operation.
const WHAT: u64 = 7;

/// Whether the event waits for its rank (`deferred`), and is in the queue to announce when the rank
/// is free.
const CALLED: u64 = WHAT + 1;

/// From one event to the next in the order in which they are scheduled.
const STEP: u64 = 2 * CALLED;

/// Events between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 20;

/// Rules of a schedule's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rules {
    /// The rules of [`crate::loggp`], as for program models.
    #[default]
    Own,
    /// The rules of LogGOPSim, for its finishing times; the schedule is to be read with
    /// [`WaitOrder::Lines`](mastermind_programs::goal::WaitOrder).
    LogGopSim,
}

/// Receiver of the activities of each rank: none, or a function. The elements are those of
/// [`schedule_elements`].
#[derive(Default)]
pub struct ScheduleSlices<'a>(pub Option<&'a mut dyn FnMut(Slice)>);

impl ScheduleSlices<'_> {
    #[inline]
    fn add(&mut self, kind: Kind, rank: u32, begin_ns: u64, end_ns: u64) {
        if let Some(on_slice) = &mut self.0 {
            on_slice(Slice {
                process: rank,
                element: kind as u32,
                begin_ns,
                end_ns,
                wait_ns: 0,
            });
        }
    }
}

/// Elements of a schedule's trace: calculations, sends, and the processing of received messages.
pub fn schedule_elements() -> Vec<ElementInfo> {
    ["calc", "send", "recv"].map(element).to_vec()
}

fn element(kind: &'static str) -> ElementInfo {
    ElementInfo {
        name: kind.into(),
        place: String::new(),
        kind,
    }
}

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
    /// Messages that were never received.
    pub unreceived: u64,
    /// Most memory, the schedule included, bytes.
    pub memory_bytes: usize,
    /// By rank: its calculations, then its sends and receives.
    counts: Vec<Count>,
}

impl ScheduleOutcome {
    /// Its chart: by rank two elements, its calculations and its messages.
    pub fn chart(&self) -> Outcome {
        let named = |name: &str, kind| ElementInfo {
            name: name.into(),
            ..element(kind)
        };
        Outcome {
            engine: EngineChoice::Schedules,
            makespan_ns: self.makespan_ns,
            processes: self.processes.clone(),
            elements: vec![
                named("calculations", "calc"),
                named("messages", "send, recv"),
            ],
            messages: self.messages,
            events: self.events,
            ties: 0,
            unreceived: self.unreceived,
            unmatched: 0,
            memory_bytes: self.memory_bytes,
            most_messages: 0,
            counts: self.counts.clone(),
        }
    }
}

/// Runs a schedule on a machine; each rank is on a node of its own or shares one as ranks fill them, and has the
/// processors that the schedule names to itself: the machine's processors, queue and waiting mode are ignored.
///
/// # Errors
/// [`SimulationError::Deadlock`]; [`SimulationError::Limit`] after 73 years.
pub fn simulate_schedule(
    schedule: Schedule,
    machine: &Machine,
) -> Result<ScheduleOutcome, SimulationError> {
    simulate_schedule_with(schedule, machine, Limits::default(), &mut |_| ())
}

/// Runs a schedule up to some limits, and reports progress now and then.
///
/// # Errors
/// As [`simulate_schedule`]; [`SimulationError::Limit`].
pub fn simulate_schedule_with(
    schedule: Schedule,
    machine: &Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<ScheduleOutcome, SimulationError> {
    let (rules, slices) = (Rules::default(), ScheduleSlices::default());
    simulate_schedule_by(schedule, machine, (rules, limits), progress, slices)
}

/// Runs a schedule by some rules and up to some limits, and reports the activities of each rank.
///
/// # Errors
/// As [`simulate_schedule_with`]; [`SimulationError::Machine`].
pub fn simulate_schedule_by(
    schedule: Schedule,
    machine: &Machine,
    (rules, limits): (Rules, Limits),
    progress: &mut dyn FnMut(Progress),
    slices: ScheduleSlices<'_>,
) -> Result<ScheduleOutcome, SimulationError> {
    if rules == Rules::LogGopSim {
        return loggopsim::simulate(&schedule, machine, limits, progress, slices);
    }
    run_to_end(Run::new(schedule, machine, slices), limits, progress)
}

fn run_to_end(
    mut run: Run<'_, '_>,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<ScheduleOutcome, SimulationError> {
    let limits = limits.of_clocks();
    run.begin();
    let mut next_report = PROGRESS_EVERY;
    while let Some(event) = run.queue.pop() {
        run.events += 1;
        limits.check(run.events, event.at)?;
        if let Some(recorder) = &mut run.recorder {
            recorder.drop_unreachable();
        }
        run.prefetch();
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

/// A rank: one cache line.
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

/// Class of a rank, and its row in the lists of processors and interfaces if it has several of one.
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

    const ROW: u32 = !(Self::SINGLE | Self::DEPENDS | Self::BEGINS);

    #[inline]
    fn row(self) -> usize {
        (self.0 & Self::ROW) as usize
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

struct Run<'a, 't> {
    schedule: Schedule,
    machine: &'a Machine,
    per_node: u32,
    /// Whether each rank is on a node of its own and all have one link between them.
    is_flat: bool,
    ranks: Vec<Rank>,
    several: Vec<Several>,
    /// Overhead of received messages.
    received_ns: u64,
    /// By rank, with noise: the total lengthening of calculations.
    noise_ns: Vec<u64>,
    pool: matching::Pool,
    queue: Queue,
    deferred: DeferredEvents,
    shared_links: Option<SharedLinks<'a, Event>>,
    /// When messages take their next turns at those.
    turns_ns: u64,
    order: u64,
    /// Operations whose last wait has ended, during one event.
    ready: Vec<(u32, u64)>,
    messages: u64,
    events: u64,
    slices: ScheduleSlices<'t>,
    /// Recorder of the longest path, if requested.
    recorder: Option<&'t mut Recorder>,
}

impl<'a, 't> Run<'a, 't> {
    fn new(schedule: Schedule, machine: &'a Machine, slices: ScheduleSlices<'t>) -> Self {
        let n = schedule.ranks() as u32;
        let nodes = machine.nodes_for(n);
        let mut several = Vec::new();
        let mut ranks = Vec::new();
        reserve(&mut ranks, schedule.ranks());
        ranks.extend(schedule.parts.iter().map(|part| {
            let mut form = Form::SINGLE;
            if part.cpus > 1 || part.nics > 1 {
                form = several.len() as u32;
                several.push(Several {
                    processors: vec![0; usize::from(part.cpus)],
                    nics: vec![Nic::default(); usize::from(part.nics)],
                });
            }
            if part.depends {
                form |= Form::DEPENDS;
            }
            if part.begins {
                form |= Form::BEGINS;
            }
            Rank {
                first_op: part.first_op,
                left: part.ops,
                form: Form(form),
                ..Rank::default()
            }
        }));
        let per_node = n.div_ceil(nodes.max(1)).max(1);
        Self {
            deferred: DeferredEvents::new(schedule.ranks()),
            schedule,
            machine,
            per_node,
            is_flat: per_node == 1 && machine.is_flat(),
            received_ns: 0,
            noise_ns: machine.noise.map_or(Vec::new(), |_| vec![0; ranks.len()]),
            ranks,
            several,
            pool: matching::Pool::default(),
            queue: Queue::new(),
            shared_links: SharedLinks::of(machine),
            turns_ns: NEVER,
            order: 0,
            ready: Vec::new(),
            messages: 0,
            events: 0,
            slices,
            recorder: None,
        }
    }

    #[inline]
    fn link(&self, a: u32, b: u32) -> &'a Link {
        if self.is_flat && a != b {
            return &self.machine.inter;
        }
        if a == b || (self.per_node > 1 && a / self.per_node == b / self.per_node) {
            &self.machine.intra
        } else {
            let machine: &'a Machine = self.machine;
            machine.node_link(a / self.per_node, b / self.per_node)
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

    /// Index of an operation in the list of all.
    #[inline]
    fn place_of(&self, rank: u32, op: u32) -> usize {
        self.ranks[rank as usize].first_op + op as usize
    }

    /// Schedules an event.
    #[inline(always)]
    fn push(&mut self, what: u64, event: Event) {
        self.order += STEP;
        let order = self.order | what;
        if let Some(recorder) = &mut self.recorder {
            match what {
                DONE => recorder.schedule_end(order),
                _ => recorder.schedule_message(order),
            }
        }
        self.queue.push(Event { order, ..event });
    }

    /// Begins the operations that wait for nothing.
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

    #[inline(always)]
    fn event(&mut self, event: Event) {
        if event.order & CALLED != 0 {
            return self.take_called(event);
        }
        self.take(event);
    }

    #[inline(always)]
    fn take(&mut self, event: Event) {
        match event.order & WHAT {
            OP => self.start(event),
            DONE => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.pass(event.order);
                }
                self.release(event.rank, event.op, event.at);
            }
            part => self.arrive(event, part),
        }
        if !self.ready.is_empty() {
            self.start_ready(event.rank);
        }
    }

    /// An operation is due.
    #[inline(always)]
    fn start(&mut self, event: Event) {
        let Event { at, rank, op, .. } = event;
        let it = self.op(rank, op);
        if it.kind == Kind::Receive {
            if let Some(recorder) = &mut self.recorder {
                recorder.pass(event.order);
            }
            self.receive(rank, op, at);
            return;
        }
        let mut free = *self.processor(rank, it.cpu);
        if it.kind == Kind::Send {
            free = free.max(self.nic(rank, it.nic).sending);
        }
        if free > at {
            self.defer(Event { at: free, ..event });
            return;
        }
        self.release_begin(rank, op, at);
        if it.kind == Kind::Calc {
            let mut end = at.saturating_add(it.size);
            if let Some(noise) = &self.machine.noise {
                let time_ns = noise.lengthened_ns((rank, u32::from(it.cpu)), at, it.size);
                self.noise_ns[rank as usize] += time_ns - it.size;
                end = at.saturating_add(time_ns);
            }
            *self.processor(rank, it.cpu) = end;
            self.slices.add(Kind::Calc, rank, at, end);
            if let Some(recorder) = &mut self.recorder {
                recorder.work((rank, it.cpu), Some(event.order), (at, end), 0);
            }
            self.complete(rank, op, end);
            return;
        }
        let link = self.link(rank, it.peer);
        let bytes = bytes_on_the_wire(it.size);
        let protocol = link.protocol(bytes);
        let time = link.send_time(bytes, protocol);
        if let Some(interface_ns) = time.interface_ns {
            self.nic(rank, it.nic).sending = at + interface_ns;
        }
        let end = at + time.processor_ns;
        *self.processor(rank, it.cpu) = end;
        self.slices.add(Kind::Send, rank, at, end);
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((rank, it.peer), (it.cpu, it.nic), link, bytes);
            recorder.send(&site, Some(event.order), at, protocol);
        }
        self.ranks[rank as usize].overhead_ns += time.processor_ns;
        self.messages += 1;
        let mut message = Event {
            at: at + link.lookahead_ns(),
            rank: it.peer,
            op,
            peer: rank,
            ..Event::default()
        };
        let receiver = &self.ranks[it.peer as usize];
        if receiver.is_single() && self.shared_links.is_none() {
            // Before its processor is free it would only be deferred.
            message.at = message.at.max(receiver.processor);
        }
        if protocol == Protocol::Eager {
            // All that its receiver needs of it.
            if let Ok(bytes) = u32::try_from(bytes) {
                (message.op, message.other) = (it.tag, bytes);
                self.post(EAGER, message);
            } else {
                self.post(LARGE, message);
            }
            self.complete(rank, op, end);
        } else {
            message.other = it.tag;
            self.post(protocol.first_part() as u64, message);
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
        let Some(message) = self.pool.take_unexpected(rank, waiting, (it.peer, it.tag)) else {
            self.pool.post(rank, waiting, op, ops.receives(*first_op));
            return;
        };
        if message.is_request {
            self.answer_request(rank, message.peer, message.op, op, at);
        } else {
            self.complete(rank, op, at);
        }
    }

    /// A part of a message arrives at a rank.
    #[inline(always)]
    fn arrive(&mut self, event: Event, what: u64) {
        let Event {
            at,
            rank,
            op,
            peer,
            other,
            ..
        } = event;
        let link = self.link(rank, peer);
        // A large message is an eager one whose size is looked up.
        let part = MessagePart::of_number(what).unwrap_or(MessagePart::Eager);
        let (tag, bytes, cpu, nic) = match part {
            MessagePart::Eager if what == EAGER => (op, u64::from(other), 0, 0),
            MessagePart::ClearToSend | MessagePart::Fetched => {
                let sent = self.op(rank, op);
                (sent.tag, sent.size, sent.cpu, sent.nic)
            }
            MessagePart::Data => {
                let (sent, receive) = (self.op(peer, op), self.op(rank, other));
                (sent.tag, sent.size, receive.cpu, receive.nic)
            }
            MessagePart::RequestToSend => (other, 0, 0, 0),
            MessagePart::Eager => {
                let sent = self.op(peer, op);
                (sent.tag, sent.size, 0, 0)
            }
        };
        let bytes = bytes_on_the_wire(bytes);
        let (cpu, nic) = match part {
            MessagePart::Eager | MessagePart::RequestToSend => {
                self.place_of_receive(rank, peer, tag)
            }
            _ => (cpu, nic),
        };
        let has_bytes = part.has_bytes();
        let mut free = *self.processor(rank, cpu);
        if has_bytes {
            free = free.max(self.nic(rank, nic).receiving);
        }
        if free > at {
            self.defer(Event { at: free, ..event });
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((rank, peer), (cpu, nic), link, bytes);
            recorder.arrive(&site, event.order, at, part);
        }
        let occupied = link.arrival_ns(part, bytes);
        if has_bytes {
            self.nic(rank, nic).receiving = at + link.interface_ns(bytes);
        }
        let end = at + occupied;
        *self.processor(rank, cpu) = end;
        self.slices.add(Kind::Receive, rank, at, end);
        self.ranks[rank as usize].overhead_ns += occupied;
        self.received_ns += occupied;
        match part {
            MessagePart::Data => {
                if link.rendezvous == Rendezvous::Fetched {
                    if let Some(recorder) = &mut self.recorder {
                        recorder.send_fetched(&Site::new((rank, peer), (cpu, nic), link, bytes));
                    }
                    let notification = Event {
                        at: end + link.lookahead_ns(),
                        rank: peer,
                        op,
                        peer: rank,
                        ..Event::default()
                    };
                    self.post(MessagePart::Fetched as u64, notification);
                }
                self.complete(rank, other, end);
            }
            MessagePart::Fetched => self.complete(rank, op, end),
            MessagePart::ClearToSend => self.send_data(&event, bytes, nic, end),
            MessagePart::Eager | MessagePart::RequestToSend => {
                let is_request = part == MessagePart::RequestToSend;
                let (ranks, ops) = (&mut self.ranks, &self.schedule.ops);
                let Rank {
                    waiting, first_op, ..
                } = &mut ranks[rank as usize];
                let receives = ops.receives(*first_op);
                match self.pool.take_posted(rank, waiting, (peer, tag), receives) {
                    None => self
                        .pool
                        .keep_unexpected(rank, waiting, (peer, tag), op, is_request),
                    Some(receive) if is_request => {
                        self.answer_request(rank, peer, op, receive, at);
                    }
                    Some(receive) => self.complete(rank, receive, end),
                }
            }
        }
    }

    /// The processor and interface of the receive that waits for a message, or the first ones.
    #[inline]
    fn place_of_receive(&mut self, rank: u32, peer: u32, tag: u32) -> (u8, u8) {
        let state = &self.ranks[rank as usize];
        if state.is_single() {
            return (0, 0);
        }
        let receives = self.schedule.ops.receives(state.first_op);
        let posted = self
            .pool
            .posted(rank, &state.waiting, (peer, tag), receives);
        posted.map_or((0, 0), |receive| {
            let receive = self.op(rank, receive);
            (receive.cpu, receive.nic)
        })
    }

    /// Answers a request to send: its receive is posted.
    fn answer_request(&mut self, rank: u32, peer: u32, op: u32, receive: u32, at: u64) {
        let link = self.link(rank, peer);
        let cpu = self.op(rank, receive).cpu;
        let processor = self.processor(rank, cpu);
        let begin = (*processor).max(at);
        let answer = link.answer();
        let end = begin + answer.processor_ns;
        *processor = end;
        self.slices.add(Kind::Receive, rank, begin, end);
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((rank, peer), (cpu, 0), link, 0);
            recorder.answer(&site, begin, answer.part == MessagePart::Data);
        }
        self.ranks[rank as usize].overhead_ns += answer.processor_ns;
        let (to, from) = match answer.part {
            MessagePart::ClearToSend => (peer, rank),
            _ => (rank, peer),
        };
        let next = Event {
            at: begin + answer.travel_ns,
            rank: to,
            op,
            peer: from,
            other: receive,
            ..Event::default()
        };
        self.post(answer.part as u64, next);
    }

    /// Sends the data of a rendezvous: its clear to send has arrived.
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
        let number = nic;
        let nic = self.nic(rank, number);
        let begin = nic.sending.max(at);
        nic.sending = begin + link.interface_ns(bytes);
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((rank, peer), (0, number), link, bytes);
            recorder.send_data(&site, begin);
        }
        let data = Event {
            at: begin + link.lookahead_ns(),
            rank: peer,
            op,
            peer: rank,
            other,
            ..Event::default()
        };
        self.post(DATA, data);
        self.complete(rank, op, end);
    }
}
