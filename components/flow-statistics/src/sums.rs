//! Contributions of the patches, and the whole.

use hydro_ports::{GAMMA, NVAR, Patch, Statistics, primitive};

/// Contribution of one patch to the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PatchSums {
    /// Identifier of the patch.
    pub id: u64,
    /// Integrals over the patch, its largest density and pressure.
    pub part: Statistics,
}

impl PatchSums {
    /// Doubles of [`PatchSums::to_values`].
    pub const LEN: usize = 8;

    /// Sums over the interior of a patch.
    ///
    /// Vorticity is `dv/dx - du/dy` by central differences. Cells are added row by row, then the rows, which keeps the
    /// rounding small.
    ///
    /// # Arguments
    /// * `u` - conserved states `(rho, rho u, rho v, E, rho z)`, shape `[NVAR][ny + 2g][nx + 2g]`, one ghost cell filled
    ///   on each side
    ///
    /// # Panics
    /// If `u` is shorter than `patch.shape.len()`, or the patch has no ghost cell.
    ///
    /// # Source
    /// Case study, section 5.1.
    pub fn of(patch: Patch, u: &[f64]) -> Self {
        let shape = patch.shape;
        assert!(shape.ghost > 0, "cannot take vorticity without ghost cells");
        let variable = |variable: usize, k: usize| u[variable * shape.plane() + k];
        let velocity = |component: usize, k: usize| variable(component, k) / variable(0, k);
        let mut part = Statistics::default();
        let mut integrals = [0.0; 5];
        for row in shape.interior_rows().take(shape.ny) {
            let mut in_row = [0.0; 5];
            for k in row..row + shape.nx {
                let state: [f64; NVAR] = std::array::from_fn(|v| variable(v, k));
                let dv_dx = (velocity(2, k + 1) - velocity(2, k - 1)) / (2.0 * patch.dx);
                let (above, below) = (k + shape.row(), k - shape.row());
                let du_dy = (velocity(1, above) - velocity(1, below)) / (2.0 * patch.dy);
                let vorticity = dv_dx - du_dy;
                let [rho, _, _, energy, tracer] = state;
                let of_cell = [rho, energy, tracer, vorticity, vorticity.min(0.0)];
                add(&mut in_row, of_cell);
                let [.., pressure, _] = primitive(GAMMA, state);
                part.max_density = part.max_density.max(rho);
                part.max_pressure = part.max_pressure.max(pressure);
            }
            add(&mut integrals, in_row);
        }
        let area = patch.dx * patch.dy;
        [
            part.mass,
            part.energy,
            part.tracer,
            part.circulation,
            part.negative_circulation,
        ] = integrals.map(|integral| integral * area);
        PatchSums { id: patch.id, part }
    }

    /// The extremes alone, with integrals of 0: the contribution of a patch whose cells a coarser level
    /// covers.
    pub fn extremes(self) -> Self {
        let Statistics {
            max_density,
            max_pressure,
            ..
        } = self.part;
        let part = Statistics {
            max_density,
            max_pressure,
            ..Statistics::default()
        };
        PatchSums { part, ..self }
    }

    /// As numbers, to be sent.
    pub fn to_values(self) -> [f64; Self::LEN] {
        let Statistics {
            mass,
            energy,
            tracer,
            circulation,
            negative_circulation,
            max_density,
            max_pressure,
        } = self.part;
        [
            self.id as f64,
            mass,
            energy,
            tracer,
            circulation,
            negative_circulation,
            max_density,
            max_pressure,
        ]
    }

    /// The inverse of [`PatchSums::to_values`].
    pub fn from_values(values: [f64; Self::LEN]) -> Self {
        let [
            id,
            mass,
            energy,
            tracer,
            circulation,
            negative_circulation,
            max_density,
            max_pressure,
        ] = values;
        let part = Statistics {
            mass,
            energy,
            tracer,
            circulation,
            negative_circulation,
            max_density,
            max_pressure,
        };
        PatchSums {
            id: id as u64,
            part,
        }
    }
}

/// The whole from its patches, in any order.
pub fn total(mut patches: Vec<PatchSums>) -> Statistics {
    patches.sort_by_key(|patch| patch.id);
    let mut total = Statistics::default();
    for PatchSums { part, .. } in patches {
        total.mass += part.mass;
        total.energy += part.energy;
        total.tracer += part.tracer;
        total.circulation += part.circulation;
        total.negative_circulation += part.negative_circulation;
        total.max_density = total.max_density.max(part.max_density);
        total.max_pressure = total.max_pressure.max(part.max_pressure);
    }
    total
}

fn add(sums: &mut [f64; 5], values: [f64; 5]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests {
    use hydro_ports::{GHOST, Shape, Sides, conserved};

    use super::*;

    fn patch() -> Patch {
        Patch {
            id: 3,
            level: 0,
            shape: Shape {
                nx: 5,
                ny: 4,
                ghost: GHOST,
            },
            i0: 0,
            j0: 0,
            x_lower: 0.0,
            y_lower: 0.0,
            dx: 0.5,
            dy: 0.25,
            boundary: Sides::default(),
        }
    }

    /// A patch with the velocity of a rotating body plus a shear.
    fn array(omega: f64, shear: f64) -> Vec<f64> {
        let patch = patch();
        let shape = patch.shape;
        let mut u = vec![0.0; shape.len()];
        for k in 0..shape.plane() {
            let (x, y) = (
                (k % shape.row()) as f64 * patch.dx,
                (k / shape.row()) as f64 * patch.dy,
            );
            let state = [2.0, -omega * y + shear * y, omega * x, 0.5, 0.25];
            for (variable, value) in conserved(GAMMA, state).into_iter().enumerate() {
                u[variable * shape.plane() + k] = value;
            }
        }
        u
    }

    #[test]
    fn linear_velocity_has_its_vorticity_everywhere() {
        let area = 2.5 * 1.0;
        let sums = PatchSums::of(patch(), &array(0.75, 0.5)).part;
        assert!((sums.circulation - (1.5 - 0.5) * area).abs() < 1e-13);
        assert_eq!(sums.negative_circulation, 0.0);
        let sums = PatchSums::of(patch(), &array(-0.75, 0.0)).part;
        assert!((sums.circulation + 1.5 * area).abs() < 1e-13);
        assert_eq!(sums.negative_circulation, sums.circulation);
        assert!((sums.mass - 2.0 * area).abs() < 1e-14);
        assert!((sums.tracer - 0.5 * area).abs() < 1e-14);
        assert_eq!(sums.max_density, 2.0);
        assert!((sums.max_pressure - 0.5).abs() < 1e-14);
    }

    #[test]
    fn patches_are_added_in_the_same_order_on_every_split() {
        let at = |id: u64, mass: f64| PatchSums {
            id,
            part: Statistics {
                mass,
                ..Statistics::default()
            },
        };
        let (a, b, c) = (at(0, 1.0), at(1, 1e-16), at(2, 1e-16));
        let sums = total(vec![a, b, c]);
        assert_eq!(total(vec![c, a, b]), sums);
        assert_eq!(total(vec![b, c, a]), sums);
    }

    #[test]
    fn numbers_sent_and_read_are_the_same() {
        let sums = PatchSums::of(patch(), &array(0.75, 0.5));
        assert_eq!(PatchSums::from_values(sums.to_values()), sums);
    }
}
