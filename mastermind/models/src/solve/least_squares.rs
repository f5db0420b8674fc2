//! Weighted linear least squares by an orthogonal factorisation.
//!
//! `linregress` has no weights, leverages or covariance (ARCHITECTURE, "What not to write ourselves"); the tests
//! compare this module with NIST's certified values.

/// Relative length below which a column counts as a combination of those before it.
const RANK_TOLERANCE: f64 = 1e-10;

/// Solution of a weighted least-squares problem.
#[derive(Debug, Clone)]
pub(crate) struct LeastSquares {
    /// Coefficients, shape `[n_columns]`.
    pub coefficients: Vec<f64>,
    /// `(XᵀWX)⁻¹`, shape `[n_columns][n_columns]`; times the variance of an observation of unit weight, if that is
    /// the same for all, it is the covariance of the coefficients.
    pub unscaled_covariance: Vec<Vec<f64>>,
    /// Diagonal of the hat matrix, shape `[n_points]`, in 0..=1.
    pub leverages: Vec<f64>,
    /// Observation minus fit, shape `[n_points]`, not weighted.
    pub residuals: Vec<f64>,
}

/// A column that is (nearly) a linear combination of the columns before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankDeficient {
    /// Index of the column.
    pub column: usize,
}

/// Minimises `Σᵢ wᵢ (yᵢ − Σⱼ xⱼᵢ βⱼ)²`.
///
/// # Arguments
/// * `columns` - the design, shape `[n_columns][n_points]`, finite
/// * `y` - observations, shape `[n_points]`, finite
/// * `weights` - shape `[n_points]`, each > 0
///
/// # Errors
/// [`RankDeficient`] with the first column that depends on those before it; also where there are
/// more columns than points.
///
/// # Source
/// Å. Björck, *Numerical Methods for Least Squares Problems*, SIAM 1996, section 2.4: modified
/// Gram–Schmidt, here with a second pass ("twice is enough") (recalled, not looked up).
pub(crate) fn solve(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
) -> Result<LeastSquares, RankDeficient> {
    let factorised = factorised(columns, y, weights)?;
    let rows = || factorised.inverse.chunks_exact(columns.len().max(1));
    let unscaled_covariance = rows()
        .map(|a| rows().map(|b| dot(a, b)).collect())
        .collect();
    let leverages = (0..y.len())
        .map(|i| factorised.columns().map(|q| q[i] * q[i]).sum::<f64>())
        .collect();
    let (coefficients, residuals) = factorised.solved(weights);
    Ok(LeastSquares {
        coefficients,
        unscaled_covariance,
        leverages,
        residuals,
    })
}

/// Coefficients and residuals of [`solve`], without leverages and covariance.
///
/// # Errors
/// Those of [`solve`].
pub(crate) fn coefficients(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
) -> Result<(Vec<f64>, Vec<f64>), RankDeficient> {
    Ok(factorised(columns, y, weights)?.solved(weights))
}

/// A weighted design `diag(√w) X = Q R`, and the weighted observations in its terms.
pub(crate) struct Factorised {
    /// Orthonormal columns of `Q`, shape `[n_columns][n_points]`.
    q: Vec<f64>,
    /// `R⁻¹`, shape `[n_columns][n_columns]`.
    pub inverse: Vec<f64>,
    /// `Qᵀ diag(√w) y`, shape `[n_columns]`.
    pub projection: Vec<f64>,
    /// `diag(√w) y` minus its projection on the columns, shape `[n_points]`.
    pub rest: Vec<f64>,
}

impl Factorised {
    /// The columns of `Q`.
    pub fn columns(&self) -> impl Iterator<Item = &[f64]> {
        self.q.chunks_exact(self.rest.len().max(1))
    }

    /// Coefficients and residuals.
    fn solved(&self, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let pairs = self.rest.iter().zip(weights);
        let residuals = pairs.map(|(r, w)| r / w.sqrt()).collect();
        (combine(&self.inverse, &self.projection), residuals)
    }
}

