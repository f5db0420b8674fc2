//! `mastermind export`: records in other tools' formats.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mastermind_records::write_csv;

use crate::output;

/// Write records in another tool's format.
#[derive(Args)]
#[command(after_help = "Example: mastermind export records --format csv -o csv")]
pub struct Export {
    /// The record directory
    records: PathBuf,
    /// The format
    #[arg(long, value_enum)]
    format: Format,
    /// Where it goes; for csv a folder, with one file an instance, port, method and rank
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Comma-separated values
    Csv,
}

impl Export {
    /// Exports the records.
    ///
    /// # Errors
    /// There are no records; the output cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let run = super::profile::open(&self.records)?;
        match self.format {
            Format::Csv => {
                for path in write_csv(&run, &self.output)? {
                    output::line(path.display().to_string());
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
