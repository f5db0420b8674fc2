//! The component class.

use std::sync::Arc;

use cca_ports::{Component, PortError, Services, component};
use hydro_ports::{Axis, FluxPort, GAMMA, States, StatesMut};

use crate::efm_flux;

/// Pullin's equilibrium flux: a fixed cost for each face, more diffusive at contacts than Godunov's.
#[component(class = "hydro.EfmFlux", version = "1.0")]
struct EfmFlux;

impl Component for EfmFlux {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(EfmFlux);
        services.add_provides_port::<dyn FluxPort, _>("flux", &component)?;
        services.declare_stateless("flux")?;
        // Patches that share faces must get the same fluxes through them.
        services.declare_whole_steps("flux")?;
        Ok(component)
    }
}

impl FluxPort for EfmFlux {
    fn compute(
        &self,
        axis: Axis,
        left: States<'_>,
        right: States<'_>,
        flux: StatesMut<'_>,
    ) -> Result<(), PortError> {
        let shape = left.shape();
        shape.check("right", right.shape())?;
        shape.check("flux", flux.shape())?;
        let (left, right, flux) = (left.values()?, right.values()?, flux.into_values()?);
        Ok(efm_flux(axis, shape, GAMMA, left, right, flux)?)
    }
}
