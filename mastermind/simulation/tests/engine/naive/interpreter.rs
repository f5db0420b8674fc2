//! One heap of events for all processes. Events of one nanosecond are in the order of the times at which
//! they were inserted, then of the times at which the events that inserted them were, seven times over,
//! then of the ranks that they are from.
//!
//! A receive is free: it takes place when the process reaches it, unless its message's request has
//! arrived already, since the answer takes the processor.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use mastermind_simulation::machine::{Link, Machine, Rendezvous};

use crate::network::{self, Leaving, SharedLinks};
use crate::noise;

/// In place of a rank: the sender of the latest message whose sender was stored.
pub const SENDER: u32 = u32::MAX;

/// The waiter for the end of an operation: the process at once, or its next wait of the same class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Blocking,
    Program,
    Collective,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Work(u64),
    Send {
        to: u32,
        bytes: u64,
        tag: i32,
        class: Class,
    },
    Receive {
        from: Option<u32>,
        tag: i32,
        class: Class,
    },
    Wait(Class),
    /// Waits for the next of the receives that are not blocking.
    WaitAny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Eager,
    Request,
    Acknowledge,
    Data,
    Fetched,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    part: Part,
    from: u32,
    bytes: u64,
    tag: i32,
    sender: Class,
    receiver: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Own,
    Of(Message),
}

struct Posted {
    from: Option<u32>,
    tag: i32,
    class: Class,
}

/// Time, times of insertion from the last one back, sender, order of insertion, process, event.
type Inserted = (u64, InsertionTimes, u32, u64, usize, Event);

/// Insertion time of an event, of the event that inserted it, and so on.
type InsertionTimes = Vec<u64>;

/// As many as the engine compares; remaining ties are ordered by sender, a process's own event first.
const KEPT: usize = 7;

fn then(made: &InsertionTimes, now: u64) -> InsertionTimes {
    let before = made.iter().copied();
    [now].into_iter().chain(before).take(KEPT).collect()
}

pub struct Naive<'a> {
    machine: &'a Machine,
    per_node: u32,
    steps: Vec<VecDeque<Step>>,
    pub processor: Vec<u64>,
    pub work: Vec<u64>,
    sending: Vec<u64>,
    receiving: Vec<u64>,
    early: Vec<Vec<Message>>,
    posted: Vec<Vec<Posted>>,
    /// By process and class.
    pending: Vec<[u32; 3]>,
    waits: Vec<Option<Class>>,
    /// Receives that are not blocking and not complete; the senders of those that are and that no wait took.
    open: Vec<u32>,
    complete: Vec<VecDeque<u32>>,
    waits_for_any: Vec<bool>,
    senders: Vec<u32>,
    events: BinaryHeap<Reverse<Inserted>>,
    shared: SharedLinks<Inserted>,
    inserted: u64,
}

impl<'a> Naive<'a> {
    pub fn new(machine: &'a Machine, n: u32, steps: impl Fn(u32) -> Vec<Step>) -> Self {
        let size = n as usize;
        let none = || (0..size).map(|_| Vec::new()).collect();
        Self {
            machine,
            per_node: n.div_ceil(machine.nodes.unwrap_or(n)),
            steps: (0..n).map(|rank| steps(rank).into()).collect(),
            processor: vec![0; size],
            work: vec![0; size],
            sending: vec![0; size],
            receiving: vec![0; size],
            early: none(),
            posted: (0..size).map(|_| Vec::new()).collect(),
            pending: vec![[0; 3]; size],
            waits: vec![None; size],
            open: vec![0; size],
            complete: vec![VecDeque::new(); size],
            waits_for_any: vec![false; size],
            senders: vec![0; size],
            events: BinaryHeap::new(),
            shared: SharedLinks::default(),
            inserted: 0,
        }
    }

