//! Handles readings of 0, which are below one step of the clock and no valid time.
//!
//! In: points, some of whose calls read 0. Out: the points with a time above 0, each weighted by the precision of its
//! readings. If all calls of a point read 0, the time is below a step: the point is dropped, unless the formula is
//! above a step there. Then the point is set to one step, its upper bound.

use crate::samples::points::Points;
use crate::solve::likelihood::ROUNDING;

/// Scatter of a call, as a logarithm, that a step of the clock is compared with: the prior value.
const SCALE: f64 = 0.03;

/// Step of the clock, seconds; if unknown, the shortest time above 0. `None` unless all calls of some point read 0.
///
/// A point that reads 0 only sometimes has the right mean, since a call begins anywhere within a step.
pub(crate) fn step_s(points: &Points) -> Option<f64> {
    let bins = points.bins.iter().flatten().map(|bin| bin.mean_s);
    let shortest_s = bins.filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
    let step_s = match points.clock_step_s > 0.0 {
        true => points.clock_step_s,
        false => shortest_s,
    };
    let is_told = points.mean_s.contains(&0.0) && step_s.is_finite();
    is_told.then_some(step_s)
}

/// Least difference between two readings, seconds: an upper bound of the clock's step.
fn least_difference_s(points: &Points) -> f64 {
    let bins = points.bins.iter().flatten();
    let mut read_s: Vec<f64> = bins.flat_map(|bin| [bin.min_s, bin.max_s]).collect();
    read_s.sort_by(f64::total_cmp);
    let pairs = read_s.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
    let distinct = pairs.filter(|(difference_s, s)| *difference_s > ROUNDING * s);
    distinct.fold(f64::INFINITY, |least, (difference_s, _)| {
        least.min(difference_s)
    })
}

/// The points with a time above 0.
///
/// # Arguments
/// * `above` - rows of zeros where the formula is above a step of the clock; they are set to a step
pub(crate) fn telling(points: &Points, step_s: f64, above: &[usize]) -> Points {
    let mut points = points.clone();
    for &row in above {
        points.mean_s[row] = step_s;
    }
    let is_telling = |row: &usize| points.mean_s[*row] > 0.0;
    let rows: Vec<usize> = (0..points.len()).filter(is_telling).collect();
    let mut telling = points.within(&rows);
    let sharp_s = match points.clock_step_s > 0.0 {
        true => step_s,
        false => step_s.min(least_difference_s(&points)),
    };
    telling.clock_step_s = sharp_s;
    telling.blurred_below_s = sharp_s / 6_f64.sqrt() / SCALE;
    telling.blur();
    telling
}
