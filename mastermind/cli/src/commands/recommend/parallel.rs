//! Work and waiting of the ranks of a run, the run simulated again with messages that take no time, and messages that
//! could be merged.

use std::collections::BTreeMap;
use std::path::Path;

use mastermind_programs::Collectives;
use mastermind_programs::goal::{Kind, WaitOrder, read_goal_in};
use mastermind_recommend::{MessageFacts, ParallelFacts, RankFacts, ReplayFacts, WaitFacts};
use mastermind_records::definition::MPI_CLASS;
use mastermind_records::{Profile as Table, Run, RunInfo, starts_or_ends};
use mastermind_replay::{POLL_GAP_NS, RecordedCall, RecordedRank, replay};
use mastermind_simulation::engine::{Limits, Rules, ScheduleSlices, Slice, simulate_schedule_by};
use mastermind_simulation::machine::{Link, Machine};

use crate::recorded_run::{MAX_OWN_NS, RecordedRun};

/// Nanoseconds to seconds.
const NS: f64 = 1e-9;

/// A part of a rank's work counts as one that all wait for if others compute during at most this share of it.
const MAX_OVERLAP: f64 = 0.1;

/// Longest time between two calls in which a program does nothing that matters, nanoseconds: the cost of recording
/// them, and the longest computation between two polls of a waiting program.
const BETWEEN_NS: u64 = MAX_OWN_NS + POLL_GAP_NS;

/// Quantile of the times of calls that is treated as the time of a call that waited for nothing.
const QUICK: f64 = 0.25;

/// Facts of the ranks; `None` for a run of one rank or without MPI.
pub fn facts(run: &Run, records: &Path) -> Option<ParallelFacts> {
    let mut ranks = run.mpi_ranks();
    if ranks.is_empty() {
        ranks = run.assembly_mpi_ranks();
    }
    if ranks.len() < 2 {
        return None;
    }
    let times = run.processor_times();
    let table = Table::new(run, true);
    let extra = extra(&table, ranks.len());
    let info = RunInfo::of(run);
    let facts = ranks.iter().map(|rank| {
        let time = times.get(&rank.rank);
        let own_ns = rank.thread_ns().saturating_sub(rank.mpi_ns) / u64::from(rank.threads.max(1));
        RankFacts {
            rank: rank.rank,
            computing_s: own_ns as f64 * NS,
            mpi_s: rank.mpi_ns as f64 * NS,
            running_s: time.map(|time| time.running_ns as f64 * NS),
            waiting_s: time.map(|time| time.waiting_ns as f64 * NS),
            most_extra: extra.get(&rank.rank).cloned(),
        }
    });
    let recorded = has_events(run).then(|| RecordedRun::of(run, records));
    let recorded = recorded.and_then(|recorded| match recorded {
        Ok(recorded) => Some(recorded),
        Err(error) => {
            cannot_replay(&error);
            None
        }
    });
    let replay = recorded
        .as_ref()
        .and_then(|recorded| match replay_facts(&recorded.ranks) {
            Ok(facts) => Some(facts),
            Err(error) => {
                cannot_replay(&error);
                None
            }
        });
    Some(ParallelFacts {
        ranks: facts.collect(),
        processors: processors(&info),
        ranks_of_host: ranks.len().div_ceil(info.hosts.len().max(1)) as u32,
        replay,
        messages: recorded
            .as_ref()
            .and_then(|recorded| message_facts(&recorded.ranks)),
        waiting: waiting(run),
    })
}

/// Warns that the causes of losses cannot be distinguished.
fn cannot_replay(error: &anyhow::Error) {
    let lacking = "of uneven work, serial parts and turns only the first is looked for";
    crate::output::complain!("warning: {lacking}: {error:#}");
}

/// Whether calls of MPI were recorded one by one with their requests.
fn has_events(run: &Run) -> bool {
    let mut methods = run
        .logs()
        .iter()
        .flat_map(|log| log.definitions().methods());
    methods.any(|method| {
        method.class == MPI_CLASS
            && method
                .parameters
                .iter()
                .any(|parameter| parameter.name == "request")
    })
}

