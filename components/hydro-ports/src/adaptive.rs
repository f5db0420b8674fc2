//! The ports around an adaptive mesh: between the levels, where to refine, how to share among the
//! ranks.

use cca_ports::{PortError, RSlice, RVec, StableAbi, port};

use crate::{CellBox, Patch, States, StatesMut};

/// Values carried from one level to the next (the paper's ICC).
#[port(name = "hydro.InterLevel", version = "1.0")]
pub trait InterLevelPort {
    /// Interpolates coarse values to fine cells, so that the mean of the four children of a coarse cell is its value.
    ///
    /// # Arguments
    /// * `coarse_patch`, `coarse` - conserved variables, set in the coarse cells of `regions` and in their four neighbours
    /// * `fine_patch`, `fine` - receives the values of `regions`, ghost cells among them; other cells stay
    /// * `regions` - boxes of the fine level, even in place and size, in both arrays
    ///
    /// # Errors
    /// A region that is not even, or not in the arrays; shapes that differ from the patches'.
    #[perf(q = fine.len(), regions = regions.len(), units(q = "doubles"))]
    fn prolong(
        &self,
        coarse_patch: Patch,
        coarse: States<'_>,
        fine_patch: Patch,
        fine: StatesMut<'_>,
        regions: RSlice<'_, CellBox>,
    ) -> Result<(), PortError>;

    /// Gives each coarse cell of a region the mean of its four children.
    ///
    /// # Arguments
    /// * `fine_patch`, `fine` - conserved variables, set in the interior
    /// * `coarse_patch`, `coarse` - receives the means of `region`; other cells stay
    /// * `region` - a box of the coarse level, in both arrays
    ///
    /// # Errors
    /// A region that is not in the arrays; shapes that differ from the patches'.
    #[perf(q = fine.len(), units(q = "doubles"))]
    fn restrict(
        &self,
        fine_patch: Patch,
        fine: States<'_>,
        coarse_patch: Patch,
        coarse: StatesMut<'_>,
        region: CellBox,
    ) -> Result<(), PortError>;
}

/// Where the mesh is too coarse (the case study's ErrorEstimator), and the boxes to refine.
#[port(name = "hydro.Regridder", version = "1.0")]
pub trait RegridderPort {
    /// Marks the cells of a patch that need a finer mesh.
    ///
    /// # Arguments
    /// * `state` - conserved variables, one ghost cell filled on each side
    ///
    /// # Returns
    /// For each interior cell, row by row, whether it is marked; shape `[ny][nx]`.
    ///
    /// # Errors
    /// Shapes that differ.
    #[perf(q = state.len(), units(q = "doubles"))]
    fn flag(&self, patch: Patch, state: States<'_>) -> Result<RVec<bool>, PortError>;

    /// Covers marked cells, and some around them, with boxes. The same boxes on every rank for the same arguments.
    ///
    /// # Arguments
    /// * `level` - the level whose cells are marked
    /// * `nx`, `ny` - cells of the whole domain on that level
    /// * `flags` - whether a cell is marked, shape `[ny][nx]`
    /// * `required` - boxes that must be covered in any case
    ///
    /// # Returns
    /// Boxes inside the domain, in cells of `level`, without common cells.
    ///
    /// # Errors
    /// Parameters that do not go together; flags of another length.
    fn cluster(
        &self,
        level: u32,
        nx: usize,
        ny: usize,
        flags: RSlice<'_, bool>,
        required: RSlice<'_, CellBox>,
    ) -> Result<RVec<CellBox>, PortError>;
}

/// A box and the work that it makes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Load {
    /// The box, in cells of its level.
    pub cells: CellBox,
    /// The level.
    pub level: u32,
    /// Work of a step of the coarsest level: cells × 2^level (case study, section 5), >= 0.
    pub weight: f64,
}

/// Assigns boxes to ranks.
#[port(name = "hydro.LoadBalancer", version = "1.0")]
pub trait BalancerPort {
    /// Shares boxes among ranks. The same on every rank for the same arguments.
    ///
    /// # Arguments
    /// * `loads` - the boxes of all levels
    /// * `ranks` - number of ranks, >= 1; if there are more ranks than boxes, some get none
    ///
    /// # Returns
    /// The rank of each box.
    ///
    /// # Errors
    /// No rank; a weight that is no weight.
    fn assign(&self, loads: RSlice<'_, Load>, ranks: u32) -> Result<RVec<u32>, PortError>;
}
