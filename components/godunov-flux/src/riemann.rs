//! The exact Riemann solver of an ideal gas.
//!
//! Between two constant states three waves part four constant regions; pressure and velocity are
//! the same on both sides of the middle wave, the contact:
//!
//! ```text
//!          left wave    contact    right wave
//!                 \   *L  |  *R   /
//!             left \      |      / right
//!                   \     |     /
//!   ---------------------------------------- x
//!                         0
//! ```
//!
//! # Source
//! Case study, section 4.2, after E. F. Toro, *Riemann Solvers and Numerical Methods for Fluid
//! Dynamics*, chapter 4.

use hydro_ports::NVAR;
use thiserror::Error;

/// Newton iterations after which a problem counts as unsolved.
const MAX_ITERATIONS: u32 = 20;

/// Relative change of the pressure at which the iteration stops.
const TOLERANCE: f64 = 1e-10;

/// Smallest pressure of the iteration, relative to the smaller pressure of the two sides.
const FLOOR: f64 = 1e-8;

/// A primitive state in the frame of the face: `(rho, u_n, u_t, p, z)`.
pub type State = [f64; NVAR];

/// The state between the two outer waves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Star {
    /// Pressure on both sides of the contact.
    pub p: f64,
    /// Normal velocity on both sides of the contact: the speed of the contact.
    pub u: f64,
    /// Density left of the contact.
    pub rho_left: f64,
    /// Density right of the contact.
    pub rho_right: f64,
    /// Newton iterations that the pressure took.
    pub iterations: u32,
}

/// A Riemann problem without a solution, with its states `(rho, u_n, u_t, p, z)`.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RiemannError {
    /// A density or pressure is not positive, or a value is not finite.
    #[error(
        "cannot solve Riemann problem \"{left:?} | {right:?}\": not a state, expected finite \
         values, positive density and pressure"
    )]
    NonPhysical {
        /// State on the left.
        left: State,
        /// State on the right.
        right: State,
    },
    /// The sides part so fast that a vacuum opens between them.
    #[error(
        "cannot solve Riemann problem \"{left:?} | {right:?}\": vacuum, expected velocities that \
         part by less than {limit}"
    )]
    Vacuum {
        /// State on the left.
        left: State,
        /// State on the right.
        right: State,
        /// Difference of velocities at which the vacuum appears, `2 (c_l + c_r)/(gamma - 1)`.
        limit: f64,
    },
    /// Newton's method did not settle.
    #[error(
        "cannot solve Riemann problem \"{left:?} | {right:?}\": no pressure after \
         {MAX_ITERATIONS} iterations, expected a relative change below {TOLERANCE:e}"
    )]
    NoConvergence {
        /// State on the left.
        left: State,
        /// State on the right.
        right: State,
    },
}

/// The exact Riemann solver of an ideal gas with a constant ratio of specific heats.
///
/// # Example
/// ```
/// let riemann = hydro_godunov_flux::riemann::Riemann::new(1.4);
/// let (left, right) = ([1.0, 0.0, 0.0, 1.0, 0.0], [0.125, 0.0, 0.0, 0.1, 1.0]);
/// let star = riemann.star(&left, &right)?;
/// assert!((star.p - 0.303130).abs() < 1e-6);
/// let [_rho, u, ..] = riemann.sample(&left, &right, &star, 0.0);
/// assert_eq!(u, star.u);
/// # Ok::<(), hydro_godunov_flux::riemann::RiemannError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Riemann {
    gamma: f64,
    /// `(gamma - 1)/(2 gamma)`, the exponent of a rarefaction's pressure.
    exponent: f64,
    /// `(gamma - 1)/(gamma + 1)`.
    mu2: f64,
}

impl Riemann {
    /// The solver for one gas.
    ///
    /// # Arguments
    /// * `gamma` - ratio of specific heats, > 1
    pub fn new(gamma: f64) -> Self {
        Self {
            gamma,
            exponent: (gamma - 1.0) / (2.0 * gamma),
            mu2: (gamma - 1.0) / (gamma + 1.0),
        }
    }

    /// Computes the state between the outer waves.
    ///
    /// # Arguments
    /// * `left`, `right` - primitive states in the face's frame
    ///
    /// # Errors
    /// [`RiemannError::NonPhysical`] for states that are not physical, [`RiemannError::Vacuum`]
    /// where the gas separates, [`RiemannError::NoConvergence`] if 20 Newton steps do not settle
    /// the pressure.
    pub fn star(&self, left: &State, right: &State) -> Result<Star, RiemannError> {
        let (states_left, states_right) = (*left, *right);
        if !(is_physical(left) && is_physical(right)) {
            return Err(RiemannError::NonPhysical {
                left: states_left,
                right: states_right,
            });
        }
        let (left, right) = (Side::new(self, left), Side::new(self, right));
        let parting = right.u - left.u;
        let limit = 2.0 * (left.c + right.c) / (self.gamma - 1.0);
        if limit <= parting {
            return Err(RiemannError::Vacuum {
                left: states_left,
                right: states_right,
                limit,
            });
        }
        let Some(root) = self.star_pressure(&left, &right) else {
            return Err(RiemannError::NoConvergence {
                left: states_left,
                right: states_right,
            });
        };
        Ok(Star {
            p: root.p,
            u: 0.5 * (left.u + right.u) + 0.5 * (root.f_right - root.f_left),
            rho_left: left.star_density(self, root.p, root.f_left),
            rho_right: right.star_density(self, root.p, root.f_right),
            iterations: root.iterations,
        })
    }

