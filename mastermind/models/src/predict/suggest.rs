//! Suggests where to measure next: the points that reduce the uncertainty of predictions most for their cost.
//!
//! The mean times over a grid of points are treated as one Gaussian process. Its covariance comes from the
//! uncertainty of the coefficients and from the disagreement of the credible formulas. A measurement at one point
//! reduces the variance at all points that correlate with it; the point with the largest reduction per second of cost
//! comes first, and the next ones are chosen as if it had been measured.
//!
//! ```text
//! measured        n = 100, 200, 400; formulas 1 + n (weight 0.6) and 2 + 0.002 n² (0.4)
//! they disagree   little within the range, most at n = 800
//! suggested       n = 800, unless a call there costs more than its gain is worth
//! ```

use crate::error::Error;
use crate::error::list;
use crate::formula::slopes::slopes;
use crate::samples::parameter::{Coordinate, Value};
use crate::select::model::Model;
use crate::solve::covariance::Covariance;

/// Grid values of a parameter, by the number of parameters that vary; with more parameters, points are scattered
/// instead.
const GRID: [usize; 4] = [1, 33, 9, 5];

/// Number of scattered points, and of distinct values of each parameter among them.
const SCATTERED: [usize; 2] = [400, 9];

/// Options of [`suggest`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuggestOptions {
    /// Number of points to suggest.
    pub n: usize,
    /// How far above the measured range predictions are wanted, as a factor ≥ 1; points are suggested up
    /// to there.
    pub reach: f64,
    /// Calls measured at a point.
    pub repetitions: u32,
    /// Cost of a measurement in addition to its calls, seconds; `None` takes the cost of the calls at the point of
    /// median predicted time.
    pub setup_s: Option<f64>,
}

impl Default for SuggestOptions {
    fn default() -> Self {
        Self {
            n: 3,
            reach: 2.0,
            repetitions: 5,
            setup_s: None,
        }
    }
}

/// A point worth measuring.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The coordinate to measure at.
    pub coordinate: Coordinate,
    /// Predicted time of a call there, seconds.
    pub time_s: f64,
    /// Cost of the measurement, seconds: all its calls and the setup.
    pub cost_s: f64,
    /// Relative standard deviation of the mean time there.
    pub unsure: f64,
    /// Share of the variance over the whole range that measuring there removes, after the preceding points of the
    /// list were measured; 0 to 1.
    pub gain: f64,
    /// The coordinate lies outside the measured range.
    pub extrapolated: bool,
}

/// Returns the points most worth measuring, the best first; each is chosen as if the preceding ones had been measured
/// already.
///
/// The uncertainty of the mean time comes from the covariance of the coefficients of every credible formula and from
/// the disagreement of the formulas. As one Gaussian process over a grid, a measurement at `x` with variance `v`
/// lowers the variance at `z` by `K(x, z)² / (K(x, x) + v)`. The best point maximizes the sum of these reductions
/// over the grid, relative to the squared times, per second of cost.
///
/// # Errors
/// [`Error::NothingVaries`] if no parameter of the model varies; [`Error::NothingUnsure`] if its predictions have no
/// variance to reduce; those of [`crate::predict()`].
///
/// # Source
/// D.A. Cohn, Z. Ghahramani, M.I. Jordan, J. Artif. Intell. Res. 4 (1996) 129, for the criterion
/// (recalled, not looked up).
pub fn suggest(model: &Model, options: &SuggestOptions) -> Result<Vec<Suggestion>, Error> {
    let places = places(model, options.reach.max(1.0))?;
    let mut belief = Belief::new(model, &places)?;
    let repetitions = f64::from(options.repetitions.max(1));
    let mut sorted = belief.mean_s.clone();
    sorted.sort_by(f64::total_cmp);
    let setup_s = options
        .setup_s
        .unwrap_or(repetitions * sorted[sorted.len() / 2]);
    let noise: Result<Vec<f64>, Error> = places
        .iter()
        .map(|place| Ok(model.deviation_s(place)?.powi(2) / repetitions))
        .collect();
    let noise = noise?;
    let mut found = Vec::new();
    let mut left: Vec<usize> = (0..places.len()).collect();
    while found.len() < options.n && !left.is_empty() {
        let cost = |x: usize| repetitions * belief.mean_s[x] + setup_s;
        let worth = |&x: &usize| belief.gain(x, noise[x]) / cost(x);
        let Some(x) = left
            .iter()
            .copied()
            .max_by(|a, b| worth(a).total_cmp(&worth(b)))
        else {
            break;
        };
        let gain = belief.gain(x, noise[x]) / belief.total();
        if gain.is_nan() || gain <= 0.0 {
            break;
        }
        found.push(Suggestion {
            coordinate: places[x].clone(),
            time_s: belief.mean_s[x],
            cost_s: cost(x),
            unsure: belief.covariance[x][x].max(0.0).sqrt() / belief.mean_s[x],
            gain,
            extrapolated: !model.covers(&places[x]),
        });
        belief.measure(x, noise[x]);
        left.retain(|&other| other != x);
    }
    if found.is_empty() && options.n > 0 {
        return Err(Error::NothingUnsure {
            method: model.method.clone(),
        });
    }
    Ok(found)
}

