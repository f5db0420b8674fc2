//! The port interfaces and shared types of the shock case study.

mod faces;
mod types;

pub use faces::{FaceError, Lines, map_faces};
pub use types::{Axis, GHOST, NVAR, Shape};
