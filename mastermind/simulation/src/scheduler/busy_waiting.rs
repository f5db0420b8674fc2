//! Oversubscribed nodes whose processes wait busily: a process takes messages, and does all other work, only while it
//! has a processor, and all processes share the processors by time slices.
//!
//! A process that spins keeps its processor until its time slice is over, whether it has work or polls in vain. One
//! that yields releases it as soon as it has nothing to do, and is queued again after the arrival of its message. Time
//! slices of processes that poll in vain are skipped while no process of the node has anything to do.
//!
//! MPICH spins until its time slice is over, Open MPI with more ranks than processors yields. That decides the time of
//! a run with short steps, so it is a property of the machine, measured by `calibrate`: a rank's share of an idle
//! processor while it waits, and of busy ones. The system's queue for each processor is modelled as one round-robin
//! queue of the node. Linux switches at ticks that all processors share, so the same ranks run at the same time, until
//! other load makes one keep its processor: `calibrate` counts how often, and one in `regroup_turns` time slices is
//! double.

use std::cmp::Reverse;

use crate::engine::BoxedError;
use crate::engine::programs::process::WaitState;
use crate::engine::programs::run::Engine;
use crate::events::NEVER;
use crate::events::messages::NIL;
use crate::machine::{Queue, Waiting};
use crate::scheduler::oversubscribed::NodeScheduler;

/// The next event of a node.
enum Event {
    /// A processor becomes idle.
    Release,
    /// The time slice of a process that waits is over.
    TimeSliceEnd(u32),
    /// A process without a processor has something to do.
    Wake(u32),
    /// Process, and its message or [`NIL`] for its own operation.
    Of(u32, u32),
}

