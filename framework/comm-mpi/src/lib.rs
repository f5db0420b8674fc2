//! The MPI communicator, a component library on rsmpi.
//!
//! [`MpiCommunicator`] has the operations of [`cca_comm::SerialCommunicator`] with the same
//! meaning. It is the one that starts and ends MPI: components never do.
//!
//! This crate is built once for each MPI (`MPICC=mpicc.openmpi cargo build -p cca-comm-mpi`), and
//! loaded at run time by an executable that knows nothing of MPI. No other crate depends on it.
//!
//! The files: `communicator.rs` has the operations, `requests.rs` the messages under way,
//! `library.rs` what is asked of the library itself: versions, and the text of its errors.

mod communicator;
mod library;
mod requests;

pub use communicator::{MpiCommunicator, StartError};
pub use library::{kind, library_version};
