//! Calls the states and the flux component with arrays of many sizes, along both axes, which no single run of the case
//! study does: their models are fitted to these calls.
//!
//! [`sizes`] chooses the arrays, [`fill`] their contents; the component makes the calls, which the proxies measure.

mod component;
mod field;
mod plan;
mod random;

pub use field::fill;
pub use plan::{shape, shuffled, sizes};
pub use random::Random;
