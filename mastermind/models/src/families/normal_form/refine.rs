//! The fit of one form under multiplicative noise, without an allocation.
//!
//! The standard deviation of a call is proportional to its fitted time, so the least-squares weights depend on the fit: each pass solves
//! the weighted problem by modified Gram–Schmidt and recomputes the weights from the new fitted times. A search fits thousands of
//! forms with one [`Scratch`], in a few passes each; only the forms that are kept get all passes.
//!
//! ```text
//! weights nᵢ / yᵢ²  →  fit f  →  weights nᵢ / fᵢ²  →  fit f'  →  …
//! ```

use super::terms::{Basis, Form, MAX_TERMS};
use crate::samples::points::Points;
use crate::solve::covariance::Covariance;
use crate::solve::likelihood::Distance;

/// Columns of the largest design: the constant and the terms.
pub(crate) const MAX_COLUMNS: usize = 1 + MAX_TERMS;

/// Passes of reweighting for a form that is kept.
pub(crate) const PASSES: usize = 5;

/// Passes for a form in the search; the second already agrees with the last to a thousandth of the noise.
pub(crate) const FEW_PASSES: usize = 2;

/// Relative change of every fitted time below which reweighting ends.
const SETTLED: f64 = 1e-4;

/// Relative length below which a column counts as a combination of those before it.
const RANK_TOLERANCE: f64 = 1e-9;

/// Points that are multiplied at once; rows of the memory are padded with zeros to a multiple of it.
pub(crate) const LANES: usize = 4;

/// Ratios that are multiplied before one logarithm is taken.
const GROUP: usize = 8;

/// A small square matrix.
pub(crate) type Square = [[f64; MAX_COLUMNS]; MAX_COLUMNS];

/// The observations in the form that the likelihood needs.
pub(crate) struct Observed<'a> {
    /// Mean time at each point, seconds, shape `[n_points]`.
    pub mean_s: &'a [f64],
    /// Calls at each point.
    pub count: &'a [f64],
    /// Sum of squared deviations from the mean at each point, s².
    pub m2_s2: &'a [f64],
    /// Mean times for the weights: at least a millionth of the largest.
    pub scale_s: Vec<f64>,
    /// Square roots of the calls at each point.
    pub root_count: Vec<f64>,
    /// Calls at every point, if all points have the same number.
    pub even_count: Option<f64>,
    /// Calls at all points.
    pub n_records: f64,
}

impl<'a> Observed<'a> {
    /// The observations of the points; `None` if no time is positive.
    pub fn new(points: &'a Points) -> Option<Self> {
        Self::of(&points.mean_s, &points.count, &points.m2_s2)
    }

    /// The observations from the mean at each point, its calls and the sum of their squared deviations; `None` if no mean is positive.
    pub fn of(mean_s: &'a [f64], count: &'a [f64], m2_s2: &'a [f64]) -> Option<Self> {
        let largest = mean_s.iter().copied().fold(0.0, f64::max);
        let scale_s = mean_s.iter().map(|y| y.max(1e-6 * largest));
        let even = count.iter().all(|n| *n == count[0]);
        (largest > 0.0).then(|| Self {
            mean_s,
            count,
            m2_s2,
            root_count: count.iter().map(|n| n.sqrt()).collect(),
            even_count: even.then_some(count[0]),
            scale_s: scale_s.collect(),
            n_records: count.iter().sum(),
        })
    }

    /// `Σ nᵢ ln(yᵢ / fᵢ)`, `y` being the mean times as weights.
    ///
    /// A logarithm costs as much as the fit of a point, so with equal numbers of calls the ratios of a few points are multiplied before
    /// the logarithm is taken. The product does not overflow, since a fit is within a factor of 1000 of the observations.
    fn log_ratio(&self, fitted_s: &[f64]) -> f64 {
        let Some(count) = self.even_count else {
            let pairs = self.scale_s.iter().zip(fitted_s).zip(self.count);
            return pairs.map(|((y, f), n)| n * (y / f).ln()).sum();
        };
        let groups = self.scale_s.chunks(GROUP).zip(fitted_s.chunks(GROUP));
        let logarithm = |(y, f): (&[f64], &[f64])| {
            let ratios = y.iter().zip(f).map(|(y, f)| y / f);
            ratios.product::<f64>().ln()
        };
        count * groups.map(logarithm).sum::<f64>()
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.mean_s.len()
    }
}

