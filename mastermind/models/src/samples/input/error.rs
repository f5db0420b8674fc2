//! Errors of inputs.

use std::fmt;
use std::io;

/// Place in an input, printed as `, line 3, column 7`, or as nothing if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Line, from 1; 0 if unknown.
    pub line: u64,
    /// Column, from 1: of values in a table, else of characters; 0 if unknown.
    pub column: u64,
}

impl Place {
    pub(crate) fn line(line: u64) -> Self {
        Self { line, column: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ", column {}", self.column)?;
        }
        Ok(())
    }
}

/// Why measurements cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The system cannot read the input.
    #[error("cannot read measurements \"{input}\"")]
    Io {
        /// The input.
        input: String,
        /// Why.
        source: io::Error,
    },
    /// The content does not follow the format.
    #[error("cannot read measurements \"{input}\"{place}: {found}, expected {expected}")]
    Content {
        /// The input.
        input: String,
        /// Where.
        place: Place,
        /// The content found there.
        found: String,
        /// The content expected there.
        expected: String,
    },
    /// Text that is not JSON, or JSON of another form.
    #[error("cannot read measurements \"{input}\"{place}: not the JSON that Extra-P reads")]
    Json {
        /// The input.
        input: String,
        /// Where.
        place: Place,
        /// Why not.
        source: serde_json::Error,
    },
    /// The input is empty.
    #[error("cannot read measurements \"{input}\": nothing in it, expected {expected}")]
    Empty {
        /// The input.
        input: String,
        /// The content expected.
        expected: &'static str,
    },
    /// A table lacks the column of the time, or a column that was named.
    #[error(
        "cannot read measurements \"{input}\": no column \"{column}\", expected one of {known}; {todo}"
    )]
    NoColumn {
        /// The input.
        input: String,
        /// The missing column.
        column: String,
        /// The columns of the table, comma-separated.
        known: String,
        /// Advice to the user.
        todo: &'static str,
    },
    /// There are several metrics, and none of them is known to be the requested time.
    #[error(
        "cannot read measurements \"{input}\": metrics {found}, expected {expected}; name the one to take as the time"
    )]
    NoMetric {
        /// The input.
        input: String,
        /// The metrics of the input, comma-separated.
        found: String,
        /// The requested metric.
        expected: String,
    },
    /// A method has other parameters here than before.
    #[error(
        "cannot read measurements \"{input}\"{place}: parameters [{found}] of \"{method}\", expected [{expected}] \
         as in \"{before}\"; fit them apart"
    )]
    ParametersDiffer {
        /// The input.
        input: String,
        /// Where.
        place: Place,
        /// The method.
        method: String,
        /// Names and units here.
        found: Box<str>,
        /// Names and units before.
        expected: Box<str>,
        /// The input that came before.
        before: Box<str>,
    },
    /// The samples of one method contradict those of another source.
    #[error(transparent)]
    Samples(#[from] crate::Error),
}

impl InputError {
    pub(crate) fn io(input: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            input: input.into(),
            source,
        }
    }

    pub(crate) fn content(
        input: &str,
        place: Place,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Content {
            input: input.into(),
            place,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// # Arguments
    /// * `line` - line of the input at which the parsed text begins, from 1
    pub(crate) fn json(input: &str, line: u64, source: serde_json::Error) -> Self {
        let place = Place {
            line: line + (source.line() as u64).saturating_sub(1),
            column: source.column() as u64,
        };
        Self::Json {
            input: input.into(),
            place,
            source,
        }
    }
}

/// Text of an input as quoted in a message: shortened, and without control characters.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text))
}

/// The same without the quotes.
pub(crate) fn plain(text: &str) -> String {
    const LONGEST: usize = 40;
    let shown = text.chars().take(LONGEST).flat_map(char::escape_debug);
    let rest = text.chars().nth(LONGEST).map(|_| '…');
    shown.chain(rest).collect()
}
