//! Weighted linear least squares within half-spaces: `Gβ ≥ 0`.
//!
//! Costs that are nowhere negative and do not fall satisfy such limits: each row of `G` states one of them at one
//! place, for a formula that is linear in its coefficients.
//!
//! A formula that is negative on the range, or falls with a parameter where it must not, is fitted again within the
//! limits; its standard errors are those of the directions that stay free. A user's formula obeys the same limits and
//! its own bounds, by damped steps from several starts (`families/written/within.rs`). If only 0 satisfies the
//! limits, there is no such formula.

use crate::solve::least_squares::{
    Factorised, LeastSquares, RankDeficient, combine, dot, factorised, norm, remove, solve,
};

/// Length of a residual, relative to the whole, up to which it is rounding.
const ROUNDING: f64 = 1e-12;

/// Relative length below which a limit is a combination of those before it.
const DEPENDENT: f64 = 1e-9;

/// A fit within limits.
#[derive(Debug, Clone)]
pub(crate) struct Constrained {
    /// The fit; covariance and leverages are those of the directions that the limits leave free.
    pub solution: LeastSquares,
    /// Number of directions that the limits fix.
    pub n_held: usize,
}

/// Minimises `Σᵢ wᵢ (yᵢ − Σⱼ xⱼᵢ βⱼ)²` where `Σⱼ gⱼ βⱼ ≥ 0` for every limit `g`.
///
/// # Arguments
/// * `columns`, `y`, `weights` - as in [`solve`]
/// * `limits` - shape `[n_limits][n_columns]`
///
/// # Errors
/// Those of [`solve`].
///
/// # Source
/// C.L. Lawson, R.J. Hanson, *Solving Least Squares Problems* (1974), chapter 23: to a least-distance
/// problem by the factorisation, and that to a non-negative one (recalled, not looked up).
pub(crate) fn solve_within(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
    limits: &[Vec<f64>],
) -> Result<Constrained, RankDeficient> {
    let factorised = factorised(columns, y, weights)?;
    // In z = Rβ − Qᵀy the distance to the free fit is the length of z, and a limit g is a·z ≥ −a·p, with
    // a = R⁻ᵀg and p = Qᵀy.
    let directions = limits.iter().filter_map(|g| direction(&factorised, g));
    let directions: Vec<Vec<f64>> = directions.map(|(a, _)| a).collect();
    let active = active(&directions, &factorised.projection);
    Ok(reduced(&factorised, &active, weights))
}

/// `R⁻ᵀg` as a unit vector, and its length; `None` if its length is 0.
fn direction(factorised: &Factorised, g: &[f64]) -> Option<(Vec<f64>, f64)> {
    let inverse = &factorised.inverse;
    let n = g.len();
    let element = |j: usize| (0..n).map(|i| inverse[i * n + j] * g[i]).sum();
    let mut a: Vec<f64> = (0..g.len()).map(element).collect();
    let length = norm(&a);
    a.iter_mut().for_each(|a| *a /= length);
    length.is_normal().then_some((a, length))
}

/// A half-space of coefficients whose border need not contain 0: `Σⱼ slopesⱼ βⱼ ≥ least`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    /// Shape `[n_columns]`.
    pub slopes: Vec<f64>,
    /// The least value.
    pub least: f64,
}

