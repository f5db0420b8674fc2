//! Damage in a log.

use std::fmt;
use std::path::PathBuf;

/// A part of a log that cannot be read. The parts before and after it can.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// A field of the header.
    Header {
        /// The log.
        log: PathBuf,
        /// Which field.
        field: &'static str,
    },
    /// The file is shorter than its header says.
    Truncated {
        /// The log.
        log: PathBuf,
        /// Bytes that are missing.
        missing_bytes: u64,
    },
    /// Bytes that are not an entry.
    Unreadable {
        /// The log.
        log: PathBuf,
        /// Where, from the beginning of the file.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Records whose call path or method is not defined, or which do not match its definition.
    Undefined {
        /// The log.
        log: PathBuf,
        /// The call path.
        call_path: u32,
        /// How many.
        records: u64,
    },
    /// Records with more time in MPI than wall time: one of the two is wrong.
    Excess {
        /// The log.
        log: PathBuf,
        /// How many.
        records: u64,
    },
}

impl Damage {
    /// Whether calls may be missing because of it.
    pub fn may_hide_calls(&self) -> bool {
        !matches!(self, Self::Excess { .. })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { log, field } => {
                write!(
                    f,
                    "cannot trust header of record log \"{}\": {field} is damaged",
                    log.display()
                )
            }
            Self::Truncated { log, missing_bytes } => {
                write!(
                    f,
                    "cannot read end of record log \"{}\": {missing_bytes} bytes are missing",
                    log.display()
                )
            }
            Self::Unreadable { log, offset, bytes } => {
                write!(
                    f,
                    "cannot read record log \"{}\": {bytes} bytes at {offset} are no entry",
                    log.display()
                )
            }
            Self::Undefined {
                log,
                call_path,
                records,
            } => write!(
                f,
                "cannot interpret {records} records of record log \"{}\": call path {call_path} is not defined so",
                log.display()
            ),
            Self::Excess { log, records } => write!(
                f,
                "cannot trust time in MPI of {records} records of record log \"{}\": it is longer than the call",
                log.display()
            ),
        }
    }
}
