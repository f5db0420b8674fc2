//! The largest rate at which a characteristic crosses a cell.

use hydro_ports::{NVAR, Shape};
use thiserror::Error;

/// A cell without a speed of sound.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "cannot take speed of cell \"({i}, {j})\": (rho, rho u, rho v, E, rho z) = {state:?}, \
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

/// The maximum of `(|u| + c)/dx + (|v| + c)/dy` over the interior; a stable step is CFL over it.
///
/// # Arguments
/// * `gamma` - ratio of specific heats, > 1
/// * `dx`, `dy` - cell sizes, > 0
/// * `u` - conserved states `(rho, rho u, rho v, E, rho z)`, shape `[NVAR][ny + 2g][nx + 2g]`
///
/// # Returns
/// The maximum, per unit of time; 0 for a patch without cells.
///
/// # Errors
/// [`StateError`] for the first cell whose rate is not finite.
///
/// # Panics
/// If `u` is shorter than `shape.len()`.
///
/// # Source
/// Case study, section 4.5.
pub fn max_rate(shape: Shape, gamma: f64, dx: f64, dy: f64, u: &[f64]) -> Result<f64, StateError> {
    let Shape { nx, ny, ghost } = shape;
    let mut max = 0.0;
    for j in ghost..ghost + ny {
        let row = j * shape.row() + ghost;
        let [rho, mx, my, energy] =
            std::array::from_fn(|variable| &u[variable * shape.plane() + row..][..nx]);
        for k in 0..nx {
            let rate = rate([rho[k], mx[k], my[k], energy[k]], gamma, dx, dy);
            if !rate.is_finite() {
                let state = std::array::from_fn(|v| u[v * shape.plane() + row + k]);
                return Err(StateError {
                    i: ghost + k,
                    j,
                    state,
                });
            }
            max = if rate > max { rate } else { max };
        }
    }
    Ok(max)
}

/// Rate of one cell; NaN or infinite if it has no speed of sound.
fn rate([rho, mx, my, energy]: [f64; 4], gamma: f64, dx: f64, dy: f64) -> f64 {
    let (u, v) = (mx / rho, my / rho);
    let p = (gamma - 1.0) * (energy - 0.5 * (mx * u + my * v));
    let c = if rho > 0.0 && p > 0.0 {
        (gamma * p / rho).sqrt()
    } else {
        f64::NAN
    };
    (u.abs() + c) / dx + (v.abs() + c) / dy
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        nx: 3,
        ny: 2,
        ghost: 2,
    };

    /// Gas at rest with c = sqrt(1.4), except for one cell.
    fn patch(i: usize, j: usize, state: [f64; NVAR]) -> Vec<f64> {
        let rest = [1.0, 0.0, 0.0, 2.5, 0.0];
        let mut u: Vec<f64> = (0..SHAPE.len()).map(|k| rest[k / SHAPE.plane()]).collect();
        for (variable, value) in state.into_iter().enumerate() {
            u[variable * SHAPE.plane() + j * SHAPE.row() + i] = value;
        }
        u
    }

    #[test]
    fn the_fastest_cell_counts() {
        let u = patch(3, 3, [2.0, -2.0, 4.0, 10.0, 0.0]);
        let c = (1.4f64 * 2.0 / 2.0).sqrt();
        let expected = (1.0 + c) / 0.5 + (2.0 + c) / 0.25;
        let found = max_rate(SHAPE, 1.4, 0.5, 0.25, &u).expect("a rate");
        assert!(
            (found - expected).abs() < 1e-13,
            "{found}, expected {expected}"
        );
    }

    #[test]
    fn ghost_cells_do_not_count() {
        let u = patch(1, 3, [1.0, 1e6, 0.0, 1e15, 0.0]);
        let found = max_rate(SHAPE, 1.4, 1.0, 1.0, &u).expect("a rate");
        assert_eq!(found, 2.0 * 1.4f64.sqrt());
    }

    #[test]
    fn a_bad_cell_is_named() {
        for state in [
            [-1.0, 0.0, 0.0, 2.5, 0.0],
            [1.0, 0.0, 0.0, -1.0, 0.0],
            [1.0, f64::NAN, 0.0, 1.0, 0.0],
        ] {
            let error = max_rate(SHAPE, 1.4, 1.0, 1.0, &patch(4, 2, state)).expect_err("bad");
            assert_eq!((error.i, error.j), (4, 2));
        }
    }
}