/// The factorization behind [`solve`].
///
/// # Errors
/// Those of [`solve`].
pub(crate) fn factorised(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
) -> Result<Factorised, RankDeficient> {
    let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let (q, r) = factorise(columns, &roots)?;
    let mut rest: Vec<f64> = y.iter().zip(&roots).map(|(y, root)| y * root).collect();
    let mut projection = vec![0.0; columns.len()];
    for _ in 0..2 {
        for (q, p) in q.chunks_exact(roots.len().max(1)).zip(&mut projection) {
            *p += remove(q, &mut rest);
        }
    }
    Ok(Factorised {
        q,
        inverse: invert_upper(&r, columns.len()),
        projection,
        rest,
    })
}

/// A matrix times a vector.
///
/// # Arguments
/// * `rows` - shape `[n_rows][n]`
/// * `vector` - shape `[n]`
pub(crate) fn combine(rows: &[f64], vector: &[f64]) -> Vec<f64> {
    let rows = rows.chunks_exact(vector.len().max(1));
    rows.map(|row| dot(row, vector)).collect()
}

/// `diag(roots) X = Q R`: the orthonormal columns of `Q`, shape `[n_columns][n_points]`, and the upper triangle `R`.
fn factorise(columns: &[Vec<f64>], roots: &[f64]) -> Result<(Vec<f64>, Vec<f64>), RankDeficient> {
    let (n, m) = (columns.len(), roots.len());
    let mut q: Vec<f64> = Vec::with_capacity(n * m);
    let mut r = vec![0.0; n * n];
    for (j, column) in columns.iter().enumerate() {
        q.extend(column.iter().zip(roots).map(|(x, root)| x * root));
        let (known, v) = q.split_at_mut(j * m);
        let before = norm(v);
        for _ in 0..2 {
            for (i, q) in known.chunks_exact(m.max(1)).enumerate() {
                r[i * n + j] += remove(q, v);
            }
        }
        let after = norm(v);
        // Also true of a column of zeros.
        if after <= RANK_TOLERANCE * before || j >= m {
            return Err(RankDeficient { column: j });
        }
        r[j * n + j] = after;
        v.iter_mut().for_each(|x| *x /= after);
    }
    Ok((q, r))
}

/// Subtracts the component along the unit vector `q` from `v` and returns its length.
pub(crate) fn remove(q: &[f64], v: &mut [f64]) -> f64 {
    let length = dot(q, v);
    v.iter_mut().zip(q).for_each(|(v, q)| *v -= length * q);
    length
}

/// Inverse of an upper triangle with a non-zero diagonal, shape `[n][n]`, by back substitution.
fn invert_upper(r: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    for j in 0..n {
        inverse[j * n + j] = 1.0 / r[j * n + j];
        for i in (0..j).rev() {
            let sum: f64 = (i + 1..=j).map(|k| r[i * n + k] * inverse[k * n + j]).sum();
            inverse[i * n + j] = -sum / r[i * n + i];
        }
    }
    inverse
}

