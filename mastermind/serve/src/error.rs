//! Errors, in the words that the page and the terminal show.

use std::io;
use std::path::PathBuf;

/// Why something was not served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port is taken, or not allowed.
    #[error(
        "cannot listen on port {port} of 127.0.0.1: {reason}, expected a free port; --port 0 takes any"
    )]
    Listen {
        /// The requested port.
        port: u16,
        /// The system's error.
        reason: io::Error,
    },
    /// The system takes no connections any more.
    #[error("cannot serve the page: {reason}")]
    Serve {
        /// The system's error.
        reason: io::Error,
    },
    /// The system gives no random bytes for the token.
    #[error("cannot make a token: {0}, expected random bytes from the system")]
    Random(getrandom::Error),
    /// A file or folder cannot be read or written.
    #[error("cannot {act} \"{}\": {reason}", path.display())]
    File {
        /// The failed action.
        act: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// A path leads out of the folder that is served, or is no path.
    #[error("cannot use path \"{}\": {found}, expected a path within the folder that is served", path.display())]
    Outside {
        /// The given path.
        path: PathBuf,
        /// The problem with it.
        found: &'static str,
    },
    /// The file is another one than the page had read.
    #[error("cannot write \"{}\": it has changed since the page read it; load it again, or write it under another name", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The server was started with `--read-only`.
    #[error("cannot {0}: the page is read-only; start mastermind serve without --read-only")]
    ReadOnly(&'static str),
    /// An edit of an assembly file that cannot be made.
    #[error("cannot edit assembly: {0}")]
    Edit(String),
    /// A change of a diagram that cannot be made.
    #[error(transparent)]
    Diagram(#[from] mastermind_diagrams::edit::EditError),
    /// A question or job with invalid values.
    #[error("cannot ask for {what}: {found}")]
    Question {
        /// The requested object.
        what: &'static str,
        /// The problem with it.
        found: String,
    },
    /// The program that answers cannot be started, or prints too much.
    #[error("cannot run {command}: {found}")]
    Program {
        /// The command line.
        command: String,
        /// The problem.
        found: String,
    },
}
