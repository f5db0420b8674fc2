//! How a time differs between the ranks of a run: minimum and maximum with their ranks, and quantiles.
//!
//! Storing the times would take as many numbers as there are ranks. They are counted in buckets with geometric borders
//! instead, which bounds the relative error of every quantile. Counts from several processes can be added in any order.
//!
//! # Source
//! Masson, Rim, Lee, "DDSketch: A fast and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12(12), 2019,
//! section 2.1. Deviation: buckets are never collapsed, since times in 64 bits need at most some 2200 of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Relative error of a quantile; the value of the source's measurements (section 4).
const ALPHA: f64 = 0.01;

/// Ratio of a bucket's borders.
const GAMMA: f64 = (1.0 + ALPHA) / (1.0 - ALPHA);

/// Extremes and distribution of one time per rank, in buckets whose borders differ by 2 %.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The shortest time, nanoseconds, and the first rank that has it.
    least: Option<(u64, u32)>,
    greatest: Option<(u64, u32)>,
    /// Number of ranks whose time is 0.
    zeros: u64,
    /// Number of ranks in each bucket: times above `GAMMA^(i - 1)` up to `GAMMA^i` nanoseconds.
    buckets: BTreeMap<i32, u64>,
}

/// Summary of the times of the ranks; nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSpread {
    /// Number of ranks with a time.
    pub ranks: u64,
    /// The shortest time.
    pub least_ns: u64,
    /// The first rank that has it.
    pub least_rank: u32,
    /// A quarter of the ranks has less, within one per cent.
    pub lower_quartile_ns: f64,
    /// Half of the ranks has less, within one per cent.
    pub median_ns: f64,
    /// A quarter of the ranks has more, within one per cent.
    pub upper_quartile_ns: f64,
    /// The longest time.
    pub greatest_ns: u64,
    /// The first rank that has it.
    pub greatest_rank: u32,
}

impl Spread {
    /// The time of one rank.
    ///
    /// # Arguments
    /// * `ns` - the time, nanoseconds
    pub fn of(rank: u32, ns: u64) -> Self {
        let mut spread = Self {
            least: Some((ns, rank)),
            greatest: Some((ns, rank)),
            ..Self::default()
        };
        match ns {
            0 => spread.zeros = 1,
            _ => drop(spread.buckets.insert(bucket(ns), 1)),
        }
        spread
    }

    /// Whether no rank has a time.
    pub fn is_empty(&self) -> bool {
        self.least.is_none()
    }

    /// Adds the times of other ranks, which must not be in `self` already.
    pub fn add(&mut self, other: &Self) {
        self.least = self.least.into_iter().chain(other.least).min();
        let greater = |a: (u64, u32), b: (u64, u32)| match a.0.cmp(&b.0).then(b.1.cmp(&a.1)) {
            std::cmp::Ordering::Less => b,
            _ => a,
        };
        let greatest = self.greatest.into_iter().chain(other.greatest);
        self.greatest = greatest.reduce(greater);
        self.zeros += other.zeros;
        for (bucket, n) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += n;
        }
    }

    /// The summary; `None` if no rank has a time.
    pub fn shown(&self) -> Option<RankSpread> {
        let ((least_ns, least_rank), (greatest_ns, greatest_rank)) =
            self.least.zip(self.greatest)?;
        let within = |ns: f64| ns.clamp(least_ns as f64, greatest_ns as f64);
        Some(RankSpread {
            ranks: self.ranks(),
            least_ns,
            least_rank,
            lower_quartile_ns: within(self.quantile(0.25)),
            median_ns: within(self.quantile(0.5)),
            upper_quartile_ns: within(self.quantile(0.75)),
            greatest_ns,
            greatest_rank,
        })
    }

    fn ranks(&self) -> u64 {
        self.zeros + self.buckets.values().sum::<u64>()
    }

    /// The time that a given share of the ranks does not exceed, nanoseconds: Algorithm 2 of the source.
    fn quantile(&self, part: f64) -> f64 {
        let place = part * self.ranks().saturating_sub(1) as f64;
        let mut n = self.zeros;
        if n as f64 > place {
            return 0.0;
        }
        for (bucket, in_bucket) in &self.buckets {
            n += in_bucket;
            if n as f64 > place {
                return 2.0 * GAMMA.powi(*bucket) / (GAMMA + 1.0);
            }
        }
        0.0
    }
}

fn bucket(ns: u64) -> i32 {
    ((ns as f64).ln() / GAMMA.ln()).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(times: impl IntoIterator<Item = (u32, u64)>) -> Spread {
        let mut spread = Spread::default();
        for (rank, ns) in times {
            spread.add(&Spread::of(rank, ns));
        }
        spread
    }

    #[test]
    fn quantiles_are_right_to_one_per_cent() {
        let times = (0..1001_u64).map(|k| 1000 + k * k * 37);
        let shown = spread((0..).zip(times)).shown().unwrap();
        let expected = [250, 500, 750].map(|k: u64| (1000 + k * k * 37) as f64);
        let found = [
            shown.lower_quartile_ns,
            shown.median_ns,
            shown.upper_quartile_ns,
        ];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() <= 0.01, "{found} {expected}");
        }
        assert_eq!(
            (shown.ranks, shown.least_ns, shown.least_rank),
            (1001, 1000, 0)
        );
        assert_eq!((shown.greatest_ns, shown.greatest_rank), (37_001_000, 1000));
    }

    #[test]
    fn the_order_of_ranks_does_not_matter() {
        let times = [
            (0, 7),
            (1, 0),
            (2, 9),
            (3, 7),
            (4, 0),
            (5, 9),
            (6, u64::MAX),
        ];
        let forward = spread(times);
        let backward = spread(times.into_iter().rev());
        assert_eq!(forward, backward);
        let shown = spread(times[..6].iter().copied()).shown().unwrap();
        assert_eq!((shown.least_rank, shown.greatest_rank), (1, 2));
        assert_eq!(shown.lower_quartile_ns, 0.0);
        let text = serde_json::to_string(&forward).unwrap();
        assert_eq!(serde_json::from_str::<Spread>(&text).unwrap(), forward);
        assert_eq!(Spread::default().shown(), None);
    }
}
