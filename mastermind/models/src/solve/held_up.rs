//! Separates clean calls from calls that a busy machine delayed, as a mixture about a curve.
//!
//! In: the calls of each point and a curve through the points. Out: the probability that each call is clean, and the
//! likelihood of all calls under the mixture. With the curve `f`, the logarithm of a clean call is distributed as
//! `N(ln f, s²)`. A share `p` of the calls took `f + d`. The delay `d`, in seconds or as a share of `f`, whichever is
//! likelier, is log-logistic of shape 2:
//!
//! ```text
//! g(d) = (2/τ) (d/τ) / (1 + (d/τ)²)²        0 at 0, so that what is near the curve is scatter; a tail of d⁻³
//! ```
//!
//! Alternatively, the machine has two speeds: the logarithm of a share `p` of the calls is distributed as `N(ln f +
//! ln (1 + d), s²)`, with one `d` for all. Then every call locates the curve, slow calls after division by `1 + d`.
//!
//! The curve ties the sizes together, so that other sizes reveal a size all of whose calls were delayed. Calls of one
//! size follow each other and share what the machine does meanwhile, so all being delayed is one event, of probability
//! `q` for each size called more than once: its delays are either as those of other sizes, or have a level and a scatter
//! of their own. A mixture without delayed calls is the plain model of log-normal scatter.
//!
//! # Source
//! A.P. Dempster, N.M. Laird, D.B. Rubin, J. R. Statist. Soc. B 39 (1977) 1, for the steps (recalled, not looked up).
//! The densities are our own choice, after the median, Student's t, Huber's and trimmed means failed with 30 % of the
//! calls delayed and with all calls of one size in six delayed.

use std::f64::consts::{PI, SQRT_2};

use rayon::prelude::*;
use statrs::function::erf::erfc;

use crate::samples::sample::Summary;

/// Prior scatter of clean calls, as a logarithm; it has the weight of one call.
const EXPECTED_SCALE: f64 = 0.03;

/// Prior counts of delayed calls and of all calls.
const EXPECTED: [f64; 2] = [0.1, 2.0];

/// Steps that estimate the delay, within one step of the mixture.
const DELAY_STEPS: usize = 8;

/// Weight of the current delay in the estimate of the next one, in calls.
const DELAY_WORTH: f64 = 0.5;

/// Scales and shares of delayed calls to start from.
const SCALES: [f64; 3] = [0.015, 0.06, 0.25];
const SHARES: [f64; 2] = [0.06, 0.35];

/// The pair of scale and share that all curves are first compared with, and the number of curves that are then
/// compared with all pairs.
const ROUGH: [(f64, f64); 1] = [(SCALES[1], SHARES[1])];
const N_STARTS: usize = 12;

/// Excess over the curve, as a share of it, from which on a call contributes to the initial delay.
const EXCESS: f64 = 0.25;

/// Logarithm of the prior probability that all calls of a size were delayed. Without a price clean scatter is split in two.
const LN_ALL: f64 = -4.0;

/// Prior of delays of a size that have a level of their own, as logarithms of their ratio to the time of a clean call: mean and
/// standard deviation of the level, and the equally likely standard deviations of a call about it. Arbitrary: delays of a fifth of
/// the call to 20 times the call, equal or as different as those of other sizes.
const OWN_LEVEL: [f64; 2] = [0.7, 1.15];
const OWN_SCALES: [f64; 3] = [0.1, 0.3, 1.0];

/// Ratios of the variance between points to that of a call, each with its prior probability: most likely none.
const BETWEEN: [(f64, f64); 5] = [
    (0.0, 0.6),
    (0.1, 0.1),
    (1.0, 0.1),
    (10.0, 0.1),
    (100.0, 0.1),
];

/// The calls of each point, binned by time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls<'p> {
    /// Shape `[n_points][..]`; bins with a time of 0 are ignored.
    pub bins: &'p [Vec<Summary>],
    /// Step of the clock, seconds.
    pub clock_step_s: f64,
}

