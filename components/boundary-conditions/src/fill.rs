//! The types of boundary and how each fills ghost cells.

use hydro_ports::{NVAR, Shape};

/// A side of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side of small x.
    XLow = 0,
    /// The side of large x.
    XHigh = 1,
    /// The side of small y.
    YLow = 2,
    /// The side of large y.
    YHigh = 3,
}

impl Side {
    /// All sides, in the order in which they must be filled, which is also the order of their
    /// numbers.
    pub const ALL: [Side; 4] = [Side::XLow, Side::XHigh, Side::YLow, Side::YHigh];
}

/// Condition beyond a physical side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Boundary {
    /// One conserved state `(rho, rho u, rho v, E, rho z)`, such as the gas behind a shock.
    Fixed([f64; NVAR]),
    /// The state of the nearest cell: waves leave, nearly without reflection.
    ZeroGradient,
    /// The mirror image with the normal momentum reversed: a wall without friction.
    Reflecting,
}

/// Fills the ghost cells beyond the physical sides of a patch, corners included.
///
/// # Arguments
/// * `sides` - condition beyond each side, in the order of [`Side::ALL`]; `None` for a side that is
///   inside the domain and stays as it is
/// * `u` - conserved states, shape `[NVAR][ny + 2g][nx + 2g]`
///
/// # Panics
/// As [`fill_side`].
pub fn fill_sides(shape: Shape, sides: [Option<Boundary>; 4], u: &mut [f64]) {
    for (side, boundary) in Side::ALL.into_iter().zip(sides) {
        if let Some(boundary) = boundary {
            fill_side(shape, side, boundary, u);
        }
    }
}

/// Fills the ghost cells beyond one side, over the whole length of the array.
///
/// Sides across x come first, those across y after them: then the corners are filled from beyond
/// the side across y, taken from ghost columns that are already filled.
///
/// # Arguments
/// * `u` - conserved states, shape `[NVAR][ny + 2g][nx + 2g]`
///
/// # Panics
/// If `u` is shorter than `shape.len()`, or the patch has no cell, or a reflecting side has fewer
/// cells across it than ghost cells.
///
/// # Source
/// Case study, section 2 (boundary conditions).
pub fn fill_side(shape: Shape, side: Side, boundary: Boundary, u: &mut [f64]) {
    let walk = Walk::new(shape, side);
    for variable in 0..NVAR {
        let plane = &mut u[variable * shape.plane()..][..shape.plane()];
        let (mirrored, sign) = match boundary {
            Boundary::Fixed(state) => {
                walk.each(|ghost, _| plane[ghost] = state[variable]);
                continue;
            }
            Boundary::ZeroGradient => (false, 1.0),
            Boundary::Reflecting => (true, if variable == walk.normal { -1.0 } else { 1.0 }),
        };
        walk.each(|ghost, layer| {
            let depth = if mirrored { 2 * layer + 1 } else { layer + 1 };
            plane[ghost] = sign * plane[walk.inward(ghost, depth)];
        });
    }
}

/// The ghost cells beyond one side, layer by layer outwards.
struct Walk {
    /// Ghost cell of the first layer, at the beginning of the side.
    first: usize,
    /// Step to the next cell inwards; outwards is the opposite.
    inwards: isize,
    /// Step along the side.
    along: usize,
    /// Cells along the side, ghost cells included.
    length: usize,
    layers: usize,
    /// Variable that holds the momentum across the side.
    normal: usize,
}

impl Walk {
    fn new(shape: Shape, side: Side) -> Self {
        let (row, g) = (shape.row(), shape.ghost);
        let across_x = matches!(side, Side::XLow | Side::XHigh);
        let (first, inwards) = match side {
            Side::XLow => (g.saturating_sub(1), 1),
            Side::XHigh => (g + shape.nx, -1),
            Side::YLow => (g.saturating_sub(1) * row, row as isize),
            Side::YHigh => ((g + shape.ny) * row, -(row as isize)),
        };
        let (along, length, normal) = if across_x {
            (row, shape.rows(), 1)
        } else {
            (1, row, 2)
        };
        let cells = if across_x { shape.nx } else { shape.ny };
        assert!(cells >= g, "cannot fill {g} ghost cells from {cells} cells");
        Self {
            first,
            inwards,
            along,
            length,
            layers: g,
            normal,
        }
    }

