//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-component --test all
//! measurement::` runs those of one.

mod measurement;
mod swapping;
