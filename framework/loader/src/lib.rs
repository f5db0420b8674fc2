//! Opens component libraries and checks them; never closes them. With `cca-abi` the home of FFI unsafe.
//!
//! * [`Library`]: one opened library and its [`Class`]es;
//! * [`MpiProxy`]: the proxy of MPI, which is no component;
//! * [`find_libraries`]: the component libraries of a folder, told by their contents without running them.

mod class;
mod error;
mod library;
mod mpi_proxy;
mod search;

pub use class::{Class, Instance};
pub use error::LoadError;
pub use library::Library;
pub use mpi_proxy::{AttachedMpi, MpiProxy, MpiRoutine};
pub use search::find_libraries;
