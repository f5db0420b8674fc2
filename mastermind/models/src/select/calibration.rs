//! Checks whether calls scatter as widely as a normal distribution with the model's standard deviation.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::samples::sample::Summary;
use crate::select::shape::ratio_to_normal;

/// Least number of coordinates for estimating the scatter from held-out ones.
const MIN_POINTS: usize = 40;

/// Least mean number of calls per coordinate.
const MIN_CALLS: f64 = 3.0;

/// Upper bound of the share of the calls without spikes that an interval covers.
const MOST_OF_OTHERS: f64 = 0.995;

/// Parts that the calls of a bin are taken as, at most.
const PARTS: usize = 20;

/// Bounds of the ratio.
const RANGE: [f64; 2] = [0.2, 5.0];

/// The factor by which an interval for a call, derived from the standard deviation of normal calls, must be widened
/// (or narrowed) to cover `level` of the calls at held-out coordinates; 1 if there are too few of them.
///
/// Each coordinate counts the same, whatever its number of calls; calls set aside as spikes count as calls.
///
/// # Arguments
/// * `fitted_s` - mean time at each point by the model, shape `[n_points]`
/// * `left_out_s` - mean time at each point as predicted from the others, shape `[n_points]`
/// * `sigma` - standard deviation of one call
/// * `freedom` - calls that are not set aside less coefficients
///
/// # Source
/// V. Vovk, A. Gammerman, G. Shafer, *Algorithmic Learning in a Random World* (2005): the quantile of the distances of what
/// was left out, its rank for one observation more (recalled, not looked up).
///
/// With too few coordinates, but several calls at each, the shape of the calls about the model is estimated
/// ([`ratio_to_normal`]); with few calls they count as normal. The estimate excludes the calls that were set aside,
/// so the interval must cover more than `level` of the others.
pub(crate) fn interval_ratio(
    points: &Points,
    fitted_s: &[f64],
    left_out_s: &[f64],
    sigma: &Formula,
    freedom: f64,
    level: f64,
) -> f64 {
    let n_points = points.len() as f64;
    let normal = Normal::standard();
    let wide = normal.inverse_cdf(0.5 + level / 2.0);
    let are_repeated = points.n_records() >= MIN_CALLS * n_points;
    let deviation_s = |i: usize| {
        let deviation_s = sigma.evaluate(|name| points.number(i, name));
        deviation_s.unwrap_or(f64::NAN)
    };
    if points.len() < MIN_POINTS || !are_repeated {
        let n_calls: u64 = points.all.iter().map(|all| all.count).sum();
        let of_others = (level * n_calls as f64 / points.n_records()).min(MOST_OF_OTHERS);
        let ratio = normal.inverse_cdf(0.5 + of_others / 2.0) / wide;
        if !are_repeated {
            return ratio;
        }
        let distances = distances(points, fitted_s, deviation_s);
        let of_shape = ratio_to_normal(&distances, freedom, of_others);
        return (ratio * of_shape).clamp(RANGE[0], RANGE[1]);
    }
    let scores: [f64; PARTS] =
        std::array::from_fn(|k| normal.inverse_cdf((k as f64 + 0.5) / PARTS as f64));
    let mut distances = Vec::new();
    for (i, &expected_s) in left_out_s.iter().enumerate() {
        let deviation_s = deviation_s(i);
        let calls: u64 = points.bins[i].iter().map(|bin| bin.count).sum();
        for bin in &points.bins[i] {
            let share = bin.count as f64 / calls as f64 / PARTS as f64;
            for score in scores {
                let distance = (time_s(bin, score) - expected_s).abs() / (wide * deviation_s);
                if distance.is_finite() {
                    distances.push((distance, share));
                }
            }
        }
    }
    let known: f64 = distances.iter().map(|(_, share)| share).sum();
    if known < 0.9 * n_points {
        return 1.0;
    }
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = (level * (n_points + 1.0) / n_points).min(1.0) * known;
    let mut below = 0.0;
    let found = distances.iter().find(|(_, share)| {
        below += share;
        below >= wanted
    });
    let [least, most] = RANGE;
    found
        .or(distances.last())
        .map_or(1.0, |(ratio, _)| ratio.max(least).min(most))
}

