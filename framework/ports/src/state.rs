//! State that a component hands to its replacement.

use crate::{PortError, RSlice, RVec, port};

/// Name of the property by which a provides port declares that its answers depend only on its arguments and on the
/// component's parameters, so that another component may replace it between any two calls
/// ([`crate::Services::declare_stateless`]).
pub const STATELESS: &str = "stateless";

/// Name of the property by which a stateless provides port declares that all calls of one step of the application must
/// be answered by the same class, since their results must agree with one another
/// ([`crate::Services::declare_whole_steps`]).
pub const WHOLE_STEPS: &str = "whole_steps";

/// State that outlives a component: when another replaces it, the framework saves the old one's state and passes it to
/// the new one, before the first call. Between both no call of the component should be in flight.
///
/// Components that may replace each other agree on the meaning of the bytes.
#[port(name = "cca.StatefulComponent", version = "1.0")]
pub trait StatefulComponentPort {
    /// The state.
    ///
    /// # Errors
    /// The component's own: it then stays.
    fn save(&self) -> Result<RVec<u8>, PortError>;

    /// Restores the state that `save` of another component returned.
    ///
    /// # Errors
    /// No state that this component understands: the other one then stays.
    fn restore(&self, state: RSlice<'_, u8>) -> Result<(), PortError>;
}
