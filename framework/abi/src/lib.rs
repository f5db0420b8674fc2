//! C-layout types that cross a library boundary.

pub mod recording;
