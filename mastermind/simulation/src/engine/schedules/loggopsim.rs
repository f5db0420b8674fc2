//! The rules of LogGOPSim, for schedules alone: its finishing times to the nanosecond, its oddities included.
//!
//! The guide lists the differences from `loggp` ("The rules of LogGOPSim"). In short: a released operation begins when
//! its own processor is free, not when the operation it waited for has ended; a message takes the processor and
//! interface that its *send* names, at its receiver too; request and answer of a rendezvous cost nothing; of operations
//! that become free together, sends come first, then receives, then calculations; bytes are counted as `size - 1`
//! without a bound, so that a message without bytes gains time. Times therefore wrap as LogGOPSim's do, and an event
//! may be due before the present one.
//!
//! So these rules fit neither `loggp` nor a calendar: this is a loop of its own over the same schedules, message lists
//! and results, which reads them in the order of their lines (`goal/read.rs`, `WaitOrder`), since that decides here. A
//! test compares it with recorded finishing times.
//!
//! # Source
//! LogGOPSim, github.com/spcl/LogGOPSim, `src/LogGOPSim/LogGOPSim.cpp` (the event loop; its constants `HOSTSYNC` and
//! `STRICT_ORDER` are set), as in T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::finish::{Ended, outcome_of};
use super::matching::{Pool, Waiting};
use super::{PROGRESS_EVERY, ScheduleOutcome, ScheduleSlices};
use crate::engine::{Limits, Progress, SimulationError};
use crate::loggp::Link;
use crate::machine::Machine;
use mastermind_programs::goal::{Kind, Op, Schedule};

/// The parameters of LogGOPSim: whole numbers, one link for all.
#[derive(Debug, Clone, Copy)]
struct Parameters {
    latency: u64,
    overhead: u64,
    gap: u64,
    gap_per_byte: u64,
    overhead_per_byte: u64,
    rendezvous_bytes: u64,
}

impl Parameters {
    /// # Errors
    /// [`SimulationError::Machine`] for a machine that LogGOPSim has no parameters for.
    fn of(machine: &Machine) -> Result<Self, SimulationError> {
        let refuse = |what: &'static str, found: String, expected: &'static str| {
            Err(SimulationError::Machine {
                what,
                found,
                expected,
            })
        };
        if let Some(noise) = machine.noise {
            let found = format!("once in {} ns", noise.every_ns);
            return refuse("noise", found, "none");
        }
        let link: &Link = &machine.inter;
        if !machine.is_flat() {
            let found = "switches or groups with links of their own".to_owned();
            return refuse("network", found, "one link for all ranks");
        }
        if machine.intra != machine.inter && machine.processors > 1 {
            let found = "another link inside of a node".to_owned();
            return refuse("network", found, "one link for all ranks");
        }
        if link.send_overhead_ns != link.receive_overhead_ns {
            let found = format!(
                "{} and {} ns",
                link.send_overhead_ns, link.receive_overhead_ns
            );
            return refuse("overhead o of sender and receiver", found, "one for both");
        }
        if !link.pieces.as_slice().is_empty() {
            let found = format!("{} pieces", link.pieces.as_slice().len());
            return refuse("gap per byte G", found, "one for all sizes");
        }
        let (big, small) = (link.gap_per_byte_ns, link.overhead_per_byte_ns);
        if big.fract() != 0.0 || small.fract() != 0.0 {
            let found = format!("{big} and {small} ns a byte");
            return refuse("G and O", found, "whole nanoseconds");
        }
        Ok(Self {
            latency: link.latency_ns,
            overhead: link.send_overhead_ns,
            gap: link.gap_ns,
            gap_per_byte: big as u64,
            overhead_per_byte: small as u64,
            rendezvous_bytes: link.rendezvous_bytes,
        })
    }
}

/// An event, in the order of LogGOPSim's queue: by time, then by the number of its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    made: u64,
    /// The rank of the operation; of a message, its sender.
    rank: u32,
    op: u32,
    is_message: bool,
}

struct Run<'s, 't> {
    schedule: &'s Schedule,
    parameters: Parameters,
    cpus: usize,
    nics: usize,
    /// When each processor, sending and receiving interface of each rank is free.
    processor: Vec<u64>,
    sending: Vec<u64>,
    receiving: Vec<u64>,
    waiting: Vec<Waiting>,
    pool: Pool,
    /// Number of operations that each operation still waits for, in the order of all.
    waits: Vec<u32>,
    /// Operations of each rank that have not ended.
    left: Vec<u32>,
    overhead_ns: Vec<u64>,
    received_ns: u64,
    queue: BinaryHeap<Reverse<Due>>,
    made: u64,
    /// Operations that have become free at the present event, by rank.
    free: Vec<(u32, Vec<u32>)>,
    messages: u64,
    slices: ScheduleSlices<'t>,
}

