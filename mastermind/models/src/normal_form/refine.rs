//! The fit of one form under multiplicative noise, without an allocation.

use super::terms::{Basis, Form, MAX_TERMS};
use super::weigh::Distance;
use crate::points::Points;

/// Columns of the largest design: the constant and the terms.
pub(crate) const MAX_COLUMNS: usize = 1 + MAX_TERMS;

/// Passes of reweighting; the second already agrees with the last to a per mille of the noise.
const PASSES: usize = 5;

/// Relative change of every fitted time below which reweighting ends.
const SETTLED: f64 = 1e-4;

/// Relative length below which a column counts as a combination of those before it.
const RANK_TOLERANCE: f64 = 1e-9;

/// A small square matrix.
pub(crate) type Square = [[f64; MAX_COLUMNS]; MAX_COLUMNS];

/// What was observed, as the likelihood needs it.
pub(crate) struct Observed<'a> {
    /// Mean time at each point, seconds, shape `[n_points]`.
    pub mean_s: &'a [f64],
    /// Calls at each point.
    pub count: &'a [f64],
    /// Sum of squared deviations from the mean at each point, s².
    pub m2_s2: &'a [f64],
    /// Mean times as weights: not below a millionth of the largest.
    pub scale_s: Vec<f64>,
    /// Calls at all points.
    pub n_records: f64,
}

impl<'a> Observed<'a> {
    /// `None` where no time is positive.
    pub fn new(points: &'a Points) -> Option<Self> {
        let largest = points.mean_s.iter().copied().fold(0.0, f64::max);
        (largest > 0.0).then(|| Self {
            mean_s: &points.mean_s,
            count: &points.count,
            m2_s2: &points.m2_s2,
            scale_s: points
                .mean_s
                .iter()
                .map(|y| y.max(1e-6 * largest))
                .collect(),
            n_records: points.n_records(),
        })
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.mean_s.len()
    }
}

/// A form with its coefficients and its part of the likelihood.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refined {
    /// The form.
    pub form: Form,
    /// The constant, then one coefficient a product.
    pub coefficients: [f64; MAX_COLUMNS],
    /// How many coefficients there are.
    pub n: usize,
    /// How far the observations lie from it.
    pub distance: Distance,
}

impl Refined {
    /// The coefficients.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients[..self.n]
    }
}

/// Memory of the fits, one for a whole search.
pub(crate) struct Scratch {
    columns: Vec<f64>,
    q: Vec<f64>,
    rest: Vec<f64>,
    weights: Vec<f64>,
    fitted: Vec<f64>,
    n_points: usize,
    r: Square,
}

impl Scratch {
    /// Memory for `n_points`.
    pub fn new(n_points: usize) -> Self {
        Self {
            columns: vec![0.0; MAX_COLUMNS * n_points],
            q: vec![0.0; MAX_COLUMNS * n_points],
            rest: vec![0.0; n_points],
            weights: vec![0.0; n_points],
            fitted: vec![0.0; n_points],
            n_points,
            r: Square::default(),
        }
    }

    /// Fits a form by reweighted least squares, the spread of a call proportional to its fitted time.
    ///
    /// # Returns
    /// `None` if the columns are dependent or more than the points, or a fitted time is not positive.
    ///
    /// # Source
    /// P.J. Green, J. Royal Stat. Soc. B 46 (1984) 149, for the reweighting (recalled, not looked up).
    pub fn refine(
        &mut self,
        form: Form,
        basis: &Basis,
        observed: &Observed<'_>,
    ) -> Option<Refined> {
        let (n_points, n) = (self.n_points, form.products().len() + 1);
        if n > n_points {
            return None;
        }
        self.columns[..n_points].fill(1.0);
        for (product, column) in form
            .products()
            .iter()
            .zip(self.columns[n_points..].chunks_exact_mut(n_points))
        {
            basis.fill(*product, column);
        }
        self.fitted.copy_from_slice(&observed.scale_s);
        let mut coefficients = [0.0; MAX_COLUMNS];
        for _ in 0..PASSES {
            self.weigh(observed);
            self.factorise(n)?;
            coefficients = self.solve(n, observed);
            if self.evaluate(&coefficients[..n], observed)? < SETTLED {
                break;
            }
        }
        let (mut lack, mut within, mut log_ratio) = (0.0, 0.0, 0.0);
        for (i, &f) in self.fitted.iter().enumerate() {
            let distance = observed.mean_s[i] / f - 1.0;
            lack += observed.count[i] * distance * distance;
            within += observed.m2_s2[i] / (f * f);
            log_ratio -= observed.count[i] * (observed.scale_s[i] / f).ln();
        }
        Some(Refined {
            form,
            coefficients,
            n,
            distance: Distance {
                lack,
                within,
                log_ratio,
            },
        })
    }

