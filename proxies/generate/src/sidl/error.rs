//! Errors in SIDL.

use thiserror::Error;

/// Why no ports could be made of SIDL.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SidlError {
    /// The text is not SIDL.
    #[error("cannot read SIDL \"{file}\": line {line} has {found}, expected {expected}")]
    Syntax {
        /// Name of the file.
        file: String,
        /// From 1.
        line: usize,
        /// The text found.
        found: String,
        /// The texts expected.
        expected: String,
    },
    /// It is SIDL, but does not make sense.
    #[error("cannot make ports of \"{symbol}\": {found}, expected {expected}")]
    Symbol {
        /// The symbol or method, in full.
        symbol: String,
        /// The problem.
        found: String,
        /// The expected form.
        expected: String,
    },
}
