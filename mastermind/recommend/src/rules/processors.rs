//! Ranks that share processors, or wait for them.

use crate::facts::{Facts, ParallelFacts, RankFacts};
use crate::order::{Carried, Kind, Recommendation};
use crate::rules::seconds;
use crate::saving::Saving;

/// Share of the processor time that a rank was ready for, below which its times are not those of the program alone: the
/// same as in the notes of all verbs.
const MIN_SHARE: f64 = 0.8;

/// A processor for each rank.
///
/// If ranks share processors among themselves, those that wait in MPI take the processors from those that compute. With
/// as many ranks as processors the same work takes, if it divides evenly, the processor time of all computation divided
/// by the number of processors: computation ran on a processor for the same share of its wall time as the rank did. It
/// takes at least the rest that remains if all waiting was in it, and at most its wall time. If other programs have the
/// processors, the saving is at most the ranks' waiting for them.
pub(super) fn own_processors(facts: &Facts) -> Vec<Recommendation> {
    let found = facts.parallel.as_ref().and_then(|parallel| {
        let least = parallel
            .ranks
            .iter()
            .filter_map(share)
            .min_by(f64::total_cmp)?;
        (least < MIN_SHARE).then_some((parallel, least))
    });
    let Some((parallel, least)) = found else {
        return Vec::new();
    };
    let evidence = format!(
        "a rank had {:.0} % of the processor time that it was ready for",
        100.0 * least
    );
    let mut found = match parallel.processors {
        Some(processors) if parallel.ranks_of_host > processors => {
            fewer_ranks(facts, parallel, processors)
        }
        _ => {
            // Others wait for a rank that waits for a processor, in the worst case one after the other; the longest
            // computation remains.
            let waiting_s: f64 = parallel
                .ranks
                .iter()
                .filter_map(|rank| rank.waiting_s)
                .sum();
            let computing = parallel.ranks.iter().map(computed_s);
            let most_s = waiting_s.min(facts.elapsed_s - computing.fold(0.0, f64::max));
            Recommendation::new(
                Kind::Processors,
                "run it where nothing else has its processors".into(),
                Some(Saving::up_to(most_s)),
            )
        }
    };
    found.evidence.insert(0, evidence);
    vec![found]
}

/// The part of the processor time that it was ready for that a rank had.
fn share(rank: &RankFacts) -> Option<f64> {
    let (running_s, waiting_s) = (rank.running_s?, rank.waiting_s?);
    let ready_s = running_s + waiting_s;
    (ready_s > 0.0).then(|| running_s / ready_s)
}

/// How long a rank computed on a processor.
fn computed_s(rank: &RankFacts) -> f64 {
    rank.computing_s * share(rank).unwrap_or(1.0)
}

fn fewer_ranks(facts: &Facts, parallel: &ParallelFacts, processors: u32) -> Recommendation {
    let hosts = (parallel.ranks.len() as f64 / f64::from(parallel.ranks_of_host.max(1))).ceil();
    let all = f64::from(processors) * hosts;
    let computing_s: f64 = parallel.ranks.iter().map(computed_s).sum();
    let then_s = computing_s / all;
    let wall_s: f64 = parallel.ranks.iter().map(|rank| rank.computing_s).sum();
    let saved = |then_s: f64| facts.elapsed_s - then_s;
    let worst_s = saved(wall_s / all);
    // All that a rank waited for a processor may have been while it computed.
    let least = |rank: &RankFacts| (rank.computing_s - rank.waiting_s.unwrap_or(0.0)).max(0.0);
    let least_s: f64 = parallel.ranks.iter().map(least).sum();
    let mut found = Recommendation::new(
        Kind::Processors,
        format!(
            "run {all} ranks, one for each processor, in place of {}",
            parallel.ranks.len()
        ),
        Some(Saving::predicted(
            saved(then_s),
            [worst_s.min(saved(then_s)), saved(least_s / all)],
        )),
    );
    found.evidence = vec![format!(
        "{} ranks share {processors} processors of a host; their computing took {} of a processor in all",
        parallel.ranks_of_host,
        seconds(computing_s)
    )];
    found.evidence.push(
        "the ranks are taken to divide one amount of work among them; where each has its own, fewer ranks do less".into(),
    );
    found.change = Carried::Set("ranks".into(), all);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend;

    fn facts(ranks_of_host: u32, running_s: f64, waiting_s: f64) -> Facts {
        let rank = RankFacts {
            computing_s: 2.0,
            mpi_s: 2.0,
            running_s: Some(running_s),
            waiting_s: Some(waiting_s),
            ..RankFacts::default()
        };
        Facts {
            elapsed_s: 4.0,
            parallel: Some(ParallelFacts {
                ranks: vec![rank; ranks_of_host as usize],
                processors: Some(2),
                ranks_of_host,
                ..ParallelFacts::default()
            }),
            ..Facts::default()
        }
    }

    #[test]
    fn ranks_that_share_processors_are_to_be_fewer() {
        let found = &recommend(&facts(4, 2.0, 2.0))[0];
        // Four ranks computed for 2 s of wall time each, half of it on a processor: 4 s on two processors.
        let saving = found.saving.expect("it is predicted");
        assert!((saving.seconds - 2.0).abs() < 1e-12, "{saving:?}");
        assert!(saving.interval_s[0] <= 0.0 + 1e-12 && saving.interval_s[1] >= 2.0);
        assert_eq!(found.change, Carried::Set("ranks".into(), 2.0));
    }

    #[test]
    fn a_busy_machine_costs_at_most_what_was_waited() {
        let found = &recommend(&facts(2, 2.0, 2.0))[0];
        // Each waited for 2 s, and computed for 1 s of a processor.
        assert_eq!(found.saving, Some(Saving::up_to(3.0)));
        assert!(recommend(&facts(2, 3.9, 0.1)).is_empty());
    }
}
