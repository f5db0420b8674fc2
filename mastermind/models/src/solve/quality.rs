//! How well a formula describes points: SMAPE, R², AICc, BIC. All weigh a point by its calls.

/// Symmetric mean absolute percentage error, per cent, 0 to 200.
///
/// `200 Σ wᵢ |fᵢ − yᵢ| / (|fᵢ| + |yᵢ|) / Σ wᵢ`; a point where both are 0 counts as met.
///
/// # Arguments
/// * `y` - measured, shape `[n_points]`
/// * `f` - predicted, shape `[n_points]`; NaN where there is no prediction, which counts 200
/// * `w` - calls, shape `[n_points]`, each > 0
pub(crate) fn smape(y: &[f64], f: &[f64], w: &[f64]) -> f64 {
    let errors = y.iter().zip(f).zip(w).map(|((&y, &f), &w)| {
        let ratio = if y == f {
            0.0
        } else {
            (f - y).abs() / (f.abs() + y.abs())
        };
        w * if ratio.is_nan() { 1.0 } else { ratio }
    });
    200.0 * errors.sum::<f64>() / w.iter().sum::<f64>()
}

/// Weighted sum of squares of `y − f`.
pub(crate) fn residual_sum(y: &[f64], f: &[f64], w: &[f64]) -> f64 {
    y.iter()
        .zip(f)
        .zip(w)
        .map(|((y, f), w)| w * (y - f) * (y - f))
        .sum()
}

/// Share of the squares of the times below which their variance is rounding.
const ROUNDING: f64 = 1e-28;

/// Share of the variance between points that the formula explains; `None` if there is no variance.
pub(crate) fn r_squared(y: &[f64], f: &[f64], w: &[f64]) -> Option<f64> {
    let mean = y.iter().zip(w).map(|(y, w)| y * w).sum::<f64>() / w.iter().sum::<f64>();
    let total = residual_sum(y, &vec![mean; y.len()], w);
    let squares = residual_sum(y, &vec![0.0; y.len()], w);
    (total > ROUNDING * squares).then(|| 1.0 - residual_sum(y, f, w) / total)
}

/// Akaike's information criterion, corrected for few points, on the scale of the times so that
/// families compare; `None` where the points are too few or the residual is zero.
///
/// # Arguments
/// * `residual` - weighted residual sum of squares
/// * `n_coefficients` - fitted coefficients; the variance counts as one more
///
/// # Source
/// C.M. Hurvich, C.-L. Tsai, Biometrika 76 (1989) 297 (recalled, not looked up).
pub(crate) fn aicc(residual: f64, n_points: usize, n_coefficients: usize) -> Option<f64> {
    let (n, k) = (n_points as f64, n_coefficients as f64 + 1.0);
    (n - k - 1.0 > 0.0 && residual > 0.0)
        .then(|| n * (residual / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

/// Schwarz's information criterion on the same scale; `None` where the residual is zero.
///
/// # Source
/// G. Schwarz, Ann. Statist. 6 (1978) 461 (recalled, not looked up).
pub(crate) fn bic(residual: f64, n_points: usize, n_coefficients: usize) -> Option<f64> {
    let (n, k) = (n_points as f64, n_coefficients as f64 + 1.0);
    (residual > 0.0).then(|| n * (residual / n).ln() + k * n.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smape_by_hand() {
        // 1/3 · 200 at a point of 3 calls, 0 at a point of 1 call.
        assert!((smape(&[1.0, 5.0], &[2.0, 5.0], &[3.0, 1.0]) - 50.0).abs() < 1e-12);
        assert_eq!(smape(&[1.0], &[f64::NAN], &[1.0]), 200.0);
        assert_eq!(smape(&[0.0], &[0.0], &[1.0]), 0.0);
    }

    #[test]
    fn r_squared_and_aicc_by_hand() {
        let (y, f, w) = ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], [1.0, 1.0, 1.0]);
        assert_eq!(r_squared(&y, &f, &w), Some(1.0 - 0.25 / 2.0));
        assert_eq!(r_squared(&[2.0, 2.0], &[2.0, 2.0], &[1.0, 1.0]), None);
        assert_eq!(r_squared(&[4.1 / 3.0], &[4.1 / 3.0], &[3.0]), None);
        assert_eq!((aicc(1.0, 4, 2), aicc(0.0, 9, 2)), (None, None));
        assert!((aicc(5.0, 5, 1).unwrap() - (4.0 + 12.0 / 2.0)).abs() < 1e-12);
        assert!((bic(5.0, 5, 1).unwrap() - 2.0 * 5_f64.ln()).abs() < 1e-12);
        assert_eq!(bic(0.0, 5, 1), None);
    }
}
