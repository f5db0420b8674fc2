//! An adaptive mesh of patches in levels, each of half the cell size of the one before (Berger, Oliger, Colella).
//!
//! [`Fill`] and [`to_coarser`] plan which cells of which patches fill which, for all ranks and in one order;
//! [`Transfer`] runs one rank's part by messages; [`Border`] keeps the fluxes that two levels must agree on.
//! [`Hierarchy`] combines them: ghost cells, steps, replacement of patches.
//!
//! ```text
//! fine patch and its ghost cells   ┌─────────────┐    from other fine patches, else interpolated from its image:
//!                                  │ ┌─────────┐ │    the coarse cells around it, gathered from the coarser level
//! its image on the coarser level ┌─┼─┤         ├─┼─┐  and, beyond the domain, from the boundary conditions
//! ```

mod component;
mod fill;
mod flux;
mod hierarchy;
mod layout;
mod level;
mod plan;
mod region;
mod regrid;
mod transfer;

pub use fill::{Ports, Sources, fill};
pub use flux::{Border, correct};
pub use hierarchy::Hierarchy;
pub use layout::{Layout, LayoutError, NESTING, base_boxes, check, inherit, level_cells, patch};
pub use level::{Image, Level, StorageError, Stored};
pub use plan::{Coarser, Fill, Kind, Prolongation, Side, Step, to_coarser};
pub use region::{read, read_between, write};
pub use regrid::{Marks, new_boxes, share};
pub use transfer::{Arrays, Messages, Transfer};