/// A form with its coefficients and its distance from the observations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refined {
    /// The form.
    pub form: Form,
    /// The constant, then one coefficient a product.
    pub coefficients: [f64; MAX_COLUMNS],
    /// Number of coefficients.
    pub n: usize,
    /// Distance of the observations from the form.
    pub distance: Distance,
}

impl Refined {
    /// The coefficients.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients[..self.n]
    }
}

/// Scratch memory of the fits, one for a whole search.
///
/// Rows are `stride` long: the points, and zeros up to a whole number of [`LANES`].
pub(crate) struct Scratch {
    columns: Vec<f64>,
    q: Vec<f64>,
    rest: Vec<f64>,
    weights: Vec<f64>,
    fitted: Vec<f64>,
    before: Vec<f64>,
    n_points: usize,
    stride: usize,
    r: Square,
}

impl Scratch {
    /// Memory for `n_points`.
    pub fn new(n_points: usize) -> Self {
        let stride = padded(n_points);
        Self {
            columns: vec![0.0; MAX_COLUMNS * stride],
            q: vec![0.0; MAX_COLUMNS * stride],
            rest: vec![0.0; stride],
            weights: vec![0.0; stride],
            fitted: vec![0.0; stride],
            before: vec![0.0; stride],
            n_points,
            stride,
            r: Square::default(),
        }
    }

    /// Fits a form by reweighted least squares, with the spread of a call proportional to its fitted time.
    ///
    /// # Returns
    /// `None` if the columns are dependent or outnumber the points, or a fitted time is not positive.
    ///
    /// # Source
    /// P.J. Green, J. Royal Stat. Soc. B 46 (1984) 149, for the reweighting (recalled, not looked up).
    pub fn refine(
        &mut self,
        form: Form,
        basis: &Basis,
        observed: &Observed<'_>,
        passes: usize,
    ) -> Option<Refined> {
        if form.products().len() >= self.n_points {
            return None;
        }
        self.fill(form, basis);
        self.fitted[..self.n_points].copy_from_slice(&observed.scale_s);
        self.reweigh(form, observed, passes, passes > FEW_PASSES)
    }

    /// One more pass after a fit of [`FEW_PASSES`], precise enough for leverages and a covariance.
    ///
    /// # Returns
    /// As [`Scratch::refine`].
    pub fn refine_again(
        &mut self,
        fit: &Refined,
        basis: &Basis,
        observed: &Observed<'_>,
    ) -> Option<Refined> {
        self.fill(fit.form, basis);
        self.evaluate(fit.coefficients(), observed)?;
        self.reweigh(fit.form, observed, 1, true)
    }

    /// Writes the columns of a form.
    fn fill(&mut self, form: Form, basis: &Basis) {
        let n_points = self.n_points;
        self.columns[..n_points].fill(1.0);
        let columns = self.columns[self.stride..].chunks_exact_mut(self.stride);
        for (product, column) in form.products().iter().zip(columns) {
            basis.fill(*product, &mut column[..n_points]);
        }
    }

    /// Fits the columns, with the first weights from the present fitted times.
    fn reweigh(
        &mut self,
        form: Form,
        observed: &Observed<'_>,
        passes: usize,
        twice: bool,
    ) -> Option<Refined> {
        let n = form.products().len() + 1;
        let mut coefficients = [0.0; MAX_COLUMNS];
        for _ in 0..passes {
            self.weigh(observed);
            self.factorise(n, twice)?;
            coefficients = self.solve(n, observed, twice);
            if self.evaluate(&coefficients[..n], observed)? < SETTLED {
                break;
            }
        }
        Some(Refined {
            form,
            coefficients,
            n,
            distance: self.distance(observed),
        })
    }

    fn distance(&self, observed: &Observed<'_>) -> Distance {
        let (mut lack, mut within) = (0.0, 0.0);
        for (i, &f) in self.fitted_s().iter().enumerate() {
            let inverse = f.recip();
            let distance = observed.mean_s[i] * inverse - 1.0;
            lack += observed.count[i] * distance * distance;
            within += observed.m2_s2[i] * (inverse * inverse);
        }
        Distance {
            lack,
            within,
            log_ratio: -observed.log_ratio(self.fitted_s()),
        }
    }