/// Minimises `Σᵢ wᵢ (yᵢ − Σⱼ xⱼᵢ βⱼ)²` within half-spaces.
///
/// # Arguments
/// * `columns`, `y`, `weights` - as in [`solve`]
///
/// # Returns
/// The coefficients, and the derivative of the minimum with respect to the `least` of each limit; `None` if columns
/// are dependent or the limits contradict each other.
///
/// # Source
/// As for [`solve_within`].
pub(crate) fn solve_beyond(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
    limits: &[Limit],
) -> Option<(Vec<f64>, Vec<f64>)> {
    let factorised = factorised(columns, y, weights).ok()?;
    let free = &factorised.projection;
    // Limits with slopes of 0 do not depend on the coefficients and are skipped.
    let told = limits.iter().enumerate().filter_map(|(k, limit)| {
        let (a, length) = direction(&factorised, &limit.slopes)?;
        let side = limit.least / length - dot(&a, free);
        Some((k, a, length, side))
    });
    let told: Vec<(usize, Vec<f64>, f64, f64)> = told.collect();
    let farthest = told.iter().map(|(.., side)| side.abs());
    let scale = farthest.fold(norm(free), f64::max).max(f64::MIN_POSITIVE);
    let with_side = |(_, a, _, side): &(usize, Vec<f64>, f64, f64)| {
        a.iter().copied().chain([side / scale]).collect()
    };
    let mut target = vec![0.0; free.len()];
    target.push(1.0);
    let shares = non_negative(
        &told.iter().map(with_side).collect::<Vec<Vec<f64>>>(),
        &target,
    );
    let pairs = || shares.iter().zip(&told);
    let met: f64 = pairs().map(|(u, (.., side))| u * side / scale).sum();
    if 1.0 - met <= ROUNDING {
        return None;
    }
    let (mut moved, mut prices) = (free.clone(), vec![0.0; limits.len()]);
    for (u, (k, a, length, _)) in pairs() {
        let along = scale * u / (1.0 - met);
        moved.iter_mut().zip(a).for_each(|(z, a)| *z += along * a);
        prices[*k] = 2.0 * along / length;
    }
    Some((combine(&factorised.inverse, &moved), prices))
}

/// The limits that are active at the point nearest to the free fit, as unit vectors.
fn active<'a>(directions: &'a [Vec<f64>], free: &[f64]) -> Vec<&'a [f64]> {
    let length = norm(free).max(f64::MIN_POSITIVE);
    let with_side = |a: &Vec<f64>| {
        let side = -dot(a, free) / length;
        a.iter().copied().chain([side]).collect()
    };
    let columns: Vec<Vec<f64>> = directions.iter().map(with_side).collect();
    let mut target = vec![0.0; free.len()];
    target.push(1.0);
    let shares = non_negative(&columns, &target);
    let pairs = shares.iter().zip(directions);
    let held = pairs.filter(|(share, _)| **share > 0.0);
    held.map(|(_, a)| a.as_slice()).collect()
}

/// The fit restricted to the directions orthogonal to all of `active`.
fn reduced(factorised: &Factorised, active: &[&[f64]], weights: &[f64]) -> Constrained {
    let Factorised {
        inverse,
        projection,
        rest,
        ..
    } = factorised;
    let n = projection.len();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(n);
    for a in active {
        extend(&mut basis, a.to_vec());
    }
    let n_held = basis.len();
    for j in 0..n {
        let mut unit = vec![0.0; n];
        unit[j] = 1.0;
        extend(&mut basis, unit);
    }
    let free = &basis[n_held..];
    let mut kept = vec![0.0; n];
    for direction in free {
        let along = dot(direction, projection);
        kept.iter_mut()
            .zip(direction)
            .for_each(|(k, d)| *k += along * d);
    }
    let lost: Vec<f64> = projection.iter().zip(&kept).map(|(p, k)| p - k).collect();
    let at = |vector: &[f64], i: usize| -> f64 {
        let pairs = factorised.columns().zip(vector);
        pairs.map(|(q, v)| q[i] * v).sum()
    };
    let points = || weights.iter().enumerate();
    let square = |x: f64| x * x;
    let leverages = points().map(|(i, _)| free.iter().map(|d| square(at(d, i))).sum());
    let residuals = points().map(|(i, w)| (rest[i] + at(&lost, i)) / w.sqrt());
    // Directions of the coefficients: their outer products add up to the covariance.
    let steps: Vec<Vec<f64>> = free.iter().map(|d| combine(inverse, d)).collect();
    let covariance = |i: usize| {
        let element = |j: usize| steps.iter().map(|s| s[i] * s[j]).sum();
        (0..n).map(element).collect()
    };
    let solution = LeastSquares {
        coefficients: combine(inverse, &kept),
        unscaled_covariance: (0..n).map(covariance).collect(),
        leverages: leverages.collect(),
        residuals: residuals.collect(),
    };
    Constrained { solution, n_held }
}

