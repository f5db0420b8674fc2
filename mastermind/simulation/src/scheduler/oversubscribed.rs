//! Oversubscribed nodes, whose processes block while they wait: the processors of a node as a facility with a queue.
//!
//! A process requests a processor when it has work, and keeps it until it waits for another process,
//! ends, or, with round-robin scheduling, until its time slice is over and another one waits for a processor.
//! The processor time of messages is not queued for. The processes of a node are visited together, in
//! order of their events, so only messages between nodes bound the windows.
//!
//! # Source
//! S. Pllana et al., "Hybrid Performance Modeling and Prediction of Large-Scale Computing Systems",
//! 2008, section III and Figure 8.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::engine::BoxedError;
use crate::engine::programs::process::WaitState;
use crate::engine::programs::run::Engine;
use crate::events::NEVER;
use crate::events::messages::NIL;
use crate::events::tie_break::TieBreak;
use crate::machine::{Machine, Queue, Waiting};
use mastermind_programs::Operation;

/// The processors of one node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) idle: u32,
    /// Processes that wait for a processor.
    pub(crate) queue: VecDeque<u32>,
    /// Times at which processors become idle whose processes wait already.
    pub(crate) releases: BinaryHeap<Reverse<u64>>,
    /// Time slices that were over while others waited; only where processes do not block.
    pub(crate) time_slices: u64,
}

/// State of a process on its node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessorShare {
    pub(crate) has_processor: bool,
    /// Of its work, nanoseconds.
    pub(crate) left_ns: u64,
    /// Length of its present time slice, nanoseconds; 0 while it has none.
    pub(crate) time_slice_ns: u64,
    /// When its time slice ends; only where processes do not block.
    pub(crate) until: u64,
    /// Whether it is queued for a processor; only where processes do not block.
    pub(crate) is_queued: bool,
}

/// All nodes.
pub(crate) struct NodeScheduler {
    pub(crate) nodes: Vec<Node>,
    pub(crate) shares: Vec<ProcessorShare>,
    pub(crate) queue: Queue,
    pub(crate) waiting: Waiting,
    regroup_turns: Option<u32>,
}

impl NodeScheduler {
    pub(crate) fn new(nodes: usize, processes: usize, machine: &Machine) -> Self {
        let node = Node {
            idle: machine.processors,
            queue: VecDeque::new(),
            releases: BinaryHeap::new(),
            time_slices: 0,
        };
        Self {
            nodes: vec![node; nodes],
            shares: vec![ProcessorShare::default(); processes],
            queue: machine.queue,
            waiting: machine.waiting,
            regroup_turns: machine.regroup_turns,
        }
    }

