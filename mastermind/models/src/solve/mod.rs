//! The numerical tools of fits: least squares, free and within limits, and distributions.
//!
//! In: designs, observations, half-spaces. Out: coefficients, covariances, quantiles. Uses `formula` and `samples`.

pub(crate) mod between_points;
pub(crate) mod constrained;
pub(crate) mod covariance;
pub(crate) mod design_effect;
pub(crate) mod held_up;
pub(crate) mod least_squares;
pub(crate) mod likelihood;
pub(crate) mod limits;
pub(crate) mod mixture;
pub(crate) mod quality;
pub(crate) mod uncertainty;
