//! Separates the clean calls of a mode from those that a busy machine delayed, by a mixture about the curve of all
//! forms.
//!
//! In: points and their best form. Out: the points of the clean calls, and the number and delay of the others;
//! nothing if plain scatter explains the calls as well. Mixture and curve alternate: `solve/held_up` gives the
//! probability that each call is clean about a curve, the forms are fitted to the clean calls, and their prediction
//! is the next curve.

use rayon::prelude::*;

use crate::families::candidate::{Alternative, Candidate};
use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::samples::sample::Summary;
use crate::select::fit::Weighed;
use crate::select::model::HeldUp;
use crate::solve::held_up::{
    Calls, Delays, Mixture, between, centres, likeliest_start, median_delay, share,
};
use crate::solve::mixture::{Part, middle};

/// Number of standard deviations of the other calls beyond which the longest call justifies fitting a mixture: one of
/// 10,000 normal calls is as far.
const FAR: f64 = 4.0;

/// Scatter of calls about their size, and of sizes about the best form, as logarithms, that justify fitting a
/// mixture: at noise of 10 % the generators of `benches/extrap` stay below the first, and with repetitions below the
/// second.
const WIDE: f64 = 0.15;
const WIDE_APART: f64 = 0.1;

/// Least scatter to expect, as a logarithm.
const LEAST_SCALE: f64 = 0.02;

/// Maximum number of alternations of curve and mixture.
const TURNS: usize = 6;

/// Steps of the mixture in each of them.
const STEPS: usize = 3;

/// Change of the probability that a call is clean below which the alternation ends.
const SETTLED: f64 = 0.01;

/// Least number of calls for a mixture: its scatter, share and delay, and two to spare.
const N_MIXTURE: f64 = 5.0;

/// Expected number of delayed calls below which a mixture is none: no call is likelier delayed than clean.
const FEW_DELAYED: f64 = 0.5;

/// Coefficients of a form that delayed calls stand out from: a constant and two terms.
const N_STIFF: usize = 3;

/// Log-likelihood that a mixture must gain in addition to the price of its two parameters. Without this penalty clean
/// scatter is split in two.
const LN_MIXTURE: f64 = 3.0;

/// Share of the time below which a difference is ignored, however significant: arbitrary, below the scatter of any
/// machine.
const SEEN: f64 = 0.01;

/// The clean calls of a mode with their forms, and the delays of the other calls.
pub(crate) struct Clean {
    /// The points of the clean calls.
    pub points: Points,
    /// The forms fitted to them.
    pub weighed: Weighed,
    /// The delayed calls.
    pub held_up: HeldUp,
}

/// The clean calls, if a mixture is likelier than plain scatter.
///
/// # Arguments
/// * `best` - the form of the points as they are
/// * `weigh` - the forms of other points
pub(crate) fn clean(
    points: &Points,
    best: &Candidate,
    weigh: impl Fn(&Points) -> Weighed + Sync,
) -> Option<Clean> {
    let calls = Calls {
        bins: &points.bins,
        clock_step_s: points.clock_step_s,
    };
    let n_calls = calls.count();
    // For calls shorter than a step of the clock only the mean is known.
    let has_zero = points.bins.iter().flatten().any(|bin| bin.mean_s == 0.0);
    let is_told = !has_zero && n_calls >= best.coefficients.len() as f64 + N_MIXTURE;
    // A searched break, or many coefficients, go through delayed calls and leave nothing of them.
    let has_break = matches!(best.family, Family::Regimes | Family::Stairs);
    let is_pliant = has_break || best.coefficients.len() > N_STIFF;
    if !is_told || !(is_pliant || is_worth_a_look(points, best)) {
        return None;
    }
    let plain = plain(&calls, &positive_times(best, points)?) - price(best, n_calls);
    let starts = starts(points, &calls, &weigh).into_par_iter();
    let settled = starts.filter_map(|start| settled(points, &calls, start, &weigh));
    let settled: Vec<_> = settled.collect();
    let (likely, clean) = settled
        .into_iter()
        .reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let is_likelier = likely - plain > n_calls.ln() + LN_MIXTURE;
    (is_likelier && is_seen(&clean, best, points)).then_some(clean)
}

/// Whether predictions change by the mixture: at some point the prediction from clean calls, or the mean delay,
/// differs noticeably from the prediction from all calls.
fn is_seen(clean: &Clean, best: &Candidate, points: &Points) -> bool {
    let Some(form) = &clean.weighed.best else {
        return false;
    };
    let [own, all] = [form, best].map(|form| times(&form.formula, &form.alternatives, points));
    own.iter().zip(&all).any(|(own, all)| {
        let delays = clean.held_up.expected_s(*own) / own;
        // NaN counts as a difference.
        !((own / all - 1.0).abs() < SEEN && delays < SEEN)
    })
}

