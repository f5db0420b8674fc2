//! Spikes: calls far above the others at their coordinate, collected in a coarse streaming histogram and detected by a mixture model.
//!
//! In: the calls of each coordinate of a method. Out: the calls that are no spikes. Most calls scatter above the median of their
//! coordinate as those below it do; a share of the calls, estimated over all coordinates, lies anywhere above. A call is set aside if it
//! more likely belongs to that share. Even one spike among four calls is detected if the other coordinates show how calls scatter.
//! Coordinates called once or twice have no median: `few_calls` compares them with the neighbouring coordinates.
//!
//! At most one call in ten is a spike. If more lie far above, calls are assumed to scatter as widely as the slowest of the other
//! nine, and only calls far beyond that are set aside.
//! Totals include the calls set aside; if these recur and take most of the time, nothing is set aside.
//! The interval of a call is widened so that it covers 95 % of all calls, those set aside included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::samples::sample::Summary;
use crate::samples::statistic::Statistic;

/// Bins for each doubling of the time, as bits of the mantissa.
const BITS: u32 = 3;

/// The same if a median is fitted, which is accurate to the width of a bin, 0.2 %.
const FINE_BITS: u32 = 9;

/// Standard deviation of a normal distribution over its median absolute deviation.
const MAD: f64 = 1.4826;

/// Least relative scatter: that some calls agree to a per cent does not mean that the next one will. Chosen on the bursts of
/// `benches/extrap/tuning.py`.
const LEAST_SCALE: f64 = 0.02;

/// Relative scatter from which on calls are assumed to differ by factors. Chosen on the adaptive case study alone on a machine: with a
/// smaller scatter, one call in a thousand lay 24 scatters above the median; with a larger one, none of 50,000 beyond 15.
const WIDE_SCALE: f64 = 0.2;

/// Least range of spikes above the median, as a logarithm: a factor of two.
const LEAST_RANGE: f64 = std::f64::consts::LN_2;

/// Calls that a coordinate needs for a median.
pub(super) const MIN_CALLS: u64 = 3;

/// Expected share of spikes among the calls, before any is seen. A coordinate may have two standard deviations more of them, and always
/// one; if more calls are slow, they are a mode of the method.
const MOST: f64 = 0.05;

/// Number of calls that the expected share is worth as a prior.
const EXPECTED_CALLS: f64 = 10.0;

/// Passes of the estimate of the share.
const PASSES: usize = 20;

/// Number of slow calls from which on they belong to the method, if they take most of the time.
pub(super) const RECURRING: u64 = 3;

/// Share of the time that counts as most of it.
pub(super) const MOST_OF_TIME: f64 = 0.5;

/// Distance from the median that is assigned to a call of 0 s, as a logarithm.
const NO_TIME: f64 = 5.0;

/// Histogram of the times at one coordinate: moments of each bin, eight bins for each doubling.
///
/// Memory grows with the bins in use, in practice a few dozen, not with the calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Histogram {
    /// Number and contents of each bin, ascending.
    bins: Vec<(u32, Summary)>,
    /// Cache of positions in `bins`, indexed by the lower bits of the bin number. Wrong entries are harmless.
    #[serde(skip)]
    latest: [u8; N_LATEST],
}

/// Size of the cache of positions: with eight bins for each doubling, calls within a factor of four find their bins at once.
const N_LATEST: usize = 16;

impl Histogram {
    /// Adds one call.
    #[inline]
    pub fn push(&mut self, seconds: f64, statistic: Statistic) {
        let bits = match statistic {
            Statistic::Clean | Statistic::Mean => BITS,
            Statistic::Median | Statistic::Minimum => FINE_BITS,
        };
        let bin = number(seconds, bits);
        let latest = self.latest[bin as usize % N_LATEST];
        match self.bins.get_mut(usize::from(latest)) {
            Some((number, summary)) if *number == bin => summary.push(seconds),
            _ => self.push_into(bin, seconds),
        }
    }

    /// Adds one call, whose bin is searched.
    #[inline(never)]
    fn push_into(&mut self, bin: u32, seconds: f64) {
        let at = match self.bins.binary_search_by_key(&bin, |(number, _)| *number) {
            Ok(at) => at,
            Err(at) => {
                // Most coordinates have a single call, or calls of one time only.
                if self.bins.is_empty() {
                    self.bins.reserve_exact(1);
                }
                self.bins.insert(at, (bin, Summary::EMPTY));
                at
            }
        };
        self.latest[bin as usize % N_LATEST] = u8::try_from(at).unwrap_or(u8::MAX);
        self.bins[at].1.push(seconds);
    }

