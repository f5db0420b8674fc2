//! The combinations of states and rates.

use hydro_ports::Shape;

/// The first stage, an Euler step: `stage = u + dt rate`, on the interior.
///
/// # Arguments
/// * `dt` - time step
/// * `u` - conserved states, shape `[NVAR][ny + 2g][nx + 2g]`
/// * `rate` - `L(u)`, same shape
/// * `stage` - output `U1`, same shape; its ghost cells stay as they are
///
/// # Panics
/// If an array is shorter than `shape.len()`.
///
/// # Source
/// Case study, section 4.5.
pub fn first_stage(shape: Shape, dt: f64, u: &[f64], rate: &[f64], stage: &mut [f64]) {
    for row in shape.interior_rows() {
        let inputs = u[row..][..shape.nx].iter().zip(&rate[row..][..shape.nx]);
        for (stage, (u, rate)) in stage[row..][..shape.nx].iter_mut().zip(inputs) {
            *stage = u + dt * rate;
        }
    }
}

/// The second stage: `u = (u + stage + dt rate) / 2`, on the interior.
///
/// # Arguments
/// * `dt` - time step
/// * `stage` - `U1`, shape `[NVAR][ny + 2g][nx + 2g]`
/// * `rate` - `L(U1)`, same shape
/// * `u` - conserved states before the step, replaced by those after it; ghost cells stay
///
/// # Panics
/// If an array is shorter than `shape.len()`.
///
/// # Source
/// Case study, section 4.5.
pub fn second_stage(shape: Shape, dt: f64, stage: &[f64], rate: &[f64], u: &mut [f64]) {
    for row in shape.interior_rows() {
        let inputs = stage[row..][..shape.nx]
            .iter()
            .zip(&rate[row..][..shape.nx]);
        for (u, (stage, rate)) in u[row..][..shape.nx].iter_mut().zip(inputs) {
            *u = 0.5 * (*u + stage + dt * rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use hydro_ports::NVAR;

    use super::*;

    const SHAPE: Shape = Shape {
        nx: 3,
        ny: 2,
        ghost: 2,
    };

    /// One step of `u' = a u` on the interior; ghost cells are -1.
    fn step(a: f64, dt: f64) -> Vec<f64> {
        let mut u = vec![-1.0; SHAPE.len()];
        SHAPE
            .interior_rows()
            .for_each(|row| u[row..][..SHAPE.nx].fill(1.0));
        let mut stage = u.clone();
        let rate: Vec<f64> = u.iter().map(|u| a * u).collect();
        first_stage(SHAPE, dt, &u, &rate, &mut stage);
        let rate: Vec<f64> = stage.iter().map(|u| a * u).collect();
        second_stage(SHAPE, dt, &stage, &rate, &mut u);
        u
    }

    #[test]
    fn a_step_is_the_second_order_taylor_polynomial() {
        let (a, dt) = (-2.0, 0.25);
        let u = step(a, dt);
        let expected = 1.0 + a * dt + 0.5 * (a * dt) * (a * dt);
        assert_eq!(
            u.iter().filter(|u| **u == expected).count(),
            NVAR * SHAPE.nx * SHAPE.ny
        );
    }

    #[test]
    fn ghost_cells_stay() {
        let ghost_cells = SHAPE.len() - NVAR * SHAPE.nx * SHAPE.ny;
        assert_eq!(
            step(1.0, 0.1).iter().filter(|u| **u == -1.0).count(),
            ghost_cells
        );
    }
}
