//! Times of 0, which no call takes: each is below one step of the clock, and no value.
//!
//! In: points, some of whose calls read 0. Out: the points that tell a time, each worth as many calls as its readings are sharp. A point
//! all of whose calls read 0 says only that the time there is below a step: it is no point unless the formula is above that, and then it is
//! one of a step, the most that it may be.

use crate::samples::points::Points;
use crate::solve::likelihood::ROUNDING;

/// Scatter of a call, as a logarithm, that a step of the clock is compared with: what is expected before any is seen.
const SCALE: f64 = 0.03;

/// What the clock advances by at once, seconds: where it is not known, the shortest time that it tells; `None` where no point reads 0 alone.
///
/// Of a point that reads 0 now and then the mean is right: a call begins anywhere within a step.
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

/// The least difference of two times that were read, seconds: no clock that steps by more tells them apart.
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

/// The points that tell a time.
///
/// # Arguments
/// * `above` - rows of zeros where the formula is above a step of the clock: there it is a step
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
