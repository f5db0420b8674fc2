//! The send of each receive, as MPI matched them: in the order of the sends, of those with the tag, or any.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::call::counted;
use super::rank::{RankSchedule, Space, Task};

/// Unreceived messages from one rank to another in one communicator.
#[derive(Debug, Default)]
struct UnreceivedMessages {
    /// By tag: which message of these it is, and its operation.
    by_tag: BTreeMap<Option<u32>, VecDeque<(u32, u32)>>,
    n: u32,
}

impl UnreceivedMessages {
    fn push(&mut self, tag: Option<u32>, node: u32) {
        self.by_tag
            .entry(tag)
            .or_default()
            .push_back((self.n, node));
        self.n += 1;
    }

    /// The first message that a receive of this tag, or of any, gets: its tag and operation.
    fn take(&mut self, tag: Option<u32>) -> Option<(Option<u32>, u32)> {
        let first =
            |(tag, queue): (&Option<u32>, &VecDeque<(u32, u32)>)| Some((queue.front()?.0, *tag));
        let tag = match tag {
            Some(_) => tag,
            None => self.by_tag.iter().filter_map(first).min()?.1,
        };
        let (_, node) = self.by_tag.get_mut(&tag)?.pop_front()?;
        Some((tag, node))
    }
}

/// Gives each receive the tag of its message; an operation without a counterpart becomes a computation of no time,
/// and is a note.
///
/// # Returns
/// The messages of the program's own.
pub(super) fn match_all(schedules: &mut [RankSchedule], notes: &mut Vec<String>) -> u64 {
    let mut sent = HashMap::<(u32, u32, Space), UnreceivedMessages>::new();
    for (rank, schedule) in schedules.iter().enumerate() {
        for (node, message) in own(schedule, |task| matches!(task, Task::Send(_))) {
            if let (Some(to), tag, space) = message {
                sent.entry((rank as u32, to, space))
                    .or_default()
                    .push(tag, node);
            }
        }
    }
    let mut messages = 0;
    let mut unmatched = Unmatched::new();
    for (rank, schedule) in schedules.iter_mut().enumerate() {
        let receives: Vec<_> = own(schedule, |task| matches!(task, Task::Receive(_))).collect();
        for (node, (from, tag, space)) in receives {
            let sent = from.and_then(|from| sent.get_mut(&(from, rank as u32, space)));
            let task = &mut schedule.nodes[node as usize].task;
            match (sent.and_then(|sent| sent.take(tag)), task) {
                (Some((tag, _)), Task::Receive(message)) => {
                    message.tag = tag;
                    messages += 1;
                }
                (_, task) => {
                    *task = Task::Compute(0);
                    let from = from.map_or("any rank".into(), |from| format!("rank {from}"));
                    let pair = format!("of rank {rank} from {from} without a message");
                    *unmatched.entry(("receive", pair)).or_default() += 1;
                }
            }
        }
    }
    for ((from, to, _), sent) in sent {
        for (_, node) in sent.by_tag.into_values().flatten() {
            schedules[from as usize].nodes[node as usize].task = Task::Compute(0);
            let pair = format!("from rank {from} to rank {to} that nobody received");
            *unmatched.entry(("message", pair)).or_default() += 1;
        }
    }
    note_unmatched(unmatched, notes);
    messages
}

/// The sends or receives of a rank that are the program's own: operation, other rank, tag and communicator.
fn own(
    schedule: &RankSchedule,
    is_meant: impl Fn(&Task) -> bool,
) -> impl Iterator<Item = (u32, (Option<u32>, Option<u32>, Space))> {
    let nodes = schedule.nodes.iter().enumerate();
    nodes.filter_map(move |(at, node)| match &node.task {
        Task::Send(message) | Task::Receive(message)
            if is_meant(&node.task) && matches!(message.space, Space::Program(_)) =>
        {
            Some((at as u32, (message.peer, message.tag, message.space)))
        }
        _ => None,
    })
}

/// How many receives or messages of a pair of ranks have no counterpart.
type Unmatched = BTreeMap<(&'static str, String), u64>;

/// Pairs of ranks with the most of them by name, the others together.
fn note_unmatched(unmatched: Unmatched, notes: &mut Vec<String>) {
    const MAX_NAMED: usize = 5;
    let mut rows: Vec<_> = unmatched.into_iter().collect();
    rows.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let rest: u64 = rows.iter().skip(MAX_NAMED).map(|(_, n)| n).sum();
    for ((what, pair), n) in rows.iter().take(MAX_NAMED) {
        notes.push(format!(
            "left out: {} {pair}",
            counted(*n, what, &format!("{what}s"))
        ));
    }
    if rest > 0 {
        notes.push(format!(
            "left out: {rest} more messages and receives of other pairs of ranks"
        ));
    }
}
