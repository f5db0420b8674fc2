//! Inputs of simulations: programs and schedules, as people and tools write them, and the forms that
//! run.
//!
//! Nothing here knows a time. `mastermind-simulation` runs these on a machine, `mastermind-diagrams` reads models from UML,
//! `mastermind-replay` makes both of a recorded run.
//!
//! | type | is | comes from |
//! |---|---|---|
//! | [`Model`] | a program as people write it: a hierarchy of activities made of elements | [`read_toml`], [`read_json`], `mastermind-diagrams` |
//! | [`Finding`] | a problem of a model | [`check`] |
//! | [`Program`] | the same as a flat list of operations for some number of processes, each of which runs it for itself | [`lower`], [`record`] |
//! | [`goal::Schedule`] | the activity of each rank, operation by operation | [`goal::read_goal`] |
//! | [`expression::Compiled`] | a cost, guard, rank or size, with names resolved | [`expression::Scope`] |
//!
//! ```
//! use mastermind_models::ModelSet;
//! use mastermind_programs::{System, lower, read_toml};
//!
//! let model = read_toml(
//!     r#"
//!     [model]
//!     name = "pair"
//!     main = "Main"
//!     [activities.Main]
//!     flow = [
//!         { send = "to the other", to = "process == 0 ? 1 : none", bytes = 1 },
//!         { recv = "from the first", from = "process == 1 ? 0 : none" },
//!     ]
//!     "#,
//! )?;
//! let system = System { processes: 2, nodes: 2, processors: 1 };
//! let program = lower(&model, &ModelSet::default(), system)?;
//! assert_eq!(program.system.processes, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chance;
mod check;
mod collectives;
pub mod expression;
mod flow;
pub mod goal;
pub mod huge_pages;
mod lower;
mod model;
mod operation;
mod read;
pub mod record;
mod symbols;
pub mod transform;

pub use chance::{CHANCE, chance_calls};
pub use check::{Finding, Rule, check};
pub use collectives::Collectives;
pub use lower::{LowerError, lower, lower_with};
pub use model::{
    Activity, Branch, Collective, CollectiveKind, Element, ElementKind, Group, KnownRanks, Model,
    Variable, visit,
};
pub use operation::{ElementInfo, Mode, Operation, Program, Region, STRUCTURE};
pub use read::{LONGEST_MODEL_BYTES, ReadError, read_json, read_toml};
pub use symbols::{ANY, NOBODY, System};
