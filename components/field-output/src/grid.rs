//! The grid that is drawn or written, and errors of output.

use std::error::Error;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A uniform grid of cells; values on it have shape `[ny][nx]`, `i` fastest, without ghost cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// Lower left corner, x.
    pub x0: f64,
    /// Lower left corner, y.
    pub y0: f64,
    /// Cell size along x, > 0.
    pub dx: f64,
    /// Cell size along y, > 0.
    pub dy: f64,
}

impl Grid {
    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.nx * self.ny
    }

    /// Upper right corner.
    pub(crate) fn end(&self) -> (f64, f64) {
        (
            self.x0 + self.nx as f64 * self.dx,
            self.y0 + self.ny as f64 * self.dy,
        )
    }

    /// Checks that the grid has cells and `values` as many.
    pub(crate) fn check(&self, name: &'static str, values: &[f64]) -> Result<(), OutputError> {
        let (found, expected) = (values.len(), self.cells());
        if expected == 0 {
            return Err(OutputError::EmptyGrid {
                nx: self.nx,
                ny: self.ny,
            });
        }
        if found == expected {
            return Ok(());
        }
        Err(OutputError::Length {
            name,
            found,
            expected,
        })
    }
}

/// A patch as a rectangle in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchOutline {
    /// Lower left corner `(x, y)`.
    pub low: (f64, f64),
    /// Upper right corner `(x, y)`.
    pub high: (f64, f64),
    /// Refinement level, 0 the coarsest; finer patches get thinner lines.
    pub level: usize,
}

/// A file that cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The grid has no cell.
    #[error("cannot write field \"{nx} x {ny}\": no cells, expected at least one")]
    EmptyGrid {
        /// Columns.
        nx: usize,
        /// Rows.
        ny: usize,
    },
    /// A variable does not have a value for each cell.
    #[error("cannot write field \"{name}\": {found} values, expected {expected}")]
    Length {
        /// Name of the variable.
        name: &'static str,
        /// Number of its values.
        found: usize,
        /// Number of cells.
        expected: usize,
    },
    /// The file cannot be written or the picture not drawn.
    #[error("cannot write file \"{}\": failed, expected a writable place", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl OutputError {
    pub(crate) fn file(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::File {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}