    /// Newton's method for the root of `f_l(p) + f_r(p) + u_r - u_l`, from the linearised guess.
    ///
    /// The function is increasing and concave: below the root the steps grow towards it without
    /// passing it; a step from above that would leave the positive pressures is cut short.
    fn star_pressure(&self, left: &Side, right: &Side) -> Option<Root> {
        let parting = right.u - left.u;
        let impedance = 0.25 * (left.rho + right.rho) * (left.c + right.c);
        let floor = FLOOR * smaller(left.p, right.p);
        let guess = 0.5 * (left.p + right.p) - 0.5 * parting * impedance;
        let mut p = if guess > floor { guess } else { floor };
        for iterations in 1..=MAX_ITERATIONS {
            let (f_left, slope_left) = left.wave(self, p);
            let (f_right, slope_right) = right.wave(self, p);
            let newton = p - (f_left + f_right + parting) / (slope_left + slope_right);
            let next = if newton > 0.0 {
                newton
            } else {
                smaller(floor, FLOOR * p)
            };
            let step = next - p;
            if step.abs() < TOLERANCE * 0.5 * (next + p) {
                // The step is so small that the waves at its end follow from their slopes.
                let (f_left, f_right) = (f_left + slope_left * step, f_right + slope_right * step);
                return Some(Root {
                    p: next,
                    f_left,
                    f_right,
                    iterations,
                });
            }
            p = next;
        }
        None
    }

    /// The exact solution on the ray `x/t = speed`.
    ///
    /// # Arguments
    /// * `left`, `right` - the states that `star` was computed from
    /// * `speed` - `x/t` relative to the position of the first jump
    ///
    /// # Returns
    /// The primitive state; tangential velocity and tracer come from the contact's side.
    pub fn sample(&self, left: &State, right: &State, star: &Star, speed: f64) -> State {
        // On the right the problem is the mirror image of the left one.
        let (state, sign, rho_star) = if speed <= star.u {
            (left, 1.0, star.rho_left)
        } else {
            (right, -1.0, star.rho_right)
        };
        let side = Side::new(self, state);
        let (speed, u, u_star) = (sign * speed, sign * side.u, sign * star.u);
        let (rho, u, p) = if star.p > side.p {
            let shock = u - side.c * self.shock_mach(star.p / side.p);
            if speed < shock {
                (side.rho, u, side.p)
            } else {
                (rho_star, u_star, star.p)
            }
        } else {
            let tail = u_star - (self.gamma * star.p / rho_star).sqrt();
            if speed < u - side.c {
                (side.rho, u, side.p)
            } else if speed > tail {
                (rho_star, u_star, star.p)
            } else {
                self.inside_fan(&side, u, speed)
            }
        };
        [rho, sign * u, state[2], p, state[4]]
    }

    /// The state inside a left rarefaction of a side with normal velocity `u`.
    fn inside_fan(&self, side: &Side, u: f64, speed: f64) -> (f64, f64, f64) {
        let c = 2.0 / (self.gamma + 1.0) * side.c + self.mu2 * (u - speed);
        let ratio = c / side.c;
        let rho = side.rho * ratio.powf(2.0 / (self.gamma - 1.0));
        (rho, speed + c, side.p * ratio.powf(1.0 / self.exponent))
    }

    /// Mach number of a shock that raises the pressure `ratio` times.
    fn shock_mach(&self, ratio: f64) -> f64 {
        ((self.gamma + 1.0) / (2.0 * self.gamma) * ratio + self.exponent).sqrt()
    }
}

/// Quantities of one side for the pressure equation.
struct Side {
    rho: f64,
    u: f64,
    p: f64,
    /// Speed of sound.
    c: f64,
}

impl Side {
    fn new(riemann: &Riemann, &[rho, u, _, p, _]: &State) -> Self {
        Self {
            rho,
            u,
            p,
            c: (riemann.gamma * p / rho).sqrt(),
        }
    }

    /// The velocity change `f_K(p)` across the wave of this side, and its derivative.
    fn wave(&self, riemann: &Riemann, p: f64) -> (f64, f64) {
        if p > self.p {
            let a = 2.0 / ((riemann.gamma + 1.0) * self.rho);
            let b = riemann.mu2 * self.p;
            let root = (a / (p + b)).sqrt();
            let jump = p - self.p;
            (jump * root, root * (1.0 - 0.5 * jump / (p + b)))
        } else {
            let ratio = p / self.p;
            let power = ratio.powf(riemann.exponent);
            let f = 2.0 * self.c / (riemann.gamma - 1.0) * (power - 1.0);
            (f, power / (ratio * self.rho * self.c))
        }
    }

    /// Density between this side's wave, across which the velocity changes by `f`, and the contact.
    fn star_density(&self, riemann: &Riemann, p: f64, f: f64) -> f64 {
        if p > self.p {
            let ratio = p / self.p;
            self.rho * (ratio + riemann.mu2) / (riemann.mu2 * ratio + 1.0)
        } else {
            // The Riemann invariant of a rarefaction gives the speed of sound behind it.
            let c = self.c + 0.5 * (riemann.gamma - 1.0) * f;
            riemann.gamma * p / (c * c)
        }
    }
}

/// The root of the pressure equation, with the velocity changes across both waves.
struct Root {
    p: f64,
    f_left: f64,
    f_right: f64,
    iterations: u32,
}

fn is_physical(state: &State) -> bool {
    state[0] > 0.0 && state[3] > 0.0 && state.iter().all(|value| value.is_finite())
}

/// The smaller of two numbers that are not NaN.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests;
