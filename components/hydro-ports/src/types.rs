//! The types that the case study's components pass one another: axes, patches, arrays of states.
//!
//! Layout of every array (case study, section 3): `NVAR × (ny + 2g) × (nx + 2g)` doubles, variable
//! slowest, `i` (x) fastest, ghost cells included.

/// Number of variables of a state.
pub const NVAR: usize = 5;

/// Ghost cells on each side of a patch.
pub const GHOST: usize = 2;

/// Sweep direction of a one-dimensional operation.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Along x: `i` is the inner index, sequential access.
    X = 0,
    /// Along y: `j` is the inner index of the walk, access with stride `nx + 2g`.
    Y = 1,
}

/// Extent of a patch array.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Interior cells along x.
    pub nx: usize,
    /// Interior cells along y.
    pub ny: usize,
    /// Ghost cells on each side.
    pub ghost: usize,
}

impl Shape {
    /// Cells of one row, ghost cells included: the stride between `j` and `j + 1`.
    pub fn row(&self) -> usize {
        self.nx + 2 * self.ghost
    }

    /// Rows, ghost cells included.
    pub fn rows(&self) -> usize {
        self.ny + 2 * self.ghost
    }

    /// Cells of one variable, ghost cells included: the stride between variables.
    pub fn plane(&self) -> usize {
        self.row() * self.rows()
    }

    /// Doubles of a whole array: `NVAR × plane`, the paper's array size Q.
    pub fn len(&self) -> usize {
        NVAR * self.plane()
    }

    /// Whether the array has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
