//! What is believed of the times of classes, and what follows from it.

use nalgebra::DMatrix;

/// What is believed after the calls seen so far.
#[derive(Debug, Clone, Default)]
pub struct Posterior {
    /// Shape `[n_arms][n_kinds]`.
    pub(super) ln_mean: Vec<Vec<f64>>,
    /// Shape `[n_arms][n_kinds]`.
    pub(super) variance: Vec<Vec<f64>>,
    /// Covariance over kinds, one a class, where each kind of call may go to another class.
    pub(super) unknown: Vec<DMatrix<f64>>,
    /// What calls have told of each kind, by class, of which the products are taken from the covariance before; empty before the first call
    /// and where each kind of call may go to another class. Shape `[n_arms]` of `[n_seen, n_kinds]`.
    pub(super) told: Vec<DMatrix<f64>>,
}

/// A ratio of seconds as it is believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Logarithm of its middle.
    pub ln_mean: f64,
    /// Standard deviation of that.
    pub deviation: f64,
}

impl Ratio {
    /// Probability that it is below a number, > 0.
    pub fn is_below(&self, bound: f64) -> f64 {
        below((bound.ln() - self.ln_mean) / self.deviation)
    }
}

impl Posterior {
    /// Logarithm of the time of a class at a kind.
    pub fn ln_mean(&self, arm: usize, kind: usize) -> f64 {
        self.ln_mean[arm][kind]
    }

    /// Its variance: what is not known of it.
    pub fn variance(&self, arm: usize, kind: usize) -> f64 {
        self.variance[arm][kind].max(0.0)
    }

    /// Covariance of what is not known of a class at two kinds; for [`Beliefs::with_scales`].
    pub fn covariance(&self, arm: usize, kind: usize, other: usize) -> f64 {
        self.unknown[arm][(kind, other)]
    }

    /// Part of the variance of a class at a kind that a call of another kind would take away, 0 to 1.
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

    /// The class that is fastest at a kind, as far as is believed, among those allowed.
    pub fn fastest(&self, kind: usize, is_allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let allowed = (0..self.ln_mean.len()).filter(|arm| is_allowed(*arm));
        allowed.min_by(|a, b| self.ln_mean[*a][kind].total_cmp(&self.ln_mean[*b][kind]))
    }
}

/// What choosing a class instead of another one is expected to save, as a share of the other's time, where the logarithm of the
/// ratio of their times is normal and the choice is made once it is known: the mean of `max(0, 1 − ratio)`.
///
/// # Arguments
/// * `ln_ratio` - its mean
/// * `deviation` - its standard deviation, ≥ 0
pub fn expected_saving(ln_ratio: f64, deviation: f64) -> f64 {
    if deviation < 1e-9 {
        return (1.0 - ln_ratio.exp()).max(0.0);
    }
    let z = -ln_ratio / deviation;
    let ratio = (ln_ratio + deviation * deviation / 2.0).exp();
    (below(z) - ratio * below(z - deviation)).max(0.0)
}

/// Probability that a standard normal number is below.
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