/// Processors that the ranks of a host may use. Ranks that a launcher has bound to one processor say nothing about the
/// host.
fn processors(info: &RunInfo) -> Option<u32> {
    let usable = info
        .circumstances
        .iter()
        .filter_map(|found| found.started.processors_usable);
    usable.max().filter(|usable| *usable > 1)
}

/// For each rank, the method with the largest excess of computation over the mean of the ranks.
fn extra(table: &Table, n_ranks: usize) -> BTreeMap<u32, (String, f64)> {
    let mut of_methods = BTreeMap::<&str, BTreeMap<u32, f64>>::new();
    for row in table.rows.iter().filter(|row| row.class != MPI_CLASS) {
        if let Some(rank) = row.rank {
            *of_methods
                .entry(&row.name)
                .or_default()
                .entry(rank)
                .or_default() += row.exclusive_ns * NS;
        }
    }
    let mut most = BTreeMap::<u32, (String, f64)>::new();
    for (name, of_ranks) in of_methods {
        let mean = of_ranks.values().sum::<f64>() / n_ranks as f64;
        for (rank, seconds) in of_ranks {
            let extra = seconds - mean;
            let known = most.get(&rank).map_or(0.0, |(_, known)| *known);
            if extra > known {
                most.insert(rank, (name.to_owned(), extra));
            }
        }
    }
    most
}

/// The calls that take longest on a rank; all calls of one function of MPI count together.
fn waiting(run: &Run) -> Option<WaitFacts> {
    let routines = run.ranks().into_iter().flat_map(|rank| {
        let routines = run.mpi_routines(rank).into_iter();
        routines.map(move |routine| (rank, routine))
    });
    let waiting = routines.filter(|(_, routine)| !starts_or_ends(&routine.name));
    let (rank, most) = waiting.max_by_key(|(_, routine)| routine.ns)?;
    Some(WaitFacts {
        call: most.name,
        seconds: most.ns as f64 * NS,
        rank,
    })
}

/// A machine on which messages take no time; large ones still wait for their receivers.
fn free_machine() -> Machine {
    let link = Link {
        latency_ns: 0,
        send_overhead_ns: 0,
        receive_overhead_ns: 0,
        gap_ns: 0,
        gap_per_byte_ns: 0.0,
        overhead_per_byte_ns: 0.0,
        ..Link::default()
    };
    Machine {
        intra: link,
        inter: link,
        ..Machine::default()
    }
}

/// The run with messages that take no time.
fn replay_facts(ranks: &[RecordedRank]) -> anyhow::Result<ReplayFacts> {
    let simulated = simulated(ranks)?;
    Ok(ReplayFacts {
        free_s: simulated.length_ns as f64 * NS,
        alone_s: simulated.alone_s(),
        computing_s: simulated.computing_s(),
    })
}

/// When each rank computes.
struct Simulated {
    length_ns: u64,
    /// For each rank, disjoint and in order: begin and end, nanoseconds.
    computing: Vec<Vec<(u64, u64)>>,
}

fn simulated(ranks: &[RecordedRank]) -> anyhow::Result<Simulated> {
    let machine = free_machine();
    let schedule = replay(ranks, Collectives::default())?.goal;
    let schedule = read_goal_in(&*schedule, schedule.len() as u64, WaitOrder::Operations)?;
    let mut computing = vec![Vec::new(); ranks.len()];
    let mut take = |slice: Slice| {
        if slice.element == Kind::Calc as u32
            && let Some(of_rank) = computing.get_mut(slice.process as usize)
        {
            of_rank.push((slice.begin_ns, slice.end_ns));
        }
    };
    let how = (Rules::Own, Limits::default());
    let slices = ScheduleSlices(Some(&mut take));
    let outcome = simulate_schedule_by(schedule, &machine, how, &mut |_| {}, slices)?;
    computing.iter_mut().for_each(make_disjoint);
    Ok(Simulated {
        length_ns: outcome.makespan_ns,
        computing,
    })
}

