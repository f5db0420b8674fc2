//! The port that starts an application.

use crate::{PortError, port};

/// `gov.cca.ports.GoPort`.
#[port(name = "cca.Go", version = "1.0")]
pub trait GoPort {
    /// Runs the application to its end.
    ///
    /// # Errors
    /// Why it did not reach its end.
    fn go(&self) -> Result<(), PortError>;
}
