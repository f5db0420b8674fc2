//! Cells in which the solution is steep.

use hydro_ports::{GAMMA, NVAR, Shape, primitive};

/// Differences between neighbours above which a cell is marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Of density and of pressure, relative to the cell's own, > 0.
    pub relative: f64,
    /// Of the tracer's mass fraction, > 0.
    pub tracer: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            relative: 0.05,
            tracer: 0.02,
        }
    }
}

/// Marks the interior cells that differ from one of their four neighbours by more than a threshold.
///
/// # Arguments
/// * `u` - conserved states, shape `[NVAR][ny + 2g][nx + 2g]`, one ghost cell filled on each side
///
/// # Returns
/// Marks of the interior cells, shape `[ny][nx]`. A cell that is no number is marked.
///
/// # Panics
/// If `u` is shorter than `shape.len()`, or the patch has no ghost cell.
///
/// # Source
/// Case study, section 5: `max(|d rho|/rho, |dp|/p) > 0.05` or `|dz| > 0.02` over the neighbours.
pub fn flags(shape: Shape, thresholds: Thresholds, u: &[f64]) -> Vec<bool> {
    assert!(
        shape.ghost > 0,
        "cannot compare a patch without ghost cells"
    );
    let (plane, row) = (shape.plane(), shape.row());
    let at =
        |k: usize| -> [f64; NVAR] { primitive(GAMMA, std::array::from_fn(|v| u[v * plane + k])) };
    let mut flags = Vec::with_capacity(shape.nx * shape.ny);
    for first in shape.interior_rows().take(shape.ny) {
        for k in first..first + shape.nx {
            let [rho, _, _, p, z] = at(k);
            let is_smooth = [k - 1, k + 1, k - row, k + row].into_iter().all(|near| {
                let [near_rho, _, _, near_p, near_z] = at(near);
                (near_rho - rho).abs() <= thresholds.relative * rho
                    && (near_p - p).abs() <= thresholds.relative * p
                    && (near_z - z).abs() <= thresholds.tracer
            });
            flags.push(!is_smooth);
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use hydro_ports::conserved;

    use super::*;

    const SHAPE: Shape = Shape {
        nx: 4,
        ny: 3,
        ghost: 2,
    };

    /// Uniform gas except for the interior cell (1, 1).
    fn marked(state: [f64; NVAR]) -> Vec<bool> {
        let (plane, row) = (SHAPE.plane(), SHAPE.row());
        let gas = |k: usize| {
            let is_odd = k == 3 * row + 3;
            conserved(
                GAMMA,
                if is_odd {
                    state
                } else {
                    [1.0, 0.3, 0.0, 2.0, 0.5]
                },
            )
        };
        let u: Vec<f64> = (0..SHAPE.len())
            .map(|k| gas(k % plane)[k / plane])
            .collect();
        flags(SHAPE, Thresholds::default(), &u)
    }

    #[test]
    fn a_jump_marks_the_cell_and_its_neighbours() {
        let cross = [
            false, true, false, false, //
            true, true, true, false, //
            false, true, false, false,
        ];
        for jump in [
            [1.06, 0.3, 0.0, 2.0, 0.5],
            [1.0, 0.3, 0.0, 1.85, 0.5],
            [1.0, 0.3, 0.0, 2.0, 0.53],
            [1.0, 0.3, 0.0, f64::NAN, 0.5],
        ] {
            assert_eq!(marked(jump), cross, "{jump:?}");
        }
    }

    #[test]
    fn small_differences_and_shear_mark_nothing() {
        for state in [[1.04, 0.3, 0.0, 1.95, 0.51], [1.0, 9.0, -4.0, 2.0, 0.5]] {
            assert!(marked(state).iter().all(|flag| !flag), "{state:?}");
        }
    }
}