/// Runs a schedule by the rules of LogGOPSim.
///
/// # Arguments
/// * `schedule` - read in the order of its lines, which decides among operations that become free together
///
/// # Errors
/// [`SimulationError::Machine`]; [`SimulationError::Deadlock`]; [`SimulationError::Limit`].
pub(super) fn simulate(
    schedule: &Schedule,
    machine: &Machine,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
    slices: ScheduleSlices<'_>,
) -> Result<ScheduleOutcome, SimulationError> {
    let mut run = Run::new(schedule, Parameters::of(machine)?, slices);
    run.begin();
    let mut events = 0;
    while let Some(Reverse(due)) = run.queue.pop() {
        events += 1;
        limits.check(events, due.at)?;
        if events % PROGRESS_EVERY == 0 {
            let now_ns = due.at;
            progress(Progress { now_ns, events });
        }
        run.take(due);
    }
    run.finish(events)
}

impl<'s, 't> Run<'s, 't> {
    fn new(schedule: &'s Schedule, parameters: Parameters, slices: ScheduleSlices<'t>) -> Self {
        let n = schedule.ranks();
        let most = |of: fn(&mastermind_programs::goal::Part) -> u16| {
            usize::from(schedule.parts.iter().map(of).max().unwrap_or(1))
        };
        let (cpus, nics) = (most(|part| part.cpus), most(|part| part.nics));
        let mut waits = vec![0; schedule.operations()];
        for part in &schedule.parts {
            for op in 0..part.ops {
                for dependent in schedule.dependents.all_of(part.first_op, op) {
                    waits[part.first_op + dependent.op() as usize] += 1;
                }
            }
        }
        Self {
            schedule,
            parameters,
            cpus,
            nics,
            processor: vec![0; n * cpus],
            sending: vec![0; n * nics],
            receiving: vec![0; n * nics],
            waiting: vec![Waiting::default(); n],
            pool: Pool::default(),
            waits,
            left: schedule.parts.iter().map(|part| part.ops).collect(),
            overhead_ns: vec![0; n],
            received_ns: 0,
            queue: BinaryHeap::new(),
            made: 0,
            free: Vec::new(),
            messages: 0,
            slices,
        }
    }

    fn op(&self, rank: u32, op: u32) -> Op {
        let first = self.schedule.parts[rank as usize].first_op;
        self.schedule.ops.get(first + op as usize)
    }

    fn processor(&mut self, rank: u32, cpu: u8) -> &mut u64 {
        &mut self.processor[rank as usize * self.cpus + usize::from(cpu)]
    }

    fn sending(&mut self, rank: u32, nic: u8) -> &mut u64 {
        &mut self.sending[rank as usize * self.nics + usize::from(nic)]
    }

    fn receiving(&mut self, rank: u32, nic: u8) -> &mut u64 {
        &mut self.receiving[rank as usize * self.nics + usize::from(nic)]
    }

    fn push(&mut self, at: u64, rank: u32, op: u32, is_message: bool) {
        let made = self.made;
        self.made += 1;
        self.queue.push(Reverse(Due {
            at,
            made,
            rank,
            op,
            is_message,
        }));
    }

    /// Operations that wait for nothing are due at 0.
    fn begin(&mut self) {
        for rank in 0..self.schedule.ranks() as u32 {
            let part = self.schedule.parts[rank as usize];
            let is_free = |op: &u32| self.waits[part.first_op + *op as usize] == 0;
            let mut free: Vec<u32> = (0..part.ops).filter(is_free).collect();
            self.by_kind(rank, &mut free);
            for op in free {
                self.push(0, rank, op, false);
            }
        }
    }

    /// Sends, receives, calculations.
    fn by_kind(&self, rank: u32, ops: &mut [u32]) {
        sort_as_libstdcxx(ops, |op| match self.op(rank, *op).kind {
            Kind::Send => 1,
            Kind::Receive => 2,
            Kind::Calc => 3,
        });
    }

    fn take(&mut self, due: Due) {
        self.free.clear();
        let Due { rank, op, .. } = due;
        let it = self.op(rank, op);
        match (due.is_message, it.kind) {
            (true, _) => self.arrive(due, it),
            (_, Kind::Calc) => self.calculate(due, it),
            (_, Kind::Send) => self.send(due, it),
            (_, Kind::Receive) => self.receive(due, it),
        }
        let mut free = std::mem::take(&mut self.free);
        free.sort_by_key(|(rank, _)| *rank);
        for (rank, ops) in &mut free {
            self.by_kind(*rank, ops);
            for op in ops {
                let it = self.op(*rank, *op);
                let mut at = *self.processor(*rank, it.cpu);
                if it.kind == Kind::Send {
                    at = at.max(*self.sending(*rank, it.nic));
                }
                self.push(at, *rank, *op, false);
            }
        }
        self.free = free;
    }