/// Centre of the clean calls of one point: their expected number, and the mean of their logarithms weighted by the
/// probability of being clean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Centre {
    /// Expected number of clean calls.
    pub n: f64,
    /// Mean logarithm; NaN without calls.
    pub ln_s: f64,
}

/// Parameters of the mixture: scatter of clean calls, share of delayed ones, and their delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mixture {
    /// Standard deviation of the logarithm of a clean call.
    pub scale: f64,
    /// Share of the calls that were delayed.
    pub share: f64,
    /// Their median delay: seconds, or a share of the curve.
    pub delay: f64,
    /// The model of delays.
    pub delays: Delays,
}

/// Models of delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delays {
    /// Seconds, independent of the call time.
    Seconds,
    /// A share of the curve: long calls are preempted more often.
    Share,
    /// The same share of the curve for all delayed calls: a second speed.
    Speed,
}

/// The number of calls of a bin, and the bin scaled to the speed of clean calls.
pub(crate) type Weighted = (f64, Summary);

impl Calls<'_> {
    /// Number of calls with a time above 0.
    pub fn count(&self) -> f64 {
        let bins = self.bins.iter().flatten().filter(|bin| bin.mean_s > 0.0);
        bins.map(|bin| bin.count as f64).sum()
    }

    /// Every bin with a time above 0, with the index of its point.
    fn each(&self) -> impl Iterator<Item = (usize, &Summary)> {
        let rows = self.bins.iter().enumerate();
        let each = rows.flat_map(|(row, bins)| bins.iter().map(move |bin| (row, bin)));
        each.filter(|(_, bin)| bin.mean_s > 0.0)
    }

    /// Lower quartile of the call times of each point; NaN where no call has a time above 0.
    pub fn lower_quartiles(&self) -> Vec<f64> {
        let quartile = |bins: &Vec<Summary>| {
            let bins = bins.iter().filter(|bin| bin.mean_s > 0.0);
            let n: u64 = bins.clone().map(|bin| bin.count).sum();
            let mut below = 0;
            let mut bins = bins.skip_while(|bin| {
                below += bin.count;
                4 * below < n
            });
            bins.next().map_or(f64::NAN, |bin| bin.mean_s)
        };
        self.bins.iter().map(quartile).collect()
    }

    /// The likeliest starting mixture about a curve among a few scales and shares, preceded by its log-likelihood.
    pub fn start(&self, curve_s: &[f64], some: &[Delays]) -> (f64, Mixture) {
        let scales = SCALES.iter();
        let all = scales.flat_map(|&scale| SHARES.map(|share| (scale, share)));
        self.likeliest(curve_s, some, &all.collect::<Vec<_>>())
    }

    /// The likeliest mixture about a curve among the given delay models, scales and shares.
    fn likeliest(&self, curve_s: &[f64], delays: &[Delays], some: &[(f64, f64)]) -> (f64, Mixture) {
        let usual_s = curve_s.iter().sum::<f64>() / curve_s.len() as f64;
        let mixtures = delays.iter().map(|&delays| Mixture {
            delay: match delays {
                Delays::Seconds => EXCESS * usual_s,
                Delays::Share | Delays::Speed => EXCESS,
            },
            delays,
            ..Mixture::none()
        });
        let likely = mixtures.into_iter().flat_map(|mixture| {
            let delay = self
                .median_excess(curve_s, &mixture)
                .unwrap_or(mixture.delay);
            some.iter().map(move |&(scale, share)| {
                let mixture = Mixture {
                    scale,
                    share,
                    delay,
                    ..mixture
                };
                (mixture.ln_likelihood(self, curve_s), mixture)
            })
        });
        likely.fold((f64::NEG_INFINITY, Mixture::none()), |a, b| {
            if b.0 > a.0 { b } else { a }
        })
    }

    /// Median delay of the calls that exceed a curve by more than [`EXCESS`], in the unit of the mixture's delays.
    fn median_excess(&self, curve_s: &[f64], mixture: &Mixture) -> Option<f64> {
        let mut excess: Vec<(f64, f64)> = self
            .each()
            .filter(|(row, bin)| bin.mean_s > (1.0 + EXCESS) * curve_s[*row])
            .map(|(row, bin)| {
                let each_s = bin.mean_s - curve_s[row];
                (each_s / mixture.unit_s(curve_s[row]), bin.count as f64)
            })
            .collect();
        excess.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let half = 0.5 * excess.iter().map(|(_, n)| n).sum::<f64>();
        let mut below = 0.0;
        let median = excess.iter().find(|(_, n)| {
            below += n;
            below >= half
        });
        median.map(|(delay, _)| *delay)
    }
}

