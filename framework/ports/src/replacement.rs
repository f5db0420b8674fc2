//! The port through which a component replaces others while they are called.

use crate::{PortError, RStr, port};

/// Leads connections elsewhere, and puts instances in the place of others, while any number of threads call.
///
/// The next call goes to the new provider, a call in flight ends on the old one. A provider that was replaced is kept
/// until no caller can be inside it: until every user that had got the port has released it, at the latest until the
/// end of the run. Records stay, each call with the class that ran. Listeners for connections hear of the change.
///
/// A uses port of this interface is led to the framework's own. All arguments are names, so that components in C can call
/// it (`cca_replacement_service` in `cca.h`).
#[port(name = "cca.ReplacementService", version = "1.0")]
pub trait ReplacementServicePort {
    /// Leads a connected uses port to another provides port.
    ///
    /// # Errors
    /// No such instance or port; not connected; `BadPortType`. The connection then stays unchanged.
    fn reconnect(
        &self,
        user: RStr<'_>,
        uses: RStr<'_>,
        provider: RStr<'_>,
        provides: RStr<'_>,
    ) -> Result<(), PortError>;

    /// Replaces an instance by a new instance of a class of the framework's repository: it has the same name and takes
    /// over the connections, the properties and the values of the parameters that both have, and the old one is
    /// released when all callers have left it. The old one's state is handed over if both provide
    /// `cca.StatefulComponent`.
    ///
    /// # Errors
    /// No such instance or class; a port that is connected and that the class lacks or has of another type; the class's
    /// own. The old instance then stays.
    fn replace_instance(&self, instance: RStr<'_>, class: RStr<'_>) -> Result<(), PortError>;
}
