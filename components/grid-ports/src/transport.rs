//! The kernels of particle transport.

use cca_ports::{PortError, RSlice, RSliceMut, StableAbi, port};

/// A direction of flight and its part of the unit sphere.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Direction {
    /// Cosines of the angles with the three axes, absolute values, each > 0.
    pub cosines: [f64; 3],
    /// Weight; the weights of all directions add up to 1.
    pub weight: f64,
}

/// A box of cubic cells that a sweep passes through.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Block {
    /// Cells along x.
    pub nx: usize,
    /// Cells along y.
    pub ny: usize,
    /// Cells along z.
    pub nz: usize,
    /// Bit 0, 1, 2 is set where the sweep goes towards lower x, y, z.
    pub octant: u32,
    /// Side of a cell times the total cross section.
    pub thickness: f64,
}

/// Discrete ordinates with diamond differences on a block.
#[port(name = "grid.Transport", version = "1.0")]
pub trait TransportPort {
    /// Sweeps a block along some directions of an octant.
    ///
    /// # Arguments
    /// * `directions` - shape `[n_directions]`
    /// * `source` - particles born, over the total cross section, shape `[nz][ny][nx]`
    /// * `flux` - the scalar flux, to which the directions' parts are added, same shape
    /// * `x_faces` - flux that enters through the faces across x, shape `[n_directions][nz][ny]`; receives the
    ///   outgoing flux
    /// * `y_faces` - across y, shape `[n_directions][nz][nx]`
    /// * `z_faces` - across z, shape `[n_directions][ny][nx]`
    ///
    /// # Errors
    /// Arrays of other shapes.
    #[perf(work = source.len() * directions.len(), units(work = "1"))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of one sweep")]
    fn sweep(
        &self,
        block: Block,
        directions: RSlice<'_, Direction>,
        source: RSlice<'_, f64>,
        flux: RSliceMut<'_, f64>,
        x_faces: RSliceMut<'_, f64>,
        y_faces: RSliceMut<'_, f64>,
        z_faces: RSliceMut<'_, f64>,
    ) -> Result<(), PortError>;

    /// The sum of some values: particles born, or removed, in units of the source over the total cross section times a
    /// cell's volume.
    ///
    /// # Errors
    /// None of its own.
    #[perf(cells = values.len(), units(cells = "1"))]
    fn total(&self, values: RSlice<'_, f64>) -> Result<f64, PortError>;

    /// The source of the next iteration, `fixed + ratio flux`; the flux is set to 0.
    ///
    /// # Arguments
    /// * `ratio` - of the scattering to the total cross section, 0 to 1
    /// * `fixed`, `flux`, `source` - of one length
    ///
    /// # Returns
    /// The largest change of the source.
    ///
    /// # Errors
    /// Arrays of different lengths.
    #[perf(cells = flux.len(), units(cells = "1"))]
    fn scatter(
        &self,
        ratio: f64,
        fixed: f64,
        flux: RSliceMut<'_, f64>,
        source: RSliceMut<'_, f64>,
    ) -> Result<f64, PortError>;
}