    /// Adds all calls of another histogram.
    pub fn merge(&mut self, other: Self) {
        for (number, calls) in other.bins {
            match self.bins.binary_search_by_key(&number, |(own, _)| *own) {
                Ok(at) => self.bins[at].1.merge(&calls),
                Err(at) => self.bins.insert(at, (number, calls)),
            }
        }
    }

    /// Summaries of the bins, by ascending time.
    pub fn bins(&self) -> Vec<Summary> {
        self.bins.iter().map(|(_, bin)| *bin).collect()
    }

    /// Summary of all calls.
    pub fn all(&self) -> Summary {
        sum(&self.bins)
    }

    /// Number of calls.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|(_, bin)| bin.count).sum()
    }

    /// The median of the calls, to the width of a bin.
    pub fn median_s(&self) -> f64 {
        median(&self.times(), self.count())
    }

    /// Summary without the calls of the longest bin: with one call, or two calls far apart, without the longest call.
    pub fn without_longest(mut self) -> Self {
        self.bins.pop();
        self
    }

    /// Mean time and number of calls of each bin, ascending.
    fn times(&self) -> Vec<(f64, u64)> {
        let bins = self.bins.iter();
        bins.map(|(_, bin)| (bin.mean_s, bin.count)).collect()
    }

    /// The median, and the scatter of the calls below it, as a logarithm; `None` with too few calls, or a median of 0.
    fn lower_scatter(&self) -> Option<(f64, f64)> {
        let n = self.count();
        if n < MIN_CALLS {
            return None;
        }
        let median = self.median_s();
        if median <= 0.0 {
            return None;
        }
        let (mut left, mut squares) = (n / 2, 0.0);
        for (_, bin) in &self.bins {
            let taken = bin.count.min(left);
            left -= taken;
            let distance = (median / bin.mean_s).ln().min(NO_TIME);
            let within = bin.m2_s2 / bin.count as f64 / (median * median);
            squares += taken as f64 * (distance * distance + within);
        }
        Some((median, (squares / (n / 2) as f64).sqrt()))
    }

    /// Summary of all calls with the statistic as its mean, and a spread estimated from the median absolute deviation.
    pub fn about(&self, statistic: Statistic) -> Summary {
        let all = self.all();
        if all.count == 0 {
            return all;
        }
        let mut times = self.times();
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
}

/// The estimated distribution of the calls and spikes of a method.
pub(crate) struct Spikes {
    /// Usual scatter of calls about the median of their coordinate, as a logarithm.
    usual: f64,
    /// Share of the calls that are spikes.
    share: f64,
    /// Greatest distance of a spike above the median, as a logarithm.
    range: f64,
    /// Step of the clock, seconds: two calls of equal length may read one step apart, and the median up to one step from the length.
    step_s: f64,
}

