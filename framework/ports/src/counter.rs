//! Counts of events inside a component that its caller need not know but its user may want to.

use crate::{PortError, RString, RVec, StableAbi, port};

/// One count.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq, StableAbi)]
pub struct Counter {
    /// Name, such as `fallbacks`.
    pub name: RString,
    /// How often, since the component was created.
    pub count: u64,
    /// The counted event, one line.
    pub help: RString,
}

/// A component's counters; shown at the end of a run.
#[port(name = "cca.Counter", version = "1.0")]
pub trait CounterPort {
    /// All counters, in a fixed order.
    ///
    /// # Errors
    /// None of its own.
    fn counters(&self) -> Result<RVec<Counter>, PortError>;
}
