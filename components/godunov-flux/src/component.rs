//! The component class.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cca_ports::{Component, Counter, CounterPort, PortError, RVec, Services, component};
use hydro_ports::{Axis, FluxPort, GAMMA, States, StatesMut};

use crate::godunov_flux;

/// Godunov's flux: solves the Riemann problem of each face exactly, by Newton's method.
#[component(class = "hydro.GodunovFlux", version = "1.0")]
#[derive(Default)]
struct GodunovFlux {
    problems: AtomicU64,
    iterations: AtomicU64,
}

impl Component for GodunovFlux {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(Self::default());
        services.add_provides_port::<dyn FluxPort, _>("flux", &component)?;
        services.declare_stateless("flux")?;
        // Patches that share faces must get the same fluxes through them.
        services.declare_whole_steps("flux")?;
        services.add_provides_port::<dyn CounterPort, _>("counters", &component)?;
        Ok(component)
    }
}

impl FluxPort for GodunovFlux {
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
        let iterations = godunov_flux(axis, shape, GAMMA, left, right, flux)?;
        let faces = shape.faces(axis);
        let problems = faces.n_lines * faces.n_faces;
        self.problems.fetch_add(problems as u64, Ordering::Relaxed);
        self.iterations.fetch_add(iterations, Ordering::Relaxed);
        Ok(())
    }
}

impl CounterPort for GodunovFlux {
    fn counters(&self) -> Result<RVec<Counter>, PortError> {
        let counter = |name: &str, count: &AtomicU64, help: &str| Counter {
            name: name.into(),
            count: count.load(Ordering::Relaxed),
            help: help.into(),
        };
        let counters = [
            counter(
                "riemann_problems",
                &self.problems,
                "Riemann problems solved, one a face",
            ),
            counter(
                "newton_iterations",
                &self.iterations,
                "Newton iterations for their pressures",
            ),
        ];
        Ok(counters.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use hydro_ports::Shape;

    use super::*;

    const SHAPE: Shape = Shape {
        nx: 4,
        ny: 2,
        ghost: 2,
    };

    fn compute(component: &GodunovFlux, left: [f64; 5], right: [f64; 5]) -> Result<(), PortError> {
        let array = |state: [f64; 5]| -> Vec<f64> {
            (0..SHAPE.len()).map(|k| state[k / SHAPE.plane()]).collect()
        };
        let (left, right) = (array(left), array(right));
        let mut flux = vec![0.0; SHAPE.len()];
        let flux = StatesMut::new(SHAPE, &mut flux)?;
        let (left, right) = (States::new(SHAPE, &left)?, States::new(SHAPE, &right)?);
        component.compute(Axis::Y, left, right, flux)
    }

    #[test]
    fn problems_and_iterations_are_counted() {
        let component = GodunovFlux::default();
        let (left, right) = ([1.0, 0.0, 0.0, 1.0, 0.0], [0.125, 0.0, 0.0, 0.1, 1.0]);
        assert_eq!(compute(&component, left, right), Ok(()));
        let counters = component.counters().expect("counters");
        assert_eq!(counters[0].count, 12);
        assert!(counters[1].count > 12);
    }

    #[test]
    fn a_vacuum_names_face_and_states() {
        let (left, right) = ([1.0, 0.0, -9.0, 0.4, 0.0], [1.0, 0.0, 9.0, 0.4, 0.0]);
        let error = compute(&GodunovFlux::default(), left, right).expect_err("a vacuum");
        let message = error.message();
        let place = "cannot compute flux of Y face \"(2, 1)\": cannot solve Riemann problem";
        assert!(message.starts_with(place), "{message}");
        assert!(
            message.contains("vacuum") && message.contains("-9.0"),
            "{message}"
        );
    }
}
