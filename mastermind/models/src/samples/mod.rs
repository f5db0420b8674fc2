//! Measurements: from files and calls to the points that a model is fitted to.
//!
//! In: a method, a coordinate and a time for each call, or a file of them (`input`). Out: [`Samples`](crate::Samples) with a summary for each
//! coordinate, and from these the points of each mode (`points`). Uses `formula`.

pub(crate) mod call_sink;
pub(crate) mod clock;
pub(crate) mod few_calls;
pub(crate) mod input;
pub(crate) mod metric;
pub(crate) mod modes;
pub(crate) mod noise;
pub(crate) mod parameter;
pub(crate) mod points;
pub(crate) mod sample;
pub(crate) mod spikes;
pub(crate) mod statistic;
