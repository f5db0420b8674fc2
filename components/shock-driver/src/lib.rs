//! The time loop of the shock case study.
//!
//! [`Schedule`] says how large the next step is and when the run ends; the component asks the other ports to do the rest.

mod component;
mod schedule;

pub use schedule::{Clock, Schedule, StepError};
