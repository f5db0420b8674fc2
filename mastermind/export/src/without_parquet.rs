//! Replaces `parquet_writer.rs` if the feature `parquet` is off: writing returns an error that says so.

use std::path::{Path, PathBuf};

use mastermind_records::Run;

use crate::error::ExportError;

/// Writes nothing.
///
/// # Errors
/// [`ExportError::WithoutParquet`].
pub fn write_parquet(_: &Run, _: &Path) -> Result<Vec<PathBuf>, ExportError> {
    Err(ExportError::WithoutParquet)
}

/// Makes nothing.
///
/// # Errors
/// [`ExportError::WithoutParquet`].
pub fn make_empty(_: &Path) -> Result<(), ExportError> {
    Err(ExportError::WithoutParquet)
}

/// Writes nothing.
///
/// # Errors
/// [`ExportError::WithoutParquet`].
pub fn add_parquet(_: &Run, _: &Path) -> Result<Vec<PathBuf>, ExportError> {
    Err(ExportError::WithoutParquet)
}
