//! The component class.

use std::sync::{Arc, Mutex, MutexGuard};

use cca_ports::{Component, PortError, Services, UsesPort, component};
use hydro_ports::{Axis, FluxPort, GAMMA, Patch, RhsPort, Shape, States, StatesMut, StatesPort};

use crate::{subtract_divergence, to_primitive};

/// Makes the rate of change of a patch: states, then fluxes, along x and then along y.
#[component(class = "hydro.InviscidFlux", version = "1.0")]
struct InviscidFlux {
    states: UsesPort<dyn StatesPort>,
    flux: UsesPort<dyn FluxPort>,
    /// Arrays not in use; as many as the maximum number of simultaneous evaluations so far.
    scratch: Mutex<Vec<Scratch>>,
}

impl Component for InviscidFlux {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(InviscidFlux {
            states: services.register_uses_port("states")?,
            flux: services.register_uses_port("flux")?,
            scratch: Mutex::default(),
        });
        services.add_provides_port::<dyn RhsPort, _>("rhs", &component)?;
        Ok(component)
    }
}

impl RhsPort for InviscidFlux {
    fn evaluate(
        &self,
        patch: Patch,
        state: States<'_>,
        rate: StatesMut<'_>,
        flux_x: StatesMut<'_>,
        flux_y: StatesMut<'_>,
    ) -> Result<(), PortError> {
        for (name, shape) in [
            ("state", state.shape()),
            ("rate", rate.shape()),
            ("flux_x", flux_x.shape()),
            ("flux_y", flux_y.shape()),
        ] {
            patch.shape.check(name, shape)?;
        }
        let (states, flux) = (self.states.get()?, self.flux.get()?);
        let fluxes = [flux_x.into_values()?, flux_y.into_values()?];
        let mut scratch = self.idle_scratch().pop().unwrap_or_default();
        let done = scratch.evaluate(patch, &*states, &*flux, state, rate, fluxes);
        self.idle_scratch().push(scratch);
        done.map_err(|error| error.context(patch))
    }
}

impl InviscidFlux {
    fn idle_scratch(&self) -> MutexGuard<'_, Vec<Scratch>> {
        // Data that a panic left in an array is overwritten before it is read.
        self.scratch
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The arrays of one evaluation; they grow to the largest patch and stay.
#[derive(Default)]
struct Scratch {
    primitive: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Scratch {
    fn evaluate(
        &mut self,
        patch: Patch,
        states: &impl StatesPort,
        flux: &impl FluxPort,
        state: States<'_>,
        rate: StatesMut<'_>,
        fluxes: [&mut [f64]; 2],
    ) -> Result<(), PortError> {
        let shape = patch.shape;
        self.resize(shape);
        let bad_cell = PortError::failed;
        to_primitive(shape, GAMMA, state.values()?, &mut self.primitive).map_err(bad_cell)?;
        let rate = rate.into_values()?;
        rate.fill(0.0);
        let sweeps = [(Axis::X, patch.dx), (Axis::Y, patch.dy)];
        for ((axis, spacing), face_flux) in sweeps.into_iter().zip(fluxes) {
            states.compute(
                axis,
                States::new(shape, &self.primitive)?,
                StatesMut::new(shape, &mut self.left)?,
                StatesMut::new(shape, &mut self.right)?,
            )?;
            flux.compute(
                axis,
                States::new(shape, &self.left)?,
                States::new(shape, &self.right)?,
                StatesMut::new(shape, face_flux)?,
            )?;
            subtract_divergence(axis, shape, spacing, face_flux, rate);
        }
        Ok(())
    }

    fn resize(&mut self, shape: Shape) {
        for array in [&mut self.primitive, &mut self.left, &mut self.right] {
            array.resize(shape.len(), 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use hydro_ports::{GHOST, NVAR, Sides, conserved};

    use super::*;

    /// Counts its calls and gives every face the state of its lower cell, or the flux 2.
    #[derive(Default)]
    struct Counting {
        along_x: AtomicU64,
        along_y: AtomicU64,
    }

    impl Counting {
        fn count(&self, axis: Axis) {
            let counter = if axis == Axis::X {
                &self.along_x
            } else {
                &self.along_y
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }

        fn counts(&self) -> (u64, u64) {
            let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            (count(&self.along_x), count(&self.along_y))
        }
    }

    impl StatesPort for Counting {
        fn compute(
            &self,
            axis: Axis,
            cells: States<'_>,
            left: StatesMut<'_>,
            right: StatesMut<'_>,
        ) -> Result<(), PortError> {
            self.count(axis);
            left.into_values()?.copy_from_slice(cells.values()?);
            right.into_values()?.copy_from_slice(cells.values()?);
            Ok(())
        }
    }

    impl FluxPort for Counting {
        fn compute(
            &self,
            axis: Axis,
            _: States<'_>,
            _: States<'_>,
            flux: StatesMut<'_>,
        ) -> Result<(), PortError> {
            self.count(axis);
            flux.into_values()?.fill(2.0);
            Ok(())
        }
    }

    fn patch(nx: usize, ny: usize) -> Patch {
        let shape = Shape {
            nx,
            ny,
            ghost: GHOST,
        };
        Patch {
            id: 7,
            level: 0,
            shape,
            i0: 0,
            j0: 0,
            x_lower: 0.0,
            y_lower: 0.0,
            dx: 0.5,
            dy: 0.5,
            boundary: Sides::default(),
        }
    }

    fn evaluate(
        scratch: &mut Scratch,
        patch: Patch,
        pressure: f64,
        ports: (&Counting, &Counting),
    ) -> Result<Vec<f64>, PortError> {
        let shape = patch.shape;
        let gas = conserved(GAMMA, [1.0, 0.5, 0.0, pressure, 0.0]);
        let state: Vec<f64> = (0..NVAR * shape.plane())
            .map(|k| gas[k / shape.plane()])
            .collect();
        let array = || vec![f64::NAN; shape.len()];
        let (mut rate, mut flux_x, mut flux_y) = (array(), array(), array());
        let done = scratch.evaluate(
            patch,
            ports.0,
            ports.1,
            States::new(shape, &state)?,
            StatesMut::new(shape, &mut rate)?,
            [&mut flux_x, &mut flux_y],
        );
        done.map(|()| rate)
    }

    #[test]
    fn an_evaluation_is_two_calls_of_states_and_two_of_flux() {
        let (states, flux) = (Counting::default(), Counting::default());
        let mut scratch = Scratch::default();
        // A larger patch after a smaller one, and the smaller one again.
        for (nx, ny) in [(3, 2), (6, 5), (3, 2)] {
            let rate = evaluate(&mut scratch, patch(nx, ny), 1.0, (&states, &flux));
            let rate = rate.expect("a rate");
            assert!(rate.iter().all(|rate| *rate == 0.0), "uniform fluxes");
        }
        assert_eq!((states.counts(), flux.counts()), ((3, 3), (3, 3)));
    }

    #[test]
    fn a_state_that_is_none_stops_before_the_first_call() {
        let (states, flux) = (Counting::default(), Counting::default());
        let mut scratch = Scratch::default();
        let error = evaluate(&mut scratch, patch(3, 2), -1.0, (&states, &flux));
        let message = error.expect_err("no state").to_string();
        assert!(
            message.starts_with("cannot use state of cell \"(0, 0)\""),
            "{message}"
        );
        assert_eq!(states.counts(), (0, 0));
    }
}
