//! Weights times by what the steps of the clock leave of them; a reading of 0 is below one step and no valid time.
//!
//! In: points whose calls were read off a clock with steps. Out: the points with a time above 0, each weighted by the
//! precision of its readings. If all calls of a point read 0, the time is below a step: the point is dropped, unless
//! the formula is above a step there. Then the point is set to one step, its upper bound.
//!
//! ```text
//! clock of 1 ms   calls of 0.4 ms read 0, 0, 1, 0, 1: right on average, but each is off by up to the whole time
//!                 calls of 95 ms are off by 1 %, less than they scatter
//! ```

use crate::samples::clock::MATTERS;
use crate::samples::points::Points;

/// Scatter of a call, as a logarithm, that a step of the clock is compared with: the prior value.
const SCALE: f64 = 0.03;

/// The step of a clock, seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// What a time that reads 0 is below.
    pub least_s: f64,
    /// What readings are multiples of; 0 if they are not.
    even_s: f64,
}

/// The step that is known; if calls read 0 and none is, one below the shortest time. `None` where the step adds nothing to the scatter.
pub(crate) fn step(points: &Points) -> Option<Step> {
    let bins = || points.bins.iter().flatten();
    let shortest_s = bins().map(|bin| bin.mean_s).filter(|s| *s > 0.0);
    let shortest_s = shortest_s.fold(f64::INFINITY, f64::min);
    let even_s = points.clock_step_s;
    let has_zero = bins().any(|bin| bin.min_s == 0.0);
    let step = match (has_zero, even_s > MATTERS * shortest_s) {
        (_, true) => Step {
            least_s: even_s,
            even_s,
        },
        (true, false) => Step {
            least_s: shortest_s,
            even_s: 0.0,
        },
        (false, false) => return None,
    };
    step.least_s.is_finite().then_some(step)
}

/// The points with a time above 0.
///
/// # Arguments
/// * `above` - rows of zeros where the formula is above a step of the clock; they are set to a step
pub(crate) fn telling(points: &Points, step: Step, above: &[usize]) -> Points {
    let mut points = points.clone();
    for &row in above {
        points.mean_s[row] = step.least_s;
    }
    let is_telling = |row: &usize| points.mean_s[*row] > 0.0;
    let rows: Vec<usize> = (0..points.len()).filter(is_telling).collect();
    let mut telling = points.within(&rows);
    telling.clock_step_s = step.even_s;
    telling.blurred_below_s = step.even_s / 6_f64.sqrt() / SCALE;
    telling.blur();
    telling
}
