//! Values carried from one level of an adaptive mesh to the next, with a refinement of 2.
//!
//! [`prolong`] makes fine cells of coarse ones, [`restrict`] coarse of fine ones. Both keep the sum of every conserved
//! variable: the mean of the four children of a coarse cell is its value.
//!
//! ```text
//! a coarse cell and its children     ┌───┬───┐
//!                                    │ 2 │ 3 │   value ± slope_x/4 ± slope_y/4
//!                                    ├───┼───┤
//!                                    │ 0 │ 1 │
//!                                    └───┴───┘
//! ```

mod component;
mod prolong;
mod restrict;

pub use prolong::{Constant, Linear, Profile, prolong};
pub use restrict::restrict;

use hydro_ports::{CellBox, Patch};
use thiserror::Error;

/// A region that cannot be carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegionError {
    /// It reaches beyond an array.
    #[error("cannot use region \"{region}\": outside the array of {found}")]
    Outside {
        /// The region, in cells of the array's level.
        region: CellBox,
        /// The cells of the array.
        found: CellBox,
    },
    /// It has part of the children of a coarse cell.
    #[error("cannot prolong region \"{region}\": odd, expected whole coarse cells")]
    Odd {
        /// The region, in cells of the fine level.
        region: CellBox,
    },
}

/// A patch whose array `u` is of shape `[NVAR][ny + 2g][nx + 2g]`, checked to hold a region.
fn check(patch: Patch, region: CellBox) -> Result<(), RegionError> {
    let found = patch.array_cells();
    if found.contains(&region) {
        return Ok(());
    }
    Err(RegionError::Outside { region, found })
}
