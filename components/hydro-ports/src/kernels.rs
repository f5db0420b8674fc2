//! The ports of the numerical kernels: states, fluxes, and the right-hand side made of both.

use cca_ports::{PortError, port};

use crate::{Axis, Patch, States, StatesMut};

/// Left and right states of the faces of a patch.
#[port(name = "hydro.States", version = "1.0")]
pub trait StatesPort {
    /// Reconstructs the states on both sides of every face that bounds an interior cell.
    ///
    /// # Arguments
    /// * `axis` - faces across this axis; [`Axis::Y`] walks the same arrays with a stride
    /// * `cells` - primitive variables (rho, u, v, p, z) of the cells, ghost cells filled
    /// * `left`, `right` - receive primitive variables; the face between cell `i` and `i + 1` has the index of cell `i`
    ///
    /// # Errors
    /// Shapes that differ.
    #[perf(q = cells.len(), axis = axis, units(q = "doubles"))]
    fn compute(
        &self,
        axis: Axis,
        cells: States<'_>,
        left: StatesMut<'_>,
        right: StatesMut<'_>,
    ) -> Result<(), PortError>;
}

/// Fluxes through the faces of a patch; the interchangeable part of the paper's study.
#[port(name = "hydro.Flux", version = "1.0")]
pub trait FluxPort {
    /// Computes the flux through every face that bounds an interior cell.
    ///
    /// # Arguments
    /// * `axis` - faces across this axis; [`Axis::Y`] walks the same arrays with a stride
    /// * `left`, `right` - primitive variables (rho, u, v, p, z), indexed as [`StatesPort::compute`] leaves them
    /// * `flux` - receives the fluxes of (rho, rho u, rho v, E, rho z), indexed likewise
    ///
    /// # Errors
    /// Shapes that differ; a state that is not physical, or a vacuum, with its place.
    #[perf(q = left.len(), axis = axis, units(q = "doubles"))]
    fn compute(
        &self,
        axis: Axis,
        left: States<'_>,
        right: States<'_>,
        flux: StatesMut<'_>,
    ) -> Result<(), PortError>;
}

/// Right-hand side of the semi-discrete equations.
#[port(name = "hydro.Rhs", version = "1.0")]
pub trait RhsPort {
    /// Evaluates `dU/dt = -dF/dx - dG/dy` on the interior cells of a patch.
    ///
    /// # Arguments
    /// * `state` - conserved variables (rho, rho u, rho v, E, rho z), ghost cells filled
    /// * `rate` - receives dU/dt on the interior cells
    /// * `flux_x`, `flux_y` - receive the fluxes it was made of, for a caller that must account for
    ///   them
    ///
    /// # Errors
    /// A state that is not physical, with its place; any error of the states and flux components.
    #[perf(q = state.len(), units(q = "doubles"))]
    fn evaluate(
        &self,
        patch: Patch,
        state: States<'_>,
        rate: StatesMut<'_>,
        flux_x: StatesMut<'_>,
        flux_y: StatesMut<'_>,
    ) -> Result<(), PortError>;
}