impl Mixture {
    /// The mixture without delayed calls.
    pub fn none() -> Self {
        Self {
            scale: EXPECTED_SCALE,
            share: 0.0,
            delay: 1.0,
            delays: Delays::Seconds,
        }
    }

    /// Unit of the delays, seconds.
    pub fn unit_s(&self, curve_s: f64) -> f64 {
        match self.delays {
            Delays::Seconds => 1.0,
            Delays::Share | Delays::Speed => curve_s,
        }
    }

    /// Whether the two speeds of the mixture differ by no more than the scatter of clean calls allows.
    pub fn is_scatter(&self) -> bool {
        self.delays == Delays::Speed && self.delay < EXCESS
    }

    /// Logarithm of the ratio of slow to clean call times; `None` without a second speed.
    fn ln_speed(&self) -> Option<f64> {
        (self.delays == Delays::Speed).then(|| self.delay.ln_1p())
    }

    /// The calls that locate the curve, weighted by their probability of being clean, shape of `calls`.
    pub fn weighted(&self, calls: &Calls<'_>, clean: &[Vec<f64>]) -> Vec<Vec<Weighted>> {
        let slower = self.ln_speed().map(f64::exp);
        let of = |(bins, clean): (&Vec<Summary>, &Vec<f64>)| {
            let mut weighted: Vec<Weighted> = Vec::with_capacity(bins.len());
            for (&bin, &clean) in bins.iter().zip(clean).filter(|(bin, _)| bin.mean_s > 0.0) {
                let n = bin.count as f64;
                weighted.push((clean * n, bin));
                let slow = slower.filter(|_| clean < 1.0);
                weighted.extend(slow.map(|slower| ((1.0 - clean) * n, bin.times(slower.recip()))));
            }
            weighted.sort_by(|(_, a), (_, b)| a.mean_s.total_cmp(&b.mean_s));
            weighted
        };
        calls.bins.iter().zip(clean).map(of).collect()
    }

    /// Variance of the logarithm of a clean call about the curve, including the clock's step: its quantization adds a
    /// sixth of the step's square.
    fn variance(&self, curve_s: f64, clock_step_s: f64) -> f64 {
        self.scale * self.scale + (clock_step_s / curve_s).powi(2) / 6.0
    }

    /// Log-densities, on the logarithmic scale, of a call if it is clean and if it is delayed.
    fn ln_densities(&self, bin: &Summary, curve_s: f64, clock_step_s: f64) -> [f64; 2] {
        let variance = self.variance(curve_s, clock_step_s);
        let off = (bin.mean_s / curve_s).ln();
        let within = bin.m2_s2 / (bin.count as f64 * bin.mean_s * bin.mean_s);
        let normal =
            |off: f64| -0.5 * ((2.0 * PI * variance).ln() + (off * off + within) / variance);
        let clean = normal(off);
        if let Some(slower) = self.ln_speed().filter(|_| self.share > 0.0) {
            return [clean, normal(off - slower)];
        }
        let scale_s = self.delay * self.unit_s(curve_s);
        let delay = (bin.mean_s - curve_s) / scale_s;
        if delay <= 0.0 || self.share == 0.0 {
            return [clean, f64::NEG_INFINITY];
        }
        let density = 2.0 * delay / (1.0 + delay * delay).powi(2) / scale_s * bin.mean_s;
        // Probability that a clean call would be shorter than this one.
        let above = 0.5 * erfc(-off / variance.sqrt() / SQRT_2);
        [clean, (density * above).ln()]
    }

