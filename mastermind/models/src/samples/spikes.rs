//! Calls far above the others at their coordinate: seen in a coarse histogram that streams.

use std::collections::BTreeMap;

use crate::samples::sample::Summary;
use crate::samples::statistic::Statistic;

/// Bins for each doubling of the time, as bits of the mantissa.
const BITS: u32 = 3;

/// The same where a median is wanted, which is told to the width of a bin, 0.2 %.
const FINE_BITS: u32 = 9;

/// Median distance from the median that a normal distribution has, over its standard deviation, reciprocal.
const MAD: f64 = 1.4826;

/// Quartile distances above the median from which on a call is set aside.
const DISTANCES: f64 = 10.0;

/// Times the median below which no call is.
const LEAST_RATIO: f64 = 2.0;

/// Calls at a coordinate that tell a median.
const MIN_CALLS: u64 = 3;

/// Share of the calls of a coordinate up to which they are spikes, and not a mode of the method; one
/// call may always be.
const MOST: f64 = 0.05;

/// Calls of one coordinate by time: moments of each bin, eight bins for each doubling.
///
/// Memory grows with the bins met, in practice a few dozen, not with the calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    /// Number of the bin and what fell into it, ascending.
    bins: Vec<(u32, Summary)>,
    /// Where the last call went.
    last: usize,
}

impl Histogram {
    /// Takes one more call.
    pub fn push(&mut self, seconds: f64, statistic: Statistic) {
        let bits = match statistic {
            Statistic::Mean => BITS,
            Statistic::Median | Statistic::Minimum => FINE_BITS,
        };
        let bin = number(seconds, bits);
        if let Some((number, summary)) = self.bins.get_mut(self.last)
            && *number == bin
        {
            return summary.push(seconds);
        }
        self.last = match self.bins.binary_search_by_key(&bin, |(number, _)| *number) {
            Ok(at) => at,
            Err(at) => {
                // Most often one call is all there is at a coordinate, or all are of one time.
                if self.bins.is_empty() {
                    self.bins.reserve_exact(1);
                }
                self.bins.insert(at, (bin, Summary::EMPTY));
                at
            }
        };
        self.bins[self.last].1.push(seconds);
    }

    /// The calls apart by time, ascending.
    pub fn bins(&self) -> Vec<Summary> {
        self.bins.iter().map(|(_, bin)| *bin).collect()
    }

    /// All calls.
    pub fn all(&self) -> Summary {
        sum(&self.bins)
    }

    /// Logarithm of the median over the lower quartile; `None` with too few calls.
    pub fn quartile_distance(&self) -> Option<f64> {
        let (median, quartile) = (self.quantile(0.5)?, self.quantile(0.25)?);
        (quartile > 0.0).then(|| (median / quartile).ln())
    }

    /// The calls that are no spikes.
    ///
    /// # Arguments
    /// * `distance` - of median and lower quartile, as is usual for the method
    /// * `step_s` - what the clock advances by at once: two calls of one length may be a step apart, and the median up to one
    ///   from the length
    pub fn kept(&self, distance: f64, step_s: f64) -> Summary {
        let all = self.all();
        let Some(median) = self.quantile(0.5).filter(|_| all.count >= MIN_CALLS) else {
            return all;
        };
        let own = self.quartile_distance().unwrap_or(0.0);
        let ratio = (DISTANCES * own.max(distance)).exp().max(LEAST_RATIO);
        let limit = (median * ratio).max(median + 2.0 * step_s);
        let kept = self.bins.partition_point(|(_, bin)| bin.min_s <= limit);
        let n_aside: u64 = self.bins[kept..].iter().map(|(_, bin)| bin.count).sum();
        let most = (MOST * all.count as f64).max(1.0);
        if n_aside as f64 > most {
            return all;
        }
        sum(&self.bins[..kept])
    }

    /// All calls about the statistic that stands for them, their spread that of the middle half.
    pub fn about(&self, statistic: Statistic) -> Summary {
        let all = self.all();
        let mut times: Vec<(f64, u64)> = (self.bins.iter())
            .map(|(_, bin)| (bin.mean_s, bin.count))
            .collect();
        let median = median(&times, all.count);
        times
            .iter_mut()
            .for_each(|(time, _)| *time = (*time - median).abs());
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let deviation_s = MAD * self::median(&times, all.count);
        Summary {
            mean_s: match statistic {
                Statistic::Minimum => all.min_s,
                _ => median,
            },
            m2_s2: deviation_s * deviation_s * all.count.saturating_sub(1) as f64,
            ..all
        }
    }