    /// Fitted times of the last fit, seconds, shape `[n_points]`.
    pub fn fitted_s(&self) -> &[f64] {
        &self.fitted
    }

    /// `(XᵀWX)⁻¹` of the last fit, the weights being calls over squared fitted times.
    pub fn unscaled_covariance(&self, n: usize) -> Square {
        let inverse = self.inverse(n);
        let mut covariance = Square::default();
        for i in 0..n {
            for j in 0..n {
                covariance[i][j] = (0..n).map(|k| inverse[i][k] * inverse[j][k]).sum();
            }
        }
        covariance
    }

    /// Leverage of point `i` in the last fit, in 0..=1.
    pub fn leverage(&self, i: usize, n: usize) -> f64 {
        (0..n).map(|j| self.q[j * self.n_points + i].powi(2)).sum()
    }

    fn weigh(&mut self, observed: &Observed<'_>) {
        for (i, weight) in self.weights.iter_mut().enumerate() {
            *weight = observed.count[i].sqrt() / self.fitted[i];
        }
    }

    /// Modified Gram–Schmidt with a second pass, as in `least_squares`.
    fn factorise(&mut self, n: usize) -> Option<()> {
        let m = self.n_points;
        for j in 0..n {
            let (before, rest) = self.q.split_at_mut(j * m);
            let v = &mut rest[..m];
            let column = &self.columns[j * m..(j + 1) * m];
            for ((v, x), w) in v.iter_mut().zip(column).zip(&self.weights) {
                *v = x * w;
            }
            let length = dot(v, v).sqrt();
            for i in 0..j {
                self.r[i][j] = 0.0;
            }
            for _ in 0..2 {
                for (i, q) in before.chunks_exact(m).enumerate() {
                    self.r[i][j] += remove(q, v);
                }
            }
            let left = dot(v, v).sqrt();
            if left.is_nan() || left <= RANK_TOLERANCE * length {
                return None;
            }
            self.r[j][j] = left;
            v.iter_mut().for_each(|x| *x /= left);
        }
        Some(())
    }

    fn solve(&mut self, n: usize, observed: &Observed<'_>) -> [f64; MAX_COLUMNS] {
        let m = self.n_points;
        for (i, rest) in self.rest.iter_mut().enumerate() {
            *rest = observed.mean_s[i] * self.weights[i];
        }
        let mut projection = [0.0; MAX_COLUMNS];
        for _ in 0..2 {
            for (q, p) in self.q.chunks_exact(m).take(n).zip(&mut projection) {
                *p += remove(q, &mut self.rest);
            }
        }
        let mut coefficients = [0.0; MAX_COLUMNS];
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|k| self.r[i][k] * coefficients[k]).sum();
            coefficients[i] = (projection[i] - known) / self.r[i][i];
        }
        coefficients
    }

    /// Puts the fitted times in place and returns their largest relative change; `None` if one is not
    /// positive.
    fn evaluate(&mut self, coefficients: &[f64], observed: &Observed<'_>) -> Option<f64> {
        let mut change: f64 = 0.0;
        for i in 0..self.n_points {
            let f: f64 = coefficients
                .iter()
                .enumerate()
                .map(|(j, c)| c * self.columns[j * self.n_points + i])
                .sum();
            if !(f > 1e-3 * observed.scale_s[i] && f.is_finite()) {
                return None;
            }
            change = change.max((f / self.fitted[i] - 1.0).abs());
            self.fitted[i] = f;
        }
        Some(change)
    }

    fn inverse(&self, n: usize) -> Square {
        let mut inverse = Square::default();
        for (j, diagonal) in (0..n).map(|j| (j, self.r[j][j])) {
            inverse[j][j] = 1.0 / diagonal;
            for i in (0..j).rev() {
                let sum: f64 = (i + 1..=j).map(|k| self.r[i][k] * inverse[k][j]).sum();
                inverse[i][j] = -sum / self.r[i][i];
            }
        }
        inverse
    }
}

/// Takes the component along the unit vector `q` out of `v` and returns its length.
fn remove(q: &[f64], v: &mut [f64]) -> f64 {
    let length = dot(q, v);
    v.iter_mut().zip(q).for_each(|(v, q)| *v -= length * q);
    length
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
