//! Predictions outside the sizes that a model was fitted to, bounded by the growth within the measured sizes.
//!
//! A formula may decrease, become negative or explode where nothing was measured. So the time at the nearest measured
//! size, multiplied by bounds of the growth, limits it. Towards larger sizes, the time grows at least by the least
//! slope of the last octaves, if that is positive, and at most by the steepest slope plus twice the last increase of
//! the slope, up to the cube. Towards smaller sizes the bounds are reversed.
//!
//! ```text
//! measured up to q = 8 with 2, 4, 8 s at 2, 4, 8:  16 s at 16, whatever the formula predicts
//! ```

use mastermind_models::{Coordinate, Error, Model, Value, predict, predict_value_s};

/// Octaves within the measured sizes whose slopes determine the bounds.
const OCTAVES: usize = 3;

/// Largest power of a size. Source: the specification of the composite model; no kernel of the case studies does more
/// work than the cube of a size of its arguments.
const STEEPEST: f64 = 3.0;

/// Ratio of the bounds from which on the prediction counts as unknown. Source: the same.
const UNKNOWN: f64 = 100.0;

/// Two-sided 95 % point of the normal distribution.
const NORMAL_95: f64 = 1.96;

/// A call outside the measured sizes of a model.
pub(crate) struct Beyond {
    /// The nearest coordinate inside the measured sizes.
    pub nearest: Coordinate,
    /// Number of calls at `nearest` that take as long as this call.
    pub calls: f64,
    /// Standard deviation of the call's time, seconds; infinite where it is unknown.
    pub deviation_s: f64,
    /// Whether a bound replaced the formula.
    pub bounded: bool,
}

impl Beyond {
    /// # Errors
    /// The errors of [`predict`].
    pub fn of(model: &Model, coordinate: &Coordinate) -> Result<Self, Error> {
        let ray = Ray::of(model, coordinate);
        let formula = predict(model, coordinate)?;
        let at_edge_s = predict_value_s(model, &ray.nearest)?;
        let [low, high] = ray.growth(model)?.map(|growth| at_edge_s * growth.exp());
        // Not `clamp`, which panics if a bound is NaN, such as 0 s times an infinite growth.
        let value_s = formula.value_s.max(low).min(high);
        let own_s = (formula.upper_s - formula.lower_s) / (2.0 * NORMAL_95);
        let is_known = high <= UNKNOWN * low;
        Ok(Self {
            calls: if at_edge_s > 0.0 {
                value_s / at_edge_s
            } else {
                1.0
            },
            nearest: ray.nearest,
            deviation_s: match is_known {
                true => own_s.min((high - value_s).max(value_s - low)),
                false => f64::INFINITY,
            },
            bounded: value_s != formula.value_s,
        })
    }
}

/// The direction from the nearest measured coordinate to a call.
struct Ray {
    nearest: Coordinate,
    /// Logarithms of the distance of the call from there, by parameter.
    away: Vec<(String, f64)>,
    /// The largest of these distances, in octaves.
    octaves: f64,
}

impl Ray {
    fn of(model: &Model, coordinate: &Coordinate) -> Self {
        let mut nearest = coordinate.clone();
        let mut away = Vec::new();
        for (name, value) in &mut nearest.values {
            if let (Value::Number(x), Some([low, high])) = (value, model.range.get(name)) {
                let inside = x.max(*low).min(*high);
                if *x > 0.0 && inside > 0.0 && *x != inside {
                    away.push((name.to_owned(), (*x / inside).ln()));
                }
                *x = inside;
            }
        }
        let largest = away.iter().map(|(_, ln)| ln.abs()).fold(0.0, f64::max);
        Self {
            nearest,
            away,
            octaves: largest / std::f64::consts::LN_2,
        }
    }

    /// A coordinate that many octaves inwards; None outside the measured sizes.
    fn inside(&self, model: &Model, octaves: f64) -> Option<Coordinate> {
        let mut at = self.nearest.clone();
        for (name, value) in &mut at.values {
            let ln = self.away.iter().find(|(of, _)| of == name);
            if let (Value::Number(x), Some((_, ln))) = (value, ln) {
                *x *= (-ln * octaves / self.octaves).exp();
            }
        }
        model.covers(&at).then_some(at)
    }

    /// Logarithms of the least and the largest growth from the nearest measured coordinate to the call.
    fn growth(&self, model: &Model) -> Result<[f64; 2], Error> {
        let mut times = Vec::new();
        for octave in 0..=OCTAVES {
            match self.inside(model, octave as f64) {
                Some(at) => times.push(predict_value_s(model, &at)?.ln()),
                None => break,
            }
        }
        // Outwards, the outermost one first.
        let slopes: Vec<f64> = times.windows(2).map(|pair| pair[0] - pair[1]).collect();
        let known = slopes.iter().copied().filter(|slope| slope.is_finite());
        let least = known.clone().fold(f64::INFINITY, f64::min);
        let largest = known.clone().fold(f64::NEG_INFINITY, f64::max);
        let last = known.clone().next().unwrap_or(0.0) - known.clone().nth(1).unwrap_or(0.0);
        let last = if known.count() > 1 { last } else { 0.0 };
        let sum: f64 = self.away.iter().map(|(_, ln)| ln.abs()).sum();
        let steepest = STEEPEST * sum / self.octaves.max(f64::MIN_POSITIVE);
        let is_up = self.away.iter().any(|(_, ln)| *ln > 0.0);
        let [low, high] = match (largest.is_finite(), is_up) {
            (false, true) => [0.0, steepest],
            (false, false) => [-steepest, 0.0],
            (true, true) => {
                let most = largest + 2.0 * last.max(0.0);
                [least.max(0.0), most.min(steepest.max(largest)).max(0.0)]
            }
            (true, false) => {
                let most = least + 2.0 * last.min(0.0);
                [most.max((-steepest).min(least)).min(0.0), largest.min(0.0)]
            }
        };
        // Rounding can make the bounds of a straight line cross.
        Ok([low * self.octaves, high.max(low) * self.octaves])
    }
}
