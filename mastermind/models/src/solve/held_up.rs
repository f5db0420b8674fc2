//! Calls that a busy machine held up, as a mixture about a curve.
//!
//! In: the calls of each point and a curve through the points. Out: how likely each call is to be clean, and how likely the mixture
//! makes all calls. With `l = ln t` and the curve `f` clean calls are `N(ln f, s²)`; a share `p` of the calls took `f + d`, where the
//! delay `d`, in seconds or as a share of `f`, whichever is likelier, is log-logistic of shape 2:
//!
//! ```text
//! g(d) = (2/τ) (d/τ) / (1 + (d/τ)²)²        0 at 0, so that what is near the curve is scatter; a tail of d⁻³
//! ```
//!
//! Or the machine has two speeds, and the share `p` took `N(ln f + ln (1 + d), s²)` with one `d` for all: then every call says where the
//! curve is, the slow ones divided by `1 + d`.
//!
//! The delay is added; the curve ties the sizes together, so that a size whose calls
//! were all held up is seen by the others. A mixture without held-up calls is the plain model of log-normal scatter.
//!
//! # Source
//! A.P. Dempster, N.M. Laird, D.B. Rubin, J. R. Statist. Soc. B 39 (1977) 1, for the steps (recalled, not looked up); the densities
//! are own choice, after median, Student's t, Huber's and trimmed means had failed on calls held up at 30 % and at one size of six.

use std::f64::consts::{PI, SQRT_2};

use rayon::prelude::*;
use statrs::function::erf::erfc;

use crate::samples::sample::Summary;

/// Scatter of clean calls, as a logarithm, that is expected before any is seen, worth one call.
const EXPECTED_SCALE: f64 = 0.03;

/// Held-up calls and calls that are expected before any is seen.
const EXPECTED: [f64; 2] = [0.1, 2.0];

/// Steps of the estimate of a delay within one of the mixture.
const DELAY_STEPS: usize = 8;

/// What the calls of a delay are expected to be worth: half a call at the delay that is known.
const DELAY_WORTH: f64 = 0.5;

/// Scales, and shares held up, that a start is looked for with.
const SCALES: [f64; 3] = [0.015, 0.06, 0.25];
const SHARES: [f64; 2] = [0.06, 0.35];

/// The one of them that curves are compared with first, and how many curves all of them are.
const ROUGH: [(f64, f64); 1] = [(SCALES[1], SHARES[1])];
const N_STARTS: usize = 12;

/// Excess from which on a call tells the delay of a start, as a share of the curve.
const EXCESS: f64 = 0.25;

/// Variance between points over that of a call, and how likely each is before anything is seen: mostly none.
const BETWEEN: [(f64, f64); 5] = [
    (0.0, 0.6),
    (0.1, 0.1),
    (1.0, 0.1),
    (10.0, 0.1),
    (100.0, 0.1),
];

/// The calls of each point, apart by time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls<'p> {
    /// Shape `[n_points][..]`; those of no time say nothing here.
    pub bins: &'p [Vec<Summary>],
    /// What the clock advances by at once, seconds.
    pub clock_step_s: f64,
}

/// What is clean of the calls of one point: their number, each as likely as it is clean, and the mean of their logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Centre {
    /// Calls.
    pub n: f64,
    /// Mean logarithm; not a number without calls.
    pub ln_s: f64,
}

/// The scatter of clean calls, and the calls held up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mixture {
    /// Standard deviation of the logarithm of a clean call.
    pub scale: f64,
    /// Share of the calls that were held up.
    pub share: f64,
    /// Their median delay: seconds, or a share of the curve.
    pub delay: f64,
    /// What the delays are.
    pub delays: Delays,
}

/// What delays are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delays {
    /// Seconds, whatever a call takes.
    Seconds,
    /// A share of the curve, as where a call is preempted the more often the longer it takes.
    Share,
    /// One share of the curve for all: a second speed.
    Speed,
}

/// A bin of calls at the speed of the clean ones, and how many of them are there.
pub(crate) type Weighted = (f64, Summary);

