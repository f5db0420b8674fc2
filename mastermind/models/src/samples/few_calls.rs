//! Detects spikes at sizes called once or twice, which have no median of their own, by comparison with neighbouring sizes.
//!
//! In: the calls of each coordinate of a method. Out: the coordinates whose longest call is a spike. Coordinates that differ in one
//! number only form a line. A call inside a line is a spike if it took far longer than the next calls on *both* sides, so that a time that
//! rises, falls, or has a step or a cliff has no spikes:
//!
//! ```text
//! s |       x                  x
//!   |                            x x x      the first x is a spike, the others are a cliff
//!   | o o o   o o o o o o o
//!   +---------------------------------- size
//! ```
//!
//! The first call of a line, which may have warmed up the machine, is a spike if it is higher than any falling law; the last never is.
//!
//! Two conditions define "far longer". The call is a spike according to the mixture of `spikes`, with the scatter of calls about the
//! straight line between their two neighbours. And it is at least twice as high as the highest distance, above or below the neighbours,
//! that cannot be a spike because there would be too many. Spikes that recur with similar heights, such as the times of a Fourier
//! transform at prime sizes, belong to the method and are not set aside.

use crate::samples::parameter::{Parameter, ParameterKind};
use crate::samples::spikes::{Histogram, MIN_CALLS, MOST_OF_TIME, RECURRING, Spikes, usual};

// The constants were chosen on `benches/extrap/few_calls.py`.

/// Sizes that a line needs to estimate the scatter between neighbouring calls.
const MIN_SIZES: usize = 12;

/// Sizes needed for each spike beyond the first.
const SIZES_EACH: usize = 40;

/// Neighbours on each side; a spike must exceed the lowest of them, so that two adjacent spikes are both detected.
const BESIDE: usize = 2;

/// Number of calls after the first that the first must exceed to be a spike, so that two slow sizes at the start are none.
const AFTER_FIRST: usize = 3;

/// A spike takes at least this many times as long as its neighbours.
const LEAST_FACTOR: f64 = 3.0;

/// A spike is at least this many times as far above its neighbours, as a logarithm, as the highest call that is no spike.
const TIMES_AS_FAR: f64 = 2.0;

/// Spikes have similar heights if the standard deviation of their heights, as logarithms, is below this.
const ALIKE: f64 = std::f64::consts::LN_2;

/// A resonance takes at most this many times as long as its neighbours.
const MOST_OF_RESONANCE: f64 = 64.0;

/// Steepest decrease of a law with a parameter, as a power.
const STEEPEST: f64 = 3.0;

/// Passes of the search: a spike hides its neighbours, so each pass ignores the spikes found before.
const PASSES: usize = 3;

/// Indices of the coordinates with fewer than three calls whose longest call is a spike, ascending.
///
/// # Arguments
/// * `points` - the calls of each coordinate, in ascending order of the coordinates
/// * `known` - the distribution of spikes, estimated from the coordinates with more calls
pub(crate) fn spikes(
    parameters: &[Parameter],
    points: &[(Vec<f64>, Histogram)],
    known: &Spikes,
) -> Vec<usize> {
    let is_few = |(_, calls): &(Vec<f64>, Histogram)| calls.count() < MIN_CALLS;
    if points.len() < MIN_SIZES || !points.iter().any(is_few) {
        return Vec::new();
    }
    let lines = Lines::new(parameters, points);
    let calls: Vec<Call> = points.iter().map(|(_, calls)| Call::of(calls)).collect();
    let mut is_aside = vec![false; points.len()];
    let mut heights = Vec::new();
    for _ in 0..PASSES {
        let above = Above::new(&lines, points, &calls, &is_aside);
        let found = above.spikes(&calls, known, heights.len());
        if found.is_empty() {
            break;
        }
        for row in found {
            is_aside[row] = true;
            heights.push(above.heights[row]);
        }
    }
    let rows: Vec<usize> = (0..points.len()).filter(|&row| is_aside[row]).collect();
    let total_s: f64 = points.iter().map(|(_, calls)| calls.all().total_s()).sum();
    let aside_s: f64 = rows.iter().map(|&row| calls[row].longest_s).sum();
    let is_the_method = rows.len() as u64 >= RECURRING && aside_s > MOST_OF_TIME * total_s;
    if is_the_method || recur(&heights) {
        return Vec::new();
    }
    rows
}

/// Whether the spikes found have similar heights that a resonance may have.
fn recur(heights: &[f64]) -> bool {
    let n = heights.len() as f64;
    let mean = heights.iter().sum::<f64>() / n;
    let squares: f64 = heights.iter().map(|height| (height - mean).powi(2)).sum();
    let highest = heights.iter().copied().fold(0.0, f64::max);
    n > 1.0 && squares < ALIKE * ALIKE * (n - 1.0) && highest < MOST_OF_RESONANCE.ln()
}

