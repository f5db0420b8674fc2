//! Errors in a formula, its data, or a correction.

use mastermind_models::ArithmeticError;

/// Why a semi-empirical model cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is no TOML, or has other keys.
    #[error("cannot read the semi-empirical formula")]
    Toml(#[from] toml::de::Error),
    /// The text is no formula.
    #[error("cannot read formula of \"{name}\"")]
    Formula {
        /// Name of the specification.
        name: String,
        /// Where the text goes wrong.
        source: ArithmeticError,
    },
    /// A name in the formula that is nothing.
    #[error(
        "cannot use formula of \"{model}\": \"{name}\" is unknown, expected an input ({inputs}), a constant or an unknown; \
         declare it under inputs, [constants] or [unknowns]"
    )]
    UnknownName {
        /// Name of the specification.
        model: String,
        /// The name.
        name: String,
        /// The inputs, a comma list.
        inputs: String,
    },
    /// A name with two meanings.
    #[error(
        "cannot use formula of \"{model}\": \"{name}\" is declared twice, expected one of inputs, [constants] and [unknowns]"
    )]
    TwoMeanings {
        /// Name of the specification.
        model: String,
        /// The name.
        name: String,
    },
    /// A constant or an unknown that the formula does not hold.
    #[error(
        "cannot use formula of \"{model}\": \"{name}\" is not in it, expected every constant and unknown to be; take it out"
    )]
    Unused {
        /// Name of the specification.
        model: String,
        /// The name.
        name: String,
    },
    /// A name that the formula cannot hold.
    #[error("cannot use formula of \"{model}\": no inputs, expected at least 1")]
    NoInputs {
        /// Name of the specification.
        model: String,
    },
    /// Bounds without room, or that are not finite.
    #[error(
        "cannot fit unknown \"{name}\": bounds from {lower} to {upper}, expected finite ones, the lower below the upper"
    )]
    Bounds {
        /// The unknown.
        name: String,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A number of the specification that is not finite.
    #[error("cannot use constant \"{name}\": {value}, expected a finite number")]
    Constant {
        /// The constant.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A table that is no CSV.
    #[error("cannot read data")]
    Csv(#[from] csv::Error),
    /// A column that the data lack.
    #[error("cannot read data: no column \"{name}\", expected one in addition to {known}")]
    NoColumn {
        /// The column.
        name: String,
        /// Columns there are, a comma list.
        known: String,
    },
    /// A field that is no finite number.
    #[error(
        "cannot read data: \"{found}\" in column \"{column}\" of line {line}, expected {wanted}"
    )]
    Field {
        /// The text.
        found: String,
        /// Its column.
        column: String,
        /// Its line, from 1.
        line: u64,
        /// The expected form.
        wanted: &'static str,
    },
    /// Too few points to train with.
    #[error(
        "cannot fit \"{model}\": {n_points} points to train with, expected at least {needed}; measure more, or mark more with train = 1"
    )]
    TooFewPoints {
        /// Name of the specification.
        model: String,
        /// Points there are.
        n_points: usize,
        /// Points that are needed.
        needed: usize,
    },
    /// A time that no relative residual can be taken of.
    #[error(
        "cannot fit \"{model}\" to relative residuals: an observation of {value} in line {line}, expected more than 0"
    )]
    NotPositive {
        /// Name of the specification.
        model: String,
        /// The observation.
        value: f64,
        /// Its line, from 1.
        line: usize,
    },
    /// A formula without a value at a point.
    #[error(
        "cannot fit \"{model}\": the formula has no finite value at {point}, whatever its unknowns; expected inputs within the domains of its logarithms, roots, powers and divisions"
    )]
    OutsideDomain {
        /// Name of the specification.
        model: String,
        /// The point as `nx = 256, np = 1`.
        point: String,
    },
    /// No start led anywhere.
    #[error(
        "cannot fit \"{model}\": no start within the bounds gives finite times at all points, expected one; narrow the bounds"
    )]
    NoFit {
        /// Name of the specification.
        model: String,
    },
    /// More inputs than a term takes.
    #[error(
        "cannot correct \"{model}\": {n_inputs} inputs that vary and do not scale the time, expected at most {most}; hold some, or make constants of them"
    )]
    TooManyInputs {
        /// Name of the specification.
        model: String,
        /// Inputs there are.
        n_inputs: usize,
        /// Inputs that a term takes.
        most: usize,
    },
    /// A parameter of another platform that is no unknown.
    #[error("cannot set \"{name}\" of another platform: no such unknown, expected one of {known}")]
    NoUnknown {
        /// The name.
        name: String,
        /// The unknowns, a comma list.
        known: String,
    },
    /// A corrected model that cannot be written down as a formula.
    #[error("cannot write the corrected model of \"{model}\" as a formula")]
    Unwritable {
        /// Name of the specification.
        model: String,
        /// The error in the text.
        source: ArithmeticError,
    },
}
