//! Opens component libraries and checks them; never closes them. With `cca-abi` the home of FFI unsafe.
//!
//! * [`Library`]: one opened library and its [`Class`]es;
//! * [`MpiProxy`]: the proxy of MPI, which is no component;
//! * [`ExitWatch`]: notices that the code of a library ends the process;
//! * [`find_libraries`]: the component libraries of a folder, told by their contents without running them.

mod class;
mod error;
mod exit_watch;
mod library;
mod mpi_proxy;
mod search;

pub use class::{Class, Instance};
pub use error::LoadError;
pub use exit_watch::ExitWatch;
pub use library::Library;
pub use mpi_proxy::{AttachedMpi, MpiProxy, MpiRoutine};
pub use search::find_libraries;
