//! Distribution-free bounds of the ratio of measured to predicted totals.
//!
//! A machine with two speeds gives totals at two levels. Student's interval is then far wider than the distance of the
//! levels, which have no tails, and the mean of a few runs lies anywhere between them. So with enough runs, the order
//! statistics of all assemblies together give the middle and the bounds: among `n` values, a fresh one lies between the
//! `j`-th smallest and the `j`-th largest with probability `1 − 2j / (n + 1)`, whatever the distribution. For values
//! with long tails, Student's interval is narrower and is used instead: [`RunBounds::are_narrower_than`].
//!
//! ```
//! use mastermind_composition::RunBounds;
//!
//! // Half of the runs take as long as predicted, half 1.3 times as long.
//! let ratios: Vec<f64> = (0..40).map(|run| f64::from(run % 2) * 1.3_f64.ln()).collect();
//! let bounds = RunBounds::of(&[ratios], Some(0), &[], 0.0).unwrap();
//! let [low, high] = bounds.interval_s(1.0, 0.0);
//! assert!((0.99..1.0).contains(&low) && (1.3..1.31).contains(&high));
//! ```

use mastermind_models::LEVEL;
use serde::Serialize;

use crate::between_runs::BetweenRuns;

/// Share of fresh runs that may lie below the bounds, and the same above.
const OUTSIDE: f64 = 0.5 * (1.0 - LEVEL);

/// Two-sided 95 % point of the normal distribution.
const NORMAL_95: f64 = 1.96;

/// The bounds of 95 % of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunBounds {
    /// Logarithm of measured over predicted time, midway between the smallest and the largest; 0 for a workload that
    /// was not run.
    pub middle: f64,
    /// Distance of the lower bound from the middle: ≤ 0.
    pub low: f64,
    /// Distance of the upper bound from the middle: ≥ 0.
    pub high: f64,
}

