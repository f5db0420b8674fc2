//! The integration tests of this crate, a subject a file.

mod lopc;
mod networks;
mod recorded;
