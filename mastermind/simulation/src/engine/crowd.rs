//! Nodes with more processes than processors: the processors as a facility with a queue.
//!
//! A process asks for a processor when it has work, and keeps it until it waits for another process,
//! ends, or, where processors go in turns, until its turn is over and another one waits for a processor.
//! The processor time of messages is not queued for. The processes of a node are visited together, in
//! order of their events, so only messages between nodes bound the windows.
//!
//! # Source
//! S. Pllana et al., "Hybrid Performance Modeling and Prediction of Large-Scale Computing Systems",
//! 2008, section III and Figure 8.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use super::chain::Chain;
use super::error::Stop;
use super::messages::NIL;
use super::process::{NEVER, Waits};
use super::run::Engine;
use crate::machine::{Machine, Queue, Waiting};
use crate::program::Operation;

/// The processors of one node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) idle: u32,
    /// Processes that wait for a processor.
    pub(super) queue: VecDeque<u32>,
    /// When processors become idle whose processes wait already.
    pub(super) releases: BinaryHeap<Reverse<u64>>,
    /// Turns that were over while others waited; only where processes do not block.
    pub(super) turns: u64,
}

/// What a process has of its node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) has_processor: bool,
    /// Of its work, nanoseconds.
    pub(super) left_ns: u64,
    /// Time of its present turn; 0 while it has none.
    pub(super) turn_ns: u64,
    /// When its turn with a processor is over; only where processes do not block.
    pub(super) until: u64,
    /// Whether it is queued for a processor; only where processes do not block.
    pub(super) is_queued: bool,
}

/// All nodes.
pub(super) struct Crowd {
    pub(super) nodes: Vec<Node>,
    pub(super) shares: Vec<Share>,
    pub(super) queue: Queue,
    pub(super) waiting: Waiting,
    regroup_turns: Option<u32>,
}

impl Crowd {
    pub(super) fn new(nodes: usize, processes: usize, machine: &Machine) -> Self {
        let node = Node {
            idle: machine.processors,
            queue: VecDeque::new(),
            releases: BinaryHeap::new(),
            turns: 0,
        };
        Self {
            nodes: vec![node; nodes],
            shares: vec![Share::default(); processes],
            queue: machine.queue,
            waiting: machine.waiting,
            regroup_turns: machine.regroup_turns,
        }
    }

    /// Counts a turn that is over on a node: whether its process has another one at once.
    pub(super) fn has_another_turn(&mut self, node: u32) -> bool {
        let turns = &mut self.nodes[node as usize].turns;
        *turns += 1;
        let every = self.regroup_turns.map_or(0, u64::from);
        every > 0 && turns.is_multiple_of(every)
    }
}

/// The next event of a node.
enum Next {
    Release(u64),
    /// Process, when, and its message or [`NIL`] for its own operation.
    Of(u32, u64, u32),
}

