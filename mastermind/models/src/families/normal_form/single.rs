//! Fits the forms of one parameter: the constant, each term, and the best pairs of terms.
//!
//! In: the terms at the points, and the observations. Out: [`Refined`] forms, equal to those of [`super::refine`] after
//! [`super::refine::FEW_PASSES`], for a fraction of the work. `screen` weights all forms alike, by the observed times, so all forms
//! share its columns: with unit columns orthogonal to the constant, the first pass is an inner product for each term. The weights
//! of the second pass differ from those of the first by the noise only, so its normal equations in the same columns are nearly the
//! unit matrix, and lose no digits.

use super::refine::{LANES, MAX_COLUMNS, Observed, Refined, dot, padded};
use super::screen::{Centred, Pair, best_pairs};
use super::terms::{Basis, Form, Product};
use crate::families::prior;
use crate::solve::likelihood::{Counts, Distance, INCREDIBLE};

/// Least share of the observed time that a fitted time may be.
const SMALLEST: f64 = 1e-3;

/// Ratios whose product is one logarithm; each is above [`SMALLEST`].
const GROUP: usize = 8;

/// Squared sine of the angle between two terms, below which their residual cannot be computed from inner products.
const NEARLY_SAME: f64 = 1e-6;

/// The sign of a term is certain if the term reduces the sum of squares by more than this share of the residual sum of squares of the pair.
const TELLING: f64 = 0.2;

/// Relative length below which a column counts as a combination of those before it.
const RANK_TOLERANCE: f64 = 1e-9;

/// The terms of one parameter as unit columns orthogonal to the constant, all weighted as in [`Centred`].
///
/// A weighted term is `mean · ones + length · unit`.
pub(crate) struct Units {
    /// Indices of the terms.
    pub terms: Vec<usize>,
    /// Shape `[n_terms][stride]`.
    units: Vec<f64>,
    means: Vec<f64>,
    lengths: Vec<f64>,
    stride: usize,
}

impl Units {
    /// Makes columns of the terms that can be fitted and differ from the constant by more than rounding.
    fn new(basis: &Basis, centred: &Centred) -> Self {
        let stride = padded(basis.n_points());
        let mut columns = Self {
            terms: Vec::new(),
            units: Vec::new(),
            means: Vec::new(),
            lengths: Vec::new(),
            stride,
        };
        let mut unit = vec![0.0; stride];
        for term in basis.usable(0) {
            unit.fill(0.0);
            unit[..basis.n_points()].copy_from_slice(basis.column(0, term));
            let (mean, length) = centred.split(&mut unit);
            if length > RANK_TOLERANCE * mean.hypot(length) {
                columns.terms.push(term);
                columns.means.push(mean);
                columns.lengths.push(length);
                columns.units.extend_from_slice(&unit);
            }
        }
        columns
    }

    /// The unit columns, shape `[n_terms][stride]`.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.units.chunks_exact(self.stride)
    }

    /// One of them, shape `[stride]`.
    pub fn unit(&self, i: usize) -> &[f64] {
        &self.units[i * self.stride..(i + 1) * self.stride]
    }

    fn product(&self, i: usize) -> Product {
        Product::single(0, self.terms[i])
    }
}

/// Fits the constant, each term, divided work plus communication cost, and the best pairs, best first.
///
/// # Arguments
/// * `all` - whether to fit also the pairs with a negative coefficient that cannot be credible compared with a form whose residuals the
///   spread of the calls explains
///
/// # Returns
/// The fits, and whether no pair was skipped.
pub(crate) fn fits(
    basis: &Basis,
    observed: &Observed<'_>,
    counts: Counts,
    all: bool,
) -> (Vec<Refined>, bool) {
    let centred = Centred::new(observed);
    let columns = Units::new(basis, &centred);
    let mut fitter = Fitter::new(observed, &centred);
    let pairs = best_pairs(&columns, &centred);
    let place = |term: usize| columns.terms.iter().position(|&known| known == term);
    let shared = Form::shared_work(0).into_iter().filter_map(|form| {
        let mut parts = form
            .products()
            .iter()
            .flat_map(|product| product.parts())
            .map(|(_, term)| place(term));
        Some((parts.next()??, parts.next()??))
    });
    let shared: Vec<(usize, usize)> = shared.collect();
    let is_same =
        |pair: &Pair, (i, j): (usize, usize)| pair.places == (i, j) || pair.places == (j, i);
    let is_shared = |pair: &Pair| shared.iter().any(|&places| is_same(pair, places));
    let mut fits = Vec::with_capacity(1 + columns.terms.len() + shared.len() + pairs.len());
    fits.extend(fitter.constant());
    fits.extend((0..columns.terms.len()).filter_map(|i| fitter.term(&columns, i)));
    let is_new = |places: &&(usize, usize)| !pairs.iter().any(|pair| is_same(pair, **places));
    let others = shared.iter().filter(is_new);
    fits.extend(others.filter_map(|&(i, j)| fitter.pair(&columns, i, j)));
    let most = match all {
        true => f64::INFINITY,
        false => most_credible(&fits, counts),
    };
    let mut are_all = true;
    for pair in &pairs {
        // Divided work has its own, lower price, so it is never skipped.
        if !is_shared(pair) && fitter.is_incredible(&columns, pair, counts, most) {
            are_all = false;
        } else {
            let (i, j) = pair.places;
            fits.extend(fitter.pair(&columns, i, j));
        }
    }
    (fits, are_all)
}

