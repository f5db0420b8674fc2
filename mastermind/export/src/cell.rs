//! Parts common to the writers of tables: cells, the best encoding of a column, and the destination of the bytes.

use std::io::Write;

/// Where the bytes of a table go.
pub(crate) type Out = Box<dyn Write + Send>;

/// How a column is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// Integers, no two alike: differences, packed.
    Delta,
    /// Integers of few values: a dictionary, or differences where it grows too large.
    Few,
    /// Real numbers.
    Real,
    /// Text of few values.
    Text,
    /// Yes or no.
    Flag,
}

/// A cell of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Integer(i64),
    Real(f64),
    Text(&'a str),
    /// A value of an enumeration that has no name.
    Index(u64),
    Flag(bool),
    Absent,
}
