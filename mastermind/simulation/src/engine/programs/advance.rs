//! A process's own progress: steps without time, then its next operation.
//!
//! All processes run one list of operations, each with its place in the list, its variables and its
//! clocks. Most operations take no simulated time: assignments, jumps and loops touch only
//! variables of the process, so `advance` runs them at once, within the event that led to them. It
//! stops at the first operation that occupies the processor or waits, and only that one becomes an
//! event. `execute` runs it when its turn comes, and goes on with `advance`.
//!
//! ```text
//! work ends at 100 ns
//!   advance    i = i + 1, jump, to = (process + 1) % processes         no event
//!              Send: due = max(processor, sending interface)          the next event of the process
//!   execute    Send at due: costs, post to the receiver, advance
//!   advance    Receive: no message yet: due = NEVER, wait_state = Receive
//! ```
//!
//! What another process does to this one is in `deliver`, which also ends waits. Values that a
//! program computes, such as ranks, sizes and counts, are checked where they are used, and an error
//! names the element and its place in the source.

use crate::engine::error::{BoxedError, SimulationError};
use crate::engine::limits::{MAX_COST_S, MAX_TIMELESS_STEPS, ROUNDS, nanoseconds, rounds_of};
use crate::engine::programs::process::{Completions, WaitState};
use crate::engine::programs::run::Engine;
use crate::events::NEVER;
use crate::events::messages::{ANY_TAG, ANYBODY, Load, Message, NIL};
use crate::events::tie_break::TieBreak;
use crate::loggp::{MessagePart, Protocol, bytes_on_the_wire};
use crate::scheduler::region;
use crate::sensitivity::recorder::Site;
use mastermind_programs::{ANY, Mode, NOBODY, Operation, Region};

