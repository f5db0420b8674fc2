//! The stages of the two-stage Runge–Kutta method of Heun, which preserves strong stability.
//!
//! ```text
//! U1    = U + dt L(U)
//! U_new = (U + U1 + dt L(U1)) / 2
//! ```

mod advance;
mod component;
mod stages;

pub use advance::{Advance, Scratch};
pub use stages::{first_stage, second_stage};