/// Inner product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Length.
pub(crate) fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 6] = [1e3, 2e3, 5e3, 1e4, 4e4, 2.5e5];
    const Y: [f64; 6] = [3.1e-6, 4.2e-6, 6.0e-6, 1.4e-5, 4.1e-5, 2.6e-4];

    fn close(a: f64, b: f64, relative: f64) -> bool {
        (a - b).abs() <= relative * b.abs()
    }

    /// Longley's data, whose columns nearly depend on each other, and the certified values for them: Statistical Reference
    /// Datasets, National Institute of Standards and Technology. The answer, then six columns.
    const LONGLEY: [[f64; 7]; 16] = [
        [60323.0, 83.0, 234289.0, 2356.0, 1590.0, 107608.0, 1947.0],
        [61122.0, 88.5, 259426.0, 2325.0, 1456.0, 108632.0, 1948.0],
        [60171.0, 88.2, 258054.0, 3682.0, 1616.0, 109773.0, 1949.0],
        [61187.0, 89.5, 284599.0, 3351.0, 1650.0, 110929.0, 1950.0],
        [63221.0, 96.2, 328975.0, 2099.0, 3099.0, 112075.0, 1951.0],
        [63639.0, 98.1, 346999.0, 1932.0, 3594.0, 113270.0, 1952.0],
        [64989.0, 99.0, 365385.0, 1870.0, 3547.0, 115094.0, 1953.0],
        [63761.0, 100.0, 363112.0, 3578.0, 3350.0, 116219.0, 1954.0],
        [66019.0, 101.2, 397469.0, 2904.0, 3048.0, 117388.0, 1955.0],
        [67857.0, 104.6, 419180.0, 2822.0, 2857.0, 118734.0, 1956.0],
        [68169.0, 108.4, 442769.0, 2936.0, 2798.0, 120445.0, 1957.0],
        [66513.0, 110.8, 444546.0, 4681.0, 2637.0, 121950.0, 1958.0],
        [68655.0, 112.6, 482704.0, 3813.0, 2552.0, 123366.0, 1959.0],
        [69564.0, 114.2, 502601.0, 3931.0, 2514.0, 125368.0, 1960.0],
        [69331.0, 115.7, 518173.0, 4806.0, 2572.0, 127852.0, 1961.0],
        [70551.0, 116.9, 554894.0, 4007.0, 2827.0, 130081.0, 1962.0],
    ];
    /// Coefficients with their standard errors, the constant first.
    const CERTIFIED: [[f64; 2]; 7] = [
        [-3482258.63459582, 890420.383607373],
        [15.0618722713733, 84.9149257747669],
        [-0.0358191792925910, 0.0334910077722432],
        [-2.02022980381683, 0.488399681651699],
        [-1.03322686717359, 0.214274163161675],
        [-0.0511041056535807, 0.226073200069370],
        [1829.15146461355, 455.478499142212],
    ];

    #[test]
    fn agrees_with_certified_values() {
        let column = |place: usize| LONGLEY.map(|row| row[place]).to_vec();
        let columns: Vec<_> = [vec![1.0; 16]]
            .into_iter()
            .chain((1..7).map(column))
            .collect();
        let ours = solve(&columns, &column(0), &[1.0; 16]).unwrap();
        let variance = dot(&ours.residuals, &ours.residuals) / 9.0;
        assert!(close(variance.sqrt(), 304.854073561965, 1e-8));
        for (place, [coefficient, error]) in CERTIFIED.into_iter().enumerate() {
            assert!(close(ours.coefficients[place], coefficient, 1e-6));
            let found = (ours.unscaled_covariance[place][place] * variance).sqrt();
            assert!(close(found, error, 1e-6));
        }
    }

    #[test]
    fn a_weight_is_a_number_of_rows() {
        let weights = [1.0, 2.0, 3.0, 1.0, 2.0, 4.0];
        let weighted = solve(&[vec![1.0; 6], X.to_vec()], &Y, &weights).unwrap();
        let repeat = |v: &[f64]| -> Vec<f64> {
            v.iter()
                .zip(weights)
                .flat_map(|(&v, w)| vec![v; w as usize])
                .collect()
        };
        let rows = solve(&[vec![1.0; 13], repeat(&X)], &repeat(&Y), &[1.0; 13]).unwrap();
        for j in 0..2 {
            assert!(close(weighted.coefficients[j], rows.coefficients[j], 1e-12));
        }
        let sum: f64 = weighted.leverages.iter().sum();
        assert!(
            close(sum, 2.0, 1e-12),
            "leverages add up to the number of columns: {sum}"
        );
    }

    #[test]
    fn a_dependent_column_is_named() {
        let twice = X.iter().map(|x| 2.0 * x + 1.0).collect();
        let found = solve(&[vec![1.0; 6], X.to_vec(), twice], &Y, &[1.0; 6]).unwrap_err();
        assert_eq!(found, RankDeficient { column: 2 });
        let found = solve(&[vec![1.0], vec![2.0]], &[1.0], &[1.0]).unwrap_err();
        assert_eq!(found, RankDeficient { column: 1 });
    }
}