impl Engine<'_> {
    /// As [`Engine::visit_node`].
    pub(crate) fn visit_busy_node(
        &mut self,
        scheduler: &mut NodeScheduler,
        node: u32,
        end: u64,
    ) -> Result<(), BoxedError> {
        while let Some((at, event)) = self.next_busy(scheduler, node) {
            if at >= end {
                self.calendar.visit(node, at);
                break;
            }
            self.events += 1;
            self.limits.check(self.events, at)?;
            match event {
                Event::Release => {
                    scheduler.nodes[node as usize].releases.pop();
                    scheduler.nodes[node as usize].idle += 1;
                }
                Event::TimeSliceEnd(process) if scheduler.has_another_time_slice(node) => {
                    let until = at.saturating_add(time_slice_ns(scheduler.queue));
                    scheduler.shares[process as usize].until = until;
                }
                Event::TimeSliceEnd(process) => {
                    scheduler.nodes[node as usize].idle += 1;
                    queue(scheduler, node, process);
                }
                Event::Wake(process) => queue(scheduler, node, process),
                Event::Of(process, message) => {
                    self.handle_event(scheduler, process, message, at)?;
                    self.release_processor(scheduler, process, at);
                }
            }
            self.give_processors(scheduler, node, at);
        }
        Ok(())
    }

    fn next_busy(&mut self, scheduler: &NodeScheduler, node: u32) -> Option<(u64, Event)> {
        let (mut first, mut time_slice) = (None, None);
        let mut has_pending = false;
        let is_wanted = !scheduler.nodes[node as usize].queue.is_empty();
        for process in self.of_node(node) {
            let own = self.next_of_process(process);
            let (p, share) = (
                &self.processes[process as usize],
                &scheduler.shares[process as usize],
            );
            if share.is_queued {
                has_pending |= own.0 != NEVER || share.left_ns > 0;
                continue;
            }
            if share.has_processor && is_wanted && is_waiting(p.wait_state) {
                let over = (share.until.max(p.processor), process);
                if time_slice.is_none_or(|time_slice| over < time_slice) {
                    time_slice = Some(over);
                }
            }
            if own.0 != NEVER && first.is_none_or(|first| own < first) {
                first = Some(own);
            }
        }
        let mut next = first.map(|(at, _, process, message)| {
            let alone = scheduler.shares[process as usize].has_processor
                || self.processes[process as usize].wait_state == WaitState::Ended;
            match alone {
                true => (at, Event::Of(process, message)),
                false => (at, Event::Wake(process)),
            }
        });
        if let Some((at, process)) = time_slice
            && (has_pending || next.is_some())
            && next.as_ref().is_none_or(|(first, _)| at <= *first)
        {
            next = Some((at, Event::TimeSliceEnd(process)));
        }
        if let Some(Reverse(at)) = scheduler.nodes[node as usize].releases.peek()
            && next.as_ref().is_none_or(|(first, _)| at <= first)
        {
            next = Some((*at, Event::Release));
        }
        next
    }

    /// An event of a process that has a processor, or has ended.
    fn handle_event(
        &mut self,
        scheduler: &mut NodeScheduler,
        process: u32,
        message: u32,
        at: u64,
    ) -> Result<(), BoxedError> {
        if message != NIL {
            return self.handle_arrival(process, message);
        }
        let share = &mut scheduler.shares[process as usize];
        if share.time_slice_ns > 0 {
            share.left_ns -= std::mem::take(&mut share.time_slice_ns);
            if share.left_ns == 0 {
                return self.end_work(process, at);
            }
            self.continue_work(scheduler, process, at);
        } else if self.processes[process as usize].processor > at {
            // As in a visit of the process alone, it keeps its place.
            self.execute(process, at)?;
        } else if let Some(work_ns) = self.work_of(process)? {
            scheduler.shares[process as usize].left_ns = work_ns;
            if work_ns == 0 {
                return self.end_work(process, at);
            }
            self.continue_work(scheduler, process, at);
        } else {
            self.execute(process, at)?;
        }
        Ok(())
    }

    /// Lets a process that has a processor and work continue for the rest of its time slice.
    fn continue_work(&mut self, scheduler: &mut NodeScheduler, process: u32, now: u64) {
        let node = self.node(process);
        let is_wanted = !scheduler.nodes[node as usize].queue.is_empty();
        let time_slice = time_slice_ns(scheduler.queue);
        let p = &mut self.processes[process as usize];
        let begin = p.processor.max(now);
        if scheduler.shares[process as usize].until <= begin {
            if is_wanted && !scheduler.has_another_time_slice(node) {
                (p.wait_state, p.due) = (WaitState::Processor, NEVER);
                scheduler.nodes[node as usize].idle += 1;
                queue(scheduler, node, process);
                return;
            }
            scheduler.shares[process as usize].until = begin.saturating_add(time_slice);
        }
        let share = &mut scheduler.shares[process as usize];
        share.time_slice_ns = share.left_ns.min(share.until - begin);
        p.processor = begin + share.time_slice_ns;
        p.work += share.time_slice_ns;
        (p.due, p.tie_break) = (p.processor, p.tie_break.then(now));
    }

    /// Gives idle processors to the processes that are queued.
    fn give_processors(&mut self, scheduler: &mut NodeScheduler, node: u32, now: u64) {
        let time_slice = time_slice_ns(scheduler.queue);
        while scheduler.nodes[node as usize].idle > 0 {
            let Some(process) = scheduler.nodes[node as usize].queue.pop_front() else {
                break;
            };
            scheduler.nodes[node as usize].idle -= 1;
            let share = &mut scheduler.shares[process as usize];
            (share.has_processor, share.is_queued) = (true, false);
            share.until = now.saturating_add(time_slice);
            let has_work = share.left_ns > 0;
            let p = &mut self.processes[process as usize];
            p.processor = p.processor.max(now);
            if has_work {
                p.wait_state = WaitState::Ready;
                self.continue_work(scheduler, process, now);
            } else if p.due != NEVER {
                p.due = p.due.max(p.processor);
            }
            self.release_processor(scheduler, process, now);
        }
    }

    /// Takes the processor of a process that has ended, or yields it.
    fn release_processor(&mut self, scheduler: &mut NodeScheduler, process: u32, now: u64) {
        let node = self.node(process);
        let message = self.next_message(process);
        let p = &self.processes[process as usize];
        let share = &mut scheduler.shares[process as usize];
        let free = p.processor.max(now);
        let finds = message.is_some_and(|(at, ..)| at <= free);
        let yields = scheduler.waiting == Waiting::Yields && is_waiting(p.wait_state) && !finds;
        if share.has_processor && (yields || p.wait_state == WaitState::Ended) {
            share.has_processor = false;
            scheduler.nodes[node as usize].releases.push(Reverse(free));
        }
    }
}

/// Puts a process behind all others that want a processor.
fn queue(scheduler: &mut NodeScheduler, node: u32, process: u32) {
    let share = &mut scheduler.shares[process as usize];
    (share.has_processor, share.is_queued) = (false, true);
    scheduler.nodes[node as usize].queue.push_back(process);
}

/// Whether a process waits for another.
fn is_waiting(wait_state: WaitState) -> bool {
    matches!(
        wait_state,
        WaitState::Receive | WaitState::Data | WaitState::Send | WaitState::Pending
    )
}

fn time_slice_ns(queue: Queue) -> u64 {
    match queue {
        Queue::Fcfs => NEVER,
        Queue::RoundRobin { quantum_ns } => quantum_ns,
    }
}
