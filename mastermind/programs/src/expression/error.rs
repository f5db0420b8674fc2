//! Errors in an expression.

use mastermind_models::expression::SyntaxError;

use super::compile::Kind;

/// An expression that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// It does not follow the grammar.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// With its cost functions inlined, it is larger than any expression may be.
    #[error(
        "cannot use expression: more than {most} operations with its cost functions, expected at most so many; do functions double one another?"
    )]
    TooLarge {
        /// The bound.
        most: usize,
    },
    /// No variable, property or parameter has this name.
    #[error("cannot use name \"{name}\": unknown, expected {known}")]
    UnknownName {
        /// The name.
        name: String,
        /// Names there are, a comma list.
        known: String,
    },
    /// No function has this name.
    #[error("cannot call function \"{name}\": unknown, expected {known}")]
    UnknownFunction {
        /// The name.
        name: String,
        /// Functions there are, a comma list.
        known: String,
    },
    /// A function has another number of arguments.
    #[error("cannot call function \"{function}\": {found} arguments, expected {expected}")]
    Arguments {
        /// The function.
        function: String,
        /// Arguments given.
        found: usize,
        /// Arguments it takes.
        expected: usize,
    },
    /// Cost functions call one another in a circle.
    #[error("cannot call function \"{function}\": it calls itself, {circle}, expected an end")]
    Recursion {
        /// The function.
        function: String,
        /// `a -> b -> a`.
        circle: String,
    },
    /// A number in place of a truth value, or the reverse.
    #[error("cannot use \"{part}\": a {found}, expected a {expected}")]
    Kind {
        /// The part of the expression.
        part: String,
        /// Its type.
        found: Kind,
        /// The expected type.
        expected: Kind,
    },
    /// No fitted model has this name, or not in this mode.
    #[error("cannot use fitted model \"{method}\": {found}, expected {known}")]
    UnknownModel {
        /// The method.
        method: String,
        /// The name found.
        found: String,
        /// The known names.
        known: String,
    },
    /// A fitted model lacks a parameter, or was given an unknown one.
    #[error("cannot use fitted model \"{method}\": {found}, expected parameters {known}")]
    ModelParameters {
        /// The method.
        method: String,
        /// The missing or unknown parameters.
        found: String,
        /// Its parameters, a comma list.
        known: String,
    },
    /// The left side of an assignment is not a variable.
    #[error("cannot assign \"{name}\": {found}, expected a variable")]
    NotAssignable {
        /// The name.
        name: String,
        /// Its type.
        found: &'static str,
    },
}

/// A comma list; "none" for none.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}