impl Engine<'_> {
    /// Goes through the steps without time up to the next operation that takes some.
    ///
    /// # Arguments
    /// * `now` - time of the event that leads here, `tie_break` - its tie-break key
    pub(crate) fn advance(
        &mut self,
        process: u32,
        mut now: u64,
        mut tie_break: TieBreak,
    ) -> Result<(), BoxedError> {
        let operations = self.operations;
        let base = process as usize * self.width;
        let mut at = self.processes[process as usize].at;
        let mut steps = 0_u64;
        let due = loop {
            steps += 1;
            // A loop in which nothing takes time would never return.
            if steps > MAX_TIMELESS_STEPS {
                let at_ns = now;
                return Err(Box::new(SimulationError::Endless {
                    process,
                    at_ns,
                    steps,
                }));
            }
            match &operations[at as usize] {
                Operation::Assign { slot, value } => {
                    let value = self.value_of(process, value);
                    self.slots[base + *slot as usize] = value;
                    at += 1;
                }
                Operation::Jump { target } => at = *target,
                Operation::JumpUnless { condition, target } => {
                    let holds = self.value_of(process, condition) != 0.0;
                    at = if holds { at + 1 } else { *target };
                }
                Operation::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                    element,
                } => {
                    let count = self.value_of(process, count);
                    let Some(rounds) = rounds_of(count) else {
                        return Err(self.value(process, *element, ("its count", count, ROUNDS)));
                    };
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
                    return Err(Box::new(SimulationError::NoBranch {
                        element: info.name.clone(),
                        place: info.place.clone(),
                        process,
                    }));
                }
                // Outside of a region there is one thread: no other can have the lock.
                Operation::Lock { .. } | Operation::Unlock { .. } => at += 1,
                Operation::Compute { .. } | Operation::Parallel(_) => {
                    break self.processes[process as usize].processor;
                }
                Operation::Send { to, .. } => {
                    let to = self.value_of(process, to);
                    if to != NOBODY {
                        let p = &mut self.processes[process as usize];
                        p.peer = whole(to).unwrap_or(NIL);
                        break p.processor.max(p.sending);
                    }
                    at += 1;
                }
                operation @ Operation::Receive { from, sender, .. } => {
                    let from = self.value_of(process, from);
                    if from == NOBODY {
                        self.set_sender(process, *sender, NOBODY);
                        at += 1;
                        continue;
                    }
                    self.processes[process as usize].at = at;
                    // The posting of a receive costs nothing here: it takes effect when the
                    // processor is free.
                    let free = self.processes[process as usize].processor;
                    if self.has_unexpected_request(process, from, operation) {
                        // The clear to send takes the processor, so it is an event among the messages.
                        break free.max(now);
                    }
                    (now, tie_break) = (free.max(now), tie_break.then(now));
                    if !self.receive(process, from, operation, now, tie_break)? {
                        break NEVER;
                    }
                    at += 1;
                }
                Operation::Wait { mode, element } => {
                    let p = &mut self.processes[process as usize];
                    if p.pending[usize::from(*mode == Mode::Internal)] > 0 {
                        p.wait_state = WaitState::Pending;
                        self.begin_operation(process);
                        self.count(process, *element, mode.calls(), 0);
                        break NEVER;
                    }
                    self.count(process, *element, mode.calls(), 0);
                    if let Some(completions) = self.completions_of(process, *mode) {
                        completions.senders.clear();
                    }
                    at += 1;
                }
                Operation::WaitAny { sender, element } => {
                    let completions = self.completions.get_mut(process as usize);
                    let (first, n_open) = completions.map_or((None, 0), |completions| {
                        (completions.senders.pop_front(), completions.n_open)
                    });
                    self.count(process, *element, 1, 0);
                    let p = &mut self.processes[process as usize];
                    // With no open receive nothing can come: the wait ends at once, with no sender.
                    if first.is_none() && n_open > 0 {
                        p.wait_state = WaitState::Pending;
                        self.begin_operation(process);
                        break NEVER;
                    }
                    self.set_sender(process, *sender, first.map_or(NOBODY, f64::from));
                    at += 1;
                }
                Operation::End => {
                    self.processes[process as usize].wait_state = WaitState::Ended;
                    break NEVER;
                }
            }
        };
        let p = &mut self.processes[process as usize];
        (p.at, p.due, p.tie_break) = (at, due, tie_break.then(now));
        if due != NEVER {
            self.begin_operation(process);
        }
        Ok(())
    }

    /// Whether a request to send is there for a receive that is not posted yet.
    #[inline]
    fn has_unexpected_request(&mut self, process: u32, from: f64, operation: &Operation) -> bool {
        let unexpected = self.processes[process as usize].unexpected;
        let Operation::Receive { tag, .. } = operation else {
            return false;
        };
        if unexpected == NIL {
            return false;
        }
        let peer = if from == ANY { ANYBODY } else { from as u32 };
        let wanted = (peer, self.value_of(process, tag) as i32);
        let found = self
            .unexpected_index
            .message(&self.pool, process, unexpected, wanted);
        found != NIL && self.pool.get(found).load.part() == MessagePart::RequestToSend
    }

    /// Begins a receive from `from` at `now`; returns whether the process continues.
    #[inline]
    fn receive(
        &mut self,
        process: u32,
        from: f64,
        operation: &Operation,
        now: u64,
        tie_break: TieBreak,
    ) -> Result<bool, BoxedError> {
        let Operation::Receive {
            tag,
            mode,
            collective,
            element,
            sender,
            ..
        } = operation
        else {
            return Ok(true);
        };
        let (mode, element) = (*mode, *element);
        let peer = if from == ANY {
            ANYBODY
        } else {
            self.rank(process, element, "its sender", from)?
        };
        let tag = match self.value_of(process, tag) {
            ANY if !collective => ANY_TAG,
            tag => self.tag(process, element, tag, *collective)?,
        };
        self.begin_operation(process);
        let p = &mut self.processes[process as usize];
        let mut found = NIL;
        if p.unexpected != NIL {
            let long = &mut self.unexpected_index;
            found = long.message(&self.pool, process, p.unexpected, (peer, tag));
            if found != NIL {
                long.remove(&mut self.pool, process, &mut p.unexpected, found);
            }
        }
        self.count(process, element, u32::from(!collective), 0);
        if found != NIL {
            let message = *self.pool.get(found);
            self.pool.release(found);
            if message.load.part() == MessagePart::Eager {
                self.set_sender(process, *sender, f64::from(message.peer));
                if let Some(completions) = self.completions_of(process, mode) {
                    completions.senders.push_back(message.peer);
                }
                return Ok(true);
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.resume(process);
            }
            self.answer_request(process, &message, mode, now, tie_break);
        }
        let p = &mut self.processes[process as usize];
        if mode == Mode::Blocking {
            p.wait_state = if found == NIL {
                WaitState::Receive
            } else {
                WaitState::Data
            };
            (p.peer, p.tag) = (peer, tag);
            return Ok(false);
        }
        p.pending[usize::from(mode == Mode::Internal)] += 1;
        if let Some(completions) = self.completions_of(process, mode) {
            completions.n_open += 1;
        }
        if found == NIL && !self.post_in_line(process, (peer, tag), mode) {
            let receive = Message {
                at: now,
                tie_break,
                load: Load::new(0, MessagePart::Eager, mode).received_by(mode),
                peer,
                tag,
                next: NIL,
                other: NIL,
            };
            let index = self.pool.add(receive);
            let last = &mut self.processes[process as usize].posted;
            self.posted_index
                .append(&mut self.pool, process, last, index);
        }
        Ok(true)
    }

    /// Gives a variable the rank that a message came from.
    #[inline]
    pub(crate) fn set_sender(&mut self, process: u32, sender: Option<u32>, rank: f64) {
        if let Some(slot) = sender {
            self.slots[process as usize * self.width + slot as usize] = rank;
        }
    }

    /// The message for a wait for any, if the program has such waits and it may be for a receive of this
    /// mode.
    #[inline]
    pub(crate) fn completions_of(&mut self, process: u32, mode: Mode) -> Option<&mut Completions> {
        let completions = self.completions.get_mut(process as usize);
        completions.filter(|_| mode == Mode::Nonblocking)
    }

    /// Posts a nonblocking receive in the line of a process; whether there was room, and none waits that did not find it.
    #[inline]
    fn post_in_line(&mut self, process: u32, receive: (u32, i32), mode: Mode) -> bool {
        self.processes[process as usize].posted == NIL
            && self
                .posted_lines
                .get_mut(process as usize)
                .is_some_and(|line| line.post(receive, mode))
    }

    /// Runs the operation that is due.
    #[inline]
    pub(crate) fn execute(&mut self, process: u32, now: u64) -> Result<(), BoxedError> {
        let operations = self.operations;
        let p = &mut self.processes[process as usize];
        let operation = &operations[p.at as usize];
        let tie_break = p.tie_break;
        let free = match operation {
            Operation::Send { .. } => p.processor.max(p.sending),
            Operation::Receive { .. } => now,
            _ => p.processor,
        };
        // A message has taken the processor, or the interface, since the operation became due.
        if free > now {
            // It keeps its place among those that wait.
            self.events -= 1;
            p.due = free;
            return Ok(());
        }
        match operation {
            Operation::Send { .. } => {
                if !self.send(process, operation, now)? {
                    return Ok(());
                }
            }
            Operation::Receive { from, .. } => {
                let from = self.value_of(process, from);
                if !self.receive(process, from, operation, now, tie_break)? {
                    self.processes[process as usize].due = NEVER;
                    return Ok(());
                }
            }
            _ => {
                if let Some(work_ns) = self.work_of(process)? {
                    self.take(process, operation, work_ns, now);
                }
            }
        }
        self.processes[process as usize].at += 1;
        self.advance(process, now, tie_break)
    }

    /// The processor time that the operation of a process takes by itself, if it is work.
    #[inline]
    pub(crate) fn work_of(&mut self, process: u32) -> Result<Option<u64>, BoxedError> {
        let operations = self.operations;
        match &operations[self.processes[process as usize].at as usize] {
            Operation::Compute { cost, element } => {
                let cost = self.value_of(process, cost);
                if !(0.0..=MAX_COST_S).contains(&cost) {
                    let value = ("its cost", cost, "0 to 3.2e8 seconds");
                    return Err(self.value(process, *element, value));
                }
                Ok(Some(nanoseconds(cost)))
            }
            Operation::Parallel(region) => self.parallel(process, region).map(Some),
            _ => Ok(None),
        }
    }

    /// Occupies the processor with work.
    #[inline]
    fn take(&mut self, process: u32, operation: &Operation, time_ns: u64, now: u64) {
        let time_ns = match &self.machine.noise {
            None => time_ns,
            Some(noise) => noise.lengthened_ns((process, 0), now, time_ns),
        };
        if let Some(recorder) = &mut self.recorder {
            let element = match operation {
                Operation::Compute { element, .. } => *element,
                Operation::Parallel(region) => region.element,
                _ => 0,
            };
            recorder.work((process, 0), None, (now, now + time_ns), element);
        }
        let p = &mut self.processes[process as usize];
        p.processor = now + time_ns;
        p.work += time_ns;
        let elapsed = p.processor - p.since;
        match operation {
            Operation::Compute { element, .. } => self.count(process, *element, 1, elapsed),
            Operation::Parallel(region) => self.count(process, region.element, 1, elapsed),
            _ => {}
        }
    }

    /// Runs a parallel region: its time.
    #[inline(never)]
    fn parallel(&mut self, process: u32, region: &Region) -> Result<u64, BoxedError> {
        let element = region.element;
        let threads = self.value_of(process, &region.threads);
        if !(1.0..=65_536.0).contains(&threads.round()) {
            let value = ("its number of threads", threads, "1 to 65536");
            return Err(self.value(process, element, value));
        }
        let place = region::RegionProcessors {
            // The processes of a node share its processors evenly; none borrows those of another.
            processors: (self.machine.processors / self.per_node).max(1),
            queue: self.machine.queue,
            locks: self.locks,
            threads: threads.round() as u32,
        };
        let outcome = region::run(region, &self.context(process), &place);
        let outcome = outcome.map_err(|problem| self.problem(process, element, problem))?;
        for (inner, calls, total_ns) in outcome.elements {
            self.count_part(process, inner, calls, total_ns);
        }
        Ok(outcome.elapsed_ns)
    }

    fn problem(&self, process: u32, region: u32, problem: region::RegionError) -> BoxedError {
        let named = |element: u32| {
            let info = self.info(element);
            (info.name.clone(), info.place.clone())
        };
        let stop = match problem {
            region::RegionError::Value(element, what, found, expected) => {
                return self.value(process, element, (what, found, expected));
            }
            region::RegionError::NoBranch(element) => {
                let (element, place) = named(element);
                SimulationError::NoBranch {
                    element,
                    place,
                    process,
                }
            }
            region::RegionError::Endless(at_ns, steps) => SimulationError::Endless {
                process,
                at_ns,
                steps,
            },
            region::RegionError::Locked => {
                let (element, place) = named(region);
                SimulationError::Locked {
                    element,
                    place,
                    process,
                }
            }
        };
        Box::new(stop)
    }

    /// Sends a message; returns whether the process continues.
    #[inline]
    fn send(&mut self, process: u32, operation: &Operation, now: u64) -> Result<bool, BoxedError> {
        let Operation::Send {
            to,
            bytes,
            tag,
            mode,
            collective,
            element,
        } = operation
        else {
            return Ok(true);
        };
        let mut peer = self.processes[process as usize].peer;
        // `advance` has left the receiver here; one that is no rank of the program is reported now.
        if peer as usize >= self.processes.len() {
            let to = self.value_of(process, to);
            peer = self.rank(process, *element, "its receiver", to)?;
        }
        let to = peer;
        let bytes = self.value_of(process, bytes);
        if !(0.0..=1e15).contains(&bytes) {
            let value = ("its size", bytes, "0 to 1e15 bytes");
            return Err(self.value(process, *element, value));
        }
        let tag = self.value_of(process, tag);
        let tag = self.tag(process, *element, tag, *collective)?;
        let bytes = bytes_on_the_wire((bytes + 0.5) as u64);
        let link = self.link(process, to);
        let p = &mut self.processes[process as usize];
        let protocol = link.protocol(bytes);
        let time = link.send_time(bytes, protocol);
        if let Some(interface_ns) = time.interface_ns {
            p.sending = now + interface_ns;
        }
        p.processor = now + time.processor_ns;
        p.overhead += time.processor_ns;
        let elapsed = p.processor - p.since;
        let eager = protocol == Protocol::Eager;
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((process, to), (0, 0), link, bytes);
            recorder.send(&site, None, now, protocol);
        }
        let message = Message {
            at: now + link.lookahead_ns(),
            tie_break: p.tie_break.then(now),
            load: Load::new(bytes, protocol.first_part(), *mode),
            peer: process,
            tag,
            next: NIL,
            other: NIL,
        };
        if !eager {
            match mode {
                Mode::Blocking => {
                    (p.wait_state, p.due) = (WaitState::Send, NEVER);
                }
                mode => p.pending[usize::from(*mode == Mode::Internal)] += 1,
            }
        }
        // A blocking send by rendezvous ends in `resume`, which counts its time.
        let goes_on = eager || *mode != Mode::Blocking;
        self.count(
            process,
            *element,
            u32::from(!*collective),
            if goes_on { elapsed } else { 0 },
        );
        self.post(to, message);
        Ok(goes_on)
    }

    #[inline]
    fn rank(
        &self,
        process: u32,
        element: u32,
        what: &'static str,
        rank: f64,
    ) -> Result<u32, BoxedError> {
        if let Some(whole) = whole(rank)
            && (whole as usize) < self.processes.len()
        {
            return Ok(whole);
        }
        let most = self.processes.len() - 1;
        let expected = format!("a rank from 0 to {most}, or none");
        Err(self.value_owned(process, element, (what, rank, expected)))
    }

    /// The tag of a message; tags of collectives, which are constants, differ from all others.
    #[inline]
    fn tag(
        &self,
        process: u32,
        element: u32,
        tag: f64,
        collective: bool,
    ) -> Result<i32, BoxedError> {
        let whole = tag as i32;
        if collective || (f64::from(whole) == tag && whole >= 0) {
            return Ok(whole);
        }
        let value = ("its tag", tag, "a whole number from 0 to 2147483647");
        Err(self.value(process, element, value))
    }

    fn value(
        &self,
        process: u32,
        element: u32,
        (what, found, expected): (&'static str, f64, &str),
    ) -> BoxedError {
        self.value_owned(process, element, (what, found, expected.into()))
    }

    fn value_owned(
        &self,
        process: u32,
        element: u32,
        (what, found, expected): (&'static str, f64, String),
    ) -> BoxedError {
        let info = self.info(element);
        Box::new(SimulationError::Value {
            element: info.name.clone(),
            place: info.place.clone(),
            process,
            what,
            found,
            expected,
        })
    }
}

/// A number as a whole one, if it is one.
#[inline]
fn whole(number: f64) -> Option<u32> {
    let whole = number as u32;
    (f64::from(whole) == number).then_some(whole)
}
