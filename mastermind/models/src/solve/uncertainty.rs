//! Variances that add up, each with its own degrees of freedom, and the interval of the sum.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Probability that a prediction's interval holds a new call's time.
pub const LEVEL: f64 = 0.95;

/// Degrees of freedom above which Student's t is expanded about the normal distribution.
const MANY: f64 = 1000.0;

/// The variance of a sum of independent errors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Uncertainty {
    variance: f64,
    /// `Σ vᵢ² / dofᵢ`.
    spread: f64,
}

impl Uncertainty {
    /// Adds an independent part.
    ///
    /// # Arguments
    /// * `variance` - s², ≥ 0; infinite where it is unknown
    /// * `freedom` - degrees of freedom it was estimated with, > 0
    pub fn add(&mut self, variance: f64, freedom: f64) {
        self.variance += variance;
        if variance > 0.0 {
            self.spread += variance * variance / freedom;
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.variance += other.variance;
        self.spread += other.spread;
    }

    /// The variance, s²; infinite where a part is unknown.
    pub fn variance_s2(&self) -> f64 {
        self.variance
    }

    /// Half the width of the two-sided interval, seconds; infinite where a part is unknown.
    ///
    /// # Arguments
    /// * `level` - probability that the interval holds the value, in 0..1
    ///
    /// # Source
    /// F.E. Satterthwaite, Biometrics Bulletin 2 (1946) 110, for the degrees of freedom of the sum:
    /// `(Σ vᵢ)² / Σ (vᵢ² / dofᵢ)` (recalled, not looked up).
    pub fn half_width_s(&self, level: f64) -> f64 {
        if self.variance <= 0.0 {
            return 0.0;
        }
        if !self.variance.is_finite() {
            return f64::INFINITY;
        }
        let freedom = self.variance * (self.variance / self.spread);
        student_quantile(0.5 + level / 2.0, freedom.max(1.0)) * self.variance.sqrt()
    }
}

/// Quantile of Student's t.
///
/// Above [`MANY`] degrees of freedom `z + (z³ + z) / 4ν`, off by less than 1e-5; the inverse of the
/// incomplete beta function loses digits there.
pub(crate) fn student_quantile(probability: f64, freedom: f64) -> f64 {
    if freedom <= MANY
        && let Ok(student) = StudentsT::new(0.0, 1.0, freedom)
    {
        return student.inverse_cdf(probability);
    }
    let z = Normal::standard().inverse_cdf(probability);
    z + (z.powi(3) + z) / (4.0 * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table values of t at 97.5 %.
    #[test]
    fn quantiles_match_the_table() {
        for (freedom, t) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (10.0, 2.228),
            (120.0, 1.980),
            (1e9, 1.960),
        ] {
            assert!(
                (student_quantile(0.975, freedom) - t).abs() < 5.1e-4,
                "{freedom}"
            );
        }
        let (below, above) = (
            student_quantile(0.975, 999.99),
            student_quantile(0.975, 1000.01),
        );
        assert!((below - above).abs() < 1e-5);
    }

    #[test]
    fn a_part_known_well_lends_its_freedom() {
        let mut sum = Uncertainty::default();
        sum.add(1.0, 1e6);
        sum.add(1e-6, 1.0);
        assert!((sum.half_width_s(0.95) - 1.96).abs() < 1e-3);
        sum.add(f64::INFINITY, 1.0);
        assert_eq!(sum.half_width_s(0.95), f64::INFINITY);
        assert_eq!(Uncertainty::default().half_width_s(0.95), 0.0);
    }
}
