//! Differences of fluxes.

use hydro_ports::{Axis, NVAR, Shape};

/// Subtracts the divergence of one direction's fluxes: `rate -= (F[i+1/2] - F[i-1/2]) / h`.
///
/// # Arguments
/// * `spacing` - cell size `h` along `axis`, > 0
/// * `flux` - fluxes across `axis`, shape `[NVAR][ny + 2g][nx + 2g]`, a face at the index of its
///   lower cell
/// * `rate` - rate of change of the conserved states, same shape; only the interior is changed
///
/// # Panics
/// If an array is shorter than `shape.len()`, or the patch has no ghost cell.
///
/// # Source
/// Case study, section 4.5: the unsplit `L = -dF/dx - dG/dy`. Both directions walk rows here.
pub fn subtract_divergence(axis: Axis, shape: Shape, spacing: f64, flux: &[f64], rate: &mut [f64]) {
    assert!(
        shape.ghost > 0,
        "cannot difference a patch without ghost cells"
    );
    let Shape { nx, ny, ghost } = shape;
    let to_lower_face = match axis {
        Axis::X => 1,
        Axis::Y => shape.row(),
    };
    for variable in (0..NVAR).map(|v| v * shape.plane()) {
        for row in (ghost..ghost + ny).map(|j| variable + j * shape.row() + ghost) {
            let (upper, lower) = (&flux[row..][..nx], &flux[row - to_lower_face..][..nx]);
            for ((rate, upper), lower) in rate[row..][..nx].iter_mut().zip(upper).zip(lower) {
                *rate -= (upper - lower) / spacing;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        nx: 4,
        ny: 3,
        ghost: 2,
    };

    #[test]
    fn linear_fluxes_have_a_constant_divergence() {
        let (row, plane) = (SHAPE.row(), SHAPE.plane());
        let (dx, dy) = (0.5, 0.25);
        let index = |k: usize| (k / plane, k % row, k % plane / row);
        let along_x: Vec<f64> = (0..SHAPE.len())
            .map(|k| (index(k).0 * index(k).1) as f64)
            .collect();
        let along_y: Vec<f64> = (0..SHAPE.len()).map(|k| index(k).2 as f64).collect();
        let mut rate = vec![7.0; SHAPE.len()];
        subtract_divergence(Axis::X, SHAPE, dx, &along_x, &mut rate);
        subtract_divergence(Axis::Y, SHAPE, dy, &along_y, &mut rate);
        for (k, rate) in rate.into_iter().enumerate() {
            let (variable, i, j) = index(k);
            let interior = (2..6).contains(&i) && (2..5).contains(&j);
            let expected = if interior {
                7.0 - 2.0 * variable as f64 - 4.0
            } else {
                7.0
            };
            assert_eq!(rate, expected);
        }
    }
}
