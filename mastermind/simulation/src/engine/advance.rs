//! What a process does by itself: steps without time, then its next operation.

use super::error::SimulationError;
use super::messages::{Message, NIL, Part};
use super::process::{NEVER, Waits};
use super::region;
use super::run::{Engine, chain, fits};
use crate::expression::Compiled;
use crate::program::{ANY, Mode, NOBODY, Operation, Region};

/// The peer of a receive from anybody.
pub(super) const ANYBODY: u32 = u32::MAX;

/// The tag of a receive of any tag.
pub(super) const ANY_TAG: i32 = ANY as i32;

/// Most steps of a process without time.
const MOST_STEPS: u64 = 100_000_000;

/// Longest time of an action, seconds: ten years, so that no clock runs over.
const LONGEST_S: f64 = 3.2e8;

impl Engine<'_> {
    /// Goes through the steps without time up to the next operation that takes some.
    ///
    /// # Arguments
    /// * `now` - time of the event that leads here, `made` - when that was settled
    pub(super) fn advance(
        &mut self,
        process: u32,
        mut now: u64,
        mut made: [u64; 2],
    ) -> Result<(), SimulationError> {
        let operations = self.operations;
        let base = process as usize * self.width;
        let mut at = self.processes[process as usize].at;
        let mut steps = 0_u64;
        let due = loop {
            steps += 1;
            if steps > MOST_STEPS {
                let at_ns = now;
                return Err(SimulationError::Endless {
                    process,
                    at_ns,
                    steps,
                });
            }
            match &operations[at as usize] {
                Operation::Assign { slot, value } => {
                    let value = value.evaluate(&self.context(process));
                    self.slots[base + *slot as usize] = value;
                    at += 1;
                }
                Operation::Jump { target } => at = *target,
                Operation::JumpUnless { condition, target } => {
                    let holds = condition.is_true(&self.context(process));
                    at = if holds { at + 1 } else { *target };
                }
                Operation::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                    element,
                } => {
                    let rounds = count.evaluate(&self.context(process)).round();
                    if rounds.is_nan() || rounds < 0.0 {
                        let value = ("its count", rounds, "a number of rounds, at least 0");
                        return Err(self.value(process, *element, value));
                    }
                    self.slots[base + *counter as usize] = 0.0;
                    self.slots[base + *limit as usize] = rounds;
                    at = if rounds > 0.0 { at + 1 } else { *exit };
                }
                Operation::LoopNext {
                    counter,
                    limit,
                    start,
                } => {
                    let next = self.slots[base + *counter as usize] + 1.0;
                    self.slots[base + *counter as usize] = next;
                    let left = next < self.slots[base + *limit as usize];
                    at = if left { *start } else { at + 1 };
                }
                Operation::Count { element } => {
                    self.count(process, *element, 1, 0);
                    at += 1;
                }
                Operation::NoBranch { element } => {
                    let info = self.info(*element);
                    return Err(SimulationError::NoBranch {
                        element: info.name.clone(),
                        place: info.place.clone(),
                        process,
                    });
                }
                Operation::Lock { .. } | Operation::Unlock { .. } => at += 1,
                Operation::Compute { .. } | Operation::Parallel(_) => {
                    break self.processes[process as usize].processor;
                }
                Operation::Send { to, .. } => {
                    if to.evaluate(&self.context(process)) != NOBODY {
                        let p = &self.processes[process as usize];
                        break p.processor.max(p.sending);
                    }
                    at += 1;
                }
                Operation::Receive {
                    from,
                    tag,
                    mode,
                    element,
                } => {
                    if from.evaluate(&self.context(process)) == NOBODY {
                        at += 1;
                        continue;
                    }
                    self.processes[process as usize].at = at;
                    let free = self.processes[process as usize].processor;
                    (now, made) = (free.max(now), [now, made[0]]);
                    let receive = (from, tag, *mode, *element);
                    if !self.receive(process, receive, now, made)? {
                        break NEVER;
                    }
                    at += 1;
                }
                Operation::Wait { mode, element } => {
                    let p = &mut self.processes[process as usize];
                    if p.pending[usize::from(*mode == Mode::Internal)] > 0 {
                        p.since = p.processor;
                        p.waits = Waits::Rest;
                        self.count(process, *element, calls(*mode), 0);
                        break NEVER;
                    }
                    self.count(process, *element, calls(*mode), 0);
                    at += 1;
                }
                Operation::End => {
                    self.processes[process as usize].waits = Waits::Ended;
                    break NEVER;
                }
            }
        };
        let p = &mut self.processes[process as usize];
        (p.at, p.due, p.made) = (at, due, [now, made[0], made[1]]);
        if due != NEVER {
            p.since = p.processor;
        }
        Ok(())
    }

    /// Begins a receive at `now`; whether the process goes on.
    fn receive(
        &mut self,
        process: u32,
        (from, tag, mode, element): (&Compiled, &Compiled, Mode, u32),
        now: u64,
        made: [u64; 2],
    ) -> Result<bool, SimulationError> {
        let from = from.evaluate(&self.context(process));
        let peer = if from == ANY {
            ANYBODY
        } else {
            self.rank(process, element, "its sender", from)?
        };
        let in_collective = tag.constant().is_some_and(|tag| tag < ANY);
        let tag = tag.evaluate(&self.context(process));
        let tag = if in_collective || tag == ANY {
            tag as i32
        } else {
            self.tag(process, element, tag)?
        };
        let p = &mut self.processes[process as usize];
        p.since = p.processor;
        let receive = Message {
            at: now,
            made: [now, made[0], made[1]],
            bytes: 0,
            peer,
            tag,
            next: NIL,
            part: Part::Eager,
            sender: mode,
            receiver: mode,
        };
        let early = p.early;
        let (head, found) = self.pool.take(early, |message| fits(&receive, message));
        self.processes[process as usize].early = head;
        let in_collective = tag < ANY_TAG;
        self.count(process, element, u32::from(!in_collective), 0);
        let mut complete = false;
        if found == NIL {
            let index = self.pool.add(receive);
            let posted = self.processes[process as usize].posted;
            self.processes[process as usize].posted = self.pool.append(posted, index);
        } else {
            let message = *self.pool.get(found);
            self.pool.release(found);
            complete = message.part == Part::Eager;
            if !complete {
                self.acknowledge(process, &message, mode, now, made);
            }
        }
        let p = &mut self.processes[process as usize];
        match mode {
            Mode::Blocking if !complete => p.waits = Waits::Receive,
            Mode::Blocking => {}
            _ if complete => {}
            mode => p.pending[usize::from(mode == Mode::Internal)] += 1,
        }
        Ok(complete || mode != Mode::Blocking)
    }

    /// Runs the operation that is due.
    pub(super) fn execute(&mut self, process: u32, now: u64) -> Result<(), SimulationError> {
        let operations = self.operations;
        let p = &mut self.processes[process as usize];
        let operation = &operations[p.at as usize];
        let is_send = matches!(operation, Operation::Send { .. });
        let free = if is_send {
            p.processor.max(p.sending)
        } else {
            p.processor
        };
        if free > now {
            // It keeps its place among those that wait.
            p.due = free;
            return Ok(());
        }
        let made = chain(&p.made);
        match operation {
            Operation::Compute { cost, element } => {
                let cost = cost.evaluate(&self.context(process));
                if !(0.0..=LONGEST_S).contains(&cost) {
                    let value = ("its cost", cost, "0 to 3.2e8 seconds");
                    return Err(self.value(process, *element, value));
                }
                self.take(process, *element, (cost * 1e9).round() as u64, now);
            }
            Operation::Parallel(region) => self.parallel(process, region, now)?,
            Operation::Send { .. } if !self.send(process, operation, now)? => return Ok(()),
            _ => {}
        }
        self.processes[process as usize].at += 1;
        self.advance(process, now, made)
    }

    /// Occupies the processor with work.
    #[inline]
    fn take(&mut self, process: u32, element: u32, time_ns: u64, now: u64) {
        let p = &mut self.processes[process as usize];
        p.processor = now + time_ns;
        p.work += time_ns;
        let elapsed = p.processor - p.since;
        self.count(process, element, 1, elapsed);
    }

    fn parallel(&mut self, process: u32, region: &Region, now: u64) -> Result<(), SimulationError> {
        let element = region.element;
        let threads = region.threads.evaluate(&self.context(process));
        if !(1.0..=65_536.0).contains(&threads.round()) {
            let value = ("its number of threads", threads, "1 to 65536");
            return Err(self.value(process, element, value));
        }
        let place = region::Place {
            processors: (self.machine.processors / self.per_node).max(1),
            queue: self.machine.queue,
            locks: self.locks,
            threads: threads.round() as u32,
        };
        let ran = region::run(region, &self.context(process), &place);
        let elements = ran.map_err(|problem| self.problem(process, element, problem))?;
        self.take(process, element, elements.elapsed_ns, now);
        for (inner, calls, total_ns) in elements.elements {
            self.count(process, inner, calls, total_ns);
        }
        Ok(())
    }

    fn problem(&self, process: u32, region: u32, problem: region::Problem) -> SimulationError {
        let named = |element: u32| {
            let info = self.info(element);
            (info.name.clone(), info.place.clone())
        };
        match problem {
            region::Problem::Value(element, what, found, expected) => {
                self.value(process, element, (what, found, expected))
            }
            region::Problem::NoBranch(element) => {
                let (element, place) = named(element);
                SimulationError::NoBranch {
                    element,
                    place,
                    process,
                }
            }
            region::Problem::Endless(at_ns, steps) => SimulationError::Endless {
                process,
                at_ns,
                steps,
            },
            region::Problem::Locked => {
                let (element, place) = named(region);
                SimulationError::Locked {
                    element,
                    place,
                    process,
                }
            }
        }
    }

    /// Sends a message; whether the process goes on.
    fn send(
        &mut self,
        process: u32,
        operation: &Operation,
        now: u64,
    ) -> Result<bool, SimulationError> {
        let Operation::Send {
            to,
            bytes,
            tag,
            mode,
            element,
        } = operation
        else {
            return Ok(true);
        };
        let context = self.context(process);
        let (to, bytes) = (to.evaluate(&context), bytes.evaluate(&context));
        // Tags of collectives are put in as constants; one that a model computes is checked.
        let in_collective = tag.constant().is_some_and(|tag| tag < ANY);
        let tag = tag.evaluate(&context);
        let to = self.rank(process, *element, "its receiver", to)?;
        if !(0.0..=1e15).contains(&bytes) {
            let value = ("its size", bytes, "0 to 1e15 bytes");
            return Err(self.value(process, *element, value));
        }
        let tag = if in_collective {
            tag as i32
        } else {
            self.tag(process, *element, tag)?
        };
        // A message without bytes takes what one byte takes.
        let bytes = (bytes.round() as u64).max(1);
        let link = self.link(process, to);
        let p = &mut self.processes[process as usize];
        let eager = bytes <= link.rendezvous_bytes;
        let mut occupied = link.send_overhead_ns;
        if eager {
            occupied += link.bytes_overhead_ns(bytes);
            p.sending = now + link.gap_ns + link.bytes_gap_ns(bytes);
        }
        p.processor = now + occupied;
        p.overhead += occupied;
        let elapsed = p.processor - p.since;
        let message = Message {
            at: now + link.lookahead_ns(),
            made: [now, p.made[0], p.made[1]],
            bytes,
            peer: process,
            tag,
            next: NIL,
            part: if eager { Part::Eager } else { Part::Request },
            sender: *mode,
            receiver: Mode::Blocking,
        };
        if !eager {
            match mode {
                Mode::Blocking => {
                    (p.waits, p.due) = (Waits::Send, NEVER);
                }
                mode => p.pending[usize::from(*mode == Mode::Internal)] += 1,
            }
        }
        let goes_on = eager || *mode != Mode::Blocking;
        self.count(
            process,
            *element,
            u32::from(!in_collective),
            if goes_on { elapsed } else { 0 },
        );
        self.post(to, message);
        Ok(goes_on)
    }

    fn rank(
        &self,
        process: u32,
        element: u32,
        what: &'static str,
        rank: f64,
    ) -> Result<u32, SimulationError> {
        if rank.fract() == 0.0 && (0.0..self.processes.len() as f64).contains(&rank) {
            return Ok(rank as u32);
        }
        let most = self.processes.len() - 1;
        let expected = format!("a rank from 0 to {most}, or none");
        Err(self.value_owned(process, element, (what, rank, expected)))
    }

    fn tag(&self, process: u32, element: u32, tag: f64) -> Result<i32, SimulationError> {
        if tag.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&tag) {
            return Ok(tag as i32);
        }
        let value = ("its tag", tag, "a whole number from 0 to 2147483647");
        Err(self.value(process, element, value))
    }

    fn value(
        &self,
        process: u32,
        element: u32,
        (what, found, expected): (&'static str, f64, &str),
    ) -> SimulationError {
        self.value_owned(process, element, (what, found, expected.into()))
    }

    fn value_owned(
        &self,
        process: u32,
        element: u32,
        (what, found, expected): (&'static str, f64, String),
    ) -> SimulationError {
        let info = self.info(element);
        SimulationError::Value {
            element: info.name.clone(),
            place: info.place.clone(),
            process,
            what,
            found,
            expected,
        }
    }
}

/// Calls that a wait of this mode counts: those of collectives count none.
fn calls(mode: Mode) -> u32 {
    u32::from(mode != Mode::Internal)
}
