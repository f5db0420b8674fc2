//! The trait that every component implements.

use std::sync::Arc;

use crate::{PortError, Services};

/// A component (`gov.cca.Component` and `gov.cca.ComponentRelease`).
///
/// Instances are shared between threads, so state that changes sits behind a lock or an atomic.
pub trait Component: Send + Sync + Sized + 'static {
    /// Registers uses ports and parameters, makes the component of their handles, and adds its provides ports.
    ///
    /// It must not call a port: none is connected yet.
    ///
    /// # Errors
    /// Any error of the registrations; the instance is then not created.
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError>;

    /// Releases the component: it gives back its resources, and the threads it started have ended. No port may be used
    /// afterwards.
    ///
    /// # Errors
    /// Any error of the component; the instance is destroyed all the same.
    fn release_services(&self) -> Result<(), PortError> {
        Ok(())
    }
}
