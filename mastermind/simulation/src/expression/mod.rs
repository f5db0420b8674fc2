//! The expressions in which a model states costs, guards, counts, ranks and sizes.
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
//! Every number is an `f64`. Conditions are truth values, and the two do not mix: what does not fit
//! is found before anything runs. A cost function is used like a built-in one, and a fitted model by
//! the name of its method.

mod ast;
mod builtin;
mod compile;
mod error;
mod evaluate;
mod parse;

pub use ast::{Argument, Binary, Expression, Unary};
pub use builtin::Builtin;
pub use compile::{CostFunction, Kind, Resolver, Scope, Symbol, SystemProperty, Typed};
pub use error::ExpressionError;
pub use evaluate::{Compiled, Context, Fitted};
pub use parse::{Assignment, parse, parse_assignments};
