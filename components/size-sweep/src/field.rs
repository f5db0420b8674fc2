//! Contents of the arrays: a flow with a shock, smooth parts, and differences from cell to cell.

use hydro_ports::{GAMMA, NVAR, Shape, rankine_hugoniot};

use crate::Random;

/// Mach number of the shock in the middle of each patch, as in the case study.
const MACH: f64 = 1.5;

/// Fills an array with primitive states (rho, u, v, p, z), all cells, ghost cells too.
///
/// Left of the diagonal the state behind a shock, right of it gas at rest, both with waves and a tenth of randomness: the
/// cost of an exact Riemann solver depends on such data.
///
/// # Arguments
/// * `values` - shape `[NVAR][ny + 2g][nx + 2g]`
pub fn fill(shape: Shape, values: &mut [f64], random: &mut Random) {
    let behind = rankine_hugoniot(MACH, GAMMA, 1.0, 1.0);
    let (row, plane) = (shape.row(), shape.plane());
    for cell in 0..plane {
        let (i, j) = (
            (cell % row) as f64 / row as f64,
            (cell / row) as f64 / shape.rows() as f64,
        );
        let wave = 1.0 + 0.1 * (6.0 * (i - 0.5 * j)).sin() + 0.1 * random.unit();
        let state = match i + j < 1.0 {
            true => [behind.rho, behind.u, 0.1, behind.p, 0.0],
            false => [1.0, 0.0, -0.1, 1.0, 1.0],
        };
        for (variable, value) in state.into_iter().enumerate().take(NVAR) {
            values[variable * plane + cell] = value * wave;
        }
    }
}