/// The calls at one coordinate.
struct Call {
    /// Logarithm of the representative time: the shortest of fewer than three calls, the median of more.
    usual: f64,
    /// The longest of fewer than three calls; 0 for more, which `spikes` judges among themselves.
    longest_s: f64,
    /// Logarithm of the shorter of two calls.
    other: Option<f64>,
}

impl Call {
    fn of(calls: &Histogram) -> Self {
        let all = calls.all();
        match all.count < MIN_CALLS {
            true => Self {
                usual: all.min_s.ln(),
                longest_s: all.max_s,
                other: (all.count > 1).then(|| all.min_s.ln()),
            },
            false => Self {
                usual: calls.median_s().ln(),
                longest_s: 0.0,
                other: None,
            },
        }
    }
}

/// Lines of coordinates that differ in one number only.
struct Lines {
    /// Position of each varying number, and the rows in ascending order of the other parameters, then of this number.
    orders: Vec<(usize, Vec<u32>)>,
}

impl Lines {
    fn new(parameters: &[Parameter], points: &[(Vec<f64>, Histogram)]) -> Self {
        let n_params = parameters.len();
        let varies = |&param: &usize| {
            !matches!(parameters[param].kind, ParameterKind::Enumeration(_))
                && points.iter().any(|(x, _)| x[param] != points[0].0[param])
        };
        let order = |param: usize| {
            let mut rows: Vec<u32> = (0..points.len() as u32).collect();
            if param + 1 < n_params {
                // The sort is stable, so the parameter stays ascending.
                rows.sort_by(|&a, &b| {
                    let [a, b] = [a, b].map(|row| &points[row as usize].0);
                    let others = (0..n_params).filter(|&other| other != param);
                    others
                        .map(|other| a[other].total_cmp(&b[other]))
                        .find(|order| order.is_ne())
                        .unwrap_or(std::cmp::Ordering::Equal)
                });
            }
            (param, rows)
        };
        Self {
            orders: (0..n_params).filter(varies).map(order).collect(),
        }
    }
}

/// Height of calls above their neighbours, the least over all lines that contain the call, as a logarithm.
struct Above {
    /// Height of the longest call above its neighbours, shape `[n_points]`; `∞` if the neighbours took no time or no line is long enough,
    /// `-∞` at the end of a line.
    heights: Vec<f64>,
    /// Height less that of the steepest law, shape `[n_points]`.
    excess: Vec<f64>,
    /// Depth of calls below all their neighbours, shape `[n_points]`.
    dips: Vec<f64>,
    /// Scatter about the straight line between the two neighbours.
    scatter: f64,
}

impl Above {
    fn new(
        lines: &Lines,
        points: &[(Vec<f64>, Histogram)],
        calls: &[Call],
        is_aside: &[bool],
    ) -> Self {
        let n = points.len();
        let mut above = Self {
            heights: vec![f64::INFINITY; n],
            excess: vec![f64::INFINITY; n],
            dips: vec![f64::INFINITY; n],
            scatter: 0.0,
        };
        let (mut line, mut columns) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (param, rows) in &lines.orders {
            let is_beside = |a: &u32, b: &u32| {
                let [a, b] = [a, b].map(|&row| &points[row as usize].0);
                (0..a.len()).all(|other| other == *param || a[other] == b[other])
            };
            let mut distances = Vec::new();
            for rows in rows.chunk_by(is_beside) {
                line.clear();
                line.extend(rows.iter().map(|&row| row as usize));
                line.retain(|&row| !is_aside[row]);
                let [x, usual] = &mut columns;
                x.clear();
                x.extend(line.iter().map(|&row| points[row].0[*param]));
                usual.clear();
                usual.extend(line.iter().map(|&row| calls[row].usual));
                if line.len() >= MIN_SIZES {
                    let sizes = Sizes { x, usual };
                    above.take(&line, &sizes, calls);
                    distances.extend((1..line.len() - 1).map(|at| sizes.off(at)));
                }
            }
            distances.sort_by(f64::total_cmp);
            above.scatter = above.scatter.max(usual(&distances));
        }
        above
    }

    /// Adds the calls of one line.
    fn take(&mut self, line: &[usize], sizes: &Sizes<'_>, calls: &[Call]) {
        for (at, &row) in line.iter().enumerate() {
            let (beside, steepest) = match at {
                0 => (sizes.after_first(), sizes.steepest()),
                _ if at + 1 < line.len() => (sizes.beside(at), 0.0),
                _ => {
                    // The last call of a line is never a spike, even if another line contains it.
                    self.heights[row] = f64::NEG_INFINITY;
                    continue;
                }
            };
            let longest = calls[row].longest_s.ln().max(sizes.usual[at]);
            let height = longest - calls[row].other.map_or(beside, |other| other.max(beside));
            self.heights[row] = self.heights[row].min(height);
            self.excess[row] = self.excess[row].min(height - steepest);
            if at > 0 {
                self.dips[row] = self.dips[row].min(sizes.dip(at));
            }
        }
    }

