//! Uneven work, work of one rank that all wait for, and ranks that take turns.
//!
//! A replay with messages that take no time shows the loss of a run due to the distribution of its work over the ranks
//! and over time. With `T` its length and `C` the mean computation of the ranks, the loss is `T − C`, in three parts:
//!
//! ```text
//! serial part   work of a rank while all others wait, as far as it exceeds the mean:      min(alone (1 − 1/p), own − C)
//! uneven work   further excess of the rank that computes most over the mean:              max − C − serial part
//! the rest      waits of ranks for each other although they compute as much
//! ```
//!
//! Without a replay `max − C` represents the first two.
//!
//! # Source
//! M. Wagner et al., "A structured approach to performance analysis" (POP), 2018: load balance is `C / max`, serialisation `max / T`; G. M.
//! Amdahl 1967, by whom a serial part of `s` on `p` ranks costs `s (1 − 1/p)`.

use crate::facts::{Facts, ParallelFacts, RankFacts, ReplayFacts};
use crate::order::{Kind, Recommendation};
use crate::rules::seconds;
use crate::saving::Saving;

/// Work that is spread otherwise.
pub(super) fn divided(facts: &Facts) -> Vec<Recommendation> {
    let Some(parallel) = facts
        .parallel
        .as_ref()
        .filter(|parallel| parallel.ranks.len() > 1)
    else {
        return Vec::new();
    };
    match &parallel.replay {
        Some(replay) => by_replay(parallel, replay),
        None => by_sums(parallel).into_iter().collect(),
    }
}

fn by_replay(parallel: &ParallelFacts, replay: &ReplayFacts) -> Vec<Recommendation> {
    let n = replay.computing_s.len().max(1) as f64;
    let mean_s = replay.computing_s.iter().sum::<f64>() / n;
    let most_s = replay.computing_s.iter().copied().fold(0.0, f64::max);
    let serial_s = |(rank, alone_s): (usize, f64)| {
        let more_s = replay
            .computing_s
            .get(rank)
            .map_or(0.0, |own_s| own_s - mean_s);
        (
            rank,
            alone_s,
            (alone_s * (1.0 - 1.0 / n)).min(more_s).max(0.0),
        )
    };
    let serial_parts = replay.alone_s.iter().copied().enumerate().map(serial_s);
    let (rank, alone_s, serial_s) = serial_parts
        .max_by(|a, b| a.2.total_cmp(&b.2))
        .unwrap_or_default();
    let uneven_s = (most_s - mean_s - serial_s).max(0.0);
    let turns_s = (replay.free_s - mean_s - serial_s - uneven_s).max(0.0);
    let mut found = Vec::new();
    if serial_s > 0.0 {
        found.push(serial(parallel, (rank, alone_s), serial_s));
    }
    found.extend(uneven(parallel, &replay.computing_s, uneven_s));
    if turns_s > 0.0 {
        found.push(in_turns(parallel, turns_s));
    }
    found
}

fn by_sums(parallel: &ParallelFacts) -> Option<Recommendation> {
    let computing: Vec<f64> = parallel.ranks.iter().map(|rank| rank.computing_s).collect();
    let mean_s = computing.iter().sum::<f64>() / computing.len() as f64;
    let most_s = computing.iter().copied().fold(0.0, f64::max);
    let mut found = uneven(parallel, &computing, most_s - mean_s)?;
    found.evidence.push("which of it is a serial part, and where ranks go in turns, is known of a run with --mpi-events".into());
    Some(found)
}

/// That one rank has more to do.
fn uneven(parallel: &ParallelFacts, computing_s: &[f64], loss_s: f64) -> Option<Recommendation> {
    let most = computing_s.iter().copied().enumerate();
    let (rank, most_s) = most.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mean_s = computing_s.iter().sum::<f64>() / computing_s.len() as f64;
    if loss_s <= 0.0 || mean_s <= 0.0 {
        return None;
    }
    let mut found = Recommendation::new(
        Kind::Balance,
        format!(
            "divide the work more evenly: rank {rank} computes {:.2} times the mean of the ranks",
            most_s / mean_s
        ),
        Some(Saving::up_to(loss_s)),
    );
    found.evidence = vec![format!(
        "rank {rank} computes {}, the mean is {}",
        seconds(most_s),
        seconds(mean_s)
    )];
    found.evidence.extend(extra(parallel, rank));
    Some(found)
}

fn serial(parallel: &ParallelFacts, (rank, alone_s): (usize, f64), loss_s: f64) -> Recommendation {
    let mut found = Recommendation::new(
        Kind::SerialPart,
        format!(
            "divide what rank {rank} does while all others wait for it, or let them go on meanwhile"
        ),
        Some(Saving::up_to(loss_s)),
    );
    found.evidence = vec![format!(
        "rank {rank} computes alone for {} in all",
        seconds(alone_s)
    )];
    found.evidence.extend(extra(parallel, rank));
    found.evidence.extend(waiting(parallel));
    found
}

