//! How the spread of calls goes with their time, which is what points are weighted by.

use crate::samples::points::Points;

/// Growth of the deviation with the mean, as a power, from which on noise counts as relative.
const GROWS: f64 = 0.5;

/// Times below this share of the largest weigh as much as that.
const SMALLEST: f64 = 1e-6;

/// Weighs where all are 0, as the values of a counter may be; its square and the reciprocal of that are finite.
const LEAST: f64 = 1e-100;

/// What the standard deviation of a call is proportional to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// The time of the call.
    Relative,
    /// Nothing: it is the same for all calls.
    Absolute,
}

impl Noise {
    /// What the spread of the calls at each point says; relative where it says nothing, as noise more
    /// often is.
    pub fn of(points: &Points) -> Self {
        let spreads = (0..points.len()).filter_map(|i| {
            let spare = points.count[i] - 1.0;
            let variance = points.m2_s2[i] / spare;
            let told = spare > 0.0 && variance > 0.0 && points.mean_s[i] > 0.0;
            // Rounding of equal times is no spread.
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
        // Not a number where there is nothing to tell from.
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
