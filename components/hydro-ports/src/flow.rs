//! The ports around the kernels: initial and boundary values, time step, integration, output.

use cca_ports::{PortError, StableAbi, port};

use crate::{Patch, States, StatesMut};

/// Initial values.
#[port(name = "hydro.InitialCondition", version = "1.0")]
pub trait InitialConditionPort {
    /// Fills the interior cells of a patch with conserved variables.
    ///
    /// # Errors
    /// Parameters that do not go together.
    fn initialise(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError>;
}

/// Values beyond the domain's boundary.
#[port(name = "hydro.Boundary", version = "1.0")]
pub trait BoundaryPort {
    /// Fills the ghost cells that lie outside the domain; those inside are filled already.
    ///
    /// # Errors
    /// Parameters that do not go together.
    fn fill(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError>;
}

/// Speeds of the waves.
#[port(name = "hydro.Characteristics", version = "1.0")]
pub trait CharacteristicsPort {
    /// Largest `(|u| + c)/dx + (|v| + c)/dy` of the interior cells, in 1/time: the step is CFL over it.
    ///
    /// # Errors
    /// A state that is not physical, with its place.
    fn max_rate(&self, patch: Patch, state: States<'_>) -> Result<f64, PortError>;
}

/// Advances the solution.
#[port(name = "hydro.Integrator", version = "1.0")]
pub trait IntegratorPort {
    /// Advances every level by one step of the coarsest. Collective.
    ///
    /// # Errors
    /// Any error of the mesh and the right-hand side.
    fn advance(&self, time: f64, dt: f64) -> Result<(), PortError>;
}

/// Writes the solution.
#[port(name = "hydro.Output", version = "1.0")]
pub trait OutputPort {
    /// Writes the output that its parameters request. Collective; the first rank writes.
    ///
    /// # Errors
    /// The file cannot be written; the communicator's.
    fn write(&self, step: u64, time: f64) -> Result<(), PortError>;
}

/// Sums and extremes over the whole domain.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, StableAbi)]
pub struct Statistics {
    /// Integral of density.
    pub mass: f64,
    /// Integral of total energy.
    pub energy: f64,
    /// Integral of the tracer's density.
    pub tracer: f64,
    /// Integral of vorticity (case study, section 5.1).
    pub circulation: f64,
    /// Integral of vorticity where it is negative.
    pub negative_circulation: f64,
    /// Largest density.
    pub max_density: f64,
    /// Largest pressure.
    pub max_pressure: f64,
}

/// Sums and extremes of the solution.
#[port(name = "hydro.Statistics", version = "1.0")]
pub trait StatisticsPort {
    /// Computes them for the state as it is. Collective; the same result on every rank.
    ///
    /// # Errors
    /// The mesh's; the communicator's.
    fn summarise(&self, step: u64, time: f64) -> Result<Statistics, PortError>;
}
