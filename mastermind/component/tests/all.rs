//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-component --test all measurement::` runs those of one.

mod measurement;
mod swapping;
