//! Estimates how many correlated points are worth one independent point, where the residuals depend on the value of a
//! parameter.
//!
//! In: points and fitted times. Out: a factor, ≥ 1, by which the points carry less information than as many
//! independent ones.
//!
//! Where the scatter of calls does not explain the residuals, points that share a value of a parameter share an
//! error. The factor widens covariances and flattens the weights of formulas for intervals. The predicted value stays
//! the median by untempered likelihood: with flattened weights, or with a selection by fewer points, real structure
//! was lost.

use crate::samples::points::Points;

/// Least number of distinct values of a parameter to estimate the effect from.
const MIN_LEVELS: usize = 3;

/// The design effect of the relative residuals, ≥ 1: for the parameter whose equal values have the most in common,
/// `1 + (n − 1) ρ` with `n` points a value and `ρ` the correlation among them.
///
/// A formula that misses the effect of a value misses it for all points with that value: twenty points at four values
/// of a parameter carry the information of four.
///
/// # Arguments
/// * `fitted_s` - times of a formula at the points, shape `[n_points]`, seconds
///
/// # Source
/// L. Kish, *Survey Sampling* (1965), section 5.4, with the correlation from the one-way analysis of variance (recalled, not
/// looked up).
pub(crate) fn design_effect(points: &Points, fitted_s: &[f64]) -> f64 {
    let pairs = points.mean_s.iter().zip(fitted_s);
    let residual = |(y, f): (&f64, &f64)| if *f > 0.0 { y / f - 1.0 } else { 0.0 };
    let residuals: Vec<f64> = pairs.map(residual).collect();
    let of = |param: usize| of_levels(&points.columns[param], &residuals);
    points.varying().into_iter().map(of).fold(1.0, f64::max)
}

/// The design effect where the points with one value of `column` are a group.
fn of_levels(column: &[f64], residuals: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.sort_by(|&a, &b| column[a].total_cmp(&column[b]));
    let levels: Vec<&[usize]> = order.chunk_by(|&a, &b| column[a] == column[b]).collect();
    let (n, n_levels) = (column.len() as f64, levels.len() as f64);
    if levels.len() < MIN_LEVELS || n < 2.0 * n_levels {
        return 1.0;
    }
    let mean = |rows: &[usize]| rows.iter().map(|&i| residuals[i]).sum::<f64>() / rows.len() as f64;
    let overall = mean(&order);
    let (mut between, mut within) = (0.0, 0.0);
    for rows in &levels {
        let own = mean(rows);
        between += rows.len() as f64 * (own - overall).powi(2);
        within += rows
            .iter()
            .map(|&i| (residuals[i] - own).powi(2))
            .sum::<f64>();
    }
    let (between, within) = (between / (n_levels - 1.0), within / (n - n_levels));
    let each = n / n_levels;
    let correlation = (between - within) / (between + (each - 1.0) * within);
    // NaN if all residuals are 0.
    if correlation > 0.0 {
        1.0 + (each - 1.0) * correlation
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five levels of four points each.
    const COLUMN: [f64; 20] = [
        1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0, 5.0, 5.0,
        5.0, 5.0,
    ];

    #[test]
    fn points_that_share_their_error_count_as_one() {
        let shared: Vec<f64> = COLUMN.iter().map(|x| 0.1 * (x - 3.0)).collect();
        assert!((of_levels(&COLUMN, &shared) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn points_that_share_nothing_count_each() {
        let signs = [0.1, -0.1, -0.1, 0.1];
        let own: Vec<f64> = (0..20).map(|i| signs[i % 4]).collect();
        assert_eq!(of_levels(&COLUMN, &own), 1.0);
        assert_eq!(of_levels(&COLUMN, &[0.0; 20]), 1.0, "nothing is left");
    }

    #[test]
    fn half_of_the_variance_shared_is_half_of_the_way() {
        // Level means ±1 and 0, and within each as much: mean squares 4 · (1 + 1 + 0 + 1 + 1) / 4 = 4 and 4 / 3.
        let level = [1.0, -1.0, 0.0, 1.0, -1.0];
        let within = [1.0, -1.0, -1.0, 1.0];
        let both: Vec<f64> = (0..20).map(|i| level[i / 4] + within[i % 4]).collect();
        let (between, within) = (4.0, 4.0 / 3.0);
        let correlation = (between - within) / (between + 3.0 * within);
        assert!((of_levels(&COLUMN, &both) - (1.0 + 3.0 * correlation)).abs() < 1e-12);
    }

    #[test]
    fn one_point_a_level_says_nothing() {
        assert_eq!(of_levels(&[1.0, 2.0, 3.0, 4.0], &[0.1, 0.2, 0.3, 0.4]), 1.0);
    }
}
