//! The Mastermind component: connects measurement, records, models and composition to ports.
//!
//! * [`Mastermind`]: provides the `cca.Monitor` port that proxies record through (the paper's section 4.3);
//! * [`PerfParam`]: provides `cca.PerfParam`, queries of the records so far;
//! * [`PerfModel`]: provides `cca.PerfModel`, queries of models;
//! * [`Measurement`]: provides `cca.Measurement`, timers and events for components (section 4.1);
//! * [`samples`]: the recorded calls as samples, for the fit;
//! * [`Calls`]: the calls of a method as a figure shows them;
//! * [`dry_ranks`]: the calls that a dry run left out;
//! * [`workload`]: the recorded calls as a workload, for the choice;
//! * [`Basis`]: the data from which the best assembly is chosen;
//! * [`names`]: the names of methods, the same in every verb;
//! * [`add_to_call_graph`]: the recorded calls as a call graph;
//! * [`Adaptation`]: follows the records of a run and has components swapped while it goes on;
//! * [`Wrapped`]: the same recording in a program that was not written for it.

mod adaptation;
mod call_graph;
mod calls;
mod choosing;
mod communicators;
mod dry;
mod mastermind;
mod measurement;
pub mod names;
mod perf_model;
mod record_objects;
mod samples;
mod summary;
mod tree;
mod workload;
mod wrapped;

pub use adaptation::{
    AdaptConfig, AdaptOutcome, Adaptation, AtDeadlock, decision_steps, decisions_file,
    is_decisions_file,
};
pub use call_graph::add_to_call_graph;
pub use calls::{Call, Calls};
pub use choosing::{
    Basis, ChoosingError, NoSetting, WorkloadRequest, full_name, interacting_pairs, settings,
};
pub use dry::{DryCalls, DryRank, dry_ranks};
pub use mastermind::{CounterChoice, Mastermind, library_hash, mpi_routines, routine_definitions};
pub use mastermind_records::own_thread;
pub use measurement::Measurement;
pub use perf_model::PerfModel;
pub use record_objects::PerfParam;
pub use samples::{CallsOfRun, NotCounted, counted, method_name, samples};
pub use tree::{give_to_all, join_on_first};
pub use workload::{coordinate, workload};
pub use wrapped::claim::{CLAIM_FILE, Claim, Claimant, claim, claimed_by, numbered};
pub use wrapped::{
    LibraryAdaptConfig, LibraryAdaptation, MESSAGE_EXTENSION, NOTE_EXTENSION, REMARK_EXTENSION,
    RankOfRun, TRACE_VARIABLE, UseConfig, WRAP_VARIABLE, WrapConfig, WrapError, Wrapped,
    control_name,
};
