//! Predicts runs that are not available: a program or a schedule of `mastermind-programs` on a machine of nodes
//! and links.
//!
//! Activities take the time of their formula; waiting is found by discrete events. Pure functions: nothing here prints,
//! reads a file or the environment, or knows a component.
//!
//! | type | is | comes from |
//! |---|---|---|
//! | [`machine::Machine`] | nodes, processors, and a [`machine::Link`] with LogGP parameters in and between nodes | [`machine::read_machine`] |
//! | [`engine::Outcome`] | times of processes and elements, messages, events of a program | [`engine::simulate`] |
//! | [`engine::ScheduleOutcome`] | the same of a schedule | [`engine::simulate_schedule`] |
//!
//! Where to start reading: [`engine`] explains which engine runs what; `loggp` has the costs of messages in one table,
//! `events` the order of events, `scheduler` the processors of oversubscribed nodes. `ARCHITECTURE.md` walks through a
//! run.
//!
//! ```
//! use mastermind_models::ModelSet;
//! use mastermind_programs::{System, lower, read_toml};
//! use mastermind_simulation::engine::simulate;
//! use mastermind_simulation::machine::Machine;
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
mod loggp;
pub mod machine;
pub mod report;
mod scheduler;
pub mod sensitivity;
pub mod trace;