    /// Logarithm of the density of a call, and the probability that it is clean, given that not all calls of its point
    /// were delayed.
    fn weigh(&self, bin: &Summary, curve_s: f64, clock_step_s: f64) -> (f64, f64) {
        let [clean, held] = self.ln_densities(bin, curve_s, clock_step_s);
        if held == f64::NEG_INFINITY {
            return ((1.0 - self.share).ln() + clean, 1.0);
        }
        let (clean, held) = ((1.0 - self.share).ln() + clean, self.share.ln() + held);
        let sum = ln_sum(clean, held);
        (sum, (clean - sum).exp())
    }

    /// Weighs the calls of a point together, since all of them may have been delayed at once.
    fn point(&self, bins: &[Summary], curve_s: f64, clock_step_s: f64) -> OfPoint {
        let (mut each, mut all, mut n) = (0.0, 0.0, 0.0);
        let mut own = OwnLevel::default();
        for bin in bins.iter().filter(|bin| bin.mean_s > 0.0) {
            let [clean, held] = self.ln_densities(bin, curve_s, clock_step_s);
            let count = bin.count as f64;
            each += count * ln_sum((1.0 - self.share).ln() + clean, self.share.ln() + held);
            all += count * held;
            own.take(bin, curve_s);
            n += count;
        }
        if n < 2.0 || self.share == 0.0 {
            return OfPoint {
                ln_density: each,
                some_clean: 1.0,
                own: 0.0,
            };
        }
        // Of the configurations of single calls, the one in which all are delayed has its own probability.
        let ratio = (all + n * self.share.ln() - each).min(0.0).exp();
        let some = each + (-ratio).ln_1p();
        let of_own = match self.delays {
            Delays::Speed => f64::NEG_INFINITY,
            _ => own.ln_density(),
        };
        let ln_all = ln_sum(all, of_own) - 2_f64.ln();
        let (some, every) = (some + (-LN_ALL.exp()).ln_1p(), ln_all + LN_ALL);
        let ln_density = ln_sum(some, every);
        OfPoint {
            ln_density,
            some_clean: (each + (-LN_ALL.exp()).ln_1p() - ln_density).exp(),
            own: (of_own - 2_f64.ln() + LN_ALL - ln_density).exp(),
        }
    }

    /// Log-likelihood of all calls about a curve.
    pub fn ln_likelihood(&self, calls: &Calls<'_>, curve_s: &[f64]) -> f64 {
        let points = calls.bins.iter().zip(curve_s);
        let points = points.map(|(bins, &curve_s)| self.point(bins, curve_s, calls.clock_step_s));
        points.map(|point| point.ln_density).sum()
    }

    /// Probability that the calls of each bin are clean, shape of `calls`; 0 for bins with a time of 0.
    pub fn clean(&self, calls: &Calls<'_>, curve_s: &[f64]) -> Vec<Vec<f64>> {
        let probability = |(bins, &curve_s): (&Vec<Summary>, &f64)| {
            let point = self.point(bins, curve_s, calls.clock_step_s);
            let of = |bin: &Summary| match bin.mean_s > 0.0 {
                true => point.some_clean * self.weigh(bin, curve_s, calls.clock_step_s).1,
                false => 0.0,
            };
            bins.iter().map(of).collect()
        };
        calls.bins.iter().zip(curve_s).map(probability).collect()
    }

