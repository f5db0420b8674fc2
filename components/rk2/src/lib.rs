//! The stages of the two-stage Runge–Kutta method of Heun, which preserves strong stability.
//!
//! ```text
//! U1    = U + dt L(U)
//! U_new = (U + U1 + dt L(U1)) / 2
//! ```

mod stages;

pub use stages::{first_stage, second_stage};
