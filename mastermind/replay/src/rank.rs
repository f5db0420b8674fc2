//! The calls of a rank as operations that wait for each other.
//!
//! A schedule has no calls, only operations that compute, send or receive, and waits between them.
//! This file turns the calls of each thread into such operations. `Thread::after` is the heart of
//! it: the operations that the thread's next operation waits for. A blocking call puts its own end
//! there. A nonblocking one puts only its begin there and is remembered by its request, until a
//! call that completes the request puts its end there.
//!
//! ```text
//! Isend r1      node 1                      after = [begin of 1]
//! compute       node 2 waits begin of 1     after = [end of 2]
//! Wait r1                                   after = [end of 2, end of 1]
//! compute       node 3 waits 2 and 1
//! ```
//!
//! Records do not contain the sender of a receive from any rank; the call that completed its
//! request does, so all completions are read first (`Resolved`). A nonblocking collective runs
//! independently of the thread: its operations wait for what was before it, and the thread goes on
//! from there.

use std::collections::{BTreeMap, HashMap};

use super::RecordedRank;
use super::call::{Action, Progress, RecordedCall, action, ends};
use super::collectives::{Expansions, Groups, Step};

/// Longest computation between two polls that belongs to waiting, nanoseconds: a program that polls does little else.
pub const POLL_GAP_NS: u64 = 1000;

/// The action of an operation of a schedule: computation, or one side of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    /// Computes, nanoseconds; with 0 it only combines its waits.
    Compute(u64),
    /// Sends.
    Send(Message),
    /// Receives.
    Receive(Message),
}

/// A message of the program or of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// The other rank; `None` for a receive from any rank whose message never came.
    pub(super) peer: Option<u32>,
    pub(super) bytes: u64,
    pub(super) space: Space,
    /// `None` in a message of the program means any tag.
    pub(super) tag: Option<u32>,
}

/// Messages among which the tag identifies a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Space {
    /// The program's own, by communicator.
    Program(u32),
    /// Messages of a collective: group, and index of the call.
    Collective(u32, u32),
}

/// An operation that another one waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) on: u32,
    /// For its begin only.
    pub(super) begins: bool,
}

/// An operation, and its waits: a range of [`RankSchedule::waits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) task: Task,
    pub(super) cpu: u8,
    pub(super) waits: (u32, u32),
}

/// The operations of a rank, in the order of its calls, with the waits of all of them in one list.
#[derive(Debug, Default)]
pub(super) struct RankSchedule {
    pub(super) nodes: Vec<Node>,
    pub(super) waits: Vec<Wait>,
}

/// Information about a rank's receives from any rank that only its later calls contain: the source of a
/// request's message.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    sources: HashMap<u64, u32>,
}

impl Resolved {
    /// By rank.
    pub(super) fn of(ranks: &[RecordedRank]) -> Vec<Self> {
        let of_rank = |rank: &RecordedRank| {
            let calls = rank.threads.iter().flatten();
            let single = calls.filter(|call| {
                matches!(
                    action(&call.function),
                    Action::Completes | Action::Completed
                ) && call.requests == 1
            });
            let sources = single.filter_map(|call| Some((call.request?, call.world_peer?)));
            Self {
                sources: sources.collect(),
            }
        };
        ranks.iter().map(of_rank).collect()
    }
}

/// Numbers of a rank's communicators as all ranks know them.
pub(super) struct Spaces(BTreeMap<i64, u32>);

impl Spaces {
    /// The order of first use by the rank distinguishes communicators of one group.
    pub(super) fn of(rank: &RecordedRank) -> Self {
        let mut of_group = BTreeMap::<&[u32], u32>::new();
        let numbers = rank.communicators.iter().map(|(number, group)| {
            let nth = of_group.entry(group).or_default();
            *nth += 1;
            (*number, *nth - 1)
        });
        Self(numbers.collect())
    }

    /// The number for a call.
    pub(super) fn number(&self, call: &RecordedCall) -> u32 {
        let number = call.communicator.unwrap_or(-1);
        self.0.get(&number).copied().unwrap_or(0)
    }
}

/// A rank's calls becoming operations.
struct Builder<'a> {
    recorded: &'a RecordedRank,
    resolved: &'a Resolved,
    groups: &'a Groups,
    expansions: &'a mut Expansions,
    spaces: Spaces,
    schedule: RankSchedule,
    /// The operation that completes each request.
    requests: HashMap<u64, u32>,
    /// Calls of each group so far.
    called: HashMap<u32, u32>,
    rank: u32,
    /// Operations of a collective in progress until its next wait.
    internal: Vec<u32>,
}