    /// One step of expectation-maximization about a curve: updates scale, share and delay. A share of 0 stays 0.
    pub fn step(&mut self, calls: &Calls<'_>, curve_s: &[f64]) {
        let (mut n_clean, mut squares) = (1.0, EXPECTED_SCALE * EXPECTED_SCALE);
        let (mut n_slow, mut sum_off) = (0.0, 0.0);
        let mut held: Vec<(f64, f64)> = Vec::new();
        let points = calls.bins.iter().zip(curve_s);
        let points: Vec<OfPoint> = points
            .map(|(bins, &curve_s)| self.point(bins, curve_s, calls.clock_step_s))
            .collect();
        for (row, bin) in calls.each() {
            let (count, curve_s, point) = (bin.count as f64, curve_s[row], &points[row]);
            let (_, clean) = self.weigh(bin, curve_s, calls.clock_step_s);
            let clean = clean * point.some_clean;
            // Delays with a level of their own say nothing about those of other sizes.
            let delayed = 1.0 - clean - point.own;
            let off = (bin.mean_s / curve_s).ln();
            let within = bin.m2_s2 / (bin.mean_s * bin.mean_s);
            n_clean += count * clean;
            squares += clean * (count * off * off + within);
            if let Some(slower) = self.ln_speed() {
                let off = off - slower;
                n_slow += count * delayed;
                sum_off += count * delayed * off;
                squares += delayed * (count * off * off + within);
            }
            if delayed > 0.0 {
                let delay = (bin.mean_s - curve_s) / self.unit_s(curve_s);
                held.push((delay, count * delayed));
            }
        }
        self.scale = (squares / (n_clean + n_slow)).sqrt();
        if self.share == 0.0 {
            return;
        }
        self.share = share(&held, n_clean - 1.0);
        match self.ln_speed() {
            Some(slower) => self.delay = (slower + sum_off / (n_slow + DELAY_WORTH)).exp_m1(),
            None => self.delay = median_delay(&held, self.delay),
        }
    }
}

/// Share of delayed calls, of which a few are expected.
///
/// # Arguments
/// * `held` - delay and expected number of each
/// * `n_clean` - expected number of clean calls
pub(crate) fn share(held: &[(f64, f64)], n_clean: f64) -> f64 {
    let n_held: f64 = held.iter().map(|(_, n)| n).sum();
    let [of_held, of_all] = EXPECTED;
    (n_held + of_held) / (n_held + n_clean + of_all)
}

/// Median of log-logistic delays, with one as a start and as half an observation.
///
/// # Arguments
/// * `held` - as for [`share`]
pub(crate) fn median_delay(held: &[(f64, f64)], mut delay: f64) -> f64 {
    let n_held: f64 = held.iter().map(|(_, n)| n).sum();
    for _ in 0..DELAY_STEPS {
        let far = held.iter().map(|(each, n)| {
            let squared = (each / delay).powi(2);
            n * 2.0 * squared / (1.0 + squared)
        });
        let ratio = (far.sum::<f64>() + DELAY_WORTH) / (n_held + DELAY_WORTH);
        delay *= ratio.sqrt();
    }
    delay
}

/// The calls of a point under a mixture.
struct OfPoint {
    /// Logarithm of their density.
    ln_density: f64,
    /// Probability that not all were delayed.
    some_clean: f64,
    /// Probability that all were, with a level of their own.
    own: f64,
}

/// Sums over the delays of a point for a level of their own.
#[derive(Default)]
struct OwnLevel {
    n: f64,
    /// Of `ln (d / f)` and its square.
    sums: [f64; 2],
    /// Of `ln (t / d)`, from densities of the delay to those of the time, both as logarithms.
    jacobian: f64,
    has_none: bool,
}

impl OwnLevel {
    fn take(&mut self, bin: &Summary, curve_s: f64) {
        let delay_s = bin.mean_s - curve_s;
        self.has_none |= delay_s <= 0.0;
        if self.has_none {
            return;
        }
        let (n, off) = (bin.count as f64, (delay_s / curve_s).ln());
        let within = bin.m2_s2 / (delay_s * delay_s);
        self.n += n;
        self.sums = [
            self.sums[0] + n * off,
            self.sums[1] + n * off * off + within,
        ];
        self.jacobian += n * (bin.mean_s / delay_s).ln();
    }

