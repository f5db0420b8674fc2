//! The component class.

use std::sync::Arc;

use cca_ports::{
    Component, GoPort, Parameter, PortError, ProgressPort, Services, UsesPort, component,
};
use hydro_ports::{Axis, FluxPort, Shape, States, StatesMut, StatesPort};

use crate::{Random, fill, shape, shuffled, sizes};

/// Calls a states and a flux component with arrays of many sizes, along both axes.
#[component(class = "hydro.SizeSweep", version = "1.0")]
struct SizeSweep {
    states: UsesPort<dyn StatesPort>,
    flux: UsesPort<dyn FluxPort>,
    progress: UsesPort<dyn ProgressPort>,
    parameters: Parameters,
}

struct Parameters {
    smallest: Parameter<f64>,
    largest: Parameter<f64>,
    sizes: Parameter<i64>,
    repetitions: Parameter<i64>,
    seed: Parameter<i64>,
}

impl Component for SizeSweep {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let size = |key: &str, default: f64, help: &str| {
            let parameter = parameters.real(key, default).bounds(180.0, 1e9);
            parameter.unit("doubles").help(help).add()
        };
        let count = |key: &str, default: i64, help: &str| {
            let parameter = parameters.integer(key, default).bounds(1.0, 1e6);
            parameter.unit("1").help(help).add()
        };
        let parameters = Parameters {
            smallest: size("smallest", 1e3, "size of the smallest array")?,
            largest: size("largest", 4e6, "size of the largest array")?,
            sizes: count("sizes", 32, "how many sizes")?,
            repetitions: count("repetitions", 10, "calls with each size along each axis")?,
            seed: count(
                "seed",
                1,
                "which sizes between the ends, their order, and what is in the arrays",
            )?,
        };
        let component = Arc::new(SizeSweep {
            states: services.register_uses_port("states")?,
            flux: services.register_uses_port("flux")?,
            progress: services.register_uses_port("progress")?,
            parameters,
        });
        services.add_provides_port::<dyn GoPort, _>("go", &component)?;
        Ok(component)
    }
}

impl GoPort for SizeSweep {
    fn go(&self) -> Result<(), PortError> {
        let (smallest, largest) = (
            self.parameters.smallest.get(),
            self.parameters.largest.get(),
        );
        if smallest > largest {
            return Err(PortError::failed(format_args!(
                "cannot sweep sizes: smallest {smallest} doubles, expected at most the largest, {largest}"
            )));
        }
        let n = self.parameters.sizes.get() as usize;
        let mut random = Random::new(self.parameters.seed.get() as u64);
        let sizes = sizes(smallest, largest, n, &mut random);
        let shapes: Vec<Shape> = sizes
            .into_iter()
            .map(|size| shape(size, &mut random))
            .collect();
        let longest = shapes.iter().map(Shape::len).max().unwrap_or(0);
        // Written once, so that no call is the first to touch a page.
        let mut arrays = Arrays(std::array::from_fn(|_| vec![1.0; longest]));
        let repetitions = self.parameters.repetitions.get();
        for repetition in 0..repetitions {
            // In another order each time, so that other load on the machine does not look like an effect of size.
            for place in shuffled(n, &mut random) {
                self.call(shapes[place], &mut arrays, &mut random)?;
            }
            let done = (repetition + 1) as f64 / repetitions as f64;
            let state = format!("repetition {} of {repetitions}", repetition + 1);
            self.progress.get()?.report(done, state.as_str().into())?;
        }
        Ok(())
    }
}

/// Room for cells, left and right states and fluxes of the largest patch.
struct Arrays([Vec<f64>; 4]);

impl SizeSweep {
    /// Both kernels along both axes of one patch with new values.
    fn call(
        &self,
        shape: Shape,
        arrays: &mut Arrays,
        random: &mut Random,
    ) -> Result<(), PortError> {
        let (states, flux) = (self.states.get()?, self.flux.get()?);
        let [cells, left, right, fluxes] =
            arrays.0.each_mut().map(|array| &mut array[..shape.len()]);
        fill(shape, cells, random);
        // Faces that the states component does not write are not read by the flux component, but must be there.
        for axis in [Axis::X, Axis::Y] {
            states.compute(
                axis,
                States::new(shape, cells)?,
                StatesMut::new(shape, left)?,
                StatesMut::new(shape, right)?,
            )?;
            flux.compute(
                axis,
                States::new(shape, left)?,
                States::new(shape, right)?,
                StatesMut::new(shape, fluxes)?,
            )?;
        }
        Ok(())
    }
}