/// Makes spans disjoint and sorts them, since threads of a rank compute at the same time. Spans that only touch stay
/// apart: a message is between them.
fn make_disjoint(spans: &mut Vec<(u64, u64)>) {
    spans.sort_unstable();
    let mut kept: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
    for &(begin, end) in spans.iter() {
        match kept.last_mut() {
            Some(last) if begin < last.1 => last.1 = last.1.max(end),
            _ => kept.push((begin, end)),
        }
    }
    *spans = kept;
}

impl Simulated {
    fn computing_s(&self) -> Vec<f64> {
        let sum = |spans: &Vec<(u64, u64)>| {
            spans
                .iter()
                .map(|(begin, end)| (end - begin) as f64 * NS)
                .sum()
        };
        self.computing.iter().map(sum).collect()
    }

    /// Seconds of each rank's computation in spans during which others computed for less than [`MAX_OVERLAP`] of the
    /// span.
    fn alone_s(&self) -> Vec<f64> {
        let shared = self.shared();
        let is_alone = |span: &&(u64, u64)| {
            let overlap_ns = overlap_ns(**span, &shared);
            overlap_ns as f64 <= MAX_OVERLAP * (span.1 - span.0) as f64
        };
        let of_rank = |spans: &Vec<(u64, u64)>| {
            let alone = spans.iter().filter(is_alone);
            alone.map(|(begin, end)| (end - begin) as f64 * NS).sum()
        };
        self.computing.iter().map(of_rank).collect()
    }

    /// When two ranks or more compute: spans that are disjoint and in order.
    fn shared(&self) -> Vec<(u64, u64)> {
        let spans = self.computing.iter().flatten();
        let mut changes: Vec<(u64, i64)> = spans
            .flat_map(|&(begin, end)| [(begin, 1), (end, -1)])
            .collect();
        // Spans that touch do not overlap.
        changes.sort_unstable();
        let (mut shared, mut computing, mut since) = (Vec::new(), 0, 0);
        for (at, change) in changes {
            if computing >= 2 && at > since {
                shared.push((since, at));
            }
            computing += change;
            since = at;
        }
        make_disjoint(&mut shared);
        shared
    }
}

/// How much of a span lies in others, which are disjoint and in order.
fn overlap_ns((begin, end): (u64, u64), others: &[(u64, u64)]) -> u64 {
    let first = others.partition_point(|other| other.1 <= begin);
    let meeting = others[first..].iter().take_while(|other| other.0 < end);
    meeting
        .map(|other| other.1.min(end) - other.0.max(begin))
        .sum()
}

/// Messages to one rank in direct succession.
#[derive(Default)]
struct Merging {
    messages: u64,
    merged: u64,
    bytes: u64,
    /// For each rank, the times of the calls that merging would remove.
    saved_ns: Vec<Vec<u64>>,
    /// For each rank, its time waiting for requests.
    waited_ns: Vec<u64>,
}

fn message_facts(ranks: &[RecordedRank]) -> Option<MessageFacts> {
    let mut found = Merging {
        saved_ns: vec![Vec::new(); ranks.len()],
        waited_ns: vec![0; ranks.len()],
        ..Merging::default()
    };
    for (rank, recorded) in ranks.iter().enumerate() {
        for calls in &recorded.threads {
            found.thread(rank, calls);
        }
    }
    if found.merged == found.messages {
        return None;
    }
    let share = 1.0 - found.merged as f64 / found.messages as f64;
    let each = found
        .saved_ns
        .iter_mut()
        .zip(&found.waited_ns)
        .map(|(calls, waited)| {
            calls.sort_unstable();
            let quick = calls
                .get((QUICK * calls.len() as f64) as usize)
                .copied()
                .unwrap_or(0);
            let sum: u64 = calls.iter().sum();
            // The lower end assumes that each call took the time of a quick one; the upper end adds a share of the
            // waits for requests.
            [
                sum as f64,
                (quick * calls.len() as u64) as f64,
                sum as f64 + share * *waited as f64,
            ]
            .map(|ns| ns * NS)
        });
    let saved_s = each.max_by(|a, b| a[0].total_cmp(&b[0]))?;
    Some(MessageFacts {
        messages: found.messages,
        merged: found.merged,
        mean_bytes: found.bytes as f64 / found.messages as f64,
        saved_s,
    })
}

