//! Compares two assemblies: whether their difference is significant, and the expected loss of choosing one of them.

use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// The comparison of two assemblies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Expected cost of the second minus that of the first, seconds: positive if the first is better.
    pub difference: f64,
    /// Standard deviation of the difference, seconds; infinite where it is unknown.
    pub deviation: f64,
    /// Probability that the second is better than the first.
    pub reversed: f64,
    /// Expected loss of choosing the first, compared with knowing the better one, seconds; infinite if the deviation
    /// is.
    pub regret: f64,
    /// Degrees of freedom of the deviation; infinite (`null` in JSON) for a normal distribution.
    pub freedom: f64,
}

impl Comparison {
    /// Whether the difference is significant in a two-sided test at a level, for example 0.95.
    pub fn is_told(&self, level: f64) -> bool {
        self.reversed.min(1.0 - self.reversed) < 0.5 * (1.0 - level)
    }

    /// Interval of the difference at a level, seconds; `None` where its deviation is unknown.
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

/// Compares two assemblies whose difference follows a Student's t distribution about its expected value.
///
/// The assembly of least expected cost also has the least expected regret, since the best cost is the same for all.
///
/// # Arguments
/// * `difference` - expected cost of the second minus that of the first, seconds, including pairs
/// * `deviation` - standard deviation of the difference, seconds, ≥ 0; infinite where it is unknown
/// * `freedom` - degrees of freedom of the deviation, > 0; infinite for a normal distribution
///
/// # Source
/// The mean of the part of a Student's t below 0, with density `f` and distribution `F` at `z = difference /
/// deviation`: `f (ν + z²) / (ν − 1) − z (1 − F)`, by integration; it does not exist for `ν ≤ 1`.
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

/// Probability that a Student's t exceeds `z`.
fn tail(z: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom.is_finite() => student.cdf(-z),
        _ => 0.5 * libm::erfc(z / std::f64::consts::SQRT_2),
    }
}

/// `f (ν + z²) / (ν − 1)`; for the normal distribution its density.
fn density_part(z: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom.is_finite() => student.pdf(z) * (freedom + z * z) / (freedom - 1.0),
        _ => (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt(),
    }
}