    /// Tries again when its resources are free.
    fn again(&mut self, due: Due, at: u64) {
        self.queue.push(Reverse(Due { at, ..due }));
    }

    fn calculate(&mut self, due: Due, it: Op) {
        let processor = self.processor(due.rank, it.cpu);
        if *processor > due.at {
            let at = *processor;
            return self.again(due, at);
        }
        *processor = due.at.wrapping_add(it.size);
        self.slice(Kind::Calc, due.rank, due.at, it.size);
        self.started(due.rank, due.op);
        self.done(due.rank, due.op);
    }

    fn send(&mut self, due: Due, it: Op) {
        let Due { at, rank, op, .. } = due;
        let free = (*self.processor(rank, it.cpu)).max(*self.sending(rank, it.nic));
        if free > at {
            return self.again(due, free);
        }
        self.started(rank, op);
        let Parameters {
            latency,
            overhead,
            gap,
            gap_per_byte,
            overhead_per_byte,
            rendezvous_bytes,
        } = self.parameters;
        let bytes = it.size.wrapping_sub(1);
        let busy = overhead.wrapping_add(bytes.wrapping_mul(overhead_per_byte));
        *self.processor(rank, it.cpu) = at.wrapping_add(busy);
        let interface = gap.wrapping_add(bytes.wrapping_mul(gap_per_byte));
        *self.sending(rank, it.nic) = at.wrapping_add(interface);
        self.add_overhead(rank, busy);
        self.slice(Kind::Send, rank, at, busy);
        self.messages += 1;
        self.push(
            at.wrapping_add(overhead).wrapping_add(latency),
            rank,
            op,
            true,
        );
        if it.size <= rendezvous_bytes {
            self.done(rank, op);
        }
    }

    fn receive(&mut self, due: Due, it: Op) {
        let Due { at, rank, op, .. } = due;
        self.started(rank, op);
        let waiting = &mut self.waiting[rank as usize];
        let Some(message) = self.pool.take_unexpected(rank, waiting, (it.peer, it.tag)) else {
            let first = self.schedule.parts[rank as usize].first_op;
            let receives = self.schedule.ops.receives(first);
            return self.pool.post(rank, waiting, op, receives);
        };
        if message.is_request {
            self.release_sender(message.peer, message.op, (it.cpu, it.nic), at);
        }
        self.done(rank, op);
    }

    fn arrive(&mut self, due: Due, it: Op) {
        let Due { at, rank, op, .. } = due;
        let (from, to) = (rank, it.peer);
        let free = (*self.processor(to, it.cpu)).max(*self.receiving(to, it.nic));
        if free > at {
            return self.again(due, free);
        }
        let Parameters {
            overhead,
            gap,
            gap_per_byte,
            overhead_per_byte,
            rendezvous_bytes,
            ..
        } = self.parameters;
        let bytes = it.size.wrapping_sub(1);
        let of_bytes = bytes
            .wrapping_mul(overhead_per_byte)
            .max(bytes.wrapping_mul(gap_per_byte));
        let busy = overhead.wrapping_add(of_bytes);
        *self.processor(to, it.cpu) = at.wrapping_add(busy);
        let interface = gap.wrapping_add(bytes.wrapping_mul(gap_per_byte));
        *self.receiving(to, it.nic) = at.wrapping_add(interface);
        self.add_overhead(to, busy);
        self.received_ns = self.received_ns.wrapping_add(busy);
        self.slice(Kind::Receive, to, at, busy);
        let is_request = it.size > rendezvous_bytes;
        let first = self.schedule.parts[to as usize].first_op;
        let receives = self.schedule.ops.receives(first);
        let waiting = &mut self.waiting[to as usize];
        match self.pool.take_posted(to, waiting, (from, it.tag), receives) {
            None => self
                .pool
                .keep_unexpected(to, waiting, (from, it.tag), op, is_request),
            Some(receive) => {
                if is_request {
                    self.release_sender(from, op, (it.cpu, it.nic), at);
                }
                self.done(to, receive);
            }
        }
    }

