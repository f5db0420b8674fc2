//! Errors of reading and writing record logs.

use std::io;
use std::path::{Path, PathBuf};

/// Why a record log cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// A system call failed.
    #[error("cannot {act} \"{}\"", path.display())]
    Io {
        /// The action and the type of its object: `create record log`.
        act: &'static str,
        /// The object.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A log with this name exists already.
    #[error("cannot create record log \"{}\": it exists; choose another directory or remove its records", path.display())]
    Exists {
        /// The log.
        path: PathBuf,
    },
    /// The file is not a log.
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
    /// The file is shorter than a header.
    #[error("cannot read record log \"{}\": {bytes} bytes, expected at least {}", path.display(), crate::layout::PAGE_BYTES)]
    TooShort {
        /// The log.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The file is not a container.
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
    /// A container is truncated or damaged so that none of its logs can be read.
    #[error("cannot read packed records \"{}\": its {part} is damaged, expected what \"mastermind pack\" has written", path.display())]
    PackedDamage {
        /// The container.
        path: PathBuf,
        /// The damaged part.
        part: &'static str,
    },
    /// Part of one log in a container is damaged; the other logs can be read.
    #[error("cannot read record log \"{log}\" of packed records \"{}\": bytes at {offset} are damaged, expected what \"mastermind pack\" has written", path.display())]
    PackedLogDamage {
        /// The container.
        path: PathBuf,
        /// File name of the log.
        log: String,
        /// Where the first damaged block begins.
        offset: u64,
    },
    /// A program still writes records that are to be packed.
    #[error("cannot pack records \"{}\": a program still writes {n_live} of its logs, expected one that has ended", directory.display())]
    StillWritten {
        /// The directory.
        directory: PathBuf,
        /// Number of logs that are still written.
        n_live: usize,
    },
    /// A packed log differs from the original.
    #[error("cannot pack record log \"{}\": read back from \"{}\" it differs, expected the same bytes; the log stays as it is", log.display(), container.display())]
    PackedUnlike {
        /// The log.
        log: PathBuf,
        /// The container.
        container: PathBuf,
    },
    /// The directory contains no logs.
    #[error("cannot read records \"{}\": no file *.{}, expected at least 1", directory.display(), crate::layout::EXTENSION)]
    NoLogs {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no room for an entry.
    #[error("cannot append to record log \"{}\": no room for {words} words", path.display())]
    NoRoom {
        /// The log.
        path: PathBuf,
        /// Words of the entry.
        words: usize,
        /// The system's error, if there was one.
        source: Option<io::Error>,
    },
    /// A definition cannot be encoded as JSON.
    #[error("cannot encode definition for record log \"{}\"", path.display())]
    Encode {
        /// The log.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// A file is not a summary.
    #[error("cannot read summary \"{}\": expected what a run of this version writes", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// An export file cannot be written.
    #[error("cannot write records \"{}\"", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: csv::Error,
    },
}

impl RecordsError {
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { act, path, source }
    }
}
