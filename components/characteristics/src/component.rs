//! The component class.

use std::sync::Arc;

use cca_ports::{Component, PortError, Services, component};
use hydro_ports::{CharacteristicsPort, GAMMA, Patch, States};

use crate::max_rate;

/// Finds the fastest characteristic of a patch, from which the time step follows.
#[component(class = "hydro.Characteristics", version = "1.0")]
struct Characteristics;

impl Component for Characteristics {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(Characteristics);
        services.add_provides_port::<dyn CharacteristicsPort, _>("characteristics", &component)?;
        Ok(component)
    }
}

impl CharacteristicsPort for Characteristics {
    fn max_rate(&self, patch: Patch, state: States<'_>) -> Result<f64, PortError> {
        patch.shape.check("state", state.shape())?;
        let rate = max_rate(patch.shape, GAMMA, patch.dx, patch.dy, state.values()?);
        rate.map_err(|error| PortError::failed(error).context(patch))
    }
}