    /// Logarithm of the density of the calls, level and scatter integrated out; no delays shorter than [`EXCESS`] on
    /// average, which formulas leave too.
    fn ln_density(&self) -> f64 {
        let ([mean, deviation], n) = (OWN_LEVEL, self.n);
        let centre = self.sums[0] / n;
        if self.has_none || centre < EXCESS.ln() {
            return f64::NEG_INFINITY;
        }
        let squares = (self.sums[1] - n * centre * centre).max(0.0);
        let of = |scale: f64| {
            let (each, level) = (scale * scale, deviation * deviation);
            let together = level + each / n;
            -0.5 * ((n - 1.0) * (2.0 * PI * each).ln()
                + n.ln()
                + squares / each
                + (2.0 * PI * together).ln()
                + (centre - mean).powi(2) / together)
        };
        let densities = OWN_SCALES.map(of).into_iter();
        let sum = densities.fold(f64::NEG_INFINITY, ln_sum);
        sum - (OWN_SCALES.len() as f64).ln() + self.jacobian
    }
}

/// Logarithm of the sum of two numbers given by their logarithms.
fn ln_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    match low == f64::NEG_INFINITY {
        true => high,
        false => high + (low - high).exp().ln_1p(),
    }
}

/// The centre of the clean calls of each point.
pub(crate) fn centres(weighted: &[Vec<Weighted>]) -> Vec<Centre> {
    let centre = |bins: &Vec<Weighted>| {
        let n = bins.iter().map(|(n, _)| n).sum();
        let sum: f64 = bins.iter().map(|(n, bin)| n * bin.mean_s.ln()).sum();
        Centre { n, ln_s: sum / n }
    };
    weighted.iter().map(centre).collect()
}

/// A curve between the centres and a formula, and its cost. The curve approaches each centre as far as the centre
/// deviates from the formula by more than its calls explain. The cost is what the log-likelihood of the calls about
/// the curve lacks for that deviation.
///
/// # Arguments
/// * `scale` - standard deviation of the logarithm of a call
/// * `formula_s` - times of the formula, shape `[n_points]`
pub(crate) fn between(centres: &[Centre], scale: f64, formula_s: &[f64]) -> (Vec<f64>, f64) {
    let off = |(centre, formula_s): (&Centre, &f64)| match centre.n > 0.0 {
        true => centre.ln_s - formula_s.ln(),
        false => 0.0,
    };
    let off: Vec<f64> = centres.iter().zip(formula_s).map(off).collect();
    // `share` is how far the curve moves from the formula to the centre.
    let cost = |ratio: f64, prior: f64, is_about_curve: bool| {
        let each = centres.iter().zip(&off).map(|(centre, off)| {
            let share = toward(centre, ratio);
            let left = if is_about_curve { share } else { 1.0 };
            0.5 * ((centre.n * ratio).ln_1p()
                + left * (1.0 - share) * centre.n * (off / scale).powi(2))
        });
        each.sum::<f64>() - prior.ln()
    };
    let costs = BETWEEN.map(|(ratio, prior)| (cost(ratio, prior, false), ratio, prior));
    let [first, ..] = costs;
    let likelier = |a: (f64, f64, f64), b: (f64, f64, f64)| if b.0 < a.0 { b } else { a };
    let (_, ratio, prior) = costs.into_iter().fold(first, likelier);
    let curve = formula_s.iter().zip(centres).zip(&off);
    let curve = curve.map(|((f, centre), off)| f * (off * toward(centre, ratio)).exp());
    (curve.collect(), cost(ratio, prior, true))
}

/// Share of the distance from the formula to a centre that is due to the point, for a ratio of the variance between
/// points to that of a call.
fn toward(centre: &Centre, ratio: f64) -> f64 {
    centre.n * ratio / (1.0 + centre.n * ratio)
}

/// Maximum number of points that curves are laid through, two at a time.
const MAX_PLACES: usize = 10;

