//! The component class.

use std::sync::Arc;

use cca_ports::{Component, Parameter, PortError, Services, component};
use hydro_ports::{BoundaryPort, GAMMA, Patch, StatesMut, conserved, rankine_hugoniot};

use crate::{Boundary, fill_sides};

/// Fills the ghost cells beyond the domain: fixed state, outflow or reflecting wall at each side.
#[component(class = "hydro.BoundaryConditions", version = "1.0")]
struct BoundaryConditions {
    /// In the order of [`crate::Side::ALL`].
    conditions: [Parameter<String>; 4],
    mach: Parameter<f64>,
}

impl Component for BoundaryConditions {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let side = |key: &str, default: &str| {
            let parameter = parameters.text(key, default);
            let parameter = parameter.choices(&["fixed", "outflow", "reflecting"]);
            parameter.help("what lies beyond this side").add()
        };
        let conditions = [
            side("left", "fixed")?,
            side("right", "outflow")?,
            side("bottom", "reflecting")?,
            side("top", "reflecting")?,
        ];
        let mach = parameters.real("mach", 1.5).bounds(1.0, 100.0).unit("1");
        let mach =
            mach.help("the fixed state is air behind a shock to the right, of this Mach number");
        let mach = mach.add()?;
        let component = Arc::new(BoundaryConditions { conditions, mach });
        services.add_provides_port::<dyn BoundaryPort, _>("bc", &component)?;
        Ok(component)
    }
}

impl BoundaryPort for BoundaryConditions {
    fn fill(&self, patch: Patch, state: StatesMut<'_>) -> Result<(), PortError> {
        patch.shape.check("state", state.shape())?;
        let on_boundary = patch.boundary;
        let on_boundary = [
            on_boundary.left,
            on_boundary.right,
            on_boundary.bottom,
            on_boundary.top,
        ];
        let mach = self.mach.get();
        let sides = std::array::from_fn(|side| {
            on_boundary[side].then(|| boundary(&self.conditions[side].get(), mach))
        });
        fill_sides(patch.shape, sides, state.into_values()?);
        Ok(())
    }
}

/// The boundary that a parameter's text names.
fn boundary(kind: &str, mach: f64) -> Boundary {
    match kind {
        "fixed" => {
            let post = rankine_hugoniot(mach, GAMMA, 1.0, 1.0);
            Boundary::Fixed(conserved(GAMMA, [post.rho, post.u, 0.0, post.p, 0.0]))
        }
        "outflow" => Boundary::ZeroGradient,
        _ => Boundary::Reflecting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_state_is_behind_the_shock() {
        let Boundary::Fixed([rho, momentum, ..]) = boundary("fixed", 1.5) else {
            panic!("not fixed");
        };
        assert!((rho - 54.0 / 29.0).abs() < 1e-12);
        assert!((momentum / rho - 0.8216777477).abs() < 1e-9);
        assert_eq!(boundary("outflow", 1.5), Boundary::ZeroGradient);
        assert_eq!(boundary("reflecting", 1.5), Boundary::Reflecting);
    }
}
