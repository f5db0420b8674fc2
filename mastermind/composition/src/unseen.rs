//! Uncertainty from classes at coupled instances that no run shows together.
//!
//! The interaction of such a pair counts as 0 in the expected time, since most pairs do not interact. Its uncertainty
//! is estimated from the pairs that were seen: the standard deviation of their interactions, in logarithms of the time
//! of either site,
//!
//! ```text
//! s² = (ν₀ s₀² + Σ ν (explained − spread) / n) / (ν₀ + Σ ν)
//! ```
//!
//! summed over the classes of a site that runs show with several classes of a coupled site. `explained` is the mean
//! square between those groups with `ν` degrees of freedom, `spread` the mean square within them, `n` the mean number
//! of runs in a group. `s₀` and `ν₀` are the prior, which dominates where hardly any pair was seen twice.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::interaction::{RunTimes, groups, residuals};
use crate::workload::Assembly;

/// Prior standard deviation of an interaction, and its degrees of freedom. A change of layout, or of the contents of a
/// cache, costs some per cent of a site's time if both instances stream through the same arrays.
const EXPECTED: (f64, f64) = (0.05, 4.0);

/// Two classes at coupled instances that no run shows together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UnseenPair {
    /// The instances.
    pub instances: [String; 2],
    /// Their classes.
    pub classes: [String; 2],
}

/// The pairs of coupled instances that runs show, and the possible interaction of unseen pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenPairs {
    joined: BTreeSet<[String; 2]>,
    seen: BTreeSet<UnseenPair>,
    /// Standard deviation of the logarithm of a site's time due to an unseen neighbour.
    deviation: f64,
}

impl SeenPairs {
    /// # Arguments
    /// * `runs` - runs of one workload
    /// * `joined` - pairs of coupled instances, which may affect one another
    pub fn of(runs: &[RunTimes], joined: &BTreeSet<[String; 2]>) -> Self {
        let mut pairs = SeenPairs {
            joined: joined.clone(),
            seen: BTreeSet::new(),
            deviation: deviation(runs, joined),
        };
        for run in runs {
            let classes = run.iter();
            let classes = classes.map(|(instance, time)| (instance.clone(), time.class.clone()));
            pairs.see(&classes.collect());
        }
        pairs
    }

    /// Adds the pairs of another run, without its times.
    pub fn see(&mut self, assembly: &Assembly) {
        let pairs = self.joined.iter();
        let shown = pairs.filter_map(|instances| pair_of(instances, assembly));
        let shown: Vec<_> = shown.collect();
        self.seen.extend(shown);
    }

    /// Pairs of an assembly that no run shows.
    pub fn unseen(&self, assembly: &Assembly) -> Vec<UnseenPair> {
        let pairs = self.joined.iter();
        let all = pairs.filter_map(|instances| pair_of(instances, assembly));
        all.filter(|pair| !self.seen.contains(pair)).collect()
    }

    /// Standard deviation of the logarithm of a site's time due to a neighbour's class that no run shows with it.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }
}

fn pair_of(instances: &[String; 2], assembly: &Assembly) -> Option<UnseenPair> {
    let [a, b] = instances;
    Some(UnseenPair {
        classes: [assembly.get(a)?.clone(), assembly.get(b)?.clone()],
        instances: instances.clone(),
    })
}

fn deviation(runs: &[RunTimes], joined: &BTreeSet<[String; 2]>) -> f64 {
    let residuals = residuals(runs);
    let (expected, freedom) = EXPECTED;
    let (mut squares, mut freedom_of_all) = (0.0, 0.0);
    for [a, b] in joined {
        for (instance, beside) in [(a, b), (b, a)] {
            for of_class in groups(runs, &residuals, instance, beside).values() {
                let (explained, freedom) = between_groups(of_class);
                squares += freedom * explained;
                freedom_of_all += freedom;
            }
        }
    }
    let sum = (freedom * expected * expected + squares) / (freedom + freedom_of_all);
    // A variance component estimated by moments can be negative.
    sum.max(0.0).sqrt()
}