fn in_turns(parallel: &ParallelFacts, loss_s: f64) -> Recommendation {
    let mut found = Recommendation::new(
        Kind::Order,
        "let ranks compute at the same time: they compute as much in all, at different times, and wait for each other".into(),
        Some(Saving::up_to(loss_s)),
    );
    found.evidence = vec![format!(
        "with messages that take no time and as much work on each rank, {} of waiting would be left",
        seconds(loss_s)
    )];
    found.evidence.extend(waiting(parallel));
    found
}

/// The method that a rank has most more of than others.
fn extra(parallel: &ParallelFacts, rank: usize) -> Option<String> {
    let of_rank = |facts: &&RankFacts| facts.rank as usize == rank;
    let (method, extra_s) = parallel.ranks.iter().find(of_rank)?.most_extra.as_ref()?;
    Some(format!(
        "most of it in {method}: {} more than the mean of the ranks",
        seconds(*extra_s)
    ))
}

fn waiting(parallel: &ParallelFacts) -> Option<String> {
    let waiting = parallel.waiting.as_ref()?;
    Some(format!(
        "most is waited in {}: {} on rank {}",
        waiting.call,
        seconds(waiting.seconds),
        waiting.rank
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recommend;

    fn facts(replay: ReplayFacts) -> Facts {
        let ranks = replay.computing_s.iter().enumerate();
        let rank = |(rank, computing_s): (usize, &f64)| RankFacts {
            rank: rank as u32,
            computing_s: *computing_s,
            mpi_s: replay.free_s - computing_s,
            ..RankFacts::default()
        };
        Facts {
            elapsed_s: replay.free_s,
            parallel: Some(ParallelFacts {
                ranks: ranks.map(rank).collect(),
                replay: Some(replay),
                ..ParallelFacts::default()
            }),
            ..Facts::default()
        }
    }

    fn kinds(replay: ReplayFacts) -> Vec<(Kind, f64)> {
        let all = recommend(&facts(replay));
        all.iter()
            .map(|one| (one.kind, one.saving.map_or(0.0, |saving| saving.seconds)))
            .collect()
    }

    #[test]
    fn uneven_work_a_serial_part_and_turns_are_distinguished() {
        let uneven = ReplayFacts {
            free_s: 3.0,
            alone_s: vec![0.0, 0.0],
            computing_s: vec![3.0, 1.0],
        };
        assert_eq!(kinds(uneven), [(Kind::Balance, 1.0)]);
        // Rank 0 has 2 s for itself, then both have one.
        let serial = ReplayFacts {
            free_s: 3.0,
            alone_s: vec![2.0, 0.0],
            computing_s: vec![3.0, 1.0],
        };
        assert_eq!(kinds(serial), [(Kind::SerialPart, 1.0)]);
        let turns = ReplayFacts {
            free_s: 4.0,
            alone_s: vec![2.0, 2.0],
            computing_s: vec![2.0, 2.0],
        };
        assert_eq!(kinds(turns), [(Kind::Order, 2.0)]);
    }

    #[test]
    fn sums_show_uneven_work_alone() {
        let mut facts = facts(ReplayFacts {
            free_s: 3.0,
            alone_s: vec![2.0, 0.0],
            computing_s: vec![3.0, 1.0],
        });
        if let Some(parallel) = &mut facts.parallel {
            parallel.replay = None;
        }
        let all = recommend(&facts);
        assert_eq!(all[0].kind, Kind::Balance);
        assert_eq!(all[0].saving, Some(Saving::up_to(1.0)));
    }

    proptest! {
        /// The three losses add up to the difference from evenly distributed work.
        #[test]
        fn losses_add_up(parts in prop::collection::vec((0.1..10.0_f64, 0.0..1.0_f64), 2..8), waiting in 0.0..5.0_f64) {
            let (computing_s, alone): (Vec<f64>, Vec<f64>) = parts.into_iter().unzip();
            let mean = computing_s.iter().sum::<f64>() / computing_s.len() as f64;
            let free_s = computing_s.iter().copied().fold(0.0, f64::max) + waiting;
            let alone_s = computing_s.iter().zip(alone).map(|(own, share)| own * share).collect();
            let facts = facts(ReplayFacts { free_s, alone_s, computing_s });
            let savings: Vec<Saving> = divided(&facts).iter().filter_map(|one| one.saving).collect();
            let lost: f64 = savings.iter().map(|saving| saving.seconds).sum();
            prop_assert!((lost - (free_s - mean)).abs() < 1e-9);
            prop_assert!(savings.iter().all(|saving| saving.seconds >= 0.0));
        }
    }
}
