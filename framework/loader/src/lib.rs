//! Opens component libraries and checks them; never closes them. With `cca-abi` the home of FFI unsafe.
//!
//! * [`Library`]: one opened library and its [`Class`]es; [`try_libraries_with`]: detects a damaged one before it is
//!   opened;
//! * [`MpiProxy`]: the proxy of MPI, which is no component; [`Meeting`]: a moment when all ranks are in one call of
//!   MPI;
//! * [`OpenMpProxy`]: the proxy of OpenMP;
//! * [`ExitWatch`]: notices that the code of a library ends the process; [`report_crashes`]: that a signal does;
//!   [`activity`]: the action it was to do;
//! * [`read_index`]: Ccaffeine's `.cca` files, which name libraries and classes;
//! * [`LibraryProxy`]: the generated proxy of a C library, and [`Alternative`], another target of its calls;
//! * [`Startup`]: a program's requirements on the dynamic linker at its start;
//! * [`find_libraries`]: the component libraries of a folder, recognised by their contents without running them.

mod activity;
mod class;
mod crash_report;
mod error;
mod exit_watch;
mod image;
mod index_file;
mod library;
mod library_proxy;
mod meeting;
mod mpi_proxy;
mod mpi_version;
mod openmp_proxy;
mod regions;
mod search;
mod startup;

pub use activity::activity;
pub use cca_abi::recording::{MpiCommunicator, MpiMeeting};
pub use class::{Class, Instance};
pub use crash_report::report_crashes;
pub use error::LoadError;
pub use exit_watch::ExitWatch;
pub use index_file::{IndexedClass, find_index_files, read_index};
pub use library::{Library, Trial, try_libraries_with};
pub use library_proxy::{Alternative, FunctionParameter, LibraryFunction, LibraryProxy};
pub use meeting::{Meeting, MeetingError};
pub use mpi_proxy::{AttachedMpi, MpiProxy, MpiRoutine};
pub use mpi_version::mpi_library_version;
pub use openmp_proxy::{OpenMpConstruct, OpenMpProxy};
pub use search::{find_libraries, is_component_library};
pub use startup::Startup;
