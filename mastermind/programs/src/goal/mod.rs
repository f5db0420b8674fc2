//! GOAL schedules, in LogGOPSim's language: the activity of each rank, operation by operation.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 1000
//! l2: send 6000b to 1 tag 3
//! l2 requires l1
//! }
//! rank 1 {
//! l1: recv 6000b from 0 tag 3
//! }
//! ```
//!
//! `cpu N` and `nic N` after an operation choose a processor and an interface of the rank; `from -1`
//! and `tag -1` are any. `a requires b` starts `a` when `b` has ended, `a irequires b` when it has
//! begun. Comments are `//` and `/* */`.
//!
//! Times are those of [`crate::engine`]; of operations that are due on one nanosecond the one that was scheduled first
//! is first. The rules of LogGOPSim are another set ([`crate::engine::Rules`]); the guide lists the differences.
//!
//! # Source
//! T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009; T. Hoefler,
//! T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010.

mod binary;
mod labels;
mod ops;
mod read;
mod schedule;

pub use ops::Ops;
pub use read::{GoalError, WaitOrder, read_goal, read_goal_in, read_goal_of};
pub use schedule::{ANY, Dependent, Dependents, Kind, Op, Part, Schedule};
