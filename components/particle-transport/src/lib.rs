//! Steady transport of particles of one energy in a cube that absorbs and scatters them, by discrete ordinates: in each
//! octant a wavefront goes over the ranks, from the corner where the particles come in, pipelined in blocks of k and groups
//! of angles.
//!
//! [`directions`] are the ordinates, [`sweep`] and [`scatter`] the kernels.

mod component;
mod driver;
mod kernel;
mod quadrature;
mod tally;

pub use kernel::{Faces, scatter, sweep};
pub use quadrature::directions;
pub use tally::Tally;
