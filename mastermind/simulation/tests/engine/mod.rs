//! The engine against formulas, and at the sizes it is for.

mod closed_forms;
mod collectives;
pub(crate) mod common;
mod lapw0;
mod limits;
mod naive;
mod poems;
mod queues;
mod sweep;
pub(crate) mod wavefront;