/// The deviance above which no other form is credible.
///
/// It is measured from the best fit that is within any limits (rising, no negative coefficient) and whose residuals the spread of the
/// calls explains; infinite if there is no such fit.
fn most_credible(fits: &[Refined], counts: Counts) -> f64 {
    let holds = |fit: &&Refined| {
        let is_positive = fit.coefficients().iter().all(|c| *c >= 0.0);
        is_positive && fit.form.rises() && fit.distance.is_explained(fit.n, counts)
    };
    let deviance = |fit: &Refined| {
        let n_terms = fit.n - 1;
        fit.distance.by_calls(fit.n, counts) + 2.0 * prior::of_choices(n_terms, n_terms)
    };
    fits.iter()
        .filter(holds)
        .map(deviance)
        .fold(f64::INFINITY, f64::min)
        + INCREDIBLE
}

/// Data shared by all fits, and the scratch memory of one. Rows are padded with zeros to `stride`.
struct Fitter<'a> {
    observed: &'a Observed<'a>,
    centred: &'a Centred,
    /// Component of the weighted observations along the constant.
    level: f64,
    /// Reciprocal roots of the calls; 0 where rows are padded.
    inverse_roots: Vec<f64>,
    /// 1 where rows are padded, else 0.
    padding: Vec<f64>,
    /// Observed times over the times used as weights: 1 except for times near 0.
    ratios: Vec<f64>,
    /// Squared deviations within each point over the squared time used as its weight.
    within: Vec<f64>,
    /// Weighted observations less the weighted fitted times.
    rest: Vec<f64>,
    /// Fitted times over the times used as weights; 1 where rows are padded.
    relative: Vec<f64>,
    /// Weights of the second pass over those of the first.
    weights: Vec<f64>,
    /// The second column, made orthogonal to the first.
    second: Vec<f64>,
}

impl<'a> Fitter<'a> {
    fn new(observed: &'a Observed<'a>, centred: &'a Centred) -> Self {
        let stride = padded(observed.n_points());
        let inverse_roots = observed.root_count.iter().map(|root| root.recip());
        let mut inverse_roots: Vec<f64> = inverse_roots.collect();
        inverse_roots.resize(stride, 0.0);
        let mut padding = vec![0.0; stride];
        padding[observed.n_points()..].fill(1.0);
        let pairs = || observed.mean_s.iter().zip(&observed.scale_s);
        let spreads = observed.m2_s2.iter().zip(&observed.scale_s);
        Self {
            level: centred.level,
            inverse_roots,
            padding,
            ratios: pairs().map(|(mean, scale)| mean / scale).collect(),
            within: spreads.map(|(m2, scale)| m2 / (scale * scale)).collect(),
            rest: vec![0.0; stride],
            relative: vec![1.0; stride],
            weights: vec![0.0; stride],
            second: vec![0.0; stride],
            observed,
            centred,
        }
    }

    fn constant(&mut self) -> Option<Refined> {
        let centred = self.centred;
        let [level] = self.fit([&centred.ones], [self.level])?;
        let coefficients = [level / centred.length];
        Some(self.refined(Form::default(), &coefficients))
    }

    fn term(&mut self, columns: &Units, i: usize) -> Option<Refined> {
        let (centred, unit) = (self.centred, columns.unit(i));
        let start = [self.level, dot(unit, &centred.y)];
        let [level, along] = self.fit([&centred.ones, unit], start)?;
        let slope = along / columns.lengths[i];
        let constant = (level - slope * columns.means[i]) / centred.length;
        Some(self.refined(Form::new(&[columns.product(i)]), &[constant, slope]))
    }

