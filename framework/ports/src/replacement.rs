//! The port through which a component replaces others while they are called.

use crate::{PortError, RStr, port};

/// Leads connections elsewhere, and puts instances in the place of others, while any number of threads call.
///
/// The next call goes to the new provider, a call in flight ends on the old one. A provider that was replaced is kept until
/// no caller can be inside it: until every user that had got the port has released it, at the latest until the end of the
/// run. What is recorded stays recorded, each call with the class that ran. Who listens to connections hears of it.
///
/// A uses port of this interface is led to the framework's own. All arguments are names, so that components in C can call
/// it (`cca_replacement_service` in `cca.h`).
#[port(name = "cca.ReplacementService", version = "1.0")]
pub trait ReplacementServicePort {
    /// Leads a connected uses port to another provides port.
    ///
    /// # Errors
    /// No such instance or port; not connected; `BadPortType`. The port then leads where it led.
    fn reconnect(
        &self,
        user: RStr<'_>,
        uses: RStr<'_>,
        provider: RStr<'_>,
        provides: RStr<'_>,
    ) -> Result<(), PortError>;

    /// Puts a new instance of a class of the framework's repository in the place of an instance: it has its name, takes
    /// over its connections, its properties and the values of the parameters that both have, and the old one says goodbye
    /// when it has been left by all callers. What the old one has computed is handed over where both provide
    /// `cca.StatefulComponent`.
    ///
    /// # Errors
    /// No such instance or class; a port that is connected and that the class lacks or has of another type; the class's
    /// own. The old instance then stays.
    fn replace_instance(&self, instance: RStr<'_>, class: RStr<'_>) -> Result<(), PortError>;
}
