//! `mastermind history`: runs over time, in a folder; which component became slower or faster at equal parameters.

mod add;
mod check;
mod show;

pub use add::KeepArguments;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use mastermind_history::{Store, StoredRun};

use crate::output;

/// The default store.
const STORE: &str = "history";

/// Keep runs over time, and see what became slower at equal parameters.
///
/// The store is a folder; it needs no server, and pandas, Polars and DuckDB read it as a dataset partitioned by program, machine and run.
/// Of a run it keeps its circumstances and a row for each method and the parameters it was called with: number, sum, quantiles.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind history add records --commit 1a2b3c\n         \
                        mastermind history check --fail-above 5%"
)]
pub struct History {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add the runs of record directories
    Add(add::Add),
    /// List the runs
    List(show::List),
    /// Show the stored sums of a run
    Show(show::Show),
    /// Remove runs
    Drop(show::Drop),
    /// Write all runs into one table
    Export(show::Export),
    /// Say which component became slower or faster at equal parameters
    Check(check::Check),
}

/// Where the store is.
#[derive(Args)]
struct At {
    /// The store
    #[arg(default_value = STORE)]
    store: PathBuf,
    /// Only the runs of this program
    #[arg(long, value_name = "P")]
    program: Option<String>,
}

impl History {
    /// Executes the chosen action.
    ///
    /// # Errors
    /// The store cannot be read or written; there is no such run.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Add(action) => action.execute(),
            Action::List(action) => action.execute(),
            Action::Show(action) => action.execute(),
            Action::Drop(action) => action.execute(),
            Action::Export(action) => action.execute(),
            Action::Check(action) => action.execute(),
        }
    }
}

impl At {
    /// Reads the runs; warns of unreadable ones.
    fn read(&self) -> anyhow::Result<(Store, Vec<StoredRun>)> {
        read(&self.store, self.program.as_deref())
    }
}

fn read(store: &Path, program: Option<&str>) -> anyhow::Result<(Store, Vec<StoredRun>)> {
    let store = Store::new(store);
    let (runs, unread) = store.read(|of| program.is_none_or(|program| program == of))?;
    for error in unread {
        let error = anyhow::Error::from(error);
        output::message(&crate::errors::warning(&error));
    }
    if runs.is_empty() {
        anyhow::bail!(mastermind_history::HistoryError::Empty {
            path: store.path().into(),
        });
    }
    Ok((store, runs))
}
