//! The expressions in which a model states costs, guards, counts, ranks and sizes: names resolved, types
//! checked, and compiled to the form that the engine evaluates.
//!
//! The language itself is [`mastermind_models::expression`]. Every number is an `f64`. Conditions are truth values, and
//! the two do not mix: type errors are found before anything runs. A cost function is used like a built-in one, and a
//! fitted model by the name of its method. In the condition of a branch or a `while` loop, `chance(p)` holds with
//! probability `p`, the same for all processes each time that they come there. `closed_queue` and `lopc` give times
//! under contention by formula.

mod builtin;
mod compile;
mod contention;
mod error;
mod evaluate;
mod flat;

pub use builtin::Builtin;
pub use compile::{CostFunction, Kind, Resolver, Scope, Symbol, SystemProperty, Typed};
pub use contention::{Contention, closed_queue, lopc};
pub use error::ExpressionError;
pub use evaluate::{Compiled, Context, Fitted};
pub use evaluate::{mixed, modulo};
pub use flat::FlatExpression;
pub use mastermind_models::expression::{
    Argument, Assignment, Binary, Expression, SyntaxError, Unary, parse, parse_assignments,
};
