//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-programs --test all expressions::` runs those of one.

mod expressions;
mod golden_transform;
mod programs;
