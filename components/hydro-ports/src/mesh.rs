//! The port of a mesh: patches, their arrays, and operations between the steps.
//!
//! A mesh may be uniform (one level) or adaptive (several); its callers do not know which.

use std::fmt;

use cca_ports::{PerfValue, PortError, RSlice, RVec, StableAbi, port};

use crate::{CellBox, Shape};

/// Which of a patch's arrays.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi, PerfValue)]
pub enum ArrayName {
    /// The conserved variables.
    State = 0,
    /// The conserved variables of an intermediate stage of the integrator.
    Stage = 1,
}

/// The domain at the coarsest level.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Domain {
    /// Cells along x.
    pub nx: usize,
    /// Cells along y.
    pub ny: usize,
    /// Left edge.
    pub x_lower: f64,
    /// Right edge.
    pub x_upper: f64,
    /// Lower edge.
    pub y_lower: f64,
    /// Upper edge.
    pub y_upper: f64,
}

/// Which sides of a patch lie on the domain's boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, StableAbi)]
pub struct Sides {
    /// The side of smallest x.
    pub left: bool,
    /// The side of largest x.
    pub right: bool,
    /// The side of smallest y.
    pub bottom: bool,
    /// The side of largest y.
    pub top: bool,
}

/// A patch: a rectangle of cells with arrays of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]
pub struct Patch {
    /// Identifier, unique over levels and ranks until the next regrid.
    pub id: u64,
    /// Level, 0 the coarsest.
    pub level: u32,
    /// Cells of the patch.
    pub shape: Shape,
    /// Column of its first interior cell, in cells of its level from the domain's left edge.
    pub i0: usize,
    /// Row of its first interior cell, in cells of its level from the domain's lower edge.
    pub j0: usize,
    /// Left edge of its interior.
    pub x_lower: f64,
    /// Lower edge of its interior.
    pub y_lower: f64,
    /// Width of a cell.
    pub dx: f64,
    /// Height of a cell.
    pub dy: f64,
    /// The sides on the domain's boundary.
    pub boundary: Sides,
}

impl Patch {
    /// Its interior cells.
    pub fn cells(&self) -> CellBox {
        CellBox {
            i: self.i0 as i64,
            j: self.j0 as i64,
            nx: self.shape.nx as i64,
            ny: self.shape.ny as i64,
        }
    }

    /// The cells of its arrays: its interior and its ghost cells.
    pub fn array_cells(&self) -> CellBox {
        self.cells().grow(self.shape.ghost as i64)
    }

    /// Where a variable's plane has a cell of [`Patch::array_cells`], given by column and row of the level.
    ///
    /// # Panics
    /// In a debug build, if the cell is not in the arrays.
    #[inline(always)]
    pub fn offset(&self, i: i64, j: i64) -> usize {
        let ghost = self.shape.ghost as i64;
        let (column, row) = (i - self.i0 as i64 + ghost, j - self.j0 as i64 + ghost);
        debug_assert!(column >= 0 && row >= 0, "cell ({i}, {j}) of {self}");
        row as usize * self.shape.row() + column as usize
    }

    /// Centre of an interior cell.
    ///
    /// It is counted from the domain's edge, so that a cell has the same centre however the mesh is cut; bit for bit where
    /// that edge is 0.
    ///
    /// # Arguments
    /// * `i`, `j` - column and row of the cell, from 0, ghost cells not counted
    pub fn centre(&self, i: usize, j: usize) -> (f64, f64) {
        let centre = |lower: f64, first: usize, k: usize, width: f64| {
            let edge = lower - first as f64 * width;
            edge + ((first + k) as f64 + 0.5) * width
        };
        (
            centre(self.x_lower, self.i0, i, self.dx),
            centre(self.y_lower, self.j0, j, self.dy),
        )
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Patch {
            id, level, i0, j0, ..
        } = self;
        write!(
            f,
            "patch {id} of level {level}, first cell \"({i0}, {j0})\""
        )
    }
}

/// Messages of one rank in a collective operation of a mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, StableAbi)]
pub struct Traffic {
    /// Bytes sent and received; bytes of reductions over all ranks count once.
    pub bytes: u64,
    /// Messages sent and received; a reduction over all ranks is one.
    pub messages: u64,
    /// Other ranks that messages went to or came from.
    pub neighbours: u64,
}

