//! The component classes: one for each method of sharing.

use std::sync::Arc;

use cca_ports::{Component, PortError, RSlice, RVec, Services, component};
use hydro_ports::{BalancerPort, Load};

use crate::{BalanceError, knapsack, morton};

/// Gives boxes to ranks, heaviest first, each to the rank with least work.
#[component(class = "hydro.LoadBalancer", version = "1.0")]
struct LoadBalancer;

/// Gives neighbouring boxes to one rank, by cutting Morton's curve into parts of the same work.
#[component(class = "hydro.MortonBalancer", version = "1.0")]
struct MortonBalancer;

impl Component for LoadBalancer {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(LoadBalancer);
        services.add_provides_port::<dyn BalancerPort, _>("balancer", &component)?;
        Ok(component)
    }
}

impl Component for MortonBalancer {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(MortonBalancer);
        services.add_provides_port::<dyn BalancerPort, _>("balancer", &component)?;
        Ok(component)
    }
}

impl BalancerPort for LoadBalancer {
    fn assign(&self, loads: RSlice<'_, Load>, ranks: u32) -> Result<RVec<u32>, PortError> {
        answer(knapsack(&loads, ranks))
    }
}

impl BalancerPort for MortonBalancer {
    fn assign(&self, loads: RSlice<'_, Load>, ranks: u32) -> Result<RVec<u32>, PortError> {
        answer(morton(&loads, ranks))
    }
}

fn answer(assigned: Result<Vec<u32>, BalanceError>) -> Result<RVec<u32>, PortError> {
    assigned.map(RVec::from).map_err(PortError::failed)
}
