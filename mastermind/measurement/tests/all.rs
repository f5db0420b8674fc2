//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-measurement --test all counters::` runs those of one.

mod counters;
mod interrupted;
mod killed;
mod recorder;
mod stepping;
