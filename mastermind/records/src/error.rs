//! What can go wrong with a record log.

use std::io;
use std::path::{Path, PathBuf};

/// Why a record log cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// The system refused.
    #[error("cannot {act} \"{}\"", path.display())]
    Io {
        /// What was tried, with the kind of thing: `create record log`.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A log of this name is there already.
    #[error("cannot create record log \"{}\": it exists; choose another directory or remove its records", path.display())]
    Exists {
        /// The log.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("cannot read record log \"{}\": begins with \"{}\", expected \"{}\"", path.display(), found.escape_ascii(), crate::layout::MAGIC.escape_ascii())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// The log was written by another version.
    #[error("cannot read record log \"{}\": layout version {found}, expected 1 to {}; use the mastermind that wrote it", path.display(), crate::layout::VERSION)]
    Version {
        /// The log.
        path: PathBuf,
        /// Its layout version.
        found: u32,
    },
    /// Not even the header is whole.
    #[error("cannot read record log \"{}\": {bytes} bytes, expected at least {}", path.display(), crate::layout::PAGE_BYTES)]
    TooShort {
        /// The log.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The file is no container.
    #[error("cannot read packed records \"{}\": begins with \"{}\", expected \"MMPACKED\"", path.display(), found.escape_ascii())]
    NotPacked {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// The container was written by another version.
    #[error("cannot read packed records \"{}\": layout version {found}, expected 1; use the mastermind that wrote it", path.display())]
    PackedVersion {
        /// The container.
        path: PathBuf,
        /// Its layout version.
        found: u32,
    },
    /// A container is cut, or bytes of it are not those that were written, so that none of its logs can be read.
    #[error("cannot read packed records \"{}\": its {part} is damaged, expected what \"mastermind pack\" has written", path.display())]
    PackedDamage {
        /// The container.
        path: PathBuf,
        /// What of it.
        part: &'static str,
    },
    /// Bytes of a log of a container are not those that were written; the others can be read.
    #[error("cannot read record log \"{log}\" of packed records \"{}\": bytes at {offset} are damaged, expected what \"mastermind pack\" has written", path.display())]
    PackedLogDamage {
        /// The container.
        path: PathBuf,
        /// File name that the log had.
        log: String,
        /// Where the first damaged block begins.
        offset: u64,
    },
    /// Records that are to be packed are still being written.
    #[error("cannot pack records \"{}\": a program still writes {n_live} of its logs, expected one that has ended", directory.display())]
    StillWritten {
        /// The directory.
        directory: PathBuf,
        /// How many logs.
        n_live: usize,
    },
    /// What was packed is not what the log has.
    #[error("cannot pack record log \"{}\": read back from \"{}\" it differs, expected the same bytes; the log stays as it is", log.display(), container.display())]
    PackedUnlike {
        /// The log.
        log: PathBuf,
        /// The container.
        container: PathBuf,
    },
    /// The directory holds no logs.
    #[error("cannot read records \"{}\": no file *.{}, expected at least 1", directory.display(), crate::layout::EXTENSION)]
    NoLogs {
        /// The directory.
        directory: PathBuf,
    },
    /// No room can be had for an entry.
    #[error("cannot append to record log \"{}\": no room for {words} words", path.display())]
    NoRoom {
        /// The log.
        path: PathBuf,
        /// Words of the entry.
        words: usize,
        /// What the system said, if it was asked.
        source: Option<io::Error>,
    },
    /// A definition cannot be written as JSON.
    #[error("cannot encode definition for record log \"{}\"", path.display())]
    Encode {
        /// The log.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
    /// A summary is no summary.
    #[error("cannot read summary \"{}\": expected what a run of this version writes", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
    /// An export file cannot be written.
    #[error("cannot write records \"{}\"", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: csv::Error,
    },
}

impl RecordsError {
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { act, path, source }
    }
}