/// Price of a form, as a log-likelihood.
fn price(form: &Candidate, n_calls: f64) -> f64 {
    0.5 * form.coefficients.len() as f64 * n_calls.ln() + form.odds_against
}

/// Alternates curve and mixture from a start. Returns the clean calls and their log-likelihood, less the price of the
/// form and of the sizes without a clean call.
fn settled(
    points: &Points,
    calls: &Calls<'_>,
    (mut curve_s, mut mixture): (Vec<f64>, Mixture),
    weigh: impl Fn(&Points) -> Weighed,
) -> Option<(f64, Clean)> {
    (0..STEPS).for_each(|_| mixture.step(calls, &curve_s));
    let mut weights = mixture.clean(calls, &curve_s);
    for turn in 1.. {
        let weighted = mixture.weighted(calls, &weights);
        let kept = points.of_calls(&weighted);
        let has_delayed = n_delayed(points, &weights) >= FEW_DELAYED;
        if kept.len() < 2 || mixture.is_scatter() || !has_delayed {
            return None;
        }
        let weighed = weigh(&kept);
        let form = weighed.best.as_ref()?;
        let formula_s = positive_times(form, points)?;
        let lacks;
        (curve_s, lacks) = between(&centres(&weighted), mixture.scale, &formula_s);
        (0..STEPS).for_each(|_| mixture.step(calls, &curve_s));
        let next = mixture.clean(calls, &curve_s);
        let pairs = next.iter().flatten().zip(weights.iter().flatten());
        let change = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        weights = next;
        if change < SETTLED || turn == TURNS {
            if n_delayed(points, &weights) < FEW_DELAYED {
                return None;
            }
            let likely = mixture.ln_likelihood(calls, &curve_s) - lacks;
            let clean = Clean {
                held_up: held_up(calls, &mixture, &curve_s),
                points: kept,
                weighed,
            };
            let price = price(clean.weighed.best.as_ref()?, calls.count());
            return Some((likely - price, clean));
        }
    }
    None
}

/// Expected number of delayed calls.
fn n_delayed(points: &Points, weights: &[Vec<f64>]) -> f64 {
    let pairs = points.bins.iter().flatten().zip(weights.iter().flatten());
    pairs
        .map(|(bin, clean)| (1.0 - clean) * bin.count as f64)
        .sum()
}

/// Log-likelihood of all calls about a formula, without a mixture.
fn plain(calls: &Calls<'_>, formula_s: &[f64]) -> f64 {
    let mut mixture = Mixture::none();
    let all = mixture.clean(calls, formula_s);
    let centres = centres(&mixture.weighted(calls, &all));
    let mut curve_s = formula_s.to_vec();
    let mut lacks = 0.0;
    for _ in 0..STEPS {
        mixture.step(calls, &curve_s);
        (curve_s, lacks) = between(&centres, mixture.scale, formula_s);
    }
    mixture.step(calls, &curve_s);
    mixture.ln_likelihood(calls, &curve_s) - lacks
}

/// Starting curves with their mixtures.
///
/// The first curve is a law: with one parameter the likeliest through two sizes, with several the form of the lower
/// quartiles. It reveals sizes all of whose calls were delayed. The second curve consists of the lower quartiles
/// themselves, if sizes have several calls: it follows steps and bends that no such law has.
fn starts(
    points: &Points,
    calls: &Calls<'_>,
    weigh: impl Fn(&Points) -> Weighed,
) -> Vec<(Vec<f64>, Mixture)> {
    let mut lower = points.clone();
    lower.mean_s = calls.lower_quartiles();
    lower.m2_s2.fill(0.0);
    let tell_alone = calls.count() > points.len() as f64;
    let own_s = tell_alone.then(|| lower.mean_s.clone());
    let varying = points.varying();
    let law_s = match varying[..] {
        [_] => None,
        _ => weigh(&lower)
            .best
            .and_then(|form| positive_times(&form, points)),
    };
    let delays: [&[Delays]; 2] = [&[Delays::Seconds, Delays::Share], &[Delays::Speed]];
    let starts = delays.into_iter().flat_map(|delays| {
        let line = match varying[..] {
            [param] => likeliest_start(calls, &points.columns[param], delays),
            _ => None,
        };
        let curves = law_s.iter().chain(&own_s);
        let of = |curve_s: &Vec<f64>| (curve_s.clone(), calls.start(curve_s, delays).1);
        line.into_iter().chain(curves.map(of).collect::<Vec<_>>())
    });
    starts.collect()
}

