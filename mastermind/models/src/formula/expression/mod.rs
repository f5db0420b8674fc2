//! The language in which costs, guards, counts, ranks and sizes are written: text to a tree.
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
//! A user's formula is the part of it that [`Arithmetic`](crate::Arithmetic) takes; a simulated program
//! may use all of it, with functions, variables and fitted models of its own.

mod ast;
mod parse;

pub use ast::{Argument, Binary, Expression, Unary};
pub use parse::{Assignment, parse, parse_assignments};

/// Text that does not follow the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxError {
    /// The text stops making sense.
    #[error(
        "cannot read expression \"{text}\": nothing fits at character {at}, expected {expected}"
    )]
    Nothing {
        /// The expression, shortened.
        text: String,
        /// Where, in characters from 1.
        at: usize,
        /// What would fit there.
        expected: &'static str,
    },
    /// It is longer than any expression may be.
    #[error("cannot read expression: {found} bytes, expected at most {most}")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The bound.
        most: usize,
    },
}
