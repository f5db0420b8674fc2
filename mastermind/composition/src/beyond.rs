//! What a model says beyond the sizes that it was fitted to, held between what the measured sizes allow.
//!
//! A formula may fall, become negative or explode where nothing was measured. So the time at the nearest measured size, times growth as
//! it was seen there, bounds it: towards larger sizes the time grows by the least slope of the last octaves, or stays, and at most by
//! the steepest, with twice the last increase of the slope added, up to the cube. Towards smaller sizes it is the reverse.
//!
//! ```text
//! measured up to q = 8 with 2, 4, 8 s at 2, 4, 8:  16 s at 16, whatever the formula says
//! ```

use mastermind_models::{Coordinate, Error, Model, Value, predict, predict_value_s};

/// Octaves within the measured sizes whose slopes count.
const OCTAVES: usize = 3;

/// The steepest power of a size. Source: the specification of the composite model; no kernel of the case studies does more than the
/// cube of a size of its arguments.
const STEEPEST: f64 = 3.0;

/// The ratio of the bounds from which on nothing is known. Source: the same.
const UNKNOWN: f64 = 100.0;

/// The 95 % point of the normal distribution, both sides.
const NORMAL_95: f64 = 1.96;

/// A call outside the measured sizes of a model.
pub(crate) struct Beyond {
    /// The nearest coordinate inside.
    pub nearest: Coordinate,
    /// How many calls there take as long as the call.
    pub calls: f64,
    /// Standard deviation of the call's time, seconds; infinite where nothing is known.
    pub deviation_s: f64,
    /// Whether a bound takes the place of the formula.
    pub bounded: bool,
}

impl Beyond {
    /// # Errors
    /// Those of [`predict`].
    pub fn of(model: &Model, coordinate: &Coordinate) -> Result<Self, Error> {
        let ray = Ray::of(model, coordinate);
        let formula = predict(model, coordinate)?;
        let at_edge_s = predict_value_s(model, &ray.nearest)?;
        let [low, high] = ray.growth(model)?.map(|growth| at_edge_s * growth.exp());
        // Not `clamp`, which does not return where a bound is no number, as 0 s times a growth beyond all numbers.
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

/// The way from the nearest measured coordinate to a call.
struct Ray {
    nearest: Coordinate,
    /// Logarithms of how far the call is from there, by parameter.
    away: Vec<(String, f64)>,
    /// The largest of these, in octaves.
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

    /// A coordinate so many octaves inside; None outside the measured sizes.
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
        // Outwards, the last one first.
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
        // The ends of a straight line agree but for rounding.
        Ok([low * self.octaves, high.max(low) * self.octaves])
    }
}