/// Variance between groups of runs beyond the variance within them, and its degrees of freedom; 0 where no group was
/// repeated.
fn between_groups(groups: &BTreeMap<&str, Vec<(usize, f64)>>) -> (f64, f64) {
    let n_groups = groups.len();
    let n: usize = groups.values().map(Vec::len).sum();
    if n_groups < 2 || n <= n_groups {
        return (0.0, 0.0);
    }
    let mean = |rows: &[(usize, f64)]| rows.iter().map(|(_, y)| y).sum::<f64>() / rows.len() as f64;
    let middle = groups.values().flatten().map(|(_, y)| y).sum::<f64>() / n as f64;
    let (mut explained, mut spread) = (0.0, 0.0);
    for rows in groups.values() {
        let own = mean(rows);
        explained += rows.len() as f64 * (own - middle).powi(2);
        spread += rows.iter().map(|(_, y)| (y - own).powi(2)).sum::<f64>();
    }
    let freedom = (n_groups - 1) as f64;
    let a_group = n as f64 / n_groups as f64;
    let beyond = explained / freedom - spread / (n - n_groups) as f64;
    (beyond / a_group, freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interaction::SiteTime;

    /// Both sites with one class each; flux takes `beside` times as long if states has the second class.
    fn run(flux: &str, states: &str, beside: f64, turn: usize) -> RunTimes {
        let factor = if states == "S2" { beside } else { 1.0 };
        let wobble = 1.0 + 0.001 * (turn % 3) as f64;
        let time = |class: &str, ratio: f64| SiteTime {
            class: class.into(),
            ratio,
        };
        let far = ["far1", "far2", "far3"].map(|far| (far.to_owned(), time("F", 1.0)));
        let own = [
            ("flux".to_owned(), time(flux, factor * wobble)),
            ("states".to_owned(), time(states, 1.0)),
        ];
        far.into_iter().chain(own).collect()
    }

    fn joined() -> BTreeSet<[String; 2]> {
        BTreeSet::from([["flux".to_owned(), "states".to_owned()]])
    }

    fn assembly(flux: &str, states: &str) -> Assembly {
        [("flux", flux), ("states", states)]
            .map(|(instance, class)| (instance.to_owned(), class.to_owned()))
            .into()
    }

    #[test]
    fn a_pair_that_no_run_shows_is_named() {
        let runs = [run("F1", "S1", 1.0, 0), run("F2", "S1", 1.0, 1)];
        let mut pairs = SeenPairs::of(&runs, &joined());
        assert_eq!(pairs.unseen(&assembly("F2", "S1")), []);
        let unseen = pairs.unseen(&assembly("F2", "S2"));
        assert_eq!(unseen.len(), 1);
        assert_eq!(unseen[0].classes, ["F2", "S2"]);
        // No pair was seen twice, so the prior remains.
        assert_eq!(pairs.deviation(), EXPECTED.0);
        pairs.see(&assembly("F2", "S2"));
        assert_eq!(pairs.unseen(&assembly("F2", "S2")), []);
    }

    #[test]
    fn pairs_that_were_seen_tell_how_much_others_may_cost() {
        let runs = |beside: f64| -> Vec<RunTimes> {
            let kinds = [("F1", "S1"), ("F1", "S2"), ("F2", "S1"), ("F2", "S2")];
            let turns = (0..5).flat_map(|turn| kinds.map(|kind| (kind, turn)));
            turns
                .map(|((f, s), turn)| run(f, s, beside, turn))
                .collect()
        };
        let deviation = |beside: f64| SeenPairs::of(&runs(beside), &joined()).deviation();
        // Neither instance was affected: less than the prior, but not 0.
        let least = deviation(1.0);
        assert!((0.03..EXPECTED.0).contains(&least), "{least}");
        // At one of two sites, each half of the runs is about 25 % off the mean.
        let large = deviation(1.5);
        assert!((0.12..0.25).contains(&large), "{large}");
    }
}
