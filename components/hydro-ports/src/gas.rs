//! The ideal gas: conserved states and the jump across a shock.

use crate::NVAR;

/// The gas behind a shock that runs into gas at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostShock {
    /// Density.
    pub rho: f64,
    /// Velocity in the direction of the shock.
    pub u: f64,
    /// Pressure.
    pub p: f64,
    /// Speed of the shock itself.
    pub shock_speed: f64,
}

/// The Rankine–Hugoniot relations for gas at rest ahead of the shock.
///
/// # Arguments
/// * `mach` - Mach number of the shock, >= 1
/// * `gamma` - ratio of specific heats, > 1
/// * `rho`, `p` - density and pressure ahead, > 0
///
/// # Source
/// Case study, section 2.
pub fn rankine_hugoniot(mach: f64, gamma: f64, rho: f64, p: f64) -> PostShock {
    let m2 = mach * mach;
    let c = (gamma * p / rho).sqrt();
    PostShock {
        rho: rho * (gamma + 1.0) * m2 / ((gamma - 1.0) * m2 + 2.0),
        u: 2.0 * c / (gamma + 1.0) * (mach - 1.0 / mach),
        p: p * (1.0 + 2.0 * gamma / (gamma + 1.0) * (m2 - 1.0)),
        shock_speed: mach * c,
    }
}

/// The conserved state `(rho, rho u, rho v, E, rho z)` of a primitive one `(rho, u, v, p, z)`.
///
/// # Arguments
/// * `gamma` - ratio of specific heats, > 1
///
/// # Source
/// Case study, section 1.
pub fn conserved(gamma: f64, [rho, u, v, p, z]: [f64; NVAR]) -> [f64; NVAR] {
    let energy = p / (gamma - 1.0) + 0.5 * rho * (u * u + v * v);
    [rho, rho * u, rho * v, energy, rho * z]
}

/// The primitive state of a conserved one: the inverse of [`conserved`].
///
/// # Arguments
/// * `gamma` - ratio of specific heats, > 1
pub fn primitive(gamma: f64, [rho, mx, my, energy, mz]: [f64; NVAR]) -> [f64; NVAR] {
    let (u, v) = (mx / rho, my / rho);
    let p = (gamma - 1.0) * (energy - 0.5 * (mx * u + my * v));
    [rho, u, v, p, mz / rho]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jump_of_mach_1_5() {
        let post = rankine_hugoniot(1.5, 1.4, 1.0, 1.0);
        assert!((post.p - 59.0 / 24.0).abs() < 1e-9);
        assert!((post.rho - 54.0 / 29.0).abs() < 1e-9);
        assert!((post.u - 0.8216777477).abs() < 1e-9);
        assert!((post.shock_speed - 1.7748239349).abs() < 1e-9);
        let c = (1.4 * post.p / post.rho).sqrt();
        assert!((c - 1.3595228829).abs() < 1e-9);
        assert!((post.u / c - 0.604387).abs() < 1e-6);
    }

    #[test]
    fn the_jump_conserves_in_the_frame_of_the_shock() {
        let (gamma, rho, p) = (1.4, 1.3, 0.7);
        let post = rankine_hugoniot(2.5, gamma, rho, p);
        let flux = |rho: f64, u: f64, p: f64| {
            let total = gamma / (gamma - 1.0) * p + 0.5 * rho * u * u;
            [rho * u, rho * u * u + p, u * total]
        };
        let ahead = flux(rho, -post.shock_speed, p);
        let behind = flux(post.rho, post.u - post.shock_speed, post.p);
        for (ahead, behind) in ahead.into_iter().zip(behind) {
            assert!((ahead - behind).abs() < 1e-12 * ahead.abs());
        }
    }

    #[test]
    fn conserved_state_and_back() {
        let (state, in_sums) = ([2.0, 3.0, -1.0, 4.0, 0.5], [2.0, 6.0, -2.0, 18.0, 1.0]);
        assert_eq!(conserved(1.5, state), in_sums);
        assert_eq!(primitive(1.5, in_sums), state);
    }
}
