//! A shock in air that runs towards an oblique interface with a heavier gas.
//!
//! ```text
//!   y                    / interface: x = interface_x + y tan(angle)
//!   |  post-  |  air    /
//!   |  shock  |        /    Freon
//!   |     --> |       /
//!   +---------+------+----------------- x
//!          shock_x   interface_x
//! ```

use hydro_ports::{NVAR, conserved, rankine_hugoniot};
use thiserror::Error;

/// The parameters of the problem, in units of the pressure ahead of the shock, the density of air
/// and the height of the channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShockInterfaceParameters {
    /// Ratio of specific heats of both gases, > 1.
    pub gamma: f64,
    /// Mach number of the shock in air, >= 1.
    pub mach: f64,
    /// Density of Freon over that of air, > 0.
    pub density_ratio: f64,
    /// Angle between the shock front and the interface, degrees, within ±90.
    pub angle_deg: f64,
    /// Position of the shock.
    pub shock_x: f64,
    /// Position of the interface at y = 0.
    pub interface_x: f64,
    /// Samples a cell and direction for the share of Freon in it, >= 1.
    pub samples: usize,
}

impl Default for ShockInterfaceParameters {
    /// Case study, section 2: Mach 1.5, density ratio 3, 30 degrees, 4 × 4 samples.
    fn default() -> Self {
        Self {
            gamma: 1.4,
            mach: 1.5,
            density_ratio: 3.0,
            angle_deg: 30.0,
            shock_x: 0.25,
            interface_x: 0.5,
            samples: 4,
        }
    }
}

/// A parameter outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("cannot use parameter \"{name}\": {found}, expected {expected}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub name: &'static str,
    /// Its value.
    pub found: f64,
    /// The values that it may have.
    pub expected: &'static str,
}

/// The initial condition, with everything that does not depend on the cell computed once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShockInterface {
    parameters: ShockInterfaceParameters,
    tangent: f64,
    /// Conserved state behind the shock.
    behind: [f64; NVAR],
}

