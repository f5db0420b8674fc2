//! Down-weights the calls of a point for the error that they share.
//!
//! In: points and the times of a formula. Out: the same points, each with its effective number of calls.
//!
//! If the scatter of calls does not explain how far the points lie from every formula, the rest is an error of the
//! whole point: a formula that is not quite right, a layout in memory, a condition of the run. A thousand calls then
//! determine the mean of their point well, but the formula no better than ten calls do. Weighted by number of calls,
//! sizes that are called often would dominate the prediction of rarely called sizes, and each of their quirks would
//! justify a break.

use crate::samples::points::Points;
use crate::solve::likelihood::{Counts, Distance, FEW};

/// The points reduced to their means, each of `n` calls weighted `n / (1 + n ρ)`, where `ρ` is the ratio of the
/// variance between points to that of a call. `None` where the scatter of calls explains the distance, where it is
/// unknown, and where all points have equally many calls, so that nothing changes.
///
/// # Arguments
/// * `fitted_s` - times of a formula at the points, shape `[n_points]`, seconds
/// * `n` - number of coefficients of the formula
///
/// # Source
/// R. DerSimonian, N. Laird, Controlled Clinical Trials 7 (1986) 177, for the variance between points by moments (recalled, not looked up).
pub(crate) fn as_means(points: &Points, fitted_s: &[f64], n: usize) -> Option<Points> {
    let counts = Counts::of(points);
    let (n_records, n_points) = (counts.n_records, counts.n_points as f64);
    let is_even = points.count.iter().all(|count| *count == points.count[0]);
    let is_explained = || Distance::new(points, fitted_s).is_explained(n, counts);
    if is_even || counts.n_points < FEW || is_explained() {
        return None;
    }
    let largest = points.largest_s();
    let (mut lack, mut within, mut squares) = (0.0, 0.0, 0.0);
    for (i, &fitted) in fitted_s.iter().enumerate() {
        let variance = points.noise.variance(fitted, largest);
        let (count, off) = (points.count[i], points.mean_s[i] - fitted);
        lack += count * off * off / variance;
        within += points.m2_s2[i] / variance;
        squares += count * count;
    }
    let of_call = within / (n_records - n_points);
    let of_point = (lack - of_call * (n_points - n as f64)) / (n_records - squares / n_records);
    let shared = of_point / of_call;
    if !(shared.is_finite() && shared > 0.0) {
        return None;
    }
    let mut means = points.clone();
    means.count.iter_mut().for_each(|n| *n /= 1.0 + *n * shared);
    means.m2_s2.fill(0.0);
    Some(means)
}
