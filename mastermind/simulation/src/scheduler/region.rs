//! A parallel region: threads on the processors of their process, and locks.
//!
//! A thread keeps its processor until it waits for a lock or ends, or, with round-robin scheduling, until
//! its time slice is over and another thread waits for a processor. The region ends with its last thread.
//!
//! # Source
//! S. Pllana et al., "Hybrid Performance Modeling and Prediction of Large-Scale Computing Systems",
//! 2008, section III and Figure 8 (processors as a facility, both disciplines).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::engine::limits::{MAX_COST_S, MAX_TIMELESS_STEPS, ROUNDS, rounds_of};
use crate::machine::Queue;
use mastermind_programs::expression::Context;
use mastermind_programs::{Operation, Region};

/// Where a region runs.
pub(crate) struct RegionProcessors {
    pub(crate) processors: u32,
    pub(crate) queue: Queue,
    pub(crate) locks: u32,
    pub(crate) threads: u32,
}

/// Result of a region: its time, and calls and time by element.
pub(crate) struct RegionOutcome {
    pub(crate) elapsed_ns: u64,
    pub(crate) elements: Vec<(u32, u32, u64)>,
}

/// Reasons why a region cannot come to its end.
pub(crate) enum RegionError {
    /// Element, name of the value, value found, expected values.
    Value(u32, &'static str, f64, &'static str),
    NoBranch(u32),
    /// When, and after how many steps.
    Endless(u64, u64),
    Locked,
}

/// Next step of a thread.
enum Next {
    Work(u64),
    Lock(u32),
    End,
}

struct Thread {
    at: usize,
    slots: Vec<f64>,
    left_ns: u64,
}

struct Threads<'a> {
    region: &'a Region,
    context: &'a Context<'a>,
    place: &'a RegionProcessors,
    threads: Vec<Thread>,
    idle: u32,
    ready: VecDeque<usize>,
    /// End of a time slice, number of the slice, thread, length of the slice.
    running: BinaryHeap<Reverse<(u64, u64, usize, u64)>>,
    time_slices: u64,
    /// Owner of each lock and the threads that wait for it.
    locks: Vec<(Option<usize>, VecDeque<usize>)>,
    ended: usize,
    elements: BTreeMap<u32, (u32, u64)>,
}

/// Runs a region for a process, with a copy of its variables for each thread.
pub(crate) fn run(
    region: &Region,
    context: &Context<'_>,
    place: &RegionProcessors,
) -> Result<RegionOutcome, RegionError> {
    let thread = || Thread {
        at: 0,
        slots: context.slots.to_vec(),
        left_ns: 0,
    };
    let mut threads = Threads {
        region,
        context,
        place,
        threads: (0..place.threads).map(|_| thread()).collect(),
        idle: place.processors,
        ready: (0..place.threads as usize).collect(),
        running: BinaryHeap::new(),
        time_slices: 0,
        locks: (0..place.locks).map(|_| (None, VecDeque::new())).collect(),
        ended: 0,
        elements: BTreeMap::new(),
    };
    let mut now = 0;
    threads.dispatch(now)?;
    while let Some(Reverse((at, _, thread, time_slice_ns))) = threads.running.pop() {
        now = at;
        threads.idle += 1;
        threads.threads[thread].left_ns -= time_slice_ns;
        threads.end_time_slice(thread, now)?;
        threads.dispatch(now)?;
    }
    if threads.ended < threads.threads.len() {
        return Err(RegionError::Locked);
    }
    let elements = threads.elements.iter().map(|(e, (c, t))| (*e, *c, *t));
    Ok(RegionOutcome {
        elapsed_ns: now,
        elements: elements.collect(),
    })
}

