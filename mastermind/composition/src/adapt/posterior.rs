//! Posterior of the times of classes, and the quantities that decisions need from it.

use nalgebra::{Cholesky, DMatrix, Dyn};

/// Posterior of the logarithms of times after the calls seen so far.
#[derive(Debug, Clone, Default)]
pub struct Posterior {
    /// Shape `[n_arms][n_kinds]`.
    pub(super) ln_mean: Vec<Vec<f64>>,
    /// Shape `[n_arms][n_kinds]`.
    pub(super) variance: Vec<Vec<f64>>,
    /// Covariance of one kind with another, a matrix per class; empty unless each call kind may go to another class.
    pub(super) unknown: Vec<DMatrix<f64>>,
    /// Whitened covariance of a class at each kind with the observed cells; its products are subtracted from the
    /// prior covariance. Empty before the first call and if each call kind may go to another class. Shape `[n_arms]`
    /// of `[n_seen, n_kinds]`.
    pub(super) told: Vec<DMatrix<f64>>,
}

/// Estimated ratio of seconds, log-normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Logarithm of its median.
    pub ln_mean: f64,
    /// Standard deviation of its logarithm.
    pub deviation: f64,
}

impl Ratio {
    /// Probability that the ratio is below `bound`, > 0.
    pub fn is_below(&self, bound: f64) -> f64 {
        below((bound.ln() - self.ln_mean) / self.deviation)
    }
}

impl Posterior {
    /// Mean logarithm of the time of a class at a kind.
    pub fn ln_mean(&self, arm: usize, kind: usize) -> f64 {
        self.ln_mean[arm][kind]
    }

    /// Variance of the logarithm of the time of a class at a kind.
    pub fn variance(&self, arm: usize, kind: usize) -> f64 {
        self.variance[arm][kind].max(0.0)
    }

    /// Posterior covariance of a class at one kind with itself at another; for [`Beliefs::with_scales`].
    pub fn covariance(&self, arm: usize, kind: usize, other: usize) -> f64 {
        self.unknown[arm][(kind, other)]
    }

    /// Part of the variance of a class at a kind that a call of another kind would remove, 0 to 1.
    ///
    /// # Arguments
    /// * `call` - kind of that call
    /// * `noise` - variance of a call
    pub fn told(&self, arm: usize, call: usize, kind: usize, noise: f64) -> f64 {
        let unknown = (self.variance(arm, call) + noise) * self.variance(arm, kind);
        match unknown > 0.0 {
            true => self.covariance(arm, call, kind).powi(2) / unknown,
            false => 0.0,
        }
    }

    /// The allowed class with the lowest expected time at a kind.
    pub fn fastest(&self, kind: usize, is_allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let allowed = (0..self.ln_mean.len()).filter(|arm| is_allowed(*arm));
        allowed.min_by(|a, b| self.ln_mean[*a][kind].total_cmp(&self.ln_mean[*b][kind]))
    }
}

/// Expected saving from choosing between two classes once the ratio of their times is known, as a fraction of the
/// time of the second class: the mean of `max(0, 1 − ratio)` for a log-normal ratio.
///
/// # Arguments
/// * `ln_ratio` - mean of the logarithm of the ratio
/// * `deviation` - standard deviation of that logarithm, ≥ 0
pub fn expected_saving(ln_ratio: f64, deviation: f64) -> f64 {
    if deviation < 1e-9 {
        return (1.0 - ln_ratio.exp()).max(0.0);
    }
    let z = -ln_ratio / deviation;
    let ratio = (ln_ratio + deviation * deviation / 2.0).exp();
    (below(z) - ratio * below(z - deviation)).max(0.0)
}

/// Solves the triangular system of the factor for several right-hand sides.
pub(super) fn half_solve(cholesky: &Cholesky<f64, Dyn>, mut sides: DMatrix<f64>) -> DMatrix<f64> {
    // The diagonal of a factor is positive, so this does not fail.
    cholesky.l_dirty().solve_lower_triangular_mut(&mut sides);
    sides
}

/// Mean of `max(0, x)` and of its square for a normal number `x`.
///
/// # Arguments
/// * `mean`, `deviation` - of `x`; the deviation is ≥ 0
pub(super) fn rectified(mean: f64, deviation: f64) -> (f64, f64) {
    if deviation <= 0.0 {
        let mean = mean.max(0.0);
        return (mean, mean * mean);
    }
    let z = mean / deviation;
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let first = mean * below(z) + deviation * density;
    let second = (mean * mean + deviation * deviation) * below(z) + mean * deviation * density;
    (first.max(0.0), second.max(0.0))
}

/// Probability that a standard normal number is below `z`.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_never_negative_and_grows_with_doubt() {
        assert!((expected_saving(-(2.0_f64.ln()), 0.0) - 0.5).abs() < 1e-12);
        assert_eq!(expected_saving(1.0, 0.0), 0.0);
        let mut last = 0.0;
        for deviation in [0.1, 0.3, 1.0] {
            let saving = expected_saving(0.2, deviation);
            assert!(saving > last, "{deviation}: {saving}");
            last = saving;
        }
    }
}
