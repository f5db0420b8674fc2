//! The field as a table.

use std::path::Path;

use hydro_ports::NVAR;

use crate::{Grid, OutputError};

const HEADER: [&str; NVAR + 2] = ["x", "y", "rho", "u", "v", "p", "z"];

/// Writes a CSV file with one line a cell, row by row: centre and primitive state.
///
/// # Arguments
/// * `path` - the file, replaced if it exists
/// * `w` - rho, u, v, p, z, each of shape `[ny][nx]`; written with 17 significant digits, so that
///   reading gives the same numbers back
///
/// # Errors
/// [`OutputError`] if a variable does not fit the grid or the file cannot be written.
pub fn write_csv(path: &Path, grid: &Grid, w: [&[f64]; NVAR]) -> Result<(), OutputError> {
    for (name, values) in HEADER[2..].iter().zip(w) {
        grid.check(name, values)?;
    }
    write_lines(path, grid, w).map_err(|error| OutputError::file(path, error))
}

fn write_lines(path: &Path, grid: &Grid, w: [&[f64]; NVAR]) -> csv::Result<()> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(HEADER)?;
    for k in 0..grid.cells() {
        let (i, j) = (k % grid.nx, k / grid.nx);
        let x = grid.x0 + (i as f64 + 0.5) * grid.dx;
        let y = grid.y0 + (j as f64 + 0.5) * grid.dy;
        let values = [x, y].into_iter().chain(w.map(|values| values[k]));
        file.write_record(values.map(|value| format!("{value:.16e}")))?;
    }
    Ok(file.flush()?)
}