impl Threads<'_> {
    /// Gives idle processors to the threads that wait for one.
    fn dispatch(&mut self, now: u64) -> Result<(), RegionError> {
        while self.idle > 0 {
            let Some(thread) = self.ready.pop_front() else {
                break;
            };
            self.proceed(thread, now)?;
        }
        Ok(())
    }

    /// A thread's time slice is over: with round-robin scheduling others come first.
    fn end_time_slice(&mut self, thread: usize, now: u64) -> Result<(), RegionError> {
        if self.threads[thread].left_ns > 0 && !self.ready.is_empty() {
            self.ready.push_back(thread);
            return Ok(());
        }
        self.proceed(thread, now)
    }

    /// Lets a thread with an idle processor continue until it has work, waits, or ends.
    fn proceed(&mut self, thread: usize, now: u64) -> Result<(), RegionError> {
        loop {
            if self.threads[thread].left_ns == 0 {
                match self.step(thread, now)? {
                    Next::Work(time_ns) => self.threads[thread].left_ns = time_ns,
                    Next::Lock(lock) => {
                        let (holder, waiting) = &mut self.locks[lock as usize];
                        if holder.is_some() {
                            waiting.push_back(thread);
                            return Ok(());
                        }
                        *holder = Some(thread);
                    }
                    Next::End => {
                        self.ended += 1;
                        return Ok(());
                    }
                }
                if self.threads[thread].left_ns == 0 {
                    continue;
                }
            }
            let left = self.threads[thread].left_ns;
            let time_slice = match self.place.queue {
                Queue::Fcfs => left,
                Queue::RoundRobin { quantum_ns } => left.min(quantum_ns),
            };
            self.idle -= 1;
            self.time_slices += 1;
            let time_slice = (now + time_slice, self.time_slices, thread, time_slice);
            self.running.push(Reverse(time_slice));
            return Ok(());
        }
    }

    /// Runs a thread's steps up to one that takes time or a lock, or the end.
    fn step(&mut self, thread: usize, now: u64) -> Result<Next, RegionError> {
        for _ in 0..MAX_TIMELESS_STEPS {
            let one = &mut self.threads[thread];
            let context = Context {
                slots: &one.slots,
                thread: thread as f64,
                threads: f64::from(self.place.threads),
                ..*self.context
            };
            let at = one.at;
            one.at += 1;
            match &self.region.operations[at] {
                Operation::Compute { cost, element } => {
                    let cost = cost.evaluate(&context);
                    if !(0.0..=MAX_COST_S).contains(&cost) {
                        let expected = "0 to 3.2e8 seconds";
                        return Err(RegionError::Value(*element, "its cost", cost, expected));
                    }
                    let time_ns = (cost * 1e9).round() as u64;
                    let counted = self.elements.entry(*element).or_default();
                    counted.0 += 1;
                    counted.1 += time_ns;
                    return Ok(Next::Work(time_ns));
                }
                Operation::Assign { slot, value } => {
                    let value = value.evaluate(&context);
                    one.slots[*slot as usize] = value;
                }
                Operation::Jump { target } => one.at = *target as usize,
                Operation::JumpUnless { condition, target } => {
                    if !condition.is_true(&context) {
                        one.at = *target as usize;
                    }
                }
                Operation::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                    element,
                } => {
                    let count = count.evaluate(&context);
                    let Some(rounds) = rounds_of(count) else {
                        return Err(RegionError::Value(*element, "its count", count, ROUNDS));
                    };
                    one.slots[*counter as usize] = 0.0;
                    one.slots[*limit as usize] = rounds;
                    if rounds == 0.0 {
                        one.at = *exit as usize;
                    }
                }
                Operation::LoopNext {
                    counter,
                    limit,
                    start,
                } => {
                    one.slots[*counter as usize] += 1.0;
                    if one.slots[*counter as usize] < one.slots[*limit as usize] {
                        one.at = *start as usize;
                    }
                }
                Operation::Lock { lock } => return Ok(Next::Lock(*lock)),
                Operation::Unlock { lock } => {
                    let (holder, waiting) = &mut self.locks[*lock as usize];
                    *holder = waiting.pop_front();
                    self.ready.extend(*holder);
                }
                Operation::NoBranch { element } => return Err(RegionError::NoBranch(*element)),
                // Messages and regions are refused inside of one.
                _ => return Ok(Next::End),
            }
        }
        Err(RegionError::Endless(now, MAX_TIMELESS_STEPS))
    }
}
