//! Component models put together over a recorded workload, and the best assembly by them.
//!
//! * A [`Workload`] is what a run called: instance, method, coordinate, how often;
//! * an [`Assembly`] says which class each instance has, [`Alternatives`] which it might have;
//! * [`choose`] predicts the time of the calls for every assembly that these allow and gives the
//!   best one, with a row for each class of each instance.
//! * [`optimise`] has the optimiser for assemblies whose parts also cost something together.
//!
//! A model belongs to a class and a method: [`model_name`] is the name it must have. Nothing here
//! prints, reads files, or knows the framework.

mod choose;
mod error;
pub mod optimise;
mod predicted;
mod workload;

pub use choose::{Choice, Row, choose};
pub use error::{Error, Lacking};
pub use workload::{Alternatives, Assembly, Call, Workload, model_name};
