//! The types that the case study's components pass one another: axes, patches, arrays of states.
//!
//! Layout of every array (case study, section 3): `NVAR × (ny + 2g) × (nx + 2g)` doubles, variable
//! slowest, `i` (x) fastest, ghost cells included.

use std::fmt;

use cca_ports::{PerfValue, Poison, PortError, RSlice, RSliceMut, StableAbi};

/// Number of variables of a state.
pub const NVAR: usize = 5;

/// Ghost cells on each side of a patch.
pub const GHOST: usize = 2;

/// Ratio of specific heats, one for both gases (case study, section 1, gas model A).
pub const GAMMA: f64 = 1.4;

/// Sweep direction of a one-dimensional operation.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi, PerfValue)]
pub enum Axis {
    /// Along x: `i` is the inner index, sequential access.
    X = 0,
    /// Along y: `j` is the inner index of the walk, access with stride `nx + 2g`.
    Y = 1,
}

/// Extent of a patch array.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
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

    /// Checks that an array that belongs to one of this shape has the same shape.
    ///
    /// # Errors
    /// It has another.
    pub fn check(&self, name: &str, found: Shape) -> Result<(), PortError> {
        if found == *self {
            return Ok(());
        }
        Err(PortError::failed(format_args!(
            "cannot use array \"{name}\": {found}, expected {self}"
        )))
    }

    /// Offsets into an array of the first interior cell of each row, of each variable in turn.
    pub fn interior_rows(self) -> impl Iterator<Item = usize> {
        let Shape { ny, ghost, .. } = self;
        let first =
            move |plane: usize| (ghost..ghost + ny).map(move |j| plane + j * self.row() + ghost);
        (0..NVAR).flat_map(move |variable| first(variable * self.plane()))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { nx, ny, ghost } = self;
        write!(f, "{nx} x {ny} cells with {ghost} ghost cells")
    }
}

/// An array of states, lent for reading.
///
/// The method defines which variables they are, and whether a value belongs to a cell or to the face above
/// it.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct States<'a> {
    shape: Shape,
    data: RSlice<'a, f64>,
}

/// An array of states, lent for writing.
#[repr(C)]
#[derive(Debug, StableAbi)]
pub struct StatesMut<'a> {
    shape: Shape,
    data: RSliceMut<'a, f64>,
}

impl<'a> States<'a> {
    /// An array of states over `data`, shape `[NVAR][ny + 2g][nx + 2g]`.
    ///
    /// # Errors
    /// `data` has another length than `shape`.
    pub fn new(shape: Shape, data: &'a [f64]) -> Result<Self, PortError> {
        check(shape, data.len())?;
        Ok(States {
            shape,
            data: RSlice::from_slice(data),
        })
    }

    /// Extent of the array.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of doubles: the paper's array size Q.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether the array has no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The values, after a check of their number against the shape: the array may come from another language.
    ///
    /// # Errors
    /// There are not.
    pub fn values(&self) -> Result<&'a [f64], PortError> {
        check(self.shape, self.data.len())?;
        Ok(self.data.as_slice())
    }
}

impl<'a> StatesMut<'a> {
    /// An array of states over `data`, shape `[NVAR][ny + 2g][nx + 2g]`.
    ///
    /// # Errors
    /// `data` has another length than `shape`.
    pub fn new(shape: Shape, data: &'a mut [f64]) -> Result<Self, PortError> {
        check(shape, data.len())?;
        Ok(StatesMut {
            shape,
            data: RSliceMut::from_mut_slice(data),
        })
    }

    /// Extent of the array.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of doubles.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether the array has no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The values; checked as [`States::values`].
    ///
    /// # Errors
    /// Their number differs from the shape's.
    pub fn into_values(self) -> Result<&'a mut [f64], PortError> {
        check(self.shape, self.data.len())?;
        Ok(self.data.into_mut_slice())
    }
}

impl Poison for StatesMut<'_> {
    fn poison(&mut self) -> u64 {
        self.data.poison()
    }
}

fn check(shape: Shape, found: usize) -> Result<(), PortError> {
    if found == shape.len() {
        return Ok(());
    }
    let wanted = shape.len();
    Err(PortError::failed(format_args!(
        "cannot use array of {shape}: {found} doubles, expected {wanted}"
    )))
}
