//! The language of costs, guards, counts, ranks and sizes: parsed from text to a tree.
//!
//! ```text
//! expression  = or [ "?" expression ":" expression ]
//! or          = and  { "||" and }           and     = compare { "&&" compare }
//! compare     = sum  [ ("=="|"!="|"<="|">="|"<"|">") sum ]
//! sum         = product { ("+"|"-") product }
//! product     = unary { ("*"|"/"|"%") unary }
//! unary       = { "-"|"!" } power            power   = primary [ "^" unary ]
//! primary     = number | "true" | "false" | name | call | fitted | "(" expression ")"
//! call        = name "(" [ expression { "," expression } ] ")"
//! fitted      = "model" "(" text { "," name "=" ( expression | text ) } ")"
//! assignments = name "=" expression { ";" name "=" expression } [ ";" ]
//! ```
//!
//! A user's formula may use the part of the language that [`Arithmetic`](crate::Arithmetic) accepts; a simulated program may use all of it,
//! with its own functions, variables and fitted models.

mod ast;
mod parse;

pub use ast::{Argument, Binary, Expression, Unary};
pub use parse::{Assignment, parse, parse_assignments};

/// Text that does not follow the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxError {
    /// The text does not follow the grammar at a place.
    #[error(
        "cannot read expression \"{text}\": nothing fits at character {at}, expected {expected}"
    )]
    Nothing {
        /// The expression, shortened.
        text: String,
        /// Position of the error, in characters from 1.
        at: usize,
        /// What the grammar expects there.
        expected: &'static str,
    },
    /// It is longer than any expression may be.
    #[error("cannot read expression: {found} bytes, expected at most {most}")]
    TooLong {
        /// Length, bytes.
        found: usize,
        /// Greatest length, bytes.
        most: usize,
    },
}
