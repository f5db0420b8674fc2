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
//! The curve ties the sizes together, so that other sizes reveal a size all of whose calls were delayed. A mixture
//! without delayed calls is the plain model of log-normal scatter.
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

    /// Logarithm of the density of a call, and the probability that it is clean.
    fn weigh(&self, bin: &Summary, curve_s: f64, clock_step_s: f64) -> (f64, f64) {
        let [clean, held] = self.ln_densities(bin, curve_s, clock_step_s);
        if held == f64::NEG_INFINITY {
            return ((1.0 - self.share).ln() + clean, 1.0);
        }
        let (clean, held) = ((1.0 - self.share).ln() + clean, self.share.ln() + held);
        let largest = clean.max(held);
        let sum = (clean - largest).exp() + (held - largest).exp();
        (largest + sum.ln(), (clean - largest).exp() / sum)
    }

    /// Log-likelihood of all calls about a curve.
    pub fn ln_likelihood(&self, calls: &Calls<'_>, curve_s: &[f64]) -> f64 {
        let each = calls.each().map(|(row, bin)| {
            let (ln_density, _) = self.weigh(bin, curve_s[row], calls.clock_step_s);
            bin.count as f64 * ln_density
        });
        each.sum()
    }

    /// Probability that the calls of each bin are clean, shape of `calls`; 0 for bins with a time of 0.
    pub fn clean(&self, calls: &Calls<'_>, curve_s: &[f64]) -> Vec<Vec<f64>> {
        let probability = |(bins, &curve_s): (&Vec<Summary>, &f64)| {
            let of = |bin: &Summary| match bin.mean_s > 0.0 {
                true => self.weigh(bin, curve_s, calls.clock_step_s).1,
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
        for (row, bin) in calls.each() {
            let (count, curve_s) = (bin.count as f64, curve_s[row]);
            let (_, clean) = self.weigh(bin, curve_s, calls.clock_step_s);
            let off = (bin.mean_s / curve_s).ln();
            let within = bin.m2_s2 / (bin.mean_s * bin.mean_s);
            n_clean += count * clean;
            squares += clean * (count * off * off + within);
            if let Some(slower) = self.ln_speed() {
                let off = off - slower;
                n_slow += count * (1.0 - clean);
                sum_off += count * (1.0 - clean) * off;
                squares += (1.0 - clean) * (count * off * off + within);
            }
            if clean < 1.0 {
                held.push((
                    (bin.mean_s - curve_s) / self.unit_s(curve_s),
                    count * (1.0 - clean),
                ));
            }
        }
        self.scale = (squares / (n_clean + n_slow)).sqrt();
        if self.share == 0.0 {
            return;
        }
        let n_held: f64 = held.iter().map(|(_, n)| n).sum();
        let [of_held, of_all] = EXPECTED;
        self.share = (n_held + of_held) / (n_held + n_clean - 1.0 + of_all);
        if let Some(slower) = self.ln_speed() {
            self.delay = (slower + sum_off / (n_slow + DELAY_WORTH)).exp_m1();
            return;
        }
        for _ in 0..DELAY_STEPS {
            let far = held.iter().map(|(delay, n)| {
                let squared = (delay / self.delay).powi(2);
                n * 2.0 * squared / (1.0 + squared)
            });
            let ratio = (far.sum::<f64>() + DELAY_WORTH) / (n_held + DELAY_WORTH);
            self.delay *= ratio.sqrt();
        }
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
