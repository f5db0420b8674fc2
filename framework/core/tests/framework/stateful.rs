//! Components with state to hand over, and one without.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_ports::{Component, PortError, RSlice, RVec, Services, StatefulComponentPort, component};

use crate::components::NumberPort;

/// Number of calls, including those of its predecessors that handed their state over.
#[component(class = "test.Remembering", version = "1.0")]
#[derive(Default)]
pub struct Remembering(AtomicUsize);

impl Component for Remembering {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let remembering = Arc::new(Remembering::default());
        services.add_provides_port::<dyn NumberPort, _>("number", &remembering)?;
        services.add_provides_port::<dyn StatefulComponentPort, _>("state", &remembering)?;
        Ok(remembering)
    }
}

impl NumberPort for Remembering {
    fn number(&self) -> Result<i64, PortError> {
        Ok(self.0.fetch_add(1, Ordering::SeqCst) as i64 + 1)
    }
}

impl StatefulComponentPort for Remembering {
    fn save(&self) -> Result<RVec<u8>, PortError> {
        let asked = self.0.load(Ordering::SeqCst) as u64;
        Ok(asked.to_le_bytes().into_iter().collect())
    }

    fn restore(&self, state: RSlice<'_, u8>) -> Result<(), PortError> {
        let asked = state.as_slice().try_into().map(u64::from_le_bytes);
        let asked = asked.map_err(|_| PortError::failed("no number of 8 bytes"))?;
        self.0.store(asked as usize, Ordering::SeqCst);
        Ok(())
    }
}

/// Does not understand any state.
#[component(class = "test.Forgetful", version = "1.0")]
pub struct Forgetful;

impl Component for Forgetful {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let forgetful = Arc::new(Forgetful);
        services.add_provides_port::<dyn NumberPort, _>("number", &forgetful)?;
        services.declare_stateless("number")?;
        services.add_provides_port::<dyn StatefulComponentPort, _>("state", &forgetful)?;
        Ok(forgetful)
    }
}

impl NumberPort for Forgetful {
    fn number(&self) -> Result<i64, PortError> {
        Ok(0)
    }
}

impl StatefulComponentPort for Forgetful {
    fn save(&self) -> Result<RVec<u8>, PortError> {
        Ok(RVec::new())
    }

    fn restore(&self, _: RSlice<'_, u8>) -> Result<(), PortError> {
        Err(PortError::failed("a state, expected none"))
    }
}

/// Declares that it remembers nothing.
#[component(class = "test.Stateless", version = "1.0")]
pub struct Stateless;

impl Component for Stateless {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let stateless = Arc::new(Stateless);
        services.parameters("parameters")?;
        services.add_provides_port::<dyn NumberPort, _>("number", &stateless)?;
        services.declare_stateless("number")?;
        Ok(stateless)
    }
}

impl NumberPort for Stateless {
    fn number(&self) -> Result<i64, PortError> {
        Ok(7)
    }
}
