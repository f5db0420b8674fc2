//! The engine against formulas, and at the sizes it is for.

mod closed_forms;
mod common;
mod naive;
mod queues;
mod sweep;