/// Whether calls or points scatter widely, or one of them is far above the others, so that fitting a mixture pays.
fn is_worth_a_look(points: &Points, best: &Candidate) -> bool {
    let mut of_points = Scatter::default();
    for (y, f) in points.mean_s.iter().zip(&best.fitted_s) {
        of_points.take(1.0, (y / f).ln(), 0.0);
    }
    let (mut of_calls, mut n_means) = (Scatter::default(), 0.0);
    for bins in &points.bins {
        let median = median_s(bins);
        for bin in bins {
            let within = bin.m2_s2 / (bin.mean_s * bin.mean_s);
            of_calls.take(bin.count as f64, (bin.mean_s / median).ln(), within);
        }
        n_means += 1.0;
    }
    of_points.is_wide(0.0, WIDE_APART) || of_calls.is_wide(n_means, WIDE)
}

/// Scatter of logarithms about their centres.
#[derive(Default)]
struct Scatter {
    n: f64,
    squares: f64,
    longest: f64,
}

impl Scatter {
    /// Adds `n` values with mean deviation `off` and sum of squares about their mean `squares`.
    fn take(&mut self, n: f64, off: f64, squares: f64) {
        self.n += n;
        self.squares += n * off * off + squares;
        self.longest = self.longest.max(off);
    }

    /// Whether the scatter exceeds a limit, or the longest value exceeds [`FAR`] times the scatter of the others;
    /// `n_means` values serve as centres.
    fn is_wide(&self, n_means: f64, limit: f64) -> bool {
        let others = (self.squares - self.longest * self.longest).max(0.0);
        let scatter = (others / (self.n - n_means - 1.0).max(1.0)).sqrt();
        scatter > limit || self.longest > FAR * scatter.max(LEAST_SCALE)
    }
}

/// Median of binned calls, as the mean of its bin.
fn median_s(bins: &[Summary]) -> f64 {
    let n: u64 = bins.iter().map(|bin| bin.count).sum();
    let mut below = 0;
    let median = bins.iter().find(|bin| {
        below += bin.count;
        2 * below >= n
    });
    median.map_or(0.0, |bin| bin.mean_s)
}

/// Weighted median of a formula and its alternatives at points that they need not have been fitted to, seconds; NaN
/// where they have no value.
pub(crate) fn times(formula: &Formula, alternatives: &[Alternative], points: &Points) -> Vec<f64> {
    let mut parts = Vec::with_capacity(alternatives.len());
    let at = |i: usize| {
        let value = |formula: &Formula| {
            let value = formula.evaluate(|name| points.number(i, name));
            value.unwrap_or(f64::NAN)
        };
        if alternatives.is_empty() {
            return value(formula);
        }
        parts.clear();
        parts.extend(alternatives.iter().map(|part| Part {
            weight: part.weight,
            mean: value(&part.formula),
            deviation: 0.0,
        }));
        middle(&mut parts)
    };
    (0..points.len()).map(at).collect()
}

/// Prediction of a form; `None` unless all times are positive.
fn positive_times(form: &Candidate, points: &Points) -> Option<Vec<f64>> {
    let times = times(&form.formula, &form.alternatives, points);
    let is_time = |time: &f64| *time > 0.0 && time.is_finite();
    times.iter().all(is_time).then_some(times)
}

/// Number of values of the share of delays that come with call time, from none to all. Arbitrary: a sum that
/// approximates an integral.
const INTENSITY_SHARES: usize = 21;

