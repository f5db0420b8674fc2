//! `mastermind pack`: the logs of a run in few and small files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mastermind_records::{PackOptions, PackedDirectory};
use serde::Serialize;

use crate::{errors, output};

/// Pack the logs of a run into one file a host, without loss
///
/// Every verb reads packed records as it reads logs, and both from one directory. A log is removed once its container was written to the
/// end and read back, and had the same bytes; it is left where a program still writes it or it cannot be read.
#[derive(Args)]
#[command(after_help = "Example: mastermind pack records")]
pub struct Pack {
    /// The record directory
    records: PathBuf,
    /// Keep the logs as well; verbs read those then
    #[arg(long)]
    keep: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    containers: &'a [PathBuf],
    logs: usize,
    records: u64,
    log_bytes: u64,
    packed_bytes: u64,
    /// Logs that were packed before.
    logs_packed_before: usize,
    /// Logs that cannot be read, and stay.
    logs_left: usize,
}

impl Pack {
    /// Packs, and reports the sizes.
    ///
    /// # Errors
    /// There are no records; a program still writes them; they cannot be read, written or removed.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let options = PackOptions {
            keep: self.keep,
            ranks: None,
        };
        let packed = mastermind_records::pack(&self.records, &options)?;
        for error in &packed.unreadable {
            output::message(&errors::warning(&anyhow::anyhow!(
                "{error}; it stays as it is"
            )));
        }
        if self.json {
            output::json(&Document {
                containers: &packed.containers,
                logs: packed.n_logs,
                records: packed.n_records,
                log_bytes: packed.log_bytes,
                packed_bytes: packed.packed_bytes,
                logs_packed_before: packed.n_packed_before,
                logs_left: packed.unreadable.len(),
            })?;
        } else {
            output::line(text(&packed));
        }
        Ok(match packed.unreadable.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }
}

fn text(packed: &PackedDirectory) -> String {
    let n_before = packed.n_packed_before;
    let before = match n_before {
        0 => String::new(),
        _ => format!("; {n_before} logs were packed before"),
    };
    if packed.n_logs == 0 {
        return format!("nothing to pack{before}");
    }
    let PackedDirectory {
        n_logs, n_records, ..
    } = packed;
    let a_record = match n_records {
        0 => String::new(),
        _ => format!(
            ", {:.1} a record",
            packed.packed_bytes as f64 / *n_records as f64
        ),
    };
    let containers = match &packed.containers[..] {
        [one] => one.display().to_string(),
        several => format!("{} containers", several.len()),
    };
    format!(
        "{n_logs} logs with {n_records} records, {} bytes, packed into {containers}: {} bytes{a_record}{before}",
        packed.log_bytes, packed.packed_bytes,
    )
}