    /// Calls `visit` with the index of every ghost cell and its layer, 0 next to the side.
    fn each(&self, mut visit: impl FnMut(usize, usize)) {
        for layer in 0..self.layers {
            let start = self
                .first
                .wrapping_add_signed(-self.inwards * layer as isize);
            for k in 0..self.length {
                visit(start + k * self.along, layer);
            }
        }
    }

    /// The cell `depth` steps inwards of a ghost cell.
    fn inward(&self, ghost: usize, depth: usize) -> usize {
        ghost.wrapping_add_signed(self.inwards * depth as isize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        nx: 4,
        ny: 3,
        ghost: 2,
    };
    const FILLED: f64 = 100.0;

    /// Interior cells count up; ghost cells are NaN.
    fn patch() -> Vec<f64> {
        let interior = |k: usize| {
            let (i, j) = (k % SHAPE.row(), k % SHAPE.plane() / SHAPE.row());
            (2..6).contains(&i) && (2..5).contains(&j)
        };
        (0..SHAPE.len())
            .map(|k| if interior(k) { k as f64 } else { f64::NAN })
            .collect()
    }

    fn at(variable: usize, i: usize, j: usize) -> usize {
        variable * SHAPE.plane() + j * SHAPE.row() + i
    }

    #[test]
    fn zero_gradient_repeats_the_nearest_cell() {
        let mut u = patch();
        fill_sides(SHAPE, [Some(Boundary::ZeroGradient); 4], &mut u);
        for (k, value) in u.iter().enumerate() {
            let (variable, i, j) = (
                k / SHAPE.plane(),
                k % SHAPE.row(),
                k % SHAPE.plane() / SHAPE.row(),
            );
            assert_eq!(*value, at(variable, i.clamp(2, 5), j.clamp(2, 4)) as f64);
        }
    }

    #[test]
    fn a_wall_mirrors_and_turns_the_normal_momentum() {
        let mut u = patch();
        fill_sides(SHAPE, [Some(Boundary::Reflecting); 4], &mut u);
        for variable in 0..NVAR {
            let (x, y) = (
                if variable == 1 { -1.0 } else { 1.0 },
                if variable == 2 { -1.0 } else { 1.0 },
            );
            let cell = |i, j| at(variable, i, j) as f64;
            assert_eq!(
                [u[at(variable, 1, 3)], u[at(variable, 0, 3)]],
                [x * cell(2, 3), x * cell(3, 3)]
            );
            assert_eq!(
                [u[at(variable, 6, 3)], u[at(variable, 7, 3)]],
                [x * cell(5, 3), x * cell(4, 3)]
            );
            assert_eq!(
                [u[at(variable, 4, 1)], u[at(variable, 4, 0)]],
                [y * cell(4, 2), y * cell(4, 3)]
            );
            assert_eq!(
                [u[at(variable, 4, 5)], u[at(variable, 4, 6)]],
                [y * cell(4, 4), y * cell(4, 3)]
            );
            assert_eq!(u[at(variable, 0, 0)], x * y * cell(3, 3));
        }
    }

    #[test]
    fn a_fixed_state_fills_one_side_only() {
        let mut u = patch();
        let state = [1.0, 2.0, 3.0, 4.0, 5.0].map(|value| FILLED + value);
        fill_side(SHAPE, Side::XLow, Boundary::Fixed(state), &mut u);
        for (k, value) in u.iter().enumerate() {
            if k % SHAPE.row() < 2 {
                assert_eq!(*value, state[k / SHAPE.plane()]);
            } else {
                assert_eq!(value.to_bits(), patch()[k].to_bits());
            }
        }
    }

    #[test]
    fn sides_inside_the_domain_stay() {
        let mut u = patch();
        fill_sides(
            SHAPE,
            [None, None, Some(Boundary::ZeroGradient), None],
            &mut u,
        );
        assert!(u[at(0, 1, 3)].is_nan() && u[at(0, 3, 5)].is_nan());
        assert_eq!(u[at(0, 3, 0)], at(0, 3, 2) as f64);
    }
}
