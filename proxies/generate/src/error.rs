//! Why no proxy can be generated.

use thiserror::Error;

use crate::text::{MAX_DEPTH, SourceLocation};

/// Why no proxy can be generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The text is not C.
    #[error("cannot read header: line {} of \"{}\" is no declaration of C, expected one", place.line, place.file)]
    Unparsable {
        /// Where.
        place: SourceLocation,
    },
    /// The header declares no function that a library has.
    #[error(
        "cannot make a proxy of \"{header}\": 0 functions declared, expected at least 1{}",
        not_understood(passed_over)
    )]
    NoFunctions {
        /// The header.
        header: String,
        /// Where declarations are that are not understood, `FILE:LINE`.
        passed_over: Vec<String>,
    },
    /// This function can have no proxy.
    #[error("cannot make a proxy of function \"{function}\": {reason}, expected another function")]
    NeverProxied {
        /// Function.
        function: String,
        /// Why not.
        reason: &'static str,
    },
    /// The mark-up is not TOML, or has other keys.
    #[error("cannot read mark-up: {message}")]
    Markup {
        /// Message of the reader of TOML.
        message: String,
    },
    /// The mark-up names a function that the header does not declare.
    #[error("cannot mark up function \"{function}\": not declared in the header, expected one that is{}", suggestion(similar.as_deref()))]
    UnknownFunction {
        /// Name in the mark-up.
        function: String,
        /// A name much like it.
        similar: Option<String>,
    },
    /// A declaration is nested or chained deeper than any that people write, so that it could not be read without end.
    #[error(
        "cannot read header: line {} of \"{}\" has a type or an expression {found} levels deep, expected at most {MAX_DEPTH}",
        place.line, place.file
    )]
    TooDeep {
        /// Where.
        place: SourceLocation,
        /// How deep.
        found: usize,
    },
    /// The mark-up declares a function without arguments, but its declaration has some.
    #[error(
        "cannot mark up function \"{function}\": declared with arguments, expected a declaration without a prototype, as f()"
    )]
    HasArguments {
        /// Function.
        function: String,
    },
    /// More definitions of a function than can be distinguished.
    #[error(
        "cannot mark up function \"{function}\": {found} definitions, expected 1 to {}",
        crate::markup::MAX_DEFINITIONS
    )]
    Definitions {
        /// Function.
        function: String,
        /// In the mark-up.
        found: u32,
    },
    /// The mark-up names a struct that is no interface.
    #[error(
        "cannot mark up interface \"{interface}\": {problem}, expected a struct whose functions take it as their first argument"
    )]
    NoInterface {
        /// Tag in the mark-up.
        interface: String,
        /// The problem.
        problem: &'static str,
    },
    /// An expression of the mark-up cannot be evaluated.
    #[error(
        "cannot mark up parameter \"{parameter}\" of \"{function}\": \"{expression}\" {problem}"
    )]
    Expression {
        /// Function.
        function: String,
        /// Name of the parameter.
        parameter: String,
        /// Its expression.
        expression: String,
        /// The problem, with the expected text.
        problem: String,
    },
    /// A name in the mark-up that must be one of C.
    #[error(
        "cannot use \"{name}\" as {what}: expected letters, digits and underscores, the first no digit"
    )]
    BadName {
        /// Name.
        name: String,
        /// Subject of the error.
        what: &'static str,
    },
}

/// Most places that are named.
const MAX_PLACES: usize = 3;

fn not_understood(places: &[String]) -> String {
    let named = &places[..places.len().min(MAX_PLACES)];
    match places.len() - named.len() {
        _ if places.is_empty() => String::new(),
        0 => format!("; not understood: {}", named.join(", ")),
        more => format!("; not understood: {} and {more} more", named.join(", ")),
    }
}

fn suggestion(similar: Option<&str>) -> String {
    similar.map_or(String::new(), |name| format!("; do you mean \"{name}\"?"))
}
