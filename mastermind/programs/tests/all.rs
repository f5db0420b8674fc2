//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-programs --test all
//! expressions::` runs those of one.

mod expressions;
mod golden_transform;
mod programs;