    fn pair(&mut self, columns: &Units, i: usize, j: usize) -> Option<Refined> {
        if self.observed.n_points() < 3 {
            return None;
        }
        let centred = self.centred;
        let first = columns.unit(i);
        let mut second = std::mem::take(&mut self.second);
        second.copy_from_slice(columns.unit(j));
        // Orthogonalised twice, since two terms may be nearly the same.
        let mut common = 0.0;
        for _ in 0..2 {
            let part = dot(first, &second);
            let pairs = second.iter_mut().zip(first);
            pairs.for_each(|(x, unit)| *x -= part * unit);
            common += part;
        }
        let free = dot(&second, &second).sqrt();
        let inverse = free.recip();
        second.iter_mut().for_each(|x| *x *= inverse);
        let start = [self.level, dot(first, &centred.y), dot(&second, &centred.y)];
        let found = self.fit([&centred.ones, first, &second], start);
        self.second = second;
        let [level, along, beside] = found.filter(|_| free > RANK_TOLERANCE)?;
        let beside = beside / free;
        let slopes = [
            (along - common * beside) / columns.lengths[i],
            beside / columns.lengths[j],
        ];
        let known = slopes[0] * columns.means[i] + slopes[1] * columns.means[j];
        let constant = (level - known) / centred.length;
        let form = Form::new(&[columns.product(i), columns.product(j)]);
        Some(self.refined(form, &[constant, slopes[0], slopes[1]]))
    }

    /// Whether, by the first pass alone, a pair has a negative coefficient and a deviance above `most`.
    fn is_incredible(&self, columns: &Units, pair: &Pair, counts: Counts, most: f64) -> bool {
        let Pair { left, free, .. } = *pair;
        // Reweighting does not change the sign of a coefficient that reduces the sum of squares by so much.
        let is_negative = |slope: f64| slope < 0.0 && slope * slope * free > TELLING * left;
        // If two terms are nearly the same, rounding decides the signs of their coefficients, so such pairs are not skipped.
        let places = [pair.places.0, pair.places.1];
        let rising = places.map(|place| !Product::single(0, columns.terms[place]).falls());
        let mut negative = pair
            .slopes
            .into_iter()
            .zip(rising)
            .map(|(s, rises)| rises && is_negative(s));
        if free < NEARLY_SAME || !negative.any(|is| is) {
            return false;
        }
        let distance = Distance {
            lack: left,
            within: self.within.iter().sum(),
            log_ratio: 0.0,
        };
        let price = prior::of_choices(2, 2) + prior::LN_ABSURD;
        let slack = 1.0 + 2.0 * (counts.n_records * left).sqrt();
        distance.by_calls(3, counts) + 2.0 * price - slack > most
    }

    /// Two passes of reweighting in unit columns that are orthogonal under the weights of the first pass.
    ///
    /// # Arguments
    /// * `start` - components of the observations along the columns: the result of the first pass
    ///
    /// # Returns
    /// The fit as a sum of the columns; `None` if a fitted time is not positive.
    fn fit<const N: usize>(&mut self, columns: [&[f64]; N], start: [f64; N]) -> Option<[f64; N]> {
        self.place(columns, start)?;
        let weights = self.weights.as_chunks_mut::<LANES>().0.iter_mut();
        for (weights, relative) in weights.zip(self.relative.as_chunks::<LANES>().0) {
            let pairs = weights.iter_mut().zip(relative);
            pairs.for_each(|(weight, relative)| *weight = (relative * relative).recip());
        }
        let mut normal = [[0.0; N]; N];
        let mut right = [0.0; N];
        for (a, column) in columns.into_iter().enumerate() {
            // The memory of the ratios is unused until the next fit is evaluated.
            let weighted = &mut self.relative;
            let chunks = weighted.as_chunks_mut::<LANES>().0.iter_mut();
            let chunks = chunks.zip(self.weights.as_chunks::<LANES>().0);
            for ((weighted, weights), column) in chunks.zip(column.as_chunks::<LANES>().0) {
                for ((x, weight), value) in weighted.iter_mut().zip(weights).zip(column) {
                    *x = weight * value;
                }
            }
            for b in 0..=a {
                normal[a][b] = dot(weighted, columns[b]);
            }
            right[a] = dot(weighted, &self.rest);
        }
        let step = solve_symmetric(normal, right)?;
        let mut found = start;
        found.iter_mut().zip(step).for_each(|(x, step)| *x += step);
        self.place(columns, found)?;
        Some(found)
    }