    /// Counts a time slice that is over on a node: whether its process gets another one at once.
    pub(crate) fn has_another_time_slice(&mut self, node: u32) -> bool {
        let time_slices = &mut self.nodes[node as usize].time_slices;
        *time_slices += 1;
        let every = self.regroup_turns.map_or(0, u64::from);
        every > 0 && time_slices.is_multiple_of(every)
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
    pub(crate) fn of_node(&self, node: u32) -> Range<u32> {
        let n = self.processes.len() as u32;
        let first = node * self.per_node;
        first.min(n)..first.saturating_add(self.per_node).min(n)
    }

    /// A process's next event: time, tie-break key, process, and its message or [`NIL`].
    pub(crate) fn next_of_process(&mut self, process: u32) -> (u64, TieBreak, u32, u32) {
        let message = self.next_message(process);
        let p = &self.processes[process as usize];
        match message {
            Some((at, index)) if (at, self.pool.get(index).tie_break) < (p.due, p.tie_break) => {
                (at, self.pool.get(index).tie_break, process, index)
            }
            _ => (p.due, p.tie_break, process, NIL),
        }
    }

    fn next_of_node(&mut self, scheduler: &NodeScheduler, node: u32) -> Option<Next> {
        let mut first = None;
        for process in self.of_node(node) {
            let own = self.next_of_process(process);
            if own.0 != NEVER && first.is_none_or(|first| own < first) {
                first = Some(own);
            }
        }
        let release = scheduler.nodes[node as usize].releases.peek();
        match (first, release) {
            (Some((at, ..)), Some(Reverse(release))) if *release <= at => {
                Some(Next::Release(*release))
            }
            (None, Some(Reverse(release))) => Some(Next::Release(*release)),
            (first, _) => first.map(|(at, _, process, message)| Next::Of(process, at, message)),
        }
    }

    /// All events of a node before `end`.
    pub(crate) fn visit_node(
        &mut self,
        scheduler: &mut NodeScheduler,
        node: u32,
        end: u64,
    ) -> Result<(), BoxedError> {
        if scheduler.waiting != Waiting::Blocks {
            return self.visit_busy_node(scheduler, node, end);
        }
        while let Some(next) = self.next_of_node(scheduler, node) {
            let (Next::Of(_, at, _) | Next::Release(at)) = next;
            if at >= end {
                self.calendar.visit(node, at);
                break;
            }
            self.events += 1;
            self.limits.check(self.events, at)?;
            let Next::Of(process, at, message) = next else {
                scheduler.nodes[node as usize].releases.pop();
                scheduler.nodes[node as usize].idle += 1;
                self.assign_processors(scheduler, node, at);
                continue;
            };
            let free = self.processes[process as usize].processor;
            if message != NIL {
                self.handle_arrival(process, message)?;
            } else if scheduler.shares[process as usize].time_slice_ns > 0 {
                self.end_time_slice(scheduler, process, at)?;
            } else if free > at {
                // As in a visit of the process alone, it keeps its place.
                self.execute(process, at)?;
            } else if let Some(work_ns) = self.work_of(process)? {
                scheduler.shares[process as usize].left_ns = work_ns;
                if work_ns == 0 {
                    self.end_work(process, at)?;
                } else {
                    self.request_processor(scheduler, process, at);
                }
            } else {
                self.execute(process, at)?;
            }
            self.release_if_waiting(scheduler, process, at);
        }
        Ok(())
    }

    /// A process with work requests a processor.
    fn request_processor(&mut self, scheduler: &mut NodeScheduler, process: u32, now: u64) {
        let node = self.node(process);
        if scheduler.shares[process as usize].has_processor {
            self.begin_time_slice(scheduler, process, now);
            return;
        }
        let p = &mut self.processes[process as usize];
        (p.wait_state, p.due) = (WaitState::Processor, NEVER);
        scheduler.nodes[node as usize].queue.push_back(process);
        self.assign_processors(scheduler, node, now);
    }

    /// Gives idle processors to the processes that wait for one.
    fn assign_processors(&mut self, scheduler: &mut NodeScheduler, node: u32, now: u64) {
        while scheduler.nodes[node as usize].idle > 0 {
            let Some(process) = scheduler.nodes[node as usize].queue.pop_front() else {
                break;
            };
            scheduler.nodes[node as usize].idle -= 1;
            scheduler.shares[process as usize].has_processor = true;
            self.processes[process as usize].wait_state = WaitState::Ready;
            self.begin_time_slice(scheduler, process, now);
        }
    }

    /// Begins a time slice of a process that has a processor, and work.
    fn begin_time_slice(&mut self, scheduler: &mut NodeScheduler, process: u32, now: u64) {
        let share = &mut scheduler.shares[process as usize];
        share.time_slice_ns = match scheduler.queue {
            Queue::Fcfs => share.left_ns,
            Queue::RoundRobin { quantum_ns } => share.left_ns.min(quantum_ns),
        };
        let p = &mut self.processes[process as usize];
        p.processor = p.processor.max(now) + share.time_slice_ns;
        p.work += share.time_slice_ns;
        (p.due, p.tie_break) = (p.processor, p.tie_break.then(now));
    }

    /// A time slice is over: where work is left, others come first.
    fn end_time_slice(
        &mut self,
        scheduler: &mut NodeScheduler,
        process: u32,
        now: u64,
    ) -> Result<(), BoxedError> {
        let node = self.node(process);
        let share = &mut scheduler.shares[process as usize];
        share.left_ns -= std::mem::take(&mut share.time_slice_ns);
        if share.left_ns == 0 {
            return self.end_work(process, now);
        }
        if scheduler.nodes[node as usize].queue.is_empty() {
            self.begin_time_slice(scheduler, process, now);
            return Ok(());
        }
        share.has_processor = false;
        let p = &mut self.processes[process as usize];
        (p.wait_state, p.due) = (WaitState::Processor, NEVER);
        scheduler.nodes[node as usize].idle += 1;
        scheduler.nodes[node as usize].queue.push_back(process);
        self.assign_processors(scheduler, node, now);
        Ok(())
    }

    /// The work of a process has ended: it continues.
    pub(crate) fn end_work(&mut self, process: u32, now: u64) -> Result<(), BoxedError> {
        let p = &mut self.processes[process as usize];
        let (tie_break, elapsed) = (p.tie_break, now - p.since);
        let operations = self.operations;
        if let Operation::Compute { element, .. } = &operations[p.at as usize] {
            self.count(process, *element, 1, elapsed);
        } else if let Operation::Parallel(region) = &operations[p.at as usize] {
            self.count(process, region.element, 1, elapsed);
        }
        self.processes[process as usize].at += 1;
        self.advance(process, now, tie_break)
    }

    /// Takes the processor of a process that waits for others, or has ended.
    fn release_if_waiting(&mut self, scheduler: &mut NodeScheduler, process: u32, now: u64) {
        let p = &self.processes[process as usize];
        let share = &mut scheduler.shares[process as usize];
        if !share.has_processor || matches!(p.wait_state, WaitState::Ready | WaitState::Processor) {
            return;
        }
        share.has_processor = false;
        let node = self.node(process);
        let at = p.processor.max(now);
        scheduler.nodes[node as usize].releases.push(Reverse(at));
    }
}
