//! JSON files in the record directory, for facts about a run that its logs do not hold.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value into the record directory in place of an earlier run's; without a value, only removes the earlier
/// one.
///
/// # Errors
/// It cannot be written.
pub fn write<T: Serialize>(directory: &Path, name: &str, value: Option<&T>) -> io::Result<()> {
    let path = directory.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let Some(value) = value else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(value)? + "\n";
    // A link that somebody has put there is not followed.
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The value; `None` if there is none, or if it cannot be read.
pub fn read<T: DeserializeOwned>(records: &Path, name: &str) -> Option<T> {
    let (directory, _) = crate::commands::profile::selected(records);
    let text = fs::read(directory.join(name)).ok()?;
    serde_json::from_slice(&text).ok()
}
