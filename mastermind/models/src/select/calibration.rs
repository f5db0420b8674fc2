//! Whether calls scatter as wide as a normal distribution with the model's deviation says.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::formula::sum::Formula;
use crate::samples::points::Points;
use crate::samples::sample::Summary;

/// Coordinates from which on the scatter is told from them.
const MIN_POINTS: usize = 40;

/// Calls at a coordinate, on average, from which on.
const MIN_CALLS: f64 = 3.0;

/// Share of the calls that are no spikes which an interval holds at most.
const MOST_OF_OTHERS: f64 = 0.995;

/// Parts that the calls of a bin are taken as.
const PARTS: usize = 20;

/// Ends of the ratio.
const RANGE: [f64; 2] = [0.2, 5.0];

/// The ratio by which an interval of a call, made from the standard deviation as if calls were normal, must be wider
/// (or may be narrower) to hold `level` of the calls at coordinates that were left out; 1 where they are too few to
/// tell.
///
/// Each coordinate counts the same, whatever its number of calls; calls set aside as spikes count as calls.
///
/// # Arguments
/// * `left_out_s` - mean time at each point as predicted from the others, shape `[n_points]`
/// * `sigma` - standard deviation of one call
///
/// # Source
/// V. Vovk, A. Gammerman, G. Shafer, *Algorithmic Learning in a Random World* (2005): the quantile of the distances of what
/// was left out, its rank for one observation more (recalled, not looked up).
///
/// With too few coordinates calls count as normal but for those that were set aside: an interval holds `level` of all calls where
/// it holds more than that of the others.
pub(crate) fn interval_ratio(
    points: &Points,
    left_out_s: &[f64],
    sigma: &Formula,
    level: f64,
) -> f64 {
    let n_points = points.len() as f64;
    let normal = Normal::standard();
    let wide = normal.inverse_cdf(0.5 + level / 2.0);
    if points.len() < MIN_POINTS || points.n_records() < MIN_CALLS * n_points {
        let n_calls: u64 = points.all.iter().map(|all| all.count).sum();
        let of_others = (level * n_calls as f64 / points.n_records()).min(MOST_OF_OTHERS);
        return normal.inverse_cdf(0.5 + of_others / 2.0) / wide;
    }
    let scores: [f64; PARTS] =
        std::array::from_fn(|k| normal.inverse_cdf((k as f64 + 0.5) / PARTS as f64));
    let mut distances = Vec::new();
    for (i, &expected_s) in left_out_s.iter().enumerate() {
        let deviation_s = sigma
            .evaluate(|name| points.number(i, name))
            .unwrap_or(f64::NAN);
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
