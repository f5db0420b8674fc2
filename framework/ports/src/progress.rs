//! Reports of the progress of a long run.

use crate::{PortError, RStr, port};

/// A framework service: the program that started the run decides whether to show the reports.
#[port(name = "cca.Progress", version = "1.0")]
pub trait ProgressPort {
    /// Reports progress; called on every rank, shown for one.
    ///
    /// # Arguments
    /// * `fraction` - of the work done, 0 to 1
    /// * `state` - where the work is, a few words
    ///
    /// # Errors
    /// None of its own.
    fn report(&self, fraction: f64, state: RStr<'_>) -> Result<(), PortError>;
}
