//! The kernel of heat conduction.

use cca_ports::{PortError, RSlice, RSliceMut, port};

/// Explicit steps of `du/dt = div(k(u) grad u)` on a block of square cells.
#[port(name = "grid.Heat", version = "1.0")]
pub trait HeatPort {
    /// The temperatures at the begin: a hot spot in the lower left of the grid.
    ///
    /// # Arguments
    /// * `columns` - cells of a row, the two ghost cells included, at least 3
    /// * `first_x`, `first_y` - where the block begins in the whole grid, its ghost cells not counted
    /// * `nx`, `ny` - cells of the whole grid along x and y, at least 1
    /// * `to` - receives the temperatures, shape `[rows][columns]`, those of ghost cells as if the grid
    ///   continued
    ///
    /// # Returns
    /// The largest of the temperatures.
    ///
    /// # Errors
    /// An array that is not a grid with this number of columns.
    #[perf(cells = to.len(), units(cells = "1"))]
    fn hot_spot(
        &self,
        columns: usize,
        first_x: usize,
        first_y: usize,
        nx: usize,
        ny: usize,
        to: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError>;

    /// One step.
    ///
    /// # Arguments
    /// * `columns` - cells of a row, the two ghost cells included, at least 3
    /// * `rate` - time step over the square of a cell's side, so that `rate k` has no unit
    /// * `from` - temperatures, shape `[rows][columns]`, each > 0, one ghost cell on each side filled
    /// * `to` - receives the temperatures of all but the ghost cells, same shape
    ///
    /// # Returns
    /// The largest temperature of the new ones.
    ///
    /// # Errors
    /// Arrays that are not grids with this number of columns; a temperature that is not above 0.
    #[perf(cells = from.len(), units(cells = "1"))]
    fn step(
        &self,
        columns: usize,
        rate: f64,
        from: RSlice<'_, f64>,
        to: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError>;
}
