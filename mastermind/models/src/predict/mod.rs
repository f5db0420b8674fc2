//! What a model is for: the time of one call or of many, on another machine too, where to measure next, the formula as source code.
//!
//! In: models. Out: predictions with intervals, suggestions, texts. Uses all other rooms.

pub(crate) mod call;
pub(crate) mod carry;
pub(crate) mod clean_calls;
pub(crate) mod rendering;
pub(crate) mod suggest;
pub(crate) mod total;
