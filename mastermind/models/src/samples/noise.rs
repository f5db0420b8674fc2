//! The dependence of the spread of calls on their time, which determines the weights of points.

use crate::samples::points::Points;

/// Power by which the standard deviation grows with the mean, from which on noise counts as relative.
const GROWS: f64 = 0.5;

/// Times below this share of the largest are weighted like this share.
const SMALLEST: f64 = 1e-6;

/// Replaces the time in the weights if all times are 0, as the values of a counter may be; its square and the reciprocal of that are finite.
const LEAST: f64 = 1e-100;

/// The quantity that the standard deviation of a call is proportional to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// The time of the call.
    Relative,
    /// Nothing: it is the same for all calls.
    Absolute,
}

impl Noise {
    /// Infers the noise from the spread of the calls at each point; relative, the more frequent case, if the spread is unknown.
    pub fn of(points: &Points) -> Self {
        let spreads = (0..points.len()).filter_map(|i| {
            let spare = points.count[i] - 1.0;
            let variance = points.m2_s2[i] / spare;
            let told = spare > 0.0 && variance > 0.0 && points.mean_s[i] > 0.0;
            // The rounding of equal times is no spread.
            let real = variance.sqrt() > 1e-12 * points.mean_s[i];
            (told && real).then(|| (points.mean_s[i].ln(), 0.5 * variance.ln(), spare))
        });
        let spreads: Vec<(f64, f64, f64)> = spreads.collect();
        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            spreads.iter().map(|&(x, y, w)| w * f(x, y)).sum()
        };
        let total = sum(&|_, _| 1.0);
        let (mean_x, mean_y) = (sum(&|x, _| x) / total, sum(&|_, y| y) / total);
        let along = sum(&|x, _| (x - mean_x).powi(2));
        let slope = sum(&|x, y| (x - mean_x) * (y - mean_y)) / along;
        // The slope is NaN with fewer than two distinct means of known spread; the noise is then relative.
        if slope < GROWS {
            Self::Absolute
        } else {
            Self::Relative
        }
    }

    /// Variance of a call of the time `fitted_s`, up to a common factor.
    pub fn variance(self, fitted_s: f64, largest_s: f64) -> f64 {
        match self {
            Self::Relative => {
                let smallest = (SMALLEST * largest_s).max(LEAST);
                fitted_s.max(smallest).powi(2)
            }
            Self::Absolute => 1.0,
        }
    }
}
