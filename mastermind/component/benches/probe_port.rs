//! The interface between `port_call.rs` and the library it calls into.

use cca_ports::{PortError, port};

/// Something as short as a call can be.
#[port(name = "bench.Probe", version = "1.0")]
pub trait ProbePort {
    /// Adds one.
    #[perf(q = q, mode = mode)]
    fn add_one(&self, q: u64, mode: u32) -> Result<u64, PortError>;
}
