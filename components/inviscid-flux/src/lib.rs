//! The rate of change of a patch from the fluxes through its faces.
//!
//! [`to_primitive`] turns the conserved states of a patch into primitive ones;
//! [`subtract_divergence`] takes the differences of the fluxes.

mod component;
mod divergence;
mod primitive;

pub use divergence::subtract_divergence;
pub use primitive::{StateError, to_primitive};
