//! Notes of a fit: what a reader must know before believing it.
//!
//! In: points and the best form. Out: a [`Note`] each, where there is something to say.

use crate::families::candidate::Candidate;
use crate::families::note::Note;
use crate::formula::family::Family;
use crate::formula::sum::Formula;
use crate::samples::metric::Metric;
use crate::samples::points::Points;
use crate::samples::sample::{Samples, Summary};
use crate::solve::likelihood::{Counts, Distance};
use crate::solve::quality::r_squared;

/// Share of the variance between coordinates below which a fit is poor.
const POOR: f64 = 0.7;

/// Mean error of held-out sizes, per cent, from which on a note reports it. Arbitrary: most fits of the benchmark's noisiest sets are below it.
const FAR_OFF: f64 = 20.0;

/// Weight of an exponential from which on a note reports it: what an interval of 95 % leaves out on one side.
const CREDIBLE: f64 = 0.025;

/// Times the median of its coordinate beyond which a call is long.
const LONG: f64 = 5.0;

/// Largest difference between the median of the calls at a coordinate and the formula that needs no note.
const BESIDE: f64 = 0.25;

/// Least number of calls at a coordinate for comparing their median with their mean.
const MEDIAN_CALLS: u64 = 20;

/// Share of the coordinates from which on a note reports such differences.
const MANY_POINTS: f64 = 1.0 / 6.0;

/// Share of the calls up to which they are few.
const FEW_CALLS: f64 = 0.1;

/// That the formula does not follow the points, where it explains less than [`POOR`] of them and the spread of the
/// calls does not explain the rest.
pub(super) fn poor(points: &Points, best: &Candidate) -> Option<Note> {
    let r2 = unexplained(points, best)?;
    (r2 < POOR).then(|| Note::Poor {
        r2_percent: 100.0 * r2.max(0.0),
    })
}

/// Whether nothing follows the points: the likeliest formula is a constant, or in seconds no nearer to them than their mean is, but for
/// what any formula with as many coefficients would be by chance, and not near by factors either.
pub(super) fn follows_nothing(points: &Points, best: &Candidate) -> bool {
    let r2 = unexplained(points, best).unwrap_or(1.0);
    let (n, k) = (points.len(), best.coefficients.len());
    let by_chance = (k as f64 - 1.0) / (n as f64 - 1.0);
    match best.family {
        Family::Constant => r2 < POOR,
        _ => r2 < by_chance && n > k && !follows_by_factors(points, best),
    }
}

/// Whether a formula explains the points' orders of magnitude: a few large times that it misses by a factor are farther from it in
/// seconds than all others together are from their mean.
fn follows_by_factors(points: &Points, best: &Candidate) -> bool {
    let logarithms = |times: &[f64]| times.iter().map(|s| s.ln()).collect::<Vec<_>>();
    let [mean, fitted] = [&points.mean_s, &best.fitted_s].map(|times| logarithms(times));
    // A time of 0 has none, and makes the comparison false.
    r_squared(&mean, &fitted, &points.count).is_some_and(|r2| r2 >= POOR)
}

/// R² between coordinates, where the spread of the calls does not explain what is missing to 1.
fn unexplained(points: &Points, best: &Candidate) -> Option<f64> {
    let r2 = r_squared(&points.mean_s, &best.fitted_s, &points.count)?;
    (points.len() > 2 && !is_within_spread(points, best)).then_some(r2)
}

/// Whether the calls at one coordinate spread so much that the points' distance from the formula is no more than that.
fn is_within_spread(points: &Points, best: &Candidate) -> bool {
    let distance = Distance::new(points, &best.fitted_s);
    distance.is_explained(best.coefficients.len(), Counts::of(points))
}

/// Whether a formula goes through all points to rounding, with two to spare: of times with three digits one is met by chance.
pub(super) fn is_met(points: &Points, best: &Candidate) -> bool {
    let distance = Distance::new(points, &best.fitted_s);
    best.coefficients.len() + 1 < points.len() && distance.is_met(Counts::of(points))
}

