//! Nodes with more processes than processors whose processes do not block to wait: a message is taken, and
//! everything else done, while its process has a processor, and all of them share those in turns.
//!
//! Who spins keeps its processor until its turn is over, whether it has work or looks for a message in vain. Who
//! yields gives it back as soon as it has nothing to do; from when its message is there it is queued like all others.
//! Turns of processes that look in vain are not gone through while nobody of the node has anything to do.

use std::cmp::Reverse;

use super::crowd::Crowd;
use super::error::Stop;
use super::messages::NIL;
use super::process::{NEVER, Waits};
use super::run::Engine;
use crate::machine::{Queue, Waiting};

/// What happens next on a node.
enum Event {
    /// A processor becomes idle.
    Release,
    /// The turn of a process that waits is over.
    TurnOver(u32),
    /// A process without a processor has something to do.
    Wake(u32),
    /// Process, and its message or [`NIL`] for its own operation.
    Of(u32, u32),
}

impl Engine<'_> {
    /// As [`Engine::visit_node`].
    pub(super) fn visit_busy_node(
        &mut self,
        crowd: &mut Crowd,
        node: u32,
        end: u64,
    ) -> Result<(), Stop> {
        while let Some((at, event)) = self.next_busy(crowd, node) {
            if at >= end {
                self.calendar.visit(node, at);
                break;
            }
            self.events += 1;
            match event {
                Event::Release => {
                    crowd.nodes[node as usize].releases.pop();
                    crowd.nodes[node as usize].idle += 1;
                }
                Event::TurnOver(process) if crowd.has_another_turn(node) => {
                    let until = at.saturating_add(turn_ns(crowd.queue));
                    crowd.shares[process as usize].until = until;
                }
                Event::TurnOver(process) => {
                    crowd.nodes[node as usize].idle += 1;
                    queue(crowd, node, process);
                }
                Event::Wake(process) => queue(crowd, node, process),
                Event::Of(process, message) => {
                    self.happen(crowd, process, message, at)?;
                    self.settle(crowd, process, at);
                }
            }
            self.hand_out(crowd, node, at);
        }
        Ok(())
    }

    fn next_busy(&mut self, crowd: &Crowd, node: u32) -> Option<(u64, Event)> {
        let (mut first, mut turn) = (None, None);
        let mut has_pending = false;
        let is_wanted = !crowd.nodes[node as usize].queue.is_empty();
        for process in self.of_node(node) {
            let own = self.next_of_process(process);
            let (p, share) = (
                &self.processes[process as usize],
                &crowd.shares[process as usize],
            );
            if share.is_queued {
                has_pending |= own.0 != NEVER || share.left_ns > 0;
                continue;
            }
            if share.has_processor && is_wanted && is_waiting(p.waits) {
                let over = (share.until.max(p.processor), process);
                if turn.is_none_or(|turn| over < turn) {
                    turn = Some(over);
                }
            }
            if own.0 != NEVER && first.is_none_or(|first| own < first) {
                first = Some(own);
            }
        }
        let mut next = first.map(|(at, _, process, message)| {
            let alone = crowd.shares[process as usize].has_processor
                || self.processes[process as usize].waits == Waits::Ended;
            match alone {
                true => (at, Event::Of(process, message)),
                false => (at, Event::Wake(process)),
            }
        });
        if let Some((at, process)) = turn
            && (has_pending || next.is_some())
            && next.as_ref().is_none_or(|(first, _)| at <= *first)
        {
            next = Some((at, Event::TurnOver(process)));
        }
        if let Some(Reverse(at)) = crowd.nodes[node as usize].releases.peek()
            && next.as_ref().is_none_or(|(first, _)| at <= first)
        {
            next = Some((*at, Event::Release));
        }
        next
    }

    /// An event of a process that has a processor, or has ended.
    fn happen(
        &mut self,
        crowd: &mut Crowd,
        process: u32,
        message: u32,
        at: u64,
    ) -> Result<(), Stop> {
        if message != NIL {
            return self.look(process, message);
        }
        let share = &mut crowd.shares[process as usize];
        if share.turn_ns > 0 {
            share.left_ns -= std::mem::take(&mut share.turn_ns);
            if share.left_ns == 0 {
                return self.worked(process, at);
            }
            self.work_on(crowd, process, at);
        } else if self.processes[process as usize].processor > at {
            // As in a visit of the process alone, it keeps its place.
            self.execute(process, at)?;
        } else if let Some(work_ns) = self.work_of(process)? {
            crowd.shares[process as usize].left_ns = work_ns;
            if work_ns == 0 {
                return self.worked(process, at);
            }
            self.work_on(crowd, process, at);
        } else {
            self.execute(process, at)?;
        }
        Ok(())
    }

    /// Lets a process that has a processor, and work, go on for what is left of its turn.
    fn work_on(&mut self, crowd: &mut Crowd, process: u32, now: u64) {
        let node = self.node(process);
        let is_wanted = !crowd.nodes[node as usize].queue.is_empty();
        let turn = turn_ns(crowd.queue);
        let p = &mut self.processes[process as usize];
        let begin = p.processor.max(now);
        if crowd.shares[process as usize].until <= begin {
            if is_wanted && !crowd.has_another_turn(node) {
                (p.waits, p.due) = (Waits::Processor, NEVER);
                crowd.nodes[node as usize].idle += 1;
                queue(crowd, node, process);
                return;
            }
            crowd.shares[process as usize].until = begin.saturating_add(turn);
        }
        let share = &mut crowd.shares[process as usize];
        share.turn_ns = share.left_ns.min(share.until - begin);
        p.processor = begin + share.turn_ns;
        p.work += share.turn_ns;
        (p.due, p.made) = (p.processor, p.made.then(now));
    }

    /// Gives idle processors to the processes that are queued.
    fn hand_out(&mut self, crowd: &mut Crowd, node: u32, now: u64) {
        let turn = turn_ns(crowd.queue);
        while crowd.nodes[node as usize].idle > 0 {
            let Some(process) = crowd.nodes[node as usize].queue.pop_front() else {
                break;
            };
            crowd.nodes[node as usize].idle -= 1;
            let share = &mut crowd.shares[process as usize];
            (share.has_processor, share.is_queued) = (true, false);
            share.until = now.saturating_add(turn);
            let has_work = share.left_ns > 0;
            let p = &mut self.processes[process as usize];
            p.processor = p.processor.max(now);
            if has_work {
                p.waits = Waits::No;
                self.work_on(crowd, process, now);
            } else if p.due != NEVER {
                p.due = p.due.max(p.processor);
            }
            self.settle(crowd, process, now);
        }
    }

    /// Takes the processor of a process that has ended, or yields it.
    fn settle(&mut self, crowd: &mut Crowd, process: u32, now: u64) {
        let node = self.node(process);
        let message = self.next_message(process);
        let p = &self.processes[process as usize];
        let share = &mut crowd.shares[process as usize];
        let free = p.processor.max(now);
        let finds = message.is_some_and(|(at, ..)| at <= free);
        let yields = crowd.waiting == Waiting::Yields && is_waiting(p.waits) && !finds;
        if share.has_processor && (yields || p.waits == Waits::Ended) {
            share.has_processor = false;
            crowd.nodes[node as usize].releases.push(Reverse(free));
        }
    }
}

/// Puts a process behind all others that want a processor.
fn queue(crowd: &mut Crowd, node: u32, process: u32) {
    let share = &mut crowd.shares[process as usize];
    (share.has_processor, share.is_queued) = (false, true);
    crowd.nodes[node as usize].queue.push_back(process);
}

/// Whether a process waits for another.
fn is_waiting(waits: Waits) -> bool {
    matches!(
        waits,
        Waits::Receive | Waits::Bytes | Waits::Send | Waits::Rest
    )
}

fn turn_ns(queue: Queue) -> u64 {
    match queue {
        Queue::Fcfs => NEVER,
        Queue::RoundRobin { quantum_ns } => quantum_ns,
    }
}
