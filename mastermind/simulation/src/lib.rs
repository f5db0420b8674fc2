//! Predicts what cannot be run: a program as activities with costs, on a machine of nodes and links.
//!
//! Activities take the time that a formula says; waiting is found by discrete events. Pure functions: nothing here prints,
//! reads a file or the environment, or knows a component.
//!
//! | type | is | comes from |
//! |---|---|---|
//! | [`program::Model`] | a program as people write it: activities made of elements | [`program::read_toml`], `mastermind-diagrams` |
//! | [`program::Program`] | the same as a flat list of operations for some number of processes | [`program::lower`] |
//! | [`goal::Schedule`] | what each rank does, operation by operation | [`goal::read_goal`] |
//! | [`machine::Machine`] | nodes, processors, and a [`machine::Link`] with LogGP parameters in and between nodes | [`machine::read_machine`] |
//! | [`engine::Outcome`] | times of processes and elements, messages, events | [`engine::simulate`] |
//! | [`engine::ScheduleOutcome`] | the same of a schedule | [`engine::simulate_schedule`] |
//!
//! Where to start reading: [`engine`] says which engine runs what; `loggp` has the costs of messages in one table,
//! `events` the order of events, `scheduler` the processors of oversubscribed nodes. `ARCHITECTURE.md` walks through a run.
//!
//! ```
//! use mastermind_models::ModelSet;
//! use mastermind_simulation::engine::simulate;
//! use mastermind_simulation::machine::Machine;
//! use mastermind_simulation::program::{System, lower, read_toml};
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
//! // o + L + o of the default link.
//! assert_eq!(simulate(&program, &Machine::default())?.makespan_ns, 1500 + 2500 + 1500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analytic;
pub mod calibration;
pub mod engine;
mod events;
pub mod expression;
pub mod goal;
mod loggp;
pub mod machine;
pub mod program;
pub mod replay;
pub mod report;
mod scheduler;
pub mod trace;
pub mod transform;