impl Spikes {
    /// Estimates the scatter of the calls of a method and the share of spikes.
    ///
    /// # Arguments
    /// * `points` - the calls of each coordinate
    /// * `step_s` - step of the clock, seconds
    ///
    /// # Source
    /// A.P. Dempster, N.M. Laird, D.B. Rubin, J. R. Statist. Soc. B 39 (1977) 1, for the share (recalled, not looked up); own
    /// choice of the two densities.
    pub fn of<'h>(points: impl Iterator<Item = &'h Histogram> + Clone, step_s: f64) -> Self {
        let known = points.filter_map(|calls| Some((calls, calls.lower_scatter()?)));
        let mut scatters: Vec<f64> = known.clone().map(|(_, (_, scatter))| scatter).collect();
        scatters.sort_by(f64::total_cmp);
        let mut spikes = Self {
            usual: usual(&scatters),
            share: MOST,
            range: LEAST_RANGE,
            step_s,
        };
        let mut n_calls = 0.0;
        for (calls, (median, _)) in known.clone() {
            n_calls += calls
                .bins
                .iter()
                .map(|(_, bin)| bin.count as f64)
                .sum::<f64>();
            let longest = calls.bins.last().map_or(median, |(_, bin)| bin.mean_s);
            spikes.range = spikes.range.max((longest / median).ln());
        }
        // Calls with a likelihood ratio below 1e-3 add nothing to the expected number of spikes.
        let mut beside: Vec<(f64, f64)> = Vec::new();
        for (calls, (median, own)) in known {
            let scale = spikes.scale(own);
            let above = calls.bins.iter().rev();
            let likelier = above
                .map(|(_, bin)| (spikes.ratio(bin.mean_s, median, scale), bin.count as f64))
                .take_while(|(ratio, _)| *ratio > 1e-3);
            beside.extend(likelier);
        }
        for _ in 0..PASSES {
            let odds = spikes.share / (1.0 - spikes.share);
            let expected =
                |(ratio, count): &(f64, f64)| count * odds * ratio / (1.0 + odds * ratio);
            let n_spikes: f64 = beside.iter().map(expected).sum();
            let share = (n_spikes + MOST * EXPECTED_CALLS) / (n_calls + EXPECTED_CALLS);
            spikes.share = share.min(2.0 * MOST);
        }
        spikes
    }

    /// The distribution for calls that are compared with their neighbours: with the expected share, since there are too few of them to
    /// estimate it.
    ///
    /// # Arguments
    /// * `highest` - greatest height of a call above its neighbours, as a logarithm
    pub(super) fn along(&self, highest: f64) -> Self {
        Self {
            share: MOST,
            range: highest.max(LEAST_RANGE),
            ..*self
        }
    }

    pub(super) fn scale(&self, own: f64) -> f64 {
        own.max(self.usual).max(LEAST_SCALE)
    }

    /// Likelihood ratio of a time as a spike over another call: logarithms of spikes are uniform over the range, those of other calls
    /// are distributed by [`student`].
    fn ratio(&self, time_s: f64, median: f64, scale: f64) -> f64 {
        let distance = (time_s / median).ln() / scale;
        if distance <= 0.0 {
            return 0.0;
        }
        scale / self.range / student(distance, scale)
    }

    /// Whether a time exceeds the median by so little that the clock cannot distinguish them.
    pub(super) fn is_within_steps(&self, time_s: f64, median_s: f64) -> bool {
        time_s <= median_s + 2.0 * self.step_s
    }

    /// Whether a call is more likely a spike than one of the calls that scatter about `median_s` by `scale`.
    pub(super) fn is_spike(&self, time_s: f64, median_s: f64, scale: f64) -> bool {
        let odds = self.share / (1.0 - self.share);
        odds * self.ratio(time_s, median_s, scale) > 1.0
    }

    /// Summary of the calls of a coordinate that are no spikes.
    pub fn kept(&self, calls: &Histogram) -> Summary {
        let all = calls.all();
        let Some((median, own)) = calls.lower_scatter() else {
            return all;
        };
        let expected = MOST * all.count as f64;
        let most = (expected + 2.0 * expected.sqrt()).max(1.0);
        let kept = |scale: f64| {
            let is_kept = |bin: &Summary| {
                self.is_within_steps(bin.min_s, median) || !self.is_spike(bin.mean_s, median, scale)
            };
            let kept = sum(&calls.bins[..calls.bins.partition_point(|(_, bin)| is_kept(bin))]);
            ((all.count - kept.count) as f64 <= most).then_some(kept)
        };
        let scale = self.scale(own);
        kept(scale)
            .or_else(|| {
                // Widens the scale to the distance of the slowest call that must be kept.
                let slow_s = at(&calls.times(), all.count - most as u64);
                kept(scale.max((slow_s / median).ln()))
            })
            .unwrap_or(all)
    }
}

/// Density of calls that are no spikes, above the median, at a distance in units of `scale`: Student's t, whose tail is as heavy as theirs.
///
/// Calls that agree to some per cent occasionally take half as long again: 3 degrees of freedom. Of calls that differ by factors, almost
/// none takes a hundred times as long: 7 degrees of freedom.
fn student(distance: f64, scale: f64) -> f64 {
    let squared = distance * distance;
    if scale < WIDE_SCALE {
        2.0 / (std::f64::consts::PI * 3_f64.sqrt()) / (1.0 + squared / 3.0).powi(2)
    } else {
        // 16 / (5 π √7).
        0.384_991_450_832_267_3 / (1.0 + squared / 7.0).powi(4)
    }
}

/// The root mean square of scatters, given in ascending order and clipped at twice their median.
pub(super) fn usual(scatters: &[f64]) -> f64 {
    let most = scatters
        .get(scatters.len() / 2)
        .map_or(0.0, |median| 2.0 * median);
    let squares: f64 = scatters
        .iter()
        .map(|scatter| scatter.min(most).powi(2))
        .sum();
    (squares / scatters.len().max(1) as f64).sqrt()
}

/// Whether the calls set aside recur and take most of the time: then they belong to the method, and its mean without them is meaningless.
pub(crate) fn are_the_method(kept: &[Summary], all: &[Summary]) -> bool {
    let count = |of: &[Summary]| of.iter().map(|summary| summary.count).sum::<u64>();
    let total_s = |of: &[Summary]| of.iter().map(Summary::total_s).sum::<f64>();
    let n_aside = count(all) - count(kept);
    n_aside >= RECURRING && total_s(kept) < (1.0 - MOST_OF_TIME) * total_s(all)
}

/// The median of `n` values, given as ascending pairs of value and multiplicity; the mean of the middle two if `n` is even.
fn median(values: &[(f64, u64)], n: u64) -> f64 {
    0.5 * (at(values, n.div_ceil(2)) + at(values, n / 2 + 1))
}