/// Summary of the delayed calls.
fn held_up(calls: &Calls<'_>, mixture: &Mixture, curve_s: &[f64]) -> HeldUp {
    let clean = mixture.clean(calls, curve_s);
    let (mut n_held, mut delay, mut squares, mut times_s) = (0.0, 0.0, 0.0, 0.0);
    let mut points = Vec::with_capacity(curve_s.len());
    let mut held = Vec::new();
    for ((bins, clean), &curve_s) in calls.bins.iter().zip(&clean).zip(curve_s) {
        let unit_s = mixture.unit_s(curve_s);
        let (mut n_of_point, mut held_of_point) = (0.0, 0.0);
        for (bin, clean) in bins.iter().zip(clean).filter(|(bin, _)| bin.mean_s > 0.0) {
            let n = (1.0 - clean) * bin.count as f64;
            let each = (bin.mean_s - curve_s) / unit_s;
            let within = (1.0 - clean) * bin.m2_s2 / (unit_s * unit_s);
            (n_held, times_s) = (n_held + n, times_s + n * curve_s);
            held.push((each.max(0.0), n));
            (delay, squares) = (delay + n * each, squares + n * each * each + within);
            n_of_point += bin.count as f64;
            held_of_point += n;
        }
        points.push((n_of_point, held_of_point, curve_s));
    }
    let (n_calls, time_s) = (calls.count(), times_s / n_held);
    let unit_s = mixture.unit_s(time_s);
    let of_any = delay / n_calls;
    let of_s = (mixture.delays != Delays::Seconds).then_some(time_s);
    let [per_call, per_second] = match of_s {
        // Delays proportional to the call time are as frequent for calls of any length.
        Some(_) => [n_held / n_calls, 0.0],
        None => intensity(&points),
    };
    HeldUp {
        variance_s2: (squares / n_calls - of_any * of_any).max(0.0) * unit_s * unit_s,
        share: share(&held, n_calls - n_held),
        mean_s: delay / n_held * unit_s,
        median_s: match mixture.delays {
            Delays::Speed => mixture.delay,
            _ => median_delay(&held, mixture.delay),
        } * unit_s,
        of_s,
        slower: (mixture.delays == Delays::Speed).then_some(1.0 + mixture.delay),
        per_call,
        per_second,
    }
}

/// Frequency of delays, `a + b f`: some come with each call, others, as by preemption, with its time.
///
/// A share `φ` of the delays comes with the time; a priori none, all and any share between are equally likely. With
/// `nᵢ` calls of `fᵢ` seconds and `hᵢ` delayed ones at each point, a delay occurs at point `i` with the probability
/// `nᵢ ((1 − φ) / Σ n + φ fᵢ / Σ n f)`. The result uses the posterior mean of `φ`: a few delays do not determine `φ`,
/// and the wrong extreme would give many times too few or too many delays beyond the measured sizes.
///
/// # Arguments
/// * `points` - number of calls, number of delayed calls and time of a clean call, seconds, of each point
fn intensity(points: &[(f64, f64, f64)]) -> [f64; 2] {
    let n: f64 = points.iter().map(|(n, ..)| n).sum();
    let time_s: f64 = points.iter().map(|(n, _, f)| n * f).sum();
    let held: f64 = points.iter().map(|(_, held, _)| held).sum();
    let shares = (0..INTENSITY_SHARES).map(|k| k as f64 / (INTENSITY_SHARES - 1) as f64);
    let ln_likelihood = |share: f64| -> f64 {
        let of_point = |f: f64| (1.0 - share) / n + share * f / time_s;
        points
            .iter()
            .map(|(_, held, f)| held * of_point(*f).ln())
            .sum()
    };
    let likelihoods: Vec<(f64, f64)> = shares.map(|share| (share, ln_likelihood(share))).collect();
    let largest = likelihoods
        .iter()
        .fold(f64::NEG_INFINITY, |a, (_, b)| a.max(*b));
    let (mut sum, mut with_time) = (0.0, 0.0);
    for (share, ln_likelihood) in likelihoods {
        let n_as_likely = match share > 0.0 && share < 1.0 {
            true => 1.0,
            false => (INTENSITY_SHARES - 2) as f64,
        };
        let weight = n_as_likely * (ln_likelihood - largest).exp();
        (sum, with_time) = (sum + weight, with_time + weight * share);
    }
    let with_time = with_time / sum;
    [(1.0 - with_time) * held / n, with_time * held / time_s]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three delays do not determine the share; many of them all come with the time, or with each call.
    #[test]
    fn few_delays_do_not_say_what_they_come_with() {
        let with_time = |n: f64, held: [f64; 3]| {
            let times_s = [1.0, 2.0, 4.0];
            let points: Vec<_> = held.iter().zip(times_s).map(|(h, f)| (n, *h, f)).collect();
            let [per_call, per_second] = intensity(&points);
            let of_all = 3.0 * n * per_call + 7.0 * n * per_second;
            assert!((of_all / held.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            7.0 * n * per_second / of_all
        };
        let few = with_time(3.0, [0.0, 1.0, 2.0]);
        assert!((0.4..0.75).contains(&few), "{few}");
        assert!(with_time(3000.0, [100.0, 200.0, 400.0]) > 0.9);
        assert!(with_time(3000.0, [200.0, 200.0, 200.0]) < 0.1);
    }
}
