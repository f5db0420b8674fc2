//! Estimates how the time of calls grows with their sizes, to compare calls of one kind at different sizes.
//!
//! A kind represents the sizes of its first call. If there are more sizes than the limit of a site, calls of several
//! times that size belong to the same kind. Their times are converted to the size of the first call by a power of
//! each size, the same for a whole group and all classes: differences of the power between classes are within the
//! spread of a kind.

use nalgebra::{DMatrix, DVector};

/// Weight of the prior, power 0, in calls: after as many calls whose sizes have a standard deviation of one e-fold,
/// the estimate is half the least-squares power. Arbitrary: a few.
const EXPECTED: f64 = 4.0;

/// Powers of the sizes that times grow with, fitted by least squares.
#[derive(Debug, Clone, Default)]
pub struct Growth {
    n: f64,
    /// Means of the logarithms of the sizes, shape `[n_sizes]`, and of the time.
    mean_x: DVector<f64>,
    mean_y: f64,
    /// Sums of products of deviations from the means.
    xx: DMatrix<f64>,
    xy: DVector<f64>,
    /// The powers, shape `[n_sizes]`.
    powers: DVector<f64>,
}

impl Growth {
    /// Takes in calls.
    ///
    /// # Arguments
    /// * `x` - logarithms of their sizes, shape `[n_sizes]`; `n_sizes` is the same in each call
    /// * `ln_s` - median logarithm of their seconds
    pub fn add(&mut self, x: &[f64], ln_s: f64, calls: f64) {
        let x = DVector::from_column_slice(x);
        if self.n == 0.0 {
            let n_sizes = x.len();
            self.mean_x = DVector::zeros(n_sizes);
            self.xx = DMatrix::zeros(n_sizes, n_sizes);
            self.xy = DVector::zeros(n_sizes);
        }
        self.n += calls;
        let (off_x, off_y) = (&x - &self.mean_x, ln_s - self.mean_y);
        self.mean_x += &off_x * (calls / self.n);
        self.mean_y += off_y * (calls / self.n);
        let to_new = calls * (&x - &self.mean_x);
        self.xx += &to_new * off_x.transpose();
        self.xy += to_new * off_y;
        let expected = DMatrix::identity(x.len(), x.len()) * EXPECTED;
        let solved = (&self.xx + expected).cholesky();
        self.powers = solved.map_or_else(|| self.powers.clone(), |of| of.solve(&self.xy));
    }

    /// Number of calls.
    pub fn calls(&self) -> f64 {
        self.n
    }

    /// Median logarithm of the seconds of calls with these logarithms of sizes; `None` before the first call.
    pub fn at(&self, x: &[f64]) -> Option<f64> {
        let off = x.iter().zip(&self.mean_x).map(|(x, mean)| x - mean);
        let terms = off.zip(&self.powers).map(|(off, power)| off * power);
        (self.n > 0.0).then(|| self.mean_y + terms.sum::<f64>())
    }

    /// Shifts all times by the logarithm of a factor.
    pub fn shift(&mut self, by: f64) {
        self.mean_y += by;
    }

    /// Reduces the weight of the calls so far to that of `most`.
    pub fn forget(&mut self, most: f64) {
        if self.n > most {
            let kept = most / self.n;
            self.n = most;
            self.xx *= kept;
            self.xy *= kept;
        }
    }

    /// Growth of the logarithm of a time over these differences of logarithms of sizes.
    pub fn over(&self, off_x: &[f64]) -> f64 {
        let powers = self.powers.iter().zip(off_x);
        powers.map(|(power, off)| power * off).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_sizes_are_found() {
        let mut growth = Growth::default();
        assert_eq!(growth.over(&[1.0, 1.0]), 0.0, "nothing is known yet");
        for k in 0..400 {
            let x = [f64::from(k % 7), f64::from(k % 5)];
            growth.add(&x, 1.5 * x[0] - 0.5 * x[1] + 3.0, 1.0);
        }
        assert!((growth.over(&[1.0, 0.0]) - 1.5).abs() < 0.02);
        assert!((growth.over(&[0.0, 2.0]) + 1.0).abs() < 0.02);
    }

    #[test]
    fn calls_of_one_size_tell_nothing() {
        let mut growth = Growth::default();
        for k in 0..100 {
            growth.add(&[3.0], f64::from(k % 3), 1.0);
        }
        assert!(growth.over(&[1.0]).abs() < 1e-9);
    }
}
