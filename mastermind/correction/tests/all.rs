//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-correction --test all
//! correct::` runs those of one.

mod correct;
mod fit;
mod overfit;
