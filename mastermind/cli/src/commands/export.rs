//! `mastermind export`: records in other tools' formats.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mastermind_export::{ExtrapFormat, write_extrap, write_parquet, write_perfetto};
use mastermind_records::{Run, write_csv};

use crate::commands::profile::tell_missing_records;
use crate::output;

/// Write records in another tool's format.
#[derive(Args)]
#[command(after_help = "Example: mastermind export records --format parquet -o dataset")]
pub struct Export {
    /// The record directory
    records: PathBuf,
    /// The format
    #[arg(long, value_enum)]
    format: Format,
    /// Where it goes: a file for perfetto, else a folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Comma-separated values, a file an instance, port, method and rank
    Csv,
    /// A Parquet dataset partitioned by method and rank, for DuckDB, Polars, Spark
    Parquet,
    /// Extra-P's text format, a file a method
    Extrap,
    /// Extra-P's JSON lines, a file a method
    ExtrapJsonl,
    /// A trace for Perfetto or chrome://tracing
    Perfetto,
}

impl Export {
    /// Exports the records.
    ///
    /// # Errors
    /// There are no records; the output cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let run = super::profile::open(&self.records)?;
        let files = match self.format {
            Format::Csv => write_csv(&run, &self.output)?,
            Format::Parquet => write_parquet(&run, &self.output)?,
            Format::Extrap => self.extrap(&run, ExtrapFormat::Text)?,
            Format::ExtrapJsonl => self.extrap(&run, ExtrapFormat::JsonLines)?,
            Format::Perfetto => {
                write_perfetto(&run, &self.output)?;
                vec![self.output]
            }
        };
        tell_missing_records(&run, "they are not in the export");
        for path in files {
            output::line(path.display().to_string());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn extrap(&self, run: &Run, format: ExtrapFormat) -> anyhow::Result<Vec<PathBuf>> {
        let exported = write_extrap(run, &self.output, format)?;
        let mut by_reason = BTreeMap::<String, Vec<String>>::new();
        for (method, reason) in exported.left_out {
            by_reason.entry(reason).or_default().push(method);
        }
        for (reason, methods) in by_reason {
            crate::output::complain!("warning: left out for {reason}: {}", methods.join(", "));
        }
        Ok(exported.files)
    }
}
