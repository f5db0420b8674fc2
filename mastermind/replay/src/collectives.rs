//! Collectives: which calls belong together, and the messages that they are made of.
//!
//! A record of a collective says what one rank did in one call. A replay needs the whole: the calls
//! of all ranks that form one collective, and the messages that it consists of. MPI guarantees that
//! all ranks of a communicator call its collectives in one order, so the nth calls of equal groups
//! belong together; no time is compared.
//!
//! ```text
//! rank 0:  Bcast(root 0)   Allreduce        group {0, 1, 2}, call 0: Bcast, root 0
//! rank 1:  Bcast(root 0)   Allreduce   ─▶                    call 1: Allreduce, mean bytes
//! rank 2:  Bcast(root 0)   Allreduce
//! ```
//!
//! The messages come from the same definitions as those of a program model. A model with this one
//! collective is lowered and run for each rank without a clock, which is possible because no
//! algorithm decides anything by a message (`expanded`). Equal calls share their steps.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::call::{Action, RecordedCall, action, counted};
use super::{MAX_COLLECTIVE_BYTES, RecordedRank, ReplayError};
use mastermind_models::ModelSet;
use mastermind_programs::expression::{Context, Expression};
use mastermind_programs::{
    Activity, Collective, CollectiveKind, Collectives, Element, ElementKind, Mode, Model, NOBODY,
    Operation, System, lower_with,
};

/// A collective call of a group, the calls of all its ranks taken together; the key of its
/// messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GroupCall {
    pub(super) kind: CollectiveKind,
    /// In the numbers of the group; 0 without a root.
    pub(super) root: u32,
    /// In the form of [`Collective`]: of the whole, or of one process's part.
    pub(super) bytes: u64,
    /// Ranks of the group.
    pub(super) ranks: u32,
}

/// The groups of the communicators that collectives of a run are called in.
#[derive(Debug, Default)]
pub(super) struct Groups {
    ids: HashMap<Vec<u32>, u32>,
    /// By group: its calls.
    calls: Vec<Vec<GroupCall>>,
    n_calls: u64,
}

/// A collective call of a rank.
struct RankCall<'a> {
    call: &'a RecordedCall,
    kind: CollectiveKind,
}

impl Groups {
    /// Matches the calls of all ranks: those of equal groups in the order in which each rank made them.
    ///
    /// # Errors
    /// [`ReplayError::Collective`].
    pub(super) fn of(ranks: &[RecordedRank], notes: &mut Vec<String>) -> Result<Self, ReplayError> {
        let mut groups = Self::default();
        let mut members = Vec::<Vec<u32>>::new();
        let mut calls = Vec::<BTreeMap<u32, Vec<RankCall<'_>>>>::new();
        let mut nowhere = 0;
        for (rank, recorded) in ranks.iter().enumerate() {
            for call in in_order(recorded) {
                let Action::Collective { kind, .. } = action(&call.function) else {
                    continue;
                };
                let group = call
                    .communicator
                    .and_then(|number| recorded.communicators.get(&number));
                let Some(group) = group else {
                    nowhere += 1;
                    continue;
                };
                let id = groups.id_of(group);
                if id as usize == members.len() {
                    members.push(group.clone());
                    calls.push(BTreeMap::new());
                }
                let of_rank = calls[id as usize].entry(rank as u32).or_default();
                of_rank.push(RankCall { call, kind });
                groups.n_calls += 1;
            }
        }
        if nowhere > 0 {
            notes.push(format!(
                "left out: {} whose communicator joins two groups, or is not in the records",
                counted(nowhere, "collective call", "collective calls")
            ));
        }
        for (members, calls) in members.iter().zip(&calls) {
            let group_calls = calls_of_group(members, calls, notes)?;
            groups.calls.push(group_calls);
        }
        Ok(groups)
    }

    fn id_of(&mut self, members: &[u32]) -> u32 {
        let next = self.ids.len() as u32;
        match self.ids.get(members) {
            Some(id) => *id,
            None => *self.ids.entry(members.to_vec()).or_insert(next),
        }
    }

    /// Number of a group in which a collective was called.
    pub(super) fn find(&self, members: &[u32]) -> Option<u32> {
        self.ids.get(members).copied()
    }