/// Maximum number of points at which curves are compared.
const MAX_COMPARED: usize = 40;

/// Powers and logarithms of the curves that are laid through two points.
const SHAPES: [(f64, i32); 10] = [
    (0.0, 1),
    (0.5, 0),
    (1.0, 0),
    (1.0, 1),
    (1.5, 0),
    (2.0, 0),
    (3.0, 0),
    (-0.5, 0),
    (-1.0, 0),
    (-2.0, 0),
];

/// The likeliest curve with its mixture, among `a + b g(x)` through the lower quartiles of two points and constants
/// through one. A size all of whose calls were delayed misleads only the curves through it. `None` if no curve is
/// positive.
///
/// # Arguments
/// * `x` - values of the only parameter that varies, shape `[n_points]`
/// * `delays` - delay models to consider
pub(crate) fn likeliest_start(
    calls: &Calls<'_>,
    x: &[f64],
    delays: &[Delays],
) -> Option<(Vec<f64>, Mixture)> {
    let quartiles = calls.lower_quartiles();
    let mut order: Vec<usize> = (0..x.len()).filter(|&i| quartiles[i] > 0.0).collect();
    order.sort_by(|&i, &j| x[i].total_cmp(&x[j]));
    let spread = |most: usize| -> Vec<usize> {
        let n = order.len().min(most);
        let last = (n.max(2) - 1) as f64;
        let step = (order.len().max(1) - 1) as f64 / last;
        (0..n)
            .map(|k| order[(k as f64 * step).round() as usize])
            .collect()
    };
    let (places, compared) = (spread(MAX_PLACES), spread(MAX_COMPARED));
    let bins: Vec<Vec<Summary>> = compared.iter().map(|&i| calls.bins[i].clone()).collect();
    let some = Calls {
        bins: &bins,
        ..*calls
    };
    let offer = |(coefficients, shape): ([f64; 2], (f64, i32))| {
        let value = |&i: &usize| coefficients[0] + coefficients[1] * product(shape, x[i]);
        let curve: Vec<f64> = compared.iter().map(value).collect();
        let is_positive = |f: &f64| *f > 0.0 && f.is_finite();
        if !curve.iter().all(is_positive) || !order.iter().map(value).all(|f| is_positive(&f)) {
            return None;
        }
        let rough = some.likeliest(&curve, delays, &ROUGH);
        Some((rough.0, coefficients, shape))
    };
    let mut offered = Vec::new();
    for (k, &i) in places.iter().enumerate() {
        offered.push(([quartiles[i], 0.0], (1.0, 0)));
        for &j in &places[k + 1..] {
            for shape in SHAPES {
                let slope =
                    (quartiles[j] - quartiles[i]) / (product(shape, x[j]) - product(shape, x[i]));
                let first = quartiles[i] - slope * product(shape, x[i]);
                offered.push(([first, slope], shape));
            }
        }
    }
    let mut found: Vec<_> = offered.into_par_iter().filter_map(offer).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let curves = found
        .par_iter()
        .take(N_STARTS)
        .filter_map(|&(_, [a, b], shape)| {
            let curve: Vec<f64> = x.iter().map(|&x| a + b * product(shape, x)).collect();
            let is_positive = curve.iter().all(|f| *f > 0.0 && f.is_finite());
            is_positive.then(|| {
                (
                    some.start(
                        &compared.iter().map(|&i| curve[i]).collect::<Vec<_>>(),
                        delays,
                    ),
                    curve,
                )
            })
        });
    let curves: Vec<_> = curves.collect();
    let best = curves
        .into_iter()
        .reduce(|a, b| if b.0.0 > a.0.0 { b } else { a });
    best.map(|((_, mixture), curve)| (curve, mixture))
}

fn product((power, logarithm): (f64, i32), x: f64) -> f64 {
    match logarithm {
        0 => x.powf(power),
        _ => x.powf(power) * x.log2().powi(logarithm),
    }
}
