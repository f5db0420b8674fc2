//! In place of `parquet_table.rs` and `parquet_writer.rs` where the feature `parquet` is off: what would write says so.

use std::path::{Path, PathBuf};

use mastermind_records::Run;

use crate::cell::{Cell, Out, Shape};
use crate::error::ExportError;

/// A table that cannot be made.
pub(crate) enum ParquetTable {}

impl ParquetTable {
    pub(crate) fn create_with(
        _: (&Path, Out),
        _: &[(String, Shape, bool)],
        _: &[(&str, &str)],
    ) -> Result<Self, ExportError> {
        Err(ExportError::WithoutParquet)
    }

    pub(crate) fn push<'a>(
        &mut self,
        _: impl Iterator<Item = Cell<'a>>,
    ) -> Result<(), ExportError> {
        match *self {}
    }

    pub(crate) fn finish(self) -> Result<PathBuf, ExportError> {
        match self {}
    }
}

/// Writes nothing.
///
/// # Errors
/// [`ExportError::WithoutParquet`].
pub fn write_parquet(_: &Run, _: &Path) -> Result<Vec<PathBuf>, ExportError> {
    Err(ExportError::WithoutParquet)
}
