//! The two engines: `programs` for program models, where all processes run one program, and `schedules` for GOAL
//! schedules, where each rank has operations of its own.
//!
//! Both follow the rules of `loggp` and end on the same nanosecond if a program is given in both forms. They
//! differ in how they find the next event:
//!
//! * `programs` visits one process after the other and takes all its events up to the time before which no other can
//!   send to it. It requires that a message travels at least o + L, and uses every rule of the table. Within it,
//!   `eager` is for programs whose messages are all eager, `fixed_distances` for those of them that block and send to
//!   ranks at fixed distances.
//! * `schedules` takes single events from one calendar, since operations that depend on each other in any order leave
//!   no time in which a rank could run ahead. It supports all rules but those of oversubscribed nodes.
//!
//! Where messages share links, both have them wait for their turns there (`events/shared_links.rs`): the one at the end of each
//! window, the other at the end of each nanosecond in which a link is wanted.
//!
//! Events of one process on the same nanosecond are taken in the order of their tie-break keys
//! (`events/tie_break.rs`); [`Outcome::ties`] counts events with equal keys.

mod error;
pub(crate) mod limits;
mod outcome;
pub(crate) mod programs;
mod schedules;

pub(crate) use error::BoxedError;
pub use error::{Blocked, SimulationError};
pub use limits::Limits;
pub use outcome::{ElementResult, EngineChoice, Flight, Outcome, ProcessResult, Progress, Slice};
pub use programs::run::{
    program_path, simulate, simulate_followed, simulate_traced, simulate_with,
};
pub use schedules::{
    Rules, ScheduleOutcome, ScheduleSlices, schedule_elements, schedule_path, simulate_schedule,
    simulate_schedule_by, simulate_schedule_with,
};
