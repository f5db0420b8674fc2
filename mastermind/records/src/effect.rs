//! How much longer calls take in one run than in another, at equal parameters.
//!
//! ```text
//! effect   = ln( Σ n(x) m2(x) / Σ n(x) m1(x) )       over the parameters x that both runs have
//! m1, m2   median time of the calls at x in the first and in the second run
//! n(x)     the smaller of the two numbers of calls at x
//! ```
//!
//! Consecutive calls share the state of the machine, so their own spread underestimates the error. Each run is cut into
//! [`N_BLOCKS`] blocks of consecutive calls, and the effect is estimated again without each block. The variation of
//! these estimates gives the standard error (the delete-a-block jackknife), and Student's distribution gives the
//! interval.
//!
//! Blocks do not show a shift that holds for a whole run, such as another state of the machine. The other methods show
//! it ([`crate::state`]).
//!
//! A verdict requires the whole interval on one side of a margin of 5 %.
//!
//! With few blocks, Student's quantile reaches 64, and intervals span thirty orders of magnitude. An end farther than
//! [`MAX_HALF`] from the estimate carries no information and counts as unknown. The other end is then unknown too,
//! unless it excludes zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Number of blocks of a run.
const N_BLOCKS: usize = 10;

/// Minimum number of calls of a method in a run, at common parameters, for an interval.
const MIN_CALLS: usize = 2 * N_BLOCKS;

/// Maximum number of calls per method and log in memory; of more calls, every second, every fourth and so on is kept.
const MAX_KEPT: usize = 1 << 17;

/// Probability, 0 to 1, with which the interval of an [`Effect`] contains the true change.
pub const LEVEL: f64 = 0.99;

/// Cost of measuring a call, which varies between runs, nanoseconds: a smaller difference is not one of the call.
const MEASURING_NS: f64 = 25.0;

/// Maximum distance of an end from the estimate, as a logarithm: a factor of ten. Ends beyond it count as unknown.
/// Arbitrary.
const MAX_HALF: f64 = std::f64::consts::LN_10;

/// How much longer a call takes in the second run at equal parameters, percent: 100 is twice as long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The estimate.
    pub percent: f64,
    /// Lower end of the interval that contains it with probability [`LEVEL`]; `None` if the runs do not give one.
    pub lower_percent: Option<f64>,
    /// Upper end, likewise.
    pub upper_percent: Option<f64>,
}

impl Effect {
    /// Effect and interval, from logarithms.
    ///
    /// An end farther than [`MAX_HALF`] from `log` is unknown. The other end is then known only if it excludes zero:
    /// calls became longer (or shorter) by at least that much.
    pub(crate) fn between(log: f64, lower: f64, upper: f64) -> Self {
        let percent = |log: f64| 100.0 * log.exp_m1();
        let is_wide = f64::max(log - lower, upper - log) > MAX_HALF;
        Self {
            percent: percent(log),
            lower_percent: (!is_wide || lower > 0.0).then(|| percent(lower)),
            upper_percent: (!is_wide || upper < 0.0).then(|| percent(upper)),
        }
    }

    /// Whether the runs give at least one end of the interval.
    pub fn has_interval(&self) -> bool {
        self.lower_percent.or(self.upper_percent).is_some()
    }
}

/// The effect as estimated from the calls of the method alone, as a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// The estimate.
    pub(crate) log: f64,
    /// Half the width of the interval that contains it with probability [`LEVEL`].
    pub(crate) half: f64,
    /// The quantile of Student's distribution for that width.
    pub(crate) quantile: f64,
}

impl Estimate {
    /// Standard error.
    pub(crate) fn deviation(&self) -> f64 {
        self.half / self.quantile
    }
}

/// Times of the calls of one method in one run, in the order of their ends.
///
/// The calls of all logs follow one another: with a hundred thousand ranks, each log has a call or two.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Calls {
    /// Hash of the parameters and time in nanoseconds of each call, log by log.
    calls: Vec<(u64, f64)>,
    /// Number of these calls in each log.
    lengths: Vec<usize>,
    /// Calls of the log that was begun last.
    latest: Option<Thinned>,
}

