//! C-layout types that cross a library boundary.
