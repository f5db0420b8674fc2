//! The names of the forms that a formula may have.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The form of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Family {
    /// `T = a`.
    Constant,
    /// `T = a + Σ bⱼ xⱼ`.
    Line,
    /// `T = a + Σ bⱼ log2(xⱼ)`.
    Logarithm,
    /// `T = exp(b + Σ aⱼ ln xⱼ)`.
    PowerLaw,
    /// `T = exp(b + Σ aⱼ xⱼ)`.
    Exponential,
    /// `T = Σ cₖ xᵏ` up to a degree of 2 to 4; of degree 2 in several parameters.
    Polynomial,
    /// `T = c + Σ cₖ Π x^(i) · log2(x)^(j)`: the performance model normal form.
    NormalForm,
    /// `T = a + b · ceil(x / s)`, with the width `s` found by search.
    Stairs,
    /// A line for each of two to four ranges of one parameter, with breaks found by search; with few sizes, two lines that meet; or two
    /// ranges with one or two coefficients each, such as `max(a, b x)`.
    Regimes,
    /// `T = [a +] b · g(x / h)` with a scale `h` found by search: `exp`, or a share of a limit, `x / (x + h)`.
    Curve,
    /// A formula that a user wrote.
    Written,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::Line => "line",
            Self::PowerLaw => "power law",
            Self::NormalForm => "normal form",
            Self::Logarithm => "logarithm",
            Self::Exponential => "exponential",
            Self::Polynomial => "polynomial",
            Self::Stairs => "staircase",
            Self::Regimes => "line by regime",
            Self::Curve => "curve with a scale",
            Self::Written => "written formula",
        })
    }
}
