//! The Mastermind component: wires measurement, records, models and composition to ports. Thin.
//!
//! * [`Mastermind`]: provides the `cca.Monitor` port that proxies record through (the paper's section 4.3);
//! * [`samples`]: the recorded calls as samples, for the fit;
//! * [`workload`]: the recorded calls as a workload, for the choice.

mod mastermind;
mod samples;
mod workload;

pub use mastermind::Mastermind;
pub use samples::{method_name, samples};
pub use workload::workload;
