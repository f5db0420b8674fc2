//! The component classes: one for each problem.

use std::sync::Arc;

use cca_ports::{Component, Parameter, ParameterSet, PortError, Services, component};
use hydro_ports::{GAMMA, InitialConditionPort, NVAR, Patch, StatesMut};

use crate::{RiemannProblem, ShockInterface, ShockInterfaceParameters};

/// A shock in air before an oblique interface with a heavier gas: the case study's problem.
#[component(class = "hydro.ShockInterface", version = "1.0")]
struct ShockInterfaceComponent {
    mach: Parameter<f64>,
    density_ratio: Parameter<f64>,
    angle_deg: Parameter<f64>,
    shock_x: Parameter<f64>,
    interface_x: Parameter<f64>,
    samples: Parameter<i64>,
}

/// Two constant states with a jump at one x, by default Sod's shock tube.
#[component(class = "hydro.RiemannProblem", version = "1.0")]
struct RiemannProblemComponent {
    left: [Parameter<f64>; NVAR],
    right: [Parameter<f64>; NVAR],
    x0: Parameter<f64>,
}

impl Component for ShockInterfaceComponent {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let default = ShockInterfaceParameters::default();
        let position = |key: &str, default: f64, help: &str| {
            let parameter = parameters.real(key, default).unit("channel height");
            parameter.help(help).add()
        };
        let real = |key: &str, default: f64, (lower, upper): (f64, f64), unit: &str| {
            let parameter = parameters.real(key, default);
            parameter.bounds(lower, upper).unit(unit)
        };
        let component = Arc::new(ShockInterfaceComponent {
            mach: real("mach", default.mach, (1.0, 100.0), "1")
                .help("Mach number of the shock in air")
                .add()?,
            density_ratio: real("density_ratio", default.density_ratio, (1e-3, 1e3), "1")
                .help("density of the gas behind the interface over that of air")
                .add()?,
            angle_deg: real("angle_deg", default.angle_deg, (-89.0, 89.0), "degrees")
                .help("angle between the shock front and the interface")
                .add()?,
            shock_x: position("shock_x", default.shock_x, "where the shock starts")?,
            interface_x: position("interface_x", default.interface_x, "the interface at y = 0")?,
            samples: parameters
                .integer("samples", default.samples as i64)
                .bounds(1.0, 64.0)
                .help("samples along each side of a cell for its share of the heavier gas")
                .add()?,
        });
        services.add_provides_port::<dyn InitialConditionPort, _>("ic", &component)?;
        Ok(component)
    }
}

impl InitialConditionPort for ShockInterfaceComponent {
    fn initialise(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError> {
        let problem = ShockInterface::new(ShockInterfaceParameters {
            gamma: GAMMA,
            mach: self.mach.get(),
            density_ratio: self.density_ratio.get(),
            angle_deg: self.angle_deg.get(),
            shock_x: self.shock_x.get(),
            interface_x: self.interface_x.get(),
            samples: self.samples.get() as usize,
        });
        let problem = problem.map_err(PortError::failed)?;
        let (dx, dy) = (patch.dx, patch.dy);
        fill(patch, state, |x, y| problem.conserved(x, y, dx, dy))
    }
}

impl Component for RiemannProblemComponent {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let sod = RiemannProblem::SOD;
        let component = Arc::new(RiemannProblemComponent {
            left: side(&parameters, "left", sod.left)?,
            right: side(&parameters, "right", sod.right)?,
            x0: parameters
                .real("x0", sod.x0)
                .help("position of the jump")
                .add()?,
        });
        services.add_provides_port::<dyn InitialConditionPort, _>("ic", &component)?;
        Ok(component)
    }
}

/// Adds the parameters of one side's state.
fn side(
    parameters: &Arc<ParameterSet>,
    side: &str,
    [rho, u, v, p, z]: [f64; NVAR],
) -> Result<[Parameter<f64>; NVAR], PortError> {
    let add = |name: &str, default: f64, bounds: Option<(f64, f64)>, help: &str| {
        let parameter = parameters.real(&format!("{side}_{name}"), default);
        let parameter = match bounds {
            Some((lower, upper)) => parameter.bounds(lower, upper),
            None => parameter,
        };
        parameter.help(&format!("{help} on the {side}")).add()
    };
    let positive = Some((f64::MIN_POSITIVE, f64::MAX));
    Ok([
        add("rho", rho, positive, "density")?,
        add("u", u, None, "velocity along x")?,
        add("v", v, None, "velocity along y")?,
        add("p", p, positive, "pressure")?,
        add("z", z, Some((0.0, 1.0)), "mass fraction of the tracer")?,
    ])
}

impl InitialConditionPort for RiemannProblemComponent {
    fn initialise(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError> {
        let problem = RiemannProblem {
            gamma: GAMMA,
            left: self.left.each_ref().map(Parameter::get),
            right: self.right.each_ref().map(Parameter::get),
            x0: self.x0.get(),
        };
        fill(patch, state, |x, _| problem.conserved(x, patch.dx))
    }
}

/// Gives each interior cell the state of its centre.
fn fill(
    patch: Patch,
    state: StatesMut<'_>,
    state_at: impl Fn(f64, f64) -> [f64; NVAR],
) -> Result<(), PortError> {
    let shape = patch.shape;
    shape.check("state", state.shape())?;
    let values = state.into_values()?;
    for (j, row) in shape.interior_rows().take(shape.ny).enumerate() {
        for i in 0..shape.nx {
            let (x, y) = patch.centre(i, j);
            for (variable, value) in state_at(x, y).into_iter().enumerate() {
                values[variable * shape.plane() + row + i] = value;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hydro_ports::{GHOST, Shape, Sides};

    use super::*;

    #[test]
    fn interior_cells_get_the_state_of_their_centres() {
        let shape = Shape {
            nx: 3,
            ny: 2,
            ghost: GHOST,
        };
        let patch = Patch {
            id: 0,
            level: 0,
            shape,
            i0: 10,
            j0: 20,
            x_lower: 1.0,
            y_lower: 5.0,
            dx: 0.1,
            dy: 0.25,
            boundary: Sides::default(),
        };
        let mut values = vec![f64::NAN; shape.len()];
        let state = StatesMut::new(shape, &mut values).expect("an array");
        fill(patch, state, |x, y| [x, y, 0.0, 0.0, 0.0]).expect("filled");
        let first = GHOST * shape.row() + GHOST;
        assert!((values[first] - 1.05).abs() < 1e-14);
        let last = first + shape.row() + 2;
        assert!((values[last] - 1.25).abs() < 1e-14);
        assert!((values[shape.plane() + last] - 5.375).abs() < 1e-14);
        assert_eq!(values.iter().filter(|v| v.is_finite()).count(), NVAR * 6);
    }
}
