//! What a term is worth at points held out inside the training set, beside its base.
//!
//! Groups of points that a tree cannot tell apart are left out in turn. Both models find their constants from the
//! others: the corrected one the constants `a`, `c` and `d` of its tree, the base its unknowns. The form of the tree was
//! found with all points, and what is judged is the mean that would be returned: keeping points from the search, or choosing
//! among trees by such points, was tried and lowered the gain more than the harm.

use fastrand::Rng;
use nalgebra::{DMatrix, DVector};

use crate::correction::{MIN_RATIO, Trial, relative_error};
use crate::search::problem::Genome;
use crate::table::Table;

/// Most times that points are left out.
const MAX_FOLDS: usize = 12;

/// Relative step of the differences.
const STEP: f64 = 1e-6;

impl Trial<'_> {
    /// Root mean square relative errors at points held out: of the base, and of the base with a share of the correction.
    ///
    /// # Arguments
    /// * `members` - weight and genome of each model that the corrected one is the geometric mean of; the weights together are 1
    pub(crate) fn errors_held_out(
        &self,
        table: &Table,
        members: &[(f64, Genome)],
        share: f64,
        seed: u64,
    ) -> (f64, f64) {
        let mut groups = self.groups(table);
        Rng::with_seed(seed).shuffle(&mut groups);
        let n_folds = groups.len().min(MAX_FOLDS);
        let folds: Vec<Vec<usize>> = (0..n_folds)
            .map(|fold| {
                let of_fold = groups.iter().skip(fold).step_by(n_folds);
                of_fold.flatten().copied().collect()
            })
            .collect();
        let base = self.base_held_out(table, &folds);
        let mut shared = base.clone();
        for (weight, genome) in members {
            let Some(whole) = self.corrected_held_out(table, &folds, genome) else {
                return (relative_error(&table.observed, &base), f64::INFINITY);
            };
            let triples = shared.iter_mut().zip(whole).zip(&base);
            let power = share * weight;
            triples.for_each(|((time, whole), base)| {
                *time *= (whole / base).max(MIN_RATIO).powf(power);
            });
        }
        (
            relative_error(&table.observed, &base),
            relative_error(&table.observed, &shared),
        )
    }

    /// Times of the corrected model, all of the correction counting.
    fn corrected_held_out(
        &self,
        table: &Table,
        folds: &[Vec<usize>],
        genome: &Genome,
    ) -> Option<Vec<f64>> {
        let mut times = vec![0.0; table.len()];
        for fold in folds {
            let others = (0..table.len()).filter(|i| !fold.contains(i));
            let kept = table.at(&others.collect::<Vec<_>>());
            let corrected = self.refined(&kept, table, genome.clone(), 0).ok()??;
            let calculated = corrected.predict(self.specification, &table.at(fold));
            for (i, time) in fold.iter().zip(calculated) {
                times[*i] = time;
            }
        }
        Some(times)
    }

    /// Times of the base, by its leverages: with residuals `r`, slopes `J` by the unknowns that are at no bound and
    /// `H = J (Jᵀ J)⁻¹ Jᵀ`, those of points left out together are `(I - H)⁻¹ r` to first order.
    fn base_held_out(&self, table: &Table, folds: &[Vec<usize>]) -> Vec<f64> {
        let times = |unknowns: &[f64]| self.specification.evaluate(table, unknowns);
        let fitted = times(&self.base.values);
        let mut columns = Vec::new();
        for (place, value) in self.base.values.iter().enumerate() {
            let mut moved = self.base.values.clone();
            let step = STEP * value.abs().max(f64::MIN_POSITIVE);
            moved[place] += step;
            let slopes = times(&moved).into_iter().zip(&fitted).zip(&table.observed);
            let slopes: Vec<f64> = slopes
                .map(|((there, here), y)| (there - here) / (step * y))
                .collect();
            let length = slopes.iter().map(|s| s * s).sum::<f64>().sqrt();
            if self.base.at_bound[place].is_none() && length > 0.0 && length.is_finite() {
                columns.push(DVector::from_vec(slopes) / length);
            }
        }
        let residuals = table.observed.iter().zip(&fitted).map(|(y, t)| 1.0 - t / y);
        let residuals = DVector::from_iterator(table.len(), residuals);
        let leverage = match columns.is_empty() {
            true => DMatrix::zeros(table.len(), table.len()),
            false => {
                let slopes = DMatrix::from_columns(&columns);
                let inverse = slopes.clone().pseudo_inverse(1e-9);
                let inverse =
                    inverse.unwrap_or_else(|_| DMatrix::zeros(columns.len(), table.len()));
                slopes * inverse
            }
        };
        let mut held_out = vec![0.0; table.len()];
        for fold in folds {
            let n = fold.len();
            let own = DMatrix::from_fn(n, n, |i, j| {
                f64::from(u8::from(i == j)) - leverage[(fold[i], fold[j])]
            });
            let here = DVector::from_fn(n, |i, _| residuals[fold[i]]);
            let there = own.lu().solve(&here).unwrap_or(here);
            for (i, residual) in fold.iter().zip(&there) {
                held_out[*i] = table.observed[*i] * (1.0 - residual).max(MIN_RATIO);
            }
        }
        held_out
    }
}