    /// About the time that a share of the calls stays below: the mean of the bin it falls into.
    fn quantile(&self, share: f64) -> Option<f64> {
        let n: u64 = self.bins.iter().map(|(_, bin)| bin.count).sum();
        let mut below = 0;
        self.bins.iter().find_map(|(_, bin)| {
            below += bin.count;
            (below as f64 >= share * n as f64).then_some(bin.mean_s)
        })
    }
}

/// The median of values, ascending, each as often as it says, `n` together; of two in the middle their mean.
fn median(values: &[(f64, u64)], n: u64) -> f64 {
    let at = |rank: u64| {
        let mut below = 0;
        let found = values.iter().find(|(_, count)| {
            below += count;
            below >= rank
        });
        found.map_or(0.0, |(value, _)| *value)
    };
    0.5 * (at(n.div_ceil(2)) + at(n / 2 + 1))
}

/// Bins of several coordinates as those of one, ascending.
pub(crate) fn merged<'b>(bins: impl Iterator<Item = &'b Summary>) -> Vec<Summary> {
    let mut merged: BTreeMap<u32, Summary> = BTreeMap::new();
    for bin in bins {
        let sum = merged
            .entry(number(bin.mean_s, BITS))
            .or_insert(Summary::EMPTY);
        sum.merge(bin);
    }
    merged.into_values().collect()
}

fn sum(bins: &[(u32, Summary)]) -> Summary {
    let mut sum = Summary::EMPTY;
    bins.iter().for_each(|(_, bin)| sum.merge(bin));
    sum
}

/// The bin of a time: its exponent and the first bits of its mantissa.
fn number(seconds: f64, bits: u32) -> u32 {
    (seconds.to_bits() >> (52 - bits)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(times: &[f64]) -> Histogram {
        let mut histogram = Histogram::default();
        times
            .iter()
            .for_each(|&time| histogram.push(time, Statistic::Mean));
        histogram
    }

    #[test]
    fn a_spike_is_set_aside_and_a_mode_is_not() {
        let mut times = vec![1.0; 40];
        times.extend([1.1; 59]);
        times.push(30.0);
        let spiky = histogram(&times);
        assert_eq!((spiky.all().count, spiky.all().max_s), (100, 30.0));
        assert_eq!(
            (spiky.kept(0.0, 0.0).count, spiky.kept(0.0, 0.0).max_s),
            (99, 1.1)
        );
        // One in ten is how the method is.
        times.truncate(90);
        times.extend([30.0; 10]);
        assert_eq!(histogram(&times).kept(0.0, 0.0).count, 100);
        // A wide spread has no spikes.
        let wide: Vec<f64> = (0..100).map(|i| 1.02_f64.powi(i)).collect();
        assert_eq!(histogram(&wide).kept(0.0, 0.0).count, 100);
    }

    #[test]
    fn the_median_is_exact_of_few_calls_and_near_of_many() {
        let about = |times: &[f64], statistic| {
            let mut histogram = Histogram::default();
            times
                .iter()
                .for_each(|&time| histogram.push(time, statistic));
            histogram.about(statistic)
        };
        let few = [1.0, 1.1, 1.3, 9.0];
        let median = about(&few, Statistic::Median);
        assert!((median.mean_s - 1.2).abs() < 1e-12 && median.max_s == 9.0);
        // Distances 0.1, 0.1, 0.2, 7.8.
        assert!((median.m2_s2 - 3.0 * (MAD * 0.15_f64).powi(2)).abs() < 1e-12);
        assert_eq!(about(&few, Statistic::Minimum).mean_s, 1.0);
        assert_eq!(about(&few[..3], Statistic::Median).mean_s, 1.1);
        let many: Vec<f64> = (0..10_001).map(|i| 1.0 + f64::from(i) / 10_000.0).collect();
        let median = about(&many, Statistic::Median);
        assert!((median.mean_s / 1.5 - 1.0).abs() < 2e-3, "{median:?}");
    }

    #[test]
    fn a_step_of_the_clock_is_no_spike() {
        // Calls of 0.4 ns on a clock of 10 ns: 4 of 100 hold all the time.
        let mut times = vec![0.0; 96];
        times.extend([1e-8; 4]);
        let calls = histogram(&times);
        assert_eq!(calls.kept(0.0, 1e-8).count, 100);
        assert_eq!(
            calls.kept(0.0, 0.0).count,
            96,
            "what it was without the step"
        );
    }

    #[test]
    fn one_call_of_few_may_be_a_spike() {
        assert_eq!(histogram(&[1.0, 1.02, 9.0]).kept(0.05, 0.0).count, 2);
        assert_eq!(histogram(&[1.0, 9.0]).kept(0.05, 0.0).count, 2);
        assert_eq!(histogram(&[1.0, 1.02, 9.0]).kept(0.3, 0.0).count, 3);
        assert_eq!(histogram(&[0.0, 0.0, 0.0]).kept(0.0, 0.0).count, 3);
    }
}
