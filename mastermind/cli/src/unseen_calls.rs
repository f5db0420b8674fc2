//! Calls that a wrapped program made and that are not in its records, since they passed by the proxies: `wrap` leaves what it found out
//! beside the logs, a line each, for those who show the records.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the file in the record directory.
const FILE: &str = "unseen-calls.json";

fn file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Leaves lines beside the logs, in place of those of an earlier run.
///
/// # Errors
/// They cannot be written.
pub fn write(directory: &Path, lines: &[String]) -> io::Result<()> {
    let path = file(directory);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if lines.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(lines)? + "\n";
    // A link that somebody has put there is not followed.
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The lines; none where there are none, or where they cannot be read.
pub fn read(records: &Path) -> Vec<String> {
    let (directory, _) = crate::commands::profile::selected(records);
    let text = fs::read(file(directory)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
