//! Conditions on the values of rows, checked on records before they become rows.
//!
//! In: [`Condition`]s on columns by name. Out: whether a cell meets one. A cell without a value meets none, as in
//! SQL.

use crate::cell::{Cell, Shape};
use crate::columns::{Columns, N_FIRST, N_LAST};
use crate::error::ExportError;

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It is one of the operands.
    In,
    /// It is none of them.
    NotIn,
    /// It is less than the operand.
    Less,
    /// It is the operand or less.
    AtMost,
    /// It is more than the operand.
    More,
    /// It is the operand or more.
    AtLeast,
}

/// What a value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text: of an instance, a class, a method, a mode.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

/// What a row must meet to be wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Name of the column.
    pub column: String,
    /// How its value is compared.
    pub comparison: Comparison,
    /// With what: any number of operands for [`Comparison::In`] and [`Comparison::NotIn`], else one.
    pub operands: Vec<Operand>,
}

impl Condition {
    /// Whether it can be asked of a table.
    ///
    /// # Returns
    /// The place of its column.
    ///
    /// # Errors
    /// [`ExportError::NoColumn`], [`ExportError::NoSuchComparison`].
    pub(crate) fn place(&self, columns: &Columns) -> Result<usize, ExportError> {
        let place = columns.place(&self.column)?;
        let is_one_of = matches!(self.comparison, Comparison::In | Comparison::NotIn);
        let shape = columns.columns[place].shape;
        let fits = |operand: &Operand| match (shape, operand) {
            (Shape::Text, Operand::Text(_)) | (Shape::Flag, Operand::Flag(_)) => is_one_of,
            (Shape::Delta | Shape::Few | Shape::Real, Operand::Integer(_) | Operand::Real(_)) => {
                true
            }
            _ => false,
        };
        let fit = self.operands.iter().all(fits) && (is_one_of || self.operands.len() == 1);
        match fit {
            true => Ok(place),
            false => Err(ExportError::NoSuchComparison {
                column: self.column.clone(),
                expected: match shape {
                    Shape::Text => "equality with texts",
                    Shape::Flag => "equality with True or False",
                    _ => "a comparison with numbers",
                },
            }),
        }
    }

    /// Whether a cell of the column meets it.
    #[inline]
    pub(crate) fn is_met(&self, cell: Cell<'_>) -> bool {
        let mut operands = self.operands.iter();
        let first = self.operands.first();
        match (self.comparison, cell) {
            (_, Cell::Absent) => false,
            (Comparison::In, cell) => operands.any(|operand| is_equal(cell, operand)),
            (Comparison::NotIn, cell) => !operands.any(|operand| is_equal(cell, operand)),
            (comparison, cell) => {
                let order = first.and_then(|operand| order(cell, operand));
                order.is_some_and(|order| match comparison {
                    Comparison::Less => order.is_lt(),
                    Comparison::AtMost => order.is_le(),
                    Comparison::More => order.is_gt(),
                    _ => order.is_ge(),
                })
            }
        }
    }
}

fn is_equal(cell: Cell<'_>, operand: &Operand) -> bool {
    match (cell, operand) {
        (Cell::Text(text), Operand::Text(operand)) => text == operand,
        // As the column shows a value that has no name.
        (Cell::Index(index), Operand::Text(operand)) => index.to_string() == *operand,
        (Cell::Flag(flag), Operand::Flag(operand)) => flag == *operand,
        _ => order(cell, operand).is_some_and(std::cmp::Ordering::is_eq),
    }
}

fn order(cell: Cell<'_>, operand: &Operand) -> Option<std::cmp::Ordering> {
    match (cell, operand) {
        (Cell::Integer(value), Operand::Integer(operand)) => Some(value.cmp(operand)),
        (Cell::Integer(value), Operand::Real(operand)) => (value as f64).partial_cmp(operand),
        (Cell::Real(value), Operand::Integer(operand)) => value.partial_cmp(&(*operand as f64)),
        (Cell::Real(value), Operand::Real(operand)) => value.partial_cmp(operand),
        _ => None,
    }
}

/// Whether a column holds a parameter or a counter.
pub(crate) fn is_value(place: usize, columns: &Columns) -> bool {
    (N_FIRST..columns.columns.len() - N_LAST).contains(&place)
}