/// That a formula of the parameters explains less than [`POOR`] of the points because the calls spread so much.
pub(super) fn scattered(points: &Points, best: &Candidate) -> Option<Note> {
    let r2 = r_squared(&points.mean_s, &best.fitted_s, &points.count)?;
    let is_formula = best.family != Family::Constant && points.len() > 2;
    (r2 < POOR && is_formula && is_within_spread(points, best)).then(|| Note::Scattered {
        r2_percent: 100.0 * r2.max(0.0),
    })
}

/// That sizes left out are predicted badly.
pub(super) fn left_out_far(points: &Points, best: &Candidate) -> Option<Note> {
    let percent = best.cv_smape(points)?;
    (percent > FAR_OFF).then_some(Note::LeftOutFar { percent })
}

/// That an exponential is credible where another form is shown.
pub(super) fn may_soar(best: &Candidate) -> Option<Note> {
    let soars = |formula: &Formula| {
        let factors = formula.terms.iter().flat_map(|term| &term.factors);
        let mut rates = factors.filter_map(|factor| factor.rate);
        rates.any(|rate| rate > 0.0)
    };
    let exponentials = best.alternatives.iter().filter(|a| soars(&a.formula));
    let weight: f64 = exponentials.map(|alternative| alternative.weight).sum();
    let is_credible = weight >= CREDIBLE && !soars(&best.formula);
    is_credible.then_some(Note::MaySoar {
        percent: 100.0 * weight,
    })
}

/// Calls that were set aside, and their share of the time.
pub(super) fn set_aside(points: &Points) -> Option<Note> {
    let all: u64 = points.all.iter().map(|summary| summary.count).sum();
    let n_records = all - points.n_records() as u64;
    let total_s: f64 = points.all.iter().map(|summary| summary.total_s()).sum();
    let pairs = points.mean_s.iter().zip(&points.count);
    let kept_s: f64 = pairs.map(|(mean, n)| mean * n).sum();
    (n_records > 0).then(|| Note::SetAside {
        n_records,
        percent: 100.0 * (1.0 - kept_s / total_s),
    })
}

/// Notes a formula of means that is far from the median call at many of the coordinates with enough calls.
pub(super) fn beside_medians(points: &Points, best: &Candidate) -> Option<Note> {
    let parts = points.bins.iter().zip(&points.all).zip(&best.fitted_s);
    let ratios: Vec<f64> = parts
        .filter(|((_, all), _)| all.count >= MEDIAN_CALLS)
        .filter_map(|((bins, all), fitted)| Some(fitted / median_s(bins, all.count)?))
        .collect();
    let n_points = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() > BESIDE);
    let (n_points, of) = (n_points.count(), ratios.len());
    let are_many = n_points > 0 && n_points as f64 >= MANY_POINTS * of as f64;
    are_many.then_some(Note::BesideMedians { n_points, of })
}

/// Median of `count` binned calls, as the mean of its bin.
fn median_s(bins: &[Summary], count: u64) -> Option<f64> {
    let mut below = 0;
    let median = bins.iter().find(|bin| {
        below += bin.count;
        2 * below >= count
    });
    median.map(|bin| bin.mean_s)
}

/// That few calls hold most of the time, where they are not set aside.
pub(super) fn uneven(points: &Points) -> Option<Note> {
    let (mut n_records, mut of, mut long_s, mut total_s) = (0, 0, 0.0, 0.0);
    for (bins, all) in points.bins.iter().zip(&points.all) {
        (of, total_s) = (of + all.count, total_s + all.total_s());
        let limit = median_s(bins, all.count).map_or(0.0, |median| LONG * median);
        for bin in bins.iter().filter(|bin| bin.mean_s > limit) {
            (n_records, long_s) = (n_records + bin.count, long_s + bin.total_s());
        }
    }
    let is_aside = points.n_records() < of as f64;
    let is_uneven = (n_records as f64) < FEW_CALLS * of as f64 && 2.0 * long_s > total_s;
    (is_uneven && !is_aside).then(|| Note::Uneven {
        n_records,
        of,
        percent: 100.0 * long_s / total_s,
    })
}

/// Calls that took no time, which no call does.
pub(super) fn zero(samples: &Samples, points: &Points) -> Option<Note> {
    let bins = points.bins.iter().flatten();
    let none = bins.filter(|bin| bin.max_s == 0.0);
    let n_records: u64 = none.map(|bin| bin.count).sum();
    (samples.metric == Metric::Wall && n_records > 0).then_some(Note::Zero { n_records })
}