    /// The rows that are spikes.
    ///
    /// # Arguments
    /// * `n_found` - number of spikes found in earlier passes
    fn spikes(&self, calls: &[Call], known: &Spikes, n_found: usize) -> Vec<usize> {
        let heights = self.heights.iter().copied();
        let mut told: Vec<f64> = heights.filter(|height| height.is_finite()).collect();
        let most = 1 + told.len() / SIZES_EACH;
        if told.len() <= most || n_found >= most {
            return Vec::new();
        }
        // Index, in descending order, of the first call that would be one spike too many.
        let beyond = most - n_found;
        let dips = self.dips.iter().copied();
        let mut dips: Vec<f64> = dips.filter(|dip| dip.is_finite()).collect();
        let first = |values: &mut Vec<f64>| match values.len() > beyond {
            true => {
                *values
                    .select_nth_unstable_by(beyond, |a, b| b.total_cmp(a))
                    .1
            }
            false => 0.0,
        };
        let other = first(&mut told).max(first(&mut dips));
        let highest = told.iter().copied().fold(0.0, f64::max);
        let known = known.along(highest);
        let scale = known.scale(self.scatter);
        let least = LEAST_FACTOR.ln().max(TIMES_AS_FAR * other);
        let is_spike = |&row: &usize| {
            let (height, time_s) = (self.heights[row], calls[row].longest_s);
            let beside_s = time_s * (-self.excess[row]).exp();
            // Coordinates with more calls, or in no line, are not judged here.
            let is_judged = time_s > 0.0 && height.is_finite();
            is_judged
                && height >= least
                && known.is_spike(time_s, beside_s, scale)
                && !known.is_within_steps(time_s, beside_s)
        };
        (0..self.heights.len()).filter(is_spike).collect()
    }
}

/// A line: sizes, ascending, and the logarithm of the representative time of each.
struct Sizes<'l> {
    x: &'l [f64],
    usual: &'l [f64],
}

impl Sizes<'_> {
    /// Longest time, as a logarithm, that the neighbours of an inner call explain: under a rising law that of the calls after it, under a
    /// falling law that of the calls before it.
    fn beside(&self, at: usize) -> f64 {
        let [below, above] = self.sides(at).map(|side| fold(side, f64::min));
        below.max(above)
    }

    /// Depth of an inner call below its neighbours.
    fn dip(&self, at: usize) -> f64 {
        let [below, above] = self.sides(at).map(|side| fold(side, f64::max));
        below.min(above) - self.usual[at]
    }

    /// The times of the neighbours on both sides.
    fn sides(&self, at: usize) -> [&[f64]; 2] {
        let end = self.usual.len().min(at + 1 + BESIDE);
        [
            &self.usual[at.saturating_sub(BESIDE)..at],
            &self.usual[at + 1..end],
        ]
    }

    /// Distance from the straight line between the two neighbours, over the logarithm of the size if all sizes are positive, so that a
    /// power law has the distance 0.
    fn off(&self, at: usize) -> f64 {
        let place = |at: usize| match self.x[0] > 0.0 {
            true => self.x[at].ln(),
            false => self.x[at],
        };
        let [before, here, after] = [at - 1, at, at + 1].map(place);
        let share = (here - before) / (after - before);
        let line = self.usual[at - 1] + share * (self.usual[at + 1] - self.usual[at - 1]);
        (self.usual[at] - line).abs()
    }

    /// Longest time, as a logarithm, of the calls after the first.
    fn after_first(&self) -> f64 {
        fold(&self.usual[1..=AFTER_FIRST], f64::max)
    }

    /// Greatest height of the first call above those after it under a falling law: of the steepest power, and as the later calls go on to
    /// fall.
    fn steepest(&self) -> f64 {
        let gap = self.x[1] - self.x[0];
        // A negative power of the size 0 is infinite, so the first gap replaces a first size of 0.
        let first = if self.x[0] > 0.0 { self.x[0] } else { gap };
        let falls = self.after_first() - self.median_of(AFTER_FIRST + 1);
        STEEPEST * ((gap / first).ln_1p() + falls.max(0.0))
    }

    /// The median of three times from a place on.
    fn median_of(&self, at: usize) -> f64 {
        let mut three = [self.usual[at], self.usual[at + 1], self.usual[at + 2]];
        three.sort_by(f64::total_cmp);
        three[1]
    }
}

fn fold(values: &[f64], f: fn(f64, f64) -> f64) -> f64 {
    values.iter().copied().reduce(f).unwrap_or(f64::NAN)
}