/// Mean and covariance of the times at the points.
struct Belief {
    /// Shape `[n_places]`, > 0.
    mean_s: Vec<f64>,
    /// s², shape `[n_places][n_places]`.
    covariance: Vec<Vec<f64>>,
}

impl Belief {
    fn new(model: &Model, places: &[Coordinate]) -> Result<Self, Error> {
        let n = places.len();
        let alone = [crate::Alternative {
            weight: 1.0,
            family: model.family,
            formula: model.formula.clone(),
            covariance: model.covariance.clone(),
        }];
        let parts = match model.alternatives.as_slice() {
            [] => &alone[..],
            parts => parts,
        };
        let mut values = Vec::with_capacity(parts.len());
        let mut mean_s = vec![0.0; n];
        for part in parts {
            let times: Result<Vec<f64>, Error> = places
                .iter()
                .map(|place| Ok(model.alternative_s(part, place)?.max(0.0)))
                .collect();
            let times = times?;
            let pairs = mean_s.iter_mut().zip(&times);
            pairs.for_each(|(sum, time)| *sum += part.weight * time);
            values.push(times);
        }
        let largest = mean_s.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        mean_s
            .iter_mut()
            .for_each(|mean| *mean = mean.max(1e-9 * largest));
        let mut covariance = vec![vec![0.0; n]; n];
        for (part, times) in parts.iter().zip(&values) {
            let gradients: Result<Vec<Vec<f64>>, &str> = places
                .iter()
                .map(|place| slopes(part.family, &part.formula, |name| place.number(name)))
                .collect();
            let gradients = gradients.map_err(|name| Error::MissingParameter {
                method: model.method.clone(),
                parameter: name.into(),
            })?;
            let known = match &part.covariance {
                Some(known) => known.clone(),
                None => vague(&gradients, largest),
            };
            for (x, row) in covariance.iter_mut().enumerate() {
                let along = known.times(&gradients[x]);
                for (z, sum) in row.iter_mut().enumerate() {
                    let within: f64 = along.iter().zip(&gradients[z]).map(|(a, g)| a * g).sum();
                    let apart = (times[x] - mean_s[x]) * (times[z] - mean_s[z]);
                    *sum += part.weight * (within + apart);
                }
            }
        }
        Ok(Self { mean_s, covariance })
    }

    /// Reduction of the relative variance, summed over the points, by a measurement at `x`.
    fn gain(&self, x: usize, noise: f64) -> f64 {
        let row = &self.covariance[x];
        // Without a known scatter, assume a standard deviation of the whole time.
        let noise = if noise.is_finite() {
            noise
        } else {
            self.mean_s[x].powi(2)
        };
        let pairs = row.iter().zip(&self.mean_s);
        let sum: f64 = pairs.map(|(k, mean)| (k / mean).powi(2)).sum();
        let variance = row[x] + noise;
        if variance > 0.0 { sum / variance } else { 0.0 }
    }

    /// Sum of the relative variances.
    fn total(&self) -> f64 {
        let square = |x: usize| self.covariance[x][x] / self.mean_s[x].powi(2);
        (0..self.mean_s.len()).map(square).sum()
    }

