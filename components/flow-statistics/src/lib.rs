//! Sums and extremes of the flow over the whole domain.
//!
//! [`PatchSums`] is the contribution of one patch; [`total`] adds the patches in the order of their identifiers, so
//! that the result does not depend on which rank has which patch.

mod component;
mod sums;

pub use sums::{PatchSums, total};
