//! Errors of exports.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use arrow_schema::ArrowError;
#[cfg(feature = "parquet")]
use parquet::errors::ParquetError;

/// Why records cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The system refused.
    #[error("cannot write records \"{}\"", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A Parquet file cannot be written.
    #[cfg(feature = "parquet")]
    #[error("cannot write records \"{}\"", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ParquetError,
    },
    /// Parquet and Arrow are not in this build.
    #[error(
        "cannot write Parquet or Arrow: built without them, expected csv; the feature `parquet` of the build has them, as \
         `cargo xtask build` makes it"
    )]
    WithoutParquet,
    /// An Arrow file cannot be written.
    #[cfg(feature = "parquet")]
    #[error("cannot write records \"{}\"", path.display())]
    Arrow {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ArrowError,
    },
    /// A file of comma-separated values cannot be written.
    #[error("cannot write records \"{}\"", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: csv::Error,
    },
    /// A column that the table does not have.
    #[error("cannot read column \"{name}\": not there, expected one of {known}")]
    NoColumn {
        /// As it was asked for.
        name: String,
        /// The columns.
        known: String,
    },
    /// A comparison that the values of a column do not allow.
    #[error("cannot select by column \"{column}\": another comparison, expected {expected}")]
    NoSuchComparison {
        /// The column.
        column: String,
        /// What it allows.
        expected: &'static str,
    },
    /// A column that was asked for twice.
    #[error("cannot read column \"{name}\": asked for twice, expected each once")]
    ColumnTwice {
        /// The column.
        name: String,
    },
    /// A file that cannot be opened.
    #[error("cannot read table \"{}\"", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that holds no table, or one that is damaged.
    #[error("cannot read table \"{}\": {problem}, expected {expected}", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What would be right.
        expected: String,
    },
    /// A folder that holds a dataset already, with which the new one would be mixed.
    #[error("cannot write records \"{}\": not empty, expected an empty or a new folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
}

impl ExportError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn unread(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Unread { path, source }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn arrow(path: &Path) -> impl FnOnce(ArrowError) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Arrow { path, source }
    }

    pub(crate) fn csv(path: &Path) -> impl FnOnce(csv::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Csv { path, source }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Parquet { path, source }
    }
}