    /// Fitted times of the last fit, seconds, shape `[n_points]`.
    pub fn fitted_s(&self) -> &[f64] {
        &self.fitted[..self.n_points]
    }

    /// `variance · (XᵀWX)⁻¹` of the last fit, the weights being calls over squared fitted times.
    pub fn covariance(&self, n: usize, variance: f64) -> Covariance {
        let inverse = self.inverse(n);
        Covariance::new(n, |i, j| {
            // The inverse is an upper triangle.
            let products = (i..n).map(|k| inverse[i][k] * inverse[j][k]);
            variance * products.sum::<f64>()
        })
    }

    /// Leverage of point `i` in the last fit, in 0..=1.
    pub fn leverage(&self, i: usize, n: usize) -> f64 {
        (0..n).map(|j| self.q[j * self.stride + i].powi(2)).sum()
    }

    fn weigh(&mut self, observed: &Observed<'_>) {
        let pairs = observed.root_count.iter().zip(&self.fitted);
        for (weight, (root, f)) in self.weights.iter_mut().zip(pairs) {
            *weight = root / f;
        }
    }

    /// Modified Gram–Schmidt. Leverages and covariances need a second pass, as in `least_squares`; coefficients do not.
    fn factorise(&mut self, n: usize, twice: bool) -> Option<()> {
        let m = self.stride;
        for j in 0..n {
            let (before, rest) = self.q.split_at_mut(j * m);
            let v = &mut rest[..m];
            let column = &self.columns[j * m..(j + 1) * m];
            for ((v, x), w) in v.iter_mut().zip(column).zip(&self.weights) {
                *v = x * w;
            }
            let length = dot(v, v).sqrt();
            for (i, q) in before.chunks_exact(m).enumerate() {
                self.r[i][j] = remove(q, v);
            }
            if twice {
                for (i, q) in before.chunks_exact(m).enumerate() {
                    self.r[i][j] += remove(q, v);
                }
            }
            let left = dot(v, v).sqrt();
            if left.is_nan() || left <= RANK_TOLERANCE * length {
                return None;
            }
            self.r[j][j] = left;
            let inverse = left.recip();
            v.iter_mut().for_each(|x| *x *= inverse);
        }
        Some(())
    }

    fn solve(&mut self, n: usize, observed: &Observed<'_>, twice: bool) -> [f64; MAX_COLUMNS] {
        let m = self.stride;
        let pairs = observed.mean_s.iter().zip(&self.weights);
        for (rest, (y, w)) in self.rest.iter_mut().zip(pairs) {
            *rest = y * w;
        }
        let mut projection = [0.0; MAX_COLUMNS];
        for _ in 0..1 + usize::from(twice) {
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

    /// Stores the fitted times and returns their largest relative change; `None` if one is not positive.
    fn evaluate(&mut self, coefficients: &[f64], observed: &Observed<'_>) -> Option<f64> {
        std::mem::swap(&mut self.before, &mut self.fitted);
        self.fitted.fill(0.0);
        for (column, c) in self.columns.chunks_exact(self.stride).zip(coefficients) {
            let pairs = self.fitted.iter_mut().zip(column);
            pairs.for_each(|(f, x)| *f += c * x);
        }
        let fitted = &self.fitted[..self.n_points];
        let near = |(f, y): (&f64, &f64)| *f > 1e-3 * y && f.is_finite();
        if !fitted.iter().zip(&observed.scale_s).all(near) {
            return None;
        }
        let changes = fitted
            .iter()
            .zip(&self.before)
            .map(|(f, b)| (f / b - 1.0).abs());
        Some(changes.fold(0.0, f64::max))
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

/// Subtracts from `v` its component along the unit vector `q` and returns the length of the component.
#[inline]
pub(crate) fn remove(q: &[f64], v: &mut [f64]) -> f64 {
    let length = dot(q, v);
    let pairs = v.as_chunks_mut::<LANES>().0.iter_mut();
    for (v, q) in pairs.zip(q.as_chunks::<LANES>().0) {
        for (v, q) in v.iter_mut().zip(q) {
            *v -= length * q;
        }
    }
    length
}

/// `n` rounded up to a multiple of [`LANES`].
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// Inner product of rows whose length is a multiple of [`LANES`].
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a
        .as_chunks::<LANES>()
        .0
        .iter()
        .zip(b.as_chunks::<LANES>().0)
    {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
