//! The component class.

use std::sync::{Arc, Mutex, MutexGuard};

use cca_ports::{Component, PortError, Services, UsesPort, component};
use hydro_ports::{IntegratorPort, MeshPort, RhsPort};

use crate::advance::{Advance, Scratch};

/// Advances all levels of a mesh by Heun's two-stage Runge-Kutta method.
#[component(class = "hydro.RK2", version = "1.0")]
struct RK2 {
    mesh: UsesPort<dyn MeshPort>,
    rhs: UsesPort<dyn RhsPort>,
    /// Arrays not in use.
    scratch: Mutex<Vec<Scratch>>,
}

impl Component for RK2 {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(RK2 {
            mesh: services.register_uses_port("mesh")?,
            rhs: services.register_uses_port("rhs")?,
            scratch: Mutex::default(),
        });
        services.add_provides_port::<dyn IntegratorPort, _>("integrator", &component)?;
        Ok(component)
    }
}

impl IntegratorPort for RK2 {
    fn advance(&self, time: f64, dt: f64) -> Result<(), PortError> {
        let (mesh, rhs) = (self.mesh.get()?, self.rhs.get()?);
        let mut scratch = self.idle_scratch().pop().unwrap_or_default();
        let mut advance = Advance {
            mesh: &*mesh,
            rhs: &*rhs,
            scratch: &mut scratch,
        };
        let done = advance.level(0, time, dt);
        self.idle_scratch().push(scratch);
        done
    }
}

impl RK2 {
    fn idle_scratch(&self) -> MutexGuard<'_, Vec<Scratch>> {
        // Data that a panic left in an array is overwritten before it is read.
        self.scratch
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
