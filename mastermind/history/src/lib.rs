//! Runs over time: the sums of each, in a store, and which component became slower or faster at equal parameters.
//!
//! * [`RunSums`] is the stored part of a run: its circumstances, and a [`Cell`] for each method and the parameters it
//!   was called with, so that 10⁸ calls become a few hundred rows; [`sum_up`] makes it from records;
//! * [`Store`] is a folder of such sums, one Parquet file per run;
//! * [`check`] compares the runs of one program on one machine.
//!
//! ```text
//! records ──► sum_up ──► RunSums ──► Store ──► series of a component ──► machine's state taken out ──► levels, changes
//! ```

mod cells;
mod check;
mod error;
mod parallel;
mod quantiles;
mod renamed;
mod run_sums;
mod segments;
mod store;
mod sum_up;

pub use cells::Parameters;
pub use check::{Change, Check, ComponentReport, Options, ProgramReport, Shape, Verdict, check};
pub use error::HistoryError;
pub use mastermind_export::PlainTable;
pub use renamed::rename;
pub use run_sums::{Cell, Circumstances, Computing, RunSums};
pub use store::{Added, Store, StoredRun, VERSION, table_of};
pub use sum_up::{MAX_CELLS, sum_up};
