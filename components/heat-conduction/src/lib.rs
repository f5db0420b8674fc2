//! Nonlinear heat conduction on a square with insulated sides, a block of it on each rank: every step the ranks
//! exchange the edges of their blocks with up to four neighbours and agree on the time step.
//!
//! [`step`] is the kernel; [`Block`] has the arrays of a rank and the rows and columns that it
//! sends.

mod block;
mod component;
mod driver;
mod kernel;

pub use block::{Block, Side};
pub use kernel::{conductivity, hot_spot, step};
