//! Why a store cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

use mastermind_export::ExportError;

/// Why a store cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The system refused.
    #[error("cannot {act} history \"{}\"", path.display())]
    Io {
        /// The failed action.
        act: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A run's file cannot be written or read.
    #[error("cannot {act} run \"{}\"", path.display())]
    Table {
        /// The failed action.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ExportError,
    },
    /// A run's file holds something else.
    #[error("cannot read run \"{}\": {found}, expected {expected}", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
        /// The problem.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// No run in the folder.
    #[error("cannot read history \"{}\": no run in it, expected at least 1; `mastermind history add` adds runs", path.display())]
    Empty {
        /// The store.
        path: PathBuf,
    },
    /// No such run.
    #[error("cannot find run \"{name}\" in history \"{}\": {found}, expected the name of 1 run, the beginning of one, or a commit", path.display())]
    NoSuchRun {
        /// The requested name.
        name: String,
        /// The store.
        path: PathBuf,
        /// The value found.
        found: String,
    },
    /// No component of that name.
    #[error(
        "cannot rename \"{name}\": no run in the history has it, expected an instance or an instance.method of `mastermind history show`"
    )]
    NoSuchComponent {
        /// The requested name.
        name: String,
    },
    /// A run has a component of the old name and one of the new one.
    #[error(
        "cannot rename \"{old}\" to \"{new}\": run {run} has both, expected one component under either name"
    )]
    BothNames {
        /// The old name.
        old: String,
        /// The new one.
        new: String,
        /// The run.
        run: String,
    },
}

impl HistoryError {
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { act, path, source }
    }

    pub(crate) fn table(act: &'static str, path: &Path) -> impl FnOnce(ExportError) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Table { act, path, source }
    }
}
