//! The port interfaces and shared types of the shock case study.

mod types;

pub use types::{Axis, GHOST, NVAR, Shape};