    fn link(&self, a: usize, b: u32) -> &'a Link {
        let ranks = [a as u32, b];
        if ranks[0] / self.per_node == ranks[1] / self.per_node {
            &self.machine.intra
        } else {
            network::between(self.machine, ranks.map(|rank| rank / self.per_node))
        }
    }

    fn insert(&mut self, at: u64, made: InsertionTimes, process: usize, event: Event) {
        self.inserted += 1;
        let from = match event {
            Event::Own => 0,
            Event::Of(message) => message.from + 1,
        };
        let inserted = (at, made, from, self.inserted, process, event);
        let Event::Of(message) = event else {
            self.events.push(Reverse(inserted));
            return;
        };
        let link = self.link(process, message.from);
        let has_bytes = matches!(message.part, Part::Eager | Part::Data);
        let gap = per_byte(link.gap_per_byte_ns, message.bytes);
        let ranks = [message.from, process as u32];
        let left = self.shared.leave(
            self.machine,
            Leaving {
                at: at - link.send_overhead_ns - link.latency_ns,
                keeps_ns: if has_bytes { gap } else { 0 },
                ranks,
                nodes: ranks.map(|rank| rank / self.per_node),
                is_data: message.part == Part::Data,
            },
            inserted,
        );
        self.events.extend(left.map(Reverse));
    }

    /// The process continues at `now`, after an event inserted at `made`.
    fn next(&mut self, i: usize, mut now: u64, mut made: InsertionTimes) {
        loop {
            let free = self.processor[i].max(now);
            let at = match self.steps[i].front() {
                Some(Step::Wait(class)) => {
                    if self.pending[i][*class as usize] > 0 {
                        self.waits[i] = Some(*class);
                        return;
                    }
                    if *class == Class::Program {
                        self.complete[i].clear();
                    }
                    self.steps[i].pop_front();
                    continue;
                }
                Some(Step::WaitAny) => {
                    if let Some(from) = self.complete[i].pop_front() {
                        self.senders[i] = from;
                    } else if self.open[i] > 0 {
                        self.waits_for_any[i] = true;
                        return;
                    }
                    self.steps[i].pop_front();
                    continue;
                }
                Some(Step::Receive { from, tag, .. }) => {
                    let found = self.early_of(i, *from, *tag);
                    let asks = found.is_some_and(|k| self.early[i][k].part == Part::Request);
                    if !asks {
                        made = then(&made, now);
                        now = free;
                        if self.receive(i, now, &made) {
                            continue;
                        }
                        return;
                    }
                    free
                }
                Some(Step::Send { .. }) => self.processor[i].max(self.sending[i]),
                Some(Step::Work(_)) => self.processor[i],
                None => return,
            };
            self.insert(at, then(&made, now), i, Event::Own);
            return;
        }
    }

    fn early_of(&self, i: usize, from: Option<u32>, tag: i32) -> Option<usize> {
        let fits = |m: &Message| m.tag == tag && from.is_none_or(|from| from == m.from);
        self.early[i].iter().position(fits)
    }

    /// Takes the receive that a process has reached; returns whether it continues.
    fn receive(&mut self, i: usize, now: u64, made: &InsertionTimes) -> bool {
        let Step::Receive { from, tag, class } = self.steps[i][0] else {
            unreachable!("a receive")
        };
        let mut complete = false;
        if let Some(found) = self.early_of(i, from, tag) {
            let message = self.early[i].remove(found);
            complete = message.part == Part::Eager;
            if complete && class == Class::Program {
                self.complete[i].push_back(message.from);
            } else if complete && class == Class::Blocking {
                self.senders[i] = message.from;
            }
            if !complete {
                self.acknowledge(i, message, class, now, made);
            }
        } else {
            self.posted[i].push(Posted { from, tag, class });
        }
        if !complete && class == Class::Blocking {
            self.waits[i] = Some(class);
            return false;
        }
        self.pending[i][class as usize] += u32::from(!complete);
        self.open[i] += u32::from(!complete && class == Class::Program);
        self.steps[i].pop_front();
        true
    }

    pub fn run(&mut self) {
        (0..self.steps.len()).for_each(|i| self.next(i, 0, vec![0; KEPT]));
        loop {
            let next = self.events.peek().map_or(u64::MAX, |Reverse(next)| next.0);
            if self.shared.next_ns() < next {
                if let Some((waited, mut passed)) = self.shared.step() {
                    passed.0 += waited;
                    self.events.push(Reverse(passed));
                }
                continue;
            }
            let Some(Reverse((now, made, from, order, i, event))) = self.events.pop() else {
                break;
            };
            let free = match (event, self.steps[i].front()) {
                (
                    Event::Of(Message {
                        part: Part::Eager | Part::Data,
                        ..
                    }),
                    _,
                ) => self.processor[i].max(self.receiving[i]),
                (Event::Of(_), _) | (Event::Own, Some(Step::Work(_))) => self.processor[i],
                (Event::Own, Some(Step::Send { .. })) => self.processor[i].max(self.sending[i]),
                _ => now,
            };
            if free > now {
                self.events
                    .push(Reverse((free, made, from, order, i, event)));
                continue;
            }
            match event {
                Event::Own => self.own(i, now, made),
                Event::Of(message) => self.look(i, message, now, &made),
            }
        }
        assert!(self.steps.iter().all(VecDeque::is_empty), "a deadlock");
    }

    fn own(&mut self, i: usize, now: u64, made: InsertionTimes) {
        match self.steps[i][0] {
            Step::Work(ns) => {
                let end = noise::end_ns(self.machine, (i as u32, 0), now, ns);
                self.processor[i] = end;
                self.work[i] += end - now;
            }
            Step::Send {
                to,
                bytes,
                tag,
                class,
            } => {
                let to = if to == SENDER { self.senders[i] } else { to };
                let link = self.link(i, to);
                let asks = bytes > link.rendezvous_bytes;
                let mut occupied = link.send_overhead_ns;
                if !asks {
                    self.sending[i] = now + link.gap_ns + per_byte(link.gap_per_byte_ns, bytes);
                    occupied += per_byte(link.overhead_per_byte_ns, bytes);
                }
                self.processor[i] = now + occupied;
                let part = if asks { Part::Request } else { Part::Eager };
                let from = i as u32;
                let message = Message {
                    part,
                    from,
                    bytes,
                    tag,
                    sender: class,
                    receiver: class,
                };
                self.send(i, to, now, then(&made, now), message);
                if asks && class == Class::Blocking {
                    self.waits[i] = Some(class);
                    return;
                }
                self.pending[i][class as usize] += u32::from(asks);
            }
            Step::Receive { .. } => {
                if self.receive(i, now, &made) {
                    self.next(i, now, made);
                }
                return;
            }
            Step::Wait(_) | Step::WaitAny => unreachable!("waits are not events"),
        }
        self.steps[i].pop_front();
        self.next(i, now, made);
    }

    fn send(&mut self, i: usize, to: u32, now: u64, made: InsertionTimes, message: Message) {
        let link = self.link(i, to);
        let at = now + link.send_overhead_ns + link.latency_ns;
        self.insert(at, made, to as usize, Event::Of(message));
    }

    fn acknowledge(
        &mut self,
        i: usize,
        request: Message,
        receiver: Class,
        now: u64,
        made: &InsertionTimes,
    ) {
        let link = self.link(i, request.from);
        let begin = self.processor[i].max(now);
        self.processor[i] = begin + link.send_overhead_ns;
        if link.rendezvous == Rendezvous::Fetched {
            let there_and_back = 2 * (link.send_overhead_ns + link.latency_ns);
            let data = Message {
                part: Part::Data,
                receiver,
                ..request
            };
            let at = begin + there_and_back;
            self.insert(at, then(made, now), i, Event::Of(data));
            return;
        }
        let (part, from) = (Part::Acknowledge, i as u32);
        let answer = Message {
            part,
            from,
            receiver,
            ..request
        };
        self.send(i, request.from, begin, then(made, now), answer);
    }

    fn look(&mut self, i: usize, message: Message, now: u64, made: &InsertionTimes) {
        let link = self.link(i, message.from);
        let gap = per_byte(link.gap_per_byte_ns, message.bytes);
        let overhead = per_byte(link.overhead_per_byte_ns, message.bytes);
        let occupied = match message.part {
            Part::Eager | Part::Data => link.receive_overhead_ns + gap.max(overhead),
            Part::Request | Part::Fetched => link.receive_overhead_ns,
            Part::Acknowledge => link.send_overhead_ns + overhead,
        };
        self.processor[i] = now + occupied;
        match message.part {
            Part::Data => {
                self.receiving[i] = now + link.gap_ns + gap;
                if link.rendezvous == Rendezvous::Fetched {
                    let notification = Message {
                        part: Part::Fetched,
                        from: i as u32,
                        ..message
                    };
                    self.send(
                        i,
                        message.from,
                        self.processor[i],
                        then(made, now),
                        notification,
                    );
                }
                self.received(i, message.receiver, message.from, now, made);
            }
            Part::Fetched => self.done(i, message.sender, now, made),
            Part::Acknowledge => {
                let begin = self.sending[i].max(now);
                self.sending[i] = begin + link.gap_ns + gap;
                let data = Message {
                    part: Part::Data,
                    from: i as u32,
                    ..message
                };
                self.send(i, message.from, begin, then(made, now), data);
                self.done(i, message.sender, now, made);
            }
            Part::Eager | Part::Request => {
                if message.part == Part::Eager {
                    self.receiving[i] = now + link.gap_ns + gap;
                }
                let fits =
                    |p: &Posted| p.tag == message.tag && p.from.is_none_or(|f| f == message.from);
                let Some(found) = self.posted[i].iter().position(fits) else {
                    self.early[i].push(message);
                    return;
                };
                let class = self.posted[i].remove(found).class;
                if message.part == Part::Request {
                    self.acknowledge(i, message, class, now, made);
                } else {
                    self.received(i, class, message.from, now, made);
                }
            }
        }
    }

    /// A message is there for a receive.
    fn received(&mut self, i: usize, class: Class, from: u32, now: u64, made: &InsertionTimes) {
        match class {
            Class::Blocking => self.senders[i] = from,
            Class::Collective => {}
            Class::Program => {
                self.open[i] -= 1;
                self.complete[i].push_back(from);
            }
        }
        if self.waits_for_any[i] && class == Class::Program {
            self.pending[i][class as usize] -= 1;
            self.waits_for_any[i] = false;
            self.next(i, now, made.clone());
            return;
        }
        self.done(i, class, now, made);
    }

    /// An operation of a process is complete.
    fn done(&mut self, i: usize, class: Class, now: u64, made: &InsertionTimes) {
        if class != Class::Blocking {
            self.pending[i][class as usize] -= 1;
            if self.waits[i] != Some(class) || self.pending[i][class as usize] > 0 {
                return;
            }
        }
        self.waits[i] = None;
        if class == Class::Program {
            self.complete[i].clear();
        }
        self.steps[i].pop_front();
        self.next(i, now, made.clone());
    }
}

fn per_byte(ns: f64, bytes: u64) -> u64 {
    (ns * (bytes - 1) as f64 + 0.5) as u64
}