/// The direction of a call in a sequence of messages.
#[derive(PartialEq, Eq)]
enum Side {
    Send,
    Receive,
}

impl Merging {
    /// Adds the calls of a thread. A message continues the sequence of the one before it if it has the same direction
    /// and rank, and the thread did nothing in between that took longer than [`BETWEEN_NS`] and the call before it.
    fn thread(&mut self, rank: usize, calls: &[RecordedCall]) {
        let mut before: Option<(Side, Option<u32>, u64, u64)> = None;
        for call in calls {
            let name = call.function.strip_prefix("MPI_").unwrap_or(&call.function);
            let took_ns = call.end_ns.saturating_sub(call.start_ns);
            let side = match name {
                "Send" | "Ssend" | "Rsend" | "Bsend" | "Isend" | "Issend" | "Irsend" | "Ibsend" => {
                    Side::Send
                }
                "Recv" | "Irecv" => Side::Receive,
                _ => {
                    if name.starts_with("Wait") {
                        self.waited_ns[rank] += took_ns;
                    }
                    // A wait for messages, or a part of one, does not end a sequence.
                    if !(name.starts_with("Wait") || name == "Completed") {
                        before = None;
                    } else if let Some((_, _, end_ns, _)) = &mut before {
                        *end_ns = call.end_ns;
                    }
                    continue;
                }
            };
            let is_next = before.as_ref().is_some_and(|(known, peer, end_ns, took)| {
                *known == side
                    && *peer == call.world_peer
                    && call.start_ns.saturating_sub(*end_ns) <= BETWEEN_NS.max(*took)
            });
            if side == Side::Send {
                self.messages += 1;
                self.bytes += call.bytes;
                self.merged += u64::from(!is_next);
            }
            if is_next {
                self.saved_ns[rank].push(took_ns);
            }
            before = Some((side, call.world_peer, call.end_ns, took_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_alone_if_no_other_rank_computes_in_it() {
        let simulated = Simulated {
            length_ns: 100,
            computing: vec![
                vec![(0, 20), (30, 50), (60, 90)],
                vec![(30, 70)],
                vec![(89, 100)],
            ],
        };
        let alone: Vec<u64> = simulated
            .alone_s()
            .iter()
            .map(|s| (s / NS).round() as u64)
            .collect();
        // Rank 0: the first span; rank 2: its only span, a tenth of which overlaps with rank 0's.
        assert_eq!(alone, [20, 0, 11]);
    }

    #[test]
    fn spans_of_threads_are_made_disjoint() {
        let mut spans = vec![(5, 9), (0, 3), (2, 6), (9, 10), (20, 30)];
        make_disjoint(&mut spans);
        assert_eq!(spans, [(0, 9), (9, 10), (20, 30)]);
    }

    #[test]
    fn messages_to_one_rank_in_a_row_could_be_one() {
        let call = |function: &str, peer: u32, start_ns: u64, end_ns: u64| RecordedCall {
            function: function.into(),
            start_ns,
            end_ns,
            cpu_before_ns: None,
            bytes: 8,
            peer: Some(peer),
            world_peer: Some(peer),
            communicator: Some(0),
            tag: Some(0),
            request: None,
            requests: 0,
        };
        let calls = vec![
            call("MPI_Send", 1, 0, 10),
            call("MPI_Send", 1, 12, 22),
            call("MPI_Send", 1, 24, 34),
            // Something was computed.
            call("MPI_Send", 1, 10_000, 10_010),
            call("MPI_Send", 2, 10_011, 10_021),
            call("MPI_Recv", 1, 10_022, 10_030),
            call("MPI_Send", 2, 10_031, 10_041),
        ];
        let rank = RecordedRank {
            threads: vec![calls],
            ..RecordedRank::default()
        };
        let facts = message_facts(&[rank]).expect("some could be fewer");
        assert_eq!((facts.messages, facts.merged), (6, 4));
        assert!((facts.saved_s[0] - 20.0 * NS).abs() < 1e-15);
    }
}
