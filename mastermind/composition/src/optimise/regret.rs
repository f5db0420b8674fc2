//! Whether two assemblies are distinguished, and what is risked by choosing one of them.

use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// What is known of the difference of two assemblies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Expected cost of the second less that of the first, seconds: positive where the first is better.
    pub difference: f64,
    /// Standard deviation of that, seconds; infinite where nothing is known of it.
    pub deviation: f64,
    /// Probability that the second is better than the first.
    pub reversed: f64,
    /// What choosing the first is expected to cost more than knowing which is better, seconds; infinite where nothing is known of it.
    pub regret: f64,
    /// Degrees of freedom of the deviation; infinite (`null` in JSON) for a normal distribution.
    pub freedom: f64,
}

impl Comparison {
    /// Whether the difference is beyond doubt at a level, 0.95 say, on both sides.
    pub fn is_told(&self, level: f64) -> bool {
        self.reversed.min(1.0 - self.reversed) < 0.5 * (1.0 - level)
    }

    /// Interval of the difference at a level, seconds; `None` where nothing is known of its deviation.
    pub fn interval_s(&self, level: f64) -> Option<[f64; 2]> {
        if !self.deviation.is_finite() {
            return None;
        }
        let probability = 0.5 + 0.5 * level;
        let factor = match StudentsT::new(0.0, 1.0, self.freedom) {
            Ok(student) if self.freedom.is_finite() => student.inverse_cdf(probability),
            _ => Normal::standard().inverse_cdf(probability),
        };
        let half = factor * self.deviation;
        Some([self.difference - half, self.difference + half])
    }
}

/// Compares two assemblies whose difference is distributed like Student's t about what is expected.
///
/// The assembly of least expected cost is the one of least expected regret: what the best would have cost is the same for all.
///
/// # Arguments
/// * `difference` - expected cost of the second less that of the first, seconds, pairs included
/// * `deviation` - standard deviation of that, seconds, ≥ 0; infinite where nothing is known of it
/// * `freedom` - degrees of freedom of the deviation, > 0; infinite for a normal distribution
///
/// # Source
/// The mean of the part of a Student's t below 0, with density `f` and distribution `F` at `z = difference / deviation`:
/// `f (ν + z²) / (ν − 1) − z (1 − F)`, by integration; it has none for `ν ≤ 1`.
pub fn compare_assemblies(difference: f64, deviation: f64, freedom: f64) -> Comparison {
    let (reversed, regret) = if !deviation.is_finite() {
        (0.5, f64::INFINITY)
    } else if deviation > 0.0 {
        let z = difference / deviation;
        let above = tail(z, freedom);
        let mean = match freedom > 1.0 {
            true => density_part(z, freedom) - z * above,
            false => f64::INFINITY,
        };
        (above, (deviation * mean).max(0.0))
    } else if difference < 0.0 {
        (1.0, -difference)
    } else {
        (if difference > 0.0 { 0.0 } else { 0.5 }, 0.0)
    };
    Comparison {
        difference,
        deviation,
        reversed,
        regret,
        freedom,
    }
}

/// Probability that a Student's t is above `z`.
fn tail(z: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom.is_finite() => student.cdf(-z),
        _ => 0.5 * libm::erfc(z / std::f64::consts::SQRT_2),
    }
}

/// `f (ν + z²) / (ν − 1)`, of the normal distribution its density.
fn density_part(z: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom.is_finite() => student.pdf(z) * (freedom + z * z) / (freedom - 1.0),
        _ => (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt(),
    }
}
