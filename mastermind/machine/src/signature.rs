//! Work of a call over its size: instructions, loads, stores, branches and misses, as functions of one number.
//!
//! Input: counts at three sizes or more. Output: for each count at most two of eight terms with coefficients of 0 or
//! more, those by which a left-out size is predicted best from the others. Counts are exact, so few sizes determine the
//! term.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::processor::Cache;

pub mod hits;
pub mod stacks;
pub mod time;
pub mod trace;

use trace::Memory;

/// Sizes that a quantity needs: two for two terms, and one for the held-out test.
pub const MIN_SIZES: usize = 3;

/// How much nearer a second term must bring the size that is left out.
///
/// Arbitrary: counts are exact, so of two terms with one right, both are equally close.
const BETTER: f64 = 0.9;

/// Terms of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Growth {
    /// Not at all.
    #[serde(rename = "1")]
    Constant,
    /// The square root.
    #[serde(rename = "n^(1/2)")]
    Root,
    /// The size.
    #[serde(rename = "n")]
    Linear,
    /// With its logarithm to base 2.
    #[serde(rename = "n log2(n)")]
    LinearLog,
    /// Its power of 3/2.
    #[serde(rename = "n^(3/2)")]
    ThreeHalves,
    /// Its square.
    #[serde(rename = "n^2")]
    Square,
    /// With the logarithm to base 2.
    #[serde(rename = "n^2 log2(n)")]
    SquareLog,
    /// Its cube.
    #[serde(rename = "n^3")]
    Cube,
}

impl Growth {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Constant,
        Self::Root,
        Self::Linear,
        Self::LinearLog,
        Self::ThreeHalves,
        Self::Square,
        Self::SquareLog,
        Self::Cube,
    ];

    /// At a size above 0.
    pub fn at(self, n: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Root => n.sqrt(),
            Self::Linear => n,
            Self::LinearLog => n * n.log2(),
            Self::ThreeHalves => n * n.sqrt(),
            Self::Square => n * n,
            Self::SquareLog => n * n * n.log2(),
            Self::Cube => n * n * n,
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "1",
            Self::Root => "n^(1/2)",
            Self::Linear => "n",
            Self::LinearLog => "n log2(n)",
            Self::ThreeHalves => "n^(3/2)",
            Self::Square => "n^2",
            Self::SquareLog => "n^2 log2(n)",
            Self::Cube => "n^3",
        }
    }
}

/// A count over the size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// Terms and their coefficients, above 0; empty if there is nothing to count.
    pub terms: Vec<(Growth, f64)>,
    /// How far off a size that is left out is predicted, at worst, as a part of it.
    pub left_out: f64,
}

/// Work of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The function.
    pub method: String,
    /// Name of the size.
    pub parameter: String,
    /// The caches for which misses were counted, the nearest first.
    pub caches: Vec<Cache>,
    /// Counts at each size, by name.
    pub sizes: Vec<Traced>,
    /// The same over the size.
    pub quantities: BTreeMap<String, Quantity>,
}

/// Work of a call at one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The size.
    pub n: f64,
    /// Counts, by name.
    pub counts: BTreeMap<String, f64>,
    /// Whether another call before it had filled the caches.
    pub warm: bool,
    /// Its reads and writes, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

impl Signature {
    /// A count at a size: the count itself, else its quantity's value, else the count at the nearest size. 0 if it was
    /// never counted.
    pub fn count(&self, name: &str, n: f64) -> f64 {
        let counted = |size: &Traced| size.counts.get(name).copied();
        if let Some(count) = self
            .sizes
            .iter()
            .filter(|size| size.n == n)
            .find_map(counted)
        {
            return count;
        }
        if let Some(quantity) = self.quantities.get(name) {
            return quantity.at(n);
        }
        let away = |size: &&Traced| (size.n / n).ln().abs();
        let nearest = self
            .sizes
            .iter()
            .min_by(|one, other| away(one).total_cmp(&away(other)));
        nearest.and_then(counted).unwrap_or(0.0)
    }
}

impl Quantity {
    /// At a size above 0.
    pub fn at(&self, n: f64) -> f64 {
        let terms = self.terms.iter();
        terms.map(|(growth, by)| by * growth.at(n)).sum()
    }

