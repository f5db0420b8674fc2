//! What a component hands to the one that takes its place.

use crate::{PortError, RSlice, RVec, port};

/// Name of the property of a provides port that says: what the port answers depends on its arguments and on the component's
/// parameters alone, so that another component may take its place between any two calls ([`crate::Services::declare_stateless`]).
pub const STATELESS: &str = "stateless";

/// Name of the property of a stateless provides port that says: all calls of one step of the application are to be answered by the same
/// class, since their results are to fit one another ([`crate::Services::declare_whole_steps`]).
pub const WHOLE_STEPS: &str = "whole_steps";

/// State that outlives a component: when another takes its place, the framework saves the old one's state and gives it to
/// the new one, before the first call. Between both no call of the component should be under way.
///
/// Components that may take each other's place agree on what the bytes are.
#[port(name = "cca.StatefulComponent", version = "1.0")]
pub trait StatefulComponentPort {
    /// The state.
    ///
    /// # Errors
    /// The component's own: it then stays.
    fn save(&self) -> Result<RVec<u8>, PortError>;

    /// Takes over what `save` of another component gave.
    ///
    /// # Errors
    /// No state that this component understands: the other one then stays.
    fn restore(&self, state: RSlice<'_, u8>) -> Result<(), PortError>;
}