/// Calls of one log, thinned out where there are many.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Thinned {
    /// As in [`Calls`].
    calls: Vec<(u64, f64)>,
    /// One call out of this many is kept.
    stride: usize,
    seen: usize,
}

impl Thinned {
    fn add(&mut self, parameters: u64, ns: f64) {
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            self.calls.push((parameters, ns));
        }
        self.seen += 1;
        if self.calls.len() > MAX_KEPT {
            let mut place = 0;
            self.calls.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

impl Calls {
    /// Begins another log, or another path of one.
    pub(crate) fn begin(&mut self) {
        self.end_latest();
        self.latest = Some(Thinned::default());
    }

    /// Appends the calls of the log that was begun last to those of the others.
    fn end_latest(&mut self) {
        if let Some(latest) = self.latest.take() {
            self.lengths.push(latest.calls.len());
            match self.calls.is_empty() {
                true => self.calls = latest.calls,
                false => self.calls.extend(latest.calls),
            }
        }
    }

    /// Adds a call to the log that was begun last.
    ///
    /// # Arguments
    /// * `parameters` - a hash of the words of its parameters
    /// * `ns` - its time
    pub(crate) fn add(&mut self, parameters: u64, ns: f64) {
        if let Some(log) = &mut self.latest {
            log.add(parameters, ns);
        }
    }

    /// Adds those of another call path, or of later logs.
    pub(crate) fn merge(&mut self, mut other: Calls) {
        self.end_latest();
        other.end_latest();
        match self.lengths.is_empty() {
            true => *self = other,
            false => {
                self.calls.extend(other.calls);
                self.lengths.extend(other.lengths);
            }
        }
    }

    /// The times by parameters, each with its block. Ordered by parameters, so that sums over them are reproducible.
    fn by_parameters(&self) -> BTreeMap<u64, Vec<(usize, f64)>> {
        let mut all = BTreeMap::<u64, Vec<(usize, f64)>>::new();
        let mut add = |calls: &[(u64, f64)]| {
            let n = calls.len().max(1);
            for (place, (parameters, ns)) in calls.iter().enumerate() {
                let block = place * N_BLOCKS / n;
                all.entry(*parameters).or_default().push((block, *ns));
            }
        };
        let mut rest = &self.calls[..];
        for n in &self.lengths {
            let (of_log, later) = rest.split_at_checked(*n).unwrap_or((rest, &[]));
            add(of_log);
            rest = later;
        }
        self.latest.iter().for_each(|latest| add(&latest.calls));
        all.values_mut()
            .for_each(|calls| calls.sort_by(|a, b| a.1.total_cmp(&b.1)));
        all
    }
}

/// Times at one set of parameters that both runs have: ascending, each with its block.
struct Common {
    sides: [Vec<(usize, f64)>; 2],
}

impl Common {
    /// Median of the times of a side, without one of its blocks.
    fn median(&self, side: usize, without: Option<usize>) -> Option<f64> {
        let calls = &self.sides[side];
        let left = || calls.iter().filter(|(block, _)| Some(*block) != without);
        let n = left().count();
        let mut middle = left().skip(n.saturating_sub(1) / 2).map(|(_, ns)| *ns);
        let low = middle.next()?;
        Some(match n % 2 {
            0 => 0.5 * (low + middle.next().unwrap_or(low)),
            _ => low,
        })
    }
}

/// Estimates the effect of the second run against the first.
///
/// # Arguments
/// * `step_ns` - step of the clock: a median is off by up to that much, in all blocks alike
///
/// # Returns
/// `None` if too few calls have parameters that both runs have.
pub(crate) fn estimate(first: &Calls, second: &Calls, step_ns: f64) -> Option<Estimate> {
    let (mut first, second) = (first.by_parameters(), second.by_parameters());
    let common = second.into_iter().filter_map(|(parameters, second)| {
        let first = first.remove(&parameters)?;
        let sides = [first, second];
        Some(Common { sides })
    });
    let common: Vec<Common> = common.collect();
    let calls = |side: usize| common.iter().map(|at| at.sides[side].len()).sum::<usize>();
    if calls(0).min(calls(1)) < MIN_CALLS {
        return None;
    }
    let whole = log_ratio(&common, [None, None])?;
    let (mut variance, mut freedom) = (0.0, 0.0);
    for side in 0..2 {
        let (of_side, blocks) = jackknife(&common, side)?;
        variance += of_side;
        freedom += of_side * of_side / (blocks as f64 - 1.0);
    }
    // Welch and Satterthwaite's degrees of freedom.
    let freedom = match freedom > 0.0 {
        true => variance * variance / freedom,
        false => N_BLOCKS as f64 - 1.0,
    };
    let student = StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok()?;
    let quantile = student.inverse_cdf(0.5 + 0.5 * LEVEL);
    let half = quantile * variance.sqrt() + (step_ns + MEASURING_NS) / mean_median(&common);
    Some(Estimate {
        log: whole,
        half,
        quantile,
    })
}

/// Mean over the calls of the shorter median at their parameters, nanoseconds.
fn mean_median(common: &[Common]) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for at in common {
        let medians = [0, 1].map(|side| at.median(side, None));
        let calls = at.sides[0].len().min(at.sides[1].len()) as f64;
        if let [Some(first), Some(second)] = medians {
            sum += calls * f64::min(first, second);
            n += calls;
        }
    }
    sum / n
}

/// The effect without one block of each side, as a logarithm.
fn log_ratio(common: &[Common], without: [Option<usize>; 2]) -> Option<f64> {
    let mut sums = [0.0; 2];
    for at in common {
        let medians = [0, 1].map(|side| at.median(side, without[side]));
        let [Some(first), Some(second)] = medians else {
            continue;
        };
        let n = at.sides[0].len().min(at.sides[1].len()) as f64;
        sums[0] += n * first;
        sums[1] += n * second;
    }
    let ratio = sums[1] / sums[0];
    (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln())
}

/// Variance of the effect from its values without each block of a side, and the number of blocks.
///
/// # Source
/// Künsch, *The jackknife and the bootstrap for general stationary observations*, Annals of Statistics 17 (1989); here
/// with blocks that do not overlap.
fn jackknife(common: &[Common], side: usize) -> Option<(f64, usize)> {
    let mut found = Vec::new();
    for block in 0..N_BLOCKS {
        let holds = |at: &Common| at.sides[side].iter().any(|(of, _)| *of == block);
        if common.iter().any(holds) {
            let mut without = [None; 2];
            without[side] = Some(block);
            found.push(log_ratio(common, without)?);
        }
    }
    let n = found.len() as f64;
    if found.len() < 2 {
        return None;
    }
    let mean = found.iter().sum::<f64>() / n;
    let squares: f64 = found.iter().map(|x| (x - mean).powi(2)).sum();
    Some(((n - 1.0) / n * squares, found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state;

    /// The effect of two runs of one method.
    fn effect(first: &Calls, second: &Calls, step_ns: f64) -> Option<Effect> {
        state::effects(&[estimate(first, second, step_ns)])[0]
    }

    fn ends(effect: Effect) -> (f64, f64) {
        (effect.lower_percent.unwrap(), effect.upper_percent.unwrap())
    }

    /// Numbers between 0 and 1, the same in every run of the test.
    fn noise(seed: u64) -> f64 {
        let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 11;
        mixed as f64 / (1u64 << 53) as f64
    }

    /// A run: three sizes, a tenth of noise, one call in fifty ten times as long, stretches of calls 60 % slower.
    fn run(seed: u64, factor: f64, n: u64) -> Calls {
        let mut calls = Calls::default();
        calls.begin();
        for call in 0..n {
            let random = |of: u64| noise(seed * 1_000_003 + call * 7 + of);
            let size = call % 3;
            let slow = noise(seed * 31 + call / 40) < 0.3;
            let spike = if random(1) < 0.02 { 10.0 } else { 1.0 };
            let state = if slow { 1.6 } else { 1.0 };
            let ns = 1000.0 * (size + 1) as f64 * factor * state * spike;
            calls.add(size, ns * (1.0 + 0.1 * random(2)));
        }
        calls
    }

    #[test]
    fn an_interval_holds_the_effect_about_as_often_as_it_says() {
        for percent in [0.0, 40.0] {
            let holds = (0..100).filter(|seed| {
                let second = run(2 * seed + 1, 1.0 + percent / 100.0, 3000);
                let effect = effect(&run(2 * seed, 1.0, 3000), &second, 0.0).unwrap();
                let (lower, upper) = ends(effect);
                (lower..=upper).contains(&percent)
            });
            let holds = holds.count();
            assert!(holds >= 95, "{holds} of 100 at {percent} %");
        }
    }

    #[test]
    fn what_is_far_apart_is_distinguished_in_spite_of_spikes() {
        for seed in 0..20 {
            let effect = effect(&run(seed, 1.0, 3000), &run(seed + 100, 2.0, 3000), 0.0).unwrap();
            assert!(ends(effect).0 > 20.0, "{effect:?}");
            assert!((60.0..150.0).contains(&effect.percent), "{effect:?}");
        }
    }

    #[test]
    fn only_equal_parameters_are_compared() {
        let mut other = Calls::default();
        other.begin();
        (0..3000).for_each(|_| other.add(7, 1.0));
        assert_eq!(effect(&run(1, 1.0, 3000), &other, 0.0), None);
        // A second, ten times larger size that the first run lacks changes nothing.
        let mut more = run(2, 1.0, 3000);
        more.begin();
        (0..3000).for_each(|_| more.add(8, 1e6));
        let effect = effect(&run(1, 1.0, 3000), &more, 0.0).unwrap();
        assert!(effect.percent.abs() < 20.0, "{effect:?}");
    }

    #[test]
    fn a_clock_that_steps_shows_no_difference_of_a_step() {
        let at = |ns: f64| {
            let mut calls = Calls::default();
            calls.begin();
            (0..1000).for_each(|_| calls.add(1, ns));
            calls
        };
        let effect = effect(&at(30.0), &at(20.0), 10.0).unwrap();
        let (lower, upper) = ends(effect);
        assert!(lower < -50.0 && upper > 5.0, "{effect:?}");
    }

    /// Calls of one size whose first half takes 1 µs and whose second half takes `factor` µs.
    fn halves(factor: f64) -> Calls {
        let mut calls = Calls::default();
        calls.begin();
        (0..20).for_each(|call| calls.add(1, if call < 10 { 1e3 } else { 1e3 * factor }));
        calls
    }

    #[test]
    fn an_interval_over_orders_of_magnitude_is_unknown() {
        let wide = effect(&halves(1.0), &halves(1e6), 0.0).unwrap();
        assert_eq!((wide.lower_percent, wide.upper_percent), (None, None));
        assert!(wide.percent.is_finite() && !wide.has_interval());
        // As wide, but still longer: one end is known.
        let longer = Effect::between(8.0, 3.0, 13.0);
        assert!(longer.lower_percent.unwrap() > 1800.0 && longer.upper_percent.is_none());
        let shorter = Effect::between(-8.0, -13.0, -3.0);
        assert!(shorter.upper_percent.unwrap() < -90.0 && shorter.lower_percent.is_none());
    }

    #[test]
    fn few_calls_show_nothing_and_many_are_thinned() {
        assert_eq!(effect(&run(1, 1.0, 10), &run(2, 1.0, 3000), 0.0), None);
        let mut calls = Calls::default();
        calls.begin();
        (0..5 * MAX_KEPT).for_each(|_| calls.add(1, 10.0));
        assert!((MAX_KEPT / 2..=MAX_KEPT + 1).contains(&calls.by_parameters()[&1].len()));
    }
}
