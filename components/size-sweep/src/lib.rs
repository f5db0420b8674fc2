//! Calls the states and the flux component with arrays of many sizes, along both axes, as no single run of the case study
//! does: what their models are fitted to.
//!
//! [`sizes`] says which arrays, [`fill`] what is in them; the component makes the calls, which the proxies measure.

mod component;
mod field;
mod plan;
mod random;

pub use field::fill;
pub use plan::{shape, shuffled, sizes};
pub use random::Random;