    /// Updates the covariance as if `x` had been measured.
    fn measure(&mut self, x: usize, noise: f64) {
        let noise = if noise.is_finite() {
            noise
        } else {
            self.mean_s[x].powi(2)
        };
        let row = self.covariance[x].clone();
        let variance = row[x] + noise;
        for (left, others) in row.iter().zip(&mut self.covariance) {
            let pairs = others.iter_mut().zip(&row);
            pairs.for_each(|(k, right)| *k -= left * right / variance);
        }
    }
}

/// A covariance that constrains no more than the order of magnitude, for a fit without a spare point.
fn vague(gradients: &[Vec<f64>], largest_s: f64) -> Covariance {
    let n = gradients.first().map_or(0, Vec::len);
    Covariance::new(n, |i, j| {
        let steepest = gradients.iter().map(|g| g[j].abs()).fold(0.0, f64::max);
        match i == j && steepest > 0.0 {
            true => (largest_s / steepest).powi(2),
            false => 0.0,
        }
    })
}

/// A grid over the ranges of the parameters that vary, up to `reach` times each upper end.
fn places(model: &Model, reach: f64) -> Result<Vec<Coordinate>, Error> {
    let varying: Vec<(&String, [f64; 2])> = model
        .range
        .iter()
        .filter(|(_, [low, high])| low < high)
        .map(|(name, range)| (name, *range))
        .collect();
    if varying.is_empty() {
        return Err(Error::NothingVaries {
            method: model.method.clone(),
            known: list(model.params.iter().cloned()),
        });
    }
    let mut start = Coordinate::new();
    for (name, label) in &model.mode {
        start
            .values
            .insert(name.clone(), Value::Label(label.clone()));
    }
    for (name, [low, _]) in &model.range {
        start.values.insert(name.clone(), Value::Number(*low));
    }
    let Some(&n) = GRID.get(varying.len()) else {
        return Ok(scattered(&start, &varying, reach));
    };
    let mut places = vec![start];
    for (name, [low, high]) in varying {
        let values = grid(low, high, reach, n);
        places = places
            .iter()
            .flat_map(|place| values.iter().map(|&x| place.clone().with(name, x)))
            .collect();
    }
    Ok(places)
}

/// Points of a low-discrepancy sequence over the ranges of many parameters; their number does not grow with the
/// number of parameters.
///
/// # Source
/// M. Roberts, *The unreasonable effectiveness of quasirandom sequences* (2018): the additive recurrence of the powers of the
/// root of `x^(d+1) = x + 1` (recalled, not looked up).
fn scattered(start: &Coordinate, varying: &[(&String, [f64; 2])], reach: f64) -> Vec<Coordinate> {
    let [n_places, n_values] = SCATTERED;
    let degree = varying.len() as f64 + 1.0;
    let root = (0..64).fold(1.5_f64, |root, _| (1.0 + root).powf(degree.recip()));
    let values: Vec<Vec<f64>> = varying
        .iter()
        .map(|(_, [low, high])| grid(*low, *high, reach, n_values))
        .collect();
    let place = |k: usize| {
        let pairs = varying.iter().zip(&values).enumerate();
        pairs.fold(start.clone(), |place, (param, ((name, _), values))| {
            let share = match k {
                0 => 0.0,
                _ if k + 1 == n_places => 1.0 - f64::EPSILON,
                _ => (0.5 + k as f64 * root.powi(-(param as i32) - 1)).fract(),
            };
            place.with(name, values[(share * values.len() as f64) as usize])
        })
    };
    let mut places: Vec<Coordinate> = Vec::with_capacity(n_places);
    for place in (0..n_places).map(place) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Values from `low` to `reach · high`, evenly spaced by factors if they are positive, otherwise by differences;
/// rounded to whole numbers if both ends are whole.
fn grid(low: f64, high: f64, reach: f64, n: usize) -> Vec<f64> {
    let end = if high > 0.0 { high * reach } else { high };
    let share = |k: usize| k as f64 / (n - 1) as f64;
    let whole = low.fract() == 0.0 && high.fract() == 0.0;
    let value = |k: usize| {
        let x = if low > 0.0 {
            low * (end / low).powf(share(k))
        } else {
            low + (end - low) * share(k)
        };
        if whole { x.round() } else { x }
    };
    let mut values: Vec<f64> = (0..n).map(value).collect();
    values.dedup();
    values
}