    /// The nth call of a group; `None` where not all of its ranks have a record of it.
    pub(super) fn call(&self, group: u32, nth: u32) -> Option<GroupCall> {
        self.calls.get(group as usize)?.get(nth as usize).copied()
    }

    /// Calls of collectives over all ranks.
    pub(super) fn n_calls(&self) -> u64 {
        self.n_calls
    }
}

/// The calls of a rank over its threads, in the order of their starts.
pub(super) fn in_order(rank: &RecordedRank) -> Vec<&RecordedCall> {
    let mut calls: Vec<_> = rank.threads.iter().flatten().collect();
    if rank.threads.len() > 1 {
        calls.sort_by_key(|call| call.start_ns);
    }
    calls
}

/// The calls of a group as one list.
fn calls_of_group(
    members: &[u32],
    calls: &BTreeMap<u32, Vec<RankCall<'_>>>,
    notes: &mut Vec<String>,
) -> Result<Vec<GroupCall>, ReplayError> {
    let n_of = |rank: &u32| calls.get(rank).map_or(0, Vec::len);
    // The ranks of a killed run may have come to different places; the calls that all have are
    // replayed.
    let shared = members.iter().map(n_of).min().unwrap_or(0);
    let left_out: usize = members.iter().map(|rank| n_of(rank) - shared).sum();
    if left_out > 0 {
        notes.push(format!(
            "left out: {} of the communicator with ranks {}, since not each of these has as many",
            counted(left_out as u64, "collective call", "collective calls"),
            listed(members)
        ));
    }
    let mut of_group = Vec::with_capacity(shared);
    for nth in 0..shared {
        let of_rank = |rank: &u32| calls.get(rank).and_then(|calls| calls.get(nth));
        let Some((first, begun)) = members
            .first()
            .and_then(|rank| Some((*rank, of_rank(rank)?)))
        else {
            break;
        };
        let mut bytes = 0;
        for rank in members {
            let Some(own) = of_rank(rank) else { continue };
            if own.kind != begun.kind || own.call.peer != begun.call.peer {
                return Err(ReplayError::Collective {
                    number: nth + 1,
                    members: listed(members),
                    rank: *rank,
                    found: signature(own),
                    expected: signature(begun),
                    first,
                });
            }
            // Ranks may contribute different sizes (`MPI_Gatherv`): each gets the mean.
            bytes = own.call.bytes.saturating_add(bytes);
        }
        let n = members.len() as u64;
        // Their records contain the bytes of all parts.
        let parts = match begun.kind {
            CollectiveKind::AllToAll | CollectiveKind::ReduceScatter => n * n,
            _ => n,
        };
        let bytes = bytes / parts.max(1);
        if bytes > MAX_COLLECTIVE_BYTES {
            return Err(ReplayError::TooLarge { bytes });
        }
        of_group.push(GroupCall {
            kind: begun.kind,
            root: begun.call.peer.unwrap_or(0),
            bytes,
            ranks: n as u32,
        });
    }
    Ok(of_group)
}

fn signature(call: &RankCall<'_>) -> String {
    match call.call.peer {
        Some(root) => format!("{} with root {root}", call.call.function),
        None => call.call.function.to_string(),
    }
}

/// Ranks in a text: all of few, else the first ones.
pub(super) fn listed(ranks: &[u32]) -> String {
    const MAX_LISTED: usize = 8;
    let few: Vec<_> = ranks.iter().take(MAX_LISTED).map(u32::to_string).collect();
    match ranks.len() {
        n if n > MAX_LISTED => format!("{}, … ({n})", few.join(", ")),
        _ => few.join(", "),
    }
}

/// A step of one rank of a group in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Sends to a rank of the group, and waits for the end or not.
    Send { to: u32, bytes: u64, waits: bool },
    /// Receives from one.
    Receive { from: u32, waits: bool },
    /// Waits for operations that it did not wait for.
    Wait,
}

/// By rank of the group, its steps.
type Steps = Rc<Vec<Vec<Step>>>;

/// The messages that collectives are made of, each made once.
pub(super) struct Expansions {
    library: Collectives,
    known: HashMap<GroupCall, Steps>,
}

impl Expansions {
    pub(super) fn new(library: Collectives) -> Self {
        let known = HashMap::new();
        Self { library, known }
    }

