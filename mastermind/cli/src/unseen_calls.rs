//! Calls that a wrapped program made and that are not in its records, since they passed by the proxies: `wrap` leaves what it found out
//! beside the logs, a line each, for those who show the records.

use std::io;
use std::path::Path;

use crate::beside_logs;

/// Name of the file in the record directory.
const FILE: &str = "unseen-calls.json";

/// Leaves lines beside the logs, in place of those of an earlier run.
///
/// # Errors
/// They cannot be written.
pub fn write(directory: &Path, lines: &[String]) -> io::Result<()> {
    let lines = Some(lines).filter(|lines| !lines.is_empty());
    beside_logs::write(directory, FILE, lines.as_ref())
}

/// The lines; none where there are none, or where they cannot be read.
pub fn read(records: &Path) -> Vec<String> {
    beside_logs::read(records, FILE).unwrap_or_default()
}
