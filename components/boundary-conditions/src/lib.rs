//! Ghost cells at the physical sides of a patch.
//!
//! The order matters for the corners: first the sides across x, over all rows, then the sides
//! across y, over all columns. [`fill_sides`] keeps it. Ghost cells that lie inside the domain must
//! be filled from the neighbouring patches before.

mod component;
mod fill;

pub use fill::{Boundary, Side, fill_side, fill_sides};