/// Where a thread is.
struct Thread {
    cpu: u8,
    /// Waits of its next operation.
    after: Vec<Wait>,
    progress: Progress,
    /// Waits of the latest exchange.
    before_exchange: Vec<Wait>,
}

impl RankSchedule {
    pub(super) fn of(
        (rank, recorded): (u32, &RecordedRank),
        resolved: &Resolved,
        groups: &Groups,
        expansions: &mut Expansions,
    ) -> Self {
        let mut builder = Builder {
            recorded,
            resolved,
            groups,
            expansions,
            spaces: Spaces::of(recorded),
            schedule: Self::default(),
            requests: HashMap::new(),
            called: HashMap::new(),
            rank,
            internal: Vec::new(),
        };
        let n_threads = recorded.threads.len().min(usize::from(u8::MAX));
        let mut threads: Vec<_> = (0..n_threads.max(1))
            .map(|cpu| Thread {
                cpu: cpu as u8,
                after: Vec::new(),
                progress: Progress::new(recorded.span_ns.0),
                before_exchange: Vec::new(),
            })
            .collect();
        for (thread, call) in in_order(recorded) {
            let last = threads.len() - 1;
            builder.call(&mut threads[thread.min(last)], call);
        }
        for thread in &mut threads {
            thread.progress.come_to_end(recorded.span_ns.1);
            builder.compute(thread);
        }
        builder.schedule
    }

    fn push(&mut self, task: Task, cpu: u8, waits: &[Wait]) -> u32 {
        let begin = self.waits.len() as u32;
        self.waits.extend_from_slice(waits);
        let waits = (begin, self.waits.len() as u32);
        self.nodes.push(Node { task, cpu, waits });
        self.nodes.len() as u32 - 1
    }
}

/// The calls of a rank with their threads, in the order of their starts, which is that in which receives are posted.
fn in_order(rank: &RecordedRank) -> Vec<(usize, &RecordedCall)> {
    let mut all = Vec::new();
    for (thread, calls) in rank.threads.iter().enumerate() {
        all.extend(calls.iter().map(|call| (thread, call)));
    }
    if rank.threads.len() > 1 {
        all.sort_by_key(|(_, call)| call.start_ns);
    }
    all
}

impl Thread {
    /// Its next operation waits for the end of this one, or only for its begin.
    fn go_on(&mut self, on: u32, begins: bool) {
        self.after.clear();
        self.after.push(Wait { on, begins });
    }
}