    /// A message that waited for its receive: its sender continues at once.
    fn release_sender(&mut self, rank: u32, op: u32, (cpu, nic): (u8, u8), at: u64) {
        self.done(rank, op);
        let processor = self.processor(rank, cpu);
        *processor = (*processor).max(at);
        let sending = self.sending(rank, nic);
        *sending = (*sending).max(at);
    }

    fn started(&mut self, rank: u32, op: u32) {
        self.release(rank, op, true);
    }

    fn done(&mut self, rank: u32, op: u32) {
        self.left[rank as usize] -= 1;
        self.release(rank, op, false);
    }

    /// Takes a wait from those that wait for the begin, or the end, of an operation.
    fn release(&mut self, rank: u32, op: u32, begin: bool) {
        let first = self.schedule.parts[rank as usize].first_op;
        let schedule: &'s Schedule = self.schedule;
        for dependent in schedule.dependents.all_of(first, op) {
            if dependent.begin() != begin {
                continue;
            }
            let op = dependent.op();
            let waits = &mut self.waits[first + op as usize];
            *waits -= 1;
            if *waits == 0 {
                match self.free.iter_mut().find(|(of, _)| *of == rank) {
                    Some((_, ops)) => ops.push(op),
                    None => self.free.push((rank, vec![op])),
                }
            }
        }
    }

    fn add_overhead(&mut self, rank: u32, ns: u64) {
        let sum = &mut self.overhead_ns[rank as usize];
        *sum = sum.wrapping_add(ns);
    }

    fn slice(&mut self, kind: Kind, rank: u32, begin_ns: u64, ns: u64) {
        // An operation that gains time has no length that a trace could show.
        let end_ns = begin_ns.wrapping_add(ns).max(begin_ns);
        self.slices.add(kind, rank, begin_ns, end_ns);
    }

    fn finish(self, events: u64) -> Result<ScheduleOutcome, SimulationError> {
        let ended = |rank: usize| {
            let processors = &self.processor[rank * self.cpus..(rank + 1) * self.cpus];
            Ended {
                left: self.left[rank],
                waiting: self.waiting[rank],
                finish_ns: processors.iter().copied().max().unwrap_or(0),
                overhead_ns: self.overhead_ns[rank],
                noise_ns: 0,
            }
        };
        let outcome = outcome_of(self.schedule, &self.pool, self.received_ns, ended)?;
        let queue = self.queue.capacity() * size_of::<Due>();
        Ok(ScheduleOutcome {
            messages: self.messages,
            events,
            memory_bytes: self.schedule.memory_bytes()
                + self.pool.bytes()
                + queue
                + self.waits.len() * size_of::<u32>(),
            ..outcome
        })
    }
}

/// Elements of a range that is sorted by insertion.
const INSERTION: usize = 16;

/// Sorts by a key as `std::sort` of GNU's C++ library does, which does not keep the order of equal elements: LogGOPSim's results
/// depend on it where more than 16 operations become free together.
///
/// # Source
/// D. Musser, "Introspective sorting and selection algorithms", 1997: quicksort by the median of three down to 16 elements, then
/// one insertion sort. Three keys never reach the depth at which it would go over to heap sort.
fn sort_as_libstdcxx<T: Copy>(all: &mut [T], key: impl Fn(&T) -> u8) {
    let mut from_to = vec![(0, all.len())];
    while let Some((from, mut to)) = from_to.pop() {
        // The later part first; the parts are apart, so their order decides nothing.
        while to - from > INSERTION {
            let cut = partition(&mut all[from..to], &key) + from;
            from_to.push((cut, to));
            to = cut;
        }
    }
    for i in 1..all.len() {
        let (one, mut at) = (all[i], i);
        while at > 0 && key(&one) < key(&all[at - 1]) {
            all[at] = all[at - 1];
            at -= 1;
        }
        all[at] = one;
    }
}

/// Parts a range by the median of its second, middle and last element, which is put first.
fn partition<T: Copy>(all: &mut [T], key: &impl Fn(&T) -> u8) -> usize {
    let (a, b, c) = (1, all.len() / 2, all.len() - 1);
    let less = |x: usize, y: usize| key(&all[x]) < key(&all[y]);
    let median = match (less(a, b), less(b, c), less(a, c)) {
        (true, true, _) => b,
        (true, false, true) => c,
        (true, false, false) => a,
        (false, _, true) => a,
        (false, true, false) => c,
        (false, false, false) => b,
    };
    all.swap(0, median);
    let pivot = key(&all[0]);
    let (mut low, mut high) = (1, all.len());
    loop {
        while key(&all[low]) < pivot {
            low += 1;
        }
        high -= 1;
        while pivot < key(&all[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        all.swap(low, high);
        low += 1;
    }
}
