//! The candidate forms, each fitted to the points of one mode.
//!
//! In: points. Out: candidates, each a formula with its coefficients, their covariance and its distance from the points. This module does not
//! choose among them; `select` does. Uses `formula`, `samples` and `solve`.

pub(crate) mod candidate;
pub(crate) mod curves;
pub(crate) mod even;
pub(crate) mod hypothesis;
pub(crate) mod list;
pub(crate) mod normal_form;
pub(crate) mod note;
pub(crate) mod paths;
pub(crate) mod prior;
pub(crate) mod regimes;
pub(crate) mod searched;
pub(crate) mod written;