impl Builder<'_> {
    fn call(&mut self, thread: &mut Thread, call: &RecordedCall) {
        let action = action(&call.function);
        match action {
            // The time of these calls is computation: the next one begins when they have ended.
            Action::Local | Action::Unknown => {
                thread.progress.compute_through(call);
                return;
            }
            Action::StartOrEnd => {
                // The span is between them.
                if ends(call) {
                    thread.progress.come_to(call);
                }
                return;
            }
            // Parts of a call that has ended.
            Action::Exchanged | Action::Completed => {}
            _ => {
                thread.progress.come_to(call);
                self.compute(thread);
            }
        }
        let is_test = action == Action::Completes && call.function.contains("Test");
        let polls = call.requests == 0 && (is_test || action == Action::Probe);
        match action {
            Action::Send { waits } => self.send(thread, call, waits),
            Action::Receive { waits } => self.receive(thread, call, waits),
            Action::Exchange => {
                // The record of the receive follows that of the call, which has changed `after` by
                // then.
                thread.before_exchange.clone_from(&thread.after);
                self.send(thread, call, true);
            }
            Action::Exchanged => self.exchanged(thread, call),
            Action::Completes | Action::Completed => self.complete(thread, call),
            Action::Collective { waits, .. } => self.collective(thread, call, waits),
            Action::StartOrEnd | Action::Probe | Action::Local | Action::Unknown => {}
        }
        thread.progress.go_on_after(call, polls);
    }

    /// Computation since the latest communication.
    fn compute(&mut self, thread: &mut Thread) {
        let computed_ns = thread.progress.take_computed_ns();
        if computed_ns > 0 {
            self.push(thread, Task::Compute(computed_ns), false);
        }
    }

    fn push(&mut self, thread: &mut Thread, task: Task, begins: bool) -> u32 {
        let node = self.schedule.push(task, thread.cpu, &thread.after);
        thread.go_on(node, begins);
        node
    }

    /// The message of a call to or from one rank; `None` for none.
    fn message(&self, call: &RecordedCall) -> Option<Message> {
        let resolved = || self.resolved.sources.get(&call.request?).copied();
        let peer = call.world_peer.or_else(resolved);
        let message = Message {
            peer,
            bytes: call.bytes.max(1),
            space: Space::Program(self.spaces.number(call)),
            tag: call.tag,
        };
        // A message to or from nobody moves nothing.
        (peer.is_some() || call.bytes > 0).then_some(message)
    }

    fn send(&mut self, thread: &mut Thread, call: &RecordedCall, waits: bool) {
        let Some(message) = self.message(call).filter(|message| message.peer.is_some()) else {
            return;
        };
        let node = self.push(thread, Task::Send(message), !waits);
        self.requests
            .extend(call.request.map(|request| (request, node)));
    }

    fn receive(&mut self, thread: &mut Thread, call: &RecordedCall, waits: bool) {
        let Some(message) = self.message(call) else {
            return;
        };
        let node = self.push(thread, Task::Receive(message), !waits);
        self.requests
            .extend(call.request.map(|request| (request, node)));
    }

    /// The receive of an exchange is posted before its send, and both have ended when the call has.
    fn exchanged(&mut self, thread: &mut Thread, call: &RecordedCall) {
        let Some(message) = self.message(call).filter(|message| message.peer.is_some()) else {
            return;
        };
        let task = Task::Receive(message);
        let node = self
            .schedule
            .push(task, thread.cpu, &thread.before_exchange);
        thread.after.push(Wait {
            on: node,
            begins: false,
        });
    }

    fn complete(&mut self, thread: &mut Thread, call: &RecordedCall) {
        let Some(first) = call.request else { return };
        let range = first..first.saturating_add(call.requests);
        // A damaged record may claim any number.
        let completed: Vec<u64> = if call.requests <= self.requests.len() as u64 {
            range.collect()
        } else {
            let mut known: Vec<u64> = self.requests.keys().copied().collect();
            known.retain(|request| range.contains(request));
            known.sort_unstable();
            known
        };
        for request in completed {
            if let Some(on) = self.requests.remove(&request) {
                thread.after.retain(|wait| wait.on != on);
                thread.after.push(Wait { on, begins: false });
            }
        }
    }

    fn collective(&mut self, thread: &mut Thread, call: &RecordedCall, waits: bool) {
        let group = call
            .communicator
            .and_then(|number| self.recorded.communicators.get(&number));
        let Some(members) = group else { return };
        let Some(group) = self.groups.find(members) else {
            return;
        };
        let called = self.called.entry(group).or_default();
        let nth = *called;
        *called += 1;
        let space = Space::Collective(group, nth);
        let Some(group_call) = self.groups.call(group, nth) else {
            return;
        };
        let Some(own) = members.iter().position(|member| *member == self.rank) else {
            return;
        };
        let before = thread.after.clone();
        let steps = self.expansions.of(group_call);
        for step in steps.get(own).map_or(&[][..], Vec::as_slice) {
            self.step(thread, *step, (members, space));
        }
        if !waits {
            // An operation that takes no time, as the one completion of the whole collective.
            let last = self.push(thread, Task::Compute(0), false);
            self.requests
                .extend(call.request.map(|request| (request, last)));
            // The calls that follow wait only for operations before it.
            thread.after = before;
        }
    }

    fn step(&mut self, thread: &mut Thread, step: Step, (members, space): (&[u32], Space)) {
        let message = |rank: u32, bytes| Message {
            peer: members.get(rank as usize).copied(),
            bytes,
            space,
            tag: Some(0),
        };
        match step {
            Step::Send { to, bytes, waits } => {
                let node = self.push(thread, Task::Send(message(to, bytes)), !waits);
                self.internal.extend((!waits).then_some(node));
            }
            Step::Receive { from, waits } => {
                let node = self.push(thread, Task::Receive(message(from, 1)), !waits);
                self.internal.extend((!waits).then_some(node));
            }
            Step::Wait => {
                for on in self.internal.drain(..) {
                    thread.after.retain(|wait| wait.on != on);
                    thread.after.push(Wait { on, begins: false });
                }
            }
        }
    }
}