/// A call of a bin by its place among them, as if they were normal.
fn time_s(bin: &Summary, score: f64) -> f64 {
    let deviation_s = (bin.m2_s2 / bin.count as f64).sqrt();
    (bin.mean_s + score * deviation_s)
        .max(bin.min_s)
        .min(bin.max_s)
}

/// Distances of the calls that are not set aside to the model, in standard deviations, each with its number of calls.
///
/// The shortest and the longest call of a bin are known exactly; the others are placed as normal calls with their
/// mean and spread.
fn distances(
    points: &Points,
    fitted_s: &[f64],
    deviation_s: impl Fn(usize) -> f64,
) -> Vec<(f64, f64)> {
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); PARTS + 1];
    let mut distances = Vec::with_capacity(points.n_records().min(1e3) as usize);
    for (i, &fitted) in fitted_s.iter().enumerate() {
        let deviation = deviation_s(i);
        let distance = |time_s: f64| (time_s - fitted) / deviation;
        let mut left = points.count[i];
        // What is set aside is at the long end.
        for bin in &points.bins[i] {
            let count = (bin.count as f64).min(left);
            left -= count;
            if bin.count < 3 {
                let ends = [bin.min_s, bin.max_s];
                let ends = ends.into_iter().take(count as usize);
                distances.extend(ends.map(|time_s| (distance(time_s), 1.0)));
                continue;
            }
            if count < 3.0 {
                continue;
            }
            let inner = inner(bin);
            let n_parts = (inner.count as usize).min(PARTS);
            if scores[n_parts].is_empty() {
                scores[n_parts] = normal_scores(n_parts);
            }
            let share = (count - 2.0) / n_parts as f64;
            distances.extend([bin.min_s, bin.max_s].map(|time_s| (distance(time_s), 1.0)));
            let times = scores[n_parts].iter().map(|&score| time_s(&inner, score));
            distances.extend(times.map(|time_s| (distance(time_s), share)));
        }
    }
    distances.retain(|(distance, _)| distance.is_finite());
    distances
}

/// A bin without its shortest and its longest call.
fn inner(bin: &Summary) -> Summary {
    let count = bin.count as f64 - 2.0;
    let (low, high) = (bin.min_s - bin.mean_s, bin.max_s - bin.mean_s);
    // What they leave, about the mean of all.
    let shift = -(low + high) / count;
    let m2_s2 = bin.m2_s2 - low * low - high * high - count * shift * shift;
    Summary {
        count: bin.count - 2,
        mean_s: bin.mean_s + shift,
        m2_s2: m2_s2.max(0.0),
        ..*bin
    }
}

/// Places of `n` normal calls, ascending, their mean square being 1; of one call 0.
fn normal_scores(n: usize) -> Vec<f64> {
    let normal = Normal::standard();
    let place = |k: usize| normal.inverse_cdf((k as f64 + 0.5) / n as f64);
    let places: Vec<f64> = (0..n).map(place).collect();
    let square = places.iter().map(|place| place * place).sum::<f64>() / n as f64;
    let scale = if square > 0.0 { square.sqrt() } else { 1.0 };
    places.into_iter().map(|place| place / scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(times: &[f64]) -> Summary {
        let mut sum = Summary::EMPTY;
        times.iter().for_each(|&time_s| sum.push(time_s));
        sum
    }

    #[test]
    fn a_bin_without_its_ends_is_what_lies_between() {
        let bin = summary(&[1.0, 1.02, 1.03, 1.07, 1.1]);
        let (found, wanted) = (inner(&bin), summary(&[1.02, 1.03, 1.07]));
        assert_eq!(found.count, wanted.count);
        assert!((found.mean_s - wanted.mean_s).abs() < 1e-12);
        assert!((found.m2_s2 - wanted.m2_s2).abs() < 1e-12);
        let alike = inner(&summary(&[1.0; 4]));
        assert_eq!((alike.mean_s, alike.m2_s2), (1.0, 0.0));
    }

    #[test]
    fn scores_have_mean_0_and_mean_square_1() {
        assert_eq!(normal_scores(1), [0.0]);
        for n in 2..=PARTS {
            let scores = normal_scores(n);
            let mean = |of: fn(f64) -> f64| scores.iter().map(|&z| of(z)).sum::<f64>() / n as f64;
            assert!(mean(|z| z).abs() < 1e-12 && (mean(|z| z * z) - 1.0).abs() < 1e-12);
        }
    }
}
