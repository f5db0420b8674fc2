//! The fastest characteristic of a patch, for the time step.

mod component;
mod rate;

pub use rate::{StateError, max_rate};
