//! The language of models: formulas, their parts, and expressions that a user writes.
//!
//! In: texts and numbers. Out: a [`Formula`](crate::Formula) or an [`Arithmetic`](crate::Arithmetic) that evaluates to a
//! number. This module does not depend on samples or fits.

pub(crate) mod arithmetic;
pub(crate) mod exponent;
pub mod expression;
pub(crate) mod family;
pub(crate) mod slopes;
pub(crate) mod sum;
pub(crate) mod written;
