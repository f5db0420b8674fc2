//! Pictures and tables of the field on a uniform grid.
//!
//! [`write_density_png`] draws the density with the outlines of the patches, as figure 2 of the
//! paper; [`write_csv`] writes every primitive variable. Text is set in DejaVu Sans, which is part
//! of the library: no installed font is needed. [`paint`] puts the patches of all ranks and levels on one
//! grid.

mod component;
mod gathered;
mod grid;
mod outline;
mod picture;
mod table;

pub use gathered::{GatheredPatch, paint};
pub use grid::{Grid, OutputError, PatchOutline};
pub use picture::write_density_png;
pub use table::write_csv;
