//! One file a verb.

#[cfg(feature = "simulation")]
pub mod calibrate;
pub mod check;
pub mod choose;
pub mod compare;
pub mod completions;
#[cfg(feature = "correction")]
pub mod correct;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod fit;
pub mod graph;
pub mod info;
#[cfg(not(all(feature = "correction", feature = "simulation")))]
pub mod left_out;
pub mod list;
pub mod man;
pub mod new;
pub mod plan;
pub mod plot;
pub mod predict;
pub mod profile;
pub mod proxy;
pub mod report;
pub mod run;
pub mod shell;
#[cfg(feature = "simulation")]
pub mod simulate;
pub mod suggest;
#[cfg(feature = "simulation")]
pub mod transform;
pub mod use_library;
pub mod wishes;
pub mod wrap;

#[cfg(not(feature = "correction"))]
pub use left_out::correct;
#[cfg(not(feature = "simulation"))]
pub use left_out::{calibrate, simulate, transform};
