//! The flux kernel.

use std::f64::consts::PI;

use hydro_ports::{Axis, FaceError, NVAR, Shape, map_faces};
use thiserror::Error;

/// A primitive state in the frame of the face: `(rho, u_n, u_t, p, z)`.
type State = [f64; NVAR];

/// A face without a flux, with its states `(rho, u_n, u_t, p, z)`.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum EfmError {
    /// A density or pressure is not positive, or a value is not finite.
    #[error(
        "cannot stream gas \"{left:?} | {right:?}\": not a state, expected finite values, \
         positive density and pressure"
    )]
    NonPhysical {
        /// State on the left.
        left: State,
        /// State on the right.
        right: State,
    },
}

/// Computes the equilibrium flux at every face across `axis`.
///
/// The cost of a face does not depend on its states: one error function and one exponential a side
/// (`libm`'s, correct to the last bits).
///
/// # Arguments
/// * `gamma` - ratio of specific heats, > 1
/// * `left`, `right` - primitive states `(rho, u, v, p, z)` on the two sides of each face, shape
///   `[NVAR][ny + 2g][nx + 2g]`, a face at the index of its lower cell
/// * `flux` - output of the same shape: mass, x momentum, y momentum, energy, tracer; only the
///   faces of the interior are written
///
/// # Errors
/// [`EfmError::NonPhysical`] at the first face with a state that is not physical.
///
/// # Panics
/// If an array is shorter than `shape.len()`, or the patch has no ghost cell.
///
/// # Source
/// Case study, section 4.3, after D. I. Pullin, J. Comput. Phys. 34 (1980); tracer: upwind by the
/// sign of the total mass flux.
pub fn efm_flux(
    axis: Axis,
    shape: Shape,
    gamma: f64,
    left: &[f64],
    right: &[f64],
    flux: &mut [f64],
) -> Result<(), FaceError<EfmError>> {
    map_faces(axis, shape, left, right, flux, |l, r| {
        if !(is_physical(l) && is_physical(r)) {
            return Err(EfmError::NonPhysical {
                left: *l,
                right: *r,
            });
        }
        let (from_left, from_right) = (half_flux(gamma, l, 1.0), half_flux(gamma, r, -1.0));
        let [mass, normal, tangential, energy] =
            std::array::from_fn(|k| from_left[k] + from_right[k]);
        let z = if mass >= 0.0 { l[4] } else { r[4] };
        Ok([mass, normal, tangential, energy, mass * z])
    })
}

/// Flux that one side sends across the face: mass, normal and tangential momentum, energy.
///
/// With `C = sqrt(2 theta)`, `theta = p/rho`, `S = u_n/C`: the fraction `W = (1 ± erf S)/2` of the
/// molecules moves towards the face, and `D = ± exp(-S²) C/(2 sqrt pi)` is the flux that their
/// random motion adds.
///
/// # Arguments
/// * `sign` - +1 for the left side, -1 for the right side
fn half_flux(gamma: f64, &[rho, u_n, u_t, p, _]: &State, sign: f64) -> [f64; 4] {
    let theta = p / rho;
    let c = (2.0 * theta).sqrt();
    let s = u_n / c;
    let w = 0.5 * (1.0 + sign * libm::erf(s));
    let d = sign * (-s * s).exp() * c / (2.0 * PI.sqrt());
    let kinetic = 0.5 * (u_n * u_n + u_t * u_t);
    let mass = rho * (w * u_n + d);
    let enthalpy = kinetic + gamma / (gamma - 1.0) * theta;
    // Two of the moments are one-sided, hence gamma + 1 and not 2 gamma.
    let half_enthalpy = kinetic + (gamma + 1.0) / (2.0 * (gamma - 1.0)) * theta;
    let energy = w * rho * u_n * enthalpy + rho * d * half_enthalpy;
    [mass, mass * u_n + w * p, mass * u_t, energy]
}

fn is_physical(state: &State) -> bool {
    state[0] > 0.0 && state[3] > 0.0 && state.iter().all(|value| value.is_finite())
}
