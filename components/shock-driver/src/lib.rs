//! The time loop of the shock case study.
//!
//! [`Schedule`] decides the size of the next step and the end of the run; the component calls the other ports for the
//! rest.

mod component;
mod schedule;

pub use schedule::{Clock, Schedule, StepError};