    /// Evaluates a sum of columns into the scratch memory; `None` if a fitted time is not positive.
    fn place<const N: usize>(
        &mut self,
        columns: [&[f64]; N],
        coefficients: [f64; N],
    ) -> Option<()> {
        let weighted = self.centred.weighted.as_chunks::<LANES>().0;
        let n = weighted.len();
        let columns = columns.map(|column| &column.as_chunks::<LANES>().0[..n]);
        let inverse_roots = &self.inverse_roots.as_chunks::<LANES>().0[..n];
        let padding = &self.padding.as_chunks::<LANES>().0[..n];
        let rest = &mut self.rest.as_chunks_mut::<LANES>().0[..n];
        let relative = &mut self.relative.as_chunks_mut::<LANES>().0[..n];
        let (mut least, mut sum) = ([f64::INFINITY; LANES], [0.0; LANES]);
        // One loop over the lanes for each operation, so that the compiler vectorises each.
        for k in 0..n {
            let mut fitted = [0.0; LANES];
            for (column, c) in columns.iter().zip(coefficients) {
                for lane in 0..LANES {
                    fitted[lane] += c * column[k][lane];
                }
            }
            for lane in 0..LANES {
                rest[k][lane] = weighted[k][lane] - fitted[lane];
            }
            let mut here = [0.0; LANES];
            for lane in 0..LANES {
                here[lane] = fitted[lane] * inverse_roots[k][lane] + padding[k][lane];
            }
            for lane in 0..LANES {
                least[lane] = if here[lane] < least[lane] {
                    here[lane]
                } else {
                    least[lane]
                };
            }
            for lane in 0..LANES {
                sum[lane] += here[lane];
            }
            relative[k] = here;
        }
        // A sum with a NaN or an infinite value is itself not finite.
        let is_near = least.iter().all(|least| *least > SMALLEST);
        let is_finite = sum.iter().all(|sum| sum.is_finite());
        (is_near && is_finite).then_some(())
    }

    fn refined(&self, form: Form, found: &[f64]) -> Refined {
        let mut coefficients = [0.0; MAX_COLUMNS];
        coefficients[..found.len()].copy_from_slice(found);
        Refined {
            form,
            coefficients,
            n: found.len(),
            distance: self.distance(),
        }
    }

    /// Distance of the observations from the fit in the scratch memory.
    fn distance(&self) -> Distance {
        let (mut lack, mut within) = (0.0, 0.0);
        let relative = &self.relative[..self.observed.n_points()];
        for (i, relative) in relative.iter().enumerate() {
            let inverse = relative.recip();
            let off = self.ratios[i] * inverse - 1.0;
            lack += self.observed.count[i] * off * off;
            within += self.within[i] * inverse * inverse;
        }
        let log_ratio = match self.observed.even_count {
            Some(count) => {
                let groups = relative.chunks(GROUP);
                let logarithms = groups.map(|group| group.iter().product::<f64>().ln());
                count * logarithms.sum::<f64>()
            }
            None => {
                let pairs = relative.iter().zip(self.observed.count);
                pairs.map(|(relative, n)| n * relative.ln()).sum()
            }
        };
        Distance {
            lack,
            within,
            log_ratio,
        }
    }
}