    /// Steps of each rank of the group in a call; none in a group of one.
    pub(super) fn of(&mut self, call: GroupCall) -> Steps {
        let library = self.library;
        let made = self.known.entry(call);
        Rc::clone(made.or_insert_with(|| Rc::new(expanded(call, library))))
    }
}

/// Runs a program of this one collective, rank by rank: which messages there are no message decides.
fn expanded(call: GroupCall, library: Collectives) -> Vec<Vec<Step>> {
    let number = |value: u64| Expression::Number(value as f64);
    let collective = Collective {
        kind: call.kind,
        root: number(call.root.into()),
        bytes: number(call.bytes.max(1)),
        group: None,
    };
    let element = Element {
        name: call.kind.name().to_owned(),
        kind: ElementKind::Collective(collective),
    };
    let activity = Activity {
        locals: Vec::new(),
        flow: vec![element],
    };
    let model = Model {
        name: String::new(),
        main: "Main".to_owned(),
        ranks: None,
        globals: Vec::new(),
        functions: BTreeMap::new(),
        activities: BTreeMap::from([("Main".to_owned(), activity)]),
    };
    let system = System {
        processes: call.ranks,
        nodes: 1,
        processors: call.ranks,
    };
    let lowered = lower_with(&model, &ModelSet::default(), system, library, 0);
    let steps = |rank| match &lowered {
        Ok(program) => steps_of(&program.operations, program.slots as usize, rank),
        Err(_) => Vec::new(),
    };
    (0..call.ranks).map(steps).collect()
}

/// Steps of a rank that runs these operations.
fn steps_of(operations: &[Operation], n_slots: usize, rank: u32) -> Vec<Step> {
    let mut slots = vec![0.0; n_slots];
    let mut steps = Vec::new();
    let mut at = 0;
    while let Some(operation) = operations.get(at) {
        at += 1;
        let context = Context {
            slots: &slots,
            process: f64::from(rank),
            thread: 0.0,
            threads: 1.0,
            node: 0.0,
        };
        let partner = |value: f64| (value != NOBODY).then_some(value as u32);
        match operation {
            Operation::Assign { slot, value } => {
                let value = value.evaluate(&context);
                slots[*slot as usize] = value;
            }
            Operation::Jump { target } => at = *target as usize,
            Operation::JumpUnless { condition, target } if !condition.is_true(&context) => {
                at = *target as usize;
            }
            Operation::Send {
                to, bytes, mode, ..
            } => {
                let bytes = bytes.evaluate(&context).round().max(1.0) as u64;
                let waits = *mode == Mode::Blocking;
                let to = partner(to.evaluate(&context));
                steps.extend(to.map(|to| Step::Send { to, bytes, waits }));
            }
            Operation::Receive { from, mode, .. } => {
                let waits = *mode == Mode::Blocking;
                let from = partner(from.evaluate(&context));
                steps.extend(from.map(|from| Step::Receive { from, waits }));
            }
            Operation::Wait { .. } => steps.push(Step::Wait),
            Operation::End => break,
            // A collective has no others.
            _ => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each message of a collective is sent and received once, whatever the algorithm.
    #[test]
    fn what_is_sent_is_received() {
        for (_, library) in Collectives::ALL {
            for (_, kind) in CollectiveKind::ALL {
                for (ranks, bytes) in [(1, 8), (2, 8), (5, 100_000), (8, 8), (13, 4_000_000)] {
                    let call = GroupCall {
                        kind,
                        root: ranks - 1,
                        bytes,
                        ranks,
                    };
                    let (mut sent, mut received) = (Vec::new(), Vec::new());
                    let steps = Expansions::new(library).of(call);
                    for (rank, steps) in steps.iter().enumerate() {
                        for step in steps {
                            match step {
                                Step::Send { to, .. } => sent.push((rank as u32, *to)),
                                Step::Receive { from, .. } => received.push((*from, rank as u32)),
                                Step::Wait => {}
                            }
                        }
                    }
                    sent.sort_unstable();
                    received.sort_unstable();
                    assert_eq!(sent, received, "{library:?} {call:?}");
                    assert_eq!(sent.is_empty(), ranks == 1, "{library:?} {call:?}");
                }
            }
        }
    }
}
