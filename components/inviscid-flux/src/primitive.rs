//! Conserved states to primitive ones.

use hydro_ports::{NVAR, Shape};
use thiserror::Error;

/// A cell that holds no gas state.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "cannot use state of cell \"({i}, {j})\": (rho, rho u, rho v, E, rho z) = {state:?}, \
     expected finite values, positive density and pressure"
)]
pub struct StateError {
    /// Column of the cell in the array, ghost cells included.
    pub i: usize,
    /// Row of the cell in the array, ghost cells included.
    pub j: usize,
    /// The conserved state.
    pub state: [f64; NVAR],
}

/// Turns the conserved states of a whole patch, ghost cells included, into primitive ones.
///
/// # Arguments
/// * `gamma` - ratio of specific heats, > 1
/// * `u` - conserved states `(rho, rho u, rho v, E, rho z)`, shape `[NVAR][ny + 2g][nx + 2g]`
/// * `w` - output `(rho, u, v, p, z)`, same shape
///
/// # Errors
/// [`StateError`] for the first cell, row by row, whose density or pressure is not positive or
/// whose values are not finite; `w` is then not to be used.
///
/// # Panics
/// If an array is shorter than `shape.len()`.
///
/// # Source
/// Case study, section 1.
pub fn to_primitive(shape: Shape, gamma: f64, u: &[f64], w: &mut [f64]) -> Result<(), StateError> {
    let plane = shape.plane();
    let conserved: [&[f64]; NVAR] = std::array::from_fn(|v| &u[v * plane..][..plane]);
    let (rho, rest) = w[..NVAR * plane].split_at_mut(plane);
    let (vel_x, rest) = rest.split_at_mut(plane);
    let (vel_y, rest) = rest.split_at_mut(plane);
    let (p, z) = rest.split_at_mut(plane);
    let mut all_physical = true;
    for k in 0..plane {
        let w = primitive(gamma, conserved.map(|values| values[k]));
        all_physical &= is_physical(&w);
        [rho[k], vel_x[k], vel_y[k], p[k], z[k]] = w;
    }
    if all_physical {
        return Ok(());
    }
    let state_of = |k| conserved.map(|values| values[k]);
    let bad = (0..plane).find(|&k| !is_physical(&primitive(gamma, state_of(k))));
    let k = bad.unwrap_or_default();
    Err(StateError {
        i: k % shape.row(),
        j: k / shape.row(),
        state: state_of(k),
    })
}

#[inline(always)]
fn primitive(gamma: f64, [rho, mx, my, energy, mz]: [f64; NVAR]) -> [f64; NVAR] {
    let inverse = 1.0 / rho;
    let (u, v) = (mx * inverse, my * inverse);
    let p = (gamma - 1.0) * (energy - 0.5 * (mx * u + my * v));
    [rho, u, v, p, mz * inverse]
}

/// Positive density and pressure, no value infinite or NaN; without branches.
#[inline(always)]
fn is_physical(&[rho, u, v, p, z]: &[f64; NVAR]) -> bool {
    // 0 times a finite value is 0; times an infinite one or NaN, it is NaN.
    (rho > 0.0) & (p > 0.0) & (0.0 * (rho + p) + 0.0 * (u + v) + 0.0 * z == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        nx: 3,
        ny: 2,
        ghost: 2,
    };
    const GAMMA: f64 = 1.4;

    fn patch(state: [f64; NVAR]) -> Vec<f64> {
        (0..SHAPE.len()).map(|k| state[k / SHAPE.plane()]).collect()
    }

    #[test]
    fn every_cell_is_turned() {
        let u = patch([2.0, 1.0, -3.0, 7.5, 0.5]);
        let mut w = vec![f64::NAN; SHAPE.len()];
        assert_eq!(to_primitive(SHAPE, GAMMA, &u, &mut w), Ok(()));
        for (found, expected) in w.iter().zip(patch([2.0, 0.5, -1.5, 2.0, 0.25])) {
            assert!(
                (found - expected).abs() < 1e-15,
                "{found}, expected {expected}"
            );
        }
    }

    #[test]
    fn a_bad_cell_is_named() {
        for (variable, value) in [
            (0, 0.0),
            (0, f64::NAN),
            (1, f64::INFINITY),
            (3, 1.0),
            (4, f64::NAN),
        ] {
            let mut u = patch([2.0, 1.0, -3.0, 7.5, 0.5]);
            u[variable * SHAPE.plane() + 3 * SHAPE.row() + 6] = value;
            let mut w = vec![0.0; SHAPE.len()];
            let error = to_primitive(SHAPE, GAMMA, &u, &mut w).expect_err("a bad cell");
            assert_eq!((error.i, error.j), (6, 3));
            assert_eq!(error.state[variable].to_bits(), value.to_bits());
        }
        let error = StateError {
            i: 6,
            j: 3,
            state: [0.0; NVAR],
        };
        assert!(
            error
                .to_string()
                .starts_with("cannot use state of cell \"(6, 3)\": (rho")
        );
    }
}