/// `A⁻¹ b` for a symmetric positive definite matrix, whose lower triangle is read; `None` if it is not positive definite.
fn solve_symmetric<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    // A = L D Lᵀ, with D in the place of the diagonal.
    for j in 0..N {
        for k in 0..j {
            let scaled = a[j][k] * a[k][k];
            for row in a.iter_mut().skip(j) {
                row[j] -= row[k] * scaled;
            }
        }
        if a[j][j].is_nan() || a[j][j] <= 0.0 {
            return None;
        }
        let inverse = a[j][j].recip();
        for row in a.iter_mut().skip(j + 1) {
            row[j] *= inverse;
        }
    }
    for i in 0..N {
        for k in 0..i {
            b[i] -= a[i][k] * b[k];
        }
    }
    for i in (0..N).rev() {
        b[i] /= a[i][i];
        for k in i + 1..N {
            b[i] -= a[k][i] * b[k];
        }
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::super::refine::{FEW_PASSES, Scratch};
    use super::*;

    #[test]
    fn a_symmetric_system_is_solved() {
        let a = [[4.0, 0.0, 0.0], [2.0, 5.0, 0.0], [1.0, 3.0, 6.0]];
        let x = solve_symmetric(a, [11.0, 21.0, 25.0]).unwrap();
        for (found, expected) in x.into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{x:?}");
        }
        assert_eq!(solve_symmetric([[1.0, 0.0], [2.0, 1.0]], [1.0, 1.0]), None);
    }

    /// Times at nine sizes, a seventh of them noise, 3 to 5 calls at each, as fits of one form at a time see them.
    #[test]
    fn fits_are_those_of_one_form_at_a_time() {
        let sizes = [2.0, 3.0, 6.0, 11.0, 20.0, 45.0, 90.0, 170.0, 400.0];
        let noise = |i: usize| 1.0 + 0.14 * (2.4 * i as f64).sin();
        let mean_s: Vec<f64> = (0..9)
            .map(|i| (3.0 + 0.02 * sizes[i] * f64::log2(sizes[i])) * noise(i))
            .collect();
        let m2_s2: Vec<f64> = mean_s.iter().map(|y| 0.02 * y * y).collect();
        let even = [4.0; 9];
        let uneven = [3.0, 4.0, 5.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0];
        let basis = Basis::new(&[&sizes], &[true]);
        for count in [even, uneven] {
            let observed = Observed::of(&mean_s, &count, &m2_s2).unwrap();
            let mut scratch = Scratch::new(9);
            let spread = 1.0;
            let counts = Counts {
                n_points: 9,
                n_records: observed.n_records,
                spread,
            };
            let (fits, _) = fits(&basis, &observed, counts, true);
            assert!(fits.len() > 180, "{}", fits.len());
            for fit in fits {
                let slow = scratch.refine(fit.form, &basis, &observed, FEW_PASSES);
                let slow = slow.unwrap();
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(1e-9);
                assert!(
                    near(fit.distance.lack, slow.distance.lack),
                    "{fit:?} {slow:?}"
                );
                assert!(
                    near(fit.distance.within, slow.distance.within),
                    "{fit:?} {slow:?}"
                );
                assert!(near(fit.distance.log_ratio, slow.distance.log_ratio));
                let value = |c: &[f64], i: usize| {
                    let mut column = vec![0.0; 9];
                    let terms = fit.form.products().iter().zip(&c[1..]);
                    terms.fold(c[0], |sum, (product, c)| {
                        basis.fill(*product, &mut column);
                        sum + c * column[i]
                    })
                };
                for i in 0..9 {
                    let (a, b) = (value(fit.coefficients(), i), value(slow.coefficients(), i));
                    assert!(near(a, b), "{fit:?} {slow:?}");
                }
            }
        }
    }

    /// If one term explains the times, pairs with a negative coefficient are skipped, and none of them is credible. If the calls have little
    /// spread and no form explains the times, no pair is skipped.
    #[test]
    fn pairs_that_are_left_out_are_incredible() {
        let sizes = [2.0, 3.0, 6.0, 11.0, 20.0, 45.0, 90.0, 170.0, 400.0];
        // A time of two terms: similar pairs are credible compared with the form whose residuals are explained.
        let time_s = |x: f64| 3.0 + 0.02 * x * x.log2() + 0.12 * x.sqrt();
        let mean_s = sizes.map(time_s);
        let basis = Basis::new(&[&sizes], &[false]);
        for (spread, is_explained) in [(0.04, true), (0.001, false)] {
            let m2_s2: Vec<f64> = (mean_s.iter())
                .map(|y| 4.0 * (spread * y).powi(2))
                .collect();
            let observed = Observed::of(&mean_s, &[5.0; 9], &m2_s2).unwrap();
            let counts = Counts {
                n_points: 9,
                n_records: 45.0,
                spread: 1.0,
            };
            let (all, _) = fits(&basis, &observed, counts, true);
            let (some, are_all) = fits(&basis, &observed, counts, false);
            assert_eq!(are_all, !is_explained);
            let is_left_out = |fit: &&Refined| !some.iter().any(|other| other.form == fit.form);
            let most = most_credible(&all[..43], counts);
            let left_out: Vec<&Refined> = all.iter().filter(is_left_out).collect();
            assert_eq!(left_out.len() > 20, is_explained, "{}", left_out.len());
            for fit in left_out {
                let n_negative = fit.coefficients()[1..].iter().filter(|c| **c < 0.0).count();
                let price = prior::of_choices(2, 2) + n_negative as f64 * prior::LN_ABSURD;
                assert!(
                    fit.distance.by_calls(3, counts) + 2.0 * price > most,
                    "{fit:?}"
                );
            }
        }
    }
}
