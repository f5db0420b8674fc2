//! The flux kernel over a patch.

use hydro_ports::{Axis, FaceError, NVAR, Shape, map_faces};

use crate::riemann::{Riemann, RiemannError};

/// Computes Godunov's flux at every face across `axis`.
///
/// # Arguments
/// * `gamma` - ratio of specific heats, > 1
/// * `left`, `right` - primitive states `(rho, u, v, p, z)` on the two sides of each face, shape
///   `[NVAR][ny + 2g][nx + 2g]`, a face at the index of its lower cell
/// * `flux` - output of the same shape: mass, x momentum, y momentum, energy, tracer; only the
///   faces of the interior are written
///
/// # Returns
/// The number of Newton iterations over all faces: the data-dependent part of the cost.
///
/// # Errors
/// The first face whose Riemann problem has no solution, with its two states in the face's frame.
///
/// # Panics
/// If an array is shorter than `shape.len()`, or the patch has no ghost cell.
///
/// # Source
/// Case study, section 4.2.
pub fn godunov_flux(
    axis: Axis,
    shape: Shape,
    gamma: f64,
    left: &[f64],
    right: &[f64],
    flux: &mut [f64],
) -> Result<u64, FaceError<RiemannError>> {
    let riemann = Riemann::new(gamma);
    let mut iterations = 0;
    map_faces(axis, shape, left, right, flux, |l, r| {
        let star = riemann.star(l, r)?;
        iterations += u64::from(star.iterations);
        Ok(physical_flux(gamma, &riemann.sample(l, r, &star, 0.0)))
    })?;
    Ok(iterations)
}

/// The flux of one state `(rho, u, v, p, z)` along `u`.
fn physical_flux(gamma: f64, &[rho, u, v, p, z]: &[f64; NVAR]) -> [f64; NVAR] {
    let mass = rho * u;
    let energy = p / (gamma - 1.0) + 0.5 * rho * (u * u + v * v);
    [mass, mass * u + p, mass * v, u * (energy + p), mass * z]
}
