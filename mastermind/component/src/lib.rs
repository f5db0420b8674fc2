//! The Mastermind component: wires measurement, records, models and composition to ports. Thin.
//!
//! * [`Mastermind`]: provides the `cca.Monitor` port that proxies record through (the paper's section 4.3);
//! * [`samples`]: the recorded calls as samples, for the fit;
//! * [`workload`]: the recorded calls as a workload, for the choice;
//! * [`Wrapped`]: the same recording in a program that was never written for it.

mod mastermind;
mod samples;
mod workload;
mod wrapped;

pub use mastermind::{Mastermind, mpi_routines, routine_definitions};
pub use samples::{method_name, samples};
pub use workload::workload;
pub use wrapped::{MESSAGE_EXTENSION, WRAP_VARIABLE, WrapConfig, WrapError, Wrapped};
