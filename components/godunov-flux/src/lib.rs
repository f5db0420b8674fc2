//! Godunov's flux: the flux of the exact solution of the Riemann problem at every face.
//!
//! [`riemann`] is the solver, usable by itself; [`godunov_flux`] applies it to a patch.

mod component;
mod flux;
pub mod riemann;

pub use flux::godunov_flux;
