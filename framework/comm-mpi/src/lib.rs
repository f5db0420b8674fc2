//! The MPI communicator, a component library on rsmpi.
//!
//! [`MpiComm`] is the component, [`MpiCommunicator`] the communicator that it provides. Only the communicator starts
//! and ends MPI: components never do.
//!
//! This crate is built once for each MPI (`MPICC=mpicc.openmpi cargo build -p cca-comm-mpi`), and
//! loaded at run time by an executable that knows nothing of MPI. No other crate depends on it.
//!
//! The files: `communicator.rs` has the operations, `requests.rs` the messages in flight, `library.rs` queries of the
//! library itself: versions, and the text of its errors; `at_exit.rs` ends MPI with the process if nothing else does.

mod at_exit;
mod communicator;
mod component;
mod library;
mod requests;

pub use communicator::{MpiCommunicator, StartError};
pub use component::MpiComm;
pub use library::{kind, library_version};