/// Result of a regrid or a balance.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, StableAbi)]
pub struct Change {
    /// Whether patches changed, or moved to another rank.
    pub is_new: bool,
    /// Its messages.
    pub traffic: Traffic,
}

/// A mesh. The order of calls: `create`, then for each step of a level `begin_step`, (`fill_ghosts`, arrays taken and put,
/// `add_fluxes`) for each stage, `end_step`.
#[port(name = "hydro.Mesh", version = "3.0")]
pub trait MeshPort {
    /// Builds the mesh for its present parameters; the former mesh is dropped. Collective.
    ///
    /// # Errors
    /// Parameters that do not go together, such as more ranks than patches.
    fn create(&self) -> Result<(), PortError>;

    /// The domain.
    ///
    /// # Errors
    /// None of its own.
    fn domain(&self) -> Result<Domain, PortError>;

    /// Number of levels now.
    ///
    /// # Errors
    /// The mesh has not been created.
    fn levels(&self) -> Result<u32, PortError>;

    /// This rank's patches of a level.
    ///
    /// # Errors
    /// No such level.
    fn patches(&self, level: u32) -> Result<RVec<Patch>, PortError>;

    /// Takes an array out of the mesh, until it is put back. Moves a pointer; copies nothing.
    ///
    /// # Returns
    /// The array, of the patch's shape.
    ///
    /// # Errors
    /// No such patch on this rank; the array is taken already.
    fn take(&self, patch: u64, array: ArrayName) -> Result<RVec<f64>, PortError>;

    /// Puts an array back.
    ///
    /// # Errors
    /// No such patch; the array was not taken; another length.
    fn put(&self, patch: u64, array: ArrayName, data: RVec<f64>) -> Result<(), PortError>;

    /// A step of a level begins.
    ///
    /// # Errors
    /// No such level.
    fn begin_step(&self, level: u32, time: f64, dt: f64) -> Result<(), PortError>;

    /// Fills the ghost cells of a level's patches: from neighbours (messages), from the coarser level, from the boundary
    /// conditions. Collective.
    ///
    /// # Returns
    /// The messages of this rank.
    ///
    /// # Errors
    /// An array is taken; the communicator's; the boundary component's.
    #[perf(level = level, array = array, bytes: u64 = result.bytes, messages: u64 = result.messages,
           neighbours: u64 = result.neighbours, units(bytes = "bytes"))]
    fn fill_ghosts(&self, level: u32, array: ArrayName, time: f64) -> Result<Traffic, PortError>;

    /// Accounts for the fluxes that one stage moved through a patch's faces, weighted with the time they acted.
    ///
    /// # Errors
    /// No such patch.
    fn add_fluxes(
        &self,
        patch: u64,
        weight: f64,
        flux_x: RSlice<'_, f64>,
        flux_y: RSlice<'_, f64>,
    ) -> Result<(), PortError>;

    /// Called at the end of a step of a level; makes the levels above and below agree. Collective. Also called, from
    /// the finest level to the coarsest, when the levels were filled otherwise than by steps.
    ///
    /// # Errors
    /// No such level; the communicator's.
    #[perf(level = level, bytes: u64 = result.bytes, messages: u64 = result.messages, neighbours: u64 = result.neighbours,
           units(bytes = "bytes"))]
    fn end_step(&self, level: u32) -> Result<Traffic, PortError>;

    /// Adapts the mesh to the solution, if the mesh is adaptive. Collective.
    ///
    /// # Returns
    /// Whether patches changed, and the messages of this rank for it.
    ///
    /// # Errors
    /// The communicator's; the errors of the components it uses.
    #[perf(bytes: u64 = result.traffic.bytes, messages: u64 = result.traffic.messages,
           neighbours: u64 = result.traffic.neighbours, units(bytes = "bytes"))]
    fn regrid(&self, time: f64) -> Result<Change, PortError>;

    /// Shares the patches anew among the ranks, if the mesh supports it. Collective.
    ///
    /// # Returns
    /// Whether a patch moved to another rank, and the messages of this rank for it.
    ///
    /// # Errors
    /// The communicator's; the errors of the components it uses.
    #[perf(bytes: u64 = result.traffic.bytes, messages: u64 = result.traffic.messages,
           neighbours: u64 = result.traffic.neighbours, units(bytes = "bytes"))]
    fn balance(&self) -> Result<Change, PortError>;
}
