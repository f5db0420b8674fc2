//! Two constant states with a jump between them.

use hydro_ports::{NVAR, conserved};

/// Shares of a cell are multiples of this power of two.
const ROUNDING: f64 = 1.0 / (1u64 << 40) as f64;

/// A Riemann problem in x: one constant state on each side of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiemannProblem {
    /// Ratio of specific heats, > 1.
    pub gamma: f64,
    /// Primitive state `(rho, u, v, p, z)` left of the jump.
    pub left: [f64; NVAR],
    /// Primitive state right of the jump.
    pub right: [f64; NVAR],
    /// Position of the jump.
    pub x0: f64,
}

impl RiemannProblem {
    /// Sod's problem with the jump at 0.5 and the tracer on the right, `gamma` 1.4.
    pub const SOD: RiemannProblem = RiemannProblem {
        gamma: 1.4,
        left: [1.0, 0.0, 0.0, 1.0, 0.0],
        right: [0.125, 0.0, 0.0, 0.1, 1.0],
        x0: 0.5,
    };

    /// The conserved mean state of a cell, to 1e-12 also for the cell that holds the jump.
    ///
    /// # Arguments
    /// * `x` - centre of the cell
    /// * `dx` - its size along x, > 0
    pub fn conserved(&self, x: f64, dx: f64) -> [f64; NVAR] {
        let share = ((self.x0 - x) / dx + 0.5).clamp(0.0, 1.0);
        // A jump on a face leaves no trace of rounding in its two cells.
        let on_left = (share / ROUNDING).round() * ROUNDING;
        let (left, right) = (
            conserved(self.gamma, self.left),
            conserved(self.gamma, self.right),
        );
        std::array::from_fn(|k| on_left * left[k] + (1.0 - on_left) * right[k])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_left_right_and_across_the_jump() {
        let sod = RiemannProblem::SOD;
        assert_eq!(
            sod.conserved(0.45, 0.1),
            [1.0, 0.0, 0.0, 1.0 / (1.4 - 1.0), 0.0]
        );
        assert_eq!(sod.conserved(0.55, 0.1)[0], 0.125);
        assert!((sod.conserved(0.525, 0.1)[0] - (0.25 + 0.75 * 0.125)).abs() < 1e-12);
    }
}
