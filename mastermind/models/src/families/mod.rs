//! The forms that are tried, each fitted to the points of one mode.
//!
//! In: points. Out: candidates, each a formula with its coefficients, their covariance and how far the points lie from it.
//! Which of them is believed is not decided here. Uses `formula`, `samples` and `solve`.

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