impl Calls<'_> {
    /// Calls that took a time.
    pub fn count(&self) -> f64 {
        let bins = self.bins.iter().flatten().filter(|bin| bin.mean_s > 0.0);
        bins.map(|bin| bin.count as f64).sum()
    }

    /// Every bin that took a time with the place of its point.
    fn each(&self) -> impl Iterator<Item = (usize, &Summary)> {
        let rows = self.bins.iter().enumerate();
        let each = rows.flat_map(|(row, bins)| bins.iter().map(move |bin| (row, bin)));
        each.filter(|(_, bin)| bin.mean_s > 0.0)
    }

    /// The quarter of the calls of each point that is the shortest: the longest of it; not a number where none took a time.
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

    /// The mixture that starts at a curve: of a few scales and shares the likeliest, its logarithm of the likelihood first.
    pub fn start(&self, curve_s: &[f64], some: &[Delays]) -> (f64, Mixture) {
        let scales = SCALES.iter();
        let all = scales.flat_map(|&scale| SHARES.map(|share| (scale, share)));
        self.likeliest(curve_s, some, &all.collect::<Vec<_>>())
    }

    /// The likeliest mixture of some delays, scales and shares about a curve.
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

    /// The median of how much longer calls take that take [`EXCESS`] more than a curve, in the unit of a mixture's delays.
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
    /// Of clean calls alone.
    pub fn none() -> Self {
        Self {
            scale: EXPECTED_SCALE,
            share: 0.0,
            delay: 1.0,
            delays: Delays::Seconds,
        }
    }

    /// What a delay is of, seconds.
    pub fn unit_s(&self, curve_s: f64) -> f64 {
        match self.delays {
            Delays::Seconds => 1.0,
            Delays::Share | Delays::Speed => curve_s,
        }
    }

    /// Whether it is of two speeds that differ by no more than clean calls may.
    pub fn is_scatter(&self) -> bool {
        self.delays == Delays::Speed && self.delay < EXCESS
    }

    /// How many times as long a call of the second speed takes, as a logarithm; `None` where there is none.
    fn ln_speed(&self) -> Option<f64> {
        (self.delays == Delays::Speed).then(|| self.delay.ln_1p())
    }

    /// The calls that say where the curve is, by how likely they are clean, shape of `calls`.
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

    /// Variance of the logarithm of a clean call about the curve, the clock's step in it: a wall time is off by a sixth of its square.
    fn variance(&self, curve_s: f64, clock_step_s: f64) -> f64 {
        self.scale * self.scale + (clock_step_s / curve_s).powi(2) / 6.0
    }

    /// Logarithms of the densities of the logarithm of a clean and of a held-up call.
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
        // Above a curve that scatters as clean calls do.
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

    /// Logarithm of the likelihood of all calls about a curve.
    pub fn ln_likelihood(&self, calls: &Calls<'_>, curve_s: &[f64]) -> f64 {
        let each = calls.each().map(|(row, bin)| {
            let (ln_density, _) = self.weigh(bin, curve_s[row], calls.clock_step_s);
            bin.count as f64 * ln_density
        });
        each.sum()
    }

    /// How likely the calls of each bin are clean, shape of `calls`; those of no time 0.
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

    /// One step of the estimate: scale, share and delay as the calls say about a curve, held-up calls being none where there are none.
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

/// The centre of the calls of each point.
pub(crate) fn centres(weighted: &[Vec<Weighted>]) -> Vec<Centre> {
    let centre = |bins: &Vec<Weighted>| {
        let n = bins.iter().map(|(n, _)| n).sum();
        let sum: f64 = bins.iter().map(|(n, bin)| n * bin.mean_s.ln()).sum();
        Centre { n, ln_s: sum / n }
    };
    weighted.iter().map(centre).collect()
}

/// A curve between the centres and a formula, as near to the centres as they lie off the formula by more than their calls do, and minus
/// the logarithm of the likelihood of that: what the likelihood of the calls about the curve lacks.
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
    // With the share of the distance that the curve goes towards the centre.
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

/// How much of the distance from the formula to a centre is of the point, with a ratio of the variance between points to that of a call.
fn toward(centre: &Centre, ratio: f64) -> f64 {
    centre.n * ratio / (1.0 + centre.n * ratio)
}

/// Points that curves are laid through, two at a time.
const MAX_PLACES: usize = 10;

/// Points that curves are compared at.
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

/// The likeliest of the curves `a + b g(x)` through the lower quartiles of two points, and of the constants through one, with its mixture;
/// of one point in each two a size of which all calls were held up is no part. `None` where none is positive.
///
/// # Arguments
/// * `x` - values of the only parameter that varies, shape `[n_points]`
/// * `delays` - what delays may be
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
