//! Accuracy of a correction at points that neither its search nor its base saw.
//!
//! Groups of points that a tree cannot distinguish are left out in turn, some at random and those with the largest
//! values of each input together, which tests a correction beyond the points. Without them the base is fitted again and
//! the whole search repeated: a tree that was found with all points, with only its constants fitted without some,
//! follows the noise of those as well.

use fastrand::Rng;
use serde::Serialize;

use crate::correction::{Corrected, Trial, relative_error};
use crate::error::Error;
use crate::semi_empirical::SemiEmpirical;
use crate::table::Table;

/// Times that points are left out at random: each costs a search. With three the 16 points of EVH1 are too few to find its correction, ten
/// let no more through (seen).
const N_RANDOM: usize = 6;

/// Standard errors that a gain at held-out points must exceed: the rule of one standard error.
///
/// # Source
/// L. Breiman, J.H. Friedman, R.A. Olshen, C.J. Stone, Classification and Regression Trees, 1984, 3.4.3 (from memory,
/// not checked).
const BEYOND_CHANCE: f64 = 1.0;

/// Share of the points with the largest values of an input that are left out together, at most.
const LARGEST: f64 = 0.4;

/// Factor beyond the kept points from which on an error shows its growth.
const MIN_DISTANCE: f64 = 1.4;

/// Root mean square relative errors at held-out points, of a base and of its correction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Of the base.
    pub base: f64,
    /// Of the corrected model.
    pub corrected: f64,
    /// Of the fittest tree alone.
    pub single: f64,
    /// By how many of its own standard errors the mean square of the corrected model's errors is below the base's; not a number where
    /// both are the same.
    pub gain: f64,
}

/// Errors of a correction at held-out points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldOut {
    /// Within the points that were kept.
    pub within: Errors,
    /// Beyond them; `None` if no input has enough values.
    pub beyond: Option<Errors>,
    /// Standard deviation of the logarithm of the corrected time, for each factor of e beyond the range.
    pub drift: f64,
}

impl HeldOut {
    /// The errors that speak against it, if any: within, if the gain may be chance, or beyond, if the base is no worse.
    ///
    /// # Arguments
    /// * `most` - greatest error as a share of the base's
    pub(crate) fn against(&self, most: f64) -> Option<Errors> {
        let is_chance = self.within.gain.is_nan() || self.within.gain <= BEYOND_CHANCE;
        let is_worse = |errors: &Errors| errors.corrected >= most * errors.base;
        let within = Some(self.within).filter(|errors| is_chance || is_worse(errors));
        within.or(self.beyond.filter(is_worse))
    }

    /// Relative error of the corrected model at all held-out points: the larger of the errors within and beyond the
    /// others.
    pub fn error(&self) -> f64 {
        let beyond = self.beyond.map_or(0.0, |errors| errors.corrected);
        self.within.corrected.max(beyond)
    }
}

/// Times at the held-out points.
#[derive(Default)]
struct Times {
    observed: Vec<f64>,
    base: Vec<f64>,
    corrected: Vec<f64>,
    single: Vec<f64>,
    /// Factor by which they are beyond the kept points.
    distance: Vec<f64>,
}

impl Times {
    fn errors(&self) -> Option<Errors> {
        let error = |times: &[f64]| relative_error(&self.observed, times);
        (!self.observed.is_empty()).then(|| Errors {
            base: error(&self.base),
            corrected: error(&self.corrected),
            single: error(&self.single),
            gain: self.gain(),
        })
    }

    fn gain(&self) -> f64 {
        let squared = |y: &f64, t: &f64| (t / y).ln().powi(2);
        let triples = self.observed.iter().zip(&self.base).zip(&self.corrected);
        let gains: Vec<f64> = triples
            .map(|((y, base), corrected)| squared(y, base) - squared(y, corrected))
            .collect();
        let n = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
        mean / (squares / (n * (n - 1.0))).sqrt()
    }

    /// Growth of the error of a corrected time with the distance, in addition to the given standard deviation.
    fn drift(&self, deviation: f64) -> f64 {
        let triples = self
            .observed
            .iter()
            .zip(&self.corrected)
            .zip(&self.distance);
        let far = triples.filter(|(_, distance)| **distance >= MIN_DISTANCE);
        let squares: Vec<f64> = far
            .map(|((y, t), d)| {
                (((y / t).ln().powi(2) - deviation.powi(2)).max(0.0)) / d.ln().powi(2)
            })
            .collect();
        match squares.is_empty() {
            true => 0.0,
            false => (squares.iter().sum::<f64>() / squares.len() as f64).sqrt(),
        }
    }
}

impl Trial<'_> {
    /// Repeats the base and the search without some of the points, and judges them there; `None` if there are too few.
    pub(crate) fn held_out(&self, table: &Table, seed: u64) -> Result<Option<HeldOut>, Error> {
        let mut groups = self.groups(table);
        Rng::with_seed(seed).shuffle(&mut groups);
        let (mut within, mut beyond) = (Times::default(), Times::default());
        for fold in 0..N_RANDOM {
            let rows = groups.iter().skip(fold).step_by(N_RANDOM).flatten();
            self.repeat(table, &rows.copied().collect::<Vec<_>>(), seed, &mut within)?;
        }
        for column in self.varying(table) {
            self.repeat(table, &largest(column), seed, &mut beyond)?;
        }
        let Some(errors) = within.errors() else {
            return Ok(None);
        };
        Ok(Some(HeldOut {
            within: errors,
            beyond: beyond.errors(),
            drift: beyond.drift(errors.corrected),
        }))
    }

    /// The search without the points of a fold; its times there.
    fn repeat(
        &self,
        table: &Table,
        fold: &[usize],
        seed: u64,
        times: &mut Times,
    ) -> Result<(), Error> {
        let others: Vec<usize> = (0..table.len()).filter(|i| !fold.contains(i)).collect();
        let (kept, left_out) = (table.at(&others), table.at(fold));
        let residuals = self.settings.residuals;
        // Too few points are left for a verdict.
        let Ok(base) = SemiEmpirical::fit(self.specification, &kept, residuals) else {
            return Ok(());
        };
        let of_base = self.specification.evaluate(&left_out, &base.values);
        let trial = self.of_base(&kept, &base)?;
        let corrected: Option<Corrected> = trial.corrected(&kept, seed)?;
        let of = |corrected: Option<Corrected>| match corrected {
            Some(corrected) => corrected.predict(self.specification, &left_out),
            None => of_base.clone(),
        };
        times
            .single
            .extend(of(corrected.as_ref().map(Corrected::alone)));
        times.corrected.extend(of(corrected));
        times.base.extend(of_base);
        times.observed.extend_from_slice(&left_out.observed);
        let distance = |point: usize| -> f64 {
            let columns = kept.inputs.iter().zip(&left_out.inputs);
            let beyond = columns.map(|(kept, own)| {
                let high = kept.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let far = own[point] / high;
                if high > 0.0 { far.max(1.0) } else { 1.0 }
            });
            beyond.product()
        };
        times.distance.extend((0..left_out.len()).map(distance));
        Ok(())
    }
}

/// The rows with the largest values of a column, as many values as a share of the rows has; `None` if one value has
/// more.
fn largest(column: &[f64]) -> Vec<usize> {
    let mut values = column.to_vec();
    values.sort_by(|a, b| b.total_cmp(a));
    let most = (LARGEST * column.len() as f64) as usize;
    // The first value that is not left out.
    let least = values[most.min(values.len() - 1)];
    (0..column.len())
        .filter(|&row| column[row] > least)
        .collect()
}