    /// Finds the terms.
    ///
    /// # Arguments
    /// * `points` - sizes and counts, at least [`MIN_SIZES`]
    /// * `worth` - counts that matter at each size, shape `[n_points]`, above 0: errors of smaller counts are relative
    ///   to these
    ///
    /// # Returns
    /// `None` with too few sizes, or if no terms of 0 or more fit.
    pub fn over(points: &[(f64, f64)], worth: &[f64]) -> Option<Self> {
        if points.len() < MIN_SIZES {
            return None;
        }
        if points.iter().all(|(_, count)| *count == 0.0) {
            return Some(Self::default());
        }
        let scale: Vec<f64> = points
            .iter()
            .zip(worth)
            .map(|((_, count), worth)| count.max(*worth))
            .collect();
        let all = Growth::ALL;
        let ones = all.iter().map(|one| vec![*one]);
        let pairs = (0..all.len()).flat_map(|i| (0..i).map(move |j| vec![all[j], all[i]]));
        let best = |forms: &mut dyn Iterator<Item = Vec<Growth>>| {
            let found = forms.filter_map(|form| fitted(&form, points, &scale));
            found.min_by(|one, other| one.left_out.total_cmp(&other.left_out))
        };
        match (best(&mut ones.into_iter()), best(&mut pairs.into_iter())) {
            (Some(one), Some(two)) => Some(match two.left_out < BETTER * one.left_out {
                true => two,
                false => one,
            }),
            (one, two) => one.or(two),
        }
    }
}

/// A form with its coefficients, and how far off left-out sizes are.
fn fitted(form: &[Growth], points: &[(f64, f64)], scale: &[f64]) -> Option<Quantity> {
    let all = vec![true; points.len()];
    let terms = solved(form, points, scale, &all)?;
    let mut left_out = 0.0_f64;
    for place in 0..points.len() {
        let mut kept = all.clone();
        kept[place] = false;
        let others = Quantity {
            terms: solved(form, points, scale, &kept)?,
            left_out: 0.0,
        };
        let (n, count) = points[place];
        left_out = left_out.max((others.at(n) - count).abs() / scale[place]);
    }
    Some(Quantity { terms, left_out })
}

/// Least squares of one or two terms; `None` if a coefficient is not above 0.
fn solved(
    form: &[Growth],
    points: &[(f64, f64)],
    scale: &[f64],
    kept: &[bool],
) -> Option<Vec<(Growth, f64)>> {
    let rows = points.iter().zip(scale).zip(kept);
    let rows = rows.filter(|(_, kept)| **kept);
    let rows: Vec<(Vec<f64>, f64)> = rows
        .map(|(((n, count), scale), _)| {
            let row = form.iter().map(|growth| growth.at(*n) / scale);
            (row.collect(), count / scale)
        })
        .collect();
    let product = |i: usize, j: usize| rows.iter().map(|(row, _)| row[i] * row[j]).sum::<f64>();
    let right = |i: usize| rows.iter().map(|(row, y)| row[i] * y).sum::<f64>();
    let coefficients = match form {
        [_] => vec![right(0) / product(0, 0)],
        _ => {
            let (a, b, d) = (product(0, 0), product(0, 1), product(1, 1));
            let determinant = a * d - b * b;
            // Terms that no two sizes distinguish.
            if determinant <= 1e-12 * a * d {
                return None;
            }
            let (u, v) = (right(0), right(1));
            vec![(d * u - b * v) / determinant, (a * v - b * u) / determinant]
        }
    };
    let is_above = coefficients.iter().all(|by| *by > 0.0 && by.is_finite());
    is_above.then(|| form.iter().copied().zip(coefficients).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: &[f64], count: impl Fn(f64) -> f64) -> Quantity {
        let points: Vec<(f64, f64)> = sizes.iter().map(|n| (*n, count(*n).round())).collect();
        Quantity::over(&points, &vec![1.0; points.len()]).unwrap()
    }

    #[test]
    fn the_term_of_exact_counts_is_found() {
        let sizes = [64.0, 128.0, 256.0, 512.0];
        for growth in Growth::ALL {
            let found = of(&sizes, |n| 1e6 * growth.at(n));
            assert_eq!(found.terms.len(), 1, "{found:?}");
            assert_eq!(found.terms[0].0, growth);
            assert!(found.left_out < 1e-6, "{found:?}");
        }
        let found = of(&sizes, |n| 7.0 * n * n * n + 900.0 * n * n);
        let names: Vec<_> = found
            .terms
            .iter()
            .map(|(growth, _)| growth.name())
            .collect();
        assert_eq!(names, ["n^2", "n^3"]);
        let expected = 7.0 * 4096.0_f64.powi(3) + 900.0 * 4096.0_f64.powi(2);
        assert!((found.at(4096.0) / expected - 1.0).abs() < 1e-3);
    }

    #[test]
    fn what_is_not_worth_it_decides_nothing() {
        let points = [(100.0, 3.0), (200.0, 0.0), (400.0, 5.0)];
        let found = Quantity::over(&points, &[1e3, 2e3, 4e3]).unwrap();
        assert!(found.left_out < 0.01, "{found:?}");
        assert_eq!(Quantity::over(&points[..2], &[1.0; 2]), None);
        let none = Quantity::over(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)], &[1.0; 3]).unwrap();
        assert_eq!(none.at(5.0), 0.0);
    }
}
