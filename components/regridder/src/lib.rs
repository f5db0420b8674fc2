//! Where an adaptive mesh refines: cells that need it, and boxes around them.
//!
//! [`flags`] finds the cells of a patch in which the solution is steep; [`buffered`] adds those that it may reach
//! before the next regrid; [`cluster`] covers them with rectangles that waste few cells.

mod cluster;
mod component;
mod flag;
mod marks;

pub use cluster::{ClusterError, Clustering, cluster};
pub use flag::{Thresholds, flags};
pub use marks::{Marks, buffered};
