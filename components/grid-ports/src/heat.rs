//! The kernel of heat conduction.

use cca_ports::{PortError, RSlice, RSliceMut, port};

/// Explicit steps of `du/dt = div(k(u) grad u)` on a block of square cells.
#[port(name = "grid.Heat", version = "1.0")]
pub trait HeatPort {
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
    /// Arrays that are no grid of so many columns; a temperature that is not above 0.
    #[perf(cells = from.len(), units(cells = "1"))]
    fn step(
        &self,
        columns: usize,
        rate: f64,
        from: RSlice<'_, f64>,
        to: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError>;
}
