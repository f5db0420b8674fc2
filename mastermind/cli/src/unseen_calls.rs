//! Calls of a wrapped program that are not in its records because they bypassed the proxies: `wrap` stores its findings
//! next to the logs, a line each, for the verbs that show the records.

use std::io;
use std::path::Path;

use crate::beside_logs;

/// Name of the file in the record directory.
const FILE: &str = "unseen-calls.json";

/// Writes lines next to the logs, in place of those of an earlier run.
///
/// # Errors
/// They cannot be written.
pub fn write(directory: &Path, lines: &[String]) -> io::Result<()> {
    let lines = Some(lines).filter(|lines| !lines.is_empty());
    beside_logs::write(directory, FILE, lines.as_ref())
}

/// The lines; empty if there are none, or if they cannot be read.
pub fn read(records: &Path) -> Vec<String> {
    beside_logs::read(records, FILE).unwrap_or_default()
}