/// The value with a rank, from 1, among ascending pairs of value and multiplicity; 0 if there are none.
fn at(values: &[(f64, u64)], rank: u64) -> f64 {
    let mut below = 0;
    let found = values.iter().find(|(_, count)| {
        below += count;
        below >= rank
    });
    found.map_or(0.0, |(value, _)| *value)
}

/// Merges the bins of several coordinates into those of one, ascending.
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

    /// The calls kept of a method with the given calls at each coordinate.
    fn kept(points: &[&[f64]], step_s: f64) -> Vec<Summary> {
        let points: Vec<Histogram> = points.iter().map(|times| histogram(times)).collect();
        let spikes = Spikes::of(points.iter(), step_s);
        points.iter().map(|calls| spikes.kept(calls)).collect()
    }

    fn n_kept(times: &[f64]) -> u64 {
        kept(&[times], 0.0)[0].count
    }

    #[test]
    fn a_spike_is_set_aside_and_a_mode_is_not() {
        let mut times = vec![1.0; 40];
        times.extend([1.1; 59]);
        times.push(30.0);
        assert_eq!(histogram(&times).all().max_s, 30.0);
        let spiky = kept(&[&times], 0.0)[0];
        assert_eq!((spiky.count, spiky.max_s), (99, 1.1));
        // One slow call in ten belongs to the method.
        times.truncate(90);
        times.extend([30.0; 10]);
        assert_eq!(n_kept(&times), 100);
        // A wide spread has no spikes.
        let wide: Vec<f64> = (0..100).map(|i| 1.02_f64.powi(i)).collect();
        assert_eq!(n_kept(&wide), 100);
    }

    #[test]
    fn one_spike_in_four_does_not_decide_where_the_others_say_how_calls_scatter() {
        let scattered = [1.0, 1.03, 0.98, 1.01];
        let one_slow = [2.0, 2.05, 1.96, 2.9];
        let found = kept(&[&scattered, &one_slow, &scattered], 0.0);
        assert_eq!(
            (found[0].count, found[1].count, found[1].max_s),
            (4, 3, 2.05)
        );
        // The same call is no spike among calls that scatter as widely.
        let wide = [1.0, 1.4, 0.6, 1.5];
        let found = kept(&[&wide, &one_slow, &wide], 0.0);
        assert_eq!(found[1].count, 4);
    }

    #[test]
    fn calls_that_come_again_and_hold_most_of_the_time_are_the_method() {
        let mut times = vec![1.0; 628];
        times.extend([800.0; 12]);
        let (all, some) = (histogram(&times).all(), kept(&[&times], 0.0)[0]);
        assert_eq!(some.count, 628, "by number they are spikes");
        assert!(are_the_method(&[some], &[all]));
        // One call alone is a spike, whatever it took.
        times.truncate(628);
        times.push(8000.0);
        let (all, some) = (histogram(&times).all(), kept(&[&times], 0.0)[0]);
        assert_eq!(some.count, 628);
        assert!(!are_the_method(&[some], &[all]));
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
    fn a_call_beyond_all_others_is_a_spike_among_calls_that_differ_by_factors() {
        // About 1 us, now and then 10 us; one was interrupted for 4 ms.
        let mut times: Vec<f64> = (0..1000).map(|i| 1e-6 * 1.002_f64.powi(i - 500)).collect();
        times.extend([1e-5; 3]);
        times.push(4e-3);
        assert_eq!(n_kept(&times), 1003);
    }

    #[test]
    fn a_call_far_beyond_a_slow_mode_is_a_spike() {
        let mut times: Vec<f64> = (0..100).map(|i| 42.0 + f64::from(i % 5)).collect();
        times.extend((0..16).map(|i| 80.0 + 3.0 * f64::from(i)));
        assert_eq!(n_kept(&times), 116, "as many as that are a mode");
        times.push(3671.0);
        let found = kept(&[&times], 0.0)[0];
        assert_eq!((found.count, found.max_s), (116, 125.0));
    }

    #[test]
    fn a_step_of_the_clock_is_no_spike() {
        // Calls of about 1 ns on a clock of 10 ns: 4 of 100 are read as one step more.
        let mut times = vec![1e-8; 96];
        times.extend([2e-8; 4]);
        assert_eq!(kept(&[&times], 1e-8)[0].count, 100);
        assert_eq!(kept(&[&times], 0.0)[0].count, 96, "without the step");
    }

    #[test]
    fn one_call_of_few_may_be_a_spike() {
        assert_eq!(n_kept(&[1.0, 1.02, 9.0]), 2);
        assert_eq!(n_kept(&[1.0, 9.0]), 2, "two tell no median");
        assert_eq!(n_kept(&[0.0, 0.0, 0.0]), 3);
        assert_eq!(n_kept(&[0.0, 0.0, 1.0]), 3, "of nothing all is far");
    }
}