impl Engine<'_> {
    /// The processes of a node.
    pub(super) fn of_node(&self, node: u32) -> Range<u32> {
        let n = self.processes.len() as u32;
        let first = node * self.per_node;
        first.min(n)..first.saturating_add(self.per_node).min(n)
    }

    /// A process's next event: when, when that was settled, who, and its message or [`NIL`].
    pub(super) fn next_of_process(&mut self, process: u32) -> (u64, Chain, u32, u32) {
        let message = self.next_message(process);
        let p = &self.processes[process as usize];
        match message {
            Some((at, made, index)) if (at, made) < (p.due, p.made) => (at, made, process, index),
            _ => (p.due, p.made, process, NIL),
        }
    }

    fn next_of_node(&mut self, crowd: &Crowd, node: u32) -> Option<Next> {
        let mut first = None;
        for process in self.of_node(node) {
            let own = self.next_of_process(process);
            if own.0 != NEVER && first.is_none_or(|first| own < first) {
                first = Some(own);
            }
        }
        let release = crowd.nodes[node as usize].releases.peek();
        match (first, release) {
            (Some((at, ..)), Some(Reverse(release))) if *release <= at => {
                Some(Next::Release(*release))
            }
            (None, Some(Reverse(release))) => Some(Next::Release(*release)),
            (first, _) => first.map(|(at, _, process, message)| Next::Of(process, at, message)),
        }
    }

    /// All events of a node before `end`.
    pub(super) fn visit_node(
        &mut self,
        crowd: &mut Crowd,
        node: u32,
        end: u64,
    ) -> Result<(), Stop> {
        if crowd.waiting != Waiting::Blocks {
            return self.visit_busy_node(crowd, node, end);
        }
        while let Some(next) = self.next_of_node(crowd, node) {
            let (Next::Of(_, at, _) | Next::Release(at)) = next;
            if at >= end {
                self.calendar.visit(node, at);
                break;
            }
            self.events += 1;
            let Next::Of(process, at, message) = next else {
                crowd.nodes[node as usize].releases.pop();
                crowd.nodes[node as usize].idle += 1;
                self.grant(crowd, node, at);
                continue;
            };
            let free = self.processes[process as usize].processor;
            if message != NIL {
                self.look(process, message)?;
            } else if crowd.shares[process as usize].turn_ns > 0 {
                self.turn_over(crowd, process, at)?;
            } else if free > at {
                // As in a visit of the process alone, it keeps its place.
                self.execute(process, at)?;
            } else if let Some(work_ns) = self.work_of(process)? {
                crowd.shares[process as usize].left_ns = work_ns;
                if work_ns == 0 {
                    self.worked(process, at)?;
                } else {
                    self.ask(crowd, process, at);
                }
            } else {
                self.execute(process, at)?;
            }
            self.give_back(crowd, process, at);
        }
        Ok(())
    }

    /// A process with work asks for a processor.
    fn ask(&mut self, crowd: &mut Crowd, process: u32, now: u64) {
        let node = self.node(process);
        if crowd.shares[process as usize].has_processor {
            self.turn(crowd, process, now);
            return;
        }
        let p = &mut self.processes[process as usize];
        (p.waits, p.due) = (Waits::Processor, NEVER);
        crowd.nodes[node as usize].queue.push_back(process);
        self.grant(crowd, node, now);
    }

    /// Gives idle processors to the processes that wait for one.
    fn grant(&mut self, crowd: &mut Crowd, node: u32, now: u64) {
        while crowd.nodes[node as usize].idle > 0 {
            let Some(process) = crowd.nodes[node as usize].queue.pop_front() else {
                break;
            };
            crowd.nodes[node as usize].idle -= 1;
            crowd.shares[process as usize].has_processor = true;
            self.processes[process as usize].waits = Waits::No;
            self.turn(crowd, process, now);
        }
    }

    /// Begins a turn of a process that has a processor, and work.
    fn turn(&mut self, crowd: &mut Crowd, process: u32, now: u64) {
        let share = &mut crowd.shares[process as usize];
        share.turn_ns = match crowd.queue {
            Queue::Fcfs => share.left_ns,
            Queue::RoundRobin { quantum_ns } => share.left_ns.min(quantum_ns),
        };
        let p = &mut self.processes[process as usize];
        p.processor = p.processor.max(now) + share.turn_ns;
        p.work += share.turn_ns;
        (p.due, p.made) = (p.processor, p.made.then(now));
    }

    /// A turn is over: others come first where there is work left.
    fn turn_over(&mut self, crowd: &mut Crowd, process: u32, now: u64) -> Result<(), Stop> {
        let node = self.node(process);
        let share = &mut crowd.shares[process as usize];
        share.left_ns -= std::mem::take(&mut share.turn_ns);
        if share.left_ns == 0 {
            return self.worked(process, now);
        }
        if crowd.nodes[node as usize].queue.is_empty() {
            self.turn(crowd, process, now);
            return Ok(());
        }
        share.has_processor = false;
        let p = &mut self.processes[process as usize];
        (p.waits, p.due) = (Waits::Processor, NEVER);
        crowd.nodes[node as usize].idle += 1;
        crowd.nodes[node as usize].queue.push_back(process);
        self.grant(crowd, node, now);
        Ok(())
    }

    /// Work of a process is done: it goes on.
    pub(super) fn worked(&mut self, process: u32, now: u64) -> Result<(), Stop> {
        let p = &mut self.processes[process as usize];
        let (made, elapsed) = (p.made, now - p.since);
        let operations = self.operations;
        if let Operation::Compute { element, .. } = &operations[p.at as usize] {
            self.count(process, *element, 1, elapsed);
        } else if let Operation::Parallel(region) = &operations[p.at as usize] {
            self.count(process, region.element, 1, elapsed);
        }
        self.processes[process as usize].at += 1;
        self.advance(process, now, made)
    }

    /// Takes the processor of a process that waits for others, or has ended.
    fn give_back(&mut self, crowd: &mut Crowd, process: u32, now: u64) {
        let p = &self.processes[process as usize];
        let share = &mut crowd.shares[process as usize];
        if !share.has_processor || matches!(p.waits, Waits::No | Waits::Processor) {
            return;
        }
        share.has_processor = false;
        let node = self.node(process);
        let at = p.processor.max(now);
        crowd.nodes[node as usize].releases.push(Reverse(at));
    }
}