impl ShockInterface {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`ParameterError`] for the first parameter outside its range.
    pub fn new(parameters: ShockInterfaceParameters) -> Result<Self, ParameterError> {
        let ShockInterfaceParameters {
            gamma,
            mach,
            density_ratio,
            angle_deg,
            samples,
            ..
        } = parameters;
        let ShockInterfaceParameters {
            shock_x,
            interface_x,
            ..
        } = parameters;
        for (name, found, expected, good) in [
            ("gamma", gamma, "above 1", gamma > 1.0 && gamma.is_finite()),
            ("mach", mach, "at least 1", mach >= 1.0 && mach.is_finite()),
            (
                "density_ratio",
                density_ratio,
                "above 0",
                density_ratio > 0.0 && density_ratio.is_finite(),
            ),
            (
                "angle_deg",
                angle_deg,
                "within -90 and 90 degrees",
                angle_deg.abs() < 90.0,
            ),
            ("shock_x", shock_x, "a finite position", shock_x.is_finite()),
            (
                "interface_x",
                interface_x,
                "a finite position",
                interface_x.is_finite(),
            ),
            ("samples", samples as f64, "at least 1", samples >= 1),
        ] {
            if !good {
                return Err(ParameterError {
                    name,
                    found,
                    expected,
                });
            }
        }
        let post = rankine_hugoniot(mach, gamma, 1.0, 1.0);
        let behind = conserved(gamma, [post.rho, post.u, 0.0, post.p, 0.0]);
        Ok(Self {
            parameters,
            tangent: angle_deg.to_radians().tan(),
            behind,
        })
    }

    /// The conserved state behind the shock, which also enters from the left.
    pub fn post_shock(&self) -> [f64; NVAR] {
        self.behind
    }

    /// The conserved mean state of a cell.
    ///
    /// A cell is behind the shock if its centre is; the interface is averaged over the cell, in
    /// density and in the mass of the tracer.
    ///
    /// # Arguments
    /// * `x`, `y` - centre of the cell
    /// * `dx`, `dy` - its sizes, > 0
    ///
    /// # Source
    /// Case study, section 2: `rho = 1 + (eta - 1) f`, `z = f eta / rho`, `f` the share of the
    /// cell's area right of the interface.
    pub fn conserved(&self, x: f64, y: f64, dx: f64, dy: f64) -> [f64; NVAR] {
        if x < self.parameters.shock_x {
            return self.behind;
        }
        let eta = self.parameters.density_ratio;
        let share = self.share_of_freon(x, y, dx, dy);
        let rho = 1.0 + (eta - 1.0) * share;
        conserved(
            self.parameters.gamma,
            [rho, 0.0, 0.0, 1.0, share * eta / rho],
        )
    }

    /// Share of the cell's area right of the interface, from `samples × samples` points.
    fn share_of_freon(&self, x: f64, y: f64, dx: f64, dy: f64) -> f64 {
        let n = self.parameters.samples;
        let offset = |k: usize| (k as f64 + 0.5) / n as f64 - 0.5;
        let on_row = |j: usize| {
            let interface = self.parameters.interface_x + (y + offset(j) * dy) * self.tangent;
            (0..n).filter(|&i| x + offset(i) * dx >= interface).count()
        };
        (0..n).map(on_row).sum::<usize>() as f64 / (n * n) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(
        change: impl FnOnce(&mut ShockInterfaceParameters),
    ) -> Result<ShockInterface, ParameterError> {
        let mut parameters = ShockInterfaceParameters::default();
        change(&mut parameters);
        ShockInterface::new(parameters)
    }

    #[test]
    fn three_regions() {
        let initial = problem(|_| ()).expect("a problem");
        let h = 1.0 / 32.0;
        let [rho, mx, my, energy, tracer] = initial.conserved(0.1, 0.5, h, h);
        assert_eq!([rho, my, tracer], [54.0 / 29.0, 0.0, 0.0]);
        assert!((mx - rho * 0.8216777477).abs() < 1e-9);
        assert!((energy - (59.0 / 24.0 / 0.4 + 0.5 * mx * mx / rho)).abs() < 1e-14);
        let at_rest = 1.0 / (1.4 - 1.0);
        assert_eq!(
            initial.conserved(0.4, 0.1, h, h),
            [1.0, 0.0, 0.0, at_rest, 0.0]
        );
        assert_eq!(
            initial.conserved(2.0, 0.9, h, h),
            [3.0, 0.0, 0.0, at_rest, 3.0]
        );
        assert_eq!(initial.post_shock(), initial.conserved(0.0, 0.0, h, h));
    }

    #[test]
    fn the_mass_of_freon_is_its_area_times_its_density() {
        let initial = problem(|parameters| parameters.samples = 16).expect("a problem");
        let (nx, ny) = (96, 32);
        let h = 1.0 / 32.0;
        let cell = |k: usize| ((k % nx) as f64 + 0.5, (k / nx) as f64 + 0.5);
        let states = (0..nx * ny).map(|k| initial.conserved(cell(k).0 * h, cell(k).1 * h, h, h));
        let mass: f64 = states.map(|state| state[4] * h * h).sum();
        let area = 2.5 - 0.5 * 30f64.to_radians().tan();
        assert!(
            (mass - 3.0 * area).abs() < 1e-3,
            "{mass}, expected {}",
            3.0 * area
        );
    }

    #[test]
    fn a_parameter_outside_its_range_is_named() {
        let error = problem(|parameters| parameters.mach = 0.5).expect_err("no shock");
        assert_eq!(
            error.to_string(),
            "cannot use parameter \"mach\": 0.5, expected at least 1"
        );
        assert_eq!(
            problem(|p| p.samples = 0).expect_err("none").name,
            "samples"
        );
        assert_eq!(
            problem(|p| p.angle_deg = f64::NAN).expect_err("none").name,
            "angle_deg"
        );
        assert_eq!(
            problem(|p| p.density_ratio = 0.0).expect_err("none").name,
            "density_ratio"
        );
    }
}