/// Appends the normalized component of a vector that is orthogonal to the others, if there is one.
fn extend(basis: &mut Vec<Vec<f64>>, mut vector: Vec<f64>) {
    for _ in 0..2 {
        for other in basis.iter() {
            remove(other, &mut vector);
        }
    }
    let length = norm(&vector);
    if length > DEPENDENT {
        vector.iter_mut().for_each(|x| *x /= length);
        basis.push(vector);
    }
}

/// Minimises `|Σⱼ uⱼ columnⱼ − target|` over `u ≥ 0`.
///
/// # Returns
/// `u`, shape `[n_columns]`; those that are not 0 are independent columns.
///
/// # Source
/// C.L. Lawson, R.J. Hanson, *Solving Least Squares Problems* (1974), section 23.3 (recalled, not looked
/// up).
fn non_negative(columns: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; columns.len()];
    let mut passive: Vec<usize> = Vec::new();
    let mut barred = vec![false; columns.len()];
    let ones = vec![1.0; target.len()];
    for _ in 0..3 * columns.len() + 10 {
        let mut rest = target.to_vec();
        for &j in &passive {
            let pairs = rest.iter_mut().zip(&columns[j]);
            pairs.for_each(|(rest, x)| *rest -= values[j] * x);
        }
        let gain = |j: &usize| dot(&columns[*j], &rest) / norm(&columns[*j]);
        let idle = (0..columns.len()).filter(|j| !barred[*j] && !passive.contains(j));
        let best = idle.max_by(|a, b| gain(a).total_cmp(&gain(b)));
        let Some(best) = best.filter(|j| gain(j) > ROUNDING) else {
            break;
        };
        passive.push(best);
        loop {
            let chosen: Vec<Vec<f64>> = passive.iter().map(|&j| columns[j].clone()).collect();
            let Ok(solution) = solve(&chosen, target, &ones) else {
                // It is a combination of the others.
                passive.retain(|&j| j != best);
                barred[best] = true;
                break;
            };
            let wanted = solution.coefficients;
            if wanted.iter().all(|value| *value > 0.0) {
                values.fill(0.0);
                passive
                    .iter()
                    .zip(&wanted)
                    .for_each(|(&j, &w)| values[j] = w);
                if passive.contains(&best) {
                    barred.fill(false);
                }
                break;
            }
            // Move towards it until the first coefficient reaches 0; that one becomes active.
            let pairs = passive.iter().zip(&wanted);
            let shares = pairs
                .filter(|(_, w)| **w <= 0.0)
                .map(|(&j, w)| values[j] / (values[j] - w));
            let share = shares.fold(1.0, f64::min);
            for (&j, w) in passive.iter().zip(&wanted) {
                values[j] += share * (w - values[j]);
            }
            let n_passive = passive.len();
            passive.retain(|&j| values[j] > ROUNDING);
            (0..values.len())
                .filter(|j| !passive.contains(j))
                .for_each(|j| values[j] = 0.0);
            barred[best] |= !passive.contains(&best);
            if passive.len() == n_passive || passive.is_empty() {
                break;
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit(columns: &[Vec<f64>], y: &[f64], limits: &[Vec<f64>]) -> Constrained {
        solve_within(columns, y, &vec![1.0; y.len()], limits).unwrap()
    }

    #[test]
    fn a_limit_that_does_not_bind_changes_nothing() {
        let columns = [vec![1.0; 4], vec![1.0, 2.0, 3.0, 5.0]];
        let y = [3.0, 5.5, 7.0, 10.5];
        let free = solve(&columns, &y, &[1.0; 4]).unwrap();
        let held = fit(&columns, &y, &[vec![0.0, 1.0]]);
        assert_eq!(held.n_held, 0);
        for j in 0..2 {
            let (a, b) = (held.solution.coefficients[j], free.coefficients[j]);
            assert!((a - b).abs() < 1e-12 * b.abs());
            let (a, b) = (held.solution.residuals[j], free.residuals[j]);
            assert!((a - b).abs() < 1e-12);
        }
    }

    /// A falling line that must not fall is the mean, with the leverage and the covariance of a mean.
    #[test]
    fn a_line_that_must_not_fall_is_level() {
        let columns = [vec![1.0; 4], vec![1.0, 2.0, 3.0, 6.0]];
        let held = fit(&columns, &[8.0, 6.0, 5.0, 1.0], &[vec![0.0, 1.0]]);
        assert_eq!(held.n_held, 1);
        let solution = held.solution;
        assert!((solution.coefficients[0] - 5.0).abs() < 1e-12);
        assert!(solution.coefficients[1].abs() < 1e-12);
        assert!(solution.leverages.iter().all(|h| (h - 0.25).abs() < 1e-12));
        assert!((solution.unscaled_covariance[0][0] - 0.25).abs() < 1e-12);
        assert!(solution.unscaled_covariance[1][1].abs() < 1e-24);
        assert!((solution.residuals[0] - 3.0).abs() < 1e-12);
    }

    /// The nearest point to (3, 1) with x + y ≥ 6 is (4, 2), a root of two away from it.
    #[test]
    fn half_spaces_need_not_begin_at_zero() {
        let columns = [vec![1.0, 0.0], vec![0.0, 1.0]];
        let limit = |slopes: [f64; 2], least| Limit {
            slopes: slopes.to_vec(),
            least,
        };
        let nearest = |limits: &[Limit]| solve_beyond(&columns, &[3.0, 1.0], &[1.0; 2], limits);
        let (found, prices) = nearest(&[limit([1.0, 1.0], 6.0), limit([1.0, 0.0], 2.0)]).unwrap();
        assert!((found[0] - 4.0).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12);
        // (least − 4)² / 2 has the slope 2 there.
        assert!(
            (prices[0] - 2.0).abs() < 1e-12 && prices[1] == 0.0,
            "{prices:?}"
        );
        assert_eq!(nearest(&[limit([1.0, 0.0], 2.0)]).unwrap().0, [3.0, 1.0]);
        let contradiction = [limit([1.0, 0.0], 5.0), limit([-1.0, 0.0], -4.0)];
        assert_eq!(nearest(&contradiction), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The conditions of Karush, Kuhn and Tucker, which only the minimum meets: no limit is broken, and
        /// the slope of the sum of squares is a sum of limits met exactly, none of them negative.
        #[test]
        fn the_minimum_is_found(
            y in prop::array::uniform8(-1.0..3.0_f64),
            weights in prop::array::uniform8(0.2..5.0_f64),
        ) {
            let x: Vec<f64> = (0..8).map(|i| f64::from(i) * 0.5 + 0.1).collect();
            let power = |k: i32| x.iter().map(|x| x.powi(k)).collect::<Vec<f64>>();
            let columns: Vec<Vec<f64>> = (0..4).map(power).collect();
            let row = |i: usize| columns.iter().map(|c| c[i]).collect::<Vec<f64>>();
            let mut limits: Vec<Vec<f64>> = (0..8).map(row).collect();
            for i in 1..8 {
                limits.push(row(i).iter().zip(row(i - 1)).map(|(a, b)| a - b).collect());
            }
            let held = solve_within(&columns, &y, &weights, &limits).unwrap();
            let beta = &held.solution.coefficients;
            let sides: Vec<f64> = limits.iter().map(|g| dot(g, beta)).collect();
            prop_assert!(sides.iter().all(|side| *side > -1e-8), "{sides:?}");
            let slope = |j: usize| -> f64 {
                (0..8).map(|i| -weights[i] * held.solution.residuals[i] * columns[j][i]).sum()
            };
            let slope: Vec<f64> = (0..4).map(slope).collect();
            let met: Vec<Vec<f64>> = limits.iter().zip(&sides).filter(|(_, s)| **s < 1e-7).map(|(g, _)| g.clone()).collect();
            let shares = non_negative(&met, &slope);
            for j in 0..4 {
                let sum: f64 = met.iter().zip(&shares).map(|(g, u)| g[j] * u).sum();
                prop_assert!((sum - slope[j]).abs() < 1e-6 * (1.0 + norm(&slope)), "{sum} {}", slope[j]);
            }
        }
    }
}
