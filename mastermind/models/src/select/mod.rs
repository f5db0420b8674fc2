//! From candidates to a model: how credible each is, which is shown, how calls scatter about it.
//!
//! In: samples and a user's wishes. Out: a [`Model`](crate::Model) a mode. Uses `formula`, `samples`, `solve` and `families`.

pub(crate) mod between_runs;
pub(crate) mod calibration;
pub(crate) mod carried;
pub(crate) mod choice;
pub(crate) mod clean;
pub(crate) mod drift;
pub(crate) mod fit;
mod layout;
pub(crate) mod model;
mod remarks;
pub(crate) mod shape;
pub(crate) mod sigma;
pub(crate) mod zeros;