impl RunBounds {
    /// Computes the bounds from runs.
    ///
    /// # Arguments
    /// * `ratios` - for each workload (one for each choice of settings), the logarithms of measured over predicted time
    ///   of its runs, with any classes
    /// * `workload` - index of the predicted workload; None if it was not run
    /// * `earlier` - for each other program, the logarithms of the times of its runs
    /// * `most` - upper limit of the total weight of runs of other programs
    ///
    /// # Returns
    /// None where there are too few runs for bounds, less than 39, or a logarithm is not finite.
    ///
    /// # Source
    /// Wilks, Annals of Mathematical Statistics 12, 1941, pages 91–96: the share of a population between order
    /// statistics of a sample. Here values between two order statistics are interpolated, and values are weighted.
    pub fn of(
        ratios: &[Vec<f64>],
        workload: Option<usize>,
        earlier: &[Vec<f64>],
        most: f64,
    ) -> Option<Self> {
        let own = ratios.iter().flat_map(|runs| centred(runs));
        let others: Vec<f64> = earlier.iter().flat_map(|runs| centred(runs)).collect();
        let weight = (most / others.len() as f64).min(1.0);
        let mut all: Vec<_> = own.map(|value| (value, 1.0)).collect();
        all.extend(others.into_iter().map(|value| (value, weight)));
        if !all.iter().all(|(value, _)| value.is_finite()) {
            return None;
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let low = ranked(&all)?;
        let mirrored: Vec<_> = all.iter().rev().map(|(value, w)| (-value, *w)).collect();
        let high = -ranked(&mirrored)?;
        Some(Self {
            middle: workload.map_or(0.0, |at| middle(&ratios[at])),
            low: low.min(0.0),
            high: high.max(0.0),
        })
    }

    /// The interval of the total of one fresh run; it contains the prediction.
    ///
    /// Its ends are `√(b² + z² v)` from the middle: `b` is the distance of the bound, `v` the variance of the models,
    /// `z` 1.96.
    ///
    /// # Arguments
    /// * `total_s` - the predicted total, seconds, > 0
    /// * `model_variance` - variance of the logarithm of the prediction due to its models
    pub fn interval_s(&self, total_s: f64, model_variance: f64) -> [f64; 2] {
        let models = NORMAL_95 * model_variance.sqrt();
        let low = self.middle - self.low.hypot(models);
        let high = self.middle + self.high.hypot(models);
        [total_s * low.min(0.0).exp(), total_s * high.max(0.0).exp()]
    }

    /// Whether the bounds give a narrower interval than Student's for the same runs.
    pub fn are_narrower_than(&self, between_runs: &BetweenRuns) -> bool {
        let ratio = |[low, high]: [f64; 2]| high / low;
        let student = between_runs.interval_s(1.0, 0.0, LEVEL);
        ratio(self.interval_s(1.0, 0.0)) < ratio(student)
    }
}

/// The mean of the smallest and the largest value, which is the same for two levels however often each occurs; 0 of
/// none.
fn middle(values: &[f64]) -> f64 {
    let ends = values.iter().map(|value| (*value, *value));
    let ends = ends.reduce(|ends, value| (ends.0.min(value.0), ends.1.max(value.1)));
    ends.map_or(0.0, |(least, largest)| 0.5 * (least + largest))
}

/// Distances of values from their middle, enlarged because the middle is estimated from them; empty for a single value.
fn centred(values: &[f64]) -> impl Iterator<Item = f64> {
    let (middle, n) = (middle(values), values.len() as f64);
    let several = values.iter().filter(move |_| n > 1.0);
    several.map(move |value| (value - middle) / (1.0 - 1.0 / n).sqrt())
}

/// The value of rank `OUTSIDE (n + 1)`; None if that rank is below the first.
///
/// # Arguments
/// * `values` - values, ascending, and the weight of each; their sum is `n`
fn ranked(values: &[(f64, f64)]) -> Option<f64> {
    let n: f64 = values.iter().map(|(_, weight)| weight).sum();
    let rank = OUTSIDE * (n + 1.0);
    if rank < 1.0 - 1e-9 {
        return None;
    }
    let mut sum = 0.0;
    let mut before = values.first()?.0;
    for &(value, weight) in values {
        if sum + weight >= rank {
            return Some(before + (value - before) * ((rank - sum) / weight).min(1.0));
        }
        sum += weight;
        before = value;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For 0, 1, …, 78 the lower bound has rank 80 / 40 = 2: the value 1, 38 below the middle 39, enlarged by √(79/78).
    #[test]
    fn the_bounds_by_hand() {
        let values = [(0..79).map(f64::from).collect::<Vec<_>>()];
        let bounds = RunBounds::of(&values, Some(0), &[], 0.0).unwrap();
        let far = 38.0 * (79.0_f64 / 78.0).sqrt();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, expected {b}");
        close(bounds.middle, 39.0);
        close(bounds.low, -far);
        close(bounds.high, far);
        let [low, high] = bounds.interval_s(2.0, 400.0);
        let half = (far * far + 1.96 * 1.96 * 400.0).sqrt();
        close((low / 2.0).ln(), 39.0 - half);
        close((high / 2.0).ln(), 39.0 + half);
        // A workload that was not run has no middle of its own; the runs of other programs have the given weight.
        close(RunBounds::of(&values, None, &[], 0.0).unwrap().middle, 0.0);
        let own = [vec![1.0; 20]];
        let earlier = |most| RunBounds::of(&own, Some(0), &values, most);
        assert_eq!(earlier(18.0), None);
        assert!((35.0..37.0).contains(&earlier(20.0).unwrap().high));
        assert_eq!(RunBounds::of(&[vec![f64::NAN; 79]], None, &[], 0.0), None);
    }

    /// A fresh run is at either level; Student's interval is narrower where only one run is at the other level.
    #[test]
    fn of_two_levels_the_bounds_are_these() {
        for slow in [1, 8, 20, 36] {
            let ratios = (0..40).map(|run| if run < slow { 0.26 } else { 0.0 });
            let ratios: Vec<f64> = ratios.collect();
            let totals = ratios.iter().map(|ratio| ratio.exp()).collect();
            let student = BetweenRuns::pooled(&[totals], None).unwrap();
            let bounds = RunBounds::of(&[ratios], Some(0), &[], 0.0).unwrap();
            assert_eq!(bounds.are_narrower_than(&student), slow > 1);
            if slow > 1 {
                let [low, high] = bounds.interval_s(1.0, 0.0);
                assert!(low <= 1.0 && high >= 0.26_f64.exp(), "{low} {high}");
                assert!((high / low).ln() < 0.26 * 1.02, "{low} {high}");
            }
        }
    }
}
